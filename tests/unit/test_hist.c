/* SPDX-License-Identifier: GPL-2.0-only */
/* hist.h: the arithmetic of buckets, and percentiles against sorted samples. */
#include "tap.h"
#include "hist.h"

static struct hist a, b, c;

static uint64_t random_next(uint64_t *state)
{
	/* xorshift64: the same samples in each run */
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void test_buckets(void)
{
	uint32_t wrong_lower = 0, wrong_upper = 0, gaps = 0, wide = 0, inverted = 0;
	for (uint32_t i = 0; i < HIST_BUCKETS; i++) {
		uint64_t lower = hist_lower(i), upper = hist_upper(i);
		wrong_lower += hist_index(lower) != i;
		wrong_upper += hist_index(upper) != i;
		inverted += upper < lower;
		gaps += i && lower != hist_upper(i - 1) + 1;
		wide += (upper - lower) * 64 > lower;
	}
	is(wrong_lower, 0, "the lowest value of each bucket is counted in it");
	is(wrong_upper, 0, "the highest value of each bucket is counted in it");
	is(inverted, 0, "no bucket ends before it starts");
	is(gaps, 0, "each bucket starts where the one before ends");
	is(wide, 0, "no bucket is wider than 1/64 of its lowest value");

	uint32_t inexact = 0;
	for (uint64_t ns = 0; ns < 128; ns++)
		inexact += hist_index(ns) != ns || hist_lower((uint32_t)ns) != ns;
	is(inexact, 0, "0 to 127 ns are exact");
	is(hist_index(128), 128, "128 ns opens the first octave of wider buckets");
	is(hist_index(129), 128, "which are 2 ns wide");
	is(hist_index(130), 129, "so 130 ns is in the next");
	is(hist_upper(HIST_BUCKETS - 1), (1ull << 37) - 1, "the last bucket ends at 2^37 - 1");
	is(hist_index(1ull << 37), HIST_BUCKETS - 1, "2^37 is counted in the last");
	is(hist_index(UINT64_MAX), HIST_BUCKETS - 1, "so is the largest number");
	ok(HIST_LIMIT_NS > 100ull * NS_PER_S, "100 s are within the range");
}

static void test_monotone(void)
{
	uint64_t state = 88172645463325252ull;
	uint32_t falls = 0, outside = 0;
	for (int i = 0; i < 200000; i++) {
		uint64_t x = random_next(&state) >> (random_next(&state) & 63);
		uint64_t y = x + (random_next(&state) >> 32) % (x / 64 + 2);
		uint32_t bucket = hist_index(x);
		falls += hist_index(y) < bucket;
		if (x < HIST_LIMIT_NS)
			outside += x < hist_lower(bucket) || x > hist_upper(bucket);
	}
	is(falls, 0, "a larger value is never in a lower bucket");
	is(outside, 0, "each value lies in its bucket");
}

static void test_record(void)
{
	memset(&a, 0, sizeof a);
	hist_record(&a, 0);
	hist_record(&a, 1000);
	hist_record(&a, 1001);
	is(a.count, 3, "record counts");
	is(a.sum_ns, 2001, "record sums");
	is(a.max_ns, 1001, "record keeps the maximum");
	is(a.bucket[0], 1, "0 ns is in bucket 0");
	is(a.bucket[hist_index(1000)], 2, "1000 and 1001 ns share a bucket");
	is(a.over, 0, "nothing is over");
	hist_record(&a, HIST_LIMIT_NS - 1);
	is(a.over, 0, "2^37 - 1 is not over");
	hist_record(&a, HIST_LIMIT_NS);
	hist_record(&a, 1ull << 40);
	is(a.over, 2, "2^37 and 2^40 are over");
	is(a.bucket[HIST_BUCKETS - 1], 3, "and are counted in the last bucket with 2^37 - 1");
	is(a.max_ns, 1ull << 40, "the maximum stays exact beyond the range");
	is(hist_percentile(&a, 1000000), 1ull << 40, "p100 beyond the range is the maximum");
}

/* Three shapes: exponents even, a narrow hump, mostly small with a long tail. */
static uint64_t sample(int shape, uint64_t *state)
{
	uint64_t x = random_next(state);
	switch (shape) {
	case 0:
		return (x >> (64 - HIST_TOP_BIT)) >> (random_next(state) % HIST_TOP_BIT);
	case 1:
		return 10000000 + x % 1000 + random_next(state) % 1000;
	default:
		return x % 1000 ? 3000 + x % 500 : 1000000 + random_next(state) % 40000000;
	}
}

static int compare(const void *x, const void *y)
{
	uint64_t p = *(const uint64_t *)x, q = *(const uint64_t *)y;
	return (p > q) - (p < q);
}

static void test_percentiles(void)
{
	static const uint32_t ppm[] = { 0,        1,        100000,    HIST_P50, HIST_P90,
					HIST_P95, HIST_P99, HIST_P999, 999999,   1000000 };
	static const uint32_t sizes[] = { 1, 2, 3, 10, 99, 1000, 20011 };
	static uint64_t values[20011];
	uint64_t state = 2463534242ull;
	for (int shape = 0; shape < 3; shape++) {
		uint32_t low = 0, high = 0, falls = 0;
		for (size_t s = 0; s < array_size(sizes); s++) {
			uint32_t n = sizes[s];
			memset(&a, 0, sizeof a);
			for (uint32_t i = 0; i < n; i++)
				hist_record(&a, values[i] = sample(shape, &state));
			qsort(values, n, sizeof *values, compare);
			uint64_t last = 0;
			for (size_t p = 0; p < array_size(ppm); p++) {
				/* the smallest value that ppm of the sample do not exceed */
				uint64_t rank = ((uint64_t)n * ppm[p] + 999999) / 1000000;
				uint64_t truth = values[rank ? rank - 1 : 0];
				uint64_t told = hist_percentile(&a, ppm[p]);
				low += told < truth;
				high += told > truth + truth / 64;
				falls += told < last;
				last = told;
			}
			falls += last != values[n - 1];
		}
		is(low, 0, "shape %d: no percentile is below the sorted sample's", shape);
		is(high, 0, "shape %d: none is more than 1/64 above", shape);
		is(falls, 0, "shape %d: they rise with p and end at the maximum", shape);
	}
	memset(&a, 0, sizeof a);
	is(hist_percentile(&a, HIST_P50), 0, "an empty sample has no percentile");
}

static void test_enough(void)
{
	static const struct {
		uint32_t ppm;
		uint64_t least;
	} table[] = {
		{ HIST_P50, 20 },   { HIST_P90, 100 },    { HIST_P95, 200 },
		{ HIST_P99, 1000 }, { HIST_P999, 10000 },
	};
	for (size_t i = 0; i < array_size(table); i++) {
		ok(hist_enough(table[i].least, table[i].ppm),
		   "%u ppm: %" PRIu64 " samples are enough", table[i].ppm, table[i].least);
		ok(!hist_enough(table[i].least - 1, table[i].ppm), "%u ppm: one less is not",
		   table[i].ppm);
	}
	ok(!hist_enough(0, HIST_P50), "an empty sample carries nothing");
	ok(!hist_enough(UINT64_MAX / 2, 1000000), "nothing lies beyond p100");
	is(hist_rank(1ull << 62, HIST_P50), 1ull << 61, "ranks do not overflow");
}

static void test_summarize(void)
{
	struct summary_stage s;
	memset(&a, 0, sizeof a);
	for (uint64_t ns = 1; ns <= 100; ns++)
		hist_record(&a, ns);
	hist_summarize(&s, &a);
	is(s.count, 100, "summary: count");
	is(s.mean_ns, 50, "summary: mean");
	is(s.p50_ns, 50, "summary: p50");
	is(s.p90_ns, 90, "summary: p90");
	is(s.p95_ns, 0, "summary: 100 samples do not carry p95");
	is(s.p99_ns, 0, "summary: nor p99");
	is(s.p999_ns, 0, "summary: nor p99.9");
	is(s.max_ns, 100, "summary: max");
	memset(&a, 0, sizeof a);
	hist_summarize(&s, &a);
	is(s.count + s.mean_ns + s.p50_ns + s.max_ns, 0, "summary of nothing is all 0");
}

static void test_sub(void)
{
	struct summary_stage s;
	memset(&a, 0, sizeof a);
	hist_record(&a, 5000000);
	hist_read(&b, &a);
	for (uint64_t ns = 1; ns <= 100; ns++)
		hist_record(&a, ns);
	hist_read(&c, &a);
	hist_sub(&c, &c, &b);
	hist_summarize(&s, &c);
	is(s.count, 100, "sub: only what came in between");
	is(s.mean_ns, 50, "sub: its mean");
	is(s.p90_ns, 90, "sub: its percentiles");
	is(s.max_ns, 100, "sub: its maximum, not the older one");

	hist_read(&b, &a);
	hist_record(&a, 7000001);
	hist_record(&a, 6);
	hist_read(&c, &a);
	hist_sub(&c, &c, &b);
	is(c.max_ns, 7000001, "sub: a new maximum is exact");
	is(c.count, 2, "sub: count");

	hist_read(&b, &a);
	hist_record(&a, 7000000);
	hist_read(&c, &a);
	hist_sub(&c, &c, &b);
	is(c.max_ns, 7000001, "sub: a maximum by bucket is capped by the true one");

	hist_read(&b, &a);
	hist_record(&a, HIST_LIMIT_NS + 5);
	hist_record(&a, HIST_LIMIT_NS + 3);
	hist_read(&c, &a);
	hist_sub(&c, &c, &b);
	is(c.over, 2, "sub: over");
	is(c.max_ns, HIST_LIMIT_NS + 5, "sub: maximum beyond the range");

	hist_read(&b, &a);
	hist_sub(&c, &b, &b);
	is(c.count + c.sum_ns + c.max_ns + c.over, 0, "sub: nothing between, all 0");
}

static void test_read_merge(void)
{
	memset(&a, 0, sizeof a);
	memset(&c, 0, sizeof c);
	/* as a reader can meet it: bucket written, count and maximum not yet */
	a.bucket[hist_index(1000)] = 1;
	hist_read(&b, &a);
	is(b.count, 1, "read: count is the sum of the buckets");
	ok(b.max_ns == hist_lower(hist_index(1000)),
	   "read: maximum is not below the highest bucket");
	hist_record(&c, 77);
	hist_record(&c, HIST_LIMIT_NS);
	hist_merge(&c, &b);
	is(c.count, 3, "merge: count");
	is(c.over, 1, "merge: over");
	is(c.max_ns, HIST_LIMIT_NS, "merge: the larger maximum");
	is(c.sum_ns, HIST_LIMIT_NS + 77, "merge: sum");
	is(c.bucket[hist_index(1000)], 1, "merge: buckets");
}

int main(void)
{
	test_buckets();
	test_monotone();
	test_record();
	test_percentiles();
	test_enough();
	test_summarize();
	test_sub();
	test_read_merge();
	return done();
}
