/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * stat.h - what the parts of saker-stat share
 *
 * Place    saker-stat.c reads the command line and goes round; stat_instance.c
 *          finds and reads responders; each stat_VIEW.c shows them.
 * Model    An instance is a responder as its maps show it. Figures are counters
 *          and stages over a stretch of time of one run: from its start, since
 *          a snapshot, or between two looks. Every view shows figures, so a
 *          difference is made in one place. Nothing in a map is ever written:
 *          what "since" means is up to the reader.
 * Owner    A set owns its instances; figures are where the caller put them.
 * Units    ns of CLOCK_MONOTONIC in structs; tables scale themselves.
 */
#ifndef STAT_H
#define STAT_H

#include <stdio.h>
#include "hist.h"
#include "stat_text.h"
#include "stats.h"

enum { STAT_NAME = 256, STAT_DIR = 512, STAT_ERROR = 768 };

enum view { VIEW_TABLE, VIEW_JSON, VIEW_PROMETHEUS, VIEW_HGRM };

struct args {
	const char *ifname;
	const char *pin_dir;
	enum view view;
	uint32_t stage;                  /* of --hgrm */
	bool all;                        /* --all: counters that are 0, too */
	bool once;                       /* --once: no live view */
	uint64_t interval_ns;            /* --interval; 0: not given */
	uint64_t count;                  /* --count; 0: not given */
	const char *save, *since, *diff; /* files */
};

/* --- figures: counters and stages over a stretch of time ---------------------- */
struct figures {
	char name[STAT_NAME]; /* of the instance */
	uint32_t pid;         /* pid and start tell a run from the next */
	uint64_t started_ns;
	uint64_t from_ns, to_ns;
	struct stats_block counters;
	uint64_t busy_ns[IO_THREADS_MAX + CREW_MAX]; /* I/O threads, then compute cores */
	struct stage_block stages;
};

/* Of one run? Only then is there a difference. */
bool figures_same_run(const struct figures *a, const struct figures *b);

/* What was added between the ends of two figures of one run. */
void figures_sub(struct figures *out, const struct figures *now, const struct figures *before);

uint64_t figures_span_ns(const struct figures *f);

/* n in the time of f, for one second. */
double figures_rate(const struct figures *f, uint64_t n);

bool io_isolated(const struct mode *mode, uint32_t thread);

double per_second(uint64_t n, uint64_t span_ns);

/* --- instances ----------------------------------------------------------------- */
enum life { LIFE_RUNNING, LIFE_SILENT, LIFE_ELSEWHERE, LIFE_GONE };

struct instance {
	char dir[STAT_DIR];
	const char *name; /* the last part of dir */
	int err;          /* not 0: could not be read, error says why */
	char error[STAT_ERROR];
	struct stats_report report;
	enum life life;
	uint64_t heartbeat_age_ns; /* UINT64_MAX: there was none */
	uint64_t end_ns;           /* now, or its last sign of life */
};

struct set {
	struct instance **list; /* in the order of their names */
	uint32_t count;
	bool several; /* no -i: all that there are */
};

/* Find and read: the one that was asked for, or all. An instance that vanished
 * stays in the set with its error. False, said on stderr: there is nothing. */
bool set_load(struct set *set, const struct args *args);

/* Read again what is in it, and what has come. Says nothing. */
void set_refresh(struct set *set);

void set_free(struct set *set);

const char *life_name(enum life life);

/* Of the I/O thread that has been silent longest; 0: one has not begun. */
uint64_t instance_heartbeat(const struct instance *in);

/* Its figures from the start to now. */
void instance_figures(struct figures *out, const struct instance *in);

/* --- snapshots in files --------------------------------------------------------- */
/* Add figures to an open file; the first call writes the head. */
void snapshot_write(FILE *file, const struct figures *f, bool first);

/* Find the figures of NAME; with any, the only ones whatever their name. False:
 * error says why. */
bool snapshot_read(struct figures *out, const char *path, const char *name, bool any, char *error,
		   size_t size);

/* --- views ----------------------------------------------------------------------- */
/* What is to be shown of an instance. */
struct shown {
	const struct instance *in;
	const struct figures *start;   /* since its start */
	const struct figures *figures; /* those that were asked for */
	const char *word;              /* what they are: "since FILE"; NULL: since the start */
	const char *key;               /* the same for JSON: "since", "interval" */
	const struct figures *before;  /* --diff, else NULL */
	const char *file;              /* where those came from */
};

void table_show(const struct shown *s, bool all);
void table_list(const struct shown *s);
void table_diff(const struct shown *s, bool all);

void json_show(const struct shown *s);
void json_error(const char *name, const char *error);

/* All instances in one text, as Prometheus wants it. */
void prometheus_show(const struct set *set);

void hgrm_show(const struct figures *f, uint32_t stage);

/* Full screen, until q or args->count looks. False: this terminal cannot. */
bool live_show(struct set *set, const struct args *args);

#endif
