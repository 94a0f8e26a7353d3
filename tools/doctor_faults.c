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

/* The kernel's own drivers have its version; a maker's package has one of its own. */
static bool from_its_maker(const struct host *h)
{
	char text[2048], why[256], version[64];

	return host_ethtool(h, "-i", text, sizeof text, why, sizeof why) &&
	       field_text(text, "version", version, sizeof version) &&
	       strncmp(version, h->release, strlen(version)) != 0;
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
	{ "macb", true, V(6, 18, 34), V(7, 0, 0), NULL, VERDICT_INFO,
	  "macb may stop sending for a second, until its watchdog starts it again",
	  "several times an hour on some boards; some of the messages were false "
	  "alarms",
	  "raspberrypi/linux issue 7471, PR 7472; siderolabs/sbc-raspberrypi issue 91",
	  "dmesg | grep 'TX stall detected' tells whether it was so here" },
	{ "macb", true, V(6, 18, 0), 0, eee_is_on, VERDICT_WARN,
	  "macb with EEE loses the link or frames with some switches",
	  "5 to 20 % of pings lost with one switch; each lost frame is sent again after 200 ms or "
	  "more",
	  "raspberrypi/linux issue 7511, open in September 2026",
	  "turn EEE off: see the check eee" },
	{ "macb", true, V(6, 8, 0), V(6, 9, 0), NULL, VERDICT_WARN,
	  "macb passes no traffic after the cable was plugged anew",
	  "nothing comes or goes until the link is set down and up",
	  "raspberrypi/linux issues 7345 and 7395, Ubuntu 24.04 with 6.8.0-1053 and -1056",
	  "a newer kernel: that of Raspberry Pi OS or of Debian 13" },
	{ "macb", true, 0, 0, at_10_mbit, VERDICT_WARN, "macb stops receiving at 10 Mbit/s",
	  "nothing comes until the link is set down and up", "raspberrypi/linux issue 7115",
	  "a link of 100 Mbit/s or more" },
	{ "ice", false, 0, V(6, 11, 0), NULL, VERDICT_WARN,
	  "ice may hang for good when AF_XDP sockets open or close while frames are sent",
	  "the host cannot be reached any more until it is booted",
	  "intel/ethernet-linux-ice issue 61: four commits of Linux of summer 2024",
	  "Linux 6.11 or later (older ones may have the commits too), or --io=xdp-generic" },
	{ "ice", false, V(6, 11, 0), 0, from_its_maker, VERDICT_WARN,
	  "Intel's own ice driver may hang for good when AF_XDP sockets open or close",
	  "the host cannot be reached any more until it is booted; seen with 2.2.8 and 2.5.4",
	  "intel/ethernet-linux-ice issue 61 and PR 62",
	  "the kernel's own driver, or --io=xdp-generic" },
	{ "igb", false, V(6, 14, 0), V(6, 15, 0), NULL, VERDICT_INFO,
	  "igb was reported to stop receiving, with a native program that passes frames on",
	  "one report, of an I211 with 6.14.0: its ring fills up",
	  "xdp-project/xdp-tutorial issue 466", "if it is so here: --io=xdp-generic" },
};

static bool applies(const struct fault *x, const struct host *h)
{
	return !strcmp(x->driver, h->driver) && (!x->pi || h->pi) && h->version >= x->from &&
	       (!x->before || h->version < x->before) && (!x->so || x->so(h));
}

/* What there is to be done about the worst is told; of the others that they are there. */
static const struct fault *worst_of(const struct host *h)
{
	const struct fault *worst = NULL;

	for (unsigned i = 0; i < array_size(faults); i++)
		if (applies(&faults[i], h) && (!worst || faults[i].verdict > worst->verdict))
			worst = &faults[i];
	return worst;
}

void check_known_faults(const struct host *h, struct finding *f)
{
	const struct fault *worst = worst_of(h);
	size_t used;

	finding_why(f, BASIS_NONE, "",
		    "%u faults of drivers that others have published are known here",
		    (unsigned)array_size(faults));
	if (!*h->driver || !h->version) {
		finding_is(f, VERDICT_UNKNOWN, "%s is not known",
			   *h->driver ? "the kernel's version" : "the driver");
		return;
	}
	if (!worst) {
		finding_is(f, VERDICT_OK, "we know of none for %s and Linux %s", h->driver,
			   h->release);
		return;
	}
	finding_is(f, worst->verdict, "%s", worst->what);
	for (unsigned i = 0; i < array_size(faults); i++) {
		used = strlen(f->what);
		if (&faults[i] != worst && applies(&faults[i], h))
			snprintf(f->what + used, sizeof f->what - used, "; also: %s",
				 faults[i].what);
	}
	finding_why(f, BASIS_PUBLISHED, worst->source, "%s", worst->why);
	finding_fix(f, FIX_HAND, "%s", worst->fix);
}
