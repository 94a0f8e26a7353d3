/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * toy_tcp.h - the client's side of a TCP connection, small and in virtual time
 *
 * Place    Tests of whole workers. Whoever includes it says where segments go
 *          (toy_send), what to write (toy_write, toy_finish), and reads rx.
 * Model    What a server meets from kernels: bytes out of order are kept and told
 *          by SACK; three equal ACKs or a time-out bring the first unacknowledged
 *          bytes again; every second segment, and each that is out of order or
 *          old, is acknowledged at once, others after 40 ms (Linux). No congestion
 *          window: the server's window alone. When both FINs are through, it
 *          answers with ACK for 2 s, and with RST thereafter.
 * Units    Offsets count bytes of a direction; a FIN is one more.
 */
#ifndef TOY_TCP_H
#define TOY_TCP_H

#include "base.h"
#include "pkt.h"
#include "wire.h"

enum {
	TOY_TX = 1 << 17,
	TOY_WINDOW = 1 << 14,
	TOY_RTO_MS = 250,
	TOY_RTO_DOUBLINGS = 5,
	TOY_ACK_MS = 40,
	TOY_WAIT_MS = 2000,
};

struct toy {
	struct pkt_flow addr;
	uint16_t mss;
	bool ts, sack;
	enum { TOY_IDLE, TOY_SYN, TOY_UP, TOY_OVER } state;
	bool reset; /* by the server, or by toy_break */
	uint32_t isn, irs;
	/* out */
	uint8_t tx[TOY_TX];
	uint32_t len, una, nxt, most, limit, recover;
	bool fin;
	uint8_t scale; /* of the server's window */
	unsigned equal_acks, doublings;
	uint64_t rto_at;
	/* in: rx holds offsets [rd, rd + TOY_WINDOW) */
	uint8_t rx[TOY_WINDOW];
	bool have[TOY_WINDOW];
	uint32_t rd, rcv, top, latest, fin_at;
	bool fin_in;
	unsigned unacked;
	uint64_t ack_at, over_at;
	uint32_t ts_recent, ts_first;
	/* what no server may do */
	unsigned torn, beyond, behind;
};

static void toy_send(const struct pkt_seg *s);

/* --- out ------------------------------------------------------------------------------ */

/* The ranges beyond the gap, the one that came last first (RFC 2018 4). */
static inline void toy_sacks(const struct toy *t, struct pkt_seg *s)
{
	for (uint32_t at = t->rcv + 1; at < t->top && s->sack_count < 3;) {
		uint32_t left = at;

		while (at < t->top && t->have[at % TOY_WINDOW])
			at++;
		if (at > left) {
			unsigned to = s->sack_count++;
			if (t->latest >= left && t->latest < at && to) {
				s->sack[to] = s->sack[0];
				to = 0;
			}
			s->sack[to].left = t->irs + 1 + left;
			s->sack[to].right = t->irs + 1 + at;
		}
		at++;
	}
}

static inline void toy_emit(struct toy *t, unsigned flags, uint32_t at, uint32_t len,
			    uint64_t now_ns)
{
	struct pkt_seg s = {
		.flow = t->addr,
		.link.vlan = PKT_UNTAGGED,
		.flags = (uint8_t)flags,
		.seq = t->isn + 1 + at,
		.ack = t->irs + 1 + t->rcv + t->fin_in,
		.len = len,
		.data = t->tx + at,
		.has_ts = t->ts,
		.ts_val = (uint32_t)(now_ns / NS_PER_MS),
		.ts_ecr = t->ts_recent,
		.window = (uint16_t)(t->rd + TOY_WINDOW - t->rcv),
		.wscale = PKT_NO_SCALE,
	};

	if (flags & WIRE_SYN) {
		s.seq = t->isn;
		s.ack = 0;
		s.mss = t->mss;
		s.sack_ok = t->sack;
		s.wscale = 0; /* so that the server's counts */
	} else if (t->sack && t->top > t->rcv) {
		toy_sacks(t, &s);
	}
	t->ack_at = 0;
	t->unacked = 0;
	toy_send(&s);
}

static inline void toy_segment(struct toy *t, uint32_t at, uint64_t now_ns)
{
	uint32_t room = t->mss - (t->ts ? 12u : 0) - 28u; /* three blocks of SACK */
	uint32_t len = (uint32_t)min_u64(room, t->len - at);
	bool fin = t->fin && at + len == t->len;

	if (at < t->limit)
		len = (uint32_t)min_u64(len, t->limit - at);
	fin &= at + len == t->len;
	toy_emit(t, WIRE_ACK | (len ? WIRE_PSH : 0) | (fin ? WIRE_FIN : 0), at, len, now_ns);
	t->nxt = (uint32_t)max_u64(t->nxt, at + len + fin);
	t->most = (uint32_t)max_u64(t->most, t->nxt);
}

static inline void toy_pump(struct toy *t, uint64_t now_ns)
{
	if (t->state != TOY_UP)
		return;
	while (t->nxt < t->len + t->fin && (t->nxt < t->limit || t->nxt == t->len))
		toy_segment(t, t->nxt, now_ns);
	if (t->una < t->most && !t->rto_at)
		t->rto_at = now_ns + ((uint64_t)TOY_RTO_MS << t->doublings) * NS_PER_MS;
}

static inline void toy_start(struct toy *t, uint64_t now_ns)
{
	t->state = TOY_SYN;
	t->fin_at = UINT32_MAX;
	t->rto_at = now_ns + NS_PER_S;
	toy_emit(t, WIRE_SYN, 0, 0, now_ns);
}

static inline void toy_write(struct toy *t, const void *bytes, uint32_t len)
{
	must(!t->fin && len <= TOY_TX - t->len);
	memcpy(t->tx + t->len, bytes, len);
	t->len += len;
}

static inline void toy_finish(struct toy *t)
{
	t->fin = true;
}

/* RST, and to what still comes RST again. */
static inline void toy_break(struct toy *t, uint64_t now_ns)
{
	toy_emit(t, WIRE_RST | WIRE_ACK, t->nxt, 0, now_ns);
	t->state = TOY_OVER;
	t->reset = true;
	t->rto_at = t->ack_at = 0;
}

static inline uint64_t toy_timer(const struct toy *t)
{
	uint64_t at = t->rto_at ? t->rto_at : UINT64_MAX;
	return t->ack_at ? min_u64(at, t->ack_at) : at;
}

static inline void toy_tick(struct toy *t, uint64_t now_ns)
{
	if (t->rto_at && now_ns >= t->rto_at) {
		t->doublings += t->doublings < TOY_RTO_DOUBLINGS;
		t->rto_at = 0;
		if (t->state == TOY_SYN) {
			toy_start(t, now_ns);
			return;
		}
		t->nxt = t->una;
		t->recover = t->most;
		toy_pump(t, now_ns);
	}
	if (t->ack_at && now_ns >= t->ack_at)
		toy_emit(t, WIRE_ACK, t->nxt, 0, now_ns);
}

/* --- in ---------------------------------------------------------------------------------- */

static inline void toy_acked(struct toy *t, const struct pkt_seg *s, uint64_t now_ns)
{
	uint32_t ack = s->ack - t->isn - 1;

	if (ack > t->most || ack < t->una)
		return;
	t->limit = (uint32_t)max_u64(t->limit, ack + ((uint32_t)s->window << t->scale));
	if (ack > t->una) {
		t->una = ack;
		t->nxt = (uint32_t)max_u64(t->nxt, ack);
		t->doublings = t->equal_acks = 0;
		t->rto_at = 0;
	} else if (!s->len && ack < t->most && ++t->equal_acks == 3 && ack >= t->recover) {
		t->recover = t->most;
		toy_segment(t, ack, now_ns);
	}
}

static inline void toy_keep(struct toy *t, const struct pkt_seg *s, uint32_t at)
{
	for (uint32_t i = 0; i < s->len; i++) {
		uint32_t off = at + i, cell = off % TOY_WINDOW;

		if ((int32_t)(off - t->rcv) < 0)
			continue;
		if (off >= t->rd + TOY_WINDOW) {
			t->beyond++;
			return;
		}
		t->torn += t->have[cell] && t->rx[cell] != s->data[i];
		t->rx[cell] = s->data[i];
		t->have[cell] = true;
		t->top = (uint32_t)max_u64(t->top, off + 1);
		t->latest = off;
	}
	if (s->flags & WIRE_FIN)
		t->fin_at = at + s->len;
	while (t->rcv < t->top && t->have[t->rcv % TOY_WINDOW])
		t->rcv++;
	t->torn += t->fin_at < t->top;
	t->fin_in |= t->rcv == t->fin_at;
}

static inline void toy_data(struct toy *t, const struct pkt_seg *s, uint64_t now_ns)
{
	uint32_t at = s->seq - t->irs - 1;
	bool in_order = at == t->rcv && t->top == t->rcv;

	if (!s->len && !(s->flags & WIRE_FIN))
		return;
	toy_keep(t, s, at);
	if (!in_order || t->fin_in || ++t->unacked >= 2)
		t->ack_at = now_ns;
	else if (!t->ack_at)
		t->ack_at = now_ns + TOY_ACK_MS * (uint64_t)NS_PER_MS;
}

/* The first n bytes that are in order have been used. */
static inline void toy_used(struct toy *t, uint32_t n)
{
	for (; n--; t->rd++)
		t->have[t->rd % TOY_WINDOW] = false;
}

static inline void toy_after(struct toy *t, const struct pkt_seg *s, uint64_t now_ns)
{
	struct pkt_seg rst = { .flow = t->addr,
			       .link.vlan = PKT_UNTAGGED,
			       .flags = WIRE_RST,
			       .seq = s->ack,
			       .wscale = PKT_NO_SCALE };

	if (t->reset || now_ns > t->over_at + TOY_WAIT_MS * (uint64_t)NS_PER_MS)
		toy_send(&rst);
	else if (s->len || s->flags & (WIRE_FIN | WIRE_SYN))
		toy_emit(t, WIRE_ACK, t->nxt, 0, now_ns);
}

static inline void toy_up(struct toy *t, const struct pkt_seg *s, uint64_t now_ns)
{
	t->state = TOY_UP;
	t->irs = s->seq;
	t->ts_first = s->ts_val;
	t->limit = s->window;
	t->scale = s->wscale == PKT_NO_SCALE ? 0 : s->wscale;
	t->rto_at = 0;
	t->doublings = 0;
	toy_emit(t, WIRE_ACK, 0, 0, now_ns);
}

static inline void toy_input(struct toy *t, const struct pkt_seg *s, uint64_t now_ns)
{
	if (s->has_ts && t->ts && (int32_t)(s->ts_val - t->ts_recent) >= 0)
		t->ts_recent = s->ts_val;
	if (s->flags & WIRE_RST) {
		if (t->state == TOY_UP && s->seq == t->irs + 1 + t->rcv + t->fin_in) {
			t->reset = true;
			t->state = TOY_OVER;
			t->rto_at = t->ack_at = 0;
		}
		return;
	}
	if (t->state == TOY_OVER || t->state == TOY_IDLE) {
		toy_after(t, s, now_ns);
		return;
	}
	if (s->flags & WIRE_SYN) {
		if (t->state == TOY_SYN && s->ack == t->isn + 1)
			toy_up(t, s, now_ns);
		else
			t->ack_at = now_ns;
		return;
	}
	if (t->state != TOY_UP)
		return;
	if (t->ts && (!s->has_ts || (int32_t)(s->ts_val - t->ts_first) < 0))
		t->behind++; /* RFC 7323 5.3: the client may drop it */
	toy_acked(t, s, now_ns);
	toy_data(t, s, now_ns);
	if (t->fin_in && t->fin && t->una == t->len + 1) {
		toy_emit(t, WIRE_ACK, t->nxt, 0, now_ns);
		t->state = TOY_OVER;
		t->over_at = now_ns;
		t->rto_at = t->ack_at = 0;
	}
}

#endif
