/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rate.h - what rate.c did and rate_report.c prints
 *
 * Model    One record for each request, in the order of asking; nothing is summed
 *          up before the end.
 * Units    Nanoseconds of CLOCK_MONOTONIC; printed as microseconds.
 */
#ifndef RATE_H
#define RATE_H

#include <stddef.h>
#include <stdint.h>

enum {
	ASKS_MAX = 1 << 23, /* 32 bytes each, touched by use */
	KINDS_MAX = 8,
	NONE = -1,
};

enum outcome { UNSENT, SENT, ACCEPTED, REFUSED, OTHER, WRONG, LOST, OUTCOMES };

/* One request. */
struct ask {
	uint64_t due_ns, sent_ns, done_ns;
	uint8_t kind, outcome;
};

/* All requests for one path. */
struct kind {
	const char *path;
	double weight; /* 0: kept under way, beside what is measured */
	char request[512];
	size_t request_len;
	char body[128]; /* what an answer begins with */
	size_t body_len;
};

struct load {
	const char *mode;
	double rate;
	unsigned connections, broken;
	uint64_t warm_ns; /* what is due from then on, is measured */
	uint64_t gap_max_ns;
	struct ask *asks;
	unsigned ask_count;
	struct kind kinds[KINDS_MAX];
	unsigned kind_count;
};

/* One line of JSON. Returns how many went wrong, during the warm-up too; those
 * that are kept may be under way at the end. */
unsigned rate_report(const struct load *l);

#endif
