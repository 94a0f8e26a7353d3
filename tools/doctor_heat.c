/* SPDX-License-Identifier: GPL-2.0-only */
/* Heat and power: what slows a core whatever its governor says. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "doctor_checks.h"
#include "probe_gencmd.h"

/* As in probe_vcio.c. */
#define VCIO_PROPERTY _IOWR(100, 0, char *)

/* --- temperature -------------------------------------------------------------------------- */

static const char *const zone_types[] = { "cpu-thermal", "cpu_thermal", "x86_pkg_temp",
					  "soc-thermal", "soc_thermal", "cpu" };

static bool of_a_cpu(const char *type)
{
	for (unsigned i = 0; i < array_size(zone_types); i++)
		if (!strcmp(type, zone_types[i]))
			return true;
	return false;
}

void check_temperature(const struct host *h, struct finding *f)
{
	static char found[HOST_PATHS][HOST_PATH];
	unsigned count = host_glob(h, found, HOST_PATHS, "sys/class/thermal/thermal_zone*");
	long long milli, limit = h->pi ? 80000 : 90000;
	char type[32];

	if (h->pi)
		finding_why(f, BASIS_RULE, "raspberrypi/documentation, frequency-management",
			    "a Pi 5 is slowed step by step from 80 C, and at 85 C the more; what "
			    "is then measured is the fan");
	else
		finding_why(f, BASIS_RULE, "most processors: 95 to 105 C",
			    "a processor that is too hot is slowed; what is then measured is the "
			    "fan");
	for (unsigned i = 0; i < count; i++) {
		if (!host_text(h, type, sizeof type, "%s/type", found[i]) || !of_a_cpu(type) ||
		    !host_number(h, &milli, "%s/temp", found[i]))
			continue;
		if (milli < limit) {
			finding_is(f, milli < limit - 5000 ? VERDICT_OK : VERDICT_INFO,
				   "%lld.%lld C", milli / 1000, milli / 100 % 10);
			return;
		}
		finding_is(f, VERDICT_WARN, "%lld.%lld C", milli / 1000, milli / 100 % 10);
		finding_fix(f, FIX_HAND,
			    "cool it: the active cooler, a case that lets air through");
		return;
	}
	finding_is(f, VERDICT_UNKNOWN, "no thermal zone of a CPU");
}

/* --- throttled ------------------------------------------------------------------------------ */

/* By the firmware itself; below a root dev/vcio is a folder with its answers, as for
 * saker-probe. */
static bool ask_firmware(const struct host *h, uint64_t *word, char *why, size_t size)
{
	static struct gencmd message;
	char text[64];
	const char *answer, *error = "";
	int fd;

	if (!host_real(h)) {
		snprintf(why, size, "no file dev/vcio/get_throttled below the root");
		return host_text(h, text, sizeof text, "dev/vcio/get_throttled") &&
		       gencmd_number(text, "throttled", word);
	}
	fd = open("/dev/vcio_gencmd", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		fd = open("/dev/vcio", O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		snprintf(why, size, "/dev/vcio: %s", strerror(errno));
		return false;
	}
	gencmd_ask(&message, "get_throttled");
	answer = ioctl(fd, VCIO_PROPERTY, &message) < 0 ? NULL : gencmd_answer(&message, &error);
	close(fd);
	if (answer && gencmd_number(answer, "throttled", word))
		return true;
	snprintf(why, size, "the firmware does not say: %s", error);
	return false;
}

static bool ask_kernel(const struct host *h, uint64_t *word)
{
	char found[1][HOST_PATH], text[32];
	unsigned bits;

	if (!host_glob(h, found, 1, "sys/devices/platform/soc*/soc*:firmware/get_throttled") ||
	    !host_text(h, text, sizeof text, "%s", found[0]) || sscanf(text, "%x", &bits) != 1)
		return false;
	*word = bits;
	return true;
}

static void say_bits(unsigned bits, char *text, size_t size)
{
	static const char *const words[] = { "under-voltage", "a capped clock", "throttling",
					     "the soft limit of temperature" };
	size_t used = 0;

	for (unsigned i = 0; i < array_size(words); i++)
		if (bits >> i & 1)
			used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
						 words[i]);
}

static void judge_bits(struct finding *f, uint64_t word)
{
	char now[96] = "", ever[96] = "";

	say_bits((unsigned)(word & 0xf), now, sizeof now);
	say_bits((unsigned)(word >> 16 & 0xf), ever, sizeof ever);
	if (*now) {
		finding_is(f, VERDICT_WARN, "now: %s", now);
		finding_fix(f, FIX_HAND,
			    word & 1 ? "a supply of 5 V and 5 A, and a short cable" :
				       "cool it: the active cooler");
	} else if (*ever) {
		finding_is(f, VERDICT_INFO, "not now; since boot: %s", ever);
		finding_fix(f, FIX_HAND,
			    word >> 16 & 1 ? "a supply of 5 V and 5 A, and a short cable" :
					     "cool it: the active cooler");
	} else {
		finding_is(f, VERDICT_OK, "never throttled since boot");
	}
}

void check_throttle(const struct host *h, struct finding *f)
{
	static char found[HOST_PATHS][HOST_PATH];
	long long times = 0, one;
	uint64_t word;
	char why[128];
	unsigned n;

	if (h->pi)
		finding_why(f, BASIS_RULE, "raspberrypi/documentation, get_throttled",
			    "a Pi 5 that is throttled or short of voltage runs below 2400 MHz: at "
			    "1500 computing takes 1.6 times as long, and no figure holds");
	else
		finding_why(
			f, BASIS_RULE, "a job is a chain of dependent steps",
			"at half the clock computing takes twice the time, and no figure holds");
	if (ask_firmware(h, &word, why, sizeof why) || ask_kernel(h, &word)) {
		judge_bits(f, word);
		return;
	}
	n = host_glob(h, found, HOST_PATHS,
		      "sys/devices/system/cpu/cpu*/thermal_throttle/core_throttle_count");
	for (unsigned i = 0; i < n; i++)
		times += host_number(h, &one, "%s", found[i]) ? one : 0;
	if (!n)
		finding_is(f, VERDICT_UNKNOWN, "nobody tells: %s, no core_throttle_count",
			   h->pi ? why : "not a Raspberry Pi");
	else
		finding_is(f, times ? VERDICT_INFO : VERDICT_OK,
			   "cores were throttled %lld times since boot", times);
}
