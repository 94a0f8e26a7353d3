/* SPDX-License-Identifier: GPL-2.0-only */
/* load_schedule: arrivals in virtual time, and the statistics of chance with fixed seeds. */
#include <math.h>
#include "load_schedule.h"
#include "tap.h"

enum { MANY = 200000 };

static struct load_schedule s;
static double gap[MANY];

static uint64_t next(void)
{
	uint64_t due = s.due_ns;

	load_schedule_take(&s);
	return due;
}

static void test_constant(void)
{
	uint64_t wrong = 0;

	load_schedule_init(&s, LOAD_CONSTANT, 200, 0, 1);
	for (uint64_t k = 0; k < 100000; k++)
		wrong += next() != k * 5 * NS_PER_MS;
	is(wrong, 0, "200 a second: one each 5 ms, to the nanosecond");
	load_schedule_init(&s, LOAD_CONSTANT, 3, 0, 1);
	for (uint64_t k = 0; k < 3 * 86400; k++)
		next();
	is(s.due_ns, 86400ull * NS_PER_S, "3 a second: no error adds up in a day");
	load_schedule_init(&s, LOAD_CONSTANT, 1e6, 0, 1);
	is((uint64_t)load_schedule_expected(&s, 60ull * NS_PER_S), 60000000,
	   "1,000,000 a second are 60,000,000 in a minute");
}

static void test_burst(void)
{
	uint64_t wrong = 0;

	load_schedule_init(&s, LOAD_BURST, 100 / 0.050, 100, 1);
	for (uint64_t k = 0; k < 10000; k++)
		wrong += next() != k / 100 * 50 * NS_PER_MS;
	is(wrong, 0, "100@50: a hundred at once each 50 ms");
	load_schedule_init(&s, LOAD_BURST, 100 / 0.050, 100, 1);
	is((uint64_t)load_schedule_expected(&s, NS_PER_S), 2000, "2,000 of them in a second");
}

/* Mean, deviation, tail and independence of exponential gaps; 4 standard errors around. */
static void test_poisson(uint64_t seed)
{
	double mean = 0, square = 0, both = 0, lag = 1e9 / 5000;
	uint64_t last = 0, long_ones = 0, backwards = 0;

	load_schedule_init(&s, LOAD_POISSON, 5000, 0, seed);
	for (int i = 0; i < MANY; i++) {
		uint64_t due = next();
		backwards += due < last;
		gap[i] = (double)(due - last) / lag;
		last = due;
		mean += gap[i] / MANY;
		square += gap[i] * gap[i] / MANY;
		long_ones += gap[i] > 3;
	}
	for (int i = 1; i < MANY; i++)
		both += (gap[i - 1] - mean) * (gap[i] - mean) / (MANY - 1);
	double error = 1 / sqrt(MANY), tail = exp(-3);
	is(backwards, 0, "seed %" PRIu64 ": time does not run backwards", seed);
	ok(fabs(mean - 1) < 4 * error, "seed %" PRIu64 ": the mean gap is that of the rate: %.4f",
	   seed, mean);
	ok(fabs(square - 2) < 4 * sqrt(20) * error, "seed %" PRIu64 ": so is its square: %.4f",
	   seed, square);
	ok(fabs((double)long_ones / MANY - tail) < 4 * sqrt(tail) * error,
	   "seed %" PRIu64 ": and so many exceed three gaps: %.5f", seed, (double)long_ones / MANY);
	ok(fabs(both) < 4 * error, "seed %" PRIu64 ": a gap says nothing of the next: %.5f", seed,
	   both);
}

static void test_mix(void)
{
	double sum[] = { 5, 8, 9, 10 };
	uint64_t count[4] = { 0 };
	struct load_schedule alone;

	load_schedule_init(&s, LOAD_POISSON, 100, 0, 7);
	load_schedule_init(&alone, LOAD_POISSON, 100, 0, 7);
	uint64_t differ = 0;
	for (int i = 0; i < MANY; i++) {
		count[load_schedule_pick(&s, sum, 4)]++;
		load_schedule_pick(&alone, sum, 1);
		differ += s.due_ns != alone.due_ns;
		load_schedule_take(&s);
		load_schedule_take(&alone);
	}
	for (int i = 0; i < 4; i++) {
		double share = (sum[i] - (i ? sum[i - 1] : 0)) / 10, got = (double)count[i] / MANY;
		ok(fabs(got - share) < 4 * sqrt(share * (1 - share) / MANY),
		   "path %d is asked for by its weight: %.4f of %.1f", i, got, share);
	}
	is(differ, 0, "the mix does not change the arrivals");
}

static void test_seeds(void)
{
	struct load_schedule a, b, c;
	unsigned same = 0, other = 0;

	load_schedule_init(&a, LOAD_POISSON, 100, 0, 1);
	load_schedule_init(&b, LOAD_POISSON, 100, 0, 1);
	load_schedule_init(&c, LOAD_POISSON, 100, 0, 2);
	for (int i = 0; i < 1000; i++) {
		same += a.due_ns == b.due_ns;
		other += a.due_ns == c.due_ns;
		load_schedule_take(&a);
		load_schedule_take(&b);
		load_schedule_take(&c);
	}
	is(same, 1000, "the same seed gives the same arrivals");
	ok(other < 10, "another seed others");
	load_schedule_init(&a, LOAD_CLOSED, 0, 0, 1);
	ok(a.due_ns == UINT64_MAX, "in a closed loop nothing is due by the clock");
}

int main(void)
{
	test_constant();
	test_burst();
	test_poisson(1);
	test_poisson(2);
	test_poisson(0);
	test_mix();
	test_seeds();
	return done();
}
