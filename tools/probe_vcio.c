/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "probe.h"
#include "probe_gencmd.h"

/* drivers/char/broadcom/vcio.c of Raspberry Pi's kernel. */
#define VCIO_PROPERTY _IOWR(100, 0, char *)

_Static_assert(VCIO_PROPERTY == 0xc0006400 + (sizeof(char *) << 16),
	       "the number depends on the size of a pointer");

/* One sweep over the PMIC's channels takes the firmware about 23 ms on a Pi 5 (published
 * by others, zeus 2026-08; not measured by us): ten a second are a quarter of its time. */
enum { PMIC_HZ = 10 };

static struct {
	bool tried;
	int fd;           /* of the device */
	const char *root; /* not NULL: no device but a folder, a file for each command */
	int err;
	struct gencmd message;
} vcio;

/* A recorded file cannot answer an ioctl: below --root, dev/vcio is a folder. */
static bool vcio_open(const struct probe *p)
{
	if (vcio.tried)
		return vcio.root || vcio.fd >= 0;
	vcio.tried = true;
	vcio.fd = -1;
	if (*p->root) {
		int fd = probe_open(p, "dev/vcio");

		vcio.err = errno;
		if (fd >= 0) {
			vcio.root = p->root;
			close(fd);
		}
		return fd >= 0;
	}
	vcio.fd = open("/dev/vcio_gencmd", O_RDONLY | O_CLOEXEC); /* newer, and may do less */
	if (vcio.fd < 0)
		vcio.fd = open("/dev/vcio", O_RDONLY | O_CLOEXEC);
	vcio.err = errno;
	return vcio.fd >= 0;
}

static bool from_folder(const char *command)
{
	char path[512], *text = (char *)&vcio.message.word[GENCMD_TEXT];

	snprintf(path, sizeof path, "%s/dev/vcio/%s", vcio.root, command);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, GENCMD_VALUE - 4);
	if (fd >= 0)
		close(fd);
	if (n < 0)
		return false;
	text[n] = '\0';
	vcio.message.word[1] = (uint32_t)GENCMD_DONE;
	return true;
}

static const char *command(const char *words, const char **why)
{
	if (!gencmd_ask(&vcio.message, words))
		return NULL;
	if (vcio.root ? !from_folder(words) : ioctl(vcio.fd, VCIO_PROPERTY, &vcio.message) < 0) {
		*why = strerror(errno);
		return NULL;
	}
	return gencmd_answer(&vcio.message, why);
}

static const char *no_device(void)
{
	return vcio.err == EACCES ? "/dev/vcio: permission denied" : "no /dev/vcio";
}

static const char *device_cure(void)
{
	return vcio.err == EACCES ? "be in the group video, or root" :
				    "a Raspberry Pi with the kernel of Raspberry Pi OS has it";
}

/* --- throttled, and the clock that the Arm cores really have ------------------------------ */

static void read_throttled(void *state, double *cell)
{
	const char *why, *text = command("get_throttled", &why);
	uint64_t word;

	(void)state;
	if (!text || !gencmd_number(text, "throttled", &word))
		return;
	cell[0] = (double)word;
	cell[1] = (double)(word & 0xf);
	cell[2] = (double)(word >> 16 & 0xf);
}

static void read_clock(void *state, double *cell)
{
	const char *why, *text = command("measure_clock arm", &why);

	(void)state;
	text = text ? strchr(text, '=') : NULL; /* frequency(0)=2400023808 */
	if (text)
		*cell = strtod(text + 1, NULL) * 1e-6;
}

void probe_vcio(struct probe *p)
{
	const char *why = "";
	const char *text = vcio_open(p) ? command("get_throttled", &why) : NULL;
	uint64_t word;

	if (text && gencmd_number(text, "throttled", &word)) {
		probe_remark(probe_source(p, read_throttled, NULL, "throttled"),
			     "firmware; _ever counts from boot");
		probe_column(p, 0, "throttled");
		probe_column(p, 0, "throttled_now");
		probe_column(p, 0, "throttled_ever");
	} else {
		probe_throttled_sysfs(p, *why ? why : no_device(), *why ? NULL : device_cure());
	}
	text = vcio_open(p) ? command("measure_clock arm", &why) : NULL;
	if (text && strchr(text, '=')) {
		probe_source(p, read_clock, NULL, "arm_clock");
		probe_column(p, 0, "freq_mhz_arm");
	} else {
		probe_absent(p, "arm_clock", *why ? NULL : device_cure(), "%s",
			     *why ? why : no_device());
	}
}

/* --- the rails ------------------------------------------------------------------------------ */

struct pmic {
	struct pmic_channel channel[PMIC_CHANNELS]; /* in the order of the columns */
	unsigned count;
	unsigned each, turn; /* read at each so many rows */
};

static void read_pmic(void *state, double *cell)
{
	struct pmic *pmic = state;
	struct pmic_channel now[PMIC_CHANNELS];
	const char *why;

	if (pmic->turn++ % pmic->each)
		return;
	const char *text = command("pmic_read_adc", &why);
	unsigned count = text ? gencmd_pmic(text, now) : 0;
	for (unsigned i = 0; i < count; i++)
		for (unsigned k = 0; k < pmic->count; k++)
			if (pmic->channel[k].amps == now[i].amps &&
			    !strcmp(pmic->channel[k].rail, now[i].rail))
				cell[k] = now[i].value;
	if (count)
		cell[pmic->count] = pmic_watts(now, count);
}

void probe_pmic(struct probe *p)
{
	struct pmic *pmic = probe_memory(sizeof *pmic);
	const char *why = "";
	const char *text = vcio_open(p) ? command("pmic_read_adc", &why) : NULL;

	pmic->count = text ? gencmd_pmic(text, pmic->channel) : 0;
	if (!pmic->count) {
		const char *reason = *why ? why : text ? "no channel in its answer" : no_device();

		probe_absent(p, "pmic",
			     *why || text ? "only a Raspberry Pi 5 has it" : device_cure(), "%s",
			     reason);
		return;
	}
	pmic->each = (p->hz + PMIC_HZ - 1) / PMIC_HZ;
	struct source *s = probe_source(p, read_pmic, pmic, "pmic");
	if (pmic->each > 1)
		probe_remark(s, "every %uth row: a reading takes the firmware 23 ms", pmic->each);
	for (unsigned i = 0; i < pmic->count; i++)
		probe_column(p, 6, "%s_%s", pmic->channel[i].amps ? "amps" : "volts",
			     pmic->channel[i].rail);
	probe_column(p, 4, "watts");
}
