/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * lane.h - run many hash loops side by side on one core
 *
 * Place    The worker, or a core of the crew, puts jobs in, steps them for a
 *          slice of time, and takes the results. Pure.
 * Model    One loop is a serial chain: bound by the latency of its multiply
 *          (3 cycles a round on Cortex-A76, 4 on Zen), it leaves the multiplier
 *          idle most of the time. Jobs that advance together, one round each per
 *          pass, fill the gaps. Each has its own counter, so it joins or leaves at
 *          any step. The loops are bodies (lane_body.h) of several instruction
 *          sets and widths; for each number of jobs the engine uses those that
 *          together take the least time a pass. What a pass takes is built in
 *          until it has been measured here (lane_sample).
 *          Policy: half of a step's time goes to all jobs evenly, one round for one
 *          round; the other half, and what the finished leave over, to those with
 *          the fewest rounds to go. So a short job does not wait behind long ones,
 *          and equal jobs end in the order of their arrival. And there are LANE_EXPRESS
 *          lanes more than jobs of over LANE_SHORT rounds may take.
 * Owner    The engine copies the job; nothing of the caller's must outlive put.
 * Threads  One engine per thread; no call is safe from two threads.
 * Limits   As many jobs in flight as lane_init was told, LANES_MAX at most, and
 *          the express lanes; then lane_put says no. Nothing allocates.
 * Units    Picoseconds of this core's time as the table has it. Who measures
 *          something else by his clock keeps the ratio.
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

/* What the CPU must have for a body; cpu_features (cpu.h) asks it. */
enum lane_cpu {
	LANE_CPU_SSE41 = 1,
	LANE_CPU_AVX2 = 2,
	LANE_CPU_AVX512 = 4, /* F and DQ: with vpmullq */
	LANE_CPU_NEON = 8,
};

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

/* Make an engine of so many lanes (1 ... LANES_MAX) in zeroed or used memory of
 * the above size, with the bodies that a CPU with these features can run. */
struct lane *lane_init(void *memory, unsigned lanes, uint32_t features);

/* Hand in a job. False when there is no lane for it: keep the job and come back
 * after the next lane_take. */
bool lane_put(struct lane *l, const struct lane_job *job);

/* Spend so much time on all running jobs together, and return what was spent:
 * less when jobs end in between; more by one pass at most, for every job advances
 * by one round at least, with a budget of 0 too. */
uint64_t lane_step(struct lane *l, uint64_t budget_ps);

/* Take one finished job. False when there is none. */
bool lane_take(struct lane *l, struct lane_result *result);

/* Forget the job with this tag, running or done; its lane is free at once.
 * False when there is none. Tags in flight must differ for this to make sense. */
bool lane_drop(struct lane *l, uint32_t tag);

/* Jobs running; jobs running or done and not yet taken. */
unsigned lane_running(const struct lane *l);
unsigned lane_busy(const struct lane *l);

/* --- what a pass takes ------------------------------------------------------- */

/* One round each of k jobs of one algorithm, k = 0 ... LANES_MAX + LANE_EXPRESS. */
uint32_t lane_pass_ps(const struct lane *l, enum lane_alg alg, unsigned k);

/* Calibration, in samples of about LANE_SAMPLE_US each, between which jobs may be
 * put, stepped and taken: run one, and say how long it took. From the last one on
 * the table holds what was measured. 0: there is no more to measure. */
bool lane_sample(struct lane *l);
void lane_sampled(struct lane *l, uint64_t ns);
bool lane_calibrated(const struct lane *l);

/* A row of the table: a body that this CPU can run. */
struct lane_row {
	const char *name;
	enum lane_alg alg;
	unsigned lanes;
	uint32_t builtin_ps, pass_ps; /* the guess; what is in effect */
};

/* Row i = 0, 1 ...; false at the end. At most LANE_BODIES_MAX. */
bool lane_row(const struct lane *l, unsigned i, struct lane_row *row);
/* The row of the body that a lone group of k jobs would run in: the narrowest of
 * those that lane_pass_ps(alg, k) adds up. */
unsigned lane_choice(const struct lane *l, enum lane_alg alg, unsigned k);

/* --- one loop ------------------------------------------------------------------ */

/* The plain loop, one job at once: the reference of tests and benchmarks. */
uint64_t lane_plain(enum lane_alg alg, uint64_t seed, uint64_t n);

/* "fnv1a32" and so on; the default seed; 32 or 64. */
const char *lane_alg_name(enum lane_alg alg);
uint64_t lane_alg_seed(enum lane_alg alg);
unsigned lane_alg_bits(enum lane_alg alg);

#endif
