/* SPDX-License-Identifier: GPL-2.0-only */
/* load_text.c - a run for people */
#include <inttypes.h>
#include <math.h>
#include "load_report.h"
#include "stat_text.h"

static const uint32_t shown_ppm[] = { 500000, 900000, 950000, 990000, 999000, 999900 };

const char *load_mode_name(enum load_mode mode)
{
	static const char *const name[] = { "constant", "poisson", "burst", "closed" };

	return name[mode];
}

static void show_plan(FILE *to, const struct load_result *x)
{
	const struct load_plan *p = x->plan;

	fprintf(to, "%s: ", p->url);
	if (p->mode == LOAD_CLOSED)
		fprintf(to, "closed loop");
	else if (p->mode == LOAD_BURST)
		fprintf(to, "%u at once every %g ms", p->burst, p->burst_ms);
	else
		fprintf(to, "%g requests a second%s", x->rate,
			p->mode == LOAD_POISSON ? ", Poisson" : "");
	fprintf(to, ", %u connection%s%s, %g s after %g s of warm-up\n", p->connections,
		p->connections == 1 ? "" : "s", p->fresh ? " at a time, a new one each" : "",
		p->seconds, p->warm);
}

static void show_outcomes(FILE *to, const struct load_record *r)
{
	static const char *const name[] = {
#define X(id, text) text,
		LOAD_OUTCOME_LIST(X)
#undef X
	};
	double planned = (double)(r->end_ns - r->start_ns) / NS_PER_S;

	fprintf(to, "%" PRIu64 " requests: ", load_record_requests(r));
	for (unsigned i = 0; i < LOAD_OUTCOMES; i++)
		if (i == LOAD_ok || r->outcome[i])
			fprintf(to, "%s%" PRIu64 " %s", i ? ", " : "", r->outcome[i], name[i]);
	fprintf(to, "; sent %.1f/s, ok %.1f/s\n",
		planned > 0 ? (double)r->sent_in_time / planned : 0,
		load_record_span_s(r) > 0 ? (double)r->outcome[LOAD_ok] / load_record_span_s(r) :
					    0);
	for (unsigned i = LOAD_errors; i < LOAD_OUTCOMES; i++)
		if (r->outcome[i])
			fprintf(to, "  %s: the first was: %s\n", name[i], r->first[i]);
}

static void show_row(FILE *to, const char *name, const struct load_hist *h)
{
	char text[STAT_TEXT];

	if (!h->count)
		return;
	fprintf(to, "%-9s %9s", name, time_text(text, (uint64_t)llround(load_hist_mean(h))));
	for (unsigned i = 0; i < array_size(shown_ppm); i++)
		fprintf(to, " %9s",
			load_hist_carries(h, shown_ppm[i]) ?
				time_text(text, load_hist_percentile(h, shown_ppm[i])) :
				"-");
	fprintf(to, " %9s\n", time_text(text, h->max_ns));
}

/* Said in words, so that nobody takes a dash for a zero. */
static void show_not_carried(FILE *to, const struct load_hist *h)
{
	char text[16];

	for (unsigned i = 0; h->count && i < array_size(shown_ppm); i++)
		if (!load_hist_carries(h, shown_ppm[i]))
			fprintf(to, "%s: not enough samples (%" PRIu64 " of %" PRIu64 ")\n",
				load_percentile_text(text, shown_ppm[i]), h->count,
				load_hist_needed(shown_ppm[i]));
}

static void show_times(FILE *to, const struct load_result *x)
{
	const struct load_record *r = x->record;

	fprintf(to, "%-9s %9s %9s %9s %9s %9s %9s %9s %9s\n", "", "mean", "p50", "p90", "p95",
		"p99", "p99.9", "p99.99", "max");
	show_row(to, "latency", &r->latency);
	show_row(to, "service", &r->service);
	show_row(to, "outside", &r->outside);
	show_row(to, "refusal", &r->refusal);
	if (x->plan->fresh)
		show_row(to, "connect", &r->connect);
	show_row(to, "own lag", &r->lag);
	show_row(to, "floor", &r->floor);
	show_not_carried(to, &r->latency);
}

static void show_mix(FILE *to, const struct load_result *x)
{
	for (unsigned k = 0; x->plan->kinds > 1 && k < x->plan->kinds; k++) {
		const struct load_hist *h = &x->record->kind[k];
		char mean[STAT_TEXT], p50[STAT_TEXT], max[STAT_TEXT];
		fprintf(to, "%s: %" PRIu64 " ok", x->plan->kind[k].path, h->count);
		if (h->count)
			fprintf(to, ", mean %s, p50 %s, max %s",
				time_text(mean, (uint64_t)load_hist_mean(h)),
				time_text(p50, load_hist_percentile(h, 500000)),
				time_text(max, h->max_ns));
		putc('\n', to);
	}
}

static void show_find(FILE *to, const struct load_result *x)
{
	char text[16];

	if (!x->find)
		return;
	if (x->find->low > 0)
		fprintf(to, "highest rate with %s: %.0f/s%s; the figures above are of that step\n",
			x->plan->find, x->find->low,
			load_find_capped(x->find) ? ", which is --max-rate: it may be higher" : "");
	else if (!x->find->broken)
		fprintf(to, "no rate with %s was found; %s of the last step is above\n",
			x->plan->find, load_percentile_text(text, x->plan->find_ppm));
}

void load_text_write(FILE *to, const struct load_result *x)
{
	show_plan(to, x);
	show_outcomes(to, x->record);
	show_times(to, x);
	show_mix(to, x);
	show_find(to, x);
	for (unsigned i = 0; i < x->verdict->reasons; i++)
		fprintf(to, "INVALID: %s\n", x->verdict->reason[i]);
}
