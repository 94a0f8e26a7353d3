/* SPDX-License-Identifier: GPL-2.0-only */
/* tcp_mtu: whose word is believed, and what happens then. */
#include "tcp_rig.h"

/* Six segments of data, four of them in flight. */
static struct conn *in_flight(bool with_ts)
{
	struct conn *c = conn_in(TCP_ESTABLISHED);

	c->has_ts = with_ts;
	c->cwnd = 4 * MSS;
	write_bytes(c, 6 * MSS);
	is(flush(), 4, "four segments leave");
	return c;
}

static void hear(struct conn *c, uint32_t seq, uint32_t mtu)
{
	struct pkt_flow f = c->flow;

	if (!tcp_owns(t, &f))
		ok(false, "the connection is known by its flow");
	tcp_mtu(t, &f, seq, mtu, now);
	tcp_check(t);
}

/* Every tally of this kind, as a number: one digit each. */
static uint64_t tallies(void)
{
	const struct tcp_tally *y = tcp_tally(t);

	return y->mtu_lowered * 10000 + y->mtu_no_less * 1000 + y->mtu_tiny * 100 +
	       y->mtu_not_sent * 10 + y->mtu_stray;
}

static const struct {
	const char *name;
	int seq; /* from snd_una */
	uint32_t mtu;
	uint64_t tallies;
	uint32_t mss;
} words[] = {
	{ "first in flight", 0, 800, 10000, 760 },
	{ "second in flight", MSS, 800, 10000, 760 },
	{ "last byte in flight", 4 * MSS - 1, 800, 10000, 760 },
	{ "next to be sent", 4 * MSS, 800, 10, MSS },
	{ "acknowledged", -1, 800, 10, MSS },
	{ "far away", INT32_MIN, 800, 10, MSS },
	{ "the least", 0, 552, 10000, 512 },
	{ "less than that", 0, 551, 100, MSS },
	{ "68", 0, 68, 100, MSS },
	{ "0, of an old router", 0, 0, 100, MSS },
	{ "a byte less than ours", 0, MSS + 39, 10000, MSS - 1 },
	{ "just ours", 0, MSS + 40, 1000, MSS },
	{ "more than ours", 0, 1500, 1000, MSS },
	{ "65536 more", 0, 65536 + 800, 1000, MSS },
	{ "all ones", 0, UINT32_MAX, 1000, MSS },
};

static void test_words(void)
{
	for (unsigned i = 0; i < array_size(words); i++) {
		struct conn *c = in_flight(false);

		hear(c, c->snd_una + (uint32_t)words[i].seq, words[i].mtu);
		is(tallies(), words[i].tallies, "%s: counted", words[i].name);
		is(c->mss, words[i].mss, "%s: MSS", words[i].name);
		is(sends(), words[i].tallies == 10000, "%s: sent again", words[i].name);
	}
}

static void test_options(void)
{
	struct conn *c = in_flight(true);

	hear(c, c->snd_una, 800);
	is(c->mss, 800 - 40 - 12, "the timestamp takes its part");
	ok(sends() && sent.len == c->mss, "a segment is so long");
	is(pkt_room(&sent), 14 + 800, "and its packet as long as the router said");
}

static void test_ip6(void)
{
	struct conn *c = in_flight(false);
	struct pkt_flow f = c->flow;

	f.remote[0] = f.local[0] = 0x20;
	tcp_free(t, c);
	c = tcp_new(t, &f, tcp_hash(t, &f));
	c->state = TCP_ESTABLISHED;
	c->mss = 1440;
	c->snd_wnd = c->cwnd = 60000;
	c->rto_ns = NS_PER_S;
	write_bytes(c, 3000);
	flush();
	hear(c, c->snd_una, 1279);
	is(tallies(), 100, "IPv6: no link has less than 1280");
	hear(c, c->snd_una, 1280);
	is(tallies(), 10100, "IPv6: 1280 is taken");
	is(c->mss, 1220, "IPv6: without 60 bytes of headers");
	is(flush(), 3, "IPv6: all of it again, in more pieces");
}

static void test_stray(void)
{
	struct conn *c = in_flight(false);
	struct pkt_flow f = c->flow;

	f.remote_port ^= 1;
	tcp_mtu(t, &f, c->snd_una, 800, now);
	is(tallies(), 1, "no such connection");
	is(c->mss, MSS, "the one beside it is left alone");
	f = c->flow;
	tcp_free(t, c);
	tcp_mtu(t, &f, c->snd_una, 800, now);
	is(tallies(), 2, "nor any more");
}

static void test_nothing_in_flight(void)
{
	struct conn *c = conn_in(TCP_ESTABLISHED);

	hear(c, c->snd_una, 800);
	is(tallies(), 10, "nothing in flight: nothing can have been too big");
}

/* RFC 1191 6.4: what is in flight goes again at once, window and back-off stay. */
static void test_again(void)
{
	struct conn *c = in_flight(false);
	uint32_t una = c->snd_una, got = 0, ssthresh = c->ssthresh;
	bool fit = true, ordered = true;

	c->rtt_start_ns = now;
	hear(c, una, 640);
	is(c->cwnd, 4 * MSS, "the congestion window stays");
	is(c->ssthresh, ssthresh, "so does its threshold");
	is(c->retries, 0, "no time-out is counted");
	is(c->rtt_start_ns, 0, "no round trip is timed over it (Karn)");
	ok(c->at_rtx_ns > now, "the timer runs");
	while (sends()) {
		fit &= sent.len <= 600;
		ordered &= sent.seq == una + got;
		got += sent.len;
	}
	ok(fit && ordered, "in order, in pieces that fit");
	/* A piece that is less than a segment waits for an ACK (RFC 9293 3.8.6.2.1). */
	is(got, 3600, "as much as the window takes");

	for (int i = 1; i < 4; i++)
		hear(c, una + (uint32_t)i * MSS, 640);
	is(tallies(), 13000, "what routers say of the others changes nothing");
	ok(!sends(), "and sends nothing");

	feed(seg(WIRE_ACK, 0, 4 * MSS, 0));
	while (sends())
		got = sent.seq + sent.len - una;
	is(got, 6 * MSS, "the rest goes when they are");
}

/* With a FIN in flight, and in every state that can send. */
static void test_fin(void)
{
	struct conn *c = in_flight(false);
	uint16_t slot = tcp_slot(t, c);
	uint32_t end = c->snd_una + 6 * MSS;
	bool fin = false;

	c->cwnd = 100 * MSS;
	tcp_close(t, slot, now);
	flush();
	is(c->snd_max, end + 1, "all is out, and the FIN");
	hear(c, end, 640);
	is(tallies(), 10000, "a quote of the FIN's own number counts");
	while (sends())
		fin = sent.flags & WIRE_FIN && sent.seq + sent.len == end;
	ok(fin, "the FIN goes again, last");
	is_str(state_of(c), "FIN_WAIT_1", "the state is the same");
}

static void test_shut_window(void)
{
	struct conn *c = in_flight(false);
	struct pkt_seg s = seg(WIRE_ACK, 0, 0, 0);

	s.window = 0;
	feed(s);
	hear(c, c->snd_una, 800);
	is(c->mss, 760, "a shut window: the MSS falls");
	ok(!sends(), "and nothing goes before it opens");
	feed(seg(WIRE_ACK, 0, 0, 0));
	ok(sends() && sent.seq == c->snd_una && sent.len == 760, "then in pieces that fit");
}

/* Twice on the way: each router knows its own link. */
static void test_twice(void)
{
	struct conn *c = in_flight(false);

	hear(c, c->snd_una, 900);
	flush();
	hear(c, c->snd_una, 700);
	is(c->mss, 660, "a second, narrower link");
	ok(sends() && sent.len == 660, "and again");
	hear(c, c->snd_una, 900);
	is(c->mss, 660, "it never rises");
}

int main(void)
{
	test_words();
	test_options();
	test_ip6();
	test_stray();
	test_nothing_in_flight();
	test_again();
	test_fin();
	test_shut_window();
	test_twice();
	free(t);
	return done();
}
