/* SPDX-License-Identifier: GPL-2.0-only */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "probe.h"
#include "probe_count.h"
#include "probe_parse.h"

/* Of one process; those of a larger one beyond that are left out, and it is said. */
enum { TASK_THREADS = 256 };

/* Counts of a thread; when it ends they stay in the sums. */
struct thread {
	int tid; /* 0: ended */
	bool seen;
	struct text status, sched;
	struct count voluntary, involuntary, migrations;
};

struct task {
	const struct probe *p;
	struct source *source; /* NULL: not yet */
	int pid;
	struct text status, stat;
	struct count minflt, majflt;
	DIR *threads;
	struct thread thread[TASK_THREADS];
	unsigned used;
	uint64_t ended[3]; /* what threads had counted that are gone */
	bool migrations;   /* the kernel tells them */
	bool first;        /* its threads were there before us */
};

/* --- threads -------------------------------------------------------------------------------- */

static void forget(struct task *t, struct thread *of)
{
	t->ended[0] += of->voluntary.sum;
	t->ended[1] += of->involuntary.sum;
	t->ended[2] += of->migrations.sum;
	close(of->status.fd);
	if (of->sched.fd >= 0)
		close(of->sched.fd);
	of->tid = 0;
	of->voluntary = of->involuntary = of->migrations = (struct count){ 0 };
}

static struct thread *thread_of(struct task *t, int tid)
{
	struct thread *slot = NULL;

	for (unsigned i = 0; i < t->used; i++) {
		if (t->thread[i].tid == tid)
			return &t->thread[i];
		if (!t->thread[i].tid)
			slot = &t->thread[i];
	}
	if (!slot && t->used < TASK_THREADS)
		slot = &t->thread[t->used++];
	if (!slot)
		return NULL;
	slot->status.fd = probe_open(t->p, "proc/%d/task/%d/status", t->pid, tid);
	slot->sched.fd = probe_open(t->p, "proc/%d/task/%d/sched", t->pid, tid);
	if (slot->status.fd < 0) {
		if (slot->sched.fd >= 0)
			close(slot->sched.fd);
		return NULL;
	}
	slot->tid = tid;
	/* Born since the last look: it counts from 0. */
	slot->voluntary.begun = slot->involuntary.begun = slot->migrations.begun = !t->first;
	slot->voluntary.last = slot->involuntary.last = slot->migrations.last = 0;
	return slot;
}

static bool read_thread(struct task *t, struct thread *of)
{
	const char *text = text_read(&of->status);
	uint64_t voluntary = of->voluntary.last, involuntary = of->involuntary.last, moved;

	if (!text)
		return false;
	parse_field(text, "voluntary_ctxt_switches", &voluntary);
	parse_field(text, "nonvoluntary_ctxt_switches", &involuntary);
	count_64(&of->voluntary, voluntary);
	count_64(&of->involuntary, involuntary);
	text = text_read(&of->sched);
	if (text && parse_field(text, "se.nr_migrations", &moved)) {
		count_64(&of->migrations, moved);
		t->migrations = true;
	}
	return true;
}

static void read_threads(struct task *t, uint64_t sum[3])
{
	struct dirent *entry;

	for (unsigned i = 0; i < t->used; i++)
		t->thread[i].seen = false;
	rewinddir(t->threads);
	while ((entry = readdir(t->threads)) != NULL) {
		struct thread *of = isdigit((unsigned char)*entry->d_name) ?
					    thread_of(t, atoi(entry->d_name)) :
					    NULL;
		if (of)
			of->seen = read_thread(t, of);
	}
	memcpy(sum, t->ended, sizeof t->ended);
	for (unsigned i = 0; i < t->used; i++) {
		struct thread *of = &t->thread[i];
		sum[0] += of->voluntary.sum;
		sum[1] += of->involuntary.sum;
		sum[2] += of->migrations.sum;
		if (of->tid && !of->seen)
			forget(t, of);
	}
	t->first = false;
}

/* --- the process ------------------------------------------------------------------------------ */

static void read_task(void *state, double *cell)
{
	struct task *t = state;
	const char *text = text_read(&t->status);
	uint64_t value, sum[3];

	if (!text && t->source)
		probe_remark(t->source, "ended meanwhile");
	if (!text)
		return;
	if (parse_field(text, "VmRSS", &value))
		cell[0] = (double)value;
	text = text_read(&t->stat);
	if (text && parse_pid_stat(text, 10, &value))
		cell[1] = (double)count_64(&t->minflt, value);
	if (text && parse_pid_stat(text, 12, &value))
		cell[2] = (double)count_64(&t->majflt, value);
	read_threads(t, sum);
	cell[3] = (double)sum[0];
	cell[4] = (double)sum[1];
	if (t->migrations)
		cell[5] = (double)sum[2];
}

static const char *const task_names[] = { "rss_kb",        "minflt",          "majflt",
					  "ctx_voluntary", "ctx_involuntary", "migrations" };

static void add_columns(struct probe *p, const struct task *t)
{
	char suffix[16] = "";

	if (p->pids > 1)
		snprintf(suffix, sizeof suffix, "_%d", t->pid);
	for (unsigned i = 0; i < array_size(task_names) - !t->migrations; i++)
		probe_column(p, 0, "%s%s", task_names[i], suffix);
}

static void one(struct probe *p, int pid)
{
	struct task *t = probe_memory(sizeof *t);
	double base[array_size(task_names)];
	char path[512], name[32];

	snprintf(name, sizeof name, "pid %d", pid);
	snprintf(path, sizeof path, "%s/proc/%d/task", p->root, pid);
	t->p = p;
	t->pid = pid;
	t->first = true;
	t->status.fd = probe_open(p, "proc/%d/status", pid);
	t->stat.fd = probe_open(p, "proc/%d/stat", pid);
	t->threads = opendir(path);
	if (t->status.fd < 0 || !t->threads) {
		probe_absent(p, name, NULL, "%s",
			     errno == ENOENT ? "no such process" : strerror(errno));
		return;
	}
	read_task(t, base);
	t->source = probe_source(p, read_task, t, "%s", name);
	if (t->used == TASK_THREADS)
		probe_remark(t->source, "the first %d of its threads", TASK_THREADS);
	else if (!t->migrations)
		probe_remark(t->source, "no migrations: no sched file (CONFIG_SCHED_DEBUG)");
	add_columns(p, t);
}

void probe_task(struct probe *p)
{
	if (!p->pids)
		probe_absent(p, "pid", "--pid=PID", "no process was named");
	for (unsigned i = 0; i < p->pids; i++)
		one(p, p->pid[i]);
}
