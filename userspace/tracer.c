/* SPDX-License-Identifier: GPL-2.0-only */
#include <sys/mman.h>
#include "tracer.h"

void tracer_init(struct tracer *t, const struct trace_ring *page, int fd, unsigned number)
{
	*t = (struct tracer){ .page = page, .fd = fd, .number = number };
}

/* About 10 us, once a trace. Without memory all frames are lost, and counted. */
void tracer_begin(struct tracer *t)
{
	void *at;

	trace_look(t->page, &t->want);
	if (t->whole)
		return;
	at = mmap(NULL, TRACE_ENTRY, PROT_READ | PROT_WRITE, MAP_SHARED, t->fd,
		  (off_t)t->number * TRACE_ENTRY);
	t->whole = at == MAP_FAILED ? NULL : at;
}

static void put(struct tracer *t, struct stats_block *stats, const struct trace_frame *f)
{
	if (!trace_match(&t->want, f->bytes, f->len, f->sent))
		return;
	if (t->whole && trace_put(t->whole, &t->want, f))
		stats->trace_frames++;
	else
		stats->trace_lost++;
}

void tracer_received(struct tracer *t, struct stats_block *stats, const struct ring_frame *f,
		     uint64_t now_ns)
{
	struct trace_frame frame = {
		.bytes = f->data,
		.len = f->len,
		.stamp_ns = f->meta.stamp_ns,
		.now_ns = now_ns,
	};

	put(t, stats, &frame);
}

void tracer_sent(struct tracer *t, struct stats_block *stats, const uint8_t *frame, size_t len,
		 const struct trace_times *times, uint64_t now_ns)
{
	struct trace_frame f = {
		.bytes = frame,
		.len = len,
		.sent = true,
		.now_ns = now_ns,
		.times = times,
	};

	put(t, stats, &f);
}

void tracer_rest(struct tracer *t, uint64_t now_ns)
{
	if (!t->whole || tracer_wanted(t, now_ns))
		return;
	munmap(t->whole, TRACE_ENTRY);
	t->whole = NULL;
}
