/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * load_record.h - what came of the requests: histograms, seconds, outcomes
 *
 * Place    load_run.c records; the reports read it when the run is over.
 * Model    Latency counts from when a request was due, service from when it was sent:
 *          a server that stalls pays in the first for all whom it kept waiting. Outside
 *          is service without what the server says that it took itself: network, NIC,
 *          kernel. Lag is how late this program was: from the later of (due, a
 *          connection was free) to the send. A gap is a time in which it did not look.
 *          Of the warm-up nothing is recorded. A second of the series has what happened
 *          in it: sends by their time, answers by theirs.
 * Limits   Memory is the histograms, a row a second, and load_heat.h's: never a record a
 *          request.
 */
#ifndef LOAD_RECORD_H
#define LOAD_RECORD_H

#include "load.h"
#include "load_heat.h"
#include "load_hist.h"

enum { LOAD_FIRST = 160 };

#define LOAD_NONE UINT64_MAX /* a percentile that is not carried */

struct load_second {
	uint32_t sent, ok, refused, failed;
	uint64_t p50_ns, p99_ns, max_ns, lag_max_ns;
};

struct load_record {
	struct load_hist latency, service, outside, lag, floor, refusal, connect, gap;
	struct load_hist *kind; /* latency of each of the mix */
	unsigned kinds;
	uint64_t outcome[LOAD_OUTCOMES];
	char first[LOAD_OUTCOMES][LOAD_FIRST]; /* what the first of these was */
	uint64_t sent, sent_in_time;           /* of those measured; before the end */
	uint64_t due;                          /* open loop: so many were due before the end */
	uint64_t reconnects;

	uint64_t start_ns, end_ns; /* what is due between these is measured */
	uint64_t last_ns;          /* of the last answer, or the end */
	uint64_t started_unix_ns, ended_unix_ns;

	struct load_second *second;
	unsigned seconds, seconds_max;
	uint64_t second_end_ns;
	struct load_second now; /* the one being filled */
	struct load_hist now_hist;
	struct load_heat heat; /* of the latency, by the second of the answer */
};

/* False: no memory. */
bool load_record_init(struct load_record *r, const struct load_plan *plan);
void load_record_fini(struct load_record *r);

/* Forget everything; a run begins whose requests count from start_ns. The floor stays. */
void load_record_start(struct load_record *r, uint64_t start_ns, uint64_t end_ns);
void load_record_finish(struct load_record *r);

/* Close the seconds that are over. */
void load_record_roll(struct load_record *r, uint64_t now_ns);

static inline void load_record_tick(struct load_record *r, uint64_t now_ns)
{
	if (unlikely(now_ns >= r->second_end_ns))
		load_record_roll(r, now_ns);
}

void load_record_sent(struct load_record *r, uint64_t now_ns, uint64_t lag_ns);

/* An answer of 200 that is right: server_ns is LOAD_NONE if it did not say. */
void load_record_ok(struct load_record *r, unsigned kind, uint64_t due_ns, uint64_t sent_ns,
		    uint64_t now_ns, uint64_t server_ns);

/* Any other end; what: for people, kept of the first of its kind. */
void load_record_failed(struct load_record *r, enum load_outcome outcome, uint64_t due_ns,
			uint64_t now_ns, const char *what);

/* One that was due, and for which no connection was free until the end of all: it makes the
 * run invalid, and is of no second. */
void load_record_unsent(struct load_record *r);

uint64_t load_record_requests(const struct load_record *r);
/* Of the server: all but ok, refused and unsent. */
uint64_t load_record_failures(const struct load_record *r);
double load_record_span_s(const struct load_record *r); /* from the start to the last answer */

#endif
