/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * packet.h - frames without AF_XDP: a BPF ring buffer in, an AF_PACKET socket out
 *
 * Place    In the place of ring.h where the kernel has no AF_XDP (gate.h chooses). The tc
 *          program that steers puts a frame of ours into the ring buffer of its RX queue
 *          and ends it for the kernel.
 * Model    Receiving makes no system call: a frame is copied out of the ring buffer, which
 *          nobody may write to, while http undoes chunks in place. Sending is sendmmsg:
 *          what the kernel took has been sent as far as we can know, what it did not take
 *          (ENOBUFS: its queue is full) stays and is offered again the next turn.
 *          Opened by the starter, adopted by the worker:
 *
 *            packet_open --> packet_give --fds--> packet_adopt
 *
 *          Where the reader stands is in a page that the kernel keeps, so the next
 *          worker goes on there.
 * Owner    A TX frame is free, in hands, or under way; under way until packet_reap has
 *          said so, as on a ring:
 *
 *            FREE --reserve--> HELD --commit--> TX --tx, reap--> FREE
 *
 * Threads  One at a time.
 * Limits   PACKET_* of limits.h. One TX frame in hands at a time.
 */
#ifndef PACKET_H
#define PACKET_H

#include "abi.h"
#include "base.h"
#include "ring.h"
#include "ringbuf.h"

struct packet_memory;

struct packet {
	int fd, frames_fd;
	unsigned queue;
	bool sends;
	struct ringbuf frames;
	struct packet_memory *memory; /* NULL: only the descriptors are held */
	struct stats_block *stats;    /* of the I/O thread; never NULL while frames move */
	/* TX frames, counted since the start: reaped <= sent <= offered <= committed */
	uint32_t committed, offered, sent, reaped;
	bool held;        /* one more is in hands */
	uint64_t refused; /* frames that the kernel never takes */
};

struct packet_options {
	const char *ifname;
	unsigned ifindex;
	unsigned queue;
	bool tx;
};

/* What to tell another process, besides the two descriptors. */
struct packet_gift {
	int fd, frames_fd;
	uint32_t queue;
	bool tx;
	uint32_t bytes, frame_size; /* which must be its own */
};

/* A ring buffer and a socket, for one queue. 0 or -errno, reported. */
int packet_open(struct packet *p, const struct packet_options *o);
void packet_close(struct packet *p);

/* As those of ring.h. adopt: -EINVAL: of another shape; not reported. */
struct packet_gift packet_give(const struct packet *p);
void packet_hold(struct packet *p, const struct packet_gift *gift);
int packet_adopt(struct packet *p, const struct packet_gift *gift);

/* False while a frame is in hands: finish the turn. What the kernel did not take is given
 * up, and counted; TCP sends it again. After true this process may only close. */
bool packet_save(struct packet *p);

/* Send one frame; 0, or -ETIMEDOUT. Needs no packet_adopt. */
int packet_test_send(const struct packet *p, const void *frame, size_t len, unsigned timeout_ms);

unsigned packet_rx(struct packet *p, struct ring_frame batch[BATCH_MAX]);
uint8_t *packet_reserve(struct packet *p, uint16_t *frame);
void packet_commit(struct packet *p, uint16_t frame, size_t len, uint64_t sent_ns);
void packet_cancel(struct packet *p, uint16_t frame);
void packet_tx(struct packet *p);
unsigned packet_reap(struct packet *p, uint64_t sent_ns[RING_COMP]);
void packet_gauge(const struct packet *p, struct ring_block *out, uint64_t now_ns);
void packet_check(const struct packet *p);

static inline unsigned packet_in_flight(const struct packet *p)
{
	return p->committed - p->reaped;
}

#endif
