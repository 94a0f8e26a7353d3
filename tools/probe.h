/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * probe.h - what the parts of saker-probe share
 *
 * Place    saker-probe.c reads the command line and keeps the time; each
 *          probe_KIND.c finds sources of its kind; probe_rows.c holds and writes.
 * Model    A source is a name, then either columns and a function that fills their
 *          cells, or the reason of its absence. Every source is optional. Files are
 *          opened once and read again at each sample: a look-up costs more than a read.
 * Owner    A source's state is its file's, taken when it is opened, never given back:
 *          the program ends with it.
 * Threads  One.
 * Limits   PROBE_* below.
 * Units    In the columns' names. Counters count from the start of the probe. A cell
 *          without a value is NAN, and empty in the file.
 * Errors   To find nothing is no error: probe_absent says why.
 */
#ifndef PROBE_H
#define PROBE_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include "base.h"

enum {
	PROBE_CPUS = 64, /* with columns; a larger machine's others are left out, and it is said */
	PROBE_PIDS = 8,
	PROBE_COLUMNS = 1024,
	PROBE_SOURCES = 128,
	PROBE_BYTES = 32 << 20, /* of rows held: 10 Hz and 60 columns fill it in 110 minutes */
};

struct column {
	char name[48];
	uint8_t decimals;
};

struct source {
	char name[48];
	bool absent;
	char why[160];    /* absent: the reason; here: a remark, or empty */
	const char *cure; /* of absence; NULL: there is none */
	unsigned first, count;
	void (*read)(void *state, double *cell);
	void *state;
};

struct probe {
	const char *root; /* in front of every path; "" but for --root */
	unsigned hz;
	const char *iface; /* NULL: none */
	const char *power; /* the meter's file, or NULL */
	bool no_perf;
	int pid[PROBE_PIDS];
	unsigned pids;
	struct source source[PROBE_SOURCES];
	unsigned sources;
	struct column column[PROBE_COLUMNS];
	unsigned columns;
};

/* --- sources (probe_source.c) ---------------------------------------------------- */

/* A source that is here, with no column yet. */
__attribute__((format(printf, 4, 5))) struct source *probe_source(struct probe *p,
								  void (*read)(void *, double *),
								  void *state, const char *name,
								  ...);

/* One more column of the source that was added last. */
__attribute__((format(printf, 3, 4))) void probe_column(struct probe *p, unsigned decimals,
							const char *name, ...);

/* A source that is not here. cure: what would bring it, or NULL. */
__attribute__((format(printf, 4, 5))) void probe_absent(struct probe *p, const char *name,
							const char *cure, const char *why, ...);

/* Say something of a source that is here. */
__attribute__((format(printf, 2, 3))) void probe_remark(struct source *s, const char *text, ...);

/* Memory for a source's state, zeroed. Ends the program when there is none. */
void *probe_memory(size_t size);

/* --- files (probe_source.c) ------------------------------------------------------- */

/* Below the root. -1 with errno. */
__attribute__((format(printf, 2, 3))) int probe_open(const struct probe *p, const char *path, ...);

/* The first file, in the order of names, that matches; the path goes to found. */
__attribute__((format(printf, 4, 5))) bool probe_find(const struct probe *p, char *found,
						      size_t size, const char *pattern, ...);

/* A file that is read from its beginning again and again; buf grows to hold it. */
struct text {
	int fd;
	char *buf;
	size_t size;
};

/* The whole of it, ended by a NUL; NULL: it could not be read, as when a process ended. */
const char *text_read(struct text *t);

/* The number that a small file holds, as sysfs has them; NAN: none. */
double number_read(int fd);

/* The first line of a file below the root, for names; "" when it is not there. */
__attribute__((format(printf, 4, 5))) void probe_line(const struct probe *p, char *line,
						      size_t size, const char *path, ...);

/* --- kinds ------------------------------------------------------------------------- */

void probe_sysfs(struct probe *p);
void probe_vcio(struct probe *p); /* throttled, the Arm's clock: cheap */
void probe_pmic(struct probe *p); /* the rails: dear, so read last */
void probe_proc(struct probe *p);
void probe_task(struct probe *p);
void probe_perf(struct probe *p);

/* The sysfs way to what probe_vcio could not have. */
void probe_throttled_sysfs(struct probe *p, const char *why, const char *cure);

#endif
