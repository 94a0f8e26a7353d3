/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tracer.h - an I/O thread's end of the map `trace`
 *
 * Place    iothread shows it each frame while a reader wants frames (trace.h), and
 *          asks each turn whether one does: two loads and a branch.
 * Model    Of the thread's 256 KiB the first page is mapped always, the whole only
 *          while somebody reads: the kernel maps the pages of a BPF map at once,
 *          touched or not, and they would count as resident.
 * Owner    The page and the descriptor are steer.c's.
 * Threads  The I/O thread's own.
 */
#ifndef TRACER_H
#define TRACER_H

#include "ring.h"
#include "trace.h"

struct tracer {
	const struct trace_ring *page; /* as far as the page goes */
	struct trace_ring *whole;      /* NULL: nobody reads */
	int fd;
	unsigned number;
	struct trace_want want; /* of this batch */
};

void tracer_init(struct tracer *t, const struct trace_ring *page, int fd, unsigned number);

static inline bool tracer_wanted(const struct tracer *t, uint64_t now_ns)
{
	return trace_wanted(t->page, now_ns);
}

/* Before the frames of a batch. */
void tracer_begin(struct tracer *t);

/* If it is wanted: copied and counted, or lost and counted. */
void tracer_received(struct tracer *t, struct stats_block *stats, const struct ring_frame *f,
		     uint64_t now_ns);
/* times: of the answer that begins in it, or NULL. */
void tracer_sent(struct tracer *t, struct stats_block *stats, const uint8_t *frame, size_t len,
		 const struct trace_times *times, uint64_t now_ns);

/* Now and then: let go of the memory when nobody reads any more. */
void tracer_rest(struct tracer *t, uint64_t now_ns);

#endif
