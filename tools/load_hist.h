/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * load_hist.h - saker-load's histograms: record, percentile, and whether it is carried
 *
 * Place    load_record.c records, the reports read. Pure.
 * Model    As the responder's (hist.h), 16 times as fine and eight times as long: below
 *          2,048 ns a bucket is one nanosecond; above, each octave has 1,024 of equal
 *          width, so a bucket is at most 0.1 % of its lowest value wide. A percentile
 *          is told as the highest value of its bucket, never above the maximum: never
 *          less than the truth, at most 0.1 % more. So fine, since after a stall of a
 *          second p99 is to be told to the millisecond; a run touches few of them.
 * Limits   2^40 ns (18 minutes); longer times are counted in the last bucket, and
 *          their maximum and sum stay exact.
 * Units    ns. Percentiles are parts per million: 999000 is p99.9.
 */
#ifndef LOAD_HIST_H
#define LOAD_HIST_H

#include "base.h"

enum {
	LOAD_HIST_SUB_BITS = 10,
	LOAD_HIST_SUB = 1 << LOAD_HIST_SUB_BITS,
	LOAD_HIST_TOP_BIT = 40,
	LOAD_HIST_BUCKETS = (LOAD_HIST_TOP_BIT - LOAD_HIST_SUB_BITS + 1) * LOAD_HIST_SUB,
	/* Samples that must lie beyond a percentile, or it is not told. */
	LOAD_HIST_ENOUGH = 10,
};

#define LOAD_HIST_LIMIT_NS (1ull << LOAD_HIST_TOP_BIT)

struct load_hist {
	uint64_t count, sum_ns, max_ns;
	uint32_t low, high; /* the buckets in use lie between these; count 0: none does */
	uint64_t bucket[LOAD_HIST_BUCKETS];
};

/* The bucket that counts ns. */
static inline uint32_t load_hist_index(uint64_t ns)
{
	if (unlikely(ns >= LOAD_HIST_LIMIT_NS))
		return LOAD_HIST_BUCKETS - 1;
	uint32_t shift = 63 - LOAD_HIST_SUB_BITS - (uint32_t)__builtin_clzll(ns | LOAD_HIST_SUB);
	return shift * LOAD_HIST_SUB + (uint32_t)(ns >> shift);
}

static inline void load_hist_record(struct load_hist *h, uint64_t ns)
{
	uint32_t i = load_hist_index(ns);

	if (unlikely(!h->count || i < h->low))
		h->low = i;
	if (unlikely(!h->count || i > h->high))
		h->high = i;
	h->bucket[i]++;
	h->count++;
	h->sum_ns += ns;
	if (unlikely(ns > h->max_ns))
		h->max_ns = ns;
}

/* Lowest and highest value that a bucket counts. The last one also counts all beyond. */
uint64_t load_hist_lower(uint32_t bucket);
uint64_t load_hist_upper(uint32_t bucket);

/* The same for those that are 1/128 wide: buckets of one such number may be told as one. */
uint32_t load_hist_coarse(uint32_t bucket);

/* Forget all; touches only what is in use. */
void load_hist_clear(struct load_hist *h);

/* 0 of an empty sample. */
double load_hist_mean(const struct load_hist *h);

/* The least value that ppm of the sample do not exceed; 0 of an empty sample. */
uint64_t load_hist_percentile(const struct load_hist *h, uint32_t ppm);

/* Does the sample carry it: do LOAD_HIST_ENOUGH values lie beyond it? */
bool load_hist_carries(const struct load_hist *h, uint32_t ppm);

/* How many samples it takes to carry it. ppm < 1000000. */
uint64_t load_hist_needed(uint32_t ppm);

/* The sum of those samples that exceed ns, to a bucket's width. */
double load_hist_sum_above(const struct load_hist *h, uint64_t ns);

#endif
