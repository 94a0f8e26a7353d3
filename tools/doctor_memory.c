/* SPDX-License-Identifier: GPL-2.0-only */
/* What the kernel does with memory, and with tasks, behind everybody's back. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "doctor_checks.h"
#include "limits.h"

void check_thp(const struct host *h, struct finding *f)
{
	char word[32];

	finding_why(f, BASIS_ESTIMATE, "not measured; mm/khugepaged.c copies 512 pages",
		    "khugepaged puts pages together in any process: 2 MiB are copied while its "
		    "page tables are locked, some 100 us");
	if (!host_there(h, "sys/kernel/mm")) {
		finding_is(f, VERDICT_UNKNOWN, "no /sys/kernel/mm");
	} else if (!host_there(h, "sys/kernel/mm/transparent_hugepage")) {
		finding_is(f, VERDICT_OK, "this kernel has no transparent huge pages");
	} else if (!host_chosen(h, word, sizeof word,
				"sys/kernel/mm/transparent_hugepage/enabled")) {
		finding_is(f, VERDICT_UNKNOWN, "cannot read transparent_hugepage/enabled");
	} else if (strcmp(word, "always")) {
		finding_is(f, VERDICT_OK, "transparent huge pages: %s", word);
	} else {
		finding_is(f, VERDICT_WARN, "transparent huge pages: always");
		finding_write(f, word, "madvise", "/sys/kernel/mm/transparent_hugepage/enabled");
	}
}

/* --- nodes -------------------------------------------------------------------------------- */

static unsigned nodes(const struct host *h)
{
	static char found[HOST_PATHS][HOST_PATH];

	return host_glob(h, found, HOST_PATHS, "sys/devices/system/node/node[0-9]*");
}

/* The node of the first of saker's cores; -1: none. */
static long node_of_cores(const struct host *h)
{
	static char found[HOST_PATHS][HOST_PATH];
	unsigned n = host_glob(h, found, HOST_PATHS, "sys/devices/system/node/node[0-9]*");
	char list[CPUS_TEXT];
	cpu_set_t set;

	for (unsigned i = 0; i < n; i++) {
		if (!host_text(h, list, sizeof list, "%s/cpulist", found[i]) ||
		    !cpus_parse(list, &set))
			continue;
		CPU_AND(&set, &set, &h->cores);
		if (CPU_COUNT(&set))
			return strtol(strrchr(found[i], '/') + strlen("/node"), NULL, 10);
	}
	return -1;
}

void check_numa(const struct host *h, struct finding *f)
{
	unsigned n = nodes(h);
	char fake[32], list[CPUS_TEXT] = "";
	long long nic = -1;
	long core = node_of_cores(h);

	finding_why(f, BASIS_ESTIMATE, "usual for servers of two sockets; not measured",
		    "a core reads what the card wrote, about 0.1 us more for each cache line that "
		    "comes from another node");
	host_number(h, &nic, "sys/class/net/%s/device/numa_node", h->iface);
	if (!n && !host_there(h, "sys/devices/system/cpu/isolated")) {
		finding_is(f, VERDICT_UNKNOWN, "no /sys/devices/system/node");
	} else if (n <= 1) {
		finding_is(f, VERDICT_OK, "one node");
	} else if (host_cmdline(h, "numa", fake, sizeof fake) && !strncmp(fake, "fake=", 5)) {
		finding_is(f, VERDICT_OK,
			   "%u nodes that the firmware made up (numa=%s): one memory, spread "
			   "evenly over its banks",
			   n, fake);
	} else if (nic < 0 || core < 0) {
		finding_is(f, VERDICT_UNKNOWN, "%u nodes, and nothing tells which the %s is at", n,
			   core < 0 ? "core" : "card");
	} else if (nic == core) {
		finding_is(f, VERDICT_OK, "card and cores are at node %ld of %u", core, n);
	} else {
		finding_is(f, VERDICT_WARN, "the card is at node %lld, saker's cores at node %ld",
			   nic, core);
		host_text(h, list, sizeof list, "sys/devices/system/node/node%lld/cpulist", nic);
		finding_fix(f, FIX_HAND,
			    "give saker cores of node %lld: --io-cpu and --compute-cpus "
			    "from %s",
			    nic, list);
	}
}

void check_zone_reclaim(const struct host *h, struct finding *f)
{
	long long mode;

	finding_why(f, BASIS_RULE, "Documentation/admin-guide/sysctl/vm.rst",
		    "a node that is full is searched for pages to free before another's are taken: "
		    "whoever asks for memory waits, for ms");
	if (!host_number(h, &mode, "proc/sys/vm/zone_reclaim_mode")) {
		if (errno == ENOENT && host_there(h, "proc/sys/vm"))
			finding_is(f, VERDICT_OK, "a kernel without nodes has no such thing");
		else
			finding_is(f, VERDICT_UNKNOWN, "zone_reclaim_mode: %s", strerror(errno));
	} else if (!mode) {
		finding_is(f, VERDICT_OK, "vm.zone_reclaim_mode is 0");
	} else {
		char now[32];

		snprintf(now, sizeof now, "%lld", mode);
		finding_is(f, VERDICT_WARN, "vm.zone_reclaim_mode is %lld", mode);
		finding_write(f, now, "0", "/proc/sys/vm/zone_reclaim_mode");
	}
}

/* --- the kernel's housekeeping ---------------------------------------------------------------- */

void check_stat_interval(const struct host *h, struct finding *f)
{
	long long seconds;
	char now[32];

	finding_why(f, BASIS_ESTIMATE, "mm/vmstat.c; not measured",
		    "a task of the kernel runs on each core that often to add up its counters: "
		    "some us; newer kernels leave isolated cores alone");
	if (!host_number(h, &seconds, "proc/sys/vm/stat_interval")) {
		finding_is(f, VERDICT_UNKNOWN, "cannot read vm.stat_interval");
	} else if (seconds >= 10) {
		finding_is(f, VERDICT_OK, "vm.stat_interval is %lld s", seconds);
	} else {
		snprintf(now, sizeof now, "%lld", seconds);
		finding_is(f, VERDICT_INFO, "vm.stat_interval is %lld s", seconds);
		finding_write(f, now, "120", "/proc/sys/vm/stat_interval");
	}
}

/* In debugfs since Linux 5.13. */
void check_migration_cost(const struct host *h, struct finding *f)
{
	long long ns;

	finding_why(f, BASIS_RULE, "kernel/sched/fair.c: 500000 ns",
		    "a task that ran so lately is not moved to another core; saker's threads are "
		    "pinned and never move, so this is about the others only");
	if (host_number(h, &ns, "proc/sys/kernel/sched_migration_cost_ns") ||
	    host_number(h, &ns, "sys/kernel/debug/sched/migration_cost_ns"))
		finding_is(f, ns < 100000 ? VERDICT_INFO : VERDICT_OK, "%lld us", ns / 1000);
	else if (errno == EACCES)
		finding_is(f, VERDICT_UNKNOWN, "only root may read debugfs: run as root");
	else
		finding_is(f, VERDICT_UNKNOWN,
			   "no sched/migration_cost_ns: debugfs is not mounted, "
			   "or a kernel without SCHED_DEBUG");
}

/* --- locked memory ------------------------------------------------------------------------------ */

/* linux/capability.h */
enum { MAY_LOCK = 14 };

/* Its capabilities do not count for locked memory. The first one maps all numbers. */
static bool user_namespace(const struct host *h)
{
	char map[128];

	return host_text(h, map, sizeof map, "proc/self/uid_map") && !strstr(map, "4294967295");
}

void check_memlock(const struct host *h, struct finding *f)
{
	static char text[HOST_TEXT];
	char limit[64], caps[64];
	unsigned queue = 1;
	long long need;

	while (*h->iface && queue < QUEUES_MAX &&
	       host_there(h, "sys/class/net/%s/queues/rx-%u", h->iface, queue))
		queue++;
	need = (long long)queue * RING_FRAMES * FRAME_SIZE;
	finding_why(f, BASIS_RULE, "net/xdp/xdp_umem.c; include/limits.h",
		    "frames of AF_XDP are locked memory, %lld KiB here: without CAP_IPC_LOCK they "
		    "count against RLIMIT_MEMLOCK, and above it the start is refused (ENOBUFS)",
		    need >> 10);
	bool told = host_text(h, text, sizeof text, "proc/self/status") &&
		    field_text(text, "CapEff", caps, sizeof caps);
	if (told && strtoull(caps, NULL, 16) >> MAY_LOCK & 1 && !user_namespace(h)) {
		finding_is(f, VERDICT_OK, "CAP_IPC_LOCK: no limit counts");
		return;
	}
	const char *line = host_text(h, text, sizeof text, "proc/self/limits") ?
				   strstr(text, "Max locked memory") :
				   NULL;
	if (!line || sscanf(line, "Max locked memory %63s", limit) != 1)
		finding_is(f, VERDICT_UNKNOWN, "no limit in /proc/self/limits");
	else if (!strcmp(limit, "unlimited") || strtoll(limit, NULL, 10) >= need)
		finding_is(f, VERDICT_OK, "%s bytes may be locked", limit);
	else if (!told)
		finding_is(f, VERDICT_UNKNOWN,
			   "%s bytes may be locked, and /proc/self/status does not tell whether "
			   "that counts",
			   limit);
	else {
		finding_is(f, VERDICT_WARN, "%s bytes may be locked", limit);
		finding_fix(f, FIX_HAND,
			    "ulimit -l %lld as root, or LimitMEMLOCK=infinity in the "
			    "unit",
			    need >> 10);
	}
}
