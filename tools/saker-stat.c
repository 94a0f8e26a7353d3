/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * saker-stat.c - show what a responder has in its maps, running or crashed
 *
 * Place    For people and scripts; docs/saker-stat.8 has each option and the
 *          JSON schema. Reads through stats.h, writes nothing.
 * Model    Load a struct stats_report, judge whether its process still lives,
 *          print it as a table or as JSON. Without -i: the same for each
 *          directory under STATS_ROOT.
 * Units    Tables scale themselves; JSON is in nanoseconds.
 */
#include <argp.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "hist.h"
#include "stat_lanes.h"
#include "stats.h"

enum life { LIFE_RUNNING, LIFE_SILENT, LIFE_ELSEWHERE, LIFE_GONE };

/* A responder as it stands in the maps, and what follows from it. */
struct instance {
	const char *name; /* its directory's */
	const char *dir;
	struct stats_report report;
	enum life life;
	uint64_t heartbeat_age_ns; /* UINT64_MAX: there was none */
	uint64_t span_ns;          /* from the start to now, or to its last sign of life */
	uint64_t requests;
};

struct args {
	const char *ifname;
	const char *pin_dir;
	bool all;
	bool json;
};

/* --- judging ---------------------------------------------------------------- */

static uint64_t clock_ns(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
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

/* Of the I/O thread that has been silent longest; 0: one has not begun. */
static uint64_t oldest_beat(const struct stats_report *r)
{
	uint64_t oldest = UINT64_MAX;
	for (uint32_t t = 0; t < stats_io_threads(&r->mode); t++)
		oldest = min_u64(oldest, r->live.io[t].heartbeat_ns);
	return oldest == UINT64_MAX ? 0 : oldest;
}

static void instance_judge(struct instance *in)
{
	const struct stats_report *r = &in->report;
	uint64_t beat = oldest_beat(r);
	in->heartbeat_age_ns = !beat ? UINT64_MAX : r->now_ns > beat ? r->now_ns - beat : 0;
	bool fresh = in->heartbeat_age_ns < (uint64_t)STALL_MS * NS_PER_MS;
	if (process_lives(&r->mode))
		in->life = fresh || !beat ? LIFE_RUNNING : LIFE_SILENT;
	else
		in->life = fresh ? LIFE_ELSEWHERE : LIFE_GONE;
	uint64_t end = in->life == LIFE_GONE && beat ? beat : r->now_ns;
	in->span_ns = end > r->mode.started_ns ? end - r->mode.started_ns : 0;
	in->requests = stats_requests(&r->counters);
}

static bool io_isolated(const struct mode *mode, uint32_t thread)
{
	return mode->io_isolated >> thread & 1;
}

static double per_second(uint64_t count, uint64_t span_ns)
{
	return span_ns ? (double)count * NS_PER_S / (double)span_ns : 0;
}

/* --- text -------------------------------------------------------------------- */

/* Three figures and a unit: 812 ns, 12.3 us, 4.56 ms, 137 s. */
static const char *time_text(char *text, size_t size, uint64_t ns)
{
	static const char *const unit[] = { "ns", "us", "ms", "s" };
	double value = (double)ns;
	unsigned i = 0;
	for (; value >= 999.5 && i < array_size(unit) - 1; i++)
		value /= 1000;
	int digits = !i || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
	snprintf(text, size, "%.*f %s", digits, value, unit[i]);
	return text;
}

static const char *uptime_text(char *text, size_t size, uint64_t ns)
{
	uint64_t s = ns / NS_PER_S;
	if (s < 120)
		return time_text(text, size, ns);
	if (s < 2 * 3600)
		snprintf(text, size, "%" PRIu64 " min", s / 60);
	else if (s < 48 * 3600)
		snprintf(text, size, "%" PRIu64 " h %" PRIu64 " min", s / 3600, s / 60 % 60);
	else
		snprintf(text, size, "%" PRIu64 " d %" PRIu64 " h", s / 86400, s / 3600 % 24);
	return text;
}

static const char *life_name(enum life life)
{
	static const char *const words[] = { "running", "silent", "elsewhere", "gone" };
	return words[life];
}

static void show_responder(const struct instance *in)
{
	const struct mode *m = &in->report.mode;
	char age[32];
	printf("  responder  %.*s, pid %u, ", (int)sizeof m->program, m->program, m->pid);
	bool beat = in->heartbeat_age_ns != UINT64_MAX;
	time_text(age, sizeof age, in->heartbeat_age_ns);
	switch (in->life) {
	case LIFE_RUNNING:
		printf(beat ? "running (heartbeat %s ago)\n" : "running\n", age);
		break;
	case LIFE_SILENT:
		printf("SILENT: the process lives, its heartbeat is %s old\n", age);
		break;
	case LIFE_ELSEWHERE:
		printf("running in another PID namespace (heartbeat %s ago)\n", age);
		break;
	case LIFE_GONE:
		printf(beat ? "GONE %s ago: these are its last figures\n" :
			      "GONE: these are its last figures\n",
		       age);
		break;
	}
}

static void show_cores(const struct instance *in)
{
	const struct stats_report *r = &in->report;
	uint32_t threads = stats_io_threads(&r->mode), cores = stats_compute_cores(&r->mode);
	for (uint32_t t = 0; t < threads; t++)
		printf("  %-10s CPU %d (%s), busy %.1f %% of the time\n",
		       t           ? "" :
		       threads > 1 ? "cores" :
				     "core",
		       r->mode.io_cpu[t], io_isolated(&r->mode, t) ? "isolated" : "not isolated",
		       per_second(r->busy_ns[t], in->span_ns) / 1e7);
	for (uint32_t k = 0; k < cores; k++)
		printf("  %-10s CPU %d, busy %.1f %% of the time\n", k ? "" : "compute",
		       r->mode.compute_cpu[k],
		       per_second(r->busy_ns[threads + k], in->span_ns) / 1e7);
}

static void show_mode(const struct instance *in)
{
	const struct mode *m = &in->report.mode;
	char text[ABI_MODE_TEXT], a[32], b[32];
	stats_mode_text(text, sizeof text, m);
	printf("%s: %s, %s\n", in->name, text, stats_state_name(m->state));
	show_responder(in);
	printf("  proof      sending %s, receiving %s\n", stats_proof_name(m->tx),
	       stats_proof_name(m->rx));
	show_cores(in);
	printf("  limits     RX queues: %u; connections: at most %u%s; lanes: %u\n", m->queues,
	       m->max_conns, m->io_threads > 1 ? " on each core" : "", m->lanes);
	printf("  start      listening after %s, ",
	       time_text(a, sizeof a, m->listening_ns - m->started_ns));
	if (m->ready_ns)
		printf("bypass in effect after %s, ",
		       time_text(b, sizeof b, m->ready_ns - m->started_ns));
	else
		printf("no bypass in effect, ");
	printf("up %s\n", uptime_text(a, sizeof a, in->span_ns));
	printf("  requests   %" PRIu64 ", %.1f/s since the start", in->requests,
	       per_second(in->requests, in->span_ns));
	const struct summary_span *last = &in->report.summary.last;
	if (in->life != LIFE_GONE && last->seconds_ns)
		printf(", %.1f/s in the last second", per_second(last->requests, last->seconds_ns));
	printf("\n");
}

static void show_cell(uint64_t ns, bool known)
{
	char text[32];
	printf(" %8s", known ? time_text(text, sizeof text, ns) : "-");
}

static void show_stages(struct instance *in)
{
	printf("\n%-9s%11s %8s %8s %8s %8s %8s %8s %8s\n", "stage", "count", "mean", "p50", "p90",
	       "p95", "p99", "p99.9", "max");
	for (uint32_t i = 0; i < STAGES; i++) {
		const struct hist *h = stats_stage(&in->report.stages, i);
		struct summary_stage s;
		hist_summarize(&s, h);
		printf("%-9s%11" PRIu64, stats_stages[i].name, s.count);
		show_cell(s.mean_ns, s.count);
		show_cell(s.p50_ns, hist_enough(s.count, HIST_P50));
		show_cell(s.p90_ns, hist_enough(s.count, HIST_P90));
		show_cell(s.p95_ns, hist_enough(s.count, HIST_P95));
		show_cell(s.p99_ns, hist_enough(s.count, HIST_P99));
		show_cell(s.p999_ns, hist_enough(s.count, HIST_P999));
		show_cell(s.max_ns, s.count);
		printf("  %s", stats_stages[i].help);
		if (h->over)
			printf(" (%" PRIu64 " beyond 137 s)", h->over);
		printf("\n");
	}
}

static void show_counters(const struct instance *in, bool all)
{
	printf("\n%-23s%14s %11s\n", "counter", "count", "per second");
	for (uint32_t i = 0; i < STATS_COUNT; i++) {
		uint64_t value = stats_value(&in->report.counters, i);
		if (value || all)
			printf("%-23s%14" PRIu64 " %11.1f  %s\n", stats_counters[i].name, value,
			       per_second(value, in->span_ns), stats_counters[i].help);
	}
	if (!all)
		printf("(those that are 0 are left out: --all shows them)\n");
}

/* --- JSON -------------------------------------------------------------------- */

static void json_string(const char *name, const char *text, size_t size)
{
	printf("\"%s\":\"", name);
	for (size_t i = 0; i < size && text[i]; i++) {
		unsigned char c = (unsigned char)text[i];
		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static void json_cores(const struct stats_report *r)
{
	uint32_t threads = stats_io_threads(&r->mode), cores = stats_compute_cores(&r->mode);
	printf(",\"io\":[");
	for (uint32_t t = 0; t < threads; t++)
		printf("%s{\"cpu\":%d,\"isolated\":%s,\"busy_ns\":%" PRIu64
		       ",\"heartbeat_ns\":%" PRIu64 "}",
		       t ? "," : "", r->mode.io_cpu[t], io_isolated(&r->mode, t) ? "true" : "false",
		       r->busy_ns[t], r->live.io[t].heartbeat_ns);
	printf("],\"compute\":[");
	for (uint32_t k = 0; k < cores; k++)
		printf("%s{\"cpu\":%d,\"busy_ns\":%" PRIu64 "}", k ? "," : "",
		       r->mode.compute_cpu[k], r->busy_ns[threads + k]);
	printf("]");
}

static void json_mode(const struct instance *in)
{
	const struct mode *m = &in->report.mode;
	char text[ABI_MODE_TEXT];
	stats_mode_text(text, sizeof text, m);
	printf("\"mode\":{");
	json_string("text", text, sizeof text);
	printf(",\"state\":\"%s\",\"rung\":\"%s\",\"copy\":\"%s\",\"tx\":\"%s\",\"rx\":\"%s\"",
	       stats_state_name(m->state), stats_rung_name(m->rung), stats_copy_name(m->copy),
	       stats_proof_name(m->tx), stats_proof_name(m->rx));
	putchar(',');
	json_string("ifname", m->ifname, sizeof m->ifname);
	putchar(',');
	json_string("program", m->program, sizeof m->program);
	printf(",\"port\":%u,\"pid\":%u,\"queues\":%u,\"max_conns\":%u", m->port, m->pid, m->queues,
	       m->max_conns);
	printf(",\"lanes\":%u", m->lanes);
	json_cores(&in->report);
	printf(",\"started_ns\":%" PRIu64 ",\"listening_ns\":%" PRIu64 ",\"ready_ns\":%" PRIu64 "}",
	       m->started_ns, m->listening_ns, m->ready_ns);
}

static void json_percentile(const char *name, uint64_t ns, bool enough)
{
	if (enough)
		printf(",\"%s\":%" PRIu64, name, ns);
	else
		printf(",\"%s\":null", name);
}

static void json_stage(const char *name, const struct summary_stage *s)
{
	printf("\"%s\":{\"count\":%" PRIu64, name, s->count);
	json_percentile("mean_ns", s->mean_ns, s->count);
	json_percentile("p50_ns", s->p50_ns, hist_enough(s->count, HIST_P50));
	json_percentile("p90_ns", s->p90_ns, hist_enough(s->count, HIST_P90));
	json_percentile("p95_ns", s->p95_ns, hist_enough(s->count, HIST_P95));
	json_percentile("p99_ns", s->p99_ns, hist_enough(s->count, HIST_P99));
	json_percentile("p999_ns", s->p999_ns, hist_enough(s->count, HIST_P999));
	json_percentile("max_ns", s->max_ns, s->count);
	putchar('}');
}

static void json_span(const char *name, uint64_t span_ns, uint64_t requests,
		      const struct summary_stage *stages)
{
	printf("\"%s\":{\"span_ns\":%" PRIu64 ",\"requests\":%" PRIu64
	       ",\"requests_per_second\":%.3f"
	       ",\"stages\":{",
	       name, span_ns, requests, per_second(requests, span_ns));
	for (uint32_t i = 0; i < STAGES; i++) {
		printf(i ? ",\n    " : "\n    ");
		json_stage(stats_stages[i].name, &stages[i]);
	}
	printf("}}");
}

static void json_instance(struct instance *in)
{
	const struct summary_span *last = &in->report.summary.last;
	struct summary_stage start[STAGES];
	for (uint32_t i = 0; i < STAGES; i++)
		hist_summarize(&start[i], stats_stage(&in->report.stages, i));
	printf("{\"abi\":%d,", ABI_VERSION);
	json_string("tool", VERSION, sizeof VERSION);
	putchar(',');
	json_string("instance", in->name, SIZE_MAX);
	putchar(',');
	json_string("dir", in->dir, SIZE_MAX);
	printf(",\"now_ns\":%" PRIu64 ",\"life\":\"%s\"", in->report.now_ns, life_name(in->life));
	json_percentile("heartbeat_age_ns", in->heartbeat_age_ns,
			in->heartbeat_age_ns != UINT64_MAX);
	printf(",\n  ");
	json_mode(in);
	printf(",\n  ");
	json_span("start", in->span_ns, in->requests, start);
	printf(",\n  ");
	json_span("last", last->seconds_ns, last->requests, &last->steer);
	printf(",\n  \"counters\":{");
	for (uint32_t i = 0; i < STATS_COUNT; i++)
		printf("%s\n    \"%s\":%" PRIu64, i ? "," : "", stats_counters[i].name,
		       stats_value(&in->report.counters, i));
	printf("}}");
}

/* --- one, or all ------------------------------------------------------------- */

static int instance_load(struct instance *in, char *dir, char *error, size_t size)
{
	for (size_t n = strlen(dir); n > 1 && dir[n - 1] == '/'; n--)
		dir[n - 1] = 0;
	const char *slash = strrchr(dir, '/');
	in->dir = dir;
	in->name = slash ? slash + 1 : dir;
	int err = stats_load(&in->report, dir, error, size);
	if (err)
		return err;
	instance_judge(in);

	/* A pid of nobody here and a fresh heartbeat: another PID namespace, or
	 * just gone. A second beat tells; without one it becomes stale. */
	uint64_t beat = oldest_beat(&in->report);
	while (in->life == LIFE_ELSEWHERE && oldest_beat(&in->report) == beat) {
		usleep(10000);
		if ((err = stats_load(&in->report, dir, error, size)))
			return err;
		instance_judge(in);
	}
	return 0;
}

static int show_one(const struct args *args)
{
	static struct instance in;
	char dir[512], error[768];
	int err = stats_where(dir, sizeof dir, args->ifname, args->pin_dir);
	if (err)
		snprintf(error, sizeof error, "%s", strerror(-err));
	if (!err)
		err = instance_load(&in, dir, error, sizeof error);
	if (err == -ENOENT) {
		fprintf(stderr,
			"saker-stat: no saker on %s: %s; `saker-stat` lists those there are\n",
			args->pin_dir ? args->pin_dir : args->ifname, error);
		return 1;
	}
	if (err) {
		fprintf(stderr, "saker-stat: %s\n", error);
		return 1;
	}
	if (args->json) {
		json_instance(&in);
		putchar('\n');
		return 0;
	}
	show_mode(&in);
	show_stages(&in);
	show_counters(&in, args->all);
	return 0;
}

static void list_line(struct instance *in)
{
	char text[ABI_MODE_TEXT];
	stats_mode_text(text, sizeof text, &in->report.mode);
	printf("%-28s  %-40s  %-8s  pid %-7u %-9s  requests %" PRIu64 "\n", in->name, text,
	       stats_state_name(in->report.mode.state), in->report.mode.pid, life_name(in->life),
	       in->requests);
}

static void list_error(const char *name, const char *error, bool json)
{
	if (!json) {
		fprintf(stderr, "saker-stat: %s: %s\n", name, error);
		return;
	}
	putchar('{');
	json_string("instance", name, SIZE_MAX);
	putchar(',');
	json_string("error", error, SIZE_MAX);
	putchar('}');
}

static int list_all(const struct args *args)
{
	static struct instance in;
	char dir[512], error[768];
	int found = 0, trouble = 0;
	DIR *root = opendir(STATS_ROOT);
	if (!root && errno != ENOENT) {
		fprintf(stderr, "saker-stat: " STATS_ROOT ": %s: run as root\n", strerror(errno));
		return 1;
	}
	if (args->json)
		printf("[");
	for (struct dirent *d; root && (d = readdir(root));) {
		if (d->d_name[0] == '.')
			continue;
		if (args->json && found)
			printf(",\n");
		found++;
		snprintf(dir, sizeof dir, STATS_ROOT "/%s", d->d_name);
		if (instance_load(&in, dir, error, sizeof error)) {
			list_error(d->d_name, error, args->json);
			trouble = 1;
		} else if (args->json) {
			json_instance(&in);
		} else {
			list_line(&in);
		}
	}
	if (args->json)
		printf("]\n");
	if (root)
		closedir(root);
	if (!found)
		fprintf(stderr, "saker-stat: no saker here: nothing in " STATS_ROOT
				" (ip netns exec hides it: use nsenter --net=...)\n");
	return trouble || !found;
}

/* --- options ------------------------------------------------------------------ */

const char *argp_program_version = "saker-stat " VERSION;

enum { OPTION_ALL = 256, OPTION_JSON, OPTION_PIN_DIR };

static const struct argp_option options[] = {
	{ "interface", 'i', "IFACE", 0, "show the responder on IFACE; default: list all", 0 },
	{ "all", OPTION_ALL, NULL, 0, "show the counters that are 0, too", 0 },
	{ "json", OPTION_JSON, NULL, 0, "print JSON, times in nanoseconds", 0 },
	{ "pin-dir", OPTION_PIN_DIR, "DIR", 0,
	  "show the maps in DIR (default: that of IFACE under " STATS_ROOT ")", 0 },
	{ 0 },
};

static error_t option_parse(int key, char *value, struct argp_state *state)
{
	struct args *args = state->input;
	switch (key) {
	case 'i':
		if (!*value || *value == '.' || strchr(value, '/'))
			argp_error(state, "-i %s: not the name of an interface", value);
		args->ifname = value;
		return 0;
	case OPTION_ALL:
		args->all = true;
		return 0;
	case OPTION_JSON:
		args->json = true;
		return 0;
	case OPTION_PIN_DIR:
		args->pin_dir = value;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = option_parse,
		.args_doc = "\nlanes -i IFACE",
		.doc = "Show the mode, the time of each stage and the counters of a saker(8); "
		       "with `lanes`, what each of its loop bodies takes.",
	};
	struct args args = { 0 };
	argp_err_exit_status = 2;
	if (argc > 1 && !strcmp(argv[1], "lanes"))
		return stat_lanes(argc - 1, argv + 1);
	argp_parse(&argp, argc, argv, 0, NULL, &args);
	int status = args.ifname || args.pin_dir ? show_one(&args) : list_all(&args);
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "saker-stat: cannot write: %s\n", strerror(errno));
		return 1;
	}
	return status;
}
