/* SPDX-License-Identifier: GPL-2.0-only */
#include <inttypes.h>
#include <stdio.h>
#include "count.h"

/* What moves in ordinary traffic too. */
static bool is_traffic(enum stats_index i)
{
	static const enum stats_index traffic[] = {
		STATS_xdp_seen,        STATS_xdp_redirected, STATS_xdp_pass_other,
		STATS_xdp_pass_proto,  STATS_rx_frames,      STATS_tx_frames,
		STATS_tx_completed,    STATS_tx_kicks,       STATS_tx_kick_retries,
		STATS_tx_no_frame,     STATS_rx_ring_full,   STATS_pkt_ok,
		STATS_tcp_syn,         STATS_tcp_opened,     STATS_tcp_accepted,
		STATS_tcp_closed,      STATS_http_requests,  STATS_http_ok,
		STATS_turns,           STATS_busy_turns,     STATS_busy_ns,
		STATS_clock_backwards,
	};

	for (size_t k = 0; k < array_size(traffic); k++)
		if (traffic[k] == i)
			return true;
	return false;
}

static uint64_t moved(const struct stats_block *now, const struct stats_block *before,
		      enum stats_index i)
{
	return ((const uint64_t *)now)[i] - ((const uint64_t *)before)[i];
}

bool count_moved(struct device *d, const struct event *e, const struct stats_block *before,
		 char *why, size_t room)
{
	enum { STEP_NS = 5 * NS_PER_MS };
	uint64_t until = d->wait(d, 0) + d->late_ns, n;
	struct stats_block now;

	for (;;) {
		d->count(d, &now);
		n = moved(&now, before, e->counter);
		if (n >= e->delta || d->kind == ON_SIM || d->wait(d, 0) >= until)
			break;
		d->wait(d, d->wait(d, 0) + STEP_NS);
	}
	snprintf(why, room, "%s moved by %" PRIu64 ", not %" PRIu64, e->name, n, e->delta);
	for (unsigned i = 0; n == e->delta && e->only && i < STATS_COUNT; i++) {
		uint64_t other = moved(&now, before, i);

		if (i == e->counter || !other || is_traffic(i))
			continue;
		snprintf(why, room, "%s moved too, by %" PRIu64, script_counter(i), other);
		return false;
	}
	return n == e->delta;
}
