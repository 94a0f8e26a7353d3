/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <linux/if_xdp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include "ring.h"

/* --- frames ---------------------------------------------------------------------- */

static void move(struct ring *r, unsigned frame, enum ring_owner from, enum ring_owner to)
{
	must_debug(frame < RING_FRAMES && r->owner[frame] == from);
	(void)from;
	r->owner[frame] = (uint8_t)to;
}

static uint8_t *frame_at(const struct ring *r, unsigned frame)
{
	return r->umem + (size_t)frame * FRAME_SIZE;
}

/* Where XDP leaves its word, which the kernel copies along with the frame. */
static struct steer_meta *meta_at(const struct ring *r, unsigned frame)
{
	return (struct steer_meta *)(frame_at(r, frame) + FRAME_HEADROOM) - 1;
}

/* Back to the kernel, without a word that could be taken for the next one's. */
static void refill(struct ring *r, unsigned frame, uint32_t at)
{
	*meta_at(r, frame) = (struct steer_meta){ 0 };
	*xsk_ring_prod__fill_addr(&r->fill, at) = (uint64_t)frame * FRAME_SIZE;
}

struct owners {
	unsigned of[OWNER_TX + 1];
};

static struct owners owners_of(const struct ring *r)
{
	struct owners n = { 0 };

	for (unsigned i = 0; i < RING_FRAMES; i++)
		n.of[r->owner[i]]++;
	return n;
}

void ring_check(const struct ring *r)
{
	struct owners n = owners_of(r);

	must(n.of[OWNER_FILL] + n.of[OWNER_HELD] + n.of[OWNER_TX] + n.of[OWNER_FREE] ==
	     RING_FRAMES);
	must(n.of[OWNER_FREE] == r->free_count && n.of[OWNER_TX] == r->in_flight);
	/* given to the kernel and not yet taken from it */
	must(n.of[OWNER_FILL] == r->fill.cached_prod - r->rx.cached_cons &&
	     n.of[OWNER_TX] == r->tx.cached_prod - r->comp.cached_cons);
}

/* --- receive --------------------------------------------------------------------------- */

unsigned ring_rx(struct ring *r, struct ring_frame batch[BATCH_MAX])
{
	uint32_t at = 0, n = xsk_ring_cons__peek(&r->rx, BATCH_MAX, &at);

	for (uint32_t i = 0; i < n; i++) {
		const struct xdp_desc *d = xsk_ring_cons__rx_desc(&r->rx, at + i);
		/* The address points behind the headroom: the chunk is what counts (A13). */
		unsigned frame = (unsigned)(d->addr / FRAME_SIZE);

		move(r, frame, OWNER_FILL, OWNER_HELD);
		batch[i] = (struct ring_frame){
			.data = r->umem + d->addr,
			.len = d->len,
			.frame = (uint16_t)frame,
			.meta = *meta_at(r, frame),
		};
	}
	if (n) {
		xsk_ring_cons__release(&r->rx, n);
		r->stats->rx_frames += n;
	} else if (unlikely(xsk_ring_prod__needs_wakeup(&r->fill))) {
		recvfrom(r->fd, NULL, 0, MSG_DONTWAIT, NULL, NULL); /* failure mode 2 */
	}
	return n;
}

void ring_done(struct ring *r, const struct ring_frame *batch, unsigned n)
{
	uint32_t at = 0;

	/* There are more entries than frames: always room (limits.h). */
	must(xsk_ring_prod__reserve(&r->fill, n, &at) == n);
	for (unsigned i = 0; i < n; i++) {
		move(r, batch[i].frame, OWNER_HELD, OWNER_FILL);
		refill(r, batch[i].frame, at + i);
	}
	xsk_ring_prod__submit(&r->fill, n);
}

/* --- send ---------------------------------------------------------------------------------- */

uint8_t *ring_reserve(struct ring *r, uint16_t *frame)
{
	/* Each frame in flight needs an entry of the completion ring; and one of the
	 * TX ring, which kernels before 6.17 may show as taken after its completion. */
	if (!r->free_count || r->in_flight >= RING_COMP || !xsk_prod_nb_free(&r->tx, 1))
		return NULL;
	*frame = r->free[--r->free_count];
	move(r, *frame, OWNER_FREE, OWNER_HELD);
	return frame_at(r, *frame);
}

void ring_cancel(struct ring *r, uint16_t frame)
{
	move(r, frame, OWNER_HELD, OWNER_FREE);
	r->free[r->free_count++] = frame;
}

void ring_commit(struct ring *r, uint16_t frame, size_t len, uint64_t sent_ns)
{
	uint32_t at = 0;

	must(xsk_ring_prod__reserve(&r->tx, 1, &at) == 1); /* ring_reserve saw to it */
	*xsk_ring_prod__tx_desc(&r->tx, at) = (struct xdp_desc){
		.addr = (uint64_t)frame * FRAME_SIZE,
		.len = (uint32_t)len,
	};
	r->sent_ns[frame] = sent_ns;
	move(r, frame, OWNER_HELD, OWNER_TX);
	r->in_flight++;
	r->unsubmitted++;
}

/* Descriptors that the kernel has not yet taken off the ring. */
static bool pending(const struct ring *r)
{
	return __atomic_load_n(r->tx.consumer, __ATOMIC_ACQUIRE) != r->tx.cached_prod;
}

/* One call sends at most 32 frames in copy mode (the kernel's TX_BATCH_SIZE) and
 * says EAGAIN when more are there, or when the driver is busy. What was put off
 * is kicked again the next turn (A3, A4, A5). */
static void kick(struct ring *r)
{
	for (int i = 0; i < RING_TX / 32; i++) {
		r->stats->tx_kicks++;
		if (sendto(r->fd, NULL, 0, MSG_DONTWAIT, NULL, 0) == 0 || !pending(r))
			return;
		if (errno != EAGAIN)
			break;
	}
	r->stats->tx_kick_retries++;
}

void ring_tx(struct ring *r)
{
	if (r->unsubmitted) {
		xsk_ring_prod__submit(&r->tx, r->unsubmitted);
		r->stats->tx_frames += r->unsubmitted;
		r->unsubmitted = 0;
	}
	/* In copy mode the flag is always set: nothing leaves without the call. */
	if (r->in_flight && xsk_ring_prod__needs_wakeup(&r->tx) && pending(r))
		kick(r);
}

void ring_kick(struct ring *r)
{
	if (r->tx.producer)
		kick(r);
}

unsigned ring_refill(struct ring *r)
{
	unsigned n = 0;

	for (unsigned i = 0; i < RX_FRAMES; i++) {
		struct ring_frame forgotten = { .frame = (uint16_t)i };

		if (r->owner[i] != OWNER_HELD)
			continue;
		ring_done(r, &forgotten, 1);
		n++;
	}
	recvfrom(r->fd, NULL, 0, MSG_DONTWAIT, NULL, NULL);
	return n;
}

unsigned ring_reap(struct ring *r, uint64_t sent_ns[RING_COMP])
{
	uint32_t at = 0, n = 0;
	unsigned timed = 0;

	if (r->in_flight)
		n = xsk_ring_cons__peek(&r->comp, RING_COMP, &at);
	for (uint32_t i = 0; i < n; i++) {
		unsigned frame = (unsigned)(*xsk_ring_cons__comp_addr(&r->comp, at + i) /
					    FRAME_SIZE);

		move(r, frame, OWNER_TX, OWNER_FREE);
		r->free[r->free_count++] = (uint16_t)frame;
		if (r->sent_ns[frame])
			sent_ns[timed++] = r->sent_ns[frame];
	}
	if (n) {
		xsk_ring_cons__release(&r->comp, n);
		r->in_flight -= n;
		r->stats->tx_completed += n;
	}
	return timed;
}

/* What the kernel has counted; nothing, where it does not say. */
static void count_lost(const struct ring *r, struct ring_block *out)
{
	struct xdp_statistics s = { 0 };
	socklen_t size = sizeof s;

	if (getsockopt(r->fd, SOL_XDP, XDP_STATISTICS, &s, &size) < 0)
		return;
	out->rx_ring_full = s.rx_ring_full;
	out->rx_dropped = s.rx_dropped;
	out->rx_fill_empty = s.rx_fill_ring_empty_descs;
	out->tx_invalid = s.tx_invalid_descs;
	out->tx_empty = s.tx_ring_empty_descs;
}

static uint64_t level(const uint32_t *producer, const uint32_t *consumer)
{
	if (!producer)
		return 0; /* a ring without TX */
	return __atomic_load_n(producer, __ATOMIC_RELAXED) -
	       __atomic_load_n(consumer, __ATOMIC_RELAXED);
}

void ring_gauge(const struct ring *r, struct ring_block *out, uint64_t now_ns)
{
	struct owners n = owners_of(r);

	*out = (struct ring_block){
		.at_ns = now_ns,
		.frames = RING_FRAMES,
		.frames_free = n.of[OWNER_FREE],
		.frames_fill = n.of[OWNER_FILL],
		.frames_held = n.of[OWNER_HELD],
		.frames_tx = n.of[OWNER_TX],
		.fill = level(r->fill.producer, r->fill.consumer),
		.rx = level(r->rx.producer, r->rx.consumer),
		.tx = level(r->tx.producer, r->tx.consumer),
		.completion = level(r->comp.producer, r->comp.consumer),
	};
	count_lost(r, out);
}

int ring_test_send(struct ring *r, const void *bytes, size_t len, unsigned timeout_ms)
{
	struct timespec pause = { .tv_nsec = 100000 };
	struct stats_block scratch = { 0 }, *stats = r->stats;
	uint64_t none[RING_COMP];
	uint16_t frame;
	uint8_t *to = ring_reserve(r, &frame);

	must(to);
	r->stats = &scratch; /* not a frame of the traffic that is counted */
	memcpy(to, bytes, len);
	ring_commit(r, frame, len, 0);
	for (unsigned i = 0; r->in_flight && i < timeout_ms * 10; i++) {
		ring_tx(r);
		ring_reap(r, none);
		if (r->in_flight)
			nanosleep(&pause, NULL);
	}
	r->stats = stats;
	return r->in_flight ? -ETIMEDOUT : 0;
}
