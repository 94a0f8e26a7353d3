/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * icmp.h - take what XDP tells about the path, record by record
 *
 * Place    steer opens it; the I/O thread looks each turn and hands what came to
 *          the worker.
 * Model    One BPF ring buffer (Documentation/bpf/ringbuf.rst). A look is one load
 *          of an index that moves only when there is something; neither a look
 *          nor taking a record is a system call. XDP does not wait: when the ring
 *          is full it counts icmp_lost.
 * Owner    The mapping lives from icmp_open to icmp_close and needs no descriptor.
 * Threads  One taker. The words that it shares with the kernel:
 *
 *            kernel, XDP on any CPU                  the taker
 *            load consumer          (acquire, C)     load producer  (acquire, A)
 *            header busy, store producer (release, A)
 *            fill the record                         load header    (acquire, B)
 *            store header           (full, B)        not busy: copy the record
 *                                                    store consumer (release, C)
 * Limits   ICMP_RING_BYTES.
 */
#ifndef ICMP_H
#define ICMP_H

#include "abi.h"
#include "base.h"

struct icmp {
	unsigned long *consumer;       /* ours; a page of its own */
	const unsigned long *producer; /* the kernel's; one page, then the records, twice */
	const uint8_t *records;
	size_t page;
	unsigned long taken; /* what *consumer says */
};

/* Map the ring buffer; its descriptor may be closed then. 0 or -errno. */
int icmp_open(struct icmp *i, int map_fd);
/* Also after icmp_open failed, or on zeroed memory. */
void icmp_close(struct icmp *i);

/* Is there something? Cheap. */
static inline bool icmp_pending(const struct icmp *i)
{
	return i->taken != __atomic_load_n(i->producer, __ATOMIC_ACQUIRE); /* A */
}

/* The next record, or false. */
bool icmp_take(struct icmp *i, struct icmp_event *e);

#endif
