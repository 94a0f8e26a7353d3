/* SPDX-License-Identifier: GPL-2.0-only */
#include "ringbuf.h"

#include <errno.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

static const uint32_t no_length = BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT;

/* The kernel shows the records twice, one behind the other, so that none of
 * them is ever torn by the end of the buffer. */
static size_t kernel_bytes(const struct ringbuf *r)
{
	return r->page + 2 * r->bytes;
}

int ringbuf_open(struct ringbuf *r, int map_fd, size_t bytes)
{
	void *at;

	/* The kernel fills these mappings at once: no first touch will fault. */
	*r = (struct ringbuf){ .page = (size_t)sysconf(_SC_PAGESIZE), .bytes = bytes };
	at = mmap(NULL, r->page, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	r->consumer = at;
	at = mmap(NULL, kernel_bytes(r), PROT_READ, MAP_SHARED, map_fd, (off_t)r->page);
	if (at == MAP_FAILED) {
		int error = -errno;
		ringbuf_close(r);
		return error;
	}
	r->producer = at;
	r->records = (const uint8_t *)at + r->page;
	r->taken = *r->consumer;
	return 0;
}

void ringbuf_close(struct ringbuf *r)
{
	if (r->consumer)
		munmap(r->consumer, r->page);
	if (r->producer)
		munmap((void *)r->producer, kernel_bytes(r));
	*r = (struct ringbuf){ .page = 0 };
}

static const uint8_t *at(const struct ringbuf *r, unsigned long position)
{
	return r->records + (position & (r->bytes - 1));
}

static uint32_t header_of(const uint8_t *record)
{
	return __atomic_load_n((const uint32_t *)record, __ATOMIC_ACQUIRE); /* B */
}

const void *ringbuf_peek(struct ringbuf *r, uint32_t *len)
{
	while (ringbuf_pending(r)) {
		const uint8_t *record = at(r, r->taken);
		uint32_t header = header_of(record);

		if (header & BPF_RINGBUF_BUSY_BIT)
			break; /* being filled on another CPU: next turn */
		*len = header & ~no_length;
		if (!(header & BPF_RINGBUF_DISCARD_BIT))
			return record + BPF_RINGBUF_HDR_SZ;
		ringbuf_pass(r, *len);
		ringbuf_release(r);
	}
	return NULL;
}

static unsigned long size_of(uint32_t len)
{
	return round_up(len + BPF_RINGBUF_HDR_SZ, 8);
}

void ringbuf_pass(struct ringbuf *r, uint32_t len)
{
	r->taken += size_of(len);
}

void ringbuf_release(struct ringbuf *r)
{
	__atomic_store_n(r->consumer, r->taken, __ATOMIC_RELEASE); /* C */
}

unsigned ringbuf_level(const struct ringbuf *r)
{
	unsigned long end = __atomic_load_n(r->producer, __ATOMIC_ACQUIRE); /* A */
	unsigned n = 0;

	for (unsigned long i = r->taken; i != end;) {
		uint32_t header = header_of(at(r, i));

		n += !(header & BPF_RINGBUF_DISCARD_BIT);
		i += size_of(header & ~no_length);
	}
	return n;
}
