/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tcp_rig.h - a small TCP table, connections in any state, segments to feed it
 *
 * Place    test_tcp.c and test_tcp_table.c. (Long runs: test_tcp_sim.c.)
 * Model    Connections are put into a state by hand. Segments of the peer count
 *          from IRS and ISS, which lie just below 2^32, so that every case
 *          crosses the wrap. tcp_check after every step. The layer above takes
 *          all bytes unless a test says otherwise.
 * Threads  One; everything is a global.
 */
#ifndef TCP_RIG_H
#define TCP_RIG_H

#include "tap.h"

#include "tcp_private.h"

enum { CONNS = 4, MSS = 1000, WINDOW = 8000, PEER_WINDOW = 20000 };

static const uint32_t ISS = 0xffffff80, IRS = 0xffffffc0; /* first data byte of either side */
static const uint64_t ms = NS_PER_MS;
static const uint64_t late = 5 * NS_PER_MS; /* a tick of the wheel and a bit */

static struct tcp *t;
static struct buf_pool pool;
static struct buf out[CONNS];
static _Alignas(8) uint8_t blocks[CONNS * BUF_SMALL + CONNS * 16384];
static uint8_t bytes[65536]; /* what segments carry */
static uint64_t now;
static struct tcp_event ev;
static struct pkt_seg sent;

static inline void fresh(void)
{
	struct tcp_params p = {
		.max_conns = CONNS,
		.mss4 = 1460,
		.mss6 = 1440,
		.window = WINDOW,
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
	buf_pool_init(&pool, blocks, CONNS, CONNS, 16384);
	now = 1000ull * NS_PER_S;
	tcp_init(t, &p, now);
}

static inline struct pkt_flow flow_of(uint16_t port)
{
	return (struct pkt_flow){
		.remote = { [10] = 255, 255, 10, 0, 0, 2 },
		.local = { [10] = 255, 255, 10, 0, 0, 1 },
		.remote_port = port,
		.local_port = 8080,
	};
}

/* A connection in this state; behind FIN_WAIT_1 our FIN is out, and in
 * FIN_WAIT_2 acknowledged. */
static inline struct conn *conn_in(enum tcp_state state)
{
	struct pkt_flow f = flow_of(1000);
	bool fin_out = state == TCP_FIN_WAIT_1 || state == TCP_CLOSING || state == TCP_LAST_ACK;
	struct conn *c;

	fresh();
	c = tcp_new(t, &f, tcp_hash(t, &f));
	c->state = (uint8_t)state;
	c->link.vlan = PKT_UNTAGGED;
	c->mss = MSS;
	c->snd_una = ISS;
	c->snd_nxt = c->snd_max = ISS + fin_out;
	c->snd_wnd = c->snd_wnd_max = PEER_WINDOW;
	c->snd_wl1 = IRS;
	c->snd_wl2 = ISS;
	c->rcv_nxt = c->ack_sent = IRS;
	c->room = WINDOW;
	c->rcv_adv = IRS + WINDOW;
	c->cwnd = 10 * MSS;
	c->ssthresh = UINT32_MAX;
	c->rto_ns = TCP_RTO_FIRST_MS * ms;
	c->fin_sent = state >= TCP_FIN_WAIT_1;
	if (c->fin_sent)
		c->at_end_ns = now + TCP_LINGER_MS * ms;
	tcp_start_timer(t, c, now);
	tcp_arm(t, c);
	tcp_check(t);
	return c;
}

/* A segment of the peer; numbers count from IRS and ISS. */
static inline struct pkt_seg seg(unsigned flags, int seq, int ack, uint32_t len)
{
	return (struct pkt_seg){
		.flow = flow_of(1000),
		.link.vlan = PKT_UNTAGGED,
		.seq = IRS + (uint32_t)seq,
		.ack = ISS + (uint32_t)ack,
		.flags = (uint8_t)flags,
		.window = PEER_WINDOW,
		.wscale = PKT_NO_SCALE,
		.data = bytes,
		.len = len,
	};
}

static inline enum tcp_verdict feed(struct pkt_seg s)
{
	enum tcp_verdict v = tcp_input(t, &s, NULL, now, &ev);

	if (ev.slot != TCP_NONE && !ev.gone && (ev.len || ev.fin)) {
		struct tcp_event more = ev;

		do
			ev.gone = tcp_took(t, &more, more.len, now);
		while (tcp_more(t, ev.slot, &more));
	}
	tcp_check(t);
	return v;
}

/* The next segment that leaves is in `sent`. */
static inline bool sends(void)
{
	uint16_t slot;
	bool any = tcp_output(t, now, &sent, &slot);

	tcp_check(t);
	return any;
}

static inline unsigned flush(void)
{
	unsigned n = 0;

	while (sends())
		n++;
	return n;
}

static inline bool sends_ack(uint32_t seq, uint32_t ack)
{
	return sends() && sent.flags == WIRE_ACK && !sent.len && sent.seq == seq && sent.ack == ack;
}

/* Let time pass; timers mark what is due. Returns a slot that ended. */
static inline uint16_t wait_ns(uint64_t ns)
{
	uint16_t slot;

	now += ns;
	slot = tcp_tick(t, now);
	tcp_check(t);
	return slot;
}

static inline void write_bytes(struct conn *c, uint32_t n)
{
	uint16_t slot = tcp_slot(t, c);
	uint8_t *to = buf_reserve(&pool, &out[slot], n);

	must(to);
	memcpy(to, bytes, n);
	tcp_wrote(t, slot, n);
	tcp_check(t);
}

static inline const char *state_of(const struct conn *c)
{
	return tcp_state_name(c->state);
}

#endif
