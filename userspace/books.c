/* SPDX-License-Identifier: GPL-2.0-only */
#include "books.h"

#include <string.h>

static uint64_t span(const struct stats_block *b, enum stats_index from, enum stats_index to)
{
	const uint64_t *at = (const uint64_t *)b;
	uint64_t sum = 0;

	for (unsigned i = from; i <= to; i++)
		sum += at[i];
	return sum;
}

static uint64_t total(const struct blocks *b, enum stats_index which)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < b->size.counters; i++)
		sum += ((const uint64_t *)&b->counters[i])[which];
	return sum;
}

/* Add what is missing. */
static void settle(uint64_t *counter, uint64_t begun, uint64_t ended)
{
	if (begun > ended)
		*counter += begun - ended;
}

void books_rings(struct blocks *b)
{
	struct stats_block *own = &b->counters[blocks_starter(&b->size)];

	settle(&own->rx_abandoned, total(b, STATS_xdp_redirected),
	       total(b, STATS_rx_frames) + total(b, STATS_rx_ring_full) +
		       total(b, STATS_rx_dropped) + total(b, STATS_rx_abandoned));
	settle(&own->tx_abandoned, total(b, STATS_tx_frames),
	       total(b, STATS_tx_completed) + total(b, STATS_tx_abandoned));
	memset(b->rings, 0, QUEUES_MAX * sizeof *b->rings);
}

/* Of one thread, whose process has gone. */
static void settle_thread(struct stats_block *c, struct gauge_block *now)
{
	settle(&c->pkt_unread, c->rx_frames, span(c, STATS_pkt_ok, STATS_pkt_unread));
	settle(&c->tcp_unjudged, c->pkt_ok + c->pkt_bad_option,
	       span(c, STATS_tcp_syn, STATS_tcp_timewait));
	settle(&c->tcp_orphaned, c->tcp_opened,
	       c->tcp_closed + c->tcp_orphaned + c->tcp_reset_in + c->tcp_reset_out +
		       c->tcp_timed_out + c->tcp_linger_ended);
	settle(&c->sock_closed, c->sock_accepted, c->sock_closed);
	settle(&c->http_aborted, c->http_requests,
	       span(c, STATS_http_ok, STATS_http_h2_preface) + c->http_aborted +
		       c->http_body_timeouts);
	memset(now, 0, sizeof *now);
}

void books_worker(struct blocks *b)
{
	for (unsigned t = 0; t < b->size.io_threads; t++)
		settle_thread(&b->counters[t], &b->gauges[t]);
	memset(b->conns, 0, blocks_conns(&b->size) * sizeof *b->conns);
	books_rings(b);
}

void books_stand_in(struct blocks *b)
{
	settle_thread(&b->counters[blocks_stand_in(&b->size)], &b->gauges[b->size.io_threads]);
}
