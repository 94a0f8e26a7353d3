/* SPDX-License-Identifier: GPL-2.0-only */
/* What the card and the way to it hold back: for each of these a frame waits. */
#include <string.h>
#include "doctor_checks.h"

/* --- interrupts ------------------------------------------------------------------------ */

void check_moderation(const struct host *h, struct finding *f)
{
	char text[4096], why[256], now[32], adaptive[64] = "";
	long long rx = 0, tx = 0;

	finding_why(f, BASIS_RULE, "raspberrypi/linux, macb_main.c gem_init_intmod: 50 us each way",
		    "a frame waits so long before the kernel is told of it, and so does the "
		    "completion of one that was sent; set anew whenever the interface is opened");
	if (!host_hardware(h)) {
		finding_is(f, VERDICT_OK, "no card behind %s", h->iface);
		return;
	}
	if (!host_ethtool(h, "-c", text, sizeof text, why, sizeof why)) {
		finding_is(f, VERDICT_UNKNOWN,
			   "the driver does not tell how long its card holds interrupts back (%s)",
			   why);
		return;
	}
	field_number(text, "rx-usecs", &rx);
	field_number(text, "tx-usecs", &tx);
	field_text(text, "Adaptive RX", adaptive, sizeof adaptive);
	bool adapts = !strncmp(adaptive, "on", 2);
	if (!rx && !tx && !adapts) {
		finding_is(f, VERDICT_OK, "the card holds no interrupt back");
		return;
	}
	finding_is(f, VERDICT_WARN,
		   "the card holds interrupts back: rx-usecs %lld, tx-usecs %lld%s", rx, tx,
		   adapts ? ", adaptive" : "");
	finding_fix(f, FIX_RUNTIME, "ethtool -C %s%s rx-usecs 0 tx-usecs 0", h->iface,
		    adapts ? " adaptive-rx off" : "");
	if (adapts)
		finding_setting(f, SETTING_ETHTOOL, "on", "off", "-C adaptive-rx");
	snprintf(now, sizeof now, "%lld", rx);
	finding_setting(f, SETTING_ETHTOOL, now, "0", "-C rx-usecs");
	snprintf(now, sizeof now, "%lld", tx);
	finding_setting(f, SETTING_ETHTOOL, now, "0", "-C tx-usecs");
}

/* The kernel's own moderation, of every driver. */
void check_deferral(const struct host *h, struct finding *f)
{
	long long defer, flush;
	char now[32];

	finding_why(f, BASIS_RULE, "net/core/dev.c; netdev_sw_irq_coalesce_default_on: 20 us, 1",
		    "after a poll that found frames the interrupt stays off, and the kernel looks "
		    "again so much later");
	if (!host_number(h, &defer, "sys/class/net/%s/napi_defer_hard_irqs", h->iface) ||
	    !host_number(h, &flush, "sys/class/net/%s/gro_flush_timeout", h->iface)) {
		finding_is(f, VERDICT_UNKNOWN,
			   "no napi_defer_hard_irqs and gro_flush_timeout in /sys/class/net/%s",
			   h->iface);
		return;
	}
	if (!defer || !flush) {
		finding_is(f, VERDICT_OK, "the kernel defers no interrupts");
		return;
	}
	finding_is(f, VERDICT_WARN,
		   "the kernel looks again up to %lld.%lld us later (gro_flush_timeout %lld, "
		   "napi_defer_hard_irqs %lld)",
		   flush / 1000, flush / 100 % 10, flush, defer);
	snprintf(now, sizeof now, "%lld", defer);
	finding_write(f, now, "0", "/sys/class/net/%s/napi_defer_hard_irqs", h->iface);
	snprintf(now, sizeof now, "%lld", flush);
	finding_write(f, now, "0", "/sys/class/net/%s/gro_flush_timeout", h->iface);
}

/* --- sleep ------------------------------------------------------------------------------- */

void check_eee(const struct host *h, struct finding *f)
{
	char text[4096], why[256], status[64] = "";

	finding_why(f, BASIS_RULE,
		    "macb_main.c: udelay(50); link flaps: raspberrypi/linux issue 7511",
		    "a link that sleeps between frames is woken by the next one: on a Pi 5 50 us, "
		    "with the queue's lock held; some partners lose the link");
	if (!host_hardware(h)) {
		finding_is(f, VERDICT_OK, "no card behind %s", h->iface);
		return;
	}
	if (!host_ethtool(h, "--show-eee", text, sizeof text, why, sizeof why)) {
		finding_is(f, VERDICT_UNKNOWN, "the driver does not tell of EEE (%s)", why);
		return;
	}
	field_text(text, "EEE status", status, sizeof status);
	if (!strncmp(status, "disabled", 8) || !strncmp(status, "not supported", 13)) {
		finding_is(f, VERDICT_OK, "Energy Efficient Ethernet is %s", status);
	} else if (!strncmp(status, "enabled", 7)) {
		finding_is(f, VERDICT_WARN, "Energy Efficient Ethernet is %s", status);
		finding_setting(f, SETTING_ETHTOOL, "on", "off", "--set-eee eee");
		finding_fix(f, FIX_RUNTIME, "ethtool --set-eee %s eee off", h->iface);
		if (h->pi) {
			f->boot_file = BOOT_CONFIG_TXT;
			snprintf(f->boot, sizeof f->boot, "dtparam=eee=off");
			finding_fix(
				f, FIX_RUNTIME,
				"; to stay so: add to /boot/firmware/config.txt, then reboot: %s",
				f->boot);
		}
	} else {
		finding_is(f, VERDICT_UNKNOWN, "ethtool --show-eee %s names no status", h->iface);
	}
}

#define ASPM_POLICY "sys/module/pcie_aspm/parameters/policy"

/* Of the card's own link; RP1, which has the Pi's Ethernet, is the only one behind its
 * bridge. -1: nothing tells. */
static long long link_l1(const struct host *h)
{
	static char found[HOST_PATHS][HOST_PATH];
	char vendor[16];
	long long l1 = -1;

	if (host_number(h, &l1, "sys/class/net/%s/device/link/l1_aspm", h->iface))
		return l1;
	for (unsigned i = 0, n = host_glob(h, found, HOST_PATHS, "sys/bus/pci/devices/*"); i < n;
	     i++)
		if (host_text(h, vendor, sizeof vendor, "%s/vendor", found[i]) &&
		    !strcmp(vendor, "0x1de4") && host_number(h, &l1, "%s/link/l1_aspm", found[i]))
			return l1;
	return -1;
}

void check_aspm(const struct host *h, struct finding *f)
{
	char policy[32], bus[32] = "";
	long long l1 = link_l1(h);
	bool known = host_chosen(h, policy, sizeof policy, ASPM_POLICY);

	finding_why(f, BASIS_PUBLISHED,
		    "raspberrypi/linux PR 6649 (1.6 us a register read), PR 6279 (waking varies)",
		    "an idle PCIe link sleeps (L1), and the next access wakes it first: some us "
		    "more for a frame on an idle link; a Pi 5 reads registers for each frame sent");
	host_link(h, bus, sizeof bus, "sys/class/net/%s/device/subsystem", h->iface);
	if (!host_hardware(h)) {
		finding_is(f, VERDICT_OK, "no card behind %s, so no PCIe link", h->iface);
	} else if (!strcmp(bus, "virtio")) {
		finding_is(f, VERDICT_OK, "no PCIe link behind a virtio card");
	} else if (known && !strcmp(policy, "performance")) {
		finding_is(f, VERDICT_OK, "PCIe links do not sleep: policy performance");
	} else if (l1 == 0) {
		finding_is(f, VERDICT_OK, "the card's link does not sleep: l1_aspm is 0");
	} else if (!known) {
		finding_is(f, VERDICT_UNKNOWN, "no pcie_aspm in this kernel: the firmware decides");
	} else if (l1 < 0 && !strcmp(policy, "default")) {
		finding_is(f, VERDICT_UNKNOWN,
			   "policy default: the firmware decides, and nothing tells what it chose");
	} else {
		finding_is(f, VERDICT_WARN, "PCIe links may sleep: policy %s", policy);
		finding_write(f, policy, "performance", "/" ASPM_POLICY);
		finding_boot(h, f, "pcie_aspm.policy=performance");
	}
}
