/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * probe_rows.h - samples held in memory until they are written
 *
 * Place    saker-probe.c fills a row at each sample, and writes at the end: a card that
 *          is written to meanwhile would be part of what is measured.
 * Model    A head of comments, one for each source, then the names, then the rows.
 *          unix_ns is the wall clock of the first row and the monotonic clock from
 *          there on: it never steps.
 * Limits   So many rows as were asked for, or as PROBE_BYTES hold. When they are full
 *          they must be written, and it is said.
 */
#ifndef PROBE_ROWS_H
#define PROBE_ROWS_H

#include "probe.h"

struct rows {
	const struct probe *p;
	FILE *out;
	unsigned columns;
	size_t room, held;
	uint64_t first_ns; /* of the wall clock: s counts from there */
	uint64_t *unix_ns;
	double *cell;
	bool headed; /* the head is written */
};

/* wanted: rows; 0: as many as fit. */
void rows_init(struct rows *r, const struct probe *p, FILE *out, uint64_t wanted);

/* The cells of one more row, each NAN; never when all are held. */
double *rows_add(struct rows *r, uint64_t unix_ns);

/* A cell of the column that is called so; NULL: there is none. */
double *rows_cell(struct rows *r, size_t row, const char *column);

/* Write what is held, and hold nothing. notes: lines for the head; once that is written,
 * they follow the rows. */
void rows_write(struct rows *r, const char *notes);

#endif
