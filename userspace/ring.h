/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ring.h - one AF_XDP socket: UMEM, four rings, and who owns each frame
 *
 * Place    The starter opens one for each RX queue; then the I/O thread alone
 *          uses it. Set up by our own few system calls, since libxdp's cannot
 *          adopt what already exists; the rings are moved by libxdp's inline
 *          calls, which have the acquire and release that Arm needs.
 * Model    UMEM is a memfd, so that with its descriptor and the socket's another
 *          process can go on where this one stopped:
 *
 *            ring_open --> ring_give --fds--> ring_adopt, fresh
 *                          ring_give, ring_save --fds, state--> ring_adopt, resumed
 *
 *          Meanwhile the kernel receives and sends on: it moves its own ends of
 *          the rings, ours stand still. The socket lives until the last process
 *          has closed it; before that its queue cannot be bound again.
 * Owner    Every frame has one owner at any time, and only ring.c moves it:
 *
 *            RX frames   FILL --kernel--> RX --ring_rx--> HELD --ring_done--> FILL
 *            TX frames   FREE --ring_reserve--> HELD --ring_commit--> TX --ring_reap--> FREE
 *
 *          A TX frame is free only when its completion has come (A12), so a
 *          retransmission is a new frame.
 * Threads  One at a time.
 * Limits   RING_* of limits.h. Only a ring opened with tx can send: one I/O
 *          thread sends all on its first ring.
 *
 * Memory order (net/xdp/xsk_queue.h has the whole table); user space is
 *   producer of FILL and TX           consumer of RX and COMPLETION
 *   write descriptor                  load producer index   (acquire, A)
 *   store producer index (release, B) read descriptor
 *                                     store consumer index  (release, C)
 * A pairs with the kernel's release of a filled entry, B with its acquire before
 * it reads ours, C tells it that the entry may be overwritten.
 */
#ifndef RING_H
#define RING_H

#include <xdp/xsk.h>
#include "abi.h"
#include "base.h"

enum ring_owner { OWNER_FREE, OWNER_FILL, OWNER_HELD, OWNER_TX };

struct ring {
	int fd, umem_fd;
	unsigned queue;
	bool zero_copy, sends;
	uint8_t *umem;
	size_t umem_len;
	struct xsk_ring_prod fill, tx;
	struct xsk_ring_cons rx, comp;
	void *map[4]; /* of fill, comp, rx, tx */
	size_t map_len[4];
	struct stats_block *stats; /* of the I/O thread; never NULL while frames move */
	/* TX frames */
	uint16_t free[RING_FRAMES - RX_FRAMES];
	unsigned free_count;
	unsigned in_flight;            /* committed, not completed */
	unsigned unsubmitted;          /* of these, those since the last ring_tx */
	uint64_t sent_ns[RING_FRAMES]; /* when it was given to TX, if it carries an answer */
	uint8_t owner[RING_FRAMES];    /* enum ring_owner */
};

struct ring_frame {
	uint8_t *data;
	uint32_t len;
	uint16_t frame;
	struct steer_meta meta; /* of the XDP program; all 0: it left none */
};

struct ring_options {
	const char *ifname;
	unsigned ifindex;
	unsigned queue;
	bool tx;
	bool zero_copy; /* bind with XDP_ZEROCOPY, else XDP_COPY */
	bool quiet;     /* report no error */
};

/* Sizes that are part of what two processes, perhaps of two versions, share. */
struct ring_shape {
	uint32_t frames, frame_size, rx_frames;
	uint32_t fill, comp, rx, tx; /* entries */
};

/* What to tell another process of a bound socket, besides the two descriptors. */
struct ring_gift {
	int fd, umem_fd;
	uint32_t queue;
	bool tx, zero_copy;
	struct ring_shape shape;
};

/* And what cannot be seen on the rings: which TX frames the kernel has. */
struct ring_state {
	uint64_t sent_ns[RING_FRAMES];
	uint8_t owner[RING_FRAMES];
};

/* Has the kernel AF_XDP at all? */
bool ring_possible(void);

/* 0 or -errno; silent for -EOPNOTSUPP and its kin when zero-copy was asked for,
 * since copy is tried next. Fill is populated before bind. */
int ring_open(struct ring *r, const struct ring_options *o);
void ring_close(struct ring *r);

/* The descriptors stay this ring's: send or inherit copies. */
struct ring_gift ring_give(const struct ring *r);

/* Only keep the descriptors of a socket that another process uses; then ring_give or
 * ring_close. */
void ring_hold(struct ring *r, const struct ring_gift *gift);

/* False while a frame is in our hands or committed and not submitted: finish the turn.
 * After true this process may only close the ring. */
bool ring_save(const struct ring *r, struct ring_state *state);

/* Go on with a socket that another process has bound, and no longer uses; needs no
 * privilege. state NULL: none of its frames is under way on TX or in hands, as after
 * ring_open and ring_test_send. Takes both descriptors, also when it fails.
 * -EINVAL: of another shape, or the state is not that of these rings: open anew.
 * Not reported. */
int ring_adopt(struct ring *r, const struct ring_gift *gift, const struct ring_state *state);

/* Send one frame and wait for its completion; 0, or -ETIMEDOUT. */
int ring_test_send(struct ring *r, const void *frame, size_t len, unsigned timeout_ms);

/* Up to BATCH_MAX received frames; each goes back by ring_done, in any order. */
unsigned ring_rx(struct ring *r, struct ring_frame batch[BATCH_MAX]);
void ring_done(struct ring *r, const struct ring_frame *batch, unsigned n);

/* A free frame of FRAME_SIZE bytes to write to, or NULL; then either of the
 * two below. */
uint8_t *ring_reserve(struct ring *r, uint16_t *frame);
/* sent_ns: now, if ring_reap shall say how long it took; else 0. */
void ring_commit(struct ring *r, uint16_t frame, size_t len, uint64_t sent_ns);
void ring_cancel(struct ring *r, uint16_t frame);

/* Make what was committed visible and wake the kernel if it wants it. Also
 * without anything new while frames are on the ring: a kick may have failed. */
void ring_tx(struct ring *r);

/* Take completions back. Returns how many of them had a sent_ns, and those. */
unsigned ring_reap(struct ring *r, uint64_t sent_ns[RING_COMP]);

/* For a ring that stands still: wake the kernel to send, though it does not ask. */
void ring_kick(struct ring *r);

/* The same to receive. Between two turns nobody holds a frame: one that is in hands
 * all the same was forgotten, and goes back to fill. Returns how many were. A frame that
 * the kernel has is never given again: it would be received into twice. */
unsigned ring_refill(struct ring *r);

/* Who owns the frames, what is on the rings, and what the kernel counted for this
 * socket, as of now_ns. */
void ring_gauge(const struct ring *r, struct ring_block *out, uint64_t now_ns);

/* Panics unless every frame has exactly one owner, and the kernel has as many as the
 * rings' indices say. */
void ring_check(const struct ring *r);

#endif
