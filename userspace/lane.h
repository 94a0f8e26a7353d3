/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * lane.h - run many hash loops side by side on one core
 *
 * Place    worker puts jobs in, steps them between two looks at the ring, and
 *          takes the results. Pure.
 * Model    One loop is a serial chain: bound by the latency of its multiply
 *          (3 cycles a round on Cortex-A76, 4 on Zen 4), it leaves the
 *          multiplier idle most of the time. Jobs that advance together, one
 *          round each per pass, fill the gaps. Each lane has its own counter,
 *          so a job joins or leaves at any step. Order of results is free.
 *          Policy: half of a step's budget is shared evenly, so that every job
 *          advances in every step; the other half, and what the finished leave
 *          over, goes to those with the fewest rounds to go: a short job does
 *          not wait behind long ones, equal jobs end in order of arrival.
 * Owner    The engine copies the job; nothing of the caller's must outlive put.
 * Threads  One engine per thread; no call is safe from two threads.
 * Limits   LANES jobs in flight, then lane_put says no. Nothing allocates.
 * Units    Budgets are rounds of FNV-1a as one chain, not time: who wants time
 *          divides by the rate that he has seen. Up to LANE_SCALAR jobs side by
 *          side count as one chain; a round of mix64 counts LANE_MIX64_COST.
 *
 *   put -> [ running: h, i, n ] -> step, step ... i == n -> [ done ] -> take
 */
#ifndef LANE_H
#define LANE_H

#include "base.h"
#include "limits.h"

/* design.md section 7 has the loops and their published values. */
enum lane_alg {
	LANE_FNV1A32, /* h = (h ^ i) * 16777619, 32 bits */
	LANE_FNV1A64, /* h = (h ^ i) * 1099511628211, 64 bits */
	LANE_MIX64,   /* h ^= i, then the finaliser of SplitMix64 */
	LANE_ALGS,
};

/* 31 against 9.8 ms for 10M rounds on an AMD EPYC (Zen 5). So the time that a
 * budget takes hardly depends on which algorithms are running. */
enum { LANE_MIX64_COST = 3 };

struct lane_job {
	uint64_t n;    /* rounds */
	uint64_t seed; /* the hash before the first round */
	uint32_t tag;  /* the caller's, comes back with the result */
	enum lane_alg alg;
};

struct lane_result {
	uint64_t hash;
	uint32_t tag;
};

struct lane; /* the engine; lives in memory that the caller brings */

/* Bytes and alignment (a power of two) of an engine. */
size_t lane_footprint(void);
size_t lane_align(void);

/* Make an engine in zeroed or used memory of the above size. */
struct lane *lane_init(void *memory);

/* Hand in a job. False when all lanes are busy: keep the job and come back
 * after the next lane_take. */
bool lane_put(struct lane *l, const struct lane_job *job);

/* Spend `rounds` on all running jobs together, however many they are, and return
 * what was spent (what time is proportional to): less when jobs end in between;
 * more by at most LANES * LANE_MIX64_COST, for every job advances by one round
 * at least, with a budget of 0 too. */
uint64_t lane_step(struct lane *l, uint64_t rounds);

/* Take one finished job. False when there is none. */
bool lane_take(struct lane *l, struct lane_result *result);

/* Forget the job with this tag, running or done; its lane is free at once.
 * False when there is none. Tags in flight must differ for this to make sense. */
bool lane_drop(struct lane *l, uint32_t tag);

/* Jobs running; jobs running or done and not yet taken. */
unsigned lane_running(const struct lane *l);
unsigned lane_busy(const struct lane *l);

/* The plain loop, one job at once: the reference of tests and benchmarks. */
uint64_t lane_plain(enum lane_alg alg, uint64_t seed, uint64_t n);

/* "fnv1a32" and so on; the default seed; 32 or 64. */
const char *lane_alg_name(enum lane_alg alg);
uint64_t lane_alg_seed(enum lane_alg alg);
unsigned lane_alg_bits(enum lane_alg alg);

#endif
