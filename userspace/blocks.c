/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "blocks.h"

/* The kernel lays elements out at multiples of 8 bytes and maps whole pages. */
static size_t map_bytes(size_t value, size_t entries)
{
	return round_up(round_up(value, 8) * entries, (size_t)sysconf(_SC_PAGESIZE));
}

static void *map_with(int fd, size_t value, size_t entries, int flags)
{
	void *at = mmap(NULL, map_bytes(value, entries), PROT_READ | PROT_WRITE, MAP_SHARED | flags,
			fd, 0);

	return at == MAP_FAILED ? NULL : at;
}

/* Populated: the I/O thread's first count must not fault. */
static void *map_whole(int fd, size_t value, size_t entries)
{
	return map_with(fd, value, entries, MAP_POPULATE);
}

/* The first page of each thread's: what is mapped counts as resident, and there is
 * seldom a reader. tracer.c maps the rest. */
static bool map_trace(struct blocks *b, int fd)
{
	b->trace_fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	for (unsigned t = 0; t < b->size.io_threads && b->trace_fd >= 0; t++) {
		void *at = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
				MAP_SHARED, b->trace_fd, (off_t)t * TRACE_ENTRY);

		if (at == MAP_FAILED)
			return false;
		b->trace[t] = at;
	}
	return b->trace_fd >= 0;
}

int blocks_map(struct blocks *b, const struct blocks_size *size, const int fd[BLOCKS])
{
	int error;

	*b = (struct blocks){
		.size = *size, .trace_fd = -1, .source_conns_fd = -1, .flows_fd = -1
	};
	b->live = map_whole(fd[BLOCK_live], sizeof *b->live, 1);
	b->mode = map_whole(fd[BLOCK_mode], sizeof *b->mode, 1);
	b->counters = map_whole(fd[BLOCK_counters], sizeof *b->counters, size->counters);
	b->stages = map_whole(fd[BLOCK_stages], sizeof *b->stages, blocks_stages(size));
	b->lanes = map_whole(fd[BLOCK_lanes], sizeof *b->lanes, blocks_lanes(size));
	b->gauges = map_whole(fd[BLOCK_gauges], sizeof *b->gauges, blocks_stages(size));
	b->rings = map_whole(fd[BLOCK_rings], sizeof *b->rings, QUEUES_MAX);
	/* Of this only what connections use is ever touched. */
	b->conns = map_with(fd[BLOCK_conns], sizeof *b->conns, blocks_conns(size), 0);
	b->summary = map_whole(fd[BLOCK_summary], sizeof *b->summary, 1);
	b->limits = map_whole(fd[BLOCK_limits], sizeof *b->limits, 1);
	b->source_conns_fd = fcntl(fd[BLOCK_source_conns], F_DUPFD_CLOEXEC, 3);
	b->flows_fd = fcntl(fd[BLOCK_flows], F_DUPFD_CLOEXEC, 3);
	error = -errno;
	if (b->live && b->mode && b->counters && b->stages && b->lanes && b->gauges && b->rings &&
	    b->conns && b->summary && b->limits && b->source_conns_fd >= 0 && b->flows_fd >= 0)
		error = map_trace(b, fd[BLOCK_trace]) ? icmp_open(&b->icmp, fd[BLOCK_icmp_ring]) :
							-errno;
	if (error)
		blocks_unmap(b);
	return error;
}

static void unmap(void *at, size_t value, size_t entries)
{
	if (at)
		munmap(at, map_bytes(value, entries));
}

void blocks_unmap(struct blocks *b)
{
	if (!b->live)
		return;
	unmap(b->live, sizeof *b->live, 1);
	unmap(b->mode, sizeof *b->mode, 1);
	unmap(b->counters, sizeof *b->counters, b->size.counters);
	unmap(b->stages, sizeof *b->stages, blocks_stages(&b->size));
	unmap(b->lanes, sizeof *b->lanes, blocks_lanes(&b->size));
	unmap(b->gauges, sizeof *b->gauges, blocks_stages(&b->size));
	unmap(b->rings, sizeof *b->rings, QUEUES_MAX);
	unmap(b->conns, sizeof *b->conns, blocks_conns(&b->size));
	unmap(b->summary, sizeof *b->summary, 1);
	unmap((void *)b->limits, sizeof *b->limits, 1);
	for (unsigned t = 0; t < b->size.io_threads; t++)
		unmap(b->trace[t], 1, 1);
	if (b->trace_fd >= 0)
		close(b->trace_fd);
	if (b->source_conns_fd >= 0)
		close(b->source_conns_fd);
	if (b->flows_fd >= 0)
		close(b->flows_fd);
	icmp_close(&b->icmp);
	*b = (struct blocks){ .trace_fd = -1, .source_conns_fd = -1, .flows_fd = -1 };
}
