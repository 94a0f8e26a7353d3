/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * doctor_apply.h - one setting: what it is, and making it something else
 *
 * Place    doctor_fix.c and doctor_undo.c decide; here it is read and written.
 * Model    A setting has a name, which is what a person would type, and a value:
 *            /sys/..., /proc/...          a file; sysctls, governor, interrupts, ASPM too
 *            ethtool -C eth0 rx-usecs     also -G, -L, -K, --set-eee (doctor_ethset.c)
 *            cgroup cpuset, cpuset saker, partition saker      doctor_partition.c
 *            process 123                  the cgroup that it is in (doctor_tasks.c)
 *          Other names are refused: the state file is not a way to write anywhere.
 * Errors   0 or -errno; m->why has more where more is known, else it is "".
 */
#ifndef DOCTOR_APPLY_H
#define DOCTOR_APPLY_H

#include "doctor_file.h"
#include "doctor_state.h"
#include "doctor_tasks.h"

/* A setting and what it shall be. */
struct wish {
	char name[STATE_NAME];
	char value[VALUE_SIZE];
};

enum { WISHES = FAMILY + 4 }; /* that one may stand for: a partition, and who goes inside */

int apply_read(struct machine *m, const char *name, char value[VALUE_SIZE]);
int apply_write(struct machine *m, const char *name, const char *value);

/* The settings that a wish stands for, in the order in which they are changed; how many. */
unsigned apply_expand(struct machine *m, const struct wish *wish, struct wish to[WISHES]);

/* Those of a partition stand or fall together. */
bool apply_together(const char *name);

/* A wish of that kind comes before those of a higher number: an interface that is given
 * other rings or channels is opened anew, and forgets its moderation. */
enum { APPLY_RANKS = 3 };
unsigned apply_rank(const char *name);

/* Whose it is: the network namespace, and the interface's number, which another one of the
 * same name would not have; when a process began; "" for what is the machine's. */
void apply_of(struct machine *m, const char *name, char of[STATE_OF]);

/* boot_id; "" when there is none. */
void apply_boot(const struct machine *m, char boot[STATE_BOOT]);

#endif
