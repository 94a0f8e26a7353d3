/* SPDX-License-Identifier: GPL-2.0-only */
/* tcp: what a segment, a timer and a window do to one connection; a table for each rule. */
#include "tcp_rig.h"

/* --- step 1: acceptability (RFC 9293 3.10.7.4, table of 3.4) ------------------------------ */

static const struct {
	const char *name;
	uint32_t window;
	int seq;
	uint32_t len;
	enum tcp_verdict want;
	uint32_t taken;
	bool ack_now;
} acceptability[] = {
	{ "no data, left edge", 1000, 0, 0, TCP_accepted, 0, false },
	{ "no data, last byte of the window", 1000, 999, 0, TCP_accepted, 0, false },
	{ "no data, right edge", 1000, 1000, 0, TCP_out_of_window, 0, true },
	{ "no data, one before (keep-alive)", 1000, -1, 0, TCP_duplicate, 0, true },
	{ "no data, half the numbers away", 1000, INT32_MIN, 0, TCP_duplicate, 0, true },
	{ "data in order", 1000, 0, 10, TCP_accepted, 10, false },
	{ "data fills the window", 1000, 0, 1000, TCP_accepted, 1000, false },
	{ "data beyond the window is cut", 1000, 0, 1400, TCP_accepted, 1000, false },
	{ "old data", 1000, -10, 10, TCP_duplicate, 0, true },
	{ "old data and one new byte", 1000, -10, 11, TCP_accepted, 1, false },
	{ "old data, new data past the window", 1000, -10, 1010, TCP_accepted, 1000, false },
	{ "data past a gap", 1000, 1, 10, TCP_out_of_order, 0, true },
	{ "data at the last byte of the window", 1000, 999, 10, TCP_out_of_order, 0, true },
	{ "data at the right edge", 1000, 1000, 10, TCP_out_of_window, 0, true },
	{ "keep-alive with a byte", 1000, -1, 1, TCP_duplicate, 0, true },
	{ "shut window, no data", 0, 0, 0, TCP_accepted, 0, false },
	{ "shut window, no data, one ahead", 0, 1, 0, TCP_out_of_window, 0, true },
	{ "shut window, probe with a byte", 0, 0, 1, TCP_accepted, 0, true },
	{ "shut window, probe one ahead", 0, 1, 1, TCP_out_of_window, 0, true },
};

static void test_acceptability(void)
{
	for (unsigned i = 0; i < array_size(acceptability); i++) {
		struct conn *c = conn_in(TCP_ESTABLISHED);
		c->room = acceptability[i].window;
		c->rcv_adv = IRS + c->room;
		is_str(tcp_verdict_name(
			       feed(seg(WIRE_ACK, acceptability[i].seq, 0, acceptability[i].len))),
		       tcp_verdict_name(acceptability[i].want), "acceptable? %s",
		       acceptability[i].name);
		is(c->rcv_nxt - IRS, acceptability[i].taken, "bytes taken");
		ok(sends() == acceptability[i].ack_now, "ACK now: %d", acceptability[i].ack_now);
		ok(!acceptability[i].ack_now || (sent.seq == ISS && sent.ack == c->rcv_nxt),
		   "its numbers");
	}
}

/* --- steps 2 and 4: RST and SYN (RFC 5961 3.2, 4.2) ------------------------------------------ */

static const struct {
	const char *name;
	unsigned flags;
	int seq;
	enum tcp_verdict want;
	bool answered;
} intruders[] = {
	{ "RST, exact", WIRE_RST, 0, TCP_reset_in, false },
	{ "RST and ACK, exact", WIRE_RST | WIRE_ACK, 0, TCP_reset_in, false },
	{ "RST, one ahead", WIRE_RST, 1, TCP_challenge, true },
	{ "RST, last byte of the window", WIRE_RST, WINDOW - 1, TCP_challenge, true },
	{ "RST, right edge", WIRE_RST, WINDOW, TCP_out_of_window, false },
	{ "RST, one before", WIRE_RST, -1, TCP_out_of_window, false },
	{ "RST, far away", WIRE_RST, INT32_MIN, TCP_out_of_window, false },
	{ "SYN, exact", WIRE_SYN, 0, TCP_challenge, true },
	{ "SYN, in the window", WIRE_SYN, 100, TCP_challenge, true },
	{ "SYN and ACK", WIRE_SYN | WIRE_ACK, 0, TCP_challenge, true },
	{ "SYN, ECN setup", WIRE_SYN | WIRE_ECE | WIRE_CWR, 5, TCP_challenge, true },
	{ "SYN, outside", WIRE_SYN, 100000, TCP_out_of_window, true },
	{ "SYN of the handshake, again", WIRE_SYN, -1, TCP_duplicate, true },
	{ "no ACK flag", WIRE_PSH, 0, TCP_bad_flags, false },
	{ "no flag at all", 0, 0, TCP_bad_flags, false },
	{ "FIN without ACK", WIRE_FIN, 0, TCP_bad_flags, false },
};

static void test_intruders(void)
{
	for (unsigned state = TCP_ESTABLISHED; state <= TCP_LAST_ACK; state++)
		for (unsigned i = 0; i < array_size(intruders); i++) {
			struct conn *c = conn_in(state);
			bool gone = intruders[i].want == TCP_reset_in;
			uint32_t seq = c->snd_max;
			is_str(tcp_verdict_name(
				       feed(seg(intruders[i].flags, intruders[i].seq, 0, 0))),
			       tcp_verdict_name(intruders[i].want), "%s: %s", tcp_state_name(state),
			       intruders[i].name);
			ok(intruders[i].answered ? sends_ack(seq, IRS) : !sends(), "answered: %d",
			   intruders[i].answered);
			ok(ev.gone == gone && tcp_count(t) == !gone &&
				   c->state == (gone ? TCP_FREE : state),
			   "gone: %d", gone);
		}
}

/* --- step 5: ACK (RFC 9293 3.10.7.4, RFC 5961 5.2) --------------------------------------------- */

static const struct {
	const char *name;
	int ack;
	uint32_t len;
	enum tcp_verdict want;
	uint32_t acked;
	bool answered;
} acks[] = {
	{ "of nothing new", 0, 0, TCP_accepted, 0, false },
	{ "of one byte", 1, 0, TCP_accepted, 1, false },
	{ "of a segment", 1000, 0, TCP_accepted, 1000, false },
	{ "of all", 2500, 0, TCP_accepted, 2500, false },
	{ "of a byte never sent", 2501, 0, TCP_bad_ack, 0, true },
	{ "of far more", 1000000, 0, TCP_bad_ack, 0, true },
	{ "of a byte never sent, with data", 2501, 9, TCP_bad_ack, 0, true },
	{ "older", -1, 0, TCP_old_ack, 0, false },
	{ "older, with data", -1, 9, TCP_accepted, 0, false },
	{ "a window older", -PEER_WINDOW, 9, TCP_accepted, 0, false },
	{ "more than a window older", -PEER_WINDOW - 1, 9, TCP_bad_ack, 0, true },
};

static void test_acks(void)
{
	for (unsigned i = 0; i < array_size(acks); i++) {
		struct conn *c = conn_in(TCP_ESTABLISHED);
		write_bytes(c, 2500);
		is(flush(), 3, "2500 bytes leave in three segments");
		is_str(tcp_verdict_name(feed(seg(WIRE_ACK, 0, acks[i].ack, acks[i].len))),
		       tcp_verdict_name(acks[i].want), "ACK %s", acks[i].name);
		is(c->snd_una - ISS, acks[i].acked, "acknowledged");
		is(out[0].len, 2500 - acks[i].acked, "kept");
		is(ev.len, acks[i].want == TCP_accepted ? acks[i].len : 0,
		   "data of the same segment");
		ok(acks[i].answered ? sends_ack(ISS + 2500, IRS) : !sends(), "answered: %d",
		   acks[i].answered);
		is(c->at_rtx_ns != 0, acks[i].acked != 2500,
		   "the timer runs while anything is in flight");
	}
}

static void test_window_updates(void)
{
	static const struct {
		const char *name;
		int seq, ack;
		uint16_t window;
		uint32_t want;
	} steps[] = {
		{ "first", 0, 0, 5000, 5000 },
		{ "same numbers again, smaller", 0, 0, 4000, 4000 },
		{ "newer sequence", 10, 0, 6000, 6000 },
		{ "newer ACK", 10, 10, 3000, 3000 },
		{ "older sequence", 5, 10, 9999, 3000 },
		{ "older ACK", 10, 5, 9999, 3000 },
		{ "newer again", 11, 10, 0, 0 },
	};
	struct conn *c = conn_in(TCP_ESTABLISHED);

	write_bytes(c, 100);
	flush();
	for (unsigned i = 0; i < array_size(steps); i++) {
		struct pkt_seg s = seg(WIRE_ACK, steps[i].seq, steps[i].ack, 0);
		s.window = steps[i].window;
		feed(s);
		is(c->snd_wnd, steps[i].want, "window update: %s", steps[i].name);
	}
	is(c->snd_wnd_max, PEER_WINDOW, "the largest is remembered");

	c = conn_in(TCP_ESTABLISHED);
	c->snd_scale = 7;
	feed(seg(WIRE_ACK, 0, 0, 0));
	is(c->snd_wnd, PEER_WINDOW << 7, "scaled");
}

/* --- steps 7 and 8: FIN in each state ------------------------------------------------------------ */

enum { GONE = 100, TIMEWAIT };

static const struct {
	enum tcp_state from;
	bool fin, acks_ours;
	unsigned to;
	bool answered;
} changes[] = {
	{ TCP_ESTABLISHED, true, false, TCP_CLOSE_WAIT, true },
	{ TCP_CLOSE_WAIT, false, false, TCP_CLOSE_WAIT, false },
	{ TCP_FIN_WAIT_1, false, false, TCP_FIN_WAIT_1, false },
	{ TCP_FIN_WAIT_1, false, true, TCP_FIN_WAIT_2, false },
	{ TCP_FIN_WAIT_1, true, false, TCP_CLOSING, true },
	{ TCP_FIN_WAIT_1, true, true, TIMEWAIT, true },
	{ TCP_FIN_WAIT_2, false, true, TCP_FIN_WAIT_2, false },
	{ TCP_FIN_WAIT_2, true, true, TIMEWAIT, true },
	{ TCP_CLOSING, false, false, TCP_CLOSING, false },
	{ TCP_CLOSING, false, true, TIMEWAIT, false },
	{ TCP_LAST_ACK, false, false, TCP_LAST_ACK, false }, /* smoltcp#470: any ACK ended it */
	{ TCP_LAST_ACK, false, true, GONE, false },
};

static void test_changes(void)
{
	struct pkt_flow f = flow_of(1000);

	for (unsigned i = 0; i < array_size(changes); i++) {
		struct conn *c = conn_in(changes[i].from);
		uint32_t seq = c->snd_max;
		bool over = changes[i].to >= GONE;
		if (changes[i].from == TCP_FIN_WAIT_2) /* its FIN is acknowledged already */
			seq = c->snd_una = c->snd_nxt = c->snd_max = ISS + 1;
		feed(seg(WIRE_ACK | (changes[i].fin ? WIRE_FIN : 0), 0, changes[i].acks_ours, 0));
		is_str(state_of(c), tcp_state_name(over ? TCP_FREE : changes[i].to),
		       "%s, FIN %d, ACK of ours %d", tcp_state_name(changes[i].from),
		       changes[i].fin, changes[i].acks_ours);
		is(ev.gone, over, "slot is free: %d", over);
		is(timewait_find(t, tcp_hash(t, &f), now) != NULL, changes[i].to == TIMEWAIT,
		   "TIME-WAIT record");
		ok(changes[i].answered ? sends_ack(seq, IRS + 1) : !sends(), "answered: %d",
		   changes[i].answered);
		is(tcp_tally(t)->closed, over, "closed in good order: %d", over);
	}
}

/* Once its FIN has come the peer says nothing that counts. */
static void test_after_fin(void)
{
	static const enum tcp_state states[] = { TCP_CLOSE_WAIT, TCP_CLOSING, TCP_LAST_ACK };

	for (unsigned i = 0; i < array_size(states); i++) {
		struct conn *c = conn_in(states[i]);
		is(feed(seg(WIRE_ACK, 0, 0, 10)), TCP_accepted, "%s: data behind the FIN",
		   state_of(c));
		ok(!ev.len && c->rcv_nxt == IRS, "is ignored");
		is(feed(seg(WIRE_ACK | WIRE_FIN, -1, 0, 0)), TCP_duplicate, "the FIN again");
		ok(sends_ack(c->snd_max, IRS), "is acknowledged again");
	}
}

static void test_fin_with_data(void)
{
	struct conn *c = conn_in(TCP_ESTABLISHED);

	feed(seg(WIRE_ACK | WIRE_FIN, 5, 0, 5));
	is_str(state_of(c), "ESTABLISHED", "FIN past a gap does not count");
	flush();
	feed(seg(WIRE_ACK | WIRE_FIN, 0, 0, 10));
	is_str(state_of(c), "CLOSE_WAIT", "FIN behind data in one segment counts");
	ok(sends_ack(ISS, IRS + 11), "and is acknowledged with it");

	c = conn_in(TCP_ESTABLISHED);
	c->room = 5, c->rcv_adv = IRS + 5;
	feed(seg(WIRE_ACK | WIRE_FIN, 0, 0, 10));
	is_str(state_of(c), "ESTABLISHED", "FIN behind data that is cut off does not count");
	is(c->rcv_nxt - IRS, 5, "the data before the cut does");
	c->room = 0;
	feed(seg(WIRE_ACK | WIRE_FIN, 5, 0, 0));
	is_str(state_of(c), "CLOSE_WAIT", "a bare FIN needs no window");
	ok(sends_ack(ISS, IRS + 6) && !sent.window, "and opens none");
}

static void test_our_fin(void)
{
	struct conn *c = conn_in(TCP_ESTABLISHED);

	write_bytes(c, 1500);
	tcp_close(t, 0, now);
	ok(sends() && sent.flags == WIRE_ACK && sent.len == 1000, "first segment without FIN");
	ok(sends() && sent.flags == (WIRE_ACK | WIRE_PSH | WIRE_FIN) && sent.len == 500,
	   "last one with it");
	ok(!sends(), "then nothing");
	feed(seg(WIRE_ACK, 0, 1500, 0));
	is_str(state_of(c), "FIN_WAIT_1", "all but the FIN acknowledged");
	wait_ns(TCP_RTO_FIRST_MS * ms + late);
	ok(sends() && sent.flags == (WIRE_ACK | WIRE_FIN) && !sent.len && sent.seq == ISS + 1500,
	   "FIN again");
	feed(seg(WIRE_ACK, 0, 1501, 0));
	is_str(state_of(c), "FIN_WAIT_2", "FIN acknowledged");
	feed(seg(WIRE_ACK, 0, 1501, 10));
	is(ev.len, 10, "half closed, the peer may still send");

	c = conn_in(TCP_ESTABLISHED);
	tcp_close(t, 0, now);
	feed(seg(WIRE_ACK, 0, 0, 0));
	is_str(state_of(c), "FIN_WAIT_1", "an ACK before the FIN has left does not acknowledge it");
	ok(sends() && sent.flags == (WIRE_ACK | WIRE_FIN), "it leaves then");

	c = conn_in(TCP_CLOSE_WAIT);
	tcp_close(t, 0, now);
	is_str(state_of(c), "LAST_ACK", "close after the peer's FIN");
	ok(sends() && sent.flags == (WIRE_ACK | WIRE_FIN) && sent.seq == ISS, "FIN alone");
}

/* --- RTO: RFC 6298 ------------------------------------------------------------------------------- */

static void test_rto(void)
{
	static const struct {
		unsigned rtt_ms, srtt_us, rttvar_us, rto_us;
	} steps[] = {
		{ 500, 500000, 250000, 1500000 }, /* 2.2: R, R/2, R + 4 * R/2 */
		{ 300, 475000, 237500, 1425000 }, /* 2.3 with alpha 1/8, beta 1/4 */
		{ 475, 475000, 178125, 1187500 },
	};
	struct conn *c = conn_in(TCP_ESTABLISHED);
	int acked = 0;

	for (unsigned i = 0; i < array_size(steps); i++) {
		write_bytes(c, 10);
		flush();
		now += steps[i].rtt_ms * ms;
		feed(seg(WIRE_ACK, 0, acked += 10, 0));
		is(ev.rtt_ns, steps[i].rtt_ms * ms, "round trip %u: measured", i);
		is(c->srtt_us, steps[i].srtt_us, "SRTT");
		is(c->rttvar_us, steps[i].rttvar_us, "RTTVAR");
		is(c->rto_ns, steps[i].rto_us * 1000ull, "RTO");
	}

	c = conn_in(TCP_ESTABLISHED);
	write_bytes(c, 10);
	flush();
	now += ms;
	feed(seg(WIRE_ACK, 0, 10, 0));
	is(c->rto_ns, TCP_RTO_MIN_MS * ms, "a fast network: the minimum");
}

static void test_backoff(void)
{
	static const unsigned gaps_s[] = { 1, 2, 4, 8, 16, 32, 60, 60 };
	struct conn *c = conn_in(TCP_ESTABLISHED);
	uint64_t wrong = 0;

	_Static_assert(array_size(gaps_s) == TCP_RETRIES + 1, "the last one is the end");
	write_bytes(c, 2500);
	flush();
	for (unsigned i = 0; i < TCP_RETRIES; i++) {
		wait_ns(gaps_s[i] * 1000 * ms - ms);
		wrong += sends();
		wait_ns(ms + late);
		ok(sends() && sent.seq == ISS && sent.len == MSS,
		   "time-out %u: first segment again after %u s", i + 1, gaps_s[i]);
		wrong += sends();
		is(c->cwnd, MSS, "window is one segment");
	}
	is(wrong, 0, "nothing else was sent");
	is(c->ssthresh, 2 * MSS,
	   "threshold: half of the flight, two segments at least, once for a loss");
	is(tcp_tally(t)->retransmits, TCP_RETRIES, "retransmissions tallied");
	is(wait_ns(60 * 1000 * ms + late), 0, "then the connection is given up");
	is(tcp_count(t), 0, "its slot is free");
	is(tcp_tally(t)->timed_out, 1, "tallied");
	ok(!out[0].base, "its bytes are gone");
}

static void test_karn(void)
{
	struct conn *c = conn_in(TCP_ESTABLISHED);

	write_bytes(c, 10);
	flush();
	wait_ns(1000 * ms + late);
	flush();
	wait_ns(2000 * ms + late);
	is(flush(), 1, "sent a third time");
	feed(seg(WIRE_ACK, 0, 10, 0));
	is(ev.rtt_ns, 0, "Karn: the ACK of a retransmission measures nothing");
	is(c->srtt_us, 0, "nor does the estimator see it");
	write_bytes(c, 10);
	flush();
	wait_ns(1000 * ms + late);
	is(flush(), 1, "the next loss: back-off starts anew (picotcp#69)");
	feed(seg(WIRE_ACK, 0, 20, 0));
	write_bytes(c, 10);
	flush();
	now += 300 * ms;
	feed(seg(WIRE_ACK, 0, 30, 0));
	is(ev.rtt_ns, 300 * ms, "and what goes at the first time measures again");
}

/* After a time-out SND.NXT goes back, but what we say without data must still
 * stand where the peer expects it, or the peer drops it (RFC 9293 3.4). */
static void test_ack_after_timeout(void)
{
	struct conn *c = conn_in(TCP_ESTABLISHED);

	write_bytes(c, 2500);
	flush();
	wait_ns(1000 * ms + late);
	is(flush(), 1, "one segment again");
	feed(seg(WIRE_ACK, 5, 0, 10));
	ok(sends_ack(ISS + 2500, IRS), "an ACK meanwhile stands behind all that was sent");
	tcp_abort(t, tcp_slot(t, c));
	ok(sends() && sent.flags == (WIRE_RST | WIRE_ACK) && sent.seq == ISS + 2500,
	   "and so does a RST");
}

/* --- windows: persist, silly windows, delayed ACK --------------------------------------------------- */

static void shut(uint16_t window)
{
	struct pkt_seg s = seg(WIRE_ACK, 0, 0, 0);

	s.window = window;
	feed(s);
}

static void test_persist(void)
{
	static const unsigned gaps_s[] = { 1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60, 60 };
	struct conn *c = conn_in(TCP_ESTABLISHED);

	shut(0);
	write_bytes(c, 10);
	ok(!sends(), "shut window: nothing goes");
	for (unsigned i = 0; i < array_size(gaps_s); i++) {
		wait_ns(gaps_s[i] * 1000 * ms - ms);
		must(!sends());
		wait_ns(ms + late);
		ok(sends_ack(ISS - 1, IRS), "probe %u after %u s", i + 1, gaps_s[i]);
		shut(0);
	}
	is(tcp_tally(t)->probes, array_size(gaps_s), "for ever, while they are answered");
	shut(PEER_WINDOW);
	ok(sends() && sent.len == 10, "the window opens: out it goes");
	wait_ns(1000 * ms + late);
	ok(sends() && sent.len == 10 && sent.seq == ISS,
	   "lost: sent again after one RTO, not after the probes' 60 s");
	is(c->state, TCP_ESTABLISHED, "and the connection lives");

	conn_in(TCP_ESTABLISHED);
	shut(0);
	write_bytes(t->conn, 10);
	flush();
	for (unsigned i = 0; i < 20 && tcp_count(t); i++, flush())
		wait_ns(61000 * ms);
	is(tcp_count(t), 0, "probes that nobody answers end (RFC 9293 3.8.6.1)");
}

static void test_send_silly(void)
{
	struct conn *c = conn_in(TCP_ESTABLISHED);

	write_bytes(c, 3000);
	shut(1500);
	c->snd_wnd_max = 20000;
	ok(sends() && sent.len == 1000, "a full segment");
	ok(!sends(), "not the 500 that the window leaves, while more waits (RFC 9293 3.8.6.2.1)");
	shut(3000);
	is(flush(), 2, "the rest when the window allows full ones");
	write_bytes(c, 1);
	shut(3001);
	ok(sends() && sent.len == 1, "the last byte goes at once, in flight or not: no Nagle");
}

static void test_receive_silly(void)
{
	struct conn *c = conn_in(TCP_ESTABLISHED);
	uint32_t edge = c->rcv_adv;

	tcp_room(t, 0, 0);
	feed(seg(WIRE_ACK, 0, 0, WINDOW / 2));
	feed(seg(WIRE_ACK, WINDOW / 2, 0, WINDOW / 2));
	ok(sends() && !sent.window && sent.ack == IRS + WINDOW, "full: window 0");
	tcp_room(t, 0, MSS - 1);
	ok(!sends(), "less than a segment of room: no update (RFC 9293 3.8.6.2.2)");
	tcp_room(t, 0, MSS);
	ok(sends() && sent.window == MSS, "a segment of room: update at once");
	tcp_room(t, 0, 10);
	feed(seg(WIRE_ACK, WINDOW - 1, 0, 1));
	ok(sends() && sent.window == MSS, "the right edge never moves back");
	is(c->rcv_adv, edge + MSS, "nor inside");
	tcp_room(t, 0, 1 << 20);
	feed(seg(WIRE_ACK, WINDOW, 0, MSS));
	wait_ns(TCP_DELACK_MS * ms + late);
	ok(sends() && sent.window == WINDOW,
	   "however much room there is: no more than the window we set out with");
}

static void test_delayed_ack(void)
{
	struct conn *c = conn_in(TCP_ESTABLISHED);

	feed(seg(WIRE_ACK, 0, 0, 100));
	ok(!sends(), "a small segment is not acknowledged at once");
	wait_ns(TCP_DELACK_MS * ms - ms);
	ok(!sends(), "nor soon");
	wait_ns(ms + late);
	ok(sends_ack(ISS, IRS + 100), "but after %u ms", (unsigned)TCP_DELACK_MS);
	feed(seg(WIRE_ACK, 100, 0, 100));
	write_bytes(c, 50);
	ok(sends() && sent.len == 50 && sent.ack == IRS + 200, "an answer takes the ACK along");
	wait_ns(TCP_DELACK_MS * ms + late);
	ok(!sends(), "and no other follows");
	feed(seg(WIRE_ACK, 200, 50, 1000));
	ok(!sends(), "one full segment waits");
	feed(seg(WIRE_ACK, 1200, 50, 1000));
	ok(sends_ack(ISS + 50, IRS + 2200), "the second one is acknowledged at once");
}

/* --- timestamps: RFC 7323 --------------------------------------------------------------------------- */

static struct pkt_seg stamped(struct pkt_seg s, uint32_t val)
{
	s.has_ts = true;
	s.ts_val = val;
	return s;
}

static void test_timestamps(void)
{
	struct conn *c = conn_in(TCP_ESTABLISHED);

	c->has_ts = true;
	c->ts_recent = 0xfffffffe;
	is(feed(stamped(seg(WIRE_ACK, 0, 0, 10), 0xfffffffd)), TCP_paws,
	   "an older timestamp: PAWS");
	ok(sends_ack(ISS, IRS) && sent.has_ts && sent.ts_ecr == 0xfffffffe,
	   "answered with the last good one");
	is(feed(stamped(seg(WIRE_ACK, 0, 0, 10), 1)), TCP_accepted, "newer, across the wrap");
	is(c->ts_recent, 1, "is remembered");
	is(feed(stamped(seg(WIRE_ACK, 15, 0, 10), 3)), TCP_out_of_order, "newer, past a gap");
	is(c->ts_recent, 1, "is not (4.3: SEG.SEQ <= Last.ACK.sent)");
	flush();
	is(feed(seg(WIRE_ACK, 10, 0, 10)), TCP_accepted,
	   "without the option: let through (gvisor#11536)");
	is(c->ts_recent, 1, "and nothing learned");
	is(feed(stamped(seg(WIRE_RST, 25, 0, 0), 0)), TCP_reset_in,
	   "RST is not judged by PAWS (5.2)");
}

int main(void)
{
	test_acceptability();
	test_intruders();
	test_acks();
	test_window_updates();
	test_changes();
	test_after_fin();
	test_fin_with_data();
	test_our_fin();
	test_rto();
	test_backoff();
	test_karn();
	test_ack_after_timeout();
	test_persist();
	test_send_silly();
	test_receive_silly();
	test_delayed_ack();
	test_timestamps();
	return done();
}
