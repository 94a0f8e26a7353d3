/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ringbuf.h - read a BPF ring buffer, record by record
 *
 * Place    icmp.c takes what routers say from one, packet.c frames.
 * Model    Documentation/bpf/ringbuf.rst. A look is one load of an index that moves only
 *          when there is something; neither a look nor a record is a system call, and
 *          the program wakes nobody. It does not wait either: what becomes of a record
 *          that finds no room is the program's affair.
 *
 *            ringbuf_peek --> record, or none --> ringbuf_pass --> ... ringbuf_release
 *
 *          Until the release the kernel does not write there. libbpf's own reader calls
 *          back for all records at once, and cannot stop after a batch.
 * Owner    The mapping lives from ringbuf_open to ringbuf_close and needs no descriptor.
 *          Records are for reading only: the kernel allows no other mapping.
 * Threads  One reader. The words that it shares with the kernel:
 *
 *            kernel, the program on any CPU          the reader
 *            load consumer          (acquire, C)     load producer  (acquire, A)
 *            header busy, store producer (release, A)
 *            fill the record                         load header    (acquire, B)
 *            store header           (full, B)        not busy: read the record
 *                                                    store consumer (release, C)
 */
#ifndef RINGBUF_H
#define RINGBUF_H

#include "base.h"

struct ringbuf {
	unsigned long *consumer;       /* ours; a page of its own */
	const unsigned long *producer; /* the kernel's; one page, then the records, twice */
	const uint8_t *records;
	size_t page, bytes;  /* of records */
	unsigned long taken; /* what *consumer says, or will say at the release */
};

/* Map the ring buffer of so many bytes, as its max_entries says; its descriptor may be
 * closed then. 0 or -errno. */
int ringbuf_open(struct ringbuf *r, int map_fd, size_t bytes);
/* Also after ringbuf_open failed, or on zeroed memory. */
void ringbuf_close(struct ringbuf *r);

/* Is there something? Cheap. */
static inline bool ringbuf_pending(const struct ringbuf *r)
{
	return r->taken != __atomic_load_n(r->producer, __ATOMIC_ACQUIRE); /* A */
}

/* The next record and its length; NULL: there is none, or it is being filled. Those that
 * the program gave up are passed over. */
const void *ringbuf_peek(struct ringbuf *r, uint32_t *len);

/* Behind it. */
void ringbuf_pass(struct ringbuf *r, uint32_t len);

/* All that was passed is the kernel's again. */
void ringbuf_release(struct ringbuf *r);

/* How many records wait. */
unsigned ringbuf_level(const struct ringbuf *r);

#endif
