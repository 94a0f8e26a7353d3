/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * doctor_programs.h - which programs are on the interface
 *
 * Place    doctor_programs.c asks the kernel and tc, or reads what ip and tc have printed
 *          below a root; doctor_leftovers.c looks for ours.
 * Owner    The list is the last call's.
 */
#ifndef DOCTOR_PROGRAMS_H
#define DOCTOR_PROGRAMS_H

#include "doctor.h"

enum { PROGRAMS_TCX = 64 }; /* as many as a hook takes: BPF_MPROG_MAX */

struct program {
	char hook[24];
	unsigned id;
	char name[64]; /* "": not told */
	char off[96];  /* the command that takes it off */
};

struct programs {
	struct program list[PROGRAMS_TCX + 16];
	unsigned count;
	char why[256]; /* not empty: something could not be asked */
};

/* Of the XDP hook, or of tc ingress. */
const struct programs *programs_of(const struct host *h, bool tc);

/* The first that is ours, or the first that is not; NULL. */
const struct program *programs_first(const struct programs *p, bool of_us);

#endif
