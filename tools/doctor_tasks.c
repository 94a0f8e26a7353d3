/* SPDX-License-Identifier: GPL-2.0-only */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "doctor.h"
#include "doctor_tasks.h"

#define CGROUP "/sys/fs/cgroup"

static const struct machine here = { .root = "" };

/* --- pins ----------------------------------------------------------------------------- */

void pins_take(struct pins *p, pid_t pid, unsigned cores)
{
	char path[64];
	struct dirent *e;
	cpu_set_t set;
	DIR *dir;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (e = readdir(dir)) && p->count < PINS) {
		pid_t tid = (pid_t)atoi(e->d_name);

		if (tid <= 0 || sched_getaffinity(tid, sizeof set, &set) ||
		    (unsigned)CPU_COUNT(&set) >= cores)
			continue;
		p->pin[p->count].tid = tid;
		p->pin[p->count++].set = set;
	}
	if (dir)
		closedir(dir);
}

void pins_set(const struct pins *p)
{
	for (unsigned i = 0; i < p->count; i++)
		sched_setaffinity(p->pin[i].tid, sizeof p->pin[i].set, &p->pin[i].set);
}

static unsigned online(void)
{
	return (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
}

/* --- who there is ----------------------------------------------------------------------- */

enum { TASKS = 4096 };

struct task {
	pid_t pid, parent;
	char name[16];
};

struct tasks {
	unsigned count;
	struct task task[TASKS];
};

/* Field 22 of stat is when it began; the name, in brackets, may hold anything. */
static bool read_task(pid_t pid, struct task *t, unsigned long long *start)
{
	char path[64], text[1024];
	const char *open, *close;
	int parent;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	if (file_read(&here, path, text, sizeof text) || !(open = strchr(text, '(')) ||
	    !(close = strrchr(text, ')')))
		return false;
	if (sscanf(close + 1,
		   " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
		   "%llu",
		   &parent, start) != 2)
		return false;
	*t = (struct task){ .pid = pid, .parent = parent };
	snprintf(t->name, sizeof t->name, "%.*s", (int)(close - open - 1), open + 1);
	return true;
}

void task_start(pid_t pid, char text[32])
{
	unsigned long long start;
	struct task t;

	*text = '\0';
	if (read_task(pid, &t, &start))
		snprintf(text, 32, "start %llu", start);
}

static void read_tasks(struct tasks *all)
{
	DIR *dir = opendir("/proc");
	unsigned long long start;
	struct dirent *e;

	all->count = 0;
	while (dir && (e = readdir(dir)) && all->count < TASKS)
		if (atoi(e->d_name) > 0 &&
		    read_task((pid_t)atoi(e->d_name), &all->task[all->count], &start))
			all->count++;
	if (dir)
		closedir(dir);
}

/* --- responders ------------------------------------------------------------------------- */

static bool in(pid_t pid, const pid_t *list, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (list[i] == pid)
			return true;
	return false;
}

/* The starter and all below it; of a worker that has lost it, itself and all below. */
static unsigned family_of(const struct tasks *all, const struct task *worker, pid_t pid[FAMILY])
{
	unsigned count = 1;

	pid[0] = worker->pid;
	for (unsigned i = 0; i < all->count; i++)
		if (all->task[i].pid == worker->parent && !strncmp(all->task[i].name, "saker", 5))
			pid[0] = worker->parent;
	for (unsigned seen = 0; seen < count; seen++)
		for (unsigned i = 0; i < all->count && count < FAMILY; i++)
			if (all->task[i].parent == pid[seen] && !in(all->task[i].pid, pid, count))
				pid[count++] = all->task[i].pid;
	return count;
}

/* Has it pinned threads, and each on these cores only? */
static bool lives_on(const cpu_set_t *cores, const pid_t *pid, unsigned count)
{
	static struct pins p;
	cpu_set_t inside;

	p.count = 0;
	for (unsigned i = 0; i < count; i++)
		pins_take(&p, pid[i], online());
	for (unsigned i = 0; i < p.count; i++) {
		CPU_AND(&inside, &p.pin[i].set, cores);
		if (!CPU_EQUAL(&inside, &p.pin[i].set))
			return false;
	}
	return p.count;
}

unsigned tasks_on(const cpu_set_t *cores, pid_t pid[FAMILY])
{
	static struct tasks all;
	pid_t family[FAMILY];
	unsigned count = 0;

	read_tasks(&all);
	for (unsigned i = 0; i < all.count; i++) {
		unsigned members;

		if (strcmp(all.task[i].name, "saker-worker") || in(all.task[i].pid, pid, count))
			continue;
		members = family_of(&all, &all.task[i], family);
		if (!lives_on(cores, family, members) || count + members > FAMILY)
			continue;
		memcpy(pid + count, family, members * sizeof *family);
		count += members;
	}
	return count;
}

/* --- the cgroup of one -------------------------------------------------------------------- */

static pid_t pid_of(const char *name)
{
	char *end;
	long pid = strtol(name + strlen("process "), &end, 10);

	return pid > 0 && !*end ? (pid_t)pid : 0;
}

/* Of cgroup v2 it is the line `0::/...`. */
int task_read(struct machine *m, const char *name, char value[VALUE_SIZE])
{
	char path[64], text[FILE_TEXT];
	const char *line;
	int error;

	if (is_fake(m) || !pid_of(name))
		return machine_error(m, -EINVAL, "not a process");
	snprintf(path, sizeof path, "/proc/%d/cgroup", (int)pid_of(name));
	error = file_read(m, path, text, sizeof text);
	if (error)
		return error;
	line = strncmp(text, "0::", 3) ? strstr(text, "\n0::") : text;
	if (!line)
		return machine_error(m, -EOPNOTSUPP, "it is in no cgroup of v2");
	line = strchr(line, '/');
	if (!line || strcspn(line, "\n") >= VALUE_SIZE)
		return -EOVERFLOW;
	snprintf(value, VALUE_SIZE, "%.*s", (int)strcspn(line, "\n"), line);
	return 0;
}

int task_write(struct machine *m, const char *name, const char *value)
{
	static struct pins pins;
	char path[VALUE_SIZE + 64], text[32], now[VALUE_SIZE], effective[VALUE_SIZE];
	cpu_set_t set;
	unsigned cores = online();
	int error;

	if (is_fake(m) || !pid_of(name) || *value != '/' || strstr(value, "/.."))
		return machine_error(m, -EINVAL, "not a process and a cgroup");
	/* Where it is now it may be confined, and is pinned only if it has still fewer. */
	error = task_read(m, name, now);
	if (!error) {
		snprintf(path, sizeof path, CGROUP "%s/cpuset.cpus.effective", now);
		if (!file_read(m, path, effective, sizeof effective) && cpus_parse(effective, &set))
			cores = (unsigned)CPU_COUNT(&set);
	}
	pins.count = 0;
	pins_take(&pins, pid_of(name), cores);
	snprintf(path, sizeof path, CGROUP "%s/cgroup.procs", strcmp(value, "/") ? value : "");
	snprintf(text, sizeof text, "%d", (int)pid_of(name));
	error = file_write(m, path, text);
	if (error == -ENOENT)
		return machine_error(m, error, "that cgroup is gone");
	pins_set(&pins);
	return error;
}

/* True: it went. */
static bool leave(struct machine *m, pid_t pid, const char *cgroup)
{
	char name[32], parent[VALUE_SIZE];
	unsigned long long start;
	struct task t;

	if (!read_task(pid, &t, &start) || t.parent <= 1)
		return false;
	snprintf(name, sizeof name, "process %d", (int)t.parent);
	if (task_read(m, name, parent) || !strcmp(parent, cgroup))
		return false;
	snprintf(name, sizeof name, "process %d", (int)pid);
	return !task_write(m, name, parent);
}

/* Parents first: each round takes a generation. */
void tasks_leave(struct machine *m, const char *cgroup)
{
	char path[VALUE_SIZE + 64], text[FILE_TEXT], *rest, *word;
	bool went = true;

	snprintf(path, sizeof path, CGROUP "%s/cgroup.procs", cgroup);
	for (unsigned round = 0; went && round < FAMILY; round++) {
		went = false;
		if (file_read(m, path, text, sizeof text))
			return;
		for (rest = text; (word = strsep(&rest, "\n"));)
			went |= *word && leave(m, (pid_t)atoi(word), cgroup);
	}
}
