/* SPDX-License-Identifier: GPL-2.0-only */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "packet_memory.h"

/* A multiple of the page, whatever that is. */
_Static_assert((FRAMES_RING_BYTES & (FRAMES_RING_BYTES - 1)) == 0 && FRAMES_RING_BYTES >= 64 * 1024,
	       "the kernel takes a power of two, and whole pages, of 64 KiB at most");

/* --- the kernel's side ------------------------------------------------------------- */

/* Protocol 0: it receives nothing. Past the queueing discipline, as AF_XDP sends: a frame
 * that finds no room comes back as ENOBUFS, and is not lost in a queue. */
static int open_socket(struct packet *p, const struct packet_options *o)
{
	struct sockaddr_ll address = { .sll_family = AF_PACKET, .sll_ifindex = (int)o->ifindex };
	int yes = 1;

	p->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (p->fd < 0 || setsockopt(p->fd, SOL_PACKET, PACKET_QDISC_BYPASS, &yes, sizeof yes) ||
	    bind(p->fd, (struct sockaddr *)&address, sizeof address))
		return -errno;
	return 0;
}

static int open_frames(struct packet *p)
{
	p->frames_fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "frames", 0, 0, FRAMES_RING_BYTES,
				      NULL);
	return p->frames_fd < 0 ? -errno : 0;
}

static int refuse(const struct packet_options *o, const char *what, int error)
{
	fprintf(stderr, "saker: %s: %s for queue %u: %s%s\n", o->ifname, what, o->queue,
		strerror(-error),
		error == -EAFNOSUPPORT ? ": it needs CONFIG_PACKET=y" :
		error == -EPERM        ? ": run as root, or give CAP_NET_RAW and CAP_BPF" :
					 "");
	return error;
}

int packet_open(struct packet *p, const struct packet_options *o)
{
	int error;

	*p = (struct packet){ .queue = o->queue, .sends = o->tx, .frames_fd = -1 };
	error = open_socket(p, o);
	if (error) {
		refuse(o, "AF_PACKET socket", error);
	} else {
		error = open_frames(p);
		if (error)
			refuse(o, "BPF ring buffer", error);
	}
	if (error)
		packet_close(p);
	return error;
}

/* --- our side ----------------------------------------------------------------------- */

static size_t memory_bytes(bool sends)
{
	return sends ? sizeof(struct packet_memory) : offsetof(struct packet_memory, tx);
}

void packet_memory_init(struct packet_memory *m)
{
	for (unsigned i = 0; i < PACKET_TX; i++) {
		m->bytes[i].iov_base = m->tx[i];
		m->message[i].msg_hdr = (struct msghdr){ .msg_iov = &m->bytes[i], .msg_iovlen = 1 };
	}
}

/* All of it at once: the first frame must not fault. */
static int map_memory(struct packet *p)
{
	void *at = mmap(NULL, memory_bytes(p->sends), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (at == MAP_FAILED)
		return -errno;
	p->memory = at;
	if (p->sends)
		packet_memory_init(p->memory);
	return 0;
}

void packet_close(struct packet *p)
{
	ringbuf_close(&p->frames);
	if (p->memory)
		munmap(p->memory, memory_bytes(p->sends));
	if (p->fd >= 0)
		close(p->fd);
	if (p->frames_fd >= 0)
		close(p->frames_fd);
	*p = (struct packet){ .fd = -1, .frames_fd = -1 };
}

/* --- from process to process ----------------------------------------------------------- */

struct packet_gift packet_give(const struct packet *p)
{
	return (struct packet_gift){
		.fd = p->fd,
		.frames_fd = p->frames_fd,
		.queue = p->queue,
		.tx = p->sends,
		.bytes = FRAMES_RING_BYTES,
		.frame_size = FRAME_SIZE,
	};
}

void packet_hold(struct packet *p, const struct packet_gift *gift)
{
	*p = (struct packet){
		.fd = gift->fd,
		.frames_fd = gift->frames_fd,
		.queue = gift->queue,
		.sends = gift->tx,
	};
}

int packet_adopt(struct packet *p, const struct packet_gift *gift)
{
	bool same = gift->bytes == FRAMES_RING_BYTES && gift->frame_size == FRAME_SIZE;
	int error = same ? 0 : -EINVAL;

	packet_hold(p, gift);
	if (!error)
		error = ringbuf_open(&p->frames, p->frames_fd, FRAMES_RING_BYTES);
	if (!error)
		error = map_memory(p);
	if (error)
		packet_close(p);
	return error;
}
