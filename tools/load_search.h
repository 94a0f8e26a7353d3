/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * load_search.h - --find-max: load_find.h's steps, measured
 *
 * Place    saker-load.c, in place of one run.
 * Model    Each step is a run of --seconds, or of as long as it takes to carry the
 *          percentile, at most LOAD_STEP_S. It holds when the percentile is carried and
 *          below the limit, and no request failed or was refused. One that fails while
 *          the generator was late itself, by the rules of a plain run, is made once
 *          more. The two steps that decide, the highest that held and the lowest that
 *          did not, must be valid as plain runs, else the search is not. Wrong hashes
 *          end it: they are no matter of the rate.
 */
#ifndef LOAD_SEARCH_H
#define LOAD_SEARCH_H

#include "load_find.h"
#include "load_run.h"
#include "load_verdict.h"

enum { LOAD_STEP_S = 60 };

/* The lowest rate whose step can carry the percentile. */
double load_search_least(const struct load_plan *plan);

/* Leaves in *best the record of the highest rate that held, or of the last step if none
 * did or its hashes were wrong, and its rate in *rate. The pool's record and `other` are both used. */
void load_search(struct load_find *f, struct load_pool *p, struct load_record *other,
		 struct load_record **best, double *rate);

/* What is against its answer: add to the verdict on the step that *best is of. */
void load_search_judge(struct load_verdict *v, const struct load_find *f, const char *condition);

#endif
