/* SPDX-License-Identifier: GPL-2.0-only */
#include "tcp_private.h"

/*
 * Connections whose handshake the kernel answered. The steering remembers their flows,
 * and is told by notes what becomes of each: CLOSING, then GONE. A note that was lost
 * would be a port that its client cannot use again, or an entry that nobody deletes; so
 * a flow stays in its slot until its note has a place, and in its TIME-WAIT record
 * until that is over, evicted, or taken over by a new connection.
 */

/* --- opening ------------------------------------------------------------------------ */

/* RFC 9293 3.7.1, and the floor of tcp_cookie.c */
static uint32_t mss_of(const struct pkt_seg *seg, const struct tcp_hint *hint)
{
	uint32_t least = 64, unsaid = pkt_is_ip4(&seg->flow) ? 536 : 1220;

	return hint->mss ? (uint32_t)max_u64(hint->mss, least) : unsaid;
}

/* The kernel keeps scale and SACK in the timestamp of its SYN-ACK: without timestamps
 * it offers neither (Linux: tcp_conn_request, cookie_timestamp_decode). Where the hint
 * is lost the client scales what we announce, for nearly all do, and we do not scale
 * what it announces: both windows are at most smaller than they could be. */
static void take_options(const struct tcp *t, struct conn *c, const struct tcp_hint *hint)
{
	bool scales = hint->scale != PKT_NO_SCALE;

	if (!c->has_ts)
		return;
	c->sack_ok = hint->mss && hint->sack_ok;
	c->snd_scale = hint->mss && scales ? (uint8_t)min_u64(hint->scale, WIRE_SCALE_MAX) : 0;
	c->rcv_scale = !hint->mss || scales ? t->p.scale : 0;
}

static bool same_flow(const struct pkt_flow *a, const struct pkt_flow *b)
{
	return !memcmp(a, b, sizeof *a);
}

/* What is still to be told of this flow is of a connection before. */
static void unsay(struct tcp *t, const struct pkt_flow *flow)
{
	for (unsigned i = 0; i < t->note_count; i++) {
		struct tcp_note *n = &t->note[(t->note_head + i) % FLOW_NOTES];

		if (same_flow(&n->flow, flow))
			n->was = n->now = TCP_FLOW_OPEN; /* nothing changes */
	}
	for (uint16_t i = t->owes_first; i != TCP_NONE; i = t->conn[i].owes_next)
		if (same_flow(&t->conn[i].flow, flow))
			t->conn[i].unsaid = true;
}

struct conn *adopt_open(struct tcp *t, const struct pkt_seg *seg, uint64_t hash,
			const struct tcp_hint *hint, uint64_t now_ns)
{
	uint32_t now = tcp_timestamp(0, now_ns);
	struct conn *c = tcp_begin(t, seg, hash, mss_of(seg, hint));

	if (!c)
		return NULL;
	unsay(t, &seg->flow);
	timewait_forget(t, hash);
	c->adopted = true;
	c->told = TCP_FLOW_OPEN;
	c->opened = seg->ack;
	/* Our clock goes on where the kernel's stands at most. */
	c->ts_offset = seg->ts_ecr + TCP_COOKIE_TS_MS - now;
	take_options(t, c, hint);
	c->rcv_adv = c->rcv_nxt + ((c->room >> c->rcv_scale) << c->rcv_scale);
	return c;
}

bool adopt_may_open(const struct pkt_seg *seg, const struct tcp_hint *hint)
{
	return hint && hint->opens && (seg->flags & (WIRE_SYN | WIRE_RST | WIRE_ACK)) == WIRE_ACK;
}

bool adopt_again(const struct conn *c, const struct pkt_seg *seg)
{
	return c->opened == seg->ack;
}

bool adopt_timewait_again(const struct tcp *t, const struct timewait *w, const struct pkt_seg *seg)
{
	return t->tw_flow[w - t->timewait].opened == seg->ack;
}

uint16_t tcp_replaced(struct tcp *t, const struct pkt_seg *seg, const struct tcp_hint *hint)
{
	struct conn *c = tcp_find(t, &seg->flow, tcp_hash(t, &seg->flow));
	uint16_t slot;

	if (!c || !adopt_may_open(seg, hint) || adopt_again(c, seg))
		return TCP_NONE;
	slot = tcp_slot(t, c);
	unsay(t, &seg->flow);
	c->adopted = false; /* so there is nothing to be told */
	t->tally.replaced++;
	tcp_free(t, c);
	return slot;
}

void tcp_turn_away(struct tcp *t, const struct pkt_seg *seg)
{
	tcp_answer_rst(t, seg);
	adopt_unknown(t, &seg->flow, tcp_hash(t, &seg->flow));
}

/* --- notes ---------------------------------------------------------------------------- */

static bool note_put(struct tcp *t, const struct pkt_flow *flow, enum tcp_flow was,
		     enum tcp_flow now)
{
	if (t->note_count == FLOW_NOTES)
		return false;
	t->note[(t->note_head + t->note_count++) % FLOW_NOTES] = (struct tcp_note){
		.flow = *flow,
		.was = (uint8_t)was,
		.now = (uint8_t)now,
	};
	return true;
}

static void owe(struct tcp *t, struct conn *c)
{
	uint16_t slot = tcp_slot(t, c);

	c->owes = true;
	c->owes_next = TCP_NONE;
	if (t->owes_first == TCP_NONE)
		t->owes_first = slot;
	else
		t->conn[t->owes_last].owes_next = slot;
	t->owes_last = slot;
}

void adopt_closing(struct tcp *t, struct conn *c)
{
	if (!c->adopted)
		return;
	if (note_put(t, &c->flow, TCP_FLOW_OPEN, TCP_FLOW_CLOSING))
		c->told = TCP_FLOW_CLOSING;
	else
		owe(t, c);
}

bool adopt_gone(struct tcp *t, struct conn *c)
{
	if (!c->owes && (!c->adopted || note_put(t, &c->flow, c->told, TCP_FLOW_GONE)))
		return true;
	if (!c->owes)
		owe(t, c);
	t->held++;
	return false;
}

/* For want of a place it is told when the next segment of the flow comes; and what has
 * a record, when that is over. */
void adopt_unknown(struct tcp *t, const struct pkt_flow *flow, uint64_t hash)
{
	if (!timewait_find(t, hash, 0))
		note_put(t, flow, TCP_FLOW_GONE, TCP_FLOW_GONE);
}

bool adopt_timewait(struct tcp *t, struct conn *c, struct timewait *w)
{
	struct timewait_flow *f = &t->tw_flow[w - t->timewait];

	if (c->owes || (w->key && !note_put(t, &f->flow, TCP_FLOW_CLOSING, TCP_FLOW_GONE)))
		return false;
	*f = (struct timewait_flow){
		.flow = c->flow,
		.opened = c->opened,
		.ts_offset = c->ts_offset,
		.rcv_scale = c->rcv_scale,
	};
	c->adopted = false; /* the record has it now */
	return true;
}

static bool ring_take(struct tcp *t, struct tcp_note *note)
{
	while (t->note_count) {
		*note = t->note[t->note_head];
		t->note_head = (t->note_head + 1) % FLOW_NOTES;
		t->note_count--;
		if (note->was != note->now || note->was == TCP_FLOW_GONE)
			return true;
	}
	return false;
}

/* A slot that was held for its note is free now. */
static void let_go(struct tcp *t, struct conn *c)
{
	c->hash_next = t->free;
	t->free = tcp_slot(t, c);
	t->held--;
}

static bool owed_take(struct tcp *t, struct tcp_note *note)
{
	while (t->owes_first != TCP_NONE) {
		struct conn *c = &t->conn[t->owes_first];
		bool held = c->state == TCP_FREE, unsaid = c->unsaid;

		*note = (struct tcp_note){
			.flow = c->flow,
			.was = c->told,
			.now = held ? TCP_FLOW_GONE : TCP_FLOW_CLOSING,
		};
		t->owes_first = c->owes_next;
		c->owes = c->unsaid = false;
		c->told = note->now;
		if (held)
			let_go(t, c);
		if (!unsaid)
			return true;
	}
	return false;
}

/* Records have no timer: a few are looked at now and then. */
static bool timewait_take(struct tcp *t, uint64_t now_ns, struct tcp_note *note)
{
	if (now_ns - t->swept_ns >= NS_PER_MS) {
		t->swept_ns = now_ns;
		t->sweep_left = TIMEWAIT_SWEEP;
	}
	while (t->sweep_left) {
		unsigned i = t->sweep = (t->sweep + 1) & (t->p.timewait - 1);
		struct timewait *w = &t->timewait[i];

		t->sweep_left--;
		if (!w->key || w->until_ns > now_ns)
			continue;
		w->key = 0;
		*note = (struct tcp_note){
			.flow = t->tw_flow[i].flow,
			.was = TCP_FLOW_CLOSING,
			.now = TCP_FLOW_GONE,
		};
		return true;
	}
	return false;
}

bool tcp_note(struct tcp *t, uint64_t now_ns, struct tcp_note *note)
{
	return t->p.adopts &&
	       (ring_take(t, note) || owed_take(t, note) || timewait_take(t, now_ns, note));
}

/* --- looking in ------------------------------------------------------------------------ */

static bool noted(const struct tcp *t, const struct pkt_flow *flow)
{
	for (unsigned i = 0; i < t->note_count; i++)
		if (same_flow(&t->note[(t->note_head + i) % FLOW_NOTES].flow, flow))
			return true;
	for (uint16_t i = t->owes_first; i != TCP_NONE; i = t->conn[i].owes_next)
		if (same_flow(&t->conn[i].flow, flow))
			return true;
	return false;
}

bool tcp_knows(struct tcp *t, const struct pkt_flow *flow)
{
	uint64_t hash = tcp_hash(t, flow);

	/* a record that is over, too, until it is swept */
	return tcp_find(t, flow, hash) || timewait_find(t, hash, 0) || noted(t, flow);
}

static void check_conn(const struct tcp *t, const struct conn *c)
{
	bool closing = c->state >= TCP_FIN_WAIT_1;

	must(c->adopted && !c->unsaid);
	must(c->told == (closing && !c->owes ? TCP_FLOW_CLOSING : TCP_FLOW_OPEN));
	must(!timewait_find((struct tcp *)t, tcp_hash(t, &c->flow), 0));
	for (unsigned i = 0; i < t->note_count; i++) {
		const struct tcp_note *n = &t->note[(t->note_head + i) % FLOW_NOTES];

		must(!same_flow(&n->flow, &c->flow) || n->now == n->was ||
		     (n->now == TCP_FLOW_CLOSING && closing));
	}
}

void adopt_check(const struct tcp *t)
{
	unsigned held = 0;

	for (uint16_t i = t->owes_first; i != TCP_NONE; i = t->conn[i].owes_next) {
		must(t->conn[i].owes && held <= t->p.max_conns);
		held += t->conn[i].state == TCP_FREE;
	}
	must(held == t->held && t->note_count <= FLOW_NOTES);
	for (unsigned i = 0; t->p.adopts && i < t->p.max_conns; i++)
		if (t->conn[i].state != TCP_FREE)
			check_conn(t, &t->conn[i]);
}
