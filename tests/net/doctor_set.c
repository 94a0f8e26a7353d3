/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * doctor_set.c - saker-doctor --fix of settings that no check would ask for here
 *
 * Usage    doctor_set [--kill=N] STATE IFACE NAME VALUE [NAME VALUE...]
 * Place    tests/net/doctor.sh: a veth has no faults, but settings. NAME is a file,
 *          `-K gro`, or `cpuset`. --kill=N dies, as by kill -9, at the Nth of the points before and
 *          after each write of a setting (the linker puts us around apply_write); status 42
 *          without, when there were fewer.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "doctor_apply.h"
#include "doctor_fix.h"

static unsigned lives;

static void wound(void)
{
	if (lives && !--lives)
		raise(SIGKILL);
}

int __real_apply_write(struct machine *m, const char *name, const char *value);
int __wrap_apply_write(struct machine *m, const char *name, const char *value);
int __wrap_apply_write(struct machine *m, const char *name, const char *value)
{
	wound();
	int error = __real_apply_write(m, name, value);
	wound();
	return error;
}

_Noreturn void base_panic(const char *what, const char *file, int line)
{
	fprintf(stderr, "doctor_set: broken invariant at %s:%d: %s\n", file, line, what);
	abort();
}

int main(int argc, char **argv)
{
	static struct finding all = { .check = "all",
				      .verdict = VERDICT_WARN,
				      .fix_kind = FIX_RUNTIME };
	struct fix fix = { .root = "" };
	bool kill = argc > 1 && sscanf(argv[1], "--kill=%u", &lives) == 1;
	int first = kill ? 2 : 1;

	if (argc < first + 4 || (argc - first) % 2 || (argc - first) / 2 > FINDING_SETTINGS)
		return 2;
	fix.state = argv[first];
	fix.iface = argv[first + 1];
	for (int i = first + 2; i < argc; i += 2) {
		struct setting *s = &all.setting[all.settings++];

		s->kind = *argv[i] == '/' ? SETTING_FILE :
			  *argv[i] == '-' ? SETTING_ETHTOOL :
					    SETTING_PARTITION;
		snprintf(s->where, sizeof s->where, "%s", argv[i]);
		snprintf(s->value, sizeof s->value, "%s", argv[i + 1]);
	}
	int status = fix_run(&fix, &all, 1);
	return kill ? 42 : status;
}
