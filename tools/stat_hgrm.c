/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The percentile text of HdrHistogram (outputPercentileDistribution), five lines
 * for each halving of what lies beyond, in milliseconds to the nanosecond. Here
 * it goes on only while ten values lie beyond; its last line is the maximum.
 */
#include <inttypes.h>
#include <math.h>
#include "stat.h"

enum { TICKS = 5 }; /* lines for each halving, as HdrHistogram's tools have it */

/* Lines go up in steps that halve each time the distance to 100 % has. */
static double next_percent(double percent)
{
	double halvings = floor(log2(100 / (100 - percent))) + 1;
	return percent + 100 / (TICKS * exp2(halvings));
}

static double deviation_ns(const struct hist *h, double mean)
{
	double sum = 0;
	for (uint32_t i = 0; i < HIST_BUCKETS; i++) {
		double middle = ((double)hist_lower(i) + (double)hist_upper(i)) / 2;
		sum += (double)h->bucket[i] * (middle - mean) * (middle - mean);
	}
	return h->count ? sqrt(sum / (double)h->count) : 0;
}

static double ms(double ns)
{
	return ns / NS_PER_MS;
}

static void show_lines(const struct hist *h)
{
	uint64_t seen = 0;
	double percent = 0;
	for (uint32_t i = 0; i < HIST_BUCKETS && h->count; i++) {
		seen += h->bucket[i];
		uint64_t value = min_u64(hist_upper(i), h->max_ns);
		/* The bucket that reaches the line has it, as a percentile does. */
		for (double rank; (rank = ceil(percent / 100 * (double)h->count)) <= (double)seen &&
				  (double)h->count - rank >= 10 && h->bucket[i];) {
			printf("%12.6f %14.12f %10" PRIu64 " %14.2f\n", ms((double)value),
			       percent / 100, seen, 1 / (1 - percent / 100));
			percent = next_percent(percent);
		}
	}
	if (h->count)
		printf("%12.6f %14.12f %10" PRIu64 "\n", ms((double)h->max_ns), 1.0, h->count);
}

void hgrm_show(const struct figures *f, uint32_t stage)
{
	const struct hist *h = (const struct hist *)&f->stages + stage;
	double mean = h->count ? (double)h->sum_ns / (double)h->count : 0;
	printf("%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
	show_lines(h);
	printf("#[Mean    = %12.6f, StdDeviation   = %12.6f]\n", ms(mean),
	       ms(deviation_ns(h, mean)));
	printf("#[Max     = %12.6f, Total count    = %12" PRIu64 "]\n", ms((double)h->max_ns),
	       h->count);
	printf("#[Buckets = %12d, SubBuckets     = %12d]\n", HIST_BUCKETS / HIST_SUB, HIST_SUB);
}
