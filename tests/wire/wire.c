/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * wire.c - play wire scripts, in virtual time or against a live responder
 *
 *   wire [-v] [--device=sim|reborn|veth:IF,...] SCRIPT.pkt...
 *
 * Model    TAP: a line for each script. What a failed script sent and received
 *          follows as comments; with -v every script's.
 */
#include <signal.h>
#include <unistd.h>
#include "device.h"
#include "run.h"
#include "script.h"
#include "tap.h"

static struct script script;
static char report[RUN_REPORT];
static char current[200];

/* base_panic has spoken; say where the script stood. */
static void on_abort(int signal)
{
	char text[256];
	int n = snprintf(text, sizeof text, "# in %s, line %u\n", current, run_line);

	(void)signal;
	if (write(1, text, (size_t)n) < 0)
		_exit(1);
}

static void print_report(void)
{
	for (char *at = report, *line; (line = strsep(&at, "\n")) && *line;)
		printf("# %s\n", line);
}

/* "syn-data" of "dir/syn-data.pkt" */
static const char *stem(const char *path)
{
	static char name[80];
	const char *slash = strrchr(path, '/');

	snprintf(name, sizeof name, "%s", slash ? slash + 1 : path);
	name[strcspn(name, ".")] = 0;
	return name;
}

static void play_file(struct device *d, const char *path, unsigned index, bool verbose)
{
	/* Ports that no client's own choice overlaps; each script has its own. */
	uint16_t port = (uint16_t)(20000 + index * SCRIPT_CONNS);
	char name[280];
	bool good;

	snprintf(current, sizeof current, "%s", path);
	if (!script_read(&script, path)) {
		ok(false, "%s can be read", stem(path));
		printf("# %s\n", script.error);
		return;
	}
	snprintf(name, sizeof name, "%s: %s", stem(path), script.title);
	if (script.sim_only[0] && d->kind != ON_SIM) {
		skip(name, script.sim_only);
		return;
	}
	good = run_script(d, &script, port, report);
	ok(good, "%s", name);
	if (!good || verbose)
		print_report();
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct device *d = sim_device(false);
	bool verbose = false;
	int i = 1;

	for (; i < argc && argv[i][0] == '-'; i++) {
		if (!strcmp(argv[i], "-v"))
			verbose = true;
		else if (!strncmp(argv[i], "--device=veth:", 14))
			d = veth_device(argv[i] + 14);
		else if (!strcmp(argv[i], "--device=reborn"))
			d = sim_device(true);
		else if (strcmp(argv[i], "--device=sim"))
			d = NULL;
		if (!d) {
			fprintf(stderr,
				"usage: wire [-v] [--device=sim|reborn|veth:IF,...] SCRIPT...\n");
			return 2;
		}
	}
	signal(SIGABRT, on_abort);
	for (int first = i; i < argc; i++)
		play_file(d, argv[i], (unsigned)(i - first), verbose);
	return done();
}
