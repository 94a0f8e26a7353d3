// SPDX-License-Identifier: GPL-2.0-only
/* rate_report.c - what became of all requests, as one line of JSON; rate.h has the records */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "rate.h"

enum { ENOUGH = 10 }; /* samples beyond a percentile, or it is not told */

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Was it measured, and is it of that kind, or (NONE) of any that is not kept? */
static bool in_group(const struct load *l, const struct ask *a, int group)
{
	if (a->due_ns < l->warm_ns)
		return false;
	return group == NONE ? l->kinds[a->kind].weight > 0 : a->kind == group;
}

/* The least value that so many of a thousand do not exceed. */
static void print_percentile(const char *name, const uint64_t *ns, size_t n, size_t per_mille)
{
	size_t rank = (n * per_mille + 999) / 1000;

	if (n * (1000 - per_mille) < ENOUGH * 1000)
		printf(",\"%s\":null", name);
	else
		printf(",\"%s\":%.1f", name, (double)ns[rank - 1] / 1e3);
}

static void print_times(const char *name, uint64_t *ns, size_t n)
{
	double sum = 0;

	qsort(ns, n, sizeof *ns, by_value);
	for (size_t i = 0; i < n; i++)
		sum += (double)ns[i] / 1e3;
	printf(",\"%s\":{\"count\":%zu", name, n);
	if (n)
		printf(",\"mean\":%.1f", sum / (double)n);
	else
		printf(",\"mean\":null");
	print_percentile("p50", ns, n, 500);
	print_percentile("p95", ns, n, 950);
	print_percentile("p99", ns, n, 990);
	print_percentile("p999", ns, n, 999);
	if (n)
		printf(",\"max\":%.1f}", (double)ns[n - 1] / 1e3);
	else
		printf(",\"max\":null}");
}

/* The group's requests with that outcome: from when each was due to its answer. */
static size_t collect(const struct load *l, int group, enum outcome outcome, uint64_t *ns)
{
	size_t n = 0;

	for (const struct ask *a = l->asks; a < l->asks + l->ask_count; a++)
		if (in_group(l, a, group) && a->outcome == outcome)
			ns[n++] = a->done_ns - a->due_ns;
	return n;
}

/* From when each was due to when it was sent. */
static size_t collect_lag(const struct load *l, int group, uint64_t *ns)
{
	size_t n = 0;

	for (const struct ask *a = l->asks; a < l->asks + l->ask_count; a++)
		if (in_group(l, a, group) && a->outcome != UNSENT)
			ns[n++] = a->sent_ns - a->due_ns;
	return n;
}

/* From when the first was due to when the last was answered. */
static double span_s(const struct load *l, int group)
{
	uint64_t first = UINT64_MAX, last = 0;

	for (const struct ask *a = l->asks; a < l->asks + l->ask_count; a++) {
		if (!in_group(l, a, group))
			continue;
		if (a->due_ns < first)
			first = a->due_ns;
		if (a->done_ns > last)
			last = a->done_ns;
	}
	return last > first ? (double)(last - first) / 1e9 : 0;
}

static void print_group(const struct load *l, int group, uint64_t *ns)
{
	double seconds = span_s(l, group);
	size_t answered = collect(l, group, ACCEPTED, ns);
	size_t refused = collect(l, group, REFUSED, ns);

	printf("\"seconds\":%.6f,\"answered\":%zu,\"refused\":%zu,\"answered_per_s\":%.3f,"
	       "\"achieved_per_s\":%.3f",
	       seconds, answered, refused, seconds > 0 ? (double)answered / seconds : 0,
	       seconds > 0 ? (double)(answered + refused) / seconds : 0);
	print_times("accepted_us", ns, collect(l, group, ACCEPTED, ns));
	print_times("refused_us", ns, collect(l, group, REFUSED, ns));
	print_times("lag_us", ns, collect_lag(l, group, ns));
}

unsigned rate_report(const struct load *l)
{
	uint64_t *ns = calloc(l->ask_count + 1, sizeof *ns);
	unsigned requests = 0, count[OUTCOMES] = { 0 };

	if (!ns) {
		fputs("rate: no memory for the report\n", stderr);
		exit(1);
	}
	for (const struct ask *a = l->asks; a < l->asks + l->ask_count; a++) {
		bool kept = !(l->kinds[a->kind].weight > 0);

		requests += in_group(l, a, NONE);
		count[a->outcome] += !kept || a->outcome > SENT;
	}
	unsigned missing = count[UNSENT] + count[SENT] + count[LOST];
	printf("{\"mode\":\"%s\",\"rate\":%g,\"connections\":%u,\"requests\":%u,\"wrong\":%u,"
	       "\"other\":%u,\"missing\":%u,\"broken\":%u,\"gap_max_us\":%.1f,",
	       l->mode, l->rate, l->connections, requests, count[WRONG], count[OTHER], missing,
	       l->broken, (double)l->gap_max_ns / 1e3);
	print_group(l, NONE, ns);
	printf(",\"paths\":[");
	for (unsigned k = 0; k < l->kind_count; k++) {
		printf("%s{\"path\":\"%s\",\"kept\":%s,", k ? "," : "", l->kinds[k].path,
		       l->kinds[k].weight > 0 ? "false" : "true");
		print_group(l, (int)k, ns);
		printf("}");
	}
	printf("]}\n");
	free(ns);
	return count[WRONG] + count[OTHER] + missing + l->broken;
}
