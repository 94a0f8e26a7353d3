/* SPDX-License-Identifier: GPL-2.0-only */
#include "doctor_checks.h"

const struct check checks[] = {
	{ "kernel", "is it new enough", check_kernel, false },
	{ "af-xdp", "AF_XDP in this kernel", check_af_xdp, false },
	{ "bpf", "BPF in this kernel, and its compiler", check_bpf, false },
	{ "tc-bpf", "programs at tc ingress, for --io=packet", check_tc_bpf, false },
	{ "btf", "the kernel's types, for tools", check_btf, false },
	{ "page-size", "the size of a page of memory", check_page_size, false },

	{ "native-xdp", "what the driver can do for XDP", check_native_xdp, true },
	{ "known-faults", "driver and kernel with a fault that is known", check_known_faults,
	  true },
	{ "link", "speed, duplex, and whether there is one", check_link, true },
	{ "mtu", "do frames fit", check_mtu, true },
	{ "queues", "of the card, and sockets for them", check_queues, true },
	{ "rings", "how many frames wait in the card", check_rings, true },
	{ "offloads", "frames that are merged: GRO, LRO", check_offloads, true },
	{ "moderation", "interrupts that the card holds back", check_moderation, true },
	{ "deferral", "interrupts that the kernel holds back", check_deferral, true },
	{ "eee", "Energy Efficient Ethernet: a link that sleeps", check_eee, true },
	{ "aspm", "a PCIe link that sleeps", check_aspm, true },

	{ "irq-affinity", "which cores the card interrupts", check_irq_affinity, true },
	{ "irqbalance", "who moves interrupts", check_irqbalance, false },
	{ "rps", "frames handed to other cores", check_rps, true },
	{ "isolation", "other tasks on saker's cores", check_isolation, false },
	{ "nohz-full", "the timer on saker's cores", check_nohz_full, false },
	{ "tick", "how often the timer ticks", check_tick, false },
	{ "rcu-nocbs", "RCU's callbacks on saker's cores", check_rcu_nocbs, false },

	{ "governor", "who chooses the clock", check_governor, false },
	{ "frequency", "the clock itself", check_frequency, false },
	{ "throttle", "was the processor slowed", check_throttle, false },
	{ "temperature", "how near is it to that", check_temperature, false },

	{ "thp", "transparent huge pages", check_thp, false },
	{ "numa", "are card and cores at one node", check_numa, true },
	{ "zone-reclaim", "who waits for memory", check_zone_reclaim, false },
	{ "stat-interval", "the kernel's counters of memory", check_stat_interval, false },
	{ "migration-cost", "how soon a task may move", check_migration_cost, false },
	{ "memlock", "memory that may be locked", check_memlock, false },

	{ "xdp-program", "another's XDP program", check_xdp_program, true },
	{ "tc-programs", "another's programs at tc ingress", check_tc_programs, true },
	{ "leftovers", "what a crash of ours left", check_leftovers, false },
};
const unsigned checks_count = array_size(checks);

void check_run(const struct check *c, const struct host *h, struct finding *f)
{
	*f = (struct finding){ .check = c->name };
	if (c->nic && !*h->iface)
		finding_is(f, VERDICT_UNKNOWN, "%s", h->no_iface);
	else
		c->run(h, f);
	must(*f->what);
	if (f->settings > FINDING_SHOWN && f->written == f->settings + f->settings_left)
		finding_fix(f, FIX_RUNTIME, " ... and %u more like these",
			    f->written - FINDING_SHOWN);
}

unsigned report_tally(const struct report *r, enum verdict verdict)
{
	unsigned n = 0;

	for (unsigned i = 0; i < r->count; i++)
		n += r->list[i].verdict == verdict;
	return n;
}

int report_status(const struct report *r)
{
	return report_tally(r, VERDICT_FAIL) ? 3 : report_tally(r, VERDICT_WARN) ? 1 : 0;
}
