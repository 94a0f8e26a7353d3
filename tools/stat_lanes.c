/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * stat_lanes.c - `saker-stat lanes`: what the loop bodies of each core take
 *
 * Place    saker-stat hands it the rest of the command line.
 * Model    The map `lanes` has a table for each I/O thread and each compute core;
 *          table.h prints them.
 */
#include "stat_lanes.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>
#include "stats.h"
#include "table.h"

struct args {
	const char *ifname, *pin_dir;
	bool json;
};

static const struct argp_option options[] = {
	{ "interface", 'i', "IFACE", 0, "of the responder on this interface", 0 },
	{ "pin-dir", 'd', "DIR", 0, "or with its maps in this directory", 0 },
	{ "json", 'j', NULL, 0, "an array of objects, in picoseconds", 0 },
	{ 0 },
};

static error_t parse(int key, char *value, struct argp_state *state)
{
	struct args *args = state->input;

	switch (key) {
	case 'i':
		args->ifname = value;
		return 0;
	case 'd':
		args->pin_dir = value;
		return 0;
	case 'j':
		args->json = true;
		return 0;
	case ARGP_KEY_END:
		if (!args->ifname && !args->pin_dir)
			argp_error(state, "which interface? -i IFACE");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int stat_lanes(int argc, char **argv)
{
	static const struct argp argp = { options,
					  parse,
					  NULL,
					  "What each loop body takes, and which are in use for "
					  "so many requests.",
					  NULL,
					  NULL,
					  NULL };
	static struct lane_table table[IO_THREADS_MAX + CREW_MAX];
	struct args args = { 0 };
	char dir[512], error[768];
	int tables;

	argp_parse(&argp, argc, argv, 0, NULL, &args);
	tables = stats_where(dir, sizeof dir, args.ifname, args.pin_dir);
	if (tables < 0)
		snprintf(error, sizeof error, "%s: %s", args.ifname, strerror(-tables));
	else
		tables = stats_load_lanes(table, array_size(table), dir, error, sizeof error);
	if (tables < 0) {
		fprintf(stderr, "saker-stat: %s\n", error);
		return 1;
	}
	for (int i = 0; i < tables; i++) {
		if (args.json)
			fputc(i ? ',' : '[', stdout);
		else if (i)
			putchar('\n');
		(args.json ? table_print_json : table_print)(stdout, &table[i]);
	}
	if (args.json)
		puts("]");
	return 0;
}
