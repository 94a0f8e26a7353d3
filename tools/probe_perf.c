/* SPDX-License-Identifier: GPL-2.0-only */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "probe.h"
#include "probe_perf.h"
#include "probe_pmu.h"

/* --- one target -------------------------------------------------------------------------- */

static int open_event(const struct perf_target *t, const struct perf_event *e, int leader)
{
	struct perf_event_attr attr = {
		.size = sizeof attr,
		.type = e->type,
		.config = e->config,
		.exclude_kernel = t->user_only,
		.exclude_hv = t->user_only,
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
			       PERF_FORMAT_TOTAL_TIME_RUNNING,
	};
	long fd = syscall(SYS_perf_event_open, &attr, t->tid, t->cpu, leader, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

/* Into the last group, else into a new one. */
static int join(struct perf_target *t, const struct perf_event *e, struct perf_group **group)
{
	int fd = -EINVAL;

	*group = t->groups ? &t->group[t->groups - 1] : NULL;
	if (*group && !e->alone)
		fd = open_event(t, e, (*group)->fd);
	if (fd == -EINVAL && t->groups < PERF_GROUPS) {
		fd = open_event(t, e, -1);
		if (fd >= 0) {
			*group = &t->group[t->groups++];
			(*group)->fd = fd;
		}
	}
	return fd;
}

int perf_add(struct perf_target *t, unsigned event, const struct perf_event *e)
{
	struct perf_group *group;
	int fd = join(t, e, &group);

	if ((fd == -EACCES || fd == -EPERM) && !t->user_only && !t->groups) {
		t->user_only = true;
		fd = join(t, e, &group);
		t->user_only = fd >= 0;
	}
	if (fd < 0)
		return fd;
	must(group->count < PERF_EVENTS && event < PERF_EVENTS);
	group->event[group->count++] = event;
	return 0;
}

bool perf_read(struct perf_target *t)
{
	for (unsigned g = 0; g < t->groups; g++) {
		struct perf_group *group = &t->group[g];
		struct {
			uint64_t count, enabled, running, value[PERF_EVENTS];
		} now;
		ssize_t size = (ssize_t)(3 + group->count) * 8;

		if (read(group->fd, &now, sizeof now) != size)
			return false;
		double enabled = (double)(now.enabled - group->enabled);
		double running = (double)(now.running - group->running);
		for (unsigned i = 0; i < group->count; i++) {
			double n = (double)(now.value[i] - group->last[i]);

			t->sum[group->event[i]] += running > 0 ? n * enabled / running : 0;
			group->last[i] = now.value[i];
		}
		group->enabled = now.enabled;
		group->running = now.running;
	}
	return true;
}

/* --- the events by name --------------------------------------------------------------------- */

#define HARD(what) \
	{ \
		.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_##what \
	}
#define MISS(cache) \
	{ \
		.type = PERF_TYPE_HW_CACHE, .config = PERF_COUNT_HW_CACHE_##cache | \
						      PERF_COUNT_HW_CACHE_OP_READ << 8 | \
						      PERF_COUNT_HW_CACHE_RESULT_MISS << 16 \
	}

struct named {
	const char *name;
	struct perf_event event;
	double unit;        /* of one count; 0: 1 */
	const char *remark; /* NULL: none */
	bool of_threads;    /* of a whole CPU it says nothing */
};

enum { MEM_BYTES = 6 };

/* Seven at most for the CPU: a Cortex-A76 has six counters and one for cycles. What the
 * cores read beyond the last cache, a line each, is the least that came from memory: no
 * event of memory itself is on every chip. Last and alone the clock: of events in a group
 * behind it, a kernel 6.18 counted nothing. */
static struct named names[] = {
	/* clang-format off */
	{ .name = "cycles", .event = HARD(CPU_CYCLES) },
	{ .name = "instructions", .event = HARD(INSTRUCTIONS) },
	{ .name = "cache_misses", .event = HARD(CACHE_MISSES) },
	{ .name = "l1i_refills", .event = MISS(L1I) },
	{ .name = "dtlb_misses", .event = MISS(DTLB) },
	{ .name = "itlb_misses", .event = MISS(ITLB) },
	[MEM_BYTES] = { .name = "mem_bytes", .unit = 64,
			.remark = "ll_cache_miss_rd x 64: reads by cores only" },
	{ .name = "task_clock_ns", .of_threads = true,
	  .event = { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, .alone = true } },
	/* clang-format on */
};

_Static_assert(array_size(names) <= PERF_EVENTS, "an index for each");

static const char *reason(int error)
{
	switch (-error) {
	case ENOENT:
	case EOPNOTSUPP:
	case ENODEV:
		return "this CPU, or who runs the virtual machine, does not count it";
	case EACCES:
	case EPERM:
		return "not permitted (kernel.perf_event_paranoid)";
	case ENOSYS:
		return "this kernel has no perf_event_open";
	case ESRCH:
		return "no such process";
	default:
		return strerror(-error);
	}
}

static const char *cure(int error)
{
	return error == -EACCES || error == -EPERM ?
		       "be root, or sysctl kernel.perf_event_paranoid=0 (1 with --pid)" :
		       NULL;
}

/* --- sources: all the targets of one process, or all CPUs -------------------------------------- */

enum { PERF_TARGETS = 64 };

struct counted {
	struct perf_target target[PERF_TARGETS];
	unsigned targets;
	unsigned turn; /* sources that have been asked in this row, and how many there are */
	unsigned sources;
	double sum[PERF_EVENTS];
};

/* One source for each event, which its reason may be missing; the first reads for all. */
struct one {
	struct counted *counted;
	unsigned event;
};

static void read_one(void *state, double *cell)
{
	struct one *one = state;
	struct counted *c = one->counted;

	if (c->turn++ % c->sources == 0) {
		memset(c->sum, 0, sizeof c->sum);
		for (unsigned i = 0; i < c->targets; i++) {
			perf_read(&c->target[i]); /* of a thread that ended: what it had */
			for (unsigned e = 0; e < array_size(names); e++)
				c->sum[e] += c->target[i].sum[e];
		}
	}
	double unit = names[one->event].unit;

	*cell = c->sum[one->event] * (unit > 0 ? unit : 1);
}

static void add_event(struct probe *p, struct counted *c, unsigned e, const char *suffix)
{
	const struct named *n = &names[e];
	char name[48];
	int error = -ENODEV;
	unsigned good = 0;

	snprintf(name, sizeof name, "%s%s", n->name, suffix);
	for (unsigned i = 0; i < c->targets; i++) {
		int got = perf_add(&c->target[i], e, &n->event);

		good += !got;
		error = got ? got : error;
	}
	if (!good) {
		probe_absent(p, name, cure(error), "%s",
			     c->targets ? reason(error) : "no such process");
		return;
	}
	struct one *one = probe_memory(sizeof *one);
	*one = (struct one){ c, e };
	c->sources++;
	struct source *s = probe_source(p, read_one, one, "%s", name);
	probe_remark(s, "%s%s%s", c->target[0].user_only ? "user space only" : "",
		     c->target[0].user_only && n->remark ? "; " : "", n->remark ? n->remark : "");
	probe_column(p, 0, "%s", name);
}

static void add_events(struct probe *p, struct counted *c, const char *suffix, bool threads)
{
	struct pmu_event mem;

	for (unsigned e = 0; e < array_size(names); e++) {
		if (names[e].of_threads && !threads)
			continue;
		if (e == MEM_BYTES && !pmu_find(p, "armv8_*", "ll_cache_miss_rd", &mem)) {
			char name[48];
			snprintf(name, sizeof name, "%s%s", names[e].name, suffix);
			probe_absent(p, name, NULL, "no PMU that counts it by a name that we know");
			continue;
		}
		if (e == MEM_BYTES)
			names[e].event = (struct perf_event){ mem.type, mem.config,
							      .alone = false };
		add_event(p, c, e, suffix);
	}
}

/* --- targets ------------------------------------------------------------------------------------ */

static void add_target(struct counted *c, pid_t tid, int cpu)
{
	if (c->targets < PERF_TARGETS)
		c->target[c->targets++] = (struct perf_target){ .tid = tid, .cpu = cpu };
}

static void threads_of(struct counted *c, int pid)
{
	char path[64];
	struct dirent *entry;

	snprintf(path, sizeof path, "/proc/%d/task", pid);
	DIR *dir = opendir(path);
	while (dir && (entry = readdir(dir)) != NULL)
		if (isdigit((unsigned char)*entry->d_name))
			add_target(c, atoi(entry->d_name), -1);
	if (dir)
		closedir(dir);
}

static void all_cpus(struct counted *c)
{
	long count = sysconf(_SC_NPROCESSORS_CONF);

	for (int cpu = 0; cpu < count; cpu++) {
		struct perf_target t = { .tid = -1, .cpu = cpu };
		struct perf_event any = { .type = PERF_TYPE_SOFTWARE,
					  .config = PERF_COUNT_SW_DUMMY };
		int fd = open_event(&t, &any, -1);

		if (fd >= 0)
			close(fd);
		if (fd != -ENODEV && fd != -ENXIO) /* off */
			add_target(c, -1, cpu);
	}
}

void probe_perf(struct probe *p)
{
	if (*p->root || p->no_perf) {
		probe_absent(p, "perf", NULL,
			     p->no_perf ? "--no-perf" : "the events of a kernel are not in files");
		return;
	}
	for (unsigned i = 0; i < p->pids; i++) {
		struct counted *c = probe_memory(sizeof *c);
		char suffix[16] = "";

		if (p->pids > 1)
			snprintf(suffix, sizeof suffix, "_%d", p->pid[i]);
		threads_of(c, p->pid[i]);
		add_events(p, c, suffix, true);
	}
	if (!p->pids) {
		struct counted *c = probe_memory(sizeof *c);

		all_cpus(c);
		add_events(p, c, "", false);
	}
}
