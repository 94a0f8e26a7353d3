/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * load_find.h - the highest rate at which a condition holds
 *
 * Place    saker-load.c measures at the rate that is asked for here, and tells what came
 *          of it. Pure.
 * Model    Doubling from the first rate while the condition holds (halving, if it does
 *          not at the first), then bisection between the highest rate at which it held
 *          and the lowest at which it did not, until they are 3 % apart. Steps that hold
 *          above a failed one are not looked for: the answer is a rate below which no
 *          step failed. A wrong hash is no matter of the rate, and ends it.
 * Limits   LOAD_STEPS_MAX steps.
 */
#ifndef LOAD_FIND_H
#define LOAD_FIND_H

#include "base.h"

enum { LOAD_STEPS_MAX = 40 };

struct load_step_made {
	double rate;
	uint64_t value_ns; /* UINT64_MAX: the sample did not carry it */
	bool holds;
	const char *why; /* it does not; static text */
	bool late;       /* as a plain run it would be invalid, by the generator's own doing */
	unsigned tries;
	uint64_t failures, wrong; /* of requests; the second is among the first */
};

struct load_find {
	double low, high; /* held; did not hold; 0: no such rate yet */
	double next, least, most;
	bool broken; /* by wrong hashes: there is no answer */
	unsigned steps;
	struct load_step_made step[LOAD_STEPS_MAX];
};

/* From `first` on, between `least` and `most`. */
void load_find_init(struct load_find *f, double first, double least, double most);

/* The rate to measure now; 0: found, f->low is the answer (0: there is none). */
double load_find_next(const struct load_find *f);

/* What came of it; the rate is known here. Wrong hashes end the search. */
void load_find_tell(struct load_find *f, const struct load_step_made *made);

/* The step that gave the answer, and the one that bounds it; NULL: none did. */
const struct load_step_made *load_find_held(const struct load_find *f);
const struct load_step_made *load_find_failed(const struct load_find *f);

/* The search did not go beyond the highest rate that was allowed. */
bool load_find_capped(const struct load_find *f);

/* "p99<50ms": p50, p99.9 and so on; mean and max are no percentiles. Units ns, us, ms, s. */
bool load_find_parse(const char *text, uint32_t *ppm, uint64_t *ns);

/* "p99.9" or "99.9" to parts per million. */
bool load_find_percentile(const char *text, const char **end, uint32_t *ppm);

#endif
