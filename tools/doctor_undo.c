/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "doctor_deed.h"
#include "doctor_fix.h"

enum fate {
	FATE_RESTORE,
	FATE_LEAVE, /* and forget */
	FATE_KEEP,
};

struct undo {
	struct machine m;
	char boot[STATE_BOOT];
	struct deeds deeds;
	struct state state;
	enum fate fate[STATE_ENTRIES];
	char now[STATE_ENTRIES][VALUE_SIZE];
};

static void tell(struct undo *u, unsigned i, enum deed_kind kind, int error, const char *why)
{
	const struct entry *e = &u->state.entry[i];
	bool moved = kind == DEED_RESTORED || kind == DEED_WOULD || kind == DEED_REFUSED;

	deed_tell(&u->deeds, &(struct deed){ .kind = kind,
					     .name = e->name,
					     .from = *u->now[i] ? u->now[i] : NULL,
					     .to = moved ? e->was : NULL,
					     .error = error,
					     .why = why });
}

/* --- what becomes of each --------------------------------------------------------------- */

static size_t netns_length(const char *of)
{
	const char *at = strstr(of, " ifindex ");

	return at ? (size_t)(at - of) : strlen(of);
}

/* Is it the thing that we changed? Else it has been told. */
static bool same_thing(struct undo *u, unsigned i)
{
	const struct entry *e = &u->state.entry[i];
	char of[STATE_OF];

	apply_of(&u->m, e->name, of);
	if (!strcmp(of, e->of))
		return true;
	if (!strncmp(e->name, "process ", 8)) {
		tell(u, i, DEED_LEFT, 0, "it has ended");
		return false;
	}
	if (netns_length(of) != netns_length(e->of) || strncmp(of, e->of, netns_length(of))) {
		u->fate[i] = FATE_KEEP;
		tell(u, i, DEED_KEPT, 0, "it is of another network namespace: undo it there");
	} else {
		tell(u, i, DEED_LEFT, 0,
		     "the interface is gone, or another one of this name is here");
	}
	return false;
}

static void read_failed(struct undo *u, unsigned i, int error)
{
	if (error == -ENOENT) {
		tell(u, i, DEED_LEFT, 0, "it is gone");
		return;
	}
	u->fate[i] = FATE_KEEP;
	tell(u, i, DEED_REFUSED, error, u->m.why);
}

/* All are looked at before any is changed: to restore one may change another. */
static void decide(struct undo *u, unsigned i)
{
	const struct entry *e = &u->state.entry[i];
	char why[VALUE_SIZE * 2 + 96];
	int error;

	u->fate[i] = FATE_LEAVE;
	*u->now[i] = '\0';
	if (!same_thing(u, i))
		return;
	error = apply_read(&u->m, e->name, u->now[i]);
	if (error) {
		read_failed(u, i, error);
	} else if (value_same(e->name, u->now[i], e->was)) {
		tell(u, i, DEED_LEFT, 0,
		     strcmp(e->boot, u->boot) ? "as it was: a reboot has put it back" :
						"as it was already");
	} else if (strcmp(e->boot, u->boot)) {
		snprintf(why, sizeof why, "the machine was booted anew since we set it (it was %s)",
			 e->was);
		tell(u, i, DEED_LEFT, 0, why);
	} else if (e->done && !value_same(e->name, u->now[i], e->is)) {
		snprintf(why, sizeof why, "somebody has changed it since (it was %s, we set %s)",
			 e->was, e->set);
		tell(u, i, DEED_LEFT, 0, why);
	} else {
		u->fate[i] = FATE_RESTORE;
	}
}

/* --- restored --------------------------------------------------------------------------- */

static bool is_back(struct undo *u, unsigned i)
{
	const struct entry *e = &u->state.entry[i];
	char now[VALUE_SIZE];

	return !apply_read(&u->m, e->name, now) && value_same(e->name, now, e->was);
}

/* The last that was changed goes first, but rings and channels before all: they make the
 * card forget the rest. */
static void write_all(struct undo *u)
{
	for (unsigned rank = 0; rank < APPLY_RANKS; rank++)
		for (unsigned i = u->state.count; i--;)
			if (u->fate[i] == FATE_RESTORE && !is_back(u, i) &&
			    apply_rank(u->state.entry[i].name) == rank)
				apply_write(&u->m, u->state.entry[i].name, u->state.entry[i].was);
}

/* One that is not back is tried once more, for its error. */
static void settle(struct undo *u, unsigned i)
{
	int error = is_back(u, i) ?
			    0 :
			    apply_write(&u->m, u->state.entry[i].name, u->state.entry[i].was);

	if (is_back(u, i)) {
		u->fate[i] = FATE_LEAVE;
		tell(u, i, DEED_RESTORED, 0, "");
		return;
	}
	u->fate[i] = FATE_KEEP;
	tell(u, i, DEED_REFUSED, error, error ? u->m.why : "it does not take that value");
}

/* Twice, since one may hang on another: no scatter-gather without checksums. */
static void restore_all(struct undo *u)
{
	write_all(u);
	write_all(u);
	for (unsigned i = u->state.count; i--;)
		if (u->fate[i] == FATE_RESTORE)
			settle(u, i);
}

static void would(struct undo *u)
{
	for (unsigned i = u->state.count; i--;)
		if (u->fate[i] == FATE_RESTORE)
			tell(u, i, DEED_WOULD, 0, "");
}

/* What is half undone when we are killed is nobody else's change: it is written down as
 * begun. */
static int begin(struct undo *u)
{
	unsigned begun = 0;

	for (unsigned i = 0; i < u->state.count; i++)
		if (u->fate[i] == FATE_RESTORE) {
			u->state.entry[i].done = false;
			begun++;
		}
	return begun ? state_save(&u->state) : 0;
}

static void forget(struct undo *u)
{
	for (unsigned i = u->state.count; i--;)
		if (u->fate[i] == FATE_LEAVE)
			state_drop(&u->state, &u->state.entry[i]);
}

int undo_run(const struct fix *f)
{
	static struct undo u;
	char path[STATE_PATH];
	int status, failed = 0;

	memset(&u, 0, sizeof u);
	u.m.root = f->root;
	apply_boot(&u.m, u.boot);
	snprintf(path, sizeof path, "%s%s", f->state ? "" : f->root,
		 f->state ? f->state : FIX_STATE);
	if (state_open(&u.state, path, false))
		return 1;
	deeds_begin(&u.deeds, f->json);
	if (!u.state.count && !f->json)
		printf("nothing to undo: %s remembers nothing\n", path);
	for (unsigned i = u.state.count; i--;)
		decide(&u, i);
	if (f->dry_run) {
		would(&u);
	} else {
		failed = begin(&u); /* then undo all the same: that is what was asked for */
		restore_all(&u);
		forget(&u);
		failed |= state_save(&u.state);
	}
	status = failed || u.deeds.count[DEED_REFUSED] || u.deeds.count[DEED_KEPT];
	state_close(&u.state);
	deeds_end(&u.deeds, "", status);
	return status;
}
