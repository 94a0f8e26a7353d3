/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_xdp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "ring.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U /* linux/memfd.h, since 6.3 */
#endif

enum { MAP_FILL, MAP_COMP, MAP_RX, MAP_TX };
enum { TX_FRAMES = RING_FRAMES - RX_FRAMES };

_Static_assert((RING_RX & (RING_RX - 1)) == 0 && (RING_TX & (RING_TX - 1)) == 0 &&
		       (RING_FILL & (RING_FILL - 1)) == 0 && (RING_COMP & (RING_COMP - 1)) == 0,
	       "the kernel takes powers of two only");
_Static_assert(TX_FRAMES >= RING_TX + RING_COMP, "TX can use all its frames");

/* --- the kernel's side ------------------------------------------------------------- */

static int set(int fd, int option, const void *value, socklen_t size)
{
	return setsockopt(fd, SOL_XDP, option, value, size) < 0 ? -errno : 0;
}

static int set_ring(int fd, int option, int entries)
{
	return set(fd, option, &entries, sizeof entries);
}

/* A file without a name: who has the descriptor can map it, and nobody can cut it
 * short under the others. Not executable, where the kernel can say so (sysctl
 * vm.memfd_noexec may insist). */
static int make_umem(struct ring *r)
{
	int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

	r->umem_fd = memfd_create("saker-umem", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
	if (r->umem_fd < 0 && errno == EINVAL)
		r->umem_fd = memfd_create("saker-umem", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (r->umem_fd < 0 || ftruncate(r->umem_fd, (off_t)RING_FRAMES * FRAME_SIZE) < 0 ||
	    fcntl(r->umem_fd, F_ADD_SEALS, seals) < 0)
		return -errno;
	return 0;
}

/* Page-aligned (mmap), chunks not larger than a page of any size. */
static int map_umem(struct ring *r)
{
	r->umem_len = (size_t)RING_FRAMES * FRAME_SIZE;
	r->umem = mmap(NULL, r->umem_len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
		       r->umem_fd, 0);
	if (r->umem != MAP_FAILED)
		return 0;
	r->umem = NULL;
	return -errno;
}

static int register_umem(struct ring *r)
{
	struct xdp_umem_reg reg = {
		.addr = (uintptr_t)r->umem,
		.len = r->umem_len,
		.chunk_size = FRAME_SIZE,
	};
	int error = set(r->fd, XDP_UMEM_REG, &reg, sizeof reg);

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

/* Our ends of the rings are where we, or who had them before us, left them. libxdp keeps
 * the consumer of a ring that we fill ahead by its size. */
static void resume_producer(struct xsk_ring_prod *p)
{
	p->cached_prod = __atomic_load_n(p->producer, __ATOMIC_RELAXED);
	p->cached_cons = __atomic_load_n(p->consumer, __ATOMIC_ACQUIRE) + p->size;
}

static void resume_consumer(struct xsk_ring_cons *c)
{
	c->cached_cons = __atomic_load_n(c->consumer, __ATOMIC_RELAXED);
	c->cached_prod = c->cached_cons;
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
	if (error)
		return error;
	resume_producer(&r->fill);
	resume_consumer(&r->rx);
	resume_consumer(&r->comp);
	if (tx)
		resume_producer(&r->tx);
	return 0;
}

/* The TX frames that are free, and those that are not. */
static void list_free(struct ring *r)
{
	for (unsigned i = RX_FRAMES; i < RING_FRAMES; i++) {
		if (r->owner[i] == OWNER_FREE)
			r->free[r->free_count++] = (uint16_t)i;
		else
			r->in_flight++;
	}
}

/* Before bind: some drivers take their first frames then (A8). */
static void populate(struct ring *r)
{
	uint32_t at = 0;

	must(xsk_ring_prod__reserve(&r->fill, RX_FRAMES, &at) == RX_FRAMES);
	for (unsigned i = 0; i < RX_FRAMES; i++) {
		*xsk_ring_prod__fill_addr(&r->fill, at + i) = (uint64_t)i * FRAME_SIZE;
		r->owner[i] = OWNER_FILL;
	}
	xsk_ring_prod__submit(&r->fill, RX_FRAMES);
	list_free(r);
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
	 * (failure mode 14); the kernel lets go within a few milliseconds, on a machine that
	 * others keep busy later: 50 were too few once in two hours. */
	for (int tries = 0; bind(r->fd, (struct sockaddr *)&address, sizeof address) < 0; tries++) {
		if (errno != EBUSY || tries == 500)
			return -errno;
		nanosleep(&pause, NULL);
	}
	return 0;
}

static int set_up(struct ring *r, const struct ring_options *o)
{
	int error = make_umem(r);

	if (!error)
		error = map_umem(r);
	if (!error)
		error = register_umem(r);
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

bool ring_possible(void)
{
	int fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	bool possible = fd >= 0 || errno != EAFNOSUPPORT;

	if (fd >= 0)
		close(fd);
	return possible;
}

int ring_open(struct ring *r, const struct ring_options *o)
{
	int error;

	memset(r, 0, sizeof *r);
	r->queue = o->queue;
	r->zero_copy = o->zero_copy;
	r->sends = o->tx;
	r->umem_fd = -1;
	r->fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	error = r->fd < 0 ? -errno : set_up(r, o);
	if (!error)
		return 0;
	if (!o->zero_copy && !o->quiet)
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
	if (r->umem_fd >= 0)
		close(r->umem_fd);
	memset(r, 0, sizeof *r);
	r->fd = r->umem_fd = -1;
}

/* --- from process to process ----------------------------------------------------------- */

static const struct ring_shape our_shape = {
	.frames = RING_FRAMES,
	.frame_size = FRAME_SIZE,
	.rx_frames = RX_FRAMES,
	.fill = RING_FILL,
	.comp = RING_COMP,
	.rx = RING_RX,
	.tx = RING_TX,
};

void ring_hold(struct ring *r, const struct ring_gift *gift)
{
	memset(r, 0, sizeof *r);
	r->fd = gift->fd;
	r->umem_fd = gift->umem_fd;
	r->queue = gift->queue;
	r->zero_copy = gift->zero_copy;
	r->sends = gift->tx;
}

struct ring_gift ring_give(const struct ring *r)
{
	return (struct ring_gift){
		.fd = r->fd,
		.umem_fd = r->umem_fd,
		.queue = r->queue,
		.tx = r->sends,
		.zero_copy = r->zero_copy,
		.shape = our_shape,
	};
}

bool ring_save(const struct ring *r, struct ring_state *state)
{
	if (r->unsubmitted || memchr(r->owner, OWNER_HELD, sizeof r->owner))
		return false;
	memcpy(state->sent_ns, r->sent_ns, sizeof state->sent_ns);
	memcpy(state->owner, r->owner, sizeof state->owner);
	return true;
}

/* The state is another process's word, the rings are the kernel's: they must agree.
 * RX frames are all alike: the kernel has them, or the other one held some. */
static int resume(struct ring *r, const struct ring_state *state)
{
	memset(r->owner, OWNER_FILL, RX_FRAMES);
	for (unsigned i = 0; state && i < RING_FRAMES; i++) {
		enum ring_owner owner = state->owner[i];

		if (i < RX_FRAMES ? owner != OWNER_FILL : owner != OWNER_FREE && owner != OWNER_TX)
			return -EINVAL;
		r->owner[i] = (uint8_t)owner;
		r->sent_ns[i] = state->sent_ns[i];
	}
	list_free(r);
	return r->fill.cached_prod - r->rx.cached_cons == RX_FRAMES &&
			       r->tx.cached_prod - r->comp.cached_cons == r->in_flight ?
		       0 :
		       -EINVAL;
}

int ring_adopt(struct ring *r, const struct ring_gift *gift, const struct ring_state *state)
{
	int error;

	ring_hold(r, gift);
	error = memcmp(&gift->shape, &our_shape, sizeof our_shape) ? -EINVAL : map_umem(r);
	if (!error)
		error = map_rings(r, gift->tx);
	if (!error)
		error = resume(r, state);
	if (error)
		ring_close(r);
	return error;
}
