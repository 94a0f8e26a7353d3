/* SPDX-License-Identifier: GPL-2.0-only */
/* Who else runs on saker's cores: tasks, the timer's tick, RCU's callbacks. */
#include <string.h>
#include "doctor_checks.h"

#define ISOLATED_FILE "sys/devices/system/cpu/isolated"

/* Those of saker's cores that are not in the set. */
static bool missing_from(const struct host *h, const cpu_set_t *set)
{
	cpu_set_t both;

	CPU_AND(&both, set, &h->cores);
	return !CPU_EQUAL(&both, &h->cores);
}

static bool missing_in(const struct host *h, const char *list)
{
	cpu_set_t set;

	return !cpus_parse(list, &set) || missing_from(h, &set);
}

/* One core serves all: there is nothing to part. */
static bool alone(const struct host *h, struct finding *f)
{
	if (CPU_COUNT(&h->online) > 1)
		return false;
	finding_is(f, VERDICT_INFO, "one core: saker shares it with everything else");
	return true;
}

/* Every kernel since 4.2 has this file: without it, nothing is known of what it has not. */
static bool told(const struct host *h, struct finding *f)
{
	if (host_there(h, ISOLATED_FILE))
		return true;
	finding_is(f, VERDICT_UNKNOWN, "no /" ISOLATED_FILE);
	return false;
}

static bool can_partition(const struct host *h)
{
	char controllers[256];

	return host_text(h, controllers, sizeof controllers, "sys/fs/cgroup/cgroup.controllers") &&
	       strstr(controllers, "cpuset") &&
	       host_version(6, 1, 0) <= h->version; /* isolated partitions: cgroup-v2.rst */
}

void check_isolation(const struct host *h, struct finding *f)
{
	char cores[CPUS_TEXT], house[CPUS_TEXT], text[CPUS_TEXT];
	cpu_set_t boot, parted, both;

	finding_why(f, BASIS_RULE, "kernel/sched/fair.c: base slice 0.7 ms, times 3 on 4 cores",
		    "another task on the core keeps it for a slice of 2 to 3 ms, in which no frame "
		    "is answered");
	if (alone(h, f) || !told(h, f))
		return;
	cpus_list(&h->cores, cores);
	cpus_list(&h->house, house);
	host_isolated(h, &boot, &parted);
	CPU_OR(&both, &boot, &parted);
	if (!missing_from(h, &both)) {
		finding_is(f, VERDICT_OK, "isolated%s: %s",
			   missing_from(h, &boot) ? " by a cpuset partition" : "", h->named);
		return;
	}
	if (host_cmdline(h, "isolcpus", text, sizeof text))
		finding_is(f, VERDICT_WARN, "isolcpus=%s, but not isolated: %s", text, h->named);
	else
		finding_is(f, VERDICT_WARN, "not isolated, so that any task may run there: %s",
			   h->named);
	if (can_partition(h)) {
		finding_setting(f, SETTING_PARTITION, cpus_list(&parted, text), cores, "cpuset");
		finding_fix(f, FIX_RUNTIME,
			    "saker-doctor --fix makes an isolated cpuset partition of %s",
			    h->named);
	}
	finding_boot(h, f, "isolcpus=domain,managed_irq,%s irqaffinity=%s", cores, house);
}

/* --- the tick ------------------------------------------------------------------------------ */

#define NO_HZ_FILE "sys/devices/system/cpu/nohz_full"

/* The file is there where the kernel can; without any core it says (null). */
static bool ticks(const struct host *h)
{
	char list[CPUS_TEXT];

	host_text(h, list, sizeof list, NO_HZ_FILE);
	return missing_in(h, strchr(list, '(') ? "" : list);
}

void check_nohz_full(const struct host *h, struct finding *f)
{
	char asked[CPUS_TEXT], cores[CPUS_TEXT];
	bool can = host_there(h, NO_HZ_FILE);
	bool wanted = host_cmdline(h, "nohz_full", asked, sizeof asked);

	finding_why(f, BASIS_MEASURED, "a virtual machine, AMD EPYC; not on a Raspberry Pi",
		    "the timer interrupts the core each 1/HZ s for 15 us: of requests that take "
		    "50 us one in 60 is hit at 250 Hz");
	if (alone(h, f) || !told(h, f))
		return;
	cpus_list(&h->cores, cores);
	if (!can && wanted) {
		finding_is(f, VERDICT_WARN,
			   "nohz_full=%s is on the command line, and this kernel ignores it: it "
			   "has no NO_HZ_FULL",
			   asked);
		finding_rebuild(h, f, "CONFIG_NO_HZ_FULL=y");
	} else if (!can) {
		finding_is(f, VERDICT_INFO,
			   "this kernel cannot stop the tick: it has no NO_HZ_FULL");
		finding_rebuild(h, f, "CONFIG_NO_HZ_FULL=y");
	} else if (ticks(h)) {
		finding_is(f, wanted ? VERDICT_WARN : VERDICT_INFO,
			   "the timer ticks on %s, and this kernel can stop it%s%s", h->named,
			   wanted ? "; the command line says nohz_full=" : "", wanted ? asked : "");
		finding_boot(h, f, "nohz_full=%s", cores);
	} else {
		finding_is(f, VERDICT_OK, "no tick on %s while one task runs there", h->named);
	}
}

void check_tick(const struct host *h, struct finding *f)
{
	long hz = config_number(h, "HZ");

	finding_why(f, BASIS_MEASURED, "a virtual machine, AMD EPYC; not on a Raspberry Pi",
		    "each tick takes 15 us of the core: 0.4 %% at 250 Hz, 1.5 %% at 1000 Hz");
	if (hz < 0)
		finding_is(f, VERDICT_UNKNOWN, "how often the timer ticks: %s",
			   h->config ? "no HZ among the options" : h->config_why);
	else if (host_there(h, NO_HZ_FILE) && !ticks(h))
		finding_is(f, VERDICT_OK, "HZ=%ld, and no tick on saker's cores", hz);
	else if (hz <= 250)
		finding_is(f, VERDICT_OK, "HZ=%ld", hz);
	else {
		finding_is(f, VERDICT_INFO, "HZ=%ld", hz);
		finding_rebuild(h, f, "CONFIG_HZ_250=y, or NO_HZ_FULL");
	}
}

void check_rcu_nocbs(const struct host *h, struct finding *f)
{
	enum built can = config_option(h, "RCU_NOCB_CPU");
	char asked[CPUS_TEXT], cores[CPUS_TEXT];
	bool wanted = host_cmdline(h, "rcu_nocbs", asked, sizeof asked);

	finding_why(f, BASIS_ESTIMATE, "not measured",
		    "a core that frees for others what they gave up does so in batches of some "
		    "10 us, in softirq, while frames wait");
	if (alone(h, f))
		return;
	cpus_list(&h->cores, cores);
	if (host_there(h, NO_HZ_FILE) && !ticks(h))
		finding_is(f, VERDICT_OK, "nohz_full takes RCU's callbacks off %s", h->named);
	else if (can == BUILT_NO) {
		finding_is(f, wanted ? VERDICT_WARN : VERDICT_INFO,
			   "%s%s%s: it has no RCU_NOCB_CPU",
			   wanted ? "rcu_nocbs=" : "this kernel cannot move RCU's callbacks",
			   wanted ? asked : "",
			   wanted ? " is on the command line, and this kernel ignores it" : "");
		finding_rebuild(h, f, "CONFIG_NO_HZ_FULL=y, which has it too");
	} else if (config_option(h, "RCU_NOCB_CPU_DEFAULT_ALL") == BUILT_IN)
		finding_is(f, VERDICT_OK,
			   "this kernel has RCU's callbacks in threads for all cores");
	else if (can == BUILT_NOT_KNOWN)
		finding_is(f, VERDICT_UNKNOWN, "whether this kernel knows rcu_nocbs: %s",
			   h->config_why);
	else if (wanted && !strcmp(asked, "all"))
		finding_is(f, VERDICT_OK, "rcu_nocbs=all");
	else if (wanted && !missing_in(h, asked))
		finding_is(f, VERDICT_OK, "rcu_nocbs=%s", asked);
	else {
		finding_is(f, VERDICT_INFO, "RCU's callbacks run on %s", h->named);
		finding_boot(h, f, "rcu_nocbs=%s", cores);
	}
}
