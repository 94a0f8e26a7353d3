/* SPDX-License-Identifier: GPL-2.0-only */
/* On which cores the card interrupts, and who moves that. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "doctor_checks.h"

enum { IRQS_MAX = 64 };

/* Does the line's last words name a queue of the interface? eth0, eth0-TxRx-3; of a
 * virtio card, which is called virtio2: virtio2-input.0. */
static bool of_interface(const char *line, size_t length, const char *iface, const char *device)
{
	const char *end = line + length;

	for (size_t n = strlen(iface); line + n <= end; line++)
		if (!strncmp(line, iface, n) && !isalnum((unsigned char)line[-1]) &&
		    !isdigit((unsigned char)line[n]))
			return true;
	line = end - length;
	for (size_t n = strlen(device); n && line + n < end; line++)
		if (!strncmp(line, device, n) &&
		    (!strncmp(line + n, "-input", 6) || !strncmp(line + n, "-output", 7)))
			return true;
	return false;
}

/* The numbers in /proc/interrupts. */
static unsigned irqs_of(const struct host *h, unsigned list[IRQS_MAX])
{
	static char text[HOST_TEXT];
	char device[64] = "";
	unsigned count = 0;

	host_text(h, text, sizeof text, "proc/interrupts");
	host_link(h, device, sizeof device, "sys/class/net/%s/device", h->iface);
	if (strncmp(device, "virtio", 6))
		device[0] = '\0';
	for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
		char *colon;
		unsigned long irq = strtoul(at, &colon, 10);

		if (*colon == ':' && colon > at && count < IRQS_MAX &&
		    of_interface(colon + 1, strcspn(colon + 1, "\n"), h->iface, device))
			list[count++] = (unsigned)irq;
	}
	return count;
}

void check_irq_affinity(const struct host *h, struct finding *f)
{
	char text[CPUS_TEXT], where[CPUS_TEXT] = "", house[CPUS_TEXT];
	unsigned irq[IRQS_MAX], count, bad = 0;
	cpu_set_t set;

	finding_why(f, BASIS_ESTIMATE, "raspberrypi/linux PR 6649: two register reads, 1.6 us each",
		    "an interrupt with its softirq takes the core for 5 us or more, and puts what "
		    "saker needs out of its caches");
	if (!host_hardware(h)) {
		finding_is(f, VERDICT_OK, "no card behind %s, so no interrupts", h->iface);
		return;
	}
	count = irqs_of(h, irq);
	cpus_list(&h->house, house);
	for (unsigned i = 0; i < count; i++) {
		if (!host_text(h, text, sizeof text, "proc/irq/%u/smp_affinity_list", irq[i]) ||
		    !cpus_parse(text, &set)) {
			finding_is(f, VERDICT_UNKNOWN, "no /proc/irq/%u/smp_affinity_list", irq[i]);
			return;
		}
		CPU_AND(&set, &set, &h->cores);
		if (!CPU_COUNT(&set))
			continue;
		memcpy(where, text, sizeof where);
		bad++;
		if (*house)
			finding_write(f, text, house, "/proc/irq/%u/smp_affinity_list", irq[i]);
	}
	if (!count)
		finding_is(f, VERDICT_UNKNOWN, "no line of /proc/interrupts names %s", h->iface);
	else if (!bad)
		finding_is(f, VERDICT_OK, "%u interrupt%s, none on %s", count, count > 1 ? "s" : "",
			   h->named);
	else if (!*house)
		finding_is(f, VERDICT_INFO, "one core takes the interrupts, too");
	else
		finding_is(f, VERDICT_WARN, "%u of %u interrupt%s may come on saker's %s: %s%s",
			   bad, count, count > 1 ? "s" : "", h->named, bad > 1 ? "such as " : "",
			   where);
}

void check_irqbalance(const struct host *h, struct finding *f)
{
	char list[CPUS_TEXT], cores[CPUS_TEXT];
	enum built there = host_process(h, "irqbalance");
	cpu_set_t isolated;

	finding_why(f, BASIS_RULE, "irqbalance(1)",
		    "it moves interrupts every 10 s, onto saker's cores too unless they are "
		    "isolated, and undoes what irq-affinity asks for");
	cpus_list(&h->cores, cores);
	if (there == BUILT_NOT_KNOWN) {
		finding_is(f, VERDICT_UNKNOWN, "/proc hides other processes: run as root");
		return;
	}
	if (there == BUILT_NO) {
		finding_is(f, VERDICT_OK, "it does not run");
		return;
	}
	if (host_text(h, list, sizeof list, "sys/devices/system/cpu/isolated") &&
	    cpus_parse(list, &isolated)) {
		CPU_AND(&isolated, &isolated, &h->cores);
		if (CPU_EQUAL(&isolated, &h->cores)) {
			finding_is(f, VERDICT_INFO, "it runs, and leaves isolated cores alone");
			return;
		}
	}
	finding_is(f, VERDICT_WARN, "it runs, and may use %s", h->named);
	finding_fix(f, FIX_HAND,
		    "IRQBALANCE_BANNED_CPULIST=%s in /etc/default/irqbalance and systemctl restart "
		    "irqbalance, or systemctl disable --now irqbalance",
		    cores);
}

void check_rps(const struct host *h, struct finding *f)
{
	char text[CPUS_TEXT], now[CPUS_TEXT] = "", mask[CPUS_TEXT];
	unsigned queue = 0, bad = 0;
	cpu_set_t set;

	finding_why(f, BASIS_ESTIMATE, "not measured",
		    "it has the kernel's share of each frame done on those cores: 1.5 to 3 us, and "
		    "an interrupt from another core");
	for (;; queue++) {
		if (!host_text(h, text, sizeof text, "sys/class/net/%s/queues/rx-%u/rps_cpus",
			       h->iface, queue))
			break;
		if (!cpus_parse_mask(text, &set)) {
			finding_is(f, VERDICT_UNKNOWN, "rx-%u/rps_cpus: %s", queue, text);
			return;
		}
		cpu_set_t rest;
		CPU_AND(&rest, &set, &h->cores);
		if (!CPU_COUNT(&rest))
			continue;
		CPU_XOR(&rest, &set, &rest);
		memcpy(now, text, sizeof now);
		bad++;
		finding_write(f, text, cpus_mask(&rest, mask),
			      "/sys/class/net/%s/queues/rx-%u/rps_cpus", h->iface, queue);
	}
	if (!queue && config_option(h, "RPS") == BUILT_NO)
		finding_is(f, VERDICT_OK, "this kernel has no receive packet steering");
	else if (!queue)
		finding_is(f, VERDICT_UNKNOWN,
			   "no /sys/class/net/%s/queues/rx-0/rps_cpus: a kernel without RPS, or a "
			   "queue that is not told",
			   h->iface);
	else if (!bad)
		finding_is(f, VERDICT_OK, "receive packet steering leaves saker's cores alone");
	else
		finding_is(f, VERDICT_WARN, "rps_cpus is %s: frames are handled on saker's %s", now,
			   h->named);
}
