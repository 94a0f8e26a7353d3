/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * saker-stat.c - show what a responder has in its maps, running or crashed
 *
 * Place    For people and scripts; docs/saker-stat.8 has each option, the JSON
 *          schema and the names for Prometheus. stat.h has the parts.
 * Model    Find the responder of -i, or all; look once, or every --interval; of
 *          each look make the figures that were asked for (since the start,
 *          --since a snapshot, or since the last look) and hand them to a view.
 *          On a terminal the view fills the screen, unless --once.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "stat.h"
#include "stat_conns.h"
#include "stat_lanes.h"
#include "stat_trace.h"

/* What the last look left, for --interval; an entry for each instance. */
struct looks {
	struct figures *list;
	uint32_t count;
};

/* --- one look ------------------------------------------------------------------- */

static struct figures start, base, shown_figures, before;

static void trouble(const char *name, const char *error, const struct set *set,
		    const struct args *args)
{
	if (args->view == VIEW_JSON && set->several && !args->save)
		json_error(name, error);
	else
		fprintf(stderr, "saker-stat: %s: %s\n", name, error);
}

/* The start of what is shown: of --since a snapshot that counts from the start. */
static bool since_base(const struct instance *in, const struct args *args, char *error, size_t size)
{
	if (!snapshot_read(&base, args->since, in->name, false, error, size))
		return false;
	if (!figures_same_run(&base, &start))
		snprintf(error, size, "%s is of another run: the responder was started anew",
			 args->since);
	else if (base.from_ns != base.started_ns)
		snprintf(error, size, "%s was itself saved with --since", args->since);
	else
		return true;
	return false;
}

static struct figures *last_look(struct looks *looks, const char *name)
{
	for (uint32_t i = 0; i < looks->count; i++)
		if (!strcmp(looks->list[i].name, name))
			return &looks->list[i];
	return NULL;
}

static void remember(struct looks *looks, const struct figures *now)
{
	struct figures *at = last_look(looks, now->name);
	if (!at) {
		looks->list = realloc(looks->list, (looks->count + 1) * sizeof *looks->list);
		if (!looks->list) {
			fputs("saker-stat: no memory\n", stderr);
			exit(1);
		}
		at = &looks->list[looks->count++];
	}
	*at = *now;
}

/* Which figures: those since the last look, since a snapshot, or since the start. */
static bool choose(struct shown *s, struct looks *looks, const struct args *args, char *error,
		   size_t size)
{
	static char word[STAT_DIR];
	const struct figures *from = last_look(looks, start.name);
	*s = (struct shown){ .in = s->in, .start = &start, .figures = &start };
	if (args->since) {
		if (!since_base(s->in, args, error, size))
			return false;
		snprintf(word, sizeof word, "since %s", args->since);
		s->word = word;
		s->key = "since";
		from = &base;
	} else if (from && figures_same_run(from, &start)) {
		s->word = "in the last interval";
		s->key = "interval";
	}
	if (s->word) {
		figures_sub(&shown_figures, &start, from);
		s->figures = &shown_figures;
	}
	if (args->diff) {
		if (!snapshot_read(&before, args->diff, s->in->name, true, error, size))
			return false;
		s->before = &before;
		s->file = args->diff;
	}
	return true;
}

static void show(const struct shown *s, const struct set *set, const struct args *args)
{
	if (args->view == VIEW_JSON)
		json_show(s);
	else if (args->view == VIEW_HGRM)
		hgrm_show(s->figures, args->stage);
	else if (args->diff)
		table_diff(s, args->all);
	else if (set->several)
		table_list(s);
	else
		table_show(s, args->all);
}

/* One of the set. False: it could not be shown, error says why. */
static bool look_at(const struct instance *in, const struct set *set, struct looks *looks,
		    const struct args *args, FILE *save, char error[STAT_ERROR])
{
	struct shown s = { .in = in };
	if (in->err) {
		memcpy(error, in->error, STAT_ERROR);
		return false;
	}
	instance_figures(&start, in);
	if (!choose(&s, looks, args, error, STAT_ERROR))
		return false;
	if (save)
		snapshot_write(save, s.figures, in == set->list[0]);
	else if (args->view != VIEW_PROMETHEUS)
		show(&s, set, args);
	remember(looks, &start);
	return true;
}

/* Everything in the set, once. False: not all could be shown. */
static bool look(const struct set *set, struct looks *looks, const struct args *args, FILE *save)
{
	bool json = args->view == VIEW_JSON && !save, good = true;
	char error[STAT_ERROR];
	if (json && set->several)
		putchar('[');
	for (uint32_t i = 0; i < set->count; i++) {
		if (json && i)
			printf(",\n");
		if (!look_at(set->list[i], set, looks, args, save, error)) {
			trouble(set->list[i]->name, error, set, args);
			good = false;
		}
	}
	if (json && (good || set->several))
		puts(set->several ? "]" : "");
	if (args->view == VIEW_PROMETHEUS && !save)
		prometheus_show(set);
	return good;
}

/* --- round after round ------------------------------------------------------------- */

static struct timespec time_of(uint64_t ns)
{
	return (struct timespec){ (time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S) };
}

/* At even distances, however long a look takes. */
static bool go_round(struct set *set, const struct args *args)
{
	struct looks looks = { NULL, 0 };
	struct timespec now;
	bool good = true;
	clock_gettime(CLOCK_MONOTONIC, &now);
	uint64_t next = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
	uint64_t rounds = !args->interval_ns ? 1 : args->count ? args->count : UINT64_MAX;
	for (uint64_t n = 0; n < rounds; n++) {
		if (n) {
			next += args->interval_ns;
			struct timespec at = time_of(next);
			clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
			set_refresh(set);
			if (args->view == VIEW_TABLE)
				putchar('\n');
		}
		good = look(set, &looks, args, NULL) && good;
		if (fflush(stdout))
			break;
	}
	free(looks.list);
	return good;
}

/* Beside the file and then over it: a reader never meets half of it. */
static bool save_file(const struct set *set, const struct args *args)
{
	struct looks looks = { NULL, 0 };
	char path[STAT_DIR + 16];
	bool to_stdout = !strcmp(args->save, "-");
	snprintf(path, sizeof path, "%s.new", args->save);
	FILE *file = to_stdout ? stdout : fopen(path, "we");
	bool good = file && look(set, &looks, args, file);
	bool written = file && !fflush(file) && !ferror(file);
	if (file && !to_stdout && (fclose(file) || (good && written && rename(path, args->save))))
		written = false;
	if (!written)
		fprintf(stderr, "saker-stat: --save=%s: %s\n", args->save, strerror(errno));
	if (!to_stdout && (!good || !written))
		unlink(path);
	free(looks.list);
	return good && written;
}

static bool on_terminal(const struct args *args)
{
	return args->view == VIEW_TABLE && !args->once && !args->save && !args->diff &&
	       isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

static bool run(struct set *set, const struct args *args)
{
	if (!set_load(set, args)) {
		if (args->view == VIEW_JSON && set->several)
			puts("[]");
		return false;
	}
	if (args->view == VIEW_HGRM && set->count > 1) {
		fputs("saker-stat: --hgrm: there are several responders: which? -i IFACE\n",
		      stderr);
		return false;
	}
	if (args->save)
		return save_file(set, args);
	if (on_terminal(args) && live_show(set, args))
		return true;
	return go_round(set, args);
}

/* --- options ------------------------------------------------------------------------- */

const char *argp_program_version = "saker-stat " VERSION;

enum {
	OPTION_ALL = 256,
	OPTION_JSON,
	OPTION_PIN_DIR,
	OPTION_PROMETHEUS,
	OPTION_HGRM,
	OPTION_ONCE,
	OPTION_INTERVAL,
	OPTION_COUNT,
	OPTION_SAVE,
	OPTION_SINCE,
	OPTION_DIFF,
};

static const struct argp_option options[] = {
	{ .doc = "Of whom:", .group = 1 },
	{ "interface", 'i', "IFACE", 0, "the responder on IFACE (default: all of them)", 1 },
	{ "pin-dir", OPTION_PIN_DIR, "DIR", 0,
	  "the maps in DIR (default: that of IFACE under " STATS_ROOT ")", 1 },

	{ .doc = "In what form (default: full screen on a terminal, else tables):", .group = 2 },
	{ "once", OPTION_ONCE, NULL, 0, "tables, on a terminal too", 2 },
	{ "all", OPTION_ALL, NULL, 0, "the counters that are 0, too, and what there is now", 2 },
	{ "json", OPTION_JSON, NULL, 0, "JSON, times in nanoseconds", 2 },
	{ "prometheus", OPTION_PROMETHEUS, NULL, 0, "the text format of Prometheus", 2 },
	{ "hgrm", OPTION_HGRM, "STAGE", 0,
	  "the percentiles of a stage as HdrHistogram prints them, for plotters", 2 },

	{ .doc = "Of what time:", .group = 3 },
	{ "interval", OPTION_INTERVAL, "S", 0,
	  "look again every S seconds, and show what was added (default on a screen: 1)", 3 },
	{ "count", OPTION_COUNT, "N", 0, "end after N looks", 3 },
	{ "save", OPTION_SAVE, "FILE", 0, "write a snapshot to FILE and show nothing", 3 },
	{ "since", OPTION_SINCE, "FILE", 0, "show what was added since the snapshot", 3 },
	{ "diff", OPTION_DIFF, "FILE", 0, "show the snapshot's figures beside today's", 3 },
	{ 0 },
};

static uint64_t interval_ns(const char *value, struct argp_state *state)
{
	char *end;
	double s = strtod(value, &end);
	if (end == value || *end || !(s >= 0.1 && s <= 86400))
		argp_error(state, "--interval=%s: wanted seconds, 0.1 ... 86400", value);
	return (uint64_t)(s * NS_PER_S);
}

static uint64_t look_count(const char *value, struct argp_state *state)
{
	char *end;
	errno = 0;
	unsigned long long n = strtoull(value, &end, 10);
	if (*value < '0' || *value > '9' || *end || errno || !n)
		argp_error(state, "--count=%s: wanted a whole number from 1 on", value);
	return n;
}

static uint32_t stage_named(const char *value, struct argp_state *state)
{
	char names[STAGES * 16] = "";
	for (uint32_t i = 0; i < STAGES; i++) {
		if (!strcmp(stats_stages[i].name, value))
			return i;
		snprintf(names + strlen(names), sizeof names - strlen(names), " %s",
			 stats_stages[i].name);
	}
	argp_error(state, "--hgrm=%s: no such stage; there are%s", value, names);
	return 0;
}

static void set_view(struct args *args, enum view view, struct argp_state *state)
{
	if (args->view != VIEW_TABLE && args->view != view)
		argp_error(state, "one of --json, --prometheus and --hgrm");
	args->view = view;
}

static void check_together(struct args *args, struct argp_state *state)
{
	if (args->view == VIEW_PROMETHEUS &&
	    (args->since || args->diff || args->interval_ns || args->count))
		argp_error(state, "--prometheus counts from the start, once");
	if (args->view == VIEW_HGRM && (args->diff || args->interval_ns || args->count))
		argp_error(state, "--hgrm shows one stage once, from the start or --since");
	if (args->save && (args->diff || args->interval_ns || args->count))
		argp_error(state, "--save looks once, and shows nothing");
	if (args->count && !args->interval_ns)
		args->interval_ns = NS_PER_S;
}

static error_t option_parse(int key, char *value, struct argp_state *state)
{
	struct args *args = state->input;
	/* clang-format off */
	switch (key) {
	case 'i':
		if (!*value || *value == '.' || strchr(value, '/'))
			argp_error(state, "-i %s: not the name of an interface", value);
		args->ifname = value;
		break;
	case OPTION_PIN_DIR: args->pin_dir = value; break;
	case OPTION_ONCE: args->once = true; break;
	case OPTION_ALL: args->all = true; break;
	case OPTION_JSON: set_view(args, VIEW_JSON, state); break;
	case OPTION_PROMETHEUS: set_view(args, VIEW_PROMETHEUS, state); break;
	case OPTION_HGRM:
		set_view(args, VIEW_HGRM, state);
		args->stage = stage_named(value, state);
		break;
	case OPTION_INTERVAL: args->interval_ns = interval_ns(value, state); break;
	case OPTION_COUNT: args->count = look_count(value, state); break;
	case OPTION_SAVE: args->save = value; break;
	case OPTION_SINCE: args->since = value; break;
	case OPTION_DIFF: args->diff = value; break;
	case ARGP_KEY_ARG:
		argp_error(state, "%s: not an option", value);
		break;
	case ARGP_KEY_END: check_together(args, state); break;
	default: return ARGP_ERR_UNKNOWN;
	}
	/* clang-format on */
	return 0;
}

_Noreturn void base_panic(const char *what, const char *file, int line)
{
	fprintf(stderr, "saker-stat: broken invariant at %s:%d: %s\n", file, line, what);
	abort();
}

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "conns", stat_conns },
	{ "lanes", stat_lanes },
	{ "trace", stat_trace },
};

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = option_parse,
		.args_doc = "\nconns|lanes|trace ...",
		.doc = "Show the mode, the time of each stage and the counters of a saker(8).\v"
		       "With a word in front, each with its own --help: `conns`, who is connected; "
		       "`lanes`, what each loop body takes; `trace`, the frames themselves.",
	};
	struct args args = { 0 };
	struct set set = { NULL, 0, false };
	argp_err_exit_status = 2;
	for (unsigned i = 0; i < array_size(commands) && argc > 1; i++)
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	argp_parse(&argp, argc, argv, 0, NULL, &args);
	bool good = run(&set, &args);
	set_free(&set);
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "saker-stat: cannot write: %s\n", strerror(errno));
		return 1;
	}
	return good ? 0 : 1;
}
