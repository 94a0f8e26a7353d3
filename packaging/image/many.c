// SPDX-License-Identifier: GPL-2.0-only
/*
 * many.c - saker, saker-stat and saker-ctl in one program: who it is, its name says
 *
 * Place    Images, where everything is linked statically: so the C library is there once,
 *          on the medium and in memory. Nowhere else.
 * Model    The mains are those of the three programs, renamed in their objects (Makefile), as
 *          is what argp prints for --version; saker sets that itself.
 * Errors   Another name is a usage error.
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

int saker_main(int argc, char **argv);
int saker_stat_main(int argc, char **argv);
int saker_ctl_main(int argc, char **argv);
extern const char *saker_stat_version, *saker_ctl_version;

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char **version;
} programs[] = {
	{ "saker", saker_main, &argp_program_version },
	{ "saker-stat", saker_stat_main, &saker_stat_version },
	{ "saker-ctl", saker_ctl_main, &saker_ctl_version },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
		if (strcmp(program_invocation_short_name, programs[i].name))
			continue;
		argp_program_version = *programs[i].version;
		return programs[i].run(argc, argv);
	}
	fprintf(stderr, "%s: call me saker, saker-stat or saker-ctl\n", program_invocation_short_name);
	return 2;
}
