/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * probe_csv.h - a file of rows, read line by line
 *
 * Place    probe_power.c reads a meter's with it, probe_energy.c our own. Not quoted
 *          cells: meters and saker-probe write none with a separator inside.
 * Model    Comments begin with #. The first other line names the columns; its
 *          separator is the first of ; tab , that is in it. With ; a number's comma is
 *          a decimal point.
 * Limits   CSV_CELLS columns; what is beyond is not seen.
 */
#ifndef PROBE_CSV_H
#define PROBE_CSV_H

#include <stdio.h>
#include "base.h"

enum { CSV_CELLS = 1024 };

struct csv {
	FILE *file;
	char *line; /* with a NUL for each separator */
	size_t size;
	char separator;
	char *cell[CSV_CELLS];
	unsigned cells;
};

/* The line with the names is the first row. False: errno, or 0 for a file without one. */
bool csv_open(struct csv *c, const char *path);
void csv_close(struct csv *c);

/* Blank lines and comments are passed over. False: the end. */
bool csv_row(struct csv *c);

/* The cell as a number; NAN when there is none, or something behind it. */
double csv_number(const struct csv *c, unsigned cell);

#endif
