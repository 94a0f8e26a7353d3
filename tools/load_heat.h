/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * load_heat.h - the latency of each second as a coarse histogram, for a picture
 *
 * Place    load_record.c adds each second that is over; load_json.c writes them. Pure.
 * Model    A row has 16 buckets a decade, at equal distances on a logarithmic scale,
 *          from 1 us on; the first counts all below. It is made of the second's own
 *          histogram when that is closed, so that a request costs nothing. When all rows
 *          are in use, each two of them become one, and a row is twice as long from then
 *          on: a run of a week has as many rows as one of an hour.
 * Limits   LOAD_HEAT_ROWS rows, 1.2 MB: a second each in the first 17 minutes. What takes
 *          1,000 s and more is in the last bucket.
 * Units    ns. A row is row_s seconds long.
 */
#ifndef LOAD_HEAT_H
#define LOAD_HEAT_H

#include "load_hist.h"

enum {
	LOAD_HEAT_DECADE = 16,
	LOAD_HEAT_DECADES = 9, /* 1 us ... 1,000 s */
	LOAD_HEAT_BUCKETS = LOAD_HEAT_DECADE * LOAD_HEAT_DECADES + 1,
	LOAD_HEAT_ROWS = 1024,
};

struct load_heat {
	unsigned rows, row_s;
	unsigned low, high; /* the buckets in use lie between these, if any is */
	uint64_t count[LOAD_HEAT_ROWS][LOAD_HEAT_BUCKETS];
};

/* The lowest value that a bucket counts; the last but one ends where the last begins. */
uint64_t load_heat_edge(unsigned bucket);

/* Forget all. */
void load_heat_clear(struct load_heat *h);

/* Seconds come in ascending order; what is left out had no answers. */
void load_heat_add(struct load_heat *h, unsigned second, const struct load_hist *latency);

/* Has the row any count? */
bool load_heat_used(const struct load_heat *h, unsigned row);

#endif
