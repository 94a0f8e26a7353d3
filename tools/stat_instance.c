/* SPDX-License-Identifier: GPL-2.0-only */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "stat.h"

/* --- figures ------------------------------------------------------------------ */

bool figures_same_run(const struct figures *a, const struct figures *b)
{
	return a->pid == b->pid && a->started_ns == b->started_ns;
}

void figures_sub(struct figures *out, const struct figures *now, const struct figures *before)
{
	memcpy(out->name, now->name, sizeof out->name);
	out->pid = now->pid;
	out->started_ns = now->started_ns;
	out->from_ns = before->to_ns;
	out->to_ns = now->to_ns;
	for (uint32_t i = 0; i < STATS_COUNT; i++)
		((uint64_t *)&out->counters)[i] = stats_value(&now->counters, i) -
						  stats_value(&before->counters, i);
	for (uint32_t i = 0; i < array_size(out->busy_ns); i++)
		out->busy_ns[i] = now->busy_ns[i] - before->busy_ns[i];
	for (uint32_t i = 0; i < STAGES; i++)
		hist_sub((struct hist *)&out->stages + i, (const struct hist *)&now->stages + i,
			 (const struct hist *)&before->stages + i);
}

uint64_t figures_span_ns(const struct figures *f)
{
	return f->to_ns > f->from_ns ? f->to_ns - f->from_ns : 0;
}

double per_second(uint64_t n, uint64_t span_ns)
{
	return span_ns ? (double)n * NS_PER_S / (double)span_ns : 0;
}

double figures_rate(const struct figures *f, uint64_t n)
{
	return per_second(n, figures_span_ns(f));
}

bool io_isolated(const struct mode *mode, uint32_t thread)
{
	return mode->io_isolated >> thread & 1;
}

void instance_figures(struct figures *out, const struct instance *in)
{
	const struct stats_report *r = &in->report;
	snprintf(out->name, sizeof out->name, "%s", in->name);
	out->pid = r->mode.pid;
	out->started_ns = r->mode.started_ns;
	out->from_ns = r->mode.started_ns;
	out->to_ns = in->end_ns;
	out->counters = r->counters;
	memcpy(out->busy_ns, r->busy_ns, sizeof out->busy_ns);
	out->stages = r->stages;
}

/* --- judging ------------------------------------------------------------------- */

const char *life_name(enum life life)
{
	static const char *const words[] = { "running", "silent", "elsewhere", "gone" };
	return words[life];
}

/* Does the pid still stand for the process that wrote the mode? A later process
 * that got the same number started after the responder did. */
static bool process_lives(const struct mode *mode)
{
	char path[64], line[1024];
	unsigned long long start_ticks;
	char state;
	if (!mode->pid || (kill((pid_t)mode->pid, 0) && errno == ESRCH))
		return false;
	snprintf(path, sizeof path, "/proc/%u/stat", mode->pid);
	FILE *f = fopen(path, "re");
	if (!f)
		return true; /* hidden (hidepid): the number is all we have */
	size_t got = fread(line, 1, sizeof line - 1, f);
	fclose(f);
	line[got] = 0;
	/* proc(5): fields 3 and 22 (ticks since boot); the name, field 2, may hold anything. */
	const char *rest = strrchr(line, ')');
	if (!rest || sscanf(rest + 1,
			    " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s"
			    " %*s %*s %*s %*s %llu",
			    &state, &start_ticks) != 2)
		return true;
	uint64_t slept = clock_ns(CLOCK_BOOTTIME) - clock_ns(CLOCK_MONOTONIC);
	uint64_t start_ns = start_ticks * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
	return state != 'Z' && start_ns <= mode->started_ns + slept + NS_PER_S;
}

uint64_t instance_heartbeat(const struct instance *in)
{
	uint64_t oldest = UINT64_MAX;
	for (uint32_t t = 0; t < stats_io_threads(&in->report.mode); t++)
		oldest = min_u64(oldest, in->report.live.io[t].heartbeat_ns);
	return oldest == UINT64_MAX ? 0 : oldest;
}

static void instance_judge(struct instance *in)
{
	const struct stats_report *r = &in->report;
	uint64_t beat = instance_heartbeat(in);
	in->heartbeat_age_ns = !beat ? UINT64_MAX : r->now_ns > beat ? r->now_ns - beat : 0;
	bool fresh = in->heartbeat_age_ns < (uint64_t)STALL_MS * NS_PER_MS;
	if (process_lives(&r->mode))
		in->life = fresh || !beat ? LIFE_RUNNING : LIFE_SILENT;
	else
		in->life = fresh ? LIFE_ELSEWHERE : LIFE_GONE;
	in->end_ns = in->life == LIFE_GONE && beat ? beat : r->now_ns;
}

/* --- reading -------------------------------------------------------------------- */

static int instance_read(struct instance *in)
{
	in->err = stats_load(&in->report, in->dir, in->error, sizeof in->error);
	if (!in->err)
		instance_judge(in);
	return in->err;
}

static void instance_load(struct instance *in)
{
	if (instance_read(in))
		return;
	/* A pid of nobody here and a fresh heartbeat: another PID namespace, or
	 * just gone. A second beat tells; without one it becomes stale. */
	uint64_t beat = instance_heartbeat(in);
	while (in->life == LIFE_ELSEWHERE && instance_heartbeat(in) == beat) {
		usleep(10000);
		if (instance_read(in))
			return;
	}
}

static void *grown(void *at, size_t size)
{
	at = realloc(at, size);
	if (!at) {
		fprintf(stderr, "%s: no memory\n", program_invocation_short_name);
		exit(1);
	}
	return at;
}

static struct instance *set_add(struct set *set, const char *dir)
{
	struct instance *in = grown(NULL, sizeof *in);
	*in = (struct instance){ 0 };
	snprintf(in->dir, sizeof in->dir, "%s", dir);
	for (size_t n = strlen(in->dir); n > 1 && in->dir[n - 1] == '/'; n--)
		in->dir[n - 1] = 0;
	const char *slash = strrchr(in->dir, '/');
	in->name = slash ? slash + 1 : in->dir;
	set->list = grown(set->list, (set->count + 1) * sizeof *set->list);
	uint32_t at = set->count++;
	for (; at && strcmp(set->list[at - 1]->name, in->name) > 0; at--)
		set->list[at] = set->list[at - 1];
	set->list[at] = in;
	return in;
}

static bool set_has(const struct set *set, const char *name)
{
	for (uint32_t i = 0; i < set->count; i++)
		if (!strcmp(set->list[i]->name, name))
			return true;
	return false;
}

/* False: the directory of all is there and may not be read. */
static bool set_find(struct set *set)
{
	char dir[STAT_DIR];
	DIR *root = opendir(STATS_ROOT);
	if (!root)
		return errno == ENOENT;
	for (struct dirent *d; (d = readdir(root));) {
		/* What responders note of settings (settings.h) lies beside their pins. */
		if (d->d_name[0] == '.' || !strncmp(d->d_name, "setting-", 8) ||
		    set_has(set, d->d_name))
			continue;
		snprintf(dir, sizeof dir, STATS_ROOT "/%s", d->d_name);
		set_add(set, dir);
	}
	closedir(root);
	return true;
}

void set_refresh(struct set *set)
{
	if (set->several)
		set_find(set);
	for (uint32_t i = 0; i < set->count; i++)
		instance_load(set->list[i]);
}

void set_free(struct set *set)
{
	for (uint32_t i = 0; i < set->count; i++)
		free(set->list[i]);
	free(set->list);
}

static bool load_one(struct set *set, const struct args *args)
{
	char dir[STAT_DIR];
	int err = stats_where(dir, sizeof dir, args->ifname, args->pin_dir);
	if (err) {
		fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, args->ifname,
			strerror(-err));
		return false;
	}
	struct instance *in = set_add(set, dir);
	instance_load(in);
	if (in->err == -ENOENT)
		fprintf(stderr, "%s: no saker on %s: %s; `saker-stat` lists those there are\n",
			program_invocation_short_name, args->pin_dir ? args->pin_dir : args->ifname,
			in->error);
	else if (in->err)
		fprintf(stderr, "%s: %s\n", program_invocation_short_name, in->error);
	return !in->err;
}

bool set_load(struct set *set, const struct args *args)
{
	if (args->ifname || args->pin_dir)
		return load_one(set, args);
	set->several = true;
	if (!set_find(set)) {
		fprintf(stderr,
			"%s: " STATS_ROOT
			": %s: run as root, or let your group read it (saker-stat(8))\n",
			program_invocation_short_name, strerror(errno));
		return false;
	}
	if (!set->count)
		fprintf(stderr,
			"%s: no saker here: nothing in " STATS_ROOT
			" (ip netns exec hides it: use nsenter --net=...)\n",
			program_invocation_short_name);
	for (uint32_t i = 0; i < set->count; i++)
		instance_load(set->list[i]);
	return set->count;
}
