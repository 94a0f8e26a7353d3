/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * saker-doctor.c - what of this machine costs latency, and what to do about it
 *
 * Place    For people before the first run, for packages, and for saker-lab's facts;
 *          docs/saker-doctor.8. doctor.h has the parts.
 * Model    Open the host, run the checks that were asked for, show them.
 */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "doctor.h"
#include "doctor_fix.h"

enum { CHECKS_MAX = 64 };

struct args {
	const char *root, *iface, *cpus;
	bool json, list, all;
	bool fix, undo, dry_run;
	bool asked;                            /* checks were named */
	const char *state;                     /* NULL: the usual file */
	const struct check *check[CHECKS_MAX]; /* none: all */
	unsigned checks;
};

static int list_checks(void)
{
	for (unsigned i = 0; i < checks_count; i++)
		printf("%-16s %s\n", checks[i].name, checks[i].subject);
	return 0;
}

static struct fix fix_of(const struct args *args, const char *iface)
{
	return (struct fix){ .root = strcmp(args->root, "/") ? args->root : "",
			     .iface = iface,
			     .state = args->state,
			     .asked = args->asked,
			     .dry_run = args->dry_run,
			     .json = args->json };
}

static int undo(const struct args *args)
{
	struct fix f = fix_of(args, "");

	return undo_run(&f);
}

static int examine(const struct args *args)
{
	static struct finding found[CHECKS_MAX];
	static struct host host;
	struct report report = { .host = &host, .list = found, .all = args->all };
	char error[256];

	if (!host_open(&host, args->root, args->iface, args->cpus, error, sizeof error)) {
		fprintf(stderr, "saker-doctor: %s\n", error);
		return 2;
	}
	for (unsigned i = 0; i < args->checks; i++)
		check_run(args->check[i], &host, &found[report.count++]);
	int status = report_status(&report);
	struct fix f = fix_of(args, host.iface);

	if (args->fix)
		status = fix_run(&f, found, report.count);
	else if (args->json)
		report_json(&report);
	else
		report_text(&report);
	host_close(&host);
	return status;
}

/* --- options -------------------------------------------------------------------------- */

const char *argp_program_version = "saker-doctor " VERSION;

enum { ARG_ROOT = 256, ARG_CPUS, ARG_JSON, ARG_LIST, ARG_FIX, ARG_UNDO, ARG_DRY_RUN, ARG_STATE };

static const struct argp_option options[] = {
	{ "interface", 'i', "IFACE", 0, "the interface (the one with the default route)", 0 },
	{ "cpus", ARG_CPUS, "LIST", 0,
	  "the cores that saker shall have (those that are isolated, else all but the first)", 0 },
	{ "verbose", 'v', NULL, 0, "say of what is fine, too, why it matters", 0 },
	{ "json", ARG_JSON, NULL, 0, "print JSON", 0 },
	{ "list", ARG_LIST, NULL, 0, "list the checks and end", 0 },
	{ "root", ARG_ROOT, "DIR", 0, "examine the files below DIR instead, and try nothing", 0 },
	{ "fix", ARG_FIX, NULL, 0, "change what can be changed now, and remember what it was", 1 },
	{ "undo", ARG_UNDO, NULL, 0, "restore what --fix has changed", 1 },
	{ "dry-run", ARG_DRY_RUN, NULL, 0, "with these: only say what would be done", 1 },
	{ "state", ARG_STATE, "FILE", 0, "with these: remember there (" FIX_STATE ")", 1 },
	{ 0 },
};

static void add_check(struct args *args, const char *name, struct argp_state *state)
{
	for (unsigned i = 0; i < checks_count; i++)
		if (!strcmp(checks[i].name, name)) {
			for (unsigned j = 0; j < args->checks; j++)
				if (args->check[j] == &checks[i])
					return;
			args->check[args->checks++] = &checks[i];
			return;
		}
	argp_error(state, "%s: there is no such check; --list has their names", name);
}

static void check_together(const struct args *args, struct argp_state *state)
{
	if (args->fix + args->undo + args->list > 1)
		argp_error(state, "one of --fix, --undo and --list");
	if ((args->dry_run || args->state) && !args->fix && !args->undo)
		argp_error(state, "--dry-run and --state go with --fix or --undo");
	if (args->undo && args->checks)
		argp_error(state, "--undo restores all: no CHECK with it");
	if (args->state && !*args->state)
		argp_error(state, "--state=: wanted a file");
}

static error_t option_parse(int key, char *value, struct argp_state *state)
{
	struct args *args = state->input;
	/* clang-format off */
	switch (key) {
	case 'i': args->iface = value; break;
	case 'v': args->all = true; break;
	case ARG_CPUS: args->cpus = value; break;
	case ARG_JSON: args->json = true; break;
	case ARG_LIST: args->list = true; break;
	case ARG_ROOT: args->root = value; break;
	case ARG_FIX: args->fix = true; break;
	case ARG_UNDO: args->undo = true; break;
	case ARG_DRY_RUN: args->dry_run = true; break;
	case ARG_STATE: args->state = value; break;
	case ARGP_KEY_END: check_together(args, state); break;
	case ARGP_KEY_ARG: add_check(args, value, state); break;
	default: return ARGP_ERR_UNKNOWN;
	}
	/* clang-format on */
	return 0;
}

_Noreturn void base_panic(const char *what, const char *file, int line)
{
	fprintf(stderr, "saker-doctor: broken invariant at %s:%d: %s\n", file, line, what);
	abort();
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = option_parse,
		.args_doc = "[CHECK...]",
		.doc = "Say what of this machine costs saker latency or correctness, why it "
		       "matters, and what to do about it. Only --fix and --undo change anything. "
		       "Exit status: "
		       "0 all is fine, 1 something is not, or was not changed, 2 wrong options, 3 "
		       "the bypass cannot run here.",
	};
	static struct args args = { .root = "" };
	int status;

	must(checks_count <= CHECKS_MAX);
	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, &args);
	args.asked = args.checks;
	if (!args.checks)
		while (args.checks < checks_count) {
			args.check[args.checks] = &checks[args.checks];
			args.checks++;
		}
	status = args.list ? list_checks() : args.undo ? undo(&args) : examine(&args);
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "saker-doctor: cannot write: %s\n", strerror(errno));
		return 2;
	}
	return status;
}
