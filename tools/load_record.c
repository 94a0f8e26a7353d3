/* SPDX-License-Identifier: GPL-2.0-only */
/* load_record.c - counting; load_record.h has what is counted */
#include <stdlib.h>
#include <string.h>
#include "load_record.h"
#include "stat_text.h"

bool load_record_init(struct load_record *r, const struct load_plan *plan)
{
	memset(r, 0, sizeof *r);
	r->kinds = plan->kinds;
	/* What is due may be sent as late as the time-out behind the end, and takes as long. */
	r->seconds_max = (unsigned)(plan->seconds + 2 * (double)plan->timeout_ns / NS_PER_S) + 2;
	r->kind = calloc(r->kinds, sizeof *r->kind);
	r->second = calloc(r->seconds_max, sizeof *r->second);
	return r->kind && r->second;
}

void load_record_fini(struct load_record *r)
{
	free(r->kind);
	free(r->second);
}

void load_record_start(struct load_record *r, uint64_t start_ns, uint64_t end_ns)
{
	struct load_hist *all[] = { &r->latency, &r->service, &r->outside, &r->lag,
				    &r->refusal, &r->connect, &r->gap,     &r->now_hist };

	for (unsigned i = 0; i < array_size(all); i++)
		load_hist_clear(all[i]);
	for (unsigned k = 0; k < r->kinds; k++)
		load_hist_clear(&r->kind[k]);
	load_heat_clear(&r->heat);
	memset(r->outcome, 0, sizeof r->outcome);
	memset(r->first, 0, sizeof r->first);
	r->sent = r->sent_in_time = r->due = r->reconnects = 0;
	r->start_ns = start_ns;
	r->end_ns = end_ns;
	r->last_ns = start_ns;
	r->seconds = 0;
	r->now = (struct load_second){ 0 };
	r->second_end_ns = start_ns + NS_PER_S;
	r->started_unix_ns = clock_ns(CLOCK_REALTIME) + (start_ns - clock_ns(CLOCK_MONOTONIC));
}

static uint64_t carried(const struct load_hist *h, uint32_t ppm)
{
	return load_hist_carries(h, ppm) ? load_hist_percentile(h, ppm) : LOAD_NONE;
}

static void close_second(struct load_record *r)
{
	r->now.p50_ns = carried(&r->now_hist, 500000);
	r->now.p99_ns = carried(&r->now_hist, 990000);
	r->now.max_ns = r->now_hist.max_ns;
	load_heat_add(&r->heat, (unsigned)((r->second_end_ns - r->start_ns) / NS_PER_S) - 1,
		      &r->now_hist);
	if (r->seconds < r->seconds_max)
		r->second[r->seconds++] = r->now;
	r->now = (struct load_second){ 0 };
	load_hist_clear(&r->now_hist);
}

void load_record_roll(struct load_record *r, uint64_t now_ns)
{
	for (; now_ns >= r->second_end_ns; r->second_end_ns += NS_PER_S)
		close_second(r);
}

void load_record_finish(struct load_record *r)
{
	const struct load_second *n = &r->now;

	if (n->sent || n->ok || n->refused || n->failed)
		close_second(r);
	r->ended_unix_ns = r->started_unix_ns + (max_u64(r->last_ns, r->end_ns) - r->start_ns);
}

void load_record_sent(struct load_record *r, uint64_t now_ns, uint64_t lag_ns)
{
	load_record_tick(r, now_ns);
	load_hist_record(&r->lag, lag_ns);
	r->sent++;
	r->sent_in_time += now_ns < r->end_ns;
	r->now.sent++;
	r->now.lag_max_ns = max_u64(r->now.lag_max_ns, lag_ns);
}

void load_record_ok(struct load_record *r, unsigned kind, uint64_t due_ns, uint64_t sent_ns,
		    uint64_t now_ns, uint64_t server_ns)
{
	uint64_t latency = now_ns - due_ns, service = now_ns - sent_ns;

	load_record_tick(r, now_ns);
	load_hist_record(&r->latency, latency);
	load_hist_record(&r->service, service);
	load_hist_record(&r->now_hist, latency);
	if (r->kinds > 1)
		load_hist_record(&r->kind[kind], latency);
	if (server_ns != LOAD_NONE)
		load_hist_record(&r->outside, service > server_ns ? service - server_ns : 0);
	r->outcome[LOAD_ok]++;
	r->now.ok++;
	r->last_ns = now_ns;
}

void load_record_failed(struct load_record *r, enum load_outcome outcome, uint64_t due_ns,
			uint64_t now_ns, const char *what)
{
	load_record_tick(r, now_ns);
	if (!r->outcome[outcome]++)
		snprintf(r->first[outcome], LOAD_FIRST, "%s, at %.3f s", what,
			 (double)(int64_t)(now_ns - r->start_ns) / NS_PER_S);
	if (outcome == LOAD_refused) {
		load_hist_record(&r->refusal, now_ns - due_ns);
		r->now.refused++;
		r->last_ns = now_ns;
	} else {
		r->now.failed++;
	}
}

void load_record_unsent(struct load_record *r)
{
	if (!r->outcome[LOAD_unsent]++)
		snprintf(r->first[LOAD_unsent], LOAD_FIRST, "no connection was free");
}

uint64_t load_record_requests(const struct load_record *r)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < LOAD_OUTCOMES; i++)
		n += r->outcome[i];
	return n;
}

uint64_t load_record_failures(const struct load_record *r)
{
	return load_record_requests(r) - r->outcome[LOAD_ok] - r->outcome[LOAD_refused] -
	       r->outcome[LOAD_unsent];
}

double load_record_span_s(const struct load_record *r)
{
	return (double)(max_u64(r->last_ns, r->end_ns) - r->start_ns) / NS_PER_S;
}
