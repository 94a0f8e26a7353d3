/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * gate.h - where frames of an RX queue come in, and go out: one way of two
 *
 * Place    Between the rungs and those who move frames: rungs.c opens gates, iothread.c
 *          passes frames through.
 * Model    A gate is a ring (ring.h: AF_XDP) or a packet (packet.h: BPF ring buffer and
 *          AF_PACKET); it stays what it was opened as. What moves frames is inline: a
 *          branch that always goes the same way, and the code of ring.h behind it.
 *          All that is said there of its functions holds here.
 * Threads  One at a time.
 */
#ifndef GATE_H
#define GATE_H

#include "packet.h"
#include "ring.h"

enum gate_kind { GATE_none, GATE_ring, GATE_packet };

struct gate {
	enum gate_kind kind;
	union {
		struct ring ring;
		struct packet packet;
	};
};

/* Of so many queues, one gate each, I/O thread t of `threads` has this many: t, t + threads
 * and so on (abi.h). */
static inline unsigned gate_share(unsigned queues, unsigned threads, unsigned t)
{
	return (queues - t + threads - 1) / threads;
}

/* --- the starter's side ------------------------------------------------------------ */

struct gate_options {
	enum gate_kind kind;
	const char *ifname;
	unsigned ifindex;
	unsigned queue;
	bool tx;
	bool zero_copy; /* of a ring */
};

struct gate_gift {
	enum gate_kind kind;
	union {
		struct ring_gift ring;
		struct packet_gift packet;
	};
};

/* What cannot be seen in the kernel; of a packet there is nothing. */
struct gate_state {
	enum gate_kind kind;
	struct ring_state ring;
};

/* The two descriptors of a gift, to send or to put in. */
enum { GATE_FDS = 2 };
void gate_fds(struct gate_gift *gift, int *fd[GATE_FDS]);

int gate_open(struct gate *g, const struct gate_options *o);
void gate_close(struct gate *g);
/* What of it the program puts frames into: a socket, or a ring buffer. */
int gate_inlet(const struct gate *g);
int gate_test_send(struct gate *g, const void *frame, size_t len, unsigned timeout_ms);

struct gate_gift gate_give(const struct gate *g);
void gate_hold(struct gate *g, const struct gate_gift *gift);
int gate_adopt(struct gate *g, const struct gate_gift *gift, const struct gate_state *state);
bool gate_save(struct gate *g, struct gate_state *state);

/* --- now and then --------------------------------------------------------------------- */

void gate_count_in(struct gate *g, struct stats_block *stats);
void gate_check(const struct gate *g);
void gate_gauge(const struct gate *g, struct ring_block *out, uint64_t now_ns);
void gate_kick(struct gate *g);
unsigned gate_refill(struct gate *g);

static inline unsigned gate_queue(const struct gate *g)
{
	return g->kind == GATE_ring ? g->ring.queue : g->packet.queue;
}

static inline bool gate_zero_copy(const struct gate *g)
{
	return g->kind == GATE_ring && g->ring.zero_copy;
}

/* Moves with every batch of frames that was taken. */
static inline uint64_t gate_received(const struct gate *g)
{
	return g->kind == GATE_ring ? g->ring.rx.cached_cons : g->packet.frames.taken;
}

/* --- each turn ------------------------------------------------------------------------- */

static inline unsigned gate_rx(struct gate *g, struct ring_frame batch[BATCH_MAX])
{
	return likely(g->kind == GATE_ring) ? ring_rx(&g->ring, batch) :
					      packet_rx(&g->packet, batch);
}

static inline void gate_done(struct gate *g, const struct ring_frame *batch, unsigned n)
{
	if (likely(g->kind == GATE_ring)) /* a packet's are copies */
		ring_done(&g->ring, batch, n);
}

static inline unsigned gate_in_flight(const struct gate *g)
{
	return likely(g->kind == GATE_ring) ? g->ring.in_flight : packet_in_flight(&g->packet);
}

static inline uint8_t *gate_reserve(struct gate *g, uint16_t *frame)
{
	return likely(g->kind == GATE_ring) ? ring_reserve(&g->ring, frame) :
					      packet_reserve(&g->packet, frame);
}

static inline void gate_cancel(struct gate *g, uint16_t frame)
{
	if (likely(g->kind == GATE_ring))
		ring_cancel(&g->ring, frame);
	else
		packet_cancel(&g->packet, frame);
}

static inline void gate_commit(struct gate *g, uint16_t frame, size_t len, uint64_t sent_ns)
{
	if (likely(g->kind == GATE_ring))
		ring_commit(&g->ring, frame, len, sent_ns);
	else
		packet_commit(&g->packet, frame, len, sent_ns);
}

static inline void gate_tx(struct gate *g)
{
	if (likely(g->kind == GATE_ring))
		ring_tx(&g->ring);
	else
		packet_tx(&g->packet);
}

static inline unsigned gate_reap(struct gate *g, uint64_t sent_ns[RING_COMP])
{
	return likely(g->kind == GATE_ring) ? ring_reap(&g->ring, sent_ns) :
					      packet_reap(&g->packet, sent_ns);
}

#endif
