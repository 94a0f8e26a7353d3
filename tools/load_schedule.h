/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * load_schedule.h - when each request is due, and which of the mix it is
 *
 * Place    load_run.c asks for one request after the other. Pure: time is counted from
 *          the start of the run, and chance comes from the seed.
 * Model    Constant: request k is due at k / rate, computed from k, so that no error
 *          adds up. Poisson: exponential gaps. Burst: N at once every PERIOD. The
 *          draws of gaps and of paths are two streams: the same seed gives the same
 *          arrivals whatever the mix. Nothing is written down beforehand: those that
 *          wait are exactly those that are due and not yet taken.
 * Units    ns from the start; rates in requests a second.
 */
#ifndef LOAD_SCHEDULE_H
#define LOAD_SCHEDULE_H

#include "base.h"

enum load_mode { LOAD_CONSTANT, LOAD_POISSON, LOAD_BURST, LOAD_CLOSED };

struct load_schedule {
	enum load_mode mode;
	double gap_ns;   /* between two requests, or two bursts */
	unsigned burst;  /* in one burst */
	uint64_t taken;  /* requests so far */
	double at_ns;    /* Poisson: when the next is due */
	uint64_t due_ns; /* the next one; UINT64_MAX: closed, whenever a connection is free */
	uint64_t gap_random, mix_random;
};

/* rate: requests a second in all, in bursts too. */
void load_schedule_init(struct load_schedule *s, enum load_mode mode, double rate, unsigned burst,
			uint64_t seed);

/* Take the next request, and go on to the one behind it. */
void load_schedule_take(struct load_schedule *s);

/* Requests that are due before `end_ns`. To be asked before the first is taken; exact but
 * for Poisson, of which it is the expectation. */
double load_schedule_expected(const struct load_schedule *s, uint64_t end_ns);

/* Which of n: the least i with draw * sum[n - 1] < sum[i], where sum is the running total
 * of the weights. */
unsigned load_schedule_pick(struct load_schedule *s, const double *sum, unsigned n);

#endif
