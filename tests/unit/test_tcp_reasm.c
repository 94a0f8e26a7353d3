/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tcp: what comes past a gap. First at random against a map of bytes, which
 * knows nothing of ranges, rings and blocks; then rule by rule.
 */
#include "tcp_rig.h"

/* --- a map of bytes ------------------------------------------------------------------ */

enum { BLOCK = 4096, HEAD = 44, MAP = 16384, RUNS = 4 };

struct run {
	uint32_t left, right;
};

static struct {
	bool have[MAP]; /* by offset in the stream, modulo */
	uint32_t next;  /* all before this was handed up */
	uint32_t edge;  /* of the window */
	unsigned refused;
} model;

static uint64_t seed;

static uint32_t roll(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)((seed >> 11) % n);
}

static uint8_t byte_at(uint32_t offset)
{
	return (uint8_t)(offset * 2654435761u >> 15);
}

static unsigned runs_of(struct run run[RUNS + 1])
{
	unsigned n = 0;

	for (uint32_t i = model.next; i < model.edge; i++) {
		if (!model.have[i % MAP])
			continue;
		if (!n || run[n - 1].right != i)
			run[n++].left = i;
		must(n <= RUNS);
		run[n - 1].right = i + 1;
	}
	return n;
}

/* What must become of a segment past the gap. */
static enum tcp_verdict model_keep(uint32_t left, uint32_t right)
{
	uint32_t end = (uint32_t)min_u64(model.edge, model.next + BLOCK - HEAD);
	struct run run[RUNS + 1];
	unsigned n = runs_of(run);
	bool touches = false, inside = false;

	right = (uint32_t)min_u64(right, end);
	if (left >= right)
		return TCP_no_buffer;
	for (unsigned i = 0; i < n; i++) {
		touches |= left <= run[i].right && run[i].left <= right;
		inside |= run[i].left <= left && right <= run[i].right;
	}
	if (!touches && n == RUNS)
		return TCP_too_many_gaps;
	for (uint32_t i = left; i < right; i++)
		model.have[i % MAP] = true;
	return inside ? TCP_duplicate : TCP_out_of_order;
}

/* The layer above: takes all, or not, and spoils what it does not. */
static bool model_take(struct tcp_event *e, unsigned percent)
{
	uint32_t n = roll(100) < percent ? e->len : roll(e->len + 1);
	bool right = true;

	for (uint32_t i = 0; i < e->len; i++)
		right &= e->data[i] == byte_at(model.next + i);
	memset((uint8_t *)e->data, 0xdb, e->len);
	tcp_took(t, e, n, now);
	for (uint32_t i = 0; i < n; i++)
		model.have[model.next++ % MAP] = false;
	if (n < e->len) { /* what lies there is forgotten */
		model.refused++;
		for (uint32_t i = model.next; model.have[i % MAP]; i++)
			model.have[i % MAP] = false;
	}
	return right;
}

/* One segment into both. False: they differ. */
static bool arrive(struct conn *c, uint32_t left, uint32_t len, unsigned percent)
{
	struct pkt_seg s = seg(WIRE_ACK, 0, 0, len);
	enum tcp_verdict want = TCP_accepted, got;
	bool same = true, more;

	s.seq = IRS + left;
	for (uint32_t i = 0; i < len; i++)
		bytes[i] = byte_at(left + i);
	if (left + len <= model.next)
		want = TCP_duplicate;
	else if (left >= model.edge)
		want = TCP_out_of_window;
	else if (left > model.next)
		want = model_keep(left, left + len);
	got = tcp_input(t, &s, NULL, now, &ev);
	same &= got == want;
	if (ev.len) {
		same &= left <= model.next && left + len > model.next;
		do {
			same &= model_take(&ev, percent);
			more = tcp_more(t, 0, &ev);
			same &= !more || model.have[model.next % MAP];
		} while (more);
		same &= !model.have[model.next % MAP];
	}
	tcp_check(t);
	return same && c->rcv_nxt == IRS + model.next;
}

/* The ACK names all runs, or as many as fit, the latest segment's first. */
static bool sacks_agree(uint32_t left)
{
	struct run run[RUNS + 1];
	unsigned n = runs_of(run), k = 0, found = 0;

	if (sent.sack_count && seq_le(sent.sack[0].right, sent.ack))
		k = 1; /* a D-SACK block below the ACK */
	else if (sent.sack_count > 1 && seq_le(sent.sack[1].left, sent.sack[0].left) &&
		 seq_le(sent.sack[0].right, sent.sack[1].right))
		k = 1; /* or inside of the next */
	for (unsigned i = k; i < sent.sack_count; i++)
		for (unsigned r = 0; r < n; r++)
			found += sent.sack[i].left == IRS + run[r].left &&
				 sent.sack[i].right == IRS + run[r].right;
	for (unsigned r = 0; r < n; r++)
		if (run[r].left <= left && left < run[r].right &&
		    sent.sack[k].left != IRS + run[r].left)
			return false;
	return found == sent.sack_count - k && found == min_u64(n, PKT_SACKS - sent.has_ts - k);
}

static struct conn *begin(void)
{
	struct conn *c = conn_in(TCP_ESTABLISHED);

	buf_pool_init(&pool, blocks, CONNS, CONNS, BLOCK);
	t->p.window = BLOCK;
	c->room = BLOCK;
	c->rcv_adv = IRS + BLOCK;
	c->sack_ok = true;
	memset(&model, 0, sizeof model);
	model.edge = BLOCK;
	return c;
}

/* Near the gap, near the edge, or anywhere; mostly short, so that gaps arise. */
static uint32_t somewhere(void)
{
	switch (roll(8)) {
	case 0:
		return model.next;
	case 1:
		return model.next + roll(20);
	case 2:
		return model.edge - roll(300) - 1;
	case 3:
		return model.next - (uint32_t)min_u64(model.next, roll(300));
	default:
		return model.next + roll(BLOCK - 1);
	}
}

static void random_run(uint64_t start, unsigned percent, bool ts)
{
	unsigned differ = 0, sacks = 0, steps = 20000;
	struct conn *c = begin();

	seed = start;
	c->has_ts = ts;
	for (unsigned i = 0; i < steps; i++) {
		uint32_t left = somewhere(), len = 1 + roll(roll(4) ? 200 : 1400);

		differ += !arrive(c, left, len, percent);
		tcp_mark(t, c, DUE_ACK);
		must(sends());
		sacks += !sacks_agree(left);
		model.edge = c->rcv_adv - IRS;
		flush();
	}
	is(differ, 0, "%u segments at random, all taken in %u %%: as the map says", steps, percent);
	is(sacks, 0, "every ACK says what is there, the latest first");
	ok(model.next > 10 * BLOCK, "%u bytes went through", model.next);
	ok((model.refused > 0) == (percent < 100), "refused %u times", model.refused);
	while (c->reasm)
		differ += !arrive(c, model.next, 1000, 100);
	is(differ, 0, "the rest fills the gaps");
	is(t->reasms, 0, "without a gap no block is held");
}

/* --- SACK and D-SACK ------------------------------------------------------------------------ */

static bool block_is(unsigned i, uint32_t left, uint32_t right)
{
	return i < sent.sack_count && sent.sack[i].left == IRS + left &&
	       sent.sack[i].right == IRS + right;
}

static void test_sack_order(void)
{
	for (int ts = 0; ts < 2; ts++) {
		struct conn *c = begin();

		c->has_ts = ts;
		feed(seg(WIRE_ACK, 100, 0, 10));
		ok(sends_ack(ISS, IRS) && sent.sack_count == 1 && block_is(0, 100, 110),
		   "an ACK at once, with one block");
		feed(seg(WIRE_ACK, 300, 0, 10));
		feed(seg(WIRE_ACK, 200, 0, 10));
		feed(seg(WIRE_ACK, 400, 0, 10));
		ok(sends_ack(ISS, IRS) && block_is(0, 400, 410) && block_is(1, 200, 210) &&
			   block_is(2, 300, 310),
		   "the latest first");
		is(sent.sack_count, 4u - (unsigned)ts, "as many as 40 bytes hold");
		is(feed(seg(WIRE_ACK, 500, 0, 10)), TCP_too_many_gaps,
		   "a fifth gap is one too many");
		ok(sends_ack(ISS, IRS) && block_is(0, 400, 410), "and said to no one as kept");
		feed(seg(WIRE_ACK, 110, 0, 90));
		ok(sends_ack(ISS, IRS) && block_is(0, 100, 210) && sent.sack_count == 3,
		   "two ranges become one");
		is(feed(seg(WIRE_ACK, 0, 0, 50)), TCP_accepted, "a part of the gap");
		ok(sends_ack(ISS, IRS + 50) && sent.sack_count == 3,
		   "is acknowledged at once (RFC 5681 4.2)");
		is(feed(seg(WIRE_ACK, 50, 0, 50)), TCP_accepted, "and the rest");
		ok(sends_ack(ISS, IRS + 210) && sent.sack_count == 2, "with what lay behind it");
		c->sack_ok = false;
		is(feed(seg(WIRE_ACK, 215, 0, 10)), TCP_out_of_order, "who did not ask for SACK");
		ok(sends_ack(ISS, IRS + 210) && !sent.sack_count, "gets none, but it is kept");
		feed(seg(WIRE_ACK, 210, 0, 5));
		ok(sends_ack(ISS, IRS + 225), "all the same");
	}
}

static void test_dsack(void)
{
	struct conn *c = begin();

	feed(seg(WIRE_ACK, 0, 0, 50));
	flush();
	is(feed(seg(WIRE_ACK, 10, 0, 20)), TCP_duplicate, "old bytes");
	ok(sends_ack(ISS, IRS + 50) && sent.sack_count == 1 && block_is(0, 10, 30),
	   "are named (RFC 2883 4.1)");
	feed(seg(WIRE_ACK, 100, 0, 50));
	ok(sends() && sent.sack_count == 1 && block_is(0, 100, 150), "once");
	is(feed(seg(WIRE_ACK, 110, 0, 20)), TCP_duplicate, "bytes that lie past the gap already");
	ok(sends() && block_is(0, 110, 130) && block_is(1, 100, 150),
	   "are named in front of their range");
	feed(seg(WIRE_ACK, 40, 0, 20));
	ok(sends_ack(ISS, IRS + 60) && block_is(0, 40, 50) && block_is(1, 100, 150),
	   "a segment in part old");
	c->sack_ok = false;
	is(feed(seg(WIRE_ACK, 110, 0, 20)), TCP_duplicate, "for who did not ask for SACK");
	ok(sends_ack(ISS, IRS + 60) && !sent.sack_count, "nothing is named");
}

static void test_sack_with_data(void)
{
	struct conn *c = begin();

	feed(seg(WIRE_ACK, 100, 0, 10));
	feed(seg(WIRE_ACK, 200, 0, 10));
	write_bytes(c, 2 * MSS);
	ok(sends() && sent.len == MSS - 20 && sent.sack_count == 2,
	   "a segment with data carries blocks too, in the place of data");
	ok(sends() && sends() && sent.len == 40 && sent.sack_count == 2 && !sends(),
	   "and no byte is left behind");
}

/* --- limits -------------------------------------------------------------------------------------- */

static unsigned large_left(void)
{
	unsigned n = (unsigned)((size_t)(pool.large.end - pool.large.fresh) / pool.large.size);
	uint8_t *at = pool.large.first, *next;

	for (; at; n++, at = next)
		memcpy(&next, at, sizeof next);
	return n;
}

static struct conn *another(const struct conn *c, uint16_t port)
{
	struct pkt_flow f = flow_of(port);
	struct conn *d = tcp_new(t, &f, tcp_hash(t, &f));
	struct conn links = *d;

	*d = *c;
	d->flow = f;
	d->hash_next = links.hash_next;
	d->due_next = links.due_next;
	d->queued = links.queued;
	d->due = 0;
	d->reasm = NULL;
	return d;
}

static enum tcp_verdict feed_port(uint16_t port, struct pkt_seg s)
{
	s.flow = flow_of(port);
	return feed(s);
}

static void test_blocks(void)
{
	struct conn *c = begin(), *d = another(c, 1001);
	struct buf hog[CONNS] = { { .base = NULL } };

	another(c, 1002);
	is(feed_port(1000, seg(WIRE_ACK, 5, 0, 5)), TCP_out_of_order, "one connection with a gap");
	is(feed_port(1001, seg(WIRE_ACK, 5, 0, 5)), TCP_out_of_order, "two");
	is(large_left(), CONNS - 2, "a block each");
	is(feed_port(1002, seg(WIRE_ACK, 5, 0, 5)), TCP_no_buffer,
	   "half of the blocks are kept free");
	ok(sends(), "each is answered");
	tcp_abort(t, tcp_slot(t, d));
	tcp_check(t);
	is(large_left(), CONNS - 1, "a connection that ends gives its block back");
	is(feed_port(1002, seg(WIRE_ACK, 5, 0, 5)), TCP_out_of_order, "to the next");
	is(feed_port(1002, seg(WIRE_RST, 0, 0, 0)), TCP_reset_in, "reset");
	is(large_left(), CONNS - 1, "gives it back too");
	for (int i = 1; i < CONNS; i++)
		must(buf_reserve(&pool, &hog[i], BLOCK));
	another(c, 1003);
	is(feed_port(1003, seg(WIRE_ACK, 5, 0, 5)), TCP_no_buffer, "none left: not kept");
	is(feed_port(1003, seg(WIRE_ACK, 0, 0, 5)), TCP_accepted, "in order it goes on");
}

/* CVE-2018-5390: thousands of tiny segments past a gap. */
static void test_smack(void)
{
	struct conn *c = begin();
	unsigned kept = 0;

	for (int i = 1; i < 4000; i += 2)
		kept += feed(seg(WIRE_ACK, i, 0, 1)) == TCP_out_of_order;
	is(kept, RUNS, "single bytes with gaps between: four are kept");
	for (int i = 2; i < 4000; i += 2)
		kept += feed(seg(WIRE_ACK, i, 0, 1)) == TCP_out_of_order;
	is(kept, 2 * RUNS + 3, "those that touch them join, and make room for three");
	is(large_left(), CONNS - 1, "in one block");
	feed(seg(WIRE_ACK, 0, 0, 1));
	is(c->rcv_nxt - IRS, 9, "and what is whole is handed up");
}

/* --- FIN ------------------------------------------------------------------------------------------- */

static void test_fin(void)
{
	struct conn *c = begin();

	is(feed(seg(WIRE_ACK | WIRE_FIN, 10, 0, 10)), TCP_out_of_order, "data and FIN past a gap");
	ok(sends_ack(ISS, IRS) && block_is(0, 10, 21), "are kept, FIN and all");
	is(feed(seg(WIRE_ACK, 0, 0, 10)), TCP_accepted, "the gap is filled");
	is_str(state_of(c), "CLOSE_WAIT", "the FIN counts");
	ok(sends_ack(ISS, IRS + 21), "all of it is acknowledged");
	is(t->reasms, 0, "nothing is held any more");

	c = begin();
	is(feed(seg(WIRE_ACK | WIRE_FIN, 10, 0, 0)), TCP_out_of_order, "a bare FIN past a gap");
	is(feed(seg(WIRE_ACK | WIRE_FIN, 10, 0, 0)), TCP_duplicate, "again");
	feed(seg(WIRE_ACK, 5, 0, 5));
	is(c->rcv_nxt, IRS, "waits");
	feed(seg(WIRE_ACK, 0, 0, 5));
	is_str(state_of(c), "CLOSE_WAIT", "for the bytes before it");

	c = begin();
	feed(seg(WIRE_ACK | WIRE_FIN, 10, 0, 0));
	feed(seg(WIRE_ACK, 5, 0, 100));
	feed(seg(WIRE_ACK, 0, 0, 5));
	ok(c->state == TCP_CLOSE_WAIT && c->rcv_nxt == IRS + 11 && !c->reasm,
	   "bytes behind a FIN do not count");

	c = begin();
	feed(seg(WIRE_ACK | WIRE_FIN, 10, 0, 0));
	is(feed(seg(WIRE_ACK | WIRE_FIN, 20, 0, 0)), TCP_duplicate, "a second FIN elsewhere");
	feed(seg(WIRE_ACK | WIRE_FIN, 30, 0, 10));
	sends();
	ok(block_is(0, 30, 40) && block_is(1, 10, 11), "is not kept, its data is");
	feed(seg(WIRE_ACK, 0, 0, 15));
	is_str(state_of(c), "ESTABLISHED", "a FIN that data passed over is none");
	feed(seg(WIRE_ACK, 15, 0, 15));
	ok(c->state == TCP_ESTABLISHED && c->rcv_nxt == IRS + 40, "nor is the other");

	c = begin();
	feed(seg(WIRE_ACK | WIRE_FIN, BLOCK - HEAD - 10, 0, 10));
	sends();
	ok(block_is(0, BLOCK - HEAD - 10, BLOCK - HEAD), "a FIN that does not fit comes again");

	c = begin();
	for (int i = 10; i <= 40; i += 10)
		feed(seg(WIRE_ACK, i, 0, 5));
	is(feed(seg(WIRE_ACK | WIRE_FIN, 50, 0, 5)), TCP_too_many_gaps, "past a fifth gap");
	feed(seg(WIRE_ACK, 45, 0, 10));
	feed(seg(WIRE_ACK, 0, 0, 40));
	ok(c->state == TCP_ESTABLISHED && c->rcv_nxt == IRS + 55, "it is not kept");
}

static void test_fin_states(void)
{
	struct conn *c = conn_in(TCP_FIN_WAIT_1);

	feed(seg(WIRE_ACK | WIRE_FIN, 10, 0, 10));
	feed(seg(WIRE_ACK, 0, 0, 10));
	is_str(state_of(c), "CLOSING", "FIN past a gap in FIN-WAIT-1");

	conn_in(TCP_FIN_WAIT_2);
	feed(seg(WIRE_ACK | WIRE_FIN, 10, 0, 10));
	feed(seg(WIRE_ACK, 0, 0, 10));
	ok(ev.gone && !tcp_count(t) && !t->reasms, "in FIN-WAIT-2 the connection is over");

	c = conn_in(TCP_CLOSE_WAIT);
	is(feed(seg(WIRE_ACK, 10, 0, 10)), TCP_accepted, "behind the peer's FIN");
	ok(!c->reasm, "nothing is kept");
}

/* --- not all is taken ------------------------------------------------------------------------------ */

static void test_refused(void)
{
	struct conn *c = begin();
	struct pkt_seg s = seg(WIRE_ACK, 0, 0, 10);

	feed(seg(WIRE_ACK, 10, 0, 10));
	feed(seg(WIRE_ACK, 30, 0, 10));
	flush();
	tcp_input(t, &s, NULL, now, &ev);
	ok(ev.len == 10 && ev.data == s.data, "the segment that fills the gap");
	tcp_took(t, &ev, 4, now);
	ok(!tcp_more(t, 0, &ev), "who does not take all of it is offered no more");
	tcp_check(t);
	ok(sends_ack(ISS, IRS + 4) && sent.sack_count == 2, "what lies behind is kept");

	s = seg(WIRE_ACK, 4, 0, 6);
	tcp_input(t, &s, NULL, now, &ev);
	tcp_took(t, &ev, 6, now);
	ok(tcp_more(t, 0, &ev) && ev.len == 10, "next time it is offered");
	tcp_took(t, &ev, 7, now);
	ok(!tcp_more(t, 0, &ev), "what is not taken then");
	tcp_check(t);
	ok(sends_ack(ISS, IRS + 17) && sent.sack_count == 1 && block_is(0, 30, 40),
	   "is neither acknowledged nor kept");
	is(tcp_tally(t)->reneged, 1, "which is counted");
	feed(seg(WIRE_ACK, 17, 0, 13));
	ok(c->rcv_nxt == IRS + 40 && !c->reasm, "and comes again");

	c = begin();
	feed(seg(WIRE_ACK | WIRE_FIN, 10, 0, 10));
	s = seg(WIRE_ACK, 0, 0, 10);
	tcp_input(t, &s, NULL, now, &ev);
	tcp_took(t, &ev, 10, now);
	must(tcp_more(t, 0, &ev));
	ok(ev.fin && !tcp_took(t, &ev, 9, now), "bytes and FIN, not all taken");
	is_str(state_of(c), "ESTABLISHED", "then the FIN is not either");
}

/* Retransmissions are cut anew: one may overlap both sides of a hole
 * (zephyr#47240), or cover all that is there. */
static void test_overlap(void)
{
	struct conn *c = begin();

	feed(seg(WIRE_ACK, 0, 0, 100));
	feed(seg(WIRE_ACK, 200, 0, 100));
	is(feed(seg(WIRE_ACK, 50, 0, 200)), TCP_accepted, "over both sides of a hole");
	is(c->rcv_nxt - IRS, 300, "fills it");
	flush();
	feed(seg(WIRE_ACK, 400, 0, 10));
	feed(seg(WIRE_ACK, 420, 0, 10));
	is(feed(seg(WIRE_ACK, 390, 0, 100)), TCP_out_of_order, "over two ranges");
	ok(sends() && sent.sack_count == 1 && block_is(0, 390, 490), "makes them one");
	is(feed(seg(WIRE_ACK, 250, 0, 400)), TCP_accepted, "over everything");
	ok(c->rcv_nxt == IRS + 650 && !c->reasm, "leaves nothing");
}

int main(void)
{
	for (unsigned i = 1; i <= 3; i++) {
		random_run(0x9e3779b97f4a7c15 * i, 100, false);
		random_run(0xd1b54a32d192ed03 * i, 90, true);
		random_run(0x8cb92ba72f3d8dd7 * i, 50, false);
	}
	test_sack_order();
	test_dsack();
	test_sack_with_data();
	test_blocks();
	test_smack();
	test_fin();
	test_fin_states();
	test_refused();
	test_overlap();
	return done();
}
