/* SPDX-License-Identifier: GPL-2.0-only */
/* load_verdict.c - the rules; load_verdict.h says what they are for */
#include <stdarg.h>
#include "load_verdict.h"
#include "stat_text.h"

/* Own lag above a tenth of the latency is no longer noise in it; below 10 us it is what a
 * send and an interrupt take, and no figure of a server over a network turns on it. */
static const uint64_t lag_share = 10, lag_least_ns = 10 * NS_PER_US;
/* A gap below 1 ms is a batch of answers, or a neighbour's interrupt. */
static const uint64_t gap_least_ns = NS_PER_MS;
/* What happens in more than 1 % of the time is in p99. */
static const double share_most = 0.01;

void load_verdict_add(struct load_verdict *v, const char *format, ...)
{
	va_list args;

	if (v->reasons == LOAD_REASONS_MAX)
		return;
	va_start(args, format);
	vsnprintf(v->reason[v->reasons++], LOAD_WHY, format, args);
	va_end(args);
}

const char *load_percentile_text(char text[16], uint32_t ppm)
{
	snprintf(text, 16, "p%g", ppm / 1e4);
	return text;
}

/* In a closed loop a request is due when it is sent: lag lowers the rate, and is in no
 * latency. */
static void judge_lag(struct load_verdict *v, const struct load_plan *plan,
		      const struct load_record *r)
{
	uint64_t lag = load_hist_percentile(&r->lag, 990000);
	uint64_t latency = load_hist_percentile(&r->latency, 990000);
	char a[STAT_TEXT], b[STAT_TEXT];

	if (plan->mode != LOAD_CLOSED && latency && lag > lag_least_ns && lag > latency / lag_share)
		load_verdict_add(
			v,
			"own lag p99 %s is above a tenth of the latency's %s: give the generator "
			"a core (--cpu=N --spin), or ask for less",
			time_text(a, lag), time_text(b, latency));
}

static void judge_gaps(struct load_verdict *v, const struct load_record *r)
{
	uint64_t latency = load_hist_percentile(&r->latency, 990000);
	uint64_t least = max_u64(gap_least_ns, latency / lag_share);
	double away = load_hist_sum_above(&r->gap, least) / NS_PER_S;
	double span = load_record_span_s(r);
	char text[STAT_TEXT];

	if (span > 0 && away > span * share_most)
		load_verdict_add(
			v,
			"the generator did not run for %.2f s of %.2f s, in pauses above %s: give "
			"it a core",
			away, span, time_text(text, least));
}

static void judge_rate(struct load_verdict *v, const struct load_plan *plan,
		       const struct load_record *r)
{
	uint64_t unsent = r->outcome[LOAD_unsent];

	if (plan->mode == LOAD_CLOSED)
		return;
	if (unsent || (double)r->sent_in_time < 0.99 * (double)r->due)
		load_verdict_add(v,
				 "only %.1f %% of the requests due were sent before the end: %u "
				 "connections do not carry this rate here; %llu found none free at "
				 "all",
				 100.0 * (double)r->sent_in_time / (double)r->due,
				 plan->connections, (unsigned long long)unsent);
}

static void judge_sample(struct load_verdict *v, uint32_t ppm, const struct load_record *r)
{
	char text[16];

	if (ppm && !load_hist_carries(&r->latency, ppm))
		load_verdict_add(v, "%s: not enough samples: %llu, and it takes %llu",
				 load_percentile_text(text, ppm),
				 (unsigned long long)r->latency.count,
				 (unsigned long long)load_hist_needed(ppm));
}

void load_verdict_own(struct load_verdict *v, const struct load_plan *plan,
		      const struct load_record *r)
{
	v->reasons = 0;
	judge_lag(v, plan, r);
	judge_gaps(v, r);
}

void load_verdict_reach(struct load_verdict *v, const struct load_plan *plan,
			const struct load_record *r)
{
	load_verdict_own(v, plan, r);
	judge_rate(v, plan, r);
	judge_sample(v, plan->need_ppm, r);
	if (plan->find && plan->find_ppm != plan->need_ppm)
		judge_sample(v, plan->find_ppm, r);
	if (!load_record_requests(r))
		load_verdict_add(v,
				 "no request was measured: --seconds is too short for this rate");
}
