/* SPDX-License-Identifier: GPL-2.0-only */
/* How the interface is set: what fits, what is merged, what is parted. */
#include <errno.h>
#include <string.h>
#include "doctor_checks.h"
#include "limits.h"
#include "nic.h"

void check_link(const struct host *h, struct finding *f)
{
	char state[32], duplex[32] = "";
	long long carrier = -1, speed = -1;

	finding_why(f, BASIS_RULE, "arithmetic; raspberrypi/linux issue 7115",
		    "1500 bytes take 12 us at 1 Gbit/s, 120 us at 100 Mbit/s, 1.2 ms at 10; at "
		    "10 Mbit/s and half duplex a Pi 5 has been seen to stop receiving");
	if (!host_text(h, state, sizeof state, "sys/class/net/%s/operstate", h->iface)) {
		finding_is(f, VERDICT_UNKNOWN, "no /sys/class/net/%s/operstate", h->iface);
		return;
	}
	host_number(h, &carrier, "sys/class/net/%s/carrier", h->iface);
	host_number(h, &speed, "sys/class/net/%s/speed", h->iface);
	host_text(h, duplex, sizeof duplex, "sys/class/net/%s/duplex", h->iface);
	if (!strcmp(state, "down") || carrier == 0) {
		finding_is(f, VERDICT_WARN, "%s has no link: %s", h->iface,
			   carrier < 0 ? "it is down" : "the cable, or its other end");
		finding_fix(f, FIX_HAND, "ip link set dev %s up", h->iface);
	} else if (speed > 0 && (speed < 1000 || !strcmp(duplex, "half"))) {
		finding_is(f, VERDICT_WARN, "%lld Mbit/s, %s duplex", speed, duplex);
		finding_fix(f, FIX_HAND,
			    "another cable or switch; ethtool %s shows what the other "
			    "end offers",
			    h->iface);
	} else if (speed > 0) {
		finding_is(f, VERDICT_OK, "%lld Mbit/s, %s duplex", speed, duplex);
	} else if (!strcmp(state, "up")) {
		finding_is(f, VERDICT_OK, "the link is up; its speed is not told");
	} else {
		finding_is(f, VERDICT_UNKNOWN, "the driver does not tell: operstate is %s", state);
	}
}

void check_mtu(const struct host *h, struct finding *f)
{
	long long mtu;

	finding_why(f, BASIS_RULE, "include/limits.h",
		    "a frame must fit its place of %d bytes: an MTU of %d at most; with more only "
		    "--io=socket is left",
		    FRAME_ROOM, NIC_MTU_MAX);
	if (!host_number(h, &mtu, "sys/class/net/%s/mtu", h->iface)) {
		finding_is(f, VERDICT_UNKNOWN, "no /sys/class/net/%s/mtu", h->iface);
	} else if (mtu >= 0 && nic_mtu_fits((unsigned)mtu)) {
		finding_is(f, VERDICT_OK, "MTU %lld", mtu);
	} else {
		finding_is(f, VERDICT_FAIL, "MTU %lld is %s", mtu,
			   mtu < NIC_MTU_MIN ? "too small: an answer would go in crumbs" :
					       "too large");
		finding_fix(f, FIX_HAND, "ip link set dev %s mtu 1500", h->iface);
	}
}

/* The second part has what is so now. */
static const char *current(const char *text)
{
	const char *at = strstr(text, "Current hardware settings");

	return at ? at : "";
}

void check_rings(const struct host *h, struct finding *f)
{
	char text[4096], why[256];
	long long rx = 0, tx = 0, most = 0;

	finding_why(f, BASIS_ESTIMATE, "minimum-size frames at 1 Gbit/s come every 0.7 us",
		    "between two looks of the kernel frames wait in the card's ring: %d last for "
		    "90 us of them, then they are lost; a client sends again after 200 ms or more",
		    RING_RX);
	if (!host_hardware(h)) {
		finding_is(f, VERDICT_OK, "no card behind %s", h->iface);
		return;
	}
	if (!host_ethtool(h, "-g", text, sizeof text, why, sizeof why)) {
		finding_is(f, VERDICT_UNKNOWN, "the driver does not tell of its rings (%s)", why);
		return;
	}
	field_number(text, "RX", &most);
	field_number(current(text), "RX", &rx);
	field_number(current(text), "TX", &tx);
	if (rx >= RING_RX && tx >= RING_TX) {
		finding_is(f, VERDICT_OK, "rings of %lld (RX) and %lld (TX)", rx, tx);
		return;
	}
	finding_is(f, VERDICT_WARN, "short rings: %lld (RX) and %lld (TX)", rx, tx);
	finding_fix(f, FIX_HAND,
		    "ethtool -G %s rx %lld tx %lld: most drivers reset the card, and the link is "
		    "down for a moment",
		    h->iface, most < 512 ? most : 512, most < 512 ? most : 512);
}

/* --- offloads --------------------------------------------------------------------------- */

static bool is_on(const char *text, const char *feature, bool *fixed)
{
	char value[64];
	bool on = field_text(text, feature, value, sizeof value) && !strncmp(value, "on", 2);

	*fixed = on && strstr(value, "[fixed]");
	return on;
}

void check_offloads(const struct host *h, struct finding *f)
{
	static char text[HOST_TEXT];
	char why[256];
	bool lro_fixed, hw_fixed, gro_fixed, lro, hw, gro;

	finding_why(f, BASIS_RULE, "include/limits.h; net/core/dev.c netif_elide_gro",
		    "frames that were merged before the program sees them do not fit their place "
		    "of %d bytes: they go to the kernel; GRO alone is off while a generic program "
		    "is there, and --io=packet turns it off",
		    FRAME_ROOM);
	if (!host_ethtool(h, "-k", text, sizeof text, why, sizeof why)) {
		finding_is(f, VERDICT_UNKNOWN, "the driver does not tell of its offloads (%s)",
			   why);
		return;
	}
	gro = is_on(text, "generic-receive-offload", &gro_fixed);
	lro = is_on(text, "large-receive-offload", &lro_fixed);
	hw = is_on(text, "rx-gro-hw", &hw_fixed);
	if (!lro && !hw) {
		finding_is(f, VERDICT_OK, "the card merges no frames (GRO %s, LRO off)",
			   gro ? "on" : "off");
	} else if ((!lro || lro_fixed) && (!hw || hw_fixed)) {
		finding_is(f, VERDICT_INFO, "the card may merge frames, and that is fixed: %s%s%s",
			   lro ? "LRO" : "", lro && hw ? ", " : "", hw ? "rx-gro-hw" : "");
	} else {
		finding_is(f, VERDICT_WARN, "the card merges frames: %s%s%s", lro ? "LRO" : "",
			   lro && hw ? ", " : "", hw ? "rx-gro-hw" : "");
		finding_fix(f, FIX_RUNTIME, "ethtool -K %s%s%s", h->iface,
			    lro && !lro_fixed ? " lro off" : "",
			    hw && !hw_fixed ? " rx-gro-hw off" : "");
		if (lro && !lro_fixed)
			finding_setting(f, SETTING_ETHTOOL, "on", "off", "-K lro");
		if (hw && !hw_fixed)
			finding_setting(f, SETTING_ETHTOOL, "on", "off", "-K rx-gro-hw");
	}
}

/* --- queues --------------------------------------------------------------------------------- */

static unsigned queues(const struct host *h, const char *way)
{
	unsigned n = 0;

	while (host_there(h, "sys/class/net/%s/queues/%s-%u", h->iface, way, n))
		n++;
	return n;
}

void check_queues(const struct host *h, struct finding *f)
{
	unsigned rx = queues(h, "rx"), tx = queues(h, "tx"), most = QUEUES_MAX;

	finding_why(f, BASIS_RULE, "include/limits.h",
		    "saker opens a socket for each RX queue, %u at most, and an I/O thread needs "
		    "one at least",
		    most);
	if (!rx) {
		finding_is(f, VERDICT_UNKNOWN, "no /sys/class/net/%s/queues/rx-0", h->iface);
	} else if (rx > most) {
		finding_is(f, VERDICT_FAIL, "%u RX queues are more than %u", rx, most);
		finding_fix(f, FIX_HAND, "ethtool -L %s combined %u", h->iface, most);
	} else {
		finding_is(f, VERDICT_OK, "%u RX and %u TX queue%s: %s%u I/O thread%s", rx, tx,
			   rx + tx > 2 ? "s" : "", rx > 1 ? "up to " : "", rx, rx > 1 ? "s" : "");
	}
}
