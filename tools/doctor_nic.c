/* SPDX-License-Identifier: GPL-2.0-only */
/* How the interface is set. */
#include <string.h>
#include "doctor_checks.h"

void check_moderation(const struct host *h, struct finding *f)
{
	char text[4096], why[200], now[32];
	long long rx = 0, tx = 0;

	if (!host_ethtool(h, "-c", text, sizeof text, why, sizeof why)) {
		finding_is(f, VERDICT_UNKNOWN,
			   "the driver does not tell how long its card holds interrupts back (%s)",
			   why);
		return;
	}
	field_number(text, "rx-usecs", &rx);
	field_number(text, "tx-usecs", &tx);
	finding_why(f, BASIS_RULE, "raspberrypi/linux, macb_main.c gem_init_intmod: 50 us each way",
		    "a frame waits so long before the kernel is told of it, and so does the "
		    "completion of one that was sent");
	if (!rx && !tx) {
		finding_is(f, VERDICT_OK, "the card holds no interrupt back");
		return;
	}
	finding_is(f, VERDICT_WARN, "the card holds interrupts back: rx-usecs %lld, tx-usecs %lld",
		   rx, tx);
	finding_fix(f, FIX_RUNTIME, "ethtool -C %s rx-usecs 0 tx-usecs 0", h->iface);
	snprintf(now, sizeof now, "%lld", rx);
	finding_setting(f, SETTING_ETHTOOL, now, "0", "-C rx-usecs");
	snprintf(now, sizeof now, "%lld", tx);
	finding_setting(f, SETTING_ETHTOOL, now, "0", "-C tx-usecs");
}
