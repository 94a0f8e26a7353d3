/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bench_lane - what the lane engine costs and gains on this machine
 *
 * Model    One line of JSON an algorithm. "lone": a job of 10M rounds through
 *          the engine in slices, in turn with the plain loop; the median ratio
 *          of PAIRS. "jobs": k equal jobs together; "gain" is their rounds a
 *          second over those of the plain loop beside them. And one line for
 *          what a job of no rounds costs from put to take.
 * Units    Nanoseconds. A slice is 40000 rounds: 3 cycles each at 2.4 GHz, 50 us.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "lane.h"

enum {
	PAIRS = 5,
	SLICE = 40000,
	LONE_ROUNDS = N_DEFAULT,
	MANY_ROUNDS = 500000, /* each of k jobs; 12 slices of one */
	EMPTY_JOBS = 1000000,
};

_Noreturn void base_panic(const char *what, const char *file, int line);
_Noreturn void base_panic(const char *what, const char *file, int line)
{
	fprintf(stderr, "bench_lane: broken invariant at %s:%d: %s\n", file, line, what);
	abort();
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static uint64_t plain_ns(enum lane_alg alg, uint64_t n, uint64_t *hash)
{
	uint64_t start = now_ns();

	*hash = lane_plain(alg, lane_alg_seed(alg), n);
	return now_ns() - start;
}

/* k equal jobs from put to the last take; every result is compared. */
static uint64_t engine_ns(struct lane *l, enum lane_alg alg, unsigned k, uint64_t n, uint64_t hash)
{
	struct lane_job job = { .n = n, .seed = lane_alg_seed(alg), .alg = alg };
	struct lane_result result;
	uint64_t start = now_ns();

	for (job.tag = 0; job.tag < k; job.tag++)
		must(lane_put(l, &job));
	while (lane_busy(l)) {
		lane_step(l, SLICE);
		while (lane_take(l, &result))
			must(result.hash == hash);
	}
	return now_ns() - start;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v)
{
	qsort(v, PAIRS, sizeof *v, by_value);
	return v[PAIRS / 2];
}

static void alg_bench(struct lane *l, enum lane_alg alg)
{
	static const unsigned jobs[] = { 1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 48, 64 };
	double plain[PAIRS], engine[PAIRS], ratio[PAIRS];
	uint64_t hash;

	for (int p = 0; p < PAIRS; p++) {
		plain[p] = (double)plain_ns(alg, LONE_ROUNDS, &hash);
		engine[p] = (double)engine_ns(l, alg, 1, LONE_ROUNDS, hash);
		ratio[p] = engine[p] / plain[p];
	}
	printf("{\"bench\":\"lane\",\"alg\":\"%s\",\"n\":%d,\"plain_ns\":%.0f,\"lone_ns\":%.0f,"
	       "\"lone_ratio\":%.4f,\"jobs\":[",
	       lane_alg_name(alg), LONE_ROUNDS, median(plain), median(engine), median(ratio));

	for (unsigned j = 0; j < array_size(jobs) && jobs[j] <= LANES_DEFAULT; j++) {
		for (int p = 0; p < PAIRS; p++) {
			double one = (double)plain_ns(alg, MANY_ROUNDS, &hash);
			double all = (double)engine_ns(l, alg, jobs[j], MANY_ROUNDS, hash);

			ratio[p] = jobs[j] * one / all;
		}
		printf("%s{\"k\":%u,\"gain\":%.2f}", j ? "," : "", jobs[j], median(ratio));
	}
	printf("]}\n");
}

static void empty_bench(struct lane *l)
{
	struct lane_job job = { .n = 0, .alg = LANE_FNV1A32 };
	struct lane_result result;
	uint64_t start = now_ns();

	for (job.tag = 0; job.tag < EMPTY_JOBS; job.tag++) {
		must(lane_put(l, &job));
		lane_step(l, SLICE);
		must(lane_take(l, &result) && result.tag == job.tag);
	}
	printf("{\"bench\":\"lane\",\"empty_job_ns\":%.1f}\n",
	       (double)(now_ns() - start) / EMPTY_JOBS);
}

int main(void)
{
	size_t size = round_up(lane_footprint(), lane_align());
	void *memory = aligned_alloc(lane_align(), size);

	must(memory);
	struct lane *l = lane_init(memory);
	for (enum lane_alg alg = 0; alg < LANE_ALGS; alg++)
		alg_bench(l, alg);
	empty_bench(l);
	free(memory);
	return 0;
}
