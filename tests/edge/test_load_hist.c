/* SPDX-License-Identifier: GPL-2.0-only */
/* load_hist: buckets, percentiles against sorted samples at 0.1 %, and what a sample carries. */
#include <math.h>
#include "load_hist.h"
#include "tap.h"

enum { SAMPLES = 200000 };

static struct load_hist h;
static uint64_t sample[SAMPLES];
static uint64_t drawn = 88172645463325252ull;

static uint64_t random_next(void)
{
	/* xorshift64: the same samples in each run */
	drawn ^= drawn << 13;
	drawn ^= drawn >> 7;
	drawn ^= drawn << 17;
	return drawn;
}

static double draw(void)
{
	return (double)(random_next() >> 11) * 0x1p-53;
}

static void test_buckets(void)
{
	uint32_t wrong = 0, gaps = 0, wide = 0, coarse = 0;

	for (uint32_t i = 0; i < LOAD_HIST_BUCKETS; i++) {
		uint64_t lower = load_hist_lower(i), upper = load_hist_upper(i);
		wrong += load_hist_index(lower) != i || load_hist_index(upper) != i ||
			 upper < lower;
		gaps += i && lower != load_hist_upper(i - 1) + 1;
		wide += (upper - lower) * 1024 > lower;
		coarse += load_hist_coarse(load_hist_index(lower)) >
			  load_hist_coarse(load_hist_index(upper));
	}
	is(wrong, 0, "the lowest and highest value of each bucket are counted in it");
	is(gaps, 0, "each bucket starts where the one before ends");
	is(wide, 0, "no bucket is wider than 1/1024 of its lowest value");
	is(coarse, 0, "the coarse ones are in the same order");
	is(load_hist_index(2047), 2047, "2,047 ns is exact");
	is(load_hist_index(2049), 2048, "2,049 ns shares a bucket");
	ok(load_hist_coarse(load_hist_index(100000)) == load_hist_coarse(load_hist_index(100300)) &&
		   load_hist_coarse(load_hist_index(100000)) <
			   load_hist_coarse(load_hist_index(100900)),
	   "coarse ones are wider than 0.3 %%, and not than 0.9 %%");
	ok(LOAD_HIST_LIMIT_NS > 60ull * NS_PER_S, "60 s are within the range");
	is(load_hist_index(LOAD_HIST_LIMIT_NS), LOAD_HIST_BUCKETS - 1,
	   "what is beyond is in the last");
	is(load_hist_index(UINT64_MAX), LOAD_HIST_BUCKETS - 1, "so is the largest number");
}

/* --- against the sorted sample ------------------------------------------------------ */

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void against_sorted(const char *name)
{
	static const uint32_t ppm[] = { 1, 100000, 500000, 900000, 950000, 990000, 999000, 999900 };
	double sum = 0;

	load_hist_clear(&h);
	for (int i = 0; i < SAMPLES; i++) {
		load_hist_record(&h, sample[i]);
		sum += (double)sample[i];
	}
	qsort(sample, SAMPLES, sizeof *sample, by_value);
	for (unsigned i = 0; i < array_size(ppm); i++) {
		size_t rank = (size_t)ceil(ppm[i] / 1e6 * SAMPLES);
		uint64_t truth = sample[rank - 1], told = load_hist_percentile(&h, ppm[i]);
		ok(told >= truth && (double)told <= (double)truth * 1.001 + 1,
		   "%s: p%g is told within 0.1 %%, and not below: %" PRIu64 " of %" PRIu64, name,
		   ppm[i] / 1e4, told, truth);
	}
	ok(fabs(load_hist_mean(&h) - sum / SAMPLES) <= 1e-9 * sum, "%s: the mean is exact", name);
	is(h.max_ns, sample[SAMPLES - 1], "%s: the maximum is exact", name);
	is(h.count, SAMPLES, "%s: all are counted", name);
}

static void test_percentiles(void)
{
	for (int i = 0; i < SAMPLES; i++)
		sample[i] = random_next() % (60ull * NS_PER_S);
	against_sorted("even up to 60 s");
	for (int i = 0; i < SAMPLES; i++)
		sample[i] = (uint64_t)(-log(1 - draw()) * 80e3);
	against_sorted("exponential around 80 us");
	for (int i = 0; i < SAMPLES; i++)
		sample[i] = (uint64_t)(1e4 / pow(1 - draw(), 1.5));
	against_sorted("a heavy tail");
	for (int i = 0; i < SAMPLES; i++)
		sample[i] = random_next() % 100 ? 20000 + random_next() % 100 : 900 * NS_PER_MS;
	against_sorted("two heaps far apart");
	for (int i = 0; i < SAMPLES; i++)
		sample[i] = random_next() % 300;
	against_sorted("below 300 ns");
}

/* --- what it carries ---------------------------------------------------------------- */

static void test_carried(void)
{
	load_hist_clear(&h);
	ok(!load_hist_carries(&h, 500000), "an empty sample carries nothing");
	is(load_hist_percentile(&h, 500000), 0, "and its percentiles are 0");
	for (int i = 0; i < 999; i++)
		load_hist_record(&h, 1000);
	ok(!load_hist_carries(&h, 990000), "999 samples do not carry p99: 9 lie beyond");
	ok(load_hist_carries(&h, 950000), "but p95");
	load_hist_record(&h, 1000);
	ok(load_hist_carries(&h, 990000), "1,000 do: 10 lie beyond");
	ok(!load_hist_carries(&h, 999000), "but not p99.9");
	is(load_hist_needed(990000), 1000, "p99 takes 1,000");
	is(load_hist_needed(999000), 10000, "p99.9 takes 10,000");
	is(load_hist_needed(999900), 100000, "p99.99 takes 100,000");
	is(load_hist_needed(500000), 20, "p50 takes 20");
}

static void test_clear(void)
{
	uint64_t left = 0;

	load_hist_clear(&h);
	load_hist_record(&h, 5);
	load_hist_record(&h, UINT64_MAX / 4);
	is(load_hist_percentile(&h, 990000), UINT64_MAX / 4,
	   "beyond the range the maximum is told");
	load_hist_clear(&h);
	for (uint32_t i = 0; i < LOAD_HIST_BUCKETS; i++)
		left += h.bucket[i];
	is(left + h.count + h.sum_ns + h.max_ns, 0, "clearing leaves nothing");
	load_hist_record(&h, 70000);
	is(h.low, h.high, "and the range in use begins anew");
	load_hist_record(&h, 2 * NS_PER_MS);
	load_hist_record(&h, 3 * NS_PER_MS);
	double above = load_hist_sum_above(&h, NS_PER_MS);
	ok(above <= 5e6 && above >= 4.9e6, "the sum above 1 ms is of those two");
}

int main(void)
{
	test_buckets();
	test_percentiles();
	test_carried();
	test_clear();
	return done();
}
