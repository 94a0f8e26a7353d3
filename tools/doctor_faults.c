/* SPDX-License-Identifier: GPL-2.0-only */
/* Pairs of driver and kernel with a fault that others have published. */
#include <string.h>
#include "doctor_checks.h"

struct fault {
	const char *driver;
	bool pi;               /* on Raspberry Pis only */
	unsigned from, before; /* versions; 0: no end */
	bool (*so)(const struct host *h);
	enum verdict verdict;
	const char *what, *why, *source, *fix;
};

static bool eee_is_on(const struct host *h)
{
	char text[4096], why[256], status[64];

	return host_ethtool(h, "--show-eee", text, sizeof text, why, sizeof why) &&
	       field_text(text, "EEE status", status, sizeof status) &&
	       !strncmp(status, "enabled", 7);
}

static bool at_10_mbit(const struct host *h)
{
	long long speed;

	return host_number(h, &speed, "sys/class/net/%s/speed", h->iface) && speed == 10;
}

#define V(major, minor, patch) ((major) << 24 | (minor) << 16 | (patch))

static const struct fault faults[] = {
	{ "macb", true, V(6, 17, 0), V(6, 18, 34), NULL, VERDICT_WARN,
	  "macb stops sending, without a word",
	  "rare, but nothing leaves until the link is set down and up; saker sees it after 1 s, "
	  "and "
	  "says so",
	  "raspberrypi/linux issue 7339, PRs 7340 and 7369 of May 2026",
	  "apt full-upgrade: a kernel of June 2026 or later (6.18.34 is; which was the first is "
	  "not confirmed)" },
	{ "macb", true, V(6, 18, 0), 0, eee_is_on, VERDICT_WARN,
	  "macb with EEE loses the link or frames with some switches",
	  "5 to 20 % of pings lost with one switch; each lost frame is sent again after 200 ms or "
	  "more",
	  "raspberrypi/linux issue 7511, open in September 2026",
	  "turn EEE off: see the check eee" },
	{ "macb", true, 0, 0, at_10_mbit, VERDICT_WARN, "macb stops receiving at 10 Mbit/s",
	  "nothing comes until the link is set down and up", "raspberrypi/linux issue 7115",
	  "a link of 100 Mbit/s or more" },
	{ "ixgbe", false, V(6, 14, 0), V(6, 15, 0), NULL, VERDICT_INFO,
	  "ixgbe was reported to stall with busy polling in 6.14",
	  "saker does not ask for busy polling", "RTC-Testbench PR 62", "" },
	{ "ice", false, 0, 0, NULL, VERDICT_INFO,
	  "ice was reported to hang in a reset when an XDP program goes",
	  "the card, or the host, needs a reset", "intel/ethernet-linux-ice issues 61 and 62",
	  "if it is so here: --io=xdp-generic" },
};

static bool applies(const struct fault *x, const struct host *h)
{
	return !strcmp(x->driver, h->driver) && (!x->pi || h->pi) && h->version >= x->from &&
	       (!x->before || h->version < x->before) && (!x->so || x->so(h));
}

/* The worst is told; of the others that they are there. */
void check_known_faults(const struct host *h, struct finding *f)
{
	const struct fault *worst = NULL;
	unsigned others = 0;

	finding_why(f, BASIS_NONE, "",
		    "%u faults of drivers that others have published are known here",
		    (unsigned)array_size(faults));
	if (!*h->driver || !h->version) {
		finding_is(f, VERDICT_UNKNOWN, "%s is not known",
			   *h->driver ? "the kernel's version" : "the driver");
		return;
	}
	for (unsigned i = 0; i < array_size(faults); i++) {
		if (!applies(&faults[i], h))
			continue;
		if (!worst || (faults[i].verdict == VERDICT_WARN && worst->verdict != VERDICT_WARN))
			worst = &faults[i];
		others++;
	}
	if (!worst) {
		finding_is(f, VERDICT_OK, "we know of none for %s and Linux %s", h->driver,
			   h->release);
		return;
	}
	finding_is(f, worst->verdict, "%s", worst->what);
	if (--others)
		finding_is(f, worst->verdict, "%s; and %u more", worst->what, others);
	finding_why(f, BASIS_PUBLISHED, worst->source, "%s", worst->why);
	if (*worst->fix)
		finding_fix(f, FIX_HAND, "%s", worst->fix);
}
