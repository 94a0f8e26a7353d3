// SPDX-License-Identifier: GPL-2.0-only
/*
 * first.c - measure-first: from exec to the first answer
 *
 * Place    The network namespace of the servers, so that their sockets are asked over the
 *          loopback of the kernel and no link is in the figure; --from is another one, where
 *          the way there is the question. --bypass-from asks over the link afterwards.
 * Model    Start the commands; ask each in a loop of new connections until it answers 200.
 *          `first_answer_ms` is from just before the fork to the status line. A server that
 *          says `saker: ready` is timed to that line too: `bypass_ms`. It is another figure
 *          and stands for something else; and what a client on the link sees of it is
 *          `bypass_answer_ms`, the answer to the first request sent after the line.
 * Limits   FIRST_SERVERS commands. Between two looks at a server is a round over all.
 */
#include <argp.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "first.h"

enum {
	OPT_CPU = 256,
	OPT_SERVER_CPU,
	OPT_FROM,
	OPT_BYPASS,
	OPT_BYPASS_FROM,
	OPT_COUNT,
	OPT_PAUSE,
	OPT_TIMEOUT,
	OPT_LOG,
	OPT_PATH,
	OPT_AFTER
};

static const struct argp_option options[] = {
	{ "cpu", OPT_CPU, "N", 0, "Ask from this CPU", 0 },
	{ "server-cpu", OPT_SERVER_CPU, "N", 0, "Start the command on this CPU", 0 },
	{ "from", OPT_FROM, "NETNS", 0, "Ask from that namespace (a path, as /run/netns/NAME)", 0 },
	{ "bypass", OPT_BYPASS, NULL, 0, "Time `saker: ready` too; no XDP rung: invalid", 0 },
	{ "bypass-from", OPT_BYPASS_FROM, "NETNS", 0,
	  "And ask once more from that namespace (empty: do not)", 0 },
	{ "count", OPT_COUNT, "N", 0,
	  "Start N of them; %n in ADDRESS, PORT and COMMAND is 0, 1 ... (1)", 0 },
	{ "pause", OPT_PAUSE, "US", 0,
	  "Sleep between two rounds, with real-time priority, instead of spinning (0)", 0 },
	{ "timeout", OPT_TIMEOUT, "S", 0, "Give up (10)", 0 },
	{ "log", OPT_LOG, "FILE", 0, "Where what the commands say goes", 0 },
	{ "path", OPT_PATH, "PATH", 0, "What is asked for (/compute?n=0)", 0 },
	{ "after", OPT_AFTER, "SHELL", 0,
	  "Run this while all serve; its output, JSON, is \"after\"", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct first *f = state->input;

	switch (key) {
	case OPT_CPU:
		f->cpu = (int)measure_number("--cpu", arg, 0, CPU_SETSIZE - 1);
		break;
	case OPT_SERVER_CPU:
		f->server_cpu = (int)measure_number("--server-cpu", arg, 0, CPU_SETSIZE - 1);
		break;
	case OPT_FROM:
		f->from = arg;
		break;
	case OPT_BYPASS_FROM:
		f->bypass_from = *arg ? arg : NULL; /* no such namespace: a real interface */
						    /* fall through */
	case OPT_BYPASS:
		f->bypass = true;
		break;
	case OPT_COUNT:
		f->count = (unsigned)measure_number("--count", arg, 1, FIRST_SERVERS);
		break;
	case OPT_PAUSE:
		f->pause_us = (unsigned)measure_number("--pause", arg, 0, 100000);
		break;
	case OPT_TIMEOUT:
		f->timeout_ns = measure_number("--timeout", arg, 1, 3600) * 1000000000;
		break;
	case OPT_LOG:
		f->log = arg;
		break;
	case OPT_PATH:
		f->path = arg;
		break;
	case OPT_AFTER:
		f->after = arg;
		break;
	case ARGP_KEY_ARGS:
		f->words = state->argv + state->next;
		f->n_words = (unsigned)(state->argc - state->next);
		if (f->n_words > 2 && !strcmp(f->words[2], "--")) {
			f->words[2] = f->words[1], f->words[1] = f->words[0];
			f->words++, f->n_words--;
		}
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = { options,
				  parse,
				  "ADDRESS PORT COMMAND...",
				  "Time a server from exec to its first answer.",
				  NULL,
				  NULL,
				  NULL };

static void check(const struct first *f)
{
	if (f->n_words < 3)
		measure_usage("wanted: ADDRESS PORT COMMAND...");
	if (f->n_words - 2 >= FIRST_WORDS)
		measure_usage("COMMAND has more than %d words: use a script", FIRST_WORDS - 1);
	if (f->bypass && f->count > 1)
		measure_usage("--bypass is for one server: leave --count out");
	if (strlen(f->path) > 512 || *f->path != '/')
		measure_usage("--path: '%s' does not begin with /, or is longer than 512", f->path);
}

/* --- what it says ------------------------------------------------------------------- */

static void put_ms(const char *name, uint64_t from_ns, uint64_t to_ns)
{
	printf("%s\"%s\":", *name == 'f' ? "" : ",", name);
	if (to_ns)
		printf("%.3f", (double)(to_ns - from_ns) / 1e6);
	else
		fputs("null", stdout);
}

static void report(const struct first *f, const char *invalid)
{
	uint64_t first = UINT64_MAX, last = 0;

	for (unsigned i = 0; i < f->count; i++) {
		uint64_t took = f->servers[i].answered_ns - f->servers[i].started_ns;
		first = took < first ? took : first;
		last = took > last ? took : last;
	}
	measure_head();
	fputs(",\"figures\":{", stdout);
	put_ms("first_answer_ms", 0, first);
	put_ms("last_answer_ms", 0, last);
	put_ms("bypass_ms", f->servers[0].started_ns, f->bypass ? f->ready_ns : 0);
	put_ms("bypass_answer_ms", f->servers[0].started_ns, f->bypass_answered_ns);
	printf(",\"majflt\":%llu,\"minflt\":%llu,\"read_kib\":%llu}",
	       (unsigned long long)f->cost.majflt, (unsigned long long)f->cost.minflt,
	       (unsigned long long)f->cost.read_bytes / 1024);
	fputs(",\"servers\":[", stdout);
	for (unsigned i = 0; i < f->count; i++) {
		const struct server *s = f->servers + i;
		printf("%s{", i ? "," : "");
		put_ms("first_answer_ms", s->started_ns, s->answered_ns);
		printf(",\"attempts\":%llu}", (unsigned long long)s->attempts);
	}
	printf("],\"pause_us\":%u,\"realtime\":%s,\"ready\":", f->pause_us,
	       f->realtime ? "true" : "false");
	if (f->bypass)
		measure_text(f->said);
	else
		fputs("null", stdout);
	if (f->after_text)
		printf(",\"after\":%s", f->after_text);
	fputs(",\"invalid\":[", stdout);
	if (invalid)
		measure_text(invalid);
	puts("]}");
}

/* --- the order of things -------------------------------------------------------------- */

/* Whoever answers before anything was started would be measured as very fast. */
static int nobody_there(struct first *f)
{
	for (unsigned i = 0; i < f->count; i++)
		if (ask_once(f, f->servers + i, 100))
			return measure_trouble("something answers at %s port %s already: stop it, "
					       "or name another port",
					       f->servers[i].address, f->servers[i].port);
	return 0;
}

static void asker(struct first *f)
{
	struct sched_param first = { .sched_priority = 1 };

	measure_pin("--cpu", f->cpu);
	f->realtime = f->pause_us &&
		      !sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first);
}

/* With the last line that it said, which is most often the cause. */
static int no_answer(struct first *f, const char *what)
{
	while (f->said_len && f->said[f->said_len - 1] == '\n')
		f->said[--f->said_len] = '\0';
	const char *line = strrchr(f->said, '\n');

	for (unsigned i = 0; i < f->count; i++)
		if (!f->servers[i].answered_ns && *f->servers[i].status)
			return measure_trouble("%s: it answers '%s', wanted 'HTTP/1.1 200': name "
					       "what it serves by --path",
					       what, f->servers[i].status);
	return measure_trouble(
		"%s: %s; it said: %s%s", what,
		f->ended ? "the command has ended (a server must stay in the foreground)" :
			   "not in time (--timeout)",
		line        ? line + 1 :
		f->said_len ? f->said :
			      "nothing",
		f->log ? "; --log has the rest" : "; --log=FILE keeps all that it says");
}

static int measure(struct first *f)
{
	int error = servers_start(f);

	if (!error && f->from)
		error = ask_go(f, f->from);
	if (error)
		return error;
	if (!ask_all(f))
		return no_answer(f, "no answer");
	cost_of(f);
	if (f->from && ask_go(f, NULL))
		return MEASURE_CANNOT;
	if (f->bypass && !await_ready(f))
		return no_answer(f, "no `saker: ready`");
	if (f->bypass_from && !ask_from(f))
		return no_answer(f, "no answer over the link");
	return f->after ? run_after(f) : 0;
}

/* Nobody else; and the first question finds whose address it is, which is not to be in
 * the figure. */
static int look_around(struct first *f)
{
	int error = f->from ? ask_go(f, f->from) : 0;

	if (!error)
		error = nobody_there(f);
	if (!error && f->from)
		error = ask_go(f, NULL);
	return error;
}

int main(int argc, char **argv)
{
	static struct first f = {
		.cpu = -1,
		.server_cpu = -1,
		.pipe = { -1, -1 },
		.log_fd = -1,
		.count = 1,
		.timeout_ns = 10000000000,
		.path = "/compute?n=0",
	};
	const char *invalid = NULL;

	measure_name = "measure-first";
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &f);
	check(&f);
	int status = servers_prepare(&f);
	if (!status)
		status = look_around(&f);
	if (!status) {
		asker(&f);
		status = measure(&f);
		servers_end(&f);
	}
	if (status)
		return status;
	if (f.bypass && !strstr(f.said, "rung xdp"))
		invalid = "no XDP rung came into effect: bypass_ms is not of a bypass";
	report(&f, invalid);
	return invalid ? MEASURE_INVALID : 0;
}
