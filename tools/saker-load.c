/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * saker-load.c - requests at times of their own, and how long each took
 *
 * Place    For people, and for saker-lab; docs/saker-load.1 has each option, the JSON
 *          schema and what makes a run invalid. load.h has the parts.
 * Model    Make the plan, compute what the answers must hold, connect, look how still
 *          the machine is (--floor), run, and only then print and write.
 * Errors   Exit status 0: done and valid. 1: requests failed or had wrong hashes, or it
 *          cannot run. 2: usage. 3: done, but the run is invalid.
 */
#include <argp.h>
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include "load_report.h"
#include "load_search.h"
#include "load_url.h"

enum { EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_INVALID = 3 };

static struct load_plan plan = {
	.mode = LOAD_CONSTANT,
	.burst = 1,
	.connections = 8,
	.seconds = -1,
	.warm = 1,
	.floor = 0.2,
	.timeout_ns = 30ull * NS_PER_S,
	.seed = 1,
	.verify = true,
	.cpu = -1,
	.max_rate = 1e6,
};
static struct load_pool pool;
static struct load_record records[2];

_Noreturn void base_panic(const char *what, const char *file, int line)
{
	fprintf(stderr, "saker-load: broken invariant at %s:%d: %s\n", file, line, what);
	abort();
}

/* --- options ------------------------------------------------------------------------- */

const char *argp_program_version = "saker-load " VERSION;

enum {
	OPTION_POISSON = 256,
	OPTION_CLOSED,
	OPTION_BURST,
	OPTION_NEW,
	OPTION_WARM,
	OPTION_TIMEOUT,
	OPTION_SEED,
	OPTION_MIX,
	OPTION_POST,
	OPTION_TYPE,
	OPTION_NO_VERIFY,
	OPTION_CPU,
	OPTION_SPIN,
	OPTION_QUICKACK,
	OPTION_FLOOR,
	OPTION_FIND_MAX,
	OPTION_MAX_RATE,
	OPTION_NEED,
	OPTION_JSON,
	OPTION_HGRM,
	OPTION_SERIES,
	OPTION_NAME,
};

static const struct argp_option options[] = {
	{ .doc = "When:", .group = 1 },
	{ "rate", 'r', "N", 0, "requests a second, due whatever became of the others (200)", 1 },
	{ "poisson", OPTION_POISSON, NULL, 0, "after exponential gaps, not equal ones", 1 },
	{ "burst", OPTION_BURST, "N@MS", 0, "instead: N at once every MS milliseconds", 1 },
	{ "closed", OPTION_CLOSED, NULL, 0, "instead: on each connection when the last is answered",
	  1 },
	{ "connections", 'c', "N", 0, "so many; each has one request under way (8)", 1 },
	{ "new", OPTION_NEW, NULL, 0, "a new connection for each request", 1 },
	{ "seconds", 'd', "S", 0, "for so long (10; with --find-max: 2 a step)", 1 },
	{ "warm", OPTION_WARM, "S", 0, "so long before, sent but not measured (1)", 1 },
	{ "timeout", OPTION_TIMEOUT, "S", 0, "what takes longer is given up (30)", 1 },
	{ "seed", OPTION_SEED, "N", 0, "other draws of gaps and of the mix (1)", 1 },

	{ .doc = "What:", .group = 2 },
	{ "mix", OPTION_MIX, "WEIGHT:PATH", 0, "one of several paths, instead of the URL's", 2 },
	{ "post", OPTION_POST, "BODY|@FILE", 0, "POST this", 2 },
	{ "type", OPTION_TYPE, "MEDIA", 0, "of the body (JSON if it begins with {, else a form)",
	  2 },
	{ "header", 'H', "LINE", 0, "one more header line", 2 },
	{ "no-verify", OPTION_NO_VERIFY, NULL, 0, "do not compare hashes; any 2xx is right", 2 },

	{ .doc = "How:", .group = 3 },
	{ "cpu", OPTION_CPU, "N", 0, "run on this CPU only", 3 },
	{ "spin", OPTION_SPIN, NULL, 0, "never sleep", 3 },
	{ "quickack", OPTION_QUICKACK, NULL, 0,
	  "acknowledge each answer at once, not with the next request", 3 },
	{ "floor", OPTION_FLOOR, "S", 0, "spin so long before, to see how still the CPU is (0.2)",
	  3 },
	{ "need", OPTION_NEED, "pN", 0, "the run is invalid if its sample does not carry this", 3 },
	{ "find-max", OPTION_FIND_MAX, "pN<TIME", 0,
	  "find the highest rate at which this holds, from --rate on", 3 },
	{ "max-rate", OPTION_MAX_RATE, "N", 0, "but none higher than this (1000000)", 3 },

	{ .doc = "And then:", .group = 4 },
	{ "json", OPTION_JSON, "FILE", OPTION_ARG_OPTIONAL,
	  "JSON to FILE, or to stdout in place of the text", 4 },
	{ "hgrm", OPTION_HGRM, "FILE", 0, "the latency's percentiles as HdrHistogram prints them",
	  4 },
	{ "series", OPTION_SERIES, "FILE", 0, "a line a second, CSV", 4 },
	{ "name", OPTION_NAME, "TEXT", 0, "goes into the JSON", 4 },
	{ "quiet", 'q', NULL, 0, "neither text nor progress", 4 },
	{ 0 },
};

static double number(const char *name, const char *value, double least, double most,
		     struct argp_state *state)
{
	char *end;
	double v = strtod(value, &end);

	if (end == value || *end || !(v >= least && v <= most))
		argp_error(state, "--%s=%s: wanted a number, %.12g ... %.12g", name, value, least,
			   most);
	return v;
}

static uint64_t whole(const char *name, const char *value, uint64_t least, uint64_t most,
		      struct argp_state *state)
{
	char *end;
	errno = 0;
	unsigned long long v = strtoull(value, &end, 10);

	if (*value < '0' || *value > '9' || *end || errno || v < least || v > most)
		argp_error(state, "--%s=%s: wanted a whole number, %llu ... %llu", name, value,
			   (unsigned long long)least, (unsigned long long)most);
	return v;
}

static void set_mode(enum load_mode mode, struct argp_state *state)
{
	if (plan.mode != LOAD_CONSTANT && plan.mode != mode)
		argp_error(state, "one of --poisson, --burst and --closed");
	plan.mode = mode;
}

static void set_burst(const char *value, struct argp_state *state)
{
	char *end;
	unsigned long n = strtoul(value, &end, 10);
	double ms = 0;

	if (*end == '@')
		ms = strtod(end + 1, &end);
	if (*value < '0' || *value > '9' || !n || n > 1000000 || !(ms >= 0.001 && ms <= 1e6) ||
	    *end)
		argp_error(state, "--burst=%s: wanted N@MS, such as 100@50", value);
	set_mode(LOAD_BURST, state);
	plan.burst = (unsigned)n;
	plan.burst_ms = ms;
}

static void add_kind(const char *path, double weight, struct argp_state *state)
{
	if (plan.kinds == LOAD_KINDS_MAX)
		argp_error(state, "--mix: at most %d paths", LOAD_KINDS_MAX);
	if (*path != '/' || strpbrk(path, " \t\r\n#"))
		argp_error(state, "%s: wanted a path: from / on, without spaces", path);
	plan.weights[plan.kinds] = weight + (plan.kinds ? plan.weights[plan.kinds - 1] : 0);
	plan.kind[plan.kinds++] = (struct load_kind){ .path = path, .weight = weight };
}

static void add_mix(char *value, struct argp_state *state)
{
	char *colon = strchr(value, ':');

	if (!colon)
		argp_error(state, "--mix=%s: wanted WEIGHT:PATH", value);
	*colon = '\0';
	double weight = number("mix", value, 1e-6, 1e9, state);
	*colon = ':';
	add_kind(colon + 1, weight, state);
}

static void set_post(char *value, struct argp_state *state)
{
	plan.post = value;
	plan.post_len = strlen(value);
	if (*value != '@')
		return;
	FILE *file = fopen(value + 1, "re");
	plan.post = malloc(LOAD_BODY_MAX + 1);
	if (!file || !plan.post)
		argp_failure(state, EXIT_FAILED, errno, "--post=%s", value);
	plan.post_len = fread(plan.post, 1, LOAD_BODY_MAX + 1, file);
	if (ferror(file))
		argp_failure(state, EXIT_FAILED, errno, "--post=%s", value);
	fclose(file);
	if (plan.post_len > LOAD_BODY_MAX)
		argp_failure(state, EXIT_FAILED, 0, "--post=%s: longer than %d bytes", value,
			     LOAD_BODY_MAX);
}

static void add_header(const char *value, struct argp_state *state)
{
	const char *colon = strchr(value, ':');

	if (!colon || colon == value || strpbrk(value, "\r\n"))
		argp_error(state, "-H '%s': wanted NAME: VALUE", value);
	if (plan.headers == LOAD_HEADERS_MAX)
		argp_error(state, "-H: at most %d", LOAD_HEADERS_MAX);
	plan.header[plan.headers++] = value;
}

static void set_need(const char *value, struct argp_state *state)
{
	const char *end;

	if (!load_find_percentile(value, &end, &plan.need_ppm) || *end)
		argp_error(state, "--need=%s: wanted a percentile, such as p99.9", value);
}

static void set_find(const char *value, struct argp_state *state)
{
	if (!load_find_parse(value, &plan.find_ppm, &plan.find_ns))
		argp_error(state, "--find-max=%s: wanted pN<TIME, such as 'p99<50ms'", value);
	plan.find = value;
}

static void set_url(const char *value, struct argp_state *state)
{
	const char *path, *trouble;

	if (plan.url)
		argp_error(state, "%s: one URL is enough", value);
	trouble = load_url_parse(&plan, value, &path);
	if (trouble)
		argp_error(state, "%s: %s", value, trouble);
	if (!plan.kinds)
		add_kind(path, 1, state);
}

/* What the options say together. */
static void settle_plan(struct argp_state *state)
{
	if (!plan.url)
		argp_error(state, "which URL? http://ADDRESS[:PORT][/PATH]");
	if (plan.rate > 0 && (plan.mode == LOAD_CLOSED || plan.mode == LOAD_BURST))
		argp_error(state, "--rate goes with neither --closed nor --burst");
	if (plan.find && (plan.mode == LOAD_CLOSED || plan.mode == LOAD_BURST))
		argp_error(state, "--find-max searches a rate: not with --closed or --burst");
	if (plan.mode == LOAD_BURST)
		plan.rate = plan.burst * 1e3 / plan.burst_ms;
	else if (plan.mode != LOAD_CLOSED && plan.rate <= 0)
		plan.rate = 200;
	if (plan.seconds < 0)
		plan.seconds = plan.find ? 2 : 10;
}

static error_t option_parse(int key, char *value, struct argp_state *state)
{
	/* clang-format off */
	switch (key) {
	case 'r': plan.rate = number("rate", value, 1e-3, 1e7, state); break;
	case OPTION_POISSON: set_mode(LOAD_POISSON, state); break;
	case OPTION_CLOSED: set_mode(LOAD_CLOSED, state); break;
	case OPTION_BURST: set_burst(value, state); break;
	case 'c':
		plan.connections = (unsigned)whole("connections", value, 1, LOAD_CONNECTIONS_MAX, state);
		break;
	case OPTION_NEW: plan.fresh = true; break;
	case 'd': plan.seconds = number("seconds", value, 0.001, 604800, state); break;
	case OPTION_WARM: plan.warm = number("warm", value, 0, 86400, state); break;
	case OPTION_TIMEOUT:
		plan.timeout_ns = (uint64_t)(number("timeout", value, 0.001, 1000, state) * NS_PER_S);
		break;
	case OPTION_SEED: plan.seed = whole("seed", value, 0, UINT64_MAX, state); break;
	case OPTION_MIX: add_mix(value, state); break;
	case OPTION_POST: set_post(value, state); break;
	case OPTION_TYPE: plan.type = value; break;
	case 'H': add_header(value, state); break;
	case OPTION_NO_VERIFY: plan.verify = false; break;
	case OPTION_CPU: plan.cpu = (int)whole("cpu", value, 0, CPU_SETSIZE - 1, state); break;
	case OPTION_SPIN: plan.spin = true; break;
	case OPTION_QUICKACK: plan.quickack = true; break;
	case OPTION_FLOOR: plan.floor = number("floor", value, 0, 3600, state); break;
	case OPTION_NEED: set_need(value, state); break;
	case OPTION_FIND_MAX: set_find(value, state); break;
	case OPTION_MAX_RATE: plan.max_rate = number("max-rate", value, 1, 1e7, state); break;
	case OPTION_JSON: plan.json = value ? value : "-"; break;
	case OPTION_HGRM: plan.hgrm = value; break;
	case OPTION_SERIES: plan.series = value; break;
	case OPTION_NAME: plan.name = value; break;
	case 'q': plan.quiet = true; break;
	case ARGP_KEY_ARG: set_url(value, state); break;
	case ARGP_KEY_END: settle_plan(state); break;
	default: return ARGP_ERR_UNKNOWN;
	}
	/* clang-format on */
	return 0;
}

/* --- before ------------------------------------------------------------------------- */

static bool prepare_kinds(void)
{
	char why[LOAD_WHY];

	for (unsigned k = 0; k < plan.kinds; k++) {
		if (!load_check_prepare(&plan.kind[k], &plan, why)) {
			fprintf(stderr, "saker-load: %s: %s\n", plan.kind[k].path, why);
			return false;
		}
		if (*why && !plan.quiet)
			fprintf(stderr, "saker-load: %s\n", why);
	}
	return true;
}

static bool take_cpu(void)
{
	cpu_set_t set;

	/* Timers to the nanosecond; the kernel's default is 50 us late on purpose. */
	prctl(PR_SET_TIMERSLACK, 1);
	if (plan.cpu < 0)
		return true;
	CPU_ZERO(&set);
	CPU_SET(plan.cpu, &set);
	if (!sched_setaffinity(0, sizeof set, &set))
		return true;
	fprintf(stderr, "saker-load: --cpu=%d: %s; those that may be used: taskset -p $$\n",
		plan.cpu, strerror(errno));
	return false;
}

static bool ready(void)
{
	if (!take_cpu() || !prepare_kinds())
		return false;
	for (unsigned i = 0; i < array_size(records); i++) {
		if (!load_record_init(&records[i], &plan)) {
			fputs("saker-load: no memory for the record\n", stderr);
			return false;
		}
	}
	return load_pool_open(&pool, &plan, &records[0]);
}

/* --- after -------------------------------------------------------------------------- */

static bool write_file(const char *option, const char *path, const struct load_result *x,
		       void (*put)(FILE *, const struct load_result *))
{
	FILE *to = strcmp(path, "-") ? fopen(path, "we") : stdout;

	if (to)
		put(to, x);
	if (to && !fflush(to) && !ferror(to) && (to == stdout || !fclose(to)))
		return true;
	fprintf(stderr, "saker-load: --%s=%s: %s\n", option, path, strerror(errno));
	return false;
}

static bool report(const struct load_result *x)
{
	bool good = true;

	if (!plan.quiet && !(plan.json && !strcmp(plan.json, "-")))
		load_text_write(stdout, x);
	if (plan.json)
		good = write_file("json", plan.json, x, load_json_write) && good;
	if (plan.hgrm)
		good = write_file("hgrm", plan.hgrm, x, load_hgrm_write) && good;
	if (plan.series)
		good = write_file("series", plan.series, x, load_series_write) && good;
	return good && !fflush(stdout);
}

static void search(struct load_find *find, struct load_verdict *verdict, struct load_result *x)
{
	struct load_record *best;

	double least = load_search_least(&plan);

	load_find_init(find, plan.rate, least, fmax(plan.max_rate, least));
	load_search(find, &pool, &records[1], &best, &x->rate);
	x->record = best;
	x->find = find;
	load_verdict_reach(verdict, &plan, best);
	load_search_judge(verdict, find, plan.find);
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = option_parse,
		.args_doc = "http://ADDRESS[:PORT][/PATH]",
		.doc = "Ask a server at a given rate, check each answer, and tell how long each "
		       "took, "
		       "counted from when it was due.\v"
		       "Exit status: 0 done and valid; 1 requests failed, or it cannot run; 2 "
		       "usage; "
		       "3 done, but the run is invalid, and it says why.",
	};
	static struct load_verdict verdict;
	static struct load_find find;
	struct load_result result = { &plan, &records[0], &verdict, NULL, 0 };

	argp_err_exit_status = EXIT_USAGE;
	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	result.rate = plan.rate;
	if (!ready())
		return EXIT_FAILED;
	load_run_floor(&records[0], plan.floor);
	if (plan.find) {
		search(&find, &verdict, &result);
	} else {
		load_run(&pool, plan.rate, plan.warm, plan.seconds, plan.timeout_ns);
		load_verdict_reach(&verdict, &plan, &records[0]);
	}
	load_pool_close(&pool);
	bool written = report(&result);
	uint64_t failures = load_record_failures(result.record);
	for (unsigned i = 0; i < array_size(records); i++)
		load_record_fini(&records[i]);
	for (unsigned k = 0; k < plan.kinds; k++)
		free(plan.kind[k].request);
	return !written || failures ? EXIT_FAILED : verdict.reasons ? EXIT_INVALID : 0;
}
