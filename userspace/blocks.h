/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * blocks.h - the maps of the XDP program as memory
 *
 * Place    The starter maps them when it has loaded the program; the worker and its
 *          stand-in map the same pages by the descriptors that they are given. abi.h
 *          says who writes what.
 * Model    Descriptors in, pointers out. How long the maps are is in struct
 *          blocks_size, which travels with the descriptors.
 * Owner    The descriptors stay the caller's; what is needed later (trace_fd) is a
 *          copy.
 * Errors   0 or -errno, not reported: the caller knows whose maps they are.
 */
#ifndef BLOCKS_H
#define BLOCKS_H

#include "abi.h"
#include "base.h"
#include "icmp.h"

/* In the order in which descriptors are handed over. */
#define BLOCK_LIST(X) \
	X(live) \
	X(mode) \
	X(counters) \
	X(stages) \
	X(lanes) X(gauges) X(rings) X(conns) X(summary) X(trace) X(icmp_ring) X(limits) \
		X(source_conns) X(flows)
enum block {
#define X(name) BLOCK_##name,
	BLOCK_LIST(X)
#undef X
		BLOCKS,
};

struct blocks_size {
	uint32_t io_threads;
	uint32_t compute_cores;
	uint32_t counters;   /* the last two: the stand-in's, the starter's */
	uint32_t conns_each; /* entries of each I/O thread */
};

struct blocks {
	struct blocks_size size;
	/* mapped, writable */
	struct steer_live *live;
	struct mode *mode;
	struct stats_block *counters; /* I/O threads, compute cores, CPUs, stand-in, starter */
	struct stage_block *stages;   /* I/O threads, the stand-in */
	struct lane_table *lanes;     /* I/O threads, compute cores */
	struct gauge_block *gauges;   /* I/O threads, the stand-in */
	struct ring_block *rings;     /* for each of QUEUES_MAX queues */
	struct conn_entry *conns;     /* conns_each for each I/O thread */
	struct summary *summary;
	/* a page of each I/O thread's, and where the rest is: tracer.h */
	struct trace_ring *trace[IO_THREADS_MAX];
	int trace_fd;
	const struct limits *limits;
	int source_conns_fd, flows_fd; /* copies, for system calls */
	struct icmp icmp;              /* I/O thread 0's, once it is handed over */
};

int blocks_map(struct blocks *b, const struct blocks_size *size, const int fd[BLOCKS]);
/* Also after blocks_map failed, and on zeroed memory. */
void blocks_unmap(struct blocks *b);

/* How many entries of each map are used, and whose the last ones are. */
static inline uint32_t blocks_stages(const struct blocks_size *s)
{
	return s->io_threads + 1; /* gauges too */
}
static inline uint32_t blocks_stand_in(const struct blocks_size *s) /* of counters */
{
	return s->counters - 2;
}
static inline uint32_t blocks_starter(const struct blocks_size *s)
{
	return s->counters - 1;
}
static inline uint32_t blocks_lanes(const struct blocks_size *s)
{
	return s->io_threads + s->compute_cores;
}
static inline uint32_t blocks_conns(const struct blocks_size *s)
{
	return s->io_threads * s->conns_each;
}

#endif
