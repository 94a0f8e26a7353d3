/* SPDX-License-Identifier: GPL-2.0-only */
/* load_heat: each sample in its row and bucket, and rows that fold when there are too many. */
#include <math.h>
#include "load_heat.h"
#include "tap.h"

static struct load_heat h;
static struct load_hist second;

static void add(unsigned s, uint64_t ns, unsigned times)
{
	load_hist_clear(&second);
	while (times--)
		load_hist_record(&second, ns);
	load_heat_add(&h, s, &second);
}

static uint64_t sum_of_row(unsigned row)
{
	uint64_t sum = 0;

	for (unsigned b = 0; b < LOAD_HEAT_BUCKETS; b++)
		sum += h.count[row][b];
	return sum;
}

static void test_edges(void)
{
	unsigned off = 0, falls = 0;

	for (unsigned b = 1; b < LOAD_HEAT_BUCKETS; b++) {
		double truth = 1000 * pow(10, (b - 1) / 16.0);
		off += fabs((double)load_heat_edge(b) - truth) > truth * 0.0005;
		falls += load_heat_edge(b) <= load_heat_edge(b - 1);
	}
	is(off, 0, "edges are 1 us * 10^(i/16)");
	is(falls, 0, "and ascend");
	is(load_heat_edge(0), 0, "from 0");
	is(load_heat_edge(LOAD_HEAT_BUCKETS - 1), 8660ull * 100000000, "to 866 s");
}

static void test_buckets(void)
{
	static const uint64_t ns[] = { 0,	  1,	    999,       1000,	    1154,
				       1155,	  80000,    999000000, 60000000000, 866100000000,
				       UINT64_MAX };
	unsigned wrong = 0;

	for (unsigned i = 0; i < array_size(ns); i++) {
		load_heat_clear(&h);
		add(0, ns[i], 1);
		wrong += h.low != h.high || h.count[0][h.low] != 1;
		wrong += load_heat_edge(h.low) > ns[i];
		/* The histogram that it is made of is exact to 0.1 % */
		wrong += h.low + 1 < LOAD_HEAT_BUCKETS &&
			 (double)load_heat_edge(h.low + 1) < (double)ns[i] * 0.999;
	}
	is(wrong, 0, "each time is in the bucket that it belongs to");
	load_heat_clear(&h);
	add(3, 80 * NS_PER_US, 5);
	add(3, 90 * NS_PER_MS, 2);
	add(5, 100 * NS_PER_US, 1);
	is(h.rows, 6, "rows to the last second with an answer");
	is(sum_of_row(3), 7, "all of a second are in its row");
	ok(!load_heat_used(&h, 4) && load_heat_used(&h, 5), "a second without answers is empty");
	ok(load_heat_edge(h.low) <= 80000 && load_heat_edge(h.low + 1) > 80000,
	   "the range in use begins with the least");
	ok(load_heat_edge(h.high) <= 90000000 && load_heat_edge(h.high + 1) > 90000000,
	   "and ends with the greatest");
}

static void test_fold(void)
{
	uint64_t sum = 0, left = 0;

	load_heat_clear(&h);
	for (unsigned s = 0; s < LOAD_HEAT_ROWS; s++)
		add(s, NS_PER_MS, 1 + s % 2);
	is(h.row_s, 1, "as many seconds as there are rows are a row each");
	is(h.rows, LOAD_HEAT_ROWS, "all in use");
	add(LOAD_HEAT_ROWS, 2 * NS_PER_MS, 9);
	is(h.row_s, 2, "one more: a row is two seconds");
	is(h.rows, LOAD_HEAT_ROWS / 2 + 1, "and half of them are free");
	is(sum_of_row(0), 3, "the first two are one");
	is(sum_of_row(LOAD_HEAT_ROWS / 2 - 1), 3, "so are the last two");
	is(sum_of_row(LOAD_HEAT_ROWS / 2), 9, "and the new one is behind");
	add(604800, NS_PER_MS, 1);
	is(h.row_s, 1024, "a second of a week later: rows of 1,024 s");
	for (unsigned row = 0; row < LOAD_HEAT_ROWS; row++)
		sum += sum_of_row(row);
	is(sum, LOAD_HEAT_ROWS / 2 * 3 + 9 + 1, "nothing is lost");
	is(sum_of_row(604800 / 1024), 1, "and each is where it belongs");
	load_heat_clear(&h);
	for (unsigned row = 0; row < LOAD_HEAT_ROWS; row++)
		left += sum_of_row(row);
	is(left, 0, "clearing leaves nothing");
	add(0, NS_PER_MS, 0);
	is(h.rows, 0, "nor does an empty second make a row");
}

int main(void)
{
	load_heat_clear(&h);
	test_edges();
	test_buckets();
	test_fold();
	return done();
}
