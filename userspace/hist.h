/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hist.h - log-linear histograms: record, difference, percentile
 *
 * Place    worker records on the path; stats and the tools read. Pure.
 * Model    Below 128 ns a bucket is one nanosecond; above, each octave has 64
 *          buckets of equal width, so a bucket is at most 1/64 (1.6 %) of its
 *          lowest value wide. A percentile is told as the highest value of its
 *          bucket: never less than the truth, at most 1.6 % more.
 * Owner    The histogram is the caller's; struct hist is in abi.h.
 * Threads  One thread records into a histogram. Any other may hist_read it
 *          meanwhile; everything else works on what hist_read returned.
 * Limits   2^37 ns (137 s); longer times are counted in the last bucket and
 *          in .over; their maximum and sum stay exact.
 * Units    ns. Percentiles are parts per million: 999000 is p99.9.
 *
 *   bucket   0 ... 127   128 ... 191   192 ... 255   ...   1984 ... 2047
 *   from     0 ns        2^7 ns        2^8 ns              2^36 ns
 *   width    1 ns        2 ns          4 ns                2^30 ns
 */
#ifndef HIST_H
#define HIST_H

#include "base.h"
#include "abi.h"

#define HIST_LIMIT_NS (1ull << HIST_TOP_BIT)

enum {
	HIST_P50 = 500000,
	HIST_P90 = 900000,
	HIST_P95 = 950000,
	HIST_P99 = 990000,
	HIST_P999 = 999000
};

/* The bucket that counts ns. */
static inline uint32_t hist_index(uint64_t ns)
{
	if (unlikely(ns >= HIST_LIMIT_NS))
		return HIST_BUCKETS - 1;
	uint32_t shift = 63 - HIST_SUB_BITS - (uint32_t)__builtin_clzll(ns | HIST_SUB);
	return shift * HIST_SUB + (uint32_t)(ns >> shift);
}

/* Lowest and highest value that a bucket counts. The last one also counts all beyond. */
static inline uint64_t hist_lower(uint32_t bucket)
{
	if (bucket < 2 * HIST_SUB)
		return bucket;
	uint32_t shift = bucket / HIST_SUB - 1;
	return (uint64_t)(bucket - shift * HIST_SUB) << shift;
}

static inline uint64_t hist_upper(uint32_t bucket)
{
	return hist_lower(bucket + 1) - 1;
}

/* A load, an add and a store, each whole: readers on other cores see the word
 * before or after. No other order is promised, and none is needed. */
static inline void hist_add(uint64_t *word, uint64_t n)
{
	__atomic_store_n(word, *word + n, __ATOMIC_RELAXED);
}

static inline void hist_record(struct hist *h, uint64_t ns)
{
#ifdef HIST_OFF /* make bench B=stats: what does it cost? */
	return;
#endif
	hist_add(&h->bucket[hist_index(ns)], 1);
	hist_add(&h->count, 1);
	hist_add(&h->sum_ns, ns);
	if (unlikely(ns > h->max_ns))
		__atomic_store_n(&h->max_ns, ns, __ATOMIC_RELAXED);
	if (unlikely(ns >= HIST_LIMIT_NS))
		hist_add(&h->over, 1);
}

/* Copy a histogram that is perhaps being written. The copy agrees with itself:
 * count is the sum of the buckets, and max_ns is not below the highest of them. */
static inline void hist_read(struct hist *out, const struct hist *live)
{
	uint32_t top = 0;
	out->count = 0;
	for (uint32_t i = 0; i < HIST_BUCKETS; i++) {
		out->bucket[i] = __atomic_load_n(&live->bucket[i], __ATOMIC_RELAXED);
		out->count += out->bucket[i];
		if (out->bucket[i])
			top = i;
	}
	out->sum_ns = __atomic_load_n(&live->sum_ns, __ATOMIC_RELAXED);
	out->over = __atomic_load_n(&live->over, __ATOMIC_RELAXED);
	out->max_ns = max_u64(__atomic_load_n(&live->max_ns, __ATOMIC_RELAXED), hist_lower(top));
}

/* Add one writer's histogram to the sum of several. */
static inline void hist_merge(struct hist *sum, const struct hist *h)
{
	sum->count += h->count;
	sum->sum_ns += h->sum_ns;
	sum->over += h->over;
	sum->max_ns = max_u64(sum->max_ns, h->max_ns);
	for (uint32_t i = 0; i < HIST_BUCKETS; i++)
		sum->bucket[i] += h->bucket[i];
}

/* What was recorded between two reads of one histogram. The maximum is exact if
 * it rose in between; else the highest value of the highest bucket stands for it. */
static inline void hist_sub(struct hist *out, const struct hist *now, const struct hist *before)
{
	uint32_t top = 0;
	out->count = now->count - before->count;
	out->sum_ns = now->sum_ns - before->sum_ns;
	out->over = now->over - before->over;
	for (uint32_t i = 0; i < HIST_BUCKETS; i++) {
		out->bucket[i] = now->bucket[i] - before->bucket[i];
		if (out->bucket[i])
			top = i;
	}
	if (!out->count)
		out->max_ns = 0;
	else if (now->max_ns > before->max_ns || top == HIST_BUCKETS - 1)
		out->max_ns = now->max_ns;
	else
		out->max_ns = min_u64(hist_upper(top), now->max_ns);
}

/* Samples at or below the percentile, rounded up: its place in the sorted sample. */
static inline uint64_t hist_rank(uint64_t count, uint32_t ppm)
{
	uint64_t whole = count / 1000000 * ppm; /* count * ppm could exceed 64 bits */
	return whole + (count % 1000000 * ppm + 999999) / 1000000;
}

/* True if the sample carries the percentile: at least ten values lie beyond it. */
static inline bool hist_enough(uint64_t count, uint32_t ppm)
{
	return count - hist_rank(count, ppm) >= 10;
}

/* The value that ppm of the sample do not exceed; 0 of an empty sample. */
static inline uint64_t hist_percentile(const struct hist *h, uint32_t ppm)
{
	uint64_t rank = max_u64(hist_rank(h->count, ppm), 1), seen = 0;
	for (uint32_t i = 0; i < HIST_BUCKETS; i++) {
		seen += h->bucket[i];
		if (seen < rank)
			continue;
		return i == HIST_BUCKETS - 1 ? h->max_ns : min_u64(hist_upper(i), h->max_ns);
	}
	return 0;
}

static inline uint64_t hist_percentile_if_enough(const struct hist *h, uint32_t ppm)
{
	return hist_enough(h->count, ppm) ? hist_percentile(h, ppm) : 0;
}

/* The row of a table: percentiles that the sample does not carry are 0. */
static inline void hist_summarize(struct summary_stage *out, const struct hist *h)
{
	*out = (struct summary_stage){
		.count = h->count,
		.mean_ns = h->count ? h->sum_ns / h->count : 0,
		.p50_ns = hist_percentile_if_enough(h, HIST_P50),
		.p90_ns = hist_percentile_if_enough(h, HIST_P90),
		.p95_ns = hist_percentile_if_enough(h, HIST_P95),
		.p99_ns = hist_percentile_if_enough(h, HIST_P99),
		.p999_ns = hist_percentile_if_enough(h, HIST_P999),
		.max_ns = h->max_ns,
	};
}

_Static_assert(HIST_BUCKETS == 2048, "the drawing above");
_Static_assert(sizeof(struct hist) == 8 * (4 + HIST_BUCKETS), "a row of words");

#endif
