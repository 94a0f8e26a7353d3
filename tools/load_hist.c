/* SPDX-License-Identifier: GPL-2.0-only */
/* load_hist.c - what is asked of a histogram after the run; load_hist.h has the drawing */
#include "load_hist.h"

uint64_t load_hist_lower(uint32_t bucket)
{
	if (bucket < 2 * LOAD_HIST_SUB)
		return bucket;
	uint32_t shift = bucket / LOAD_HIST_SUB - 1;
	return (uint64_t)(bucket - shift * LOAD_HIST_SUB) << shift;
}

uint64_t load_hist_upper(uint32_t bucket)
{
	return load_hist_lower(bucket + 1) - 1;
}

uint32_t load_hist_coarse(uint32_t bucket)
{
	enum { BITS = 7, SUB = 1 << BITS };
	uint64_t ns = load_hist_lower(bucket);
	uint32_t shift = 63 - BITS - (uint32_t)__builtin_clzll(ns | SUB);

	return shift * SUB + (uint32_t)(ns >> shift);
}

void load_hist_clear(struct load_hist *h)
{
	if (h->count)
		memset(&h->bucket[h->low], 0, (h->high - h->low + 1) * sizeof *h->bucket);
	h->count = h->sum_ns = h->max_ns = 0;
	h->low = h->high = 0;
}

double load_hist_mean(const struct load_hist *h)
{
	return h->count ? (double)h->sum_ns / (double)h->count : 0;
}

/* Samples at or below the percentile, rounded up: its place in the sorted sample. */
static uint64_t rank_of(uint64_t count, uint32_t ppm)
{
	uint64_t whole = count / 1000000 * ppm; /* count * ppm could exceed 64 bits */

	return whole + (count % 1000000 * ppm + 999999) / 1000000;
}

uint64_t load_hist_percentile(const struct load_hist *h, uint32_t ppm)
{
	uint64_t rank = max_u64(rank_of(h->count, ppm), 1), seen = 0;

	if (!h->count)
		return 0;
	for (uint32_t i = h->low; i <= h->high; i++) {
		seen += h->bucket[i];
		if (seen >= rank && i < LOAD_HIST_BUCKETS - 1)
			return min_u64(load_hist_upper(i), h->max_ns);
	}
	return h->max_ns;
}

bool load_hist_carries(const struct load_hist *h, uint32_t ppm)
{
	return h->count - rank_of(h->count, ppm) >= LOAD_HIST_ENOUGH;
}

uint64_t load_hist_needed(uint32_t ppm)
{
	must(ppm < 1000000);
	return (LOAD_HIST_ENOUGH * 1000000ull + 999999 - ppm) / (1000000 - ppm);
}

double load_hist_sum_above(const struct load_hist *h, uint64_t ns)
{
	double sum = 0;

	for (uint32_t i = h->low; h->count && i <= h->high; i++)
		if (load_hist_lower(i) > ns)
			sum += (double)h->bucket[i] * (double)load_hist_lower(i);
	return sum;
}
