/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * doctor_state.h - what was changed, and what it was before
 *
 * Place    doctor_fix.c remembers here before it changes anything, doctor_undo.c restores
 *          from here.
 * Model    A file of JSON, one object a setting:
 *            name    as a person would type it: a path, or `ethtool -C eth0 rx-usecs`
 *            of      of which network namespace and interface; "" for others
 *            boot    the kernel's boot_id: a later boot has the old values by itself
 *            was     before the first change; never overwritten while `boot` is this boot
 *            set     what was asked for
 *            is      what it was read as after that; null: the change was begun, and
 *                    nobody knows how far it came
 *          The file is replaced as a whole (written beside, fsync, rename, fsync of the
 *          directory): a reader finds the old one or the new one. An empty state has no
 *          file.
 * Owner    struct state is the caller's, from open to close. A lock (flock) on the
 *          directory keeps others out meanwhile; it goes with the process.
 * Limits   STATE_ENTRIES.
 * Errors   0 or -errno, reported here, once, on stderr, with a cure. A file that is not
 *          understood is never overwritten.
 */
#ifndef DOCTOR_STATE_H
#define DOCTOR_STATE_H

#include "doctor_value.h"

enum {
	STATE_ENTRIES = 512, /* governor and interrupts of a machine of 64 CPUs, and change */
	STATE_NAME = 160,
	STATE_OF = 64,
	STATE_BOOT = 40, /* a UUID */
	STATE_PATH = 512,
};

struct entry {
	char name[STATE_NAME];
	char of[STATE_OF];
	char boot[STATE_BOOT];
	char was[VALUE_SIZE];
	char set[VALUE_SIZE];
	char is[VALUE_SIZE];
	bool done; /* `is` holds; else it is null */
};

struct state {
	char path[STATE_PATH];
	int dir; /* locked; -1: there is none */
	unsigned count;
	struct entry entry[STATE_ENTRIES];
};

/* With make the directory is made; without, a directory or a file that is not there is an
 * empty state. */
int state_open(struct state *s, const char *path, bool make);
void state_close(struct state *s);

/* On the disk when it returns 0. */
int state_save(const struct state *s);

/* NULL: there is none. */
struct entry *state_find(struct state *s, const char *name, const char *of);
/* A new one, with nothing but its name; NULL: there are too many. */
struct entry *state_add(struct state *s, const char *name, const char *of);
void state_drop(struct state *s, struct entry *e);

#endif
