/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * doctor_deed.h - what was done to a setting, for people and as JSON
 *
 * Place    doctor_fix.c and doctor_undo.c say each deed when it is done: a line, or an
 *          object of one list; docs/saker-doctor.8 has the words.
 */
#ifndef DOCTOR_DEED_H
#define DOCTOR_DEED_H

#include "doctor_apply.h"

enum deed_kind {
	DEED_CHANGED,
	DEED_ALREADY, /* it was so */
	DEED_REFUSED, /* with errno */
	DEED_OTHER,   /* it took another value than it was given */
	DEED_WOULD,   /* --dry-run */
	DEED_RESTORED,
	DEED_LEFT, /* not restored, and forgotten */
	DEED_KEPT, /* not restored, and remembered still */
	DEED_HAND, /* for people to do */
	DEEDS,
};

struct deeds {
	bool json;
	unsigned count[DEEDS];
	unsigned told;
};

struct deed {
	enum deed_kind kind;
	const char *name;
	const char *from, *to; /* NULL: not known, not meant */
	int error;             /* -errno, or 0 */
	const char *why;       /* "": nothing */
};

void deeds_begin(struct deeds *d, bool json);
void deed_tell(struct deeds *d, const struct deed *deed);
/* boot: what only a reboot changes, as text; "": nothing. */
void deeds_end(const struct deeds *d, const char *boot, int status);

#endif
