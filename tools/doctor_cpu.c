/* SPDX-License-Identifier: GPL-2.0-only */
/* How fast the cores run, and what takes their time. */
#include <string.h>
#include "doctor_checks.h"

void check_governor(const struct host *h, struct finding *f)
{
	static char found[HOST_PATHS][HOST_PATH];
	unsigned count = host_glob(h, found, HOST_PATHS,
				   "sys/devices/system/cpu/cpufreq/policy*/scaling_governor");
	char governor[32], other[32] = "";

	finding_why(
		f, BASIS_RULE, "drivers/cpufreq: ondemand looks at the load every 10 ms or so",
		"a core that idles between requests is clocked down; the next one is computed at "
		"the low clock (a Pi 5: 1500 of 2400 MHz, 1.6 times as long) until the governor "
		"looks again");
	if (!count) {
		finding_is(
			f, VERDICT_UNKNOWN,
			"no cpufreq: a virtual machine, whose host decides, or a kernel without a "
			"driver for it");
		return;
	}
	for (unsigned i = 0; i < count; i++) {
		host_text(h, governor, sizeof governor, "%s", found[i]);
		if (!strcmp(governor, "performance"))
			continue;
		snprintf(other, sizeof other, "%s", governor);
		finding_setting(f, SETTING_FILE, governor, "performance", "%s", found[i]);
	}
	if (!*other) {
		finding_is(f, VERDICT_OK, "governor performance");
		return;
	}
	finding_is(f, VERDICT_WARN, "governor %s", other);
	finding_fix(f, FIX_RUNTIME,
		    "for g in /sys/devices/system/cpu/cpufreq/policy*/scaling_governor; do echo "
		    "performance > $g; done");
}
