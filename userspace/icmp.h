/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * icmp.h - take what the program tells about the path, record by record
 *
 * Place    steer opens it; the I/O thread looks each turn and hands what came to
 *          the worker.
 * Model    One ring buffer (ringbuf.h, with its memory order). The program does not
 *          wait: when the ring is full it counts icmp_lost.
 * Owner    The mapping lives from icmp_open to icmp_close and needs no descriptor.
 * Threads  One taker.
 * Limits   ICMP_RING_BYTES.
 */
#ifndef ICMP_H
#define ICMP_H

#include "abi.h"
#include "base.h"
#include "ringbuf.h"

struct icmp {
	struct ringbuf ring;
};

/* Map the ring buffer; its descriptor may be closed then. 0 or -errno. */
int icmp_open(struct icmp *i, int map_fd);
/* Also after icmp_open failed, or on zeroed memory. */
void icmp_close(struct icmp *i);

/* Is there something? Cheap. */
static inline bool icmp_pending(const struct icmp *i)
{
	return ringbuf_pending(&i->ring);
}

/* The next record, or false. */
bool icmp_take(struct icmp *i, struct icmp_event *e);

#endif
