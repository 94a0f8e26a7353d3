/* SPDX-License-Identifier: GPL-2.0-only */
/* How fast the cores run, and what slows them. */
#include <stdlib.h>
#include <string.h>
#include "doctor_checks.h"

#define CPUFREQ "sys/devices/system/cpu/cpufreq/policy*"
#define NO_CPUFREQ \
	"no cpufreq: a virtual machine, whose host decides, or a kernel without a driver for it"

void check_governor(const struct host *h, struct finding *f)
{
	static char found[HOST_PATHS][HOST_PATH];
	unsigned count = host_glob(h, found, HOST_PATHS, CPUFREQ "/scaling_governor");
	char governor[32], other[32] = "";

	finding_why(f, BASIS_RULE, "drivers/cpufreq; bcm2712: 1500 to 2400 MHz",
		    "a core that idled between requests is clocked down, and computes the next one "
		    "at the low clock (a Pi 5: 1.6 times as long) until the governor looks again, "
		    "10 ms later or more");
	if (!count) {
		finding_is(f, VERDICT_UNKNOWN, NO_CPUFREQ);
		return;
	}
	for (unsigned i = 0; i < count; i++) {
		host_text(h, governor, sizeof governor, "%s", found[i]);
		if (!strcmp(governor, "performance"))
			continue;
		memcpy(other, governor, sizeof other);
		finding_write(f, governor, "performance", "%s", found[i]);
	}
	finding_is(f, *other ? VERDICT_WARN : VERDICT_OK, "governor %s",
		   *other ? other : "performance");
}

/* The lowest of a file over all policies, in MHz; 0: there is none. */
static unsigned lowest_mhz(const struct host *h, const char *file)
{
	static char found[HOST_PATHS][HOST_PATH];
	unsigned count = host_glob(h, found, HOST_PATHS, CPUFREQ "/%s", file);
	long long lowest = 0, khz;

	for (unsigned i = 0; i < count; i++)
		if (host_number(h, &khz, "%s", found[i]) && (!lowest || khz < lowest))
			lowest = khz;
	return (unsigned)(lowest / 1000);
}

void check_frequency(const struct host *h, struct finding *f)
{
	static char found[HOST_PATHS][HOST_PATH];
	unsigned can = lowest_mhz(h, "cpuinfo_max_freq"), may = lowest_mhz(h, "scaling_max_freq"),
		 is = lowest_mhz(h, "scaling_cur_freq");
	char governor[32] = "", now[32], value[32];
	unsigned count;

	finding_why(f, BASIS_RULE, "a job is a chain of dependent steps",
		    "computing takes as many cycles at any clock: at half of it, twice the time");
	if (!can || !is) {
		finding_is(f, VERDICT_UNKNOWN, NO_CPUFREQ);
		return;
	}
	if (may < can) {
		finding_is(f, VERDICT_WARN, "capped at %u MHz of %u", may, can);
		count = host_glob(h, found, HOST_PATHS, CPUFREQ "/scaling_max_freq");
		snprintf(now, sizeof now, "%u000", may);
		snprintf(value, sizeof value, "%u000", can);
		for (unsigned i = 0; i < count; i++)
			finding_write(f, now, value, "%s", found[i]);
		return;
	}
	host_text(h, governor, sizeof governor,
		  "sys/devices/system/cpu/cpufreq/policy0/scaling_governor");
	if (!strcmp(governor, "performance") && is < can - can / 20)
		finding_is(f, VERDICT_WARN,
			   "%u MHz of %u, with the governor performance: something slows it down; "
			   "see throttle and temperature",
			   is, can);
	else
		finding_is(f, VERDICT_OK, "%u MHz now, of %u", is, can);
}
