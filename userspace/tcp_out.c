/* SPDX-License-Identifier: GPL-2.0-only */
#include "tcp_private.h"

/* --- what the worker asks for ------------------------------------------------------ */

void tcp_wrote(struct tcp *t, uint16_t slot, uint32_t n)
{
	struct conn *c = &t->conn[slot];

	must(c->state == TCP_ESTABLISHED || c->state == TCP_CLOSE_WAIT);
	buf_commit(&t->p.out[slot], n);
	tcp_mark(t, c, DUE_DATA);
}

void tcp_close(struct tcp *t, uint16_t slot, uint64_t now_ns)
{
	struct conn *c = &t->conn[slot];

	must(c->state == TCP_ESTABLISHED || c->state == TCP_CLOSE_WAIT);
	c->state = c->state == TCP_ESTABLISHED ? TCP_FIN_WAIT_1 : TCP_LAST_ACK;
	c->at_end_ns = now_ns + TCP_LINGER_MS * (uint64_t)NS_PER_MS;
	adopt_closing(t, c);
	tcp_arm(t, c);
	tcp_mark(t, c, DUE_DATA);
}

void tcp_abort(struct tcp *t, uint16_t slot)
{
	struct conn *c = &t->conn[slot];
	struct pkt_seg *s = tcp_stub(t);

	if (s)
		*s = (struct pkt_seg){
			.flow = c->flow,
			.link = c->link,
			.seq = c->snd_max,
			.ack = c->rcv_nxt,
			.flags = WIRE_RST | WIRE_ACK,
			.wscale = PKT_NO_SCALE,
		};
	t->tally.reset_out++;
	tcp_free(t, c);
}

/* --- answers without connection ------------------------------------------------------ */

/* RFC 9293 3.10.7.1 */
void tcp_answer_rst(struct tcp *t, const struct pkt_seg *seg)
{
	struct pkt_seg *s = tcp_stub(t);

	if (!s)
		return;
	*s = (struct pkt_seg){ .flow = seg->flow, .link = seg->link, .wscale = PKT_NO_SCALE };
	if (seg->flags & WIRE_ACK) {
		s->seq = seg->ack;
		s->flags = WIRE_RST;
	} else {
		s->ack = seg->seq + pkt_span(seg);
		s->flags = WIRE_RST | WIRE_ACK;
	}
}

void tcp_answer_timewait(struct tcp *t, const struct timewait *w, const struct pkt_seg *seg,
			 uint64_t now_ns)
{
	const struct timewait_flow *f = t->p.adopts ? &t->tw_flow[w - t->timewait] : NULL;
	uint32_t offset = f ? f->ts_offset : tcp_ts_offset(w->key);
	struct pkt_seg *s = tcp_stub(t);

	if (!s)
		return;
	*s = (struct pkt_seg){
		.flow = seg->flow,
		.link = seg->link,
		.seq = w->snd_nxt,
		.ack = w->rcv_nxt,
		.window = t->p.window >> (f ? f->rcv_scale : 0),
		.flags = WIRE_ACK,
		.wscale = PKT_NO_SCALE,
		.has_ts = w->has_ts,
		.ts_val = tcp_timestamp(offset, now_ns),
		.ts_ecr = w->ts_recent,
	};
}

/* --- timers ------------------------------------------------------------------------------ */

uint64_t tcp_backed_off(const struct conn *c)
{
	unsigned shift = c->retries < 10 ? c->retries : 10;

	return min_u64(c->rto_ns << shift, TCP_RTO_MAX_MS * (uint64_t)NS_PER_MS);
}

void tcp_start_timer(struct tcp *t, struct conn *c, uint64_t now_ns)
{
	bool in_flight = c->snd_una != c->snd_max;
	bool shut_out = !in_flight && t->p.out[tcp_slot(t, c)].len;
	uint64_t probe_after, after;

	if (c->at_rtx_ns || (!in_flight && !shut_out))
		return;
	probe_after = loss_probe_after(c);
	after = tcp_backed_off(c);
	c->loss.probe_next = probe_after && probe_after < after;
	c->at_rtx_ns = now_ns + (c->loss.probe_next ? probe_after : after);
	tcp_arm(t, c);
}

/* RFC 8985 7.3: the last segment again, without a verdict on the others. */
static void probe_tail(struct tcp *t, struct conn *c)
{
	c->loss.probe_next = false;
	c->loss.probed = true;
	c->rtt_start_ns = 0; /* Karn */
	tcp_mark(t, c, DUE_TAIL);
}

bool tcp_timeout(struct tcp *t, struct conn *c, uint64_t now_ns)
{
	uint32_t in_flight = c->snd_max - c->snd_una;

	c->at_rtx_ns = 0;
	if (c->loss.probe_next) {
		probe_tail(t, c);
		tcp_start_timer(t, c, now_ns);
		return true;
	}
	if (c->retries < UINT8_MAX)
		c->retries++;
	if (!c->snd_wnd) {
		if (c->silence++ >= TCP_RETRIES)
			return false;
		tcp_mark(t, c, DUE_PROBE); /* RFC 9293 3.8.6.1: for ever, while it is answered */
	} else if (in_flight) {
		if (c->retries > TCP_RETRIES)
			return false;
		if (c->retries == 1) /* RFC 5681 3.1 (4): once for a loss */
			c->ssthresh = loss_halved(c);
		loss_timeout(c);
		c->cwnd = c->mss;
		c->snd_nxt = c->snd_una;
		c->rtt_start_ns = 0; /* Karn: an ACK now could be of either */
		tcp_mark(t, c, DUE_DATA);
	}
	tcp_start_timer(t, c, now_ns);
	return true;
}

/* --- segments ------------------------------------------------------------------------------ */

/* Which flags a state's segments carry: FreeBSD's table, for our states. */
static const uint8_t state_flags[] = {
	[TCP_ESTABLISHED] = WIRE_ACK,           [TCP_CLOSE_WAIT] = WIRE_ACK,
	[TCP_FIN_WAIT_1] = WIRE_ACK | WIRE_FIN, [TCP_FIN_WAIT_2] = WIRE_ACK,
	[TCP_CLOSING] = WIRE_ACK | WIRE_FIN,    [TCP_LAST_ACK] = WIRE_ACK | WIRE_FIN,
};

/* The right edge moves on by steps worth a segment (RFC 9293 3.8.6.2.2), never back: so
 * what the window's scale cannot express of it is rounded up, and new room down, but to
 * one unit at least. */
static uint16_t announce_window(const struct tcp *t, struct conn *c)
{
	uint32_t edge = c->rcv_nxt + c->room, step = (uint32_t)min_u64(c->mss, t->p.window / 2);
	uint32_t units = (uint32_t)max_u64(c->room >> c->rcv_scale, 1), old;

	if (seq_ge(edge, c->rcv_adv + step) &&
	    seq_gt(c->rcv_nxt + (units << c->rcv_scale), c->rcv_adv))
		c->rcv_adv = c->rcv_nxt + (units << c->rcv_scale);
	old = c->rcv_adv - c->rcv_nxt;
	units = (old + (1u << c->rcv_scale) - 1) >> c->rcv_scale;
	c->rcv_adv = c->rcv_nxt + (units << c->rcv_scale);
	return (uint16_t)units;
}

/* Every segment acknowledges all that was taken. Without data it stands behind
 * all that was ever sent: a peer that has it all takes no other (RFC 9293 3.4). */
static void fill_segment(struct tcp *t, struct conn *c, uint64_t now_ns, struct pkt_seg *s)
{
	*s = (struct pkt_seg){
		.flow = c->flow,
		.link = c->link,
		.seq = c->snd_max,
		.ack = c->rcv_nxt,
		.window = announce_window(t, c),
		.flags = WIRE_ACK,
		.wscale = PKT_NO_SCALE,
		.has_ts = c->has_ts,
		.ts_val = tcp_timestamp(c->ts_offset, now_ns),
		.ts_ecr = c->ts_recent,
	};
	reasm_say(c, s);
	c->ack_sent = c->rcv_nxt;
	c->at_ack_ns = 0;
	c->full_segs = 0;
	c->due &= (uint8_t)~DUE_ACK;
}

static uint32_t left_of(uint32_t window, uint32_t used)
{
	return window > used ? window - used : 0;
}

/* New bytes that may go in one segment now. Small ones only when nothing is in
 * flight or all that is left goes (RFC 9293 3.8.6.2.1). */
static uint32_t data_now(const struct conn *c, uint32_t sent, uint32_t unsent)
{
	uint32_t peer = left_of(c->snd_wnd, sent), net = left_of(c->cwnd, loss_pipe(c));
	uint32_t len = (uint32_t)min_u64(min_u64(unsent, c->mss), min_u64(peer, net));

	if (sent && len < unsent && len < c->mss && len < c->snd_wnd_max / 2)
		return 0;
	return len;
}

/* The octets from seq on as a segment: of out[], and our FIN if they reach it.
 * Returns how many there are in it. */
static uint32_t fill_data(struct tcp *t, struct conn *c, uint64_t now_ns, struct pkt_seg *s,
			  uint32_t seq, uint32_t octets)
{
	const struct buf *out = &t->p.out[tcp_slot(t, c)];
	uint32_t offset = seq - c->snd_una, unsent = left_of(out->len, offset), room;

	fill_segment(t, c, now_ns, s);
	room = c->mss - (s->sack_count ? 4u + 8u * s->sack_count : 0);
	s->seq = seq;
	s->len = (uint32_t)min_u64(min_u64(octets, unsent), room);
	s->data = s->len ? buf_bytes(out) + offset : NULL;
	if (s->len && s->len == unsent)
		s->flags |= WIRE_PSH;
	if (octets > s->len && s->len == unsent) {
		s->flags |= WIRE_FIN;
		c->fin_sent = true;
	}
	c->data_sent_ns = now_ns;
	return pkt_span(s);
}

static void count_again(struct tcp *t, struct conn *c)
{
	t->tally.retransmits++;
	c->retransmits++;
}

/* Holes first. */
static bool output_again(struct tcp *t, struct conn *c, uint64_t now_ns, struct pkt_seg *s)
{
	uint32_t seq, octets;

	if (!loss_next(c, &seq, &octets))
		return false;
	/* The first one always goes (RFC 6675 5 (4.3)). */
	if (seq != c->snd_una && left_of(c->cwnd, loss_pipe(c)) < c->mss)
		return false;
	c->loss.rxt_nxt = seq + fill_data(t, c, now_ns, s, seq, octets);
	count_again(t, c);
	c->at_rtx_ns = 0;
	tcp_start_timer(t, c, now_ns);
	return true;
}

static bool output_tail(struct tcp *t, struct conn *c, uint64_t now_ns, struct pkt_seg *s)
{
	uint32_t in_flight = c->snd_max - c->snd_una;
	uint32_t octets = (uint32_t)min_u64(in_flight, c->mss), fits;

	c->due &= (uint8_t)~DUE_TAIL;
	if (!octets)
		return false; /* acknowledged meanwhile */
	fits = fill_data(t, c, now_ns, s, c->snd_max - octets, octets);
	if (fits < octets) /* SACK blocks take room: the end it is, not the middle */
		fill_data(t, c, now_ns, s, c->snd_max - fits, fits);
	count_again(t, c);
	t->tally.tail_probes++;
	return true;
}

/* Book new octets, or those that go back to the network after a time-out. */
static void sent_now(struct tcp *t, struct conn *c, uint32_t span, uint64_t now_ns)
{
	if (seq_lt(c->snd_nxt, c->snd_max))
		count_again(t, c);
	c->snd_nxt += span;
	if (seq_gt(c->snd_nxt, c->snd_max)) {
		c->snd_max = c->snd_nxt;
		if (!c->rtt_start_ns && !c->retries && !c->loss.recovering) {
			c->rtt_start_ns = now_ns;
			c->rtt_seq = c->snd_nxt;
		}
	}
	tcp_start_timer(t, c, now_ns);
}

/* RFC 5681 4.1: after a pause the network's state is not known any more. */
static void restart_idle(struct conn *c, uint64_t now_ns)
{
	if (c->snd_una == c->snd_max && c->data_sent_ns && now_ns - c->data_sent_ns > c->rto_ns)
		c->cwnd = (uint32_t)min_u64(c->cwnd, tcp_initial_window(c->mss));
}

static bool output_data(struct tcp *t, struct conn *c, uint64_t now_ns, struct pkt_seg *s)
{
	const struct buf *out = &t->p.out[tcp_slot(t, c)];
	uint32_t sent = c->snd_nxt - c->snd_una, unsent = left_of(out->len, sent), len, span;
	bool fin;

	if (output_again(t, c, now_ns, s))
		return true;
	restart_idle(c, now_ns);
	len = data_now(c, sent, unsent);
	fin = state_flags[c->state] & WIRE_FIN && len == unsent && sent <= out->len;
	if (!len && !fin) {
		c->due &= (uint8_t)~DUE_DATA;
		tcp_start_timer(t, c, now_ns);
		return false;
	}
	span = fill_data(t, c, now_ns, s, c->snd_nxt, len + fin);
	if (span == unsent + fin)
		c->due &= (uint8_t)~DUE_DATA;
	sent_now(t, c, span, now_ns);
	return true;
}

static bool output_conn(struct tcp *t, struct conn *c, uint64_t now_ns, struct pkt_seg *s)
{
	if (c->due & DUE_DATA && output_data(t, c, now_ns, s))
		return true;
	if (c->due & DUE_TAIL && output_tail(t, c, now_ns, s))
		return true;
	if (c->due & DUE_PROBE) {
		/* A byte that was acknowledged long ago: the peer must answer with
		 * its window (Linux probes so too; RFC 9293 3.8.6.1 lets us choose). */
		c->due &= (uint8_t)~DUE_PROBE;
		fill_segment(t, c, now_ns, s);
		s->seq = c->snd_una - 1;
		t->tally.probes++;
		return true;
	}
	if (c->due & DUE_ACK) {
		fill_segment(t, c, now_ns, s);
		return true;
	}
	return false;
}

bool tcp_due(const struct tcp *t)
{
	return t->stub_count || t->due_first != TCP_NONE;
}

static bool output_stub(struct tcp *t, struct pkt_seg *s, uint16_t *slot)
{
	*slot = TCP_NONE;
	if (!t->stub_count)
		return false;
	*s = t->stub[t->stub_head];
	t->stub_head = (t->stub_head + 1) % STUBS_MAX;
	t->stub_count--;
	return true;
}

bool tcp_output(struct tcp *t, uint64_t now_ns, struct pkt_seg *s, uint16_t *slot)
{
	/* Stubs first, then in turn: a flood of SYNs cannot silence the connections. */
	t->stubs_first = !t->stubs_first;
	if (t->stubs_first && output_stub(t, s, slot))
		return true;
	while (t->due_first != TCP_NONE) {
		struct conn *c = &t->conn[t->due_first];

		*slot = t->due_first;
		t->due_first = c->due_next;
		c->queued = false;
		if (!c->due || !output_conn(t, c, now_ns, s))
			continue;
		if (c->due)
			tcp_mark(t, c, 0); /* to the end of the list: others first */
		return true;
	}
	return output_stub(t, s, slot);
}
