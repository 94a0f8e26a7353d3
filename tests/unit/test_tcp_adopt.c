/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Connections whose handshake the kernel answered, and the notes about their flows:
 * whatever happens while nobody listens, in the end each flow was told to be closing at
 * most once and gone once, in this order, and every slot is free.
 */
#include "tap.h"
#include "tcp_private.h"

enum { CONNS = 600, WINDOW = 16000, SCALE = 7 };

static const uint64_t ms = NS_PER_MS;

static struct tcp *t;
static struct buf_pool pool;
static struct buf out[CONNS];
static _Alignas(8) uint8_t blocks[64 * BUF_SMALL + 4 * 16384];
static uint64_t now;
static struct tcp_event ev;
static struct pkt_seg sent;

/* What was told: by port. */
static enum tcp_flow told[65536];
static unsigned tellings, goings;

static void fresh(unsigned conns)
{
	struct tcp_params p = {
		.max_conns = conns,
		.mss4 = 1460,
		.mss6 = 1440,
		.window = WINDOW,
		.adopts = true,
		.scale = SCALE,
		.secret = "not so secret",
		.pool = &pool,
		.out = out,
	};
	size_t size = round_up(tcp_footprint(&p), 64);

	free(t);
	t = aligned_alloc(64, size);
	must(t);
	memset(t, 0, size);
	memset(out, 0, sizeof out);
	memset(told, 0, sizeof told);
	tellings = goings = 0;
	buf_pool_init(&pool, blocks, 64, 4, 16384);
	now = 1000ull * NS_PER_S;
	tcp_init(t, &p, now);
}

static struct pkt_seg seg(uint16_t port, unsigned flags, uint32_t seq, uint32_t ack, uint32_t len)
{
	static uint8_t bytes[2000];

	return (struct pkt_seg){
		.flow = { .remote = { [10] = 255, 255, 10, 0, 0, 2 },
			  .local = { [10] = 255, 255, 10, 0, 0, 1 },
			  .remote_port = port,
			  .local_port = 8080 },
		.link.vlan = PKT_UNTAGGED,
		.seq = seq,
		.ack = ack,
		.flags = (uint8_t)flags,
		.window = 20000,
		.wscale = PKT_NO_SCALE,
		.data = bytes,
		.len = len,
	};
}

static const struct tcp_hint opens = { .opens = true, .early = true, .scale = 7, .mss = 1460 };

static enum tcp_verdict feed(struct pkt_seg s, const struct tcp_hint *hint)
{
	enum tcp_verdict v = tcp_input(t, &s, hint, now, &ev);

	if (ev.slot != TCP_NONE && !ev.gone && (ev.len || ev.fin))
		ev.gone = tcp_took(t, &ev, ev.len, now);
	tcp_check(t);
	return v;
}

static void flush(void)
{
	uint16_t slot;

	while (tcp_output(t, now, &sent, &slot))
		tcp_check(t);
}

/* Each flow: open (who opens it says so), closing, gone. */
static void hear(void)
{
	struct tcp_note n;

	while (tcp_note(t, now, &n)) {
		enum tcp_flow *is = &told[n.flow.remote_port];

		tcp_check(t);
		tellings++;
		goings += n.now == TCP_FLOW_GONE;
		if (n.was != TCP_FLOW_GONE)
			must(*is == n.was && n.now != n.was);
		*is = n.now;
	}
}

static void sweep(void)
{
	for (unsigned i = 0; i <= TIMEWAIT_MAX / TIMEWAIT_SWEEP; i++) {
		now += ms;
		hear();
	}
}

static uint16_t open_port(uint16_t port)
{
	must(feed(seg(port, WIRE_ACK, 101, 9001, 50), &opens) == TCP_opened);
	told[port] = TCP_FLOW_OPEN;
	return ev.slot;
}

/* Our FIN, theirs, TIME-WAIT. */
static void close_port(uint16_t port, uint16_t slot)
{
	tcp_close(t, slot, now);
	flush();
	must(feed(seg(port, WIRE_ACK | WIRE_FIN, 151, 9002, 0), NULL) == TCP_accepted && ev.gone);
	flush();
}

static unsigned known(void)
{
	unsigned n = 0;

	for (unsigned port = 0; port < 65536; port++)
		n += told[port] != TCP_FLOW_GONE;
	return n;
}

static void test_life(void)
{
	struct pkt_seg s = seg(1000, 0, 0, 0, 0);
	uint16_t slot;

	fresh(4);
	slot = open_port(1000);
	hear();
	ok(!tellings && tcp_knows(t, &s.flow), "open: nothing to tell, it is known");
	tcp_close(t, slot, now);
	hear();
	is(told[1000], TCP_FLOW_CLOSING, "our FIN is due: closing, before it leaves");
	flush();
	feed(seg(1000, WIRE_ACK | WIRE_FIN, 151, 9002, 0), NULL);
	flush();
	sweep();
	ok(told[1000] == TCP_FLOW_CLOSING && tcp_knows(t, &s.flow), "TIME-WAIT: still known");
	now += TCP_TIMEWAIT_MS * ms;
	ok(tcp_knows(t, &s.flow), "and when it is over, until that is told");
	sweep();
	ok(told[1000] == TCP_FLOW_GONE && tellings == 2 && !tcp_knows(t, &s.flow), "then gone");
}

static void test_ends(void)
{
	fresh(4);
	tcp_abort(t, open_port(1));
	feed(seg(2, WIRE_RST, 0, 0, 0), NULL); /* of nobody */
	open_port(3);
	feed(seg(3, WIRE_RST, 151, 0, 0), NULL);
	ok(ev.gone, "reset by the peer");
	tcp_close(t, open_port(4), now);
	flush();
	now += (TCP_LINGER_MS + 10) * ms;
	while (tcp_tick(t, now) != TCP_NONE)
		;
	hear();
	is(goings, 4, "aborted, unknown, reset, given up: each is gone at once");
	is(known() + tcp_count(t), 0, "nothing is left");
}

/* More than the ring holds, while nobody listens. */
static void test_nobody_listens(void)
{
	uint16_t slot[CONNS];

	fresh(CONNS);
	for (unsigned i = 0; i < CONNS; i++)
		slot[i] = open_port((uint16_t)(1000 + i));
	for (unsigned i = 0; i < CONNS; i++)
		tcp_close(t, slot[i], now);
	tcp_check(t);
	flush();
	is(t->note_count, FLOW_NOTES, "the ring is full of closings");
	for (unsigned i = 0; i < CONNS; i += 2)
		tcp_abort(t, slot[i]);
	tcp_check(t);
	is(t->held, CONNS / 2, "who ends now keeps the slot");
	is(feed(seg(99, WIRE_ACK, 1, 2, 3), &opens), TCP_table_full, "which nobody else gets");
	for (unsigned i = 1; i < CONNS; i += 2)
		must(feed(seg((uint16_t)(1000 + i), WIRE_ACK | WIRE_FIN, 151, 9002, 0), NULL) ==
			     TCP_accepted &&
		     ev.gone);
	is(t->held, CONNS - FLOW_NOTES / 2,
	   "whose closing is not told has no TIME-WAIT, and keeps the slot too");
	hear();
	is(t->held, 0, "all is told: no slot is held");
	is(known(), FLOW_NOTES / 2, "the others are in TIME-WAIT");
	now += TCP_TIMEWAIT_MS * ms;
	sweep();
	ok(!known() && goings == CONNS, "in the end all are gone, each once");
	ok(feed(seg(99, WIRE_ACK, 1, 2, 3), &opens) == TCP_opened, "slots are free again");
}

/* More closes than there are records. */
static void test_eviction(void)
{
	enum { FLOWS = 2 * TIMEWAIT_MAX };

	fresh(4);
	for (unsigned i = 0; i < FLOWS; i++) {
		close_port((uint16_t)(1000 + i), open_port((uint16_t)(1000 + i)));
		hear();
	}
	ok(known() <= TIMEWAIT_MAX && goings == FLOWS - known(), "evicted records: gone, at once");
	is(tcp_tally(t)->timewait_evicted, goings, "and counted");
	now += TCP_TIMEWAIT_MS * ms;
	sweep();
	ok(!known() && goings == FLOWS, "the others when they are over, each once");
}

/* A client comes again from its port, at any time in the old connection's life. */
static void test_again(void)
{
	static const struct {
		const char *name;
		unsigned how;
	} lives[] = { { "open", 0 },
		      { "its FIN is due, not told", 1 },
		      { "its FIN is due, told", 2 },
		      { "in TIME-WAIT, nothing told", 3 },
		      { "in TIME-WAIT, told", 4 },
		      { "TIME-WAIT over, not swept", 5 },
		      { "reset, not told", 6 } };

	for (unsigned i = 0; i < array_size(lives); i++) {
		struct pkt_seg s = seg(1000, WIRE_ACK, 77, 5555, 10);
		unsigned how = lives[i].how, before;
		uint16_t slot;

		fresh(2);
		slot = open_port(1000);
		if (how == 1 || how == 2)
			tcp_close(t, slot, now);
		if (how >= 3 && how <= 5)
			close_port(1000, slot);
		if (how == 6)
			feed(seg(1000, WIRE_RST, 151, 0, 0), NULL);
		if (how == 2 || how >= 4)
			if (how != 6)
				hear();
		if (how == 5)
			now += TCP_TIMEWAIT_MS * ms;
		is(tcp_replaced(t, &s, &opens), how <= 2 ? slot : TCP_NONE, "%s: replaced",
		   lives[i].name);
		is_str(tcp_verdict_name(feed(s, &opens)), "opened", "the new one opens");
		told[1000] = TCP_FLOW_OPEN;
		before = tellings;
		sweep();
		ok(tellings == before && told[1000] == TCP_FLOW_OPEN && tcp_count(t) == 1,
		   "nothing is told of the old one any more");
		is(tcp_tally(t)->replaced, how <= 2, "counted");
	}
}

/* Of a held slot, too. */
static void test_again_held(void)
{
	struct pkt_seg s = seg(1000 + CONNS - 2, WIRE_ACK, 77, 5555, 10);
	uint16_t slot[CONNS];

	fresh(CONNS);
	for (unsigned i = 0; i < CONNS - 1; i++)
		slot[i] = open_port((uint16_t)(1000 + i));
	for (unsigned i = 0; i < CONNS - 1; i++)
		tcp_close(t, slot[i], now);
	tcp_abort(t, slot[CONNS - 2]);
	is(t->held, 1, "a slot is held");
	is(tcp_replaced(t, &s, &opens), TCP_NONE, "there is nothing to replace");
	is(feed(s, &opens), TCP_opened, "its flow opens anew");
	told[s.flow.remote_port] = TCP_FLOW_OPEN;
	hear();
	ok(told[s.flow.remote_port] == TCP_FLOW_OPEN && !t->held, "what it owed is not told");
}

static void test_strangers(void)
{
	static const struct tcp_hint young = { .early = true };
	struct pkt_seg s;

	fresh(2);
	is(feed(seg(1, WIRE_ACK, 5, 6, 7), &young), TCP_early, "a first segment may be under way");
	flush();
	hear();
	ok(!t->stub_count && !tellings, "no RST, nothing told");
	is(feed(seg(1, WIRE_RST, 5, 0, 0), &young), TCP_stray_rst,
	   "but who resets is not waited for");
	hear();
	is(goings, 1, "gone");
	is(feed(seg(1, 0, 5, 0, 1), NULL), TCP_bad_flags, "no ACK, no SYN");
	is(feed(seg(1, WIRE_SYN | WIRE_FIN, 5, 0, 0), NULL), TCP_bad_flags, "SYN with FIN");
	feed(seg(3, WIRE_ACK, 5, 6, 7), NULL);
	open_port(3);
	goings = 0;
	hear();
	ok(!goings && told[3] == TCP_FLOW_OPEN, "unknown, and a moment later opened: not gone");
	goings = 1;
	tcp_refuse(t);
	is(feed(seg(2, WIRE_ACK, 5, 6, 7), &opens), TCP_stray, "refused: no more connections");
	flush();
	hear();
	ok(sent.flags == WIRE_RST && goings == 2, "RST, and gone");
	fresh(1);
	open_port(1);
	s = seg(2, WIRE_ACK, 5, 6, 7);
	is(feed(s, &opens), TCP_table_full, "no slot");
	tcp_turn_away(t, &s);
	flush();
	hear();
	ok(sent.flags == WIRE_RST && sent.flow.remote_port == 2 && goings == 1,
	   "turned away: RST, and gone");
}

/* Timestamps, scales, SACK and MSS of what the SYN said. */
static void test_options(void)
{
	static const struct {
		const char *name;
		struct tcp_hint hint;
		bool ts;
		uint8_t snd, rcv;
		bool sack;
		uint16_t mss;
	} cases[] = {
		{ "all", { true, true, true, 9, 1400 }, true, 9, SCALE, true, 1388 },
		{ "without timestamps", { true, true, true, 9, 1400 }, false, 0, 0, false, 1400 },
		{ "no scale", { true, true, true, PKT_NO_SCALE, 1400 }, true, 0, 0, true, 1388 },
		{ "scale beyond 14",
		  { true, true, false, 200, 1400 },
		  true,
		  14,
		  SCALE,
		  false,
		  1388 },
		{ "lost", { true, true, true, 9, 0 }, true, 0, SCALE, false, 524 },
		{ "lost, and no timestamps", { true, true, true, 9, 0 }, false, 0, 0, false, 536 },
		{ "tiny", { true, true, false, 0, 1 }, true, 0, SCALE, false, 52 },
		{ "jumbo", { true, true, false, 0, 9000 }, false, 0, 0, false, 1460 },
	};

	for (unsigned i = 0; i < array_size(cases); i++) {
		struct pkt_seg s = seg(1, WIRE_ACK, 101, 9001, 50);
		const struct conn *c;

		fresh(1);
		s.has_ts = cases[i].ts;
		s.ts_val = 5;
		s.ts_ecr = 0xffffffff;
		must(feed(s, &cases[i].hint) == TCP_opened);
		c = &t->conn[ev.slot];
		ok(c->snd_scale == cases[i].snd && c->rcv_scale == cases[i].rcv, "%s: scales",
		   cases[i].name);
		is(c->sack_ok, cases[i].sack, "SACK");
		is(c->mss, cases[i].mss, "MSS");
		tcp_mark(t, (struct conn *)c, DUE_ACK);
		flush();
		ok(sent.has_ts == cases[i].ts && (!sent.has_ts || sent.ts_val == 63),
		   "our clock goes on 64 ms above what the client echoes");
	}
}

/* Any room, any bytes: the right edge never moves back, and room is used. */
static void test_window(void)
{
	static const uint8_t scales[] = { 0, 1, 7, 10, 14 };
	uint32_t draw = 1;

	for (unsigned k = 0; k < array_size(scales); k++) {
		struct pkt_seg s = seg(1, WIRE_ACK, 101, 9001, 50);
		uint32_t edge = 0, back = 0, wrong = 0, shut = 0;
		struct conn *c;

		fresh(1);
		t->p.scale = scales[k];
		s.has_ts = true;
		must(feed(s, &opens) == TCP_opened);
		c = &t->conn[ev.slot];
		for (unsigned i = 0; i < 20000; i++) {
			draw = draw * 1664525 + 1013904223;
			s.seq = c->rcv_nxt;
			s.len = min_u64(draw >> 20 & 1023, c->rcv_adv - c->rcv_nxt);
			tcp_room(t, 0, i % 100 < 50 ? draw >> 8 & 0x3fff : WINDOW);
			if (feed(s, NULL) != TCP_accepted)
				wrong++;
			tcp_mark(t, c, DUE_ACK);
			flush();
			wrong += c->rcv_adv != c->rcv_nxt + ((uint32_t)sent.window << c->rcv_scale);
			back += i && seq_lt(c->rcv_adv, edge);
			shut += i % 100 == 99 && c->rcv_adv - c->rcv_nxt < WINDOW / 4;
			edge = c->rcv_adv;
		}
		is(back + wrong + shut, 0, "scale %u: never back, never shut with room", scales[k]);
	}
}

int main(void)
{
	test_life();
	test_ends();
	test_nobody_listens();
	test_eviction();
	test_again();
	test_again_held();
	test_strangers();
	test_options();
	test_window();
	return done();
}
