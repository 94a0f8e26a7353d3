/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A script for two connections that were opened in good order: eight bytes a
 * step, {what, flags, sequence16, ack16, length and more16}. Segments count from
 * where the connection stands, so that most of them hit. Invariants besides
 * tcp_check: bytes come up in order, each the one of its number; exactly what was
 * taken is acknowledged; SACK names what lies past it and was sent; nothing leaves
 * beyond the peer's largest window or to anybody else, a RST is never answered,
 * and what leaves ends. Each script is played twice: with handshakes of our own, and
 * with the kernel's, where any segment may open a connection and each flow is told to be
 * closing and gone in this order, once.
 */
#include "tap.h"
#include "tcp_private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CONNS = 2, PEERS = 3, OUT_MAX = 4096, TURN_MAX = STUBS_MAX + CONNS * (OUT_MAX + 4) };

static struct tcp *t;
static struct buf_pool pool;
static struct buf out[CONNS];
static _Alignas(8) uint8_t blocks[BUF_SMALL + OUT_MAX]; /* too few */
static uint64_t now;
static bool adopts;
static enum tcp_flow flow[PEERS]; /* as it was told */

static struct pkt_seg segment(unsigned peer, unsigned flags)
{
	struct pkt_seg s = { .flow = { .remote = { [10] = 255, 255, 10, 0, 0, 2 },
				       .local = { [10] = 255, 255, 10, 0, 0, 1 },
				       .remote_port = (uint16_t)(1000 + peer),
				       .local_port = 80 },
			     .link.vlan = PKT_UNTAGGED,
			     .flags = (uint8_t)flags,
			     .wscale = PKT_NO_SCALE,
			     .window = 3000 };
	return s;
}

static void leave(struct pkt_seg *last)
{
	static uint8_t frame[FRAME_SIZE];
	struct pkt_seg s;
	uint16_t slot;

	for (unsigned turns = 0; tcp_output(t, now, &s, &slot); turns++) {
		must(turns < TURN_MAX && s.flow.local_port == 80 &&
		     s.flow.remote_port - 1000 < PEERS);
		if (slot != TCP_NONE) {
			const struct conn *c = &t->conn[slot];
			must(!memcmp(&s.flow, &c->flow, sizeof s.flow) && s.ack == c->rcv_nxt);
			must((uint32_t)s.window << c->rcv_scale == c->rcv_adv - c->rcv_nxt);
			must(c->sack_ok || !s.sack_count);
			for (unsigned i = 0; i < s.sack_count; i++)
				must(s.sack[i].left != s.sack[i].right &&
				     seq_le(s.sack[i].right, c->rcv_adv));
			must(!s.len || s.seq + s.len - c->snd_una <= c->snd_wnd_max);
		}
		pkt_emit(&s, frame, sizeof frame);
		tcp_check(t);
		*last = s;
	}
}

/* Takes some, and spoils what it does not. */
static void take(const struct tcp_event *ev, unsigned take_less)
{
	uint32_t before = t->conn[ev->slot].rcv_nxt, n = take_less ? ev->len / take_less : ev->len;

	must(ev->len <= t->conn[ev->slot].rcv_adv - before);
	for (uint32_t i = 0; i < ev->len; i++)
		must(ev->data[i] == (uint8_t)(before + i));
	if (ev->len > n)
		memset((uint8_t *)ev->data + n, 0xdb, ev->len - n);
	if (!tcp_took(t, ev, n, now))
		must(t->conn[ev->slot].rcv_nxt == before + n + (ev->fin && n == ev->len));
}

/* What was told, and what is. */
static void hear(void)
{
	struct tcp_note n;

	while (tcp_note(t, now, &n)) {
		enum tcp_flow *f = &flow[n.flow.remote_port - 1000];

		must(n.flow.remote_port - 1000 < PEERS);
		must(n.was == TCP_FLOW_GONE || (n.was == *f && n.now != n.was));
		*f = n.now;
		tcp_check(t);
	}
	for (unsigned i = 0; i < PEERS && adopts; i++) {
		struct pkt_seg s = segment(i, 0);
		const struct conn *c = tcp_find(t, &s.flow, tcp_hash(t, &s.flow));

		must(!c ||
		     flow[i] == (c->state >= TCP_FIN_WAIT_1 ? TCP_FLOW_CLOSING : TCP_FLOW_OPEN));
		must(flow[i] == TCP_FLOW_GONE || tcp_knows(t, &s.flow));
	}
}

static enum tcp_verdict input(const struct pkt_seg *s, const struct tcp_hint *hint,
			      struct tcp_event *ev)
{
	enum tcp_flow *f = &flow[s->flow.remote_port - 1000];
	enum tcp_verdict v;

	if (!adopts)
		return tcp_input(t, s, NULL, now, ev);
	tcp_replaced(t, s, hint);
	v = tcp_input(t, s, hint, now, ev);
	if (ev->opened)
		*f = TCP_FLOW_OPEN;
	if (v == TCP_table_full)
		tcp_turn_away(t, s);
	return v;
}

static void enter(struct pkt_seg *s, unsigned take_less, const struct tcp_hint *hint)
{
	static uint8_t data[65536];
	bool due = tcp_due(t);
	struct tcp_event ev;

	for (uint32_t i = 0; i < s->len; i++)
		data[i] = (uint8_t)(s->seq + i);
	s->data = data;
	input(s, hint, &ev);
	tcp_check(t);
	if (s->flags & WIRE_RST && !due) /* challenge ACKs are for RSTs inside the window only */
		must(!t->stub_count);
	if (ev.slot == TCP_NONE || ev.gone || (!ev.len && !ev.fin))
		return;
	must(!ev.len || (ev.data >= s->data && ev.data + ev.len <= s->data + s->len));
	do
		take(&ev, take_less);
	while (tcp_more(t, ev.slot, &ev));
	tcp_check(t);
}

static void handshake(unsigned peer)
{
	struct pkt_seg s = segment(peer, WIRE_SYN), last = { 0 };
	struct tcp_hint hint = { .opens = true,
				 .sack_ok = peer,
				 .scale = peer ? 3 : PKT_NO_SCALE,
				 .mss = peer ? 100 : 1460 };

	s.mss = peer ? 100 : 1460;
	s.has_ts = peer;
	s.sack_ok = true;
	s.seq = (uint32_t)-peer * 3;
	if (!adopts) {
		enter(&s, 0, NULL);
		leave(&last);
	}
	s.flags = WIRE_ACK;
	s.seq++;
	s.ack = last.seq + 1;
	s.mss = 0;
	s.sack_ok = false;
	enter(&s, 0, &hint);
	leave(&last);
}

static void step(const uint8_t b[8])
{
	uint16_t slot = b[0] >> 4 & 1, n = be16(b + 6) % OUT_MAX;
	struct conn *c = &t->conn[slot];
	struct pkt_seg s = segment(b[0] >> 4 & 3 ? 1 + (b[0] >> 5 & 1) : 0, b[1]), last;
	bool may_write = c->state == TCP_ESTABLISHED || c->state == TCP_CLOSE_WAIT;
	struct tcp_hint hint = { .opens = b[7] % 16 == 5,
				 .early = b[7] % 16 == 6,
				 .sack_ok = b[2] & 1,
				 .scale = b[3],
				 .mss = b[4] & 1 ? be16(b + 5) : 0 };

	s.seq = c->rcv_nxt + (uint32_t)(int16_t)be16(b + 2);
	s.ack = c->snd_una + (uint32_t)(int16_t)be16(b + 4);
	switch (b[0] & 7) {
	case 0:
		now += (uint64_t)be16(b + 6) * NS_PER_MS;
		while (tcp_tick(t, now) != TCP_NONE)
			tcp_check(t);
		break;
	case 1:
		if (may_write && buf_reserve(&pool, &out[slot], n + 1u))
			tcp_wrote(t, slot, n + 1u);
		break;
	case 2:
		if (may_write)
			tcp_close(t, slot, now);
		break;
	case 3:
		if (c->state != TCP_FREE && b[1] == 3)
			tcp_abort(t, slot);
		else if (b[1] == 5)
			tcp_mtu(t, &c->flow, s.ack, be16(b + 6) % 1600, now);
		else if (c->state != TCP_FREE)
			tcp_room(t, slot, be16(b + 6));
		break;
	case 4:
		s.ack = c->snd_max; /* all of it */ /* fallthrough */
	default:
		s.len = n % 1500;
		s.window = be16(b + 6) & 1 ? 0 : be16(b + 6);
		s.has_ts = b[0] & 8;
		s.ts_val = c->ts_recent + (uint32_t)(int8_t)b[7];
		enter(&s, b[0] >> 6, &hint);
	}
	tcp_check(t);
	if (!(b[6] & 0x40))
		hear();
	if (!(b[0] & 0x80))
		leave(&last);
	tcp_check(t);
}

static bool any_flow(void)
{
	for (unsigned i = 0; i < PEERS; i++)
		if (flow[i] != TCP_FLOW_GONE)
			return true;
	return false;
}

static void play(const uint8_t *data, size_t size)
{
	struct tcp_params p = { .max_conns = CONNS,
				.mss4 = 1460,
				.mss6 = 1440,
				.window = 4000,
				.adopts = adopts,
				.scale = 5,
				.secret = "fuzz",
				.pool = &pool,
				.out = out };
	size_t room = round_up(tcp_footprint(&p), 64);
	struct pkt_seg last;

	free(t);
	t = aligned_alloc(64, room);
	must(t);
	memset(t, 0, room);
	memset(flow, 0, sizeof flow);
	memset(out, 0, sizeof out);
	buf_pool_init(&pool, blocks, 1, 1, OUT_MAX);
	now = NS_PER_S;
	tcp_init(t, &p, now);
	handshake(0);
	handshake(1);
	for (; size >= 8; data += 8, size -= 8)
		step(data);
	for (uint16_t i = 0; i < CONNS; i++)
		if (tcp_state(t, i) != TCP_FREE)
			tcp_abort(t, i);
	leave(&last);
	tcp_check(t);
	must(!tcp_count(t) && !tcp_due(t));
	now += TCP_TIMEWAIT_MS * (uint64_t)NS_PER_MS;
	for (unsigned i = 0; any_flow() && i <= TIMEWAIT_MAX / TIMEWAIT_SWEEP; i++) {
		now += NS_PER_MS;
		hear();
	}
	must(!any_flow() && !t->held);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (unsigned i = 0; i < 2; i++) {
		adopts = i;
		play(data, size);
	}
	return 0;
}
