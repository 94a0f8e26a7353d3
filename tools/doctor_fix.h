/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * doctor_fix.h - saker-doctor --fix and --undo
 *
 * Place    saker-doctor.c, behind the checks. doctor_state.h remembers, doctor_apply.h
 *          changes, doctor_boot.h shows the rest.
 * Model    fix: all settings that the findings ask for are read, what they are is written
 *          to the state file, and then they are changed, one by one; each is read again.
 *          undo: each remembered setting that is still as we made it gets its old value.
 *          Killed anywhere between, undo restores: what was begun is in the file.
 *          Left alone, and said: what somebody else has changed since, what a reboot has
 *          put back, what is another interface now.
 * Errors   A setting that is refused is told with its errno, and the rest goes on; the
 *          exit status is 1 then. No state file, no change.
 */
#ifndef DOCTOR_FIX_H
#define DOCTOR_FIX_H

#include "doctor.h"

struct fix {
	const char *root;  /* "": the machine itself */
	const char *iface; /* of the findings' ethtool settings */
	const char *state; /* NULL: FIX_STATE below the root */
	bool asked;        /* checks were named: what is a matter of taste is wanted too */
	bool dry_run;      /* say what would be done */
	bool json;
};

#define FIX_STATE "/var/lib/saker/doctor.json"

/* Those with a fix for run time and a verdict that wants one. 0: all took; 1: not all. */
int fix_run(const struct fix *f, const struct finding *list, unsigned count);
int undo_run(const struct fix *f);

#endif
