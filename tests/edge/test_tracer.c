/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tracer: the memory of a trace comes with its reader and goes with it; a memfd
 * stands for the map. And without memory the frames are lost, not the responder.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include "tap.h"
#include "tracer.h"

enum { ENTRIES = 3, NUMBER = 2 };

static int fd;
static struct trace_ring *reader; /* all entries */
static struct tracer t;
static struct stats_block stats;
static struct trace_copy copy;

/* Bytes of the file that are mapped besides the reader's. */
static size_t mapped(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long from, to;
	size_t sum = 0;
	char line[256];

	while (maps && fgets(line, sizeof line, maps))
		if (strstr(line, "memfd:trace") && sscanf(line, "%lx-%lx", &from, &to) == 2)
			sum += to - from;
	if (maps)
		fclose(maps);
	return sum - ENTRIES * sizeof *reader;
}

static void receive(uint64_t now_ns)
{
	uint8_t bytes[60] = { 1 };
	struct ring_frame f = { .data = bytes, .len = sizeof bytes, .meta.stamp_ns = now_ns - 1 };

	if (!tracer_wanted(&t, now_ns))
		return;
	tracer_begin(&t);
	tracer_received(&t, &stats, &f, now_ns);
	tracer_sent(&t, &stats, bytes, sizeof bytes, NULL, now_ns);
}

int main(void)
{
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	struct trace_want want = { .snap = 20 };
	void *page;

	fd = memfd_create("trace", 0);
	must(fd >= 0 && !ftruncate(fd, ENTRIES * TRACE_ENTRY));
	reader = mmap(NULL, ENTRIES * sizeof *reader, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	page = mmap(NULL, page_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, NUMBER * TRACE_ENTRY);
	must(reader != MAP_FAILED && page != MAP_FAILED);

	tracer_init(&t, page, fd, NUMBER);
	receive(10);
	is(stats.trace_frames + stats.trace_lost, 0, "nobody reads: nothing is copied");
	is(mapped(), page_size, "and a page is mapped");

	trace_ask(&reader[NUMBER], &want);
	trace_renew(&reader[NUMBER], 100);
	receive(10);
	is(stats.trace_frames, 2, "somebody reads: both are copied");
	is(mapped(), page_size + TRACE_ENTRY, "and all is mapped");
	ok(trace_take(&reader[NUMBER], &copy) == TRACE_ONE && copy.record.captured == 20 &&
		   copy.record.flags == TRACE_STAMPED && copy.record.time_ns == 9,
	   "received, at its stamp, cut");
	ok(trace_take(&reader[NUMBER], &copy) == TRACE_ONE && copy.record.flags == TRACE_SENT &&
		   copy.record.time_ns == 10,
	   "sent, now");
	is(reader[0].tail + reader[1].tail, 0, "in the entry of this thread");
	tracer_rest(&t, 99);
	is(mapped(), page_size + TRACE_ENTRY, "it stays while somebody reads");
	tracer_rest(&t, 100);
	is(mapped(), page_size, "and goes when the lease is over");

	t.fd = -1;
	trace_renew(&reader[NUMBER], 300);
	receive(200);
	is(stats.trace_lost, 2, "no memory: lost, and counted");
	t.fd = fd;
	receive(201);
	is(stats.trace_frames, 4, "and the next are not");
	tracer_rest(&t, UINT64_MAX);
	is(mapped(), page_size, "the end: it goes in any case");
	return done();
}
