/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * lane_rig.h - what the tests of the lane engine and of its bodies share
 *
 * Model    One engine at a time; a CPU's features; a calibration whose clock is the
 *          test's; and jobs that come, go and are dropped at random, each result
 *          compared with the plain loop's.
 */
#ifndef LANE_RIG_H
#define LANE_RIG_H

#include "tap.h"

#include "lane.h"

static inline struct lane *lane_fresh(unsigned lanes, uint32_t features)
{
	static void *memory;

	if (!memory)
		memory = aligned_alloc(lane_align(), round_up(lane_footprint(), lane_align()));
	must(memory);
	memset(memory, 0xa5, lane_footprint());
	return lane_init(memory, lanes, features);
}

/* What the CPU that runs this has, of enum lane_cpu. */
static inline uint32_t cpu_has(void)
{
	uint32_t has = 0;

#ifdef __x86_64__
	__builtin_cpu_init();
	if (__builtin_cpu_supports("sse4.1"))
		has |= LANE_CPU_SSE41;
	if (__builtin_cpu_supports("avx2"))
		has |= LANE_CPU_AVX2;
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
		has |= LANE_CPU_AVX512;
#elif defined __aarch64__
	has |= LANE_CPU_NEON;
#endif
	return has;
}

static inline uint64_t random_next(void)
{
	static uint64_t x = 0x9e3779b97f4a7c15;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x >> 11;
}

static inline struct lane_job job_of(enum lane_alg alg, uint64_t n, uint32_t tag)
{
	return (struct lane_job){ .n = n, .seed = lane_alg_seed(alg), .tag = tag, .alg = alg };
}

/* One pass of all that may run, in its own time. */
static inline uint64_t pass_of_all(const struct lane *l)
{
	uint64_t ps = 0;

	for (enum lane_alg alg = 0; alg < LANE_ALGS; alg++)
		ps += lane_pass_ps(l, alg, LANES_MAX + LANE_EXPRESS);
	return ps;
}

/* --- calibration by a clock of our own --------------------------------------- */

static inline unsigned rows_of(const struct lane *l)
{
	struct lane_row row;
	unsigned rows = 0;

	while (lane_row(l, rows, &row))
		rows++;
	return rows;
}

/* Row r's sample takes ps[r] a pass. Returns the number of samples. */
static inline unsigned calibrate(struct lane *l, const uint32_t *ps)
{
	unsigned rows = rows_of(l), samples = 0;

	for (; lane_sample(l); samples++) {
		struct lane_row row;

		must(lane_row(l, samples % rows, &row));
		lane_sampled(l, LANE_SAMPLE_US * UINT64_C(1000000) / row.builtin_ps *
					ps[samples % rows] / 1000);
	}
	return samples;
}

/* --- everything at random -------------------------------------------------------- */

struct crowd {
	struct lane_job live[LANES_MAX + LANE_EXPRESS];
	unsigned n, most;   /* live; lanes */
	enum lane_alg only; /* LANE_ALGS: any */
	uint32_t tag;
	unsigned bad_put, bad_step, bad_take, bad_drop, miscounted; /* must stay 0 */
	unsigned results, fullest;
};

static inline uint64_t random_rounds(void)
{
	static const uint64_t below[] = { 1, 2, 5, 100, 1000, 10000 };

	return random_next() % below[random_next() % array_size(below)];
}

/* These four return false when the engine's answer is not what live[] says. */
static inline bool random_put(struct lane *l, struct crowd *c)
{
	struct lane_job job = {
		.n = random_next() % 16 ? random_rounds() : LANE_SHORT + 1,
		.seed = random_next() << 32 ^ random_next(),
		.tag = (c->tag += 0x9e3779b9),
		.alg = c->only != LANE_ALGS ? c->only : random_next() % LANE_ALGS,
	};
	unsigned lengthy = 0;
	bool room, good;

	for (unsigned i = 0; i < c->n; i++)
		lengthy += c->live[i].n > LANE_SHORT;
	room = c->n < c->most + LANE_EXPRESS && (job.n <= LANE_SHORT || lengthy < c->most);
	good = lane_put(l, &job) == room;

	if (room)
		c->live[c->n++] = job;
	return good;
}

static inline bool random_take(struct lane *l, struct crowd *c)
{
	struct lane_result result;

	for (unsigned most = random_next() % 4 + 1; most && lane_take(l, &result); most--) {
		struct lane_job *job = c->live;

		while (job < c->live + c->n && job->tag != result.tag)
			job++;
		if (job == c->live + c->n || result.hash != lane_plain(job->alg, job->seed, job->n))
			return false;
		*job = c->live[--c->n];
		c->results++;
	}
	return true;
}

static inline bool random_drop(struct lane *l, struct crowd *c)
{
	if (!c->n)
		return !lane_drop(l, 1);

	unsigned j = random_next() % c->n;
	bool good = lane_drop(l, c->live[j].tag) && !lane_drop(l, c->live[j].tag);

	c->live[j] = c->live[--c->n];
	return good;
}

static inline bool random_step(struct lane *l)
{
	static const uint64_t below[] = { 1, 10000, 1000000, 50000000 };
	uint64_t budget_ps = random_next() % below[random_next() % array_size(below)];

	return lane_step(l, budget_ps) <= budget_ps + pass_of_all(l);
}

/* So many events on an engine of c->most lanes. */
static inline void random_events(struct lane *l, struct crowd *c, unsigned events)
{
	for (unsigned e = 0; e < events; e++) {
		/* By turns more jobs come than go, and the other way round. */
		unsigned dice = random_next() % 16, puts = e & 1024 ? 10 : 5;

		if (dice < puts)
			c->bad_put += !random_put(l, c);
		else if (dice < 12)
			c->bad_step += !random_step(l);
		else if (dice < 15)
			c->bad_take += !random_take(l, c);
		else
			c->bad_drop += !random_drop(l, c);
		c->miscounted += lane_busy(l) != c->n || lane_running(l) > c->n;
		c->fullest = c->n > c->fullest ? c->n : c->fullest;
	}
}

#endif
