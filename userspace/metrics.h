/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * metrics.h - what the maps hold, in the text format of Prometheus
 *
 * Place    saker-stat --prometheus prints what is written here; a responder can
 *          answer GET /metrics with it. Pure.
 * Model    metrics_begin, then metrics_write until it says 0. It writes whole
 *          lines into the buffer that it is given and goes on there next time,
 *          so the text need not fit anywhere. Or, for many readers who take
 *          their time: metrics_piece, which a number is enough to go on from, so
 *          that nothing need be kept of a reader but that. Families in a fixed order, HELP
 *          and TYPE before each: a few gauges, a counter for each name of
 *          STATS_LIST, one histogram with a label for the stage. Each sample
 *          has the label `interface`.
 * Owner    Sources and all that they point to are the caller's and stay until
 *          the last line.
 * Threads  Blocks may be written meanwhile. The buckets of a stage are read at
 *          once, before its first line: they never contradict each other.
 * Limits   METRICS_MAX bytes a source, METRICS_LINE a line, METRICS_NAME of a
 *          name. Reading a stage of one block takes about 2 us; a piece of a source
 *          of two threads and 64 CPUs 7 us at most (AMD EPYC, Zen 5).
 * Units    Seconds, as Prometheus wants it.
 */
#ifndef METRICS_H
#define METRICS_H

#include "base.h"
#include "abi.h"

/* 1, 2, 3 and 5 times each power of ten from 100 ns, to 100 s; beyond is +Inf. Every
 * decade that a stage may fall in, at ratios of two at most. */
enum { METRICS_LE = 9 * 4 + 1 };

enum {
	METRICS_NAME = 64, /* bytes of the label `interface`; a longer name is cut */
	METRICS_LINE = 384,
};

struct metrics_source {
	const char *name;        /* for the label `interface` */
	const char *rung, *copy; /* in effect: words of stats.h */
	const struct mode *mode;
	uint64_t now_ns;
	uint64_t heartbeat_ns; /* 0: there was none */
	/* the blocks are summed here */
	const struct stats_block *counters;
	uint32_t counter_blocks;
	/* of each I/O thread, then of each compute core; NULL: the blocks are those of
	 * the map, which begin with these */
	const uint64_t *busy_ns;
	const struct stage_block *stages;
	uint32_t stage_blocks;
};

struct metrics {
	const struct metrics_source *sources;
	uint32_t count;
	/* where it stands */
	uint32_t family, source, stage, line;
	/* the stage that is being written, as it was before its first line */
	uint64_t below[METRICS_LE + 1]; /* values up to each bound; the last: all */
	uint64_t sum_ns;
};

/* Several sources make one text: each family has the samples of all. */
void metrics_begin(struct metrics *m, const struct metrics_source *sources, uint32_t count);

/* Write as many lines as fit, at least one: size is METRICS_LINE or more. The
 * number of bytes; 0: that was all. */
size_t metrics_write(struct metrics *m, char *to, size_t size);

/* Write a piece: some lines, or all of one stage of one source. METRICS_PIECE bytes
 * at most; the number of bytes, 0: that was all. */
size_t metrics_piece(struct metrics *m, char *to);

/* Where it stands after a piece; 0: at the beginning, or at the end. Begin anew and go
 * there, and the next piece is the same as it would have been. What is no place is the
 * end. */
uint32_t metrics_place(const struct metrics *m);
void metrics_go(struct metrics *m, uint32_t place);

/* Longest text of one source. Each further one adds less. */
#define METRICS_SAMPLE_ \
	(sizeof "{interface=\"\"} 18446744073709551615.000000000\n" + METRICS_NAME * 2)
#define METRICS_COUNTER_(name, help) \
	+sizeof "# HELP saker_" #name "_total " help "\n# TYPE saker_" #name \
		"_total counter\nsaker_" #name "_total" + \
		METRICS_SAMPLE_
#define METRICS_PIECE \
	((METRICS_LE + 3) * \
	 (sizeof "saker_stage_seconds_bucket,stage=\"turn_gap\",le=\"0.0000001\"" + \
	  METRICS_SAMPLE_))
#define METRICS_MAX \
	(4096 + \
	 (IO_THREADS_MAX + CREW_MAX) * \
		 (sizeof "saker_busy_seconds_total,thread=\"compute\",cpu=\"-2147483648\"" + \
		  METRICS_SAMPLE_) STATS_LIST(METRICS_COUNTER_) + \
	 STAGES * METRICS_PIECE)

#endif
