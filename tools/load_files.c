/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The two files for plotters: a row a second as CSV, and the percentile text of
 * HdrHistogram (outputPercentileDistribution), five lines for each halving of what lies
 * beyond, in milliseconds to the nanosecond. As saker-stat's it goes on only while ten
 * values lie beyond; its last line is the maximum.
 */
#include <inttypes.h>
#include <math.h>
#include "load_report.h"

enum { TICKS = 5 }; /* lines for each halving, as HdrHistogram's tools have it */

static void put_cell(FILE *to, uint64_t ns)
{
	if (ns == LOAD_NONE)
		putc(',', to);
	else
		fprintf(to, ",%" PRIu64, ns);
}

void load_series_write(FILE *to, const struct load_result *x)
{
	fputs("s,sent,ok,refused,failed,p50_ns,p99_ns,max_ns,lag_max_ns\n", to);
	for (unsigned i = 0; i < x->record->seconds; i++) {
		const struct load_second *s = &x->record->second[i];
		fprintf(to, "%u,%u,%u,%u,%u", i, s->sent, s->ok, s->refused, s->failed);
		put_cell(to, s->p50_ns);
		put_cell(to, s->p99_ns);
		put_cell(to, s->ok ? s->max_ns : LOAD_NONE);
		put_cell(to, s->sent ? s->lag_max_ns : LOAD_NONE);
		putc('\n', to);
	}
}

/* Lines go up in steps that halve each time the distance to 100 % has. */
static double next_percent(double percent)
{
	double halvings = floor(log2(100 / (100 - percent))) + 1;

	return percent + 100 / (TICKS * exp2(halvings));
}

static double deviation_ns(const struct load_hist *h)
{
	double mean = load_hist_mean(h), sum = 0;

	for (uint32_t i = h->low; h->count && i <= h->high; i++) {
		double middle = ((double)load_hist_lower(i) + (double)load_hist_upper(i)) / 2;
		sum += (double)h->bucket[i] * (middle - mean) * (middle - mean);
	}
	return h->count ? sqrt(sum / (double)h->count) : 0;
}

static double ms(double ns)
{
	return ns / NS_PER_MS;
}

void load_hgrm_write(FILE *to, const struct load_result *x)
{
	const struct load_hist *h = &x->record->latency;
	uint64_t seen = 0;
	double percent = 0;

	fprintf(to, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount",
		"1/(1-Percentile)");
	for (uint32_t i = h->low; h->count && i <= h->high; i++) {
		seen += h->bucket[i];
		double value = ms((double)min_u64(load_hist_upper(i), h->max_ns));
		/* The bucket that reaches the line has it, as a percentile does. */
		for (double rank; h->bucket[i] &&
				  (rank = ceil(percent / 100 * (double)h->count)) <= (double)seen &&
				  (double)h->count - rank >= LOAD_HIST_ENOUGH;) {
			fprintf(to, "%12.6f %14.12f %10" PRIu64 " %14.2f\n", value, percent / 100,
				seen, 1 / (1 - percent / 100));
			percent = next_percent(percent);
		}
	}
	if (h->count)
		fprintf(to, "%12.6f %14.12f %10" PRIu64 "\n", ms((double)h->max_ns), 1.0, h->count);
	fprintf(to, "#[Mean    = %12.6f, StdDeviation   = %12.6f]\n", ms(load_hist_mean(h)),
		ms(deviation_ns(h)));
	fprintf(to, "#[Max     = %12.6f, Total count    = %12" PRIu64 "]\n", ms((double)h->max_ns),
		h->count);
	fprintf(to, "#[Buckets = %12d, SubBuckets     = %12d]\n", LOAD_HIST_BUCKETS / LOAD_HIST_SUB,
		LOAD_HIST_SUB);
}
