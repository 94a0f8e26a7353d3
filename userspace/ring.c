/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <linux/if_xdp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "ring.h"

#ifndef AF_XDP
#define AF_XDP 44 /* linux/socket.h, since 4.18 */
#endif
#ifndef SOL_XDP
#define SOL_XDP 283
#endif

enum { MAP_FILL, MAP_COMP, MAP_RX, MAP_TX };
enum { TX_FRAMES = RING_FRAMES - RX_FRAMES };

_Static_assert((RING_RX & (RING_RX - 1)) == 0 && (RING_TX & (RING_TX - 1)) == 0 &&
		       (RING_FILL & (RING_FILL - 1)) == 0 && (RING_COMP & (RING_COMP - 1)) == 0,
	       "the kernel takes powers of two only");
_Static_assert(TX_FRAMES >= RING_TX + RING_COMP, "TX can use all its frames");

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

/* Where XDP leaves its stamp, which the kernel copies along with the frame. */
static struct steer_meta *meta_at(const struct ring *r, unsigned frame)
{
	return (struct steer_meta *)(frame_at(r, frame) + FRAME_HEADROOM) - 1;
}

/* Back to the kernel, without a stamp that could be taken for the next one's. */
static void refill(struct ring *r, unsigned frame, uint32_t at)
{
	meta_at(r, frame)->stamp_ns = 0;
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
}

/* --- set-up ------------------------------------------------------------------------- */

static int set(int fd, int option, const void *value, socklen_t size)
{
	return setsockopt(fd, SOL_XDP, option, value, size) < 0 ? -errno : 0;
}

static int set_ring(int fd, int option, int entries)
{
	return set(fd, option, &entries, sizeof entries);
}

static int register_umem(struct ring *r)
{
	struct xdp_umem_reg reg = { 0 };
	int error;

	/* Page-aligned (mmap), chunks not larger than a page of any size. MAP_SHARED:
	 * a worker that is forked later sees the same frames. */
	r->umem_len = (size_t)RING_FRAMES * FRAME_SIZE;
	r->umem = mmap(NULL, r->umem_len, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (r->umem == MAP_FAILED) {
		r->umem = NULL;
		return -errno;
	}
	reg.addr = (uintptr_t)r->umem;
	reg.len = r->umem_len;
	reg.chunk_size = FRAME_SIZE;
	error = set(r->fd, XDP_UMEM_REG, &reg, sizeof reg);
	if (!error)
		error = set_ring(r->fd, XDP_UMEM_FILL_RING, RING_FILL);
	if (!error)
		error = set_ring(r->fd, XDP_UMEM_COMPLETION_RING, RING_COMP);
	return error;
}

/* libxdp gives producer and consumer rings the same members. */
_Static_assert(sizeof(struct xsk_ring_prod) == sizeof(struct xsk_ring_cons) &&
		       offsetof(struct xsk_ring_prod, flags) ==
			       offsetof(struct xsk_ring_cons, flags),
	       "one function maps both");

struct ring_kind {
	uint64_t page_offset;
	size_t entry;
	uint32_t entries;
};

static const struct ring_kind ring_kind[] = {
	[MAP_FILL] = { XDP_UMEM_PGOFF_FILL_RING, sizeof(uint64_t), RING_FILL },
	[MAP_COMP] = { XDP_UMEM_PGOFF_COMPLETION_RING, sizeof(uint64_t), RING_COMP },
	[MAP_RX] = { XDP_PGOFF_RX_RING, sizeof(struct xdp_desc), RING_RX },
	[MAP_TX] = { XDP_PGOFF_TX_RING, sizeof(struct xdp_desc), RING_TX },
};

static int map_ring(struct ring *r, int which, const struct xdp_ring_offset *o, void *ring)
{
	const struct ring_kind *kind = &ring_kind[which];
	size_t len = o->desc + kind->entries * kind->entry;
	uint8_t *base = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, r->fd,
			     (off_t)kind->page_offset);
	struct xsk_ring_prod *to = ring;

	if (base == MAP_FAILED)
		return -errno;
	r->map[which] = base;
	r->map_len[which] = len;
	*to = (struct xsk_ring_prod){
		.mask = kind->entries - 1,
		.size = kind->entries,
		.producer = (uint32_t *)(base + o->producer),
		.consumer = (uint32_t *)(base + o->consumer),
		.ring = base + o->desc,
		.flags = (uint32_t *)(base + o->flags),
	};
	return 0;
}

static int map_rings(struct ring *r, bool tx)
{
	struct xdp_mmap_offsets o;
	socklen_t size = sizeof o;
	int error;

	if (getsockopt(r->fd, SOL_XDP, XDP_MMAP_OFFSETS, &o, &size) < 0)
		return -errno;
	error = map_ring(r, MAP_FILL, &o.fr, &r->fill);
	if (!error)
		error = map_ring(r, MAP_COMP, &o.cr, &r->comp);
	if (!error)
		error = map_ring(r, MAP_RX, &o.rx, &r->rx);
	if (!error && tx)
		error = map_ring(r, MAP_TX, &o.tx, &r->tx);
	/* libxdp's convention for producers: ahead of the consumer by the size */
	r->fill.cached_cons = RING_FILL;
	r->tx.cached_cons = RING_TX;
	return error;
}

/* Before bind: some drivers take their first frames then (A8). */
static void populate(struct ring *r)
{
	uint32_t at = 0;

	must(xsk_ring_prod__reserve(&r->fill, RX_FRAMES, &at) == RX_FRAMES);
	for (unsigned i = 0; i < RX_FRAMES; i++) {
		refill(r, i, at + i);
		move(r, i, OWNER_FREE, OWNER_FILL);
	}
	xsk_ring_prod__submit(&r->fill, RX_FRAMES);
	for (unsigned i = RX_FRAMES; i < RING_FRAMES; i++)
		r->free[r->free_count++] = (uint16_t)i;
}

static int bind_to(struct ring *r, const struct ring_options *o)
{
	struct sockaddr_xdp address = {
		.sxdp_family = AF_XDP,
		.sxdp_ifindex = o->ifindex,
		.sxdp_queue_id = o->queue,
		.sxdp_flags = (uint16_t)(XDP_USE_NEED_WAKEUP |
					 (o->zero_copy ? XDP_ZEROCOPY : XDP_COPY)),
	};
	struct timespec pause = { .tv_nsec = 1000000 };

	/* EBUSY: a socket of ours that was just closed still holds the queue
	 * (failure mode 14); the kernel lets go within a few milliseconds. */
	for (int tries = 0; bind(r->fd, (struct sockaddr *)&address, sizeof address) < 0; tries++) {
		if (errno != EBUSY || tries == 50)
			return -errno;
		nanosleep(&pause, NULL);
	}
	return 0;
}

static int set_up(struct ring *r, const struct ring_options *o)
{
	int error = register_umem(r);

	if (!error)
		error = set_ring(r->fd, XDP_RX_RING, RING_RX);
	if (!error && o->tx)
		error = set_ring(r->fd, XDP_TX_RING, RING_TX);
	if (!error)
		error = map_rings(r, o->tx);
	if (error)
		return error;
	populate(r);
	return bind_to(r, o);
}

int ring_open(struct ring *r, const struct ring_options *o)
{
	int error;

	memset(r, 0, sizeof *r);
	r->queue = o->queue;
	r->zero_copy = o->zero_copy;
	r->fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	error = r->fd < 0 ? -errno : set_up(r, o);
	if (!error)
		return 0;
	if (!o->zero_copy)
		fprintf(stderr, "saker: %s: AF_XDP socket for queue %u: %s%s\n", o->ifname,
			o->queue, strerror(-error),
			error == -EBUSY ? ": another program has a socket on it (ss --xdp)" :
			error == -ENOBUFS || error == -ENOMEM ?
					  ": raise the limit of locked memory (ulimit -l)" :
					  "");
	ring_close(r);
	return error;
}

void ring_close(struct ring *r)
{
	for (int i = 0; i < 4; i++)
		if (r->map[i])
			munmap(r->map[i], r->map_len[i]);
	if (r->fd >= 0)
		close(r->fd);
	if (r->umem)
		munmap(r->umem, r->umem_len);
	memset(r, 0, sizeof *r);
	r->fd = -1;
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
			.stamp_ns = meta_at(r, frame)->stamp_ns,
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
