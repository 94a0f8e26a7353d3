/* SPDX-License-Identifier: GPL-2.0-only */
/* tcp: how connections come and go; slots, stubs and TIME-WAIT records at their limits. */
#include "tcp_rig.h"

/* --- the handshake without state --------------------------------------------------- */

/* A SYN from this port, answered; returns the segment that completes it. */
static struct pkt_seg handshake(uint16_t port, uint16_t mss, uint8_t wscale, bool ts)
{
	struct pkt_seg s = seg(WIRE_SYN, -1, 0, 0);

	s.flow = flow_of(port);
	s.mss = mss;
	s.wscale = wscale;
	s.has_ts = ts;
	s.ts_val = 5000;
	must(feed(s) == TCP_syn && sends() && sent.flags == (WIRE_SYN | WIRE_ACK));
	s.flags = WIRE_ACK;
	s.seq++;
	s.ack = sent.seq + 1;
	s.mss = 0;
	s.wscale = PKT_NO_SCALE;
	s.ts_ecr = sent.ts_val;
	return s;
}

static struct conn *open_from(uint16_t port)
{
	must(feed(handshake(port, 1460, PKT_NO_SCALE, false)) == TCP_opened);
	return &t->conn[ev.slot];
}

static void test_open(void)
{
	struct pkt_seg s;
	struct conn *c;

	fresh();
	is(feed(handshake(1000, 1460, 7, false)), TCP_opened, "ACK of the cookie opens");
	c = &t->conn[ev.slot];
	ok(ev.opened && !ev.len && !ev.fin && !ev.gone, "event: opened, nothing else");
	is_str(state_of(c), "ESTABLISHED", "its state");
	is(c->mss, 1460, "MSS of the SYN");
	is(c->snd_wnd, PEER_WINDOW << 7, "window of the ACK, scaled as the SYN said");
	is(c->cwnd, 14600, "initial window: ten segments (RFC 6928)");
	is(c->rto_ns, 1000 * ms, "first RTO 1 s (RFC 6298 2.1)");
	is(c->rcv_adv - c->rcv_nxt, WINDOW, "our window");
	ok(!sends(), "nothing to say");

	s = handshake(1001, 536, PKT_NO_SCALE, true);
	s.len = 30;
	now += 7 * ms;
	is(feed(s), TCP_opened, "data that acknowledges the cookie opens too");
	c = &t->conn[ev.slot];
	ok(ev.opened && ev.len == 30 && ev.data == bytes, "and is delivered");
	is(c->mss, 536 - 12, "MSS without the timestamp option");
	is(c->snd_wnd, PEER_WINDOW, "no scale");
	is(c->srtt_us, 7000, "the timestamp measured the handshake");

	tcp_abort(t, ev.slot);
	flush();
	s = handshake(1001, 536, PKT_NO_SCALE, true);
	now += TCP_RTO_FIRST_MS * ms;
	feed(s);
	is(t->conn[ev.slot].srtt_us, 0,
	   "one that took a second did not: the client's first ACK was lost");

	s = handshake(1002, 1460, PKT_NO_SCALE, false);
	s.len = 30;
	s.flags |= WIRE_FIN;
	is(feed(s), TCP_opened, "data and FIN open");
	ok(ev.opened && ev.fin && ev.len == 30, "both are delivered");
	is(t->conn[ev.slot].state, TCP_CLOSE_WAIT, "CLOSE_WAIT at once");

	s = handshake(1003, 65535, PKT_NO_SCALE, false);
	feed(s);
	is(t->conn[ev.slot].mss, 1460, "never a larger MSS than ours");
	is(feed(s), TCP_accepted, "the same ACK again is one of the connection");
	is(tcp_count(t), 4, "not another one");
}

static const struct {
	const char *name;
	unsigned flags;
	int seq; /* counted from that of the handshake's ACK */
	enum tcp_verdict want;
	unsigned answer; /* flags of it, 0: none */
} strays[] = {
	{ "ACK that is no cookie", WIRE_ACK, -1, TCP_stray, WIRE_RST },
	{ "FIN that is no cookie", WIRE_ACK | WIRE_FIN, -1, TCP_stray, WIRE_RST },
	{ "ACK that overtook the cookie", WIRE_ACK, 1, TCP_early, 0 },
	{ "FIN that overtook the cookie", WIRE_ACK | WIRE_FIN, 1, TCP_early, 0 },
	{ "SYN and ACK", WIRE_SYN | WIRE_ACK, 0, TCP_stray, WIRE_RST },
	{ "RST", WIRE_RST, 0, TCP_stray_rst, 0 },
	{ "RST and ACK of a cookie", WIRE_RST | WIRE_ACK, 0, TCP_stray_rst, 0 },
	{ "RST and SYN", WIRE_RST | WIRE_SYN, 0, TCP_stray_rst, 0 },
	{ "SYN and FIN", WIRE_SYN | WIRE_FIN, 0, TCP_bad_flags, 0 },
	{ "all flags but RST", 0xff & ~WIRE_RST, 0, TCP_bad_flags, 0 },
	{ "FIN alone", WIRE_FIN, 0, TCP_bad_flags, 0 },
	{ "no flag", 0, 0, TCP_bad_flags, 0 },
	{ "SYN with ECN setup (zephyr and friends refuse it)", WIRE_SYN | WIRE_ECE | WIRE_CWR, 0,
	  TCP_syn, WIRE_SYN | WIRE_ACK },
	{ "SYN with PSH and URG", WIRE_SYN | WIRE_PSH | WIRE_URG, 0, TCP_syn, WIRE_SYN | WIRE_ACK },
};

static void test_strays(void)
{
	for (unsigned i = 0; i < array_size(strays); i++) {
		struct pkt_seg s;
		fresh();
		s = handshake(1000, 1460, PKT_NO_SCALE, false);
		s.flags = (uint8_t)strays[i].flags;
		s.seq += (uint32_t)strays[i].seq;
		is_str(tcp_verdict_name(feed(s)), tcp_verdict_name(strays[i].want),
		       "no connection: %s", strays[i].name);
		ok(sends() == !!strays[i].answer &&
			   (!strays[i].answer || sent.flags == strays[i].answer),
		   "answered by flags 0x%02x", strays[i].answer);
		ok(strays[i].answer != WIRE_RST || sent.seq == s.ack,
		   "RST stands where the ACK pointed");
		is(tcp_count(t), 0, "nothing opened");
	}
}

/* Each hint has its place, also when all connections begin at once; here each has lost its
 * first segment. */
static void test_early_crowd(void)
{
	enum { CROWD = 200 };
	struct pkt_seg second[CROWD];
	unsigned kept = 0;

	fresh();
	for (unsigned i = 0; i < CROWD; i++) {
		second[i] = handshake((uint16_t)(2000 + i), 1460, PKT_NO_SCALE, false);
		second[i].seq += 30;
		second[i].len = 30;
	}
	now += 1000 * ms;
	for (unsigned i = 0; i < CROWD; i++)
		kept += feed(second[i]) == TCP_early;
	is(kept, CROWD, "of %u connections at once none is reset for what overtook", CROWD);
	ok(!sends(), "and none is answered");
	now += (TCP_EARLY_MS + 1) * ms;
	is(feed(second[0]), TCP_stray, "3 s without a word, and it is");
}

/* --- what the layer above does --------------------------------------------------------- */

static void test_took_less(void)
{
	struct pkt_seg s = seg(WIRE_ACK | WIRE_FIN, 0, 0, 100);
	struct conn *c = conn_in(TCP_ESTABLISHED);

	must(tcp_input(t, &s, NULL, now, &ev) == TCP_accepted);
	ok(ev.len == 100 && ev.fin, "100 bytes and a FIN are offered");
	ok(!tcp_took(t, &ev, 40, now), "40 are taken");
	is(c->rcv_nxt - IRS, 40, "no more is acknowledged");
	is_str(state_of(c), "ESTABLISHED", "the FIN has not come");
	wait_ns(TCP_DELACK_MS * ms + late);
	ok(sends_ack(ISS, IRS + 40), "the ACK says so");
	must(tcp_input(t, &s, NULL, now, &ev) == TCP_accepted);
	ok(ev.len == 60 && ev.data == bytes + 40 && ev.fin,
	   "the peer sends again: the rest is offered");
	ok(!tcp_took(t, &ev, 0, now) && c->rcv_nxt == IRS + 40, "none of it is taken");
	must(tcp_input(t, &s, NULL, now, &ev) == TCP_accepted);
	tcp_took(t, &ev, 60, now);
	tcp_check(t);
	is_str(state_of(c), "CLOSE_WAIT", "all of it, and the FIN with it");
	ok(sends_ack(ISS, IRS + 101), "acknowledged");
}

static void test_abort(void)
{
	struct conn *c = conn_in(TCP_ESTABLISHED);

	write_bytes(c, 1500);
	flush();
	tcp_abort(t, 0);
	tcp_check(t);
	is(tcp_count(t), 0, "abort: the slot is free at once");
	ok(!out[0].base, "its bytes are gone");
	ok(sends() && sent.flags == (WIRE_RST | WIRE_ACK) && sent.seq == ISS + 1500 &&
		   sent.ack == IRS,
	   "RST behind what was sent");
	ok(!sends(), "and nothing else");
	is(tcp_tally(t)->reset_out, 1, "tallied");
	is(wait_ns(100ull * NS_PER_S), TCP_NONE, "no timer is left");
	is(feed(seg(WIRE_ACK, 0, 0, 0)), TCP_stray, "what still comes is a stray");
}

static void test_linger(void)
{
	static const enum tcp_state states[] = { TCP_FIN_WAIT_2, TCP_CLOSING, TCP_LAST_ACK };

	for (unsigned i = 0; i < array_size(states); i++) {
		uint16_t slot = TCP_NONE;
		conn_in(states[i]);
		for (unsigned s = 1; s < TCP_LINGER_MS / 1000 && slot == TCP_NONE; s++, flush())
			slot = wait_ns(1000 * ms);
		is(slot, TCP_NONE, "%s, peer silent: lives for %u s", tcp_state_name(states[i]),
		   TCP_LINGER_MS / 1000 - 1);
		is(wait_ns(1000 * ms + late), 0, "then ends");
		is(tcp_tally(t)->linger_ended, 1, "tallied");
		is(tcp_count(t), 0, "its slot is free");
	}
}

static void test_link(void)
{
	struct conn *c = conn_in(TCP_ESTABLISHED);
	struct pkt_seg s = seg(WIRE_ACK, 0, 0, 10);

	s.link = (struct pkt_link){ { 2, 2, 2, 2, 2, 2 }, { 4, 4, 4, 4, 4, 4 }, 7 };
	s.seq += WINDOW;
	feed(s);
	is(c->link.vlan, PKT_UNTAGGED, "a segment outside the window does not move the way back");
	s.seq -= WINDOW, s.ack++;
	feed(s);
	is(c->link.vlan, PKT_UNTAGGED, "nor one with a wrong ACK");
	s.ack--;
	feed(s);
	ok(c->link.vlan == 7 && c->link.remote[0] == 2, "an accepted one does");
	flush();
}

/* --- limits ------------------------------------------------------------------------------ */

static void test_full(void)
{
	struct pkt_seg last;

	fresh();
	for (uint16_t i = 0; i < CONNS; i++)
		open_from(1000 + i);
	last = handshake(2000, 1460, PKT_NO_SCALE, false);
	is(feed(last), TCP_table_full, "one more than there are slots");
	ok(ev.slot == TCP_NONE && !sends(), "no event, no answer: the client will try again");
	tcp_abort(t, 2);
	flush();
	is(feed(last), TCP_opened, "a slot is free again: the same segment opens");
	is(ev.slot, 2, "that slot");
}

static void test_reuse_while_due(void)
{
	struct conn *c;

	fresh();
	c = open_from(1000);
	open_from(1001);
	write_bytes(c, 100);
	write_bytes(&t->conn[1], 50);
	tcp_abort(t, tcp_slot(t, c));
	tcp_check(t);
	ok(sends() && sent.flags & WIRE_RST, "reset while due");
	c = open_from(1002);
	is(tcp_slot(t, c), 0, "its slot is used again while it still stands on the list");
	ok(sends() && sent.flow.remote_port == 1001 && sent.len == 50,
	   "the other one's bytes leave");
	ok(!sends(), "the new one has nothing to say");
	write_bytes(c, 30);
	ok(sends() && sent.flow.remote_port == 1002 && sent.len == 30, "until it has");
	ok(!sends(), "once");
}

static void test_turns(void)
{
	unsigned turns = 0;

	fresh();
	for (uint16_t i = 0; i < 3; i++)
		write_bytes(open_from(1000 + i), 3 * 1460);
	for (unsigned i = 0; sends(); i++)
		turns += sent.flow.remote_port == 1000 + i % 3;
	is(turns, 9, "who has much to send takes turns with the others");
}

static void test_stubs(void)
{
	unsigned syns = 0;

	fresh();
	for (uint16_t i = 0; i < STUBS_MAX + 5; i++) {
		struct pkt_seg s = seg(WIRE_SYN, 0, 0, 0);
		s.flow = flow_of(100 + i);
		syns += feed(s) == TCP_syn;
	}
	is(syns, STUBS_MAX + 5, "more SYNs than answers may wait");
	is(tcp_tally(t)->stub_lost, 5, "the last ones are lost, and tallied");
	for (uint16_t i = 0; i < STUBS_MAX; i++)
		syns -= sends() && sent.flow.remote_port == 100 + i;
	is(syns, 5, "the others leave in their order");
	ok(!sends() && !tcp_due(t), "then none");
}

/* A flood of SYNs fills the stubs; connections are served all the same. */
static void test_stubs_in_turn(void)
{
	struct conn *c = conn_in(TCP_ESTABLISHED);
	struct pkt_seg seg = { 0 };
	unsigned answers = 0, stubs = 0;
	uint16_t slot;

	write_bytes(c, 16000);
	c->cwnd = c->snd_wnd = 1000 * MSS;
	for (unsigned i = 0; i < STUBS_MAX; i++)
		must(tcp_stub(t));
	for (unsigned i = 0; i < 20 && tcp_output(t, now, &seg, &slot); i++)
		slot == TCP_NONE ? stubs++ : answers++;
	is(answers, stubs, "stubs and connections send in turn");
	fresh();
}

/* --- TIME-WAIT ------------------------------------------------------------------------------ */

static struct timewait *enter(bool ts)
{
	struct conn *c = conn_in(TCP_FIN_WAIT_2);
	struct pkt_flow f = flow_of(1000);

	c->snd_una = c->snd_nxt = c->snd_max = ISS + 1;
	c->has_ts = ts;
	c->ts_recent = 5000;
	must(feed(seg(WIRE_ACK | WIRE_FIN, 0, 1, 0)) == TCP_accepted && ev.gone &&
	     sends_ack(ISS + 1, IRS + 1));
	return timewait_find(t, tcp_hash(t, &f), now);
}

static void test_timewait(void)
{
	struct timewait *w = enter(false);
	struct pkt_seg s = seg(WIRE_ACK, 1, 1, 0);

	is(feed(seg(WIRE_ACK, 1, 1, 0)), TCP_timewait, "a bare ACK in TIME-WAIT");
	ok(!sends(), "is ignored: no war of ACKs");
	now += 3000 * ms;
	is(feed(seg(WIRE_ACK | WIRE_FIN, 0, 1, 0)), TCP_timewait, "the FIN again");
	ok(sends_ack(ISS + 1, IRS + 1), "is acknowledged again");
	is(w->until_ns, now + TCP_TIMEWAIT_MS * ms, "and the time starts anew");
	is(feed(seg(WIRE_ACK, 0, 1, 50)), TCP_timewait, "data");
	ok(sends_ack(ISS + 1, IRS + 1), "is answered with an ACK");
	is(feed(seg(WIRE_RST, 1, 0, 0)), TCP_timewait, "RST");
	ok(!sends() && w->key, "is ignored (RFC 1337)");
	is(feed(seg(WIRE_SYN, 1, 0, 0)), TCP_timewait, "a SYN that is not newer");
	ok(sends_ack(ISS + 1, IRS + 1), "is answered with an ACK");
	now += TCP_TIMEWAIT_MS * ms - 1;
	is(feed(s), TCP_timewait, "until the last nanosecond");
	now++;
	is(feed(s), TCP_stray, "then it is a stray");
}

static const struct {
	const char *name;
	bool was_ts, is_ts;
	uint32_t ts;
	int seq;
	enum tcp_verdict want;
} reuse[] = {
	{ "larger sequence", false, false, 0, 2, TCP_syn },
	{ "much larger sequence", false, false, 0, INT32_MAX, TCP_syn },
	{ "equal sequence", false, false, 0, 1, TCP_timewait },
	{ "smaller sequence", false, false, 0, -100000, TCP_timewait },
	{ "smaller sequence, later timestamp", true, true, 5001, -100000, TCP_syn },
	{ "larger sequence, same timestamp", true, true, 5000, 2, TCP_syn },
	{ "smaller sequence, same timestamp", true, true, 5000, -5, TCP_timewait },
	{ "larger sequence, older timestamp", true, true, 4999, 2, TCP_timewait },
	{ "larger sequence, timestamp no more", true, false, 0, 2, TCP_syn },
	{ "smaller sequence, timestamp no more", true, false, 0, -5, TCP_timewait },
};

static void test_timewait_reuse(void)
{
	for (unsigned i = 0; i < array_size(reuse); i++) {
		struct pkt_seg s = seg(WIRE_SYN, reuse[i].seq, 0, 0);
		struct timewait *w = enter(reuse[i].was_ts);
		s.has_ts = reuse[i].is_ts;
		s.ts_val = reuse[i].ts;
		is_str(tcp_verdict_name(feed(s)), tcp_verdict_name(reuse[i].want),
		       "SYN in TIME-WAIT (RFC 6191): %s", reuse[i].name);
		ok(sends() && sent.flags ==
				      (reuse[i].want == TCP_syn ? WIRE_SYN | WIRE_ACK : WIRE_ACK),
		   "answer");
		ok(!timewait_find(t, w->key, now) == (reuse[i].want == TCP_syn), "record kept");
	}
}

static void test_timewait_evict(void)
{
	const unsigned sets = TIMEWAIT_MAX / TIMEWAIT_WAYS;
	unsigned same_set = 0, first = 0, kept = 0;
	uint16_t port[TIMEWAIT_WAYS + 1];

	fresh();
	for (uint16_t p = 1; same_set <= TIMEWAIT_WAYS; p++) {
		struct pkt_flow f = flow_of(p);
		unsigned set = tcp_hash(t, &f) / (1u << 20) % sets;
		if (!same_set)
			first = set;
		if (set == first)
			port[same_set++] = p;
	}
	for (unsigned i = 0; i < same_set; i++) {
		struct pkt_flow f = flow_of(port[i]);
		now += ms;
		is(tcp_tally(t)->timewait_evicted, 0, "record %u of a set of %u: room", i,
		   TIMEWAIT_WAYS);
		timewait_enter(t, tcp_new(t, &f, tcp_hash(t, &f)), now);
	}
	is(tcp_tally(t)->timewait_evicted, 1, "one too many: tallied");
	for (unsigned i = 0; i < same_set; i++) {
		struct pkt_flow f = flow_of(port[i]);
		if (timewait_find(t, tcp_hash(t, &f), now))
			kept |= 1u << i;
	}
	is(kept, 0x1e, "the oldest gave way");
	now += TCP_TIMEWAIT_MS * ms;
	struct pkt_flow f = flow_of(port[0]);
	timewait_enter(t, tcp_new(t, &f, tcp_hash(t, &f)), now);
	is(tcp_tally(t)->timewait_evicted, 1, "an expired record gives way without tally");
}

int main(void)
{
	test_open();
	test_strays();
	test_early_crowd();
	test_took_less();
	test_abort();
	test_linger();
	test_link();
	test_full();
	test_reuse_while_due();
	test_turns();
	test_stubs();
	test_stubs_in_turn();
	test_timewait();
	test_timewait_reuse();
	test_timewait_evict();
	return done();
}
