/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tcp.h - TCP for a server of short requests on long connections
 *
 * Place    worker hands in each parsed segment (tcp_input), gets bytes for
 *          http, appends answers to out[], and fetches what is due to be sent
 *          (tcp_output). Knows neither frames nor HTTP. Pure.
 * Model    RFC 9293 3.10.7 in its order. Input never sends: it marks the
 *          connection due; output decides what goes. The handshake keeps no
 *          state: the SYN-ACK's sequence number is a cookie (tcp_cookie), and
 *          the segment that brings it back opens the connection. Or the kernel has
 *          answered the SYN (params.adopts): then whoever steers says which segment
 *          opens a connection, and is told by tcp_note what becomes of it.
 * Owner    Slots, TIME-WAIT records and stubs are tcp's. out[slot] holds what is
 *          sent and not yet acknowledged and what is still to be sent; worker
 *          appends (tcp_write, tcp_wrote), tcp drops.
 * Threads  One table per I/O thread.
 * Limits   max_conns slots, four ranges past a gap in one large block a connection,
 *          half of the large blocks in all, STUBS_MAX answers without connection waiting,
 *          TIMEWAIT_MAX records, FLOW_NOTES notes; those that find no place there wait
 *          in their slots. Each refusal is a verdict or a tally.
 * Units    now_ns is CLOCK_MONOTONIC, handed in; timestamps on the wire are ms.
 *
 * The server's states (no LISTEN: it is a rule; no SYN-RECEIVED: it is a cookie):
 *
 *   SYN -> SYN-ACK(cookie), nothing kept
 *   ACK(cookie) --> ESTABLISHED --FIN in--> CLOSE_WAIT --tcp_close--> LAST_ACK --> gone
 *                        | tcp_close
 *                   FIN_WAIT_1 --FIN in--> CLOSING --ACK--> TIME_WAIT (32-byte record)
 *                        | ACK of FIN                            ^
 *                   FIN_WAIT_2 ----------------------FIN in------'
 */
#ifndef TCP_H
#define TCP_H

#include "base.h"
#include "buf.h"
#include "limits.h"
#include "pkt.h"

/* Numbered so that "may receive data" is <= FIN_WAIT_2 without CLOSE_WAIT, and
 * "our FIN is owed or out" is >= FIN_WAIT_1. */
#define TCP_STATE_LIST(X) \
	X(FREE) X(ESTABLISHED) X(CLOSE_WAIT) X(FIN_WAIT_1) X(FIN_WAIT_2) X(CLOSING) X(LAST_ACK)

enum tcp_state {
#define X(name) TCP_##name,
	TCP_STATE_LIST(X)
#undef X
};

/* What became of a segment; each value is a counter tcp_NAME of abi.h. */
#define TCP_LIST(X) \
	X(syn) \
	X(opened) \
	X(accepted) \
	X(early) \
	X(stray) \
	X(stray_rst) \
	X(bad_flags) \
	X(table_full) \
	X(out_of_window) \
	X(out_of_order) X(too_many_gaps) X(duplicate) X(paws) X(bad_ack) X(old_ack) X(challenge) \
		X(reset_in) X(no_buffer) X(timewait)

enum tcp_verdict {
#define X(name) TCP_##name,
	TCP_LIST(X)
#undef X
		TCP_VERDICTS,
};

/* What happened apart from segments; each is a counter tcp_NAME too. */
#define TCP_TALLY_LIST(X) \
	X(stub_lost) \
	X(retransmits) \
	X(recoveries) \
	X(tail_probes) \
	X(probes) \
	X(timed_out) \
	X(linger_ended) \
	X(reset_out) \
	X(closed) X(replaced) X(timewait_evicted) X(reneged) X(mtu_lowered) X(mtu_no_less) \
		X(mtu_tiny) X(mtu_not_sent) X(mtu_stray)

struct tcp_tally {
#define X(name) uint64_t name;
	TCP_TALLY_LIST(X)
#undef X
};

enum { TCP_NONE = 0xffff };

struct tcp_params {
	unsigned max_conns;
	unsigned timewait; /* records, a power of two; 0: TIMEWAIT_MAX */
	uint16_t mss4, mss6; /* what we offer, from the MTU */
	uint16_t window;     /* bytes that a connection may have outstanding towards us */
	bool adopts;         /* the kernel answers SYNs */
	uint8_t scale;       /* of our window, as its SYN-ACKs say */
	uint8_t secret[16];  /* random, made at start */
	struct buf_pool *pool;
	struct buf *out; /* max_conns of them, empty */
};

/* What a segment means to the layer above. Slot TCP_NONE: nothing. */
struct tcp_event {
	uint16_t slot;
	bool opened; /* a new connection; its data, if any, follows in this event */
	bool gone;   /* the slot is free again: the peer reset it, or all is done */
	bool fin;    /* after these bytes the peer sends no more */
	uint32_t len;
	const uint8_t *data; /* new bytes in order, which may be overwritten */
	uint64_t rtt_ns;     /* a round trip was measured; 0: none */
};

/* With params.adopts: what whoever steers knows of a segment. */
struct tcp_hint {
	bool opens;    /* stands behind a handshake with the kernel, whose cookie was checked */
	bool early;    /* one that opens passed a moment ago; it may have been lost */
	bool sack_ok;  /* of the SYN, as the next two */
	uint8_t scale; /* PKT_NO_SCALE: none */
	uint16_t mss;  /* 0: what the SYN said is lost, all of it */
};

struct tcp;

size_t tcp_footprint(const struct tcp_params *p);
/* Build a table in zeroed memory, aligned to 64. */
struct tcp *tcp_init(void *memory, const struct tcp_params *p, uint64_t now_ns);

/* Judge one segment; hint is NULL where nothing is known. When *ev has bytes or a FIN,
 * tcp_took must be called before the next tcp_input. */
enum tcp_verdict tcp_input(struct tcp *t, const struct pkt_seg *seg, const struct tcp_hint *hint,
			   uint64_t now_ns, struct tcp_event *ev);

/* The layer above has taken the first n bytes of the event (all, or fewer when
 * it has no room: the rest is not acknowledged and comes again). True: the
 * slot is gone now (FIN of a connection that had sent its own). */
bool tcp_took(struct tcp *t, const struct tcp_event *ev, uint32_t n, uint64_t now_ns);

/* Behind the bytes just taken stand more, which had come before: an event like
 * tcp_input's, for tcp_took. Call until false, before the next tcp_input. */
bool tcp_more(const struct tcp *t, uint16_t slot, struct tcp_event *ev);

/* Is there a connection of this flow? */
bool tcp_owns(struct tcp *t, const struct pkt_flow *flow);

/* A router says that it could not pass on our segment of this flow that began with
 * seq, and that mtu bytes is what it can (the IP header counts). */
void tcp_mtu(struct tcp *t, const struct pkt_flow *flow, uint32_t seq, uint32_t mtu,
	     uint64_t now_ns);

/* Append to what is sent: n bytes were written behind buf_reserve(out[slot]). */
void tcp_wrote(struct tcp *t, uint16_t slot, uint32_t n);

/* Say how many bytes more the layer above could hold; the window follows, but
 * its right edge never moves back (RFC 9293 3.8.6). */
void tcp_room(struct tcp *t, uint16_t slot, uint32_t bytes);

/* FIN behind out[slot]; nothing may be written any more. The slot lives on
 * until the peer's FIN and ACK have come, or it has acknowledged nothing new for
 * TCP_LINGER_MS. */
void tcp_close(struct tcp *t, uint16_t slot, uint64_t now_ns);
/* RST; the slot is free at once. */
void tcp_abort(struct tcp *t, uint16_t slot);

/* What new connections are offered from now on, and the most that the others send. */
void tcp_set_mss(struct tcp *t, uint16_t mss4, uint16_t mss6);

/* From now on a SYN, or what would open a connection, is answered with RST. */
void tcp_refuse(struct tcp *t);

/* --- params.adopts: who steers and who serves must agree ------------------------- */

/* Before tcp_input of a segment that opens a connection: is there one between the same
 * ends, which its client has given up? It ends without a word. Its slot, or TCP_NONE. */
uint16_t tcp_replaced(struct tcp *t, const struct pkt_seg *seg, const struct tcp_hint *hint);
/* The table is full, and will stay so: RST to who would have opened a connection. */
void tcp_turn_away(struct tcp *t, const struct pkt_seg *seg);

/* A flow's segments: are they ours (OPEN); and a SYN is, too, unless it is CLOSING. */
enum tcp_flow { TCP_FLOW_GONE, TCP_FLOW_OPEN, TCP_FLOW_CLOSING };

struct tcp_note {
	struct pkt_flow flow;
	uint8_t was; /* enum tcp_flow; if whoever steers has another, it is of a new
		       * connection and stays. GONE: whatever it has */
	uint8_t now;
};

/* The next flow that has changed, or false. Before what is due is sent: a client that
 * has our FIN may come again from the same port. */
bool tcp_note(struct tcp *t, uint64_t now_ns, struct tcp_note *note);
/* Is there anything of this flow: a connection, TIME-WAIT, or a note to come? */
bool tcp_knows(struct tcp *t, const struct pkt_flow *flow);

/* Timers. Slots that ended by time-out, one a call, or TCP_NONE; call until then. */
uint16_t tcp_tick(struct tcp *t, uint64_t now_ns);

/* The next segment that is due, or false. seg->data points into out[]; *slot is
 * its connection, TCP_NONE when it answers none. */
bool tcp_output(struct tcp *t, uint64_t now_ns, struct pkt_seg *seg, uint16_t *slot);
/* Is anything due? Cheap. */
bool tcp_due(const struct tcp *t);

/* To an image, and from one into a table right from tcp_init, perhaps of another process:
 * all but the tallies, and max_conns, MSS and window, which are the table's own. False: m
 * says why; the table is no table then. */
struct image;
void tcp_save(const struct tcp *t, struct image *m, uint64_t now_ns);
bool tcp_load(struct tcp *t, struct image *m, uint64_t now_ns);

/* What there is to be said of a connection. */
struct tcp_view {
	const struct pkt_flow *flow;
	enum tcp_state state;
	uint16_t mss;
	uint32_t cwnd, window; /* the peer's, from what it has acknowledged on */
	uint32_t srtt_us, rto_us;
	uint32_t retransmits;
	uint32_t unsent, unacked; /* bytes of out[] */
};
void tcp_describe(const struct tcp *t, uint16_t slot, struct tcp_view *v);

enum tcp_state tcp_state(const struct tcp *t, uint16_t slot);
unsigned tcp_count(const struct tcp *t);
/* Slots below this one were in use at one time or another; no other was. */
unsigned tcp_top(const struct tcp *t);
const struct tcp_tally *tcp_tally(const struct tcp *t);
const char *tcp_state_name(enum tcp_state s);
const char *tcp_verdict_name(enum tcp_verdict v);

/* Panics when an invariant is broken: slots conserved, lists consistent,
 * snd_una <= snd_nxt <= snd_max. For tests and fuzzers, after every step. */
void tcp_check(const struct tcp *t);

#endif
