/* SPDX-License-Identifier: GPL-2.0-only */
#include "tcp_private.h"

/*
 * Path MTU, by what routers say (RFC 1191, RFC 8201). It only ever goes down, by
 * the word of whoever can quote a segment in flight (RFC 5927 4.1), and never
 * below what every path has: a forger who can guess it costs us some headers.
 */

/* Data that a segment may carry so that its packet has `mtu` bytes. */
static uint32_t mss_of(const struct conn *c, uint32_t mtu)
{
	return mtu - (pkt_is_ip4(&c->flow) ? WIRE_IP4_LEN : WIRE_IP6_LEN) - WIRE_TCP_LEN -
	       (c->has_ts ? 12 : 0);
}

/* What is in flight goes again, in smaller pieces and at once: it was too big, not
 * lost by congestion, so window and back-off stay (RFC 1191 6.4, RFC 8201 5.4). */
static void send_again(struct tcp *t, struct conn *c, uint64_t now_ns)
{
	loss_timeout(c); /* nor does what the peer says of it mean congestion */
	c->snd_nxt = c->snd_una;
	c->rtt_start_ns = 0; /* Karn */
	c->at_rtx_ns = 0;
	tcp_start_timer(t, c, now_ns);
	tcp_mark(t, c, DUE_DATA);
}

bool tcp_owns(struct tcp *t, const struct pkt_flow *flow)
{
	return tcp_find(t, flow, tcp_hash(t, flow)) != NULL;
}

void tcp_mtu(struct tcp *t, const struct pkt_flow *flow, uint32_t seq, uint32_t mtu,
	     uint64_t now_ns)
{
	uint32_t least = pkt_is_ip4(flow) ? TCP_MTU_MIN4 : TCP_MTU_MIN6;
	struct conn *c = tcp_find(t, flow, tcp_hash(t, flow));

	if (!c) {
		t->tally.mtu_stray++;
	} else if (seq_lt(seq, c->snd_una) || seq_ge(seq, c->snd_max)) {
		t->tally.mtu_not_sent++;
	} else if (mtu < least) {
		t->tally.mtu_tiny++;
	} else if (mtu > UINT16_MAX || mss_of(c, mtu) >= c->mss) {
		t->tally.mtu_no_less++;
	} else {
		t->tally.mtu_lowered++;
		c->mss = (uint16_t)mss_of(c, mtu);
		send_again(t, c, now_ns);
	}
}
