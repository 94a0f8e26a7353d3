/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * capture.h - the file that saker-stat trace writes
 *
 * Place    stat_trace.c takes frames out of the rings and puts them here.
 * Model    Threads and directions do not come in the order of time: frames are
 *          held until the next look, when all that is older has come, and written
 *          in that order, as pcapng, until a bound is reached.
 * Owner    Frames are copied.
 * Errors   Said on stderr; `end` becomes END_TROUBLE, and nothing more is written.
 * Units    ns of CLOCK_MONOTONIC; the file has the wall clock, by the difference of
 *          the two when it was begun.
 */
#ifndef CAPTURE_H
#define CAPTURE_H

#include <stdio.h>
#include "pcapng.h"
#include "trace.h"

#define ENDING_LIST(X) \
	X(NOT, "") \
	X(COUNT, "--count is reached") \
	X(SIZE, "--size is reached") \
	X(SECONDS, "--seconds are over") \
	X(SIGNAL, "interrupted") \
	X(PIPE, "who read standard output has gone") \
	X(STOPPED, "the responder has ended") \
	X(SILENT, "the responder is silent: it has crashed, or hangs") \
	X(TROUBLE, "trouble")
enum ending {
#define X(name, text) END_##name,
	ENDING_LIST(X)
#undef X
};

struct capture {
	/* set before capture_open */
	const char *path;     /* -: standard output */
	uint64_t count, size; /* bounds; 0: none */
	/* to be read */
	enum ending end;
	uint64_t frames, bytes; /* written */

	FILE *file;
	uint64_t wall_ns; /* what CLOCK_REALTIME is ahead */
	uint64_t start_ns;
	struct held **held;
	size_t held_count, held_room;
	uint64_t order;
	uint8_t block[PCAPNG_BLOCK];
};

/* Say it on stderr; false, for the caller to return. */
bool capture_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* It ends so; the first reason stays, unless the new one is trouble. */
void capture_ends(struct capture *c, enum ending end);
const char *capture_ending(const struct capture *c);

/* False, said on stderr: it cannot be written. */
bool capture_open(struct capture *c);

/* interface, filter, snap: for the head of the file. */
void capture_begin(struct capture *c, const char *interface, const char *filter, uint32_t snap,
		   uint64_t now_ns, uint64_t wall_now_ns);

/* Keep a copy of a frame; false: no memory. */
bool capture_hold(struct capture *c, const struct trace_copy *copy);

/* Write those until then, unless a bound is reached. */
void capture_release(struct capture *c, uint64_t until_ns);

/* Write what the file ends with, and close it. lost: frames that never came. */
void capture_end(struct capture *c, uint64_t lost, uint64_t now_ns);

#endif
