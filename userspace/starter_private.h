/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * starter_private.h - what the starter has, for starter*.c
 *
 * Model    A file a noun: starter (up, running, down), starter_cpus (where threads
 *          run), starter_kin (the children: started, given, buried, replaced),
 *          starter_link (the interface, and rings that stand still),
 *          starter_upgrade (to a new binary, and on from an old one).
 */
#ifndef STARTER_PRIVATE_H
#define STARTER_PRIVATE_H

#include "child.h"
#include "conf.h"
#include "ktcp.h"
#include "logger.h"
#include "netev.h"
#include "nic.h"
#include "notify.h"
#include "rungs.h"
#include "settings.h"
#include "starter.h"
#include "stats.h"
#include "steer.h"

/* Everything that outlives a function; most of it is never touched. */
struct starter {
	const struct conf *conf;
	char **argv;
	struct nic nic;
	struct ktcp kernel; /* with --steer=path */
	struct settings settings;
	bool changed; /* they are taken */
	struct listeners listeners;
	uint8_t secret[16]; /* of the cookies: a worker's successor honours them */
	struct logger log;
	struct jail_want jail;
	struct notify notify;
	int idle_fd; /* cpu_idle_lightly; negative: no */
	int signal_fd;
	bool maps; /* steer is open */
	struct steer steer;
	struct rungs rungs;
	struct mode mode; /* what the map will say */
	char text[ABI_MODE_TEXT];
	struct stats_before before;
	bool netev_open;
	struct netev netev;
	uint64_t link_again_ns; /* when a device that came back is tried again; 0: no need */
	unsigned link_pause_ms; /* the last one before that */
	unsigned told_asked;    /* of what the worker wants done */
	struct child worker, stand_in;
	bool unwell;         /* one of them did not end as it should */
	uint64_t end_ns;     /* --for; UINT64_MAX: none */
	uint64_t second_ns;  /* when the summary is due */
	uint64_t healthy_ns; /* since when every heart beats */
	uint64_t again_ns;   /* when there is to be another worker; 0: there is one */
	unsigned deaths;     /* of workers that lived for less than CHILD_YOUNG_MS, in a row */
};

/* --- starter_cpus.c --- */
/* Where the threads shall run: into the mode. 0 or -errno, reported. */
int starter_cpus(struct starter *st);
/* "I/O CPU 2 (isolated)", "I/O CPUs 2,3, compute CPU 4" */
void starter_cpus_text(char *text, size_t size, const struct mode *m);

/* --- starter_kin.c --- */
int kin_start(struct starter *st, struct child *c, enum server_kind kind);
/* To a worker that is up: maps, and rings if there are any. Then steer. */
int kin_engage(struct starter *st);
/* Rings alone, to a worker that has the maps. Then steer. */
int kin_give(struct starter *st);
/* The dead are buried and replaced, a stand-in comes and goes. */
void kin_look_after(struct starter *st, uint64_t now_ns);
void kin_bury(struct starter *st, uint64_t now_ns);
/* When that is due next, whatever happens before; UINT64_MAX: never. */
uint64_t kin_next_ns(const struct starter *st);
void kin_end(struct starter *st);

/* Frames are redirected, or passed. */
void starter_steer(struct starter *st, bool on);
/* What we need of the machine, while something is attached. 0 or -errno, reported. */
int starter_settings(struct starter *st, bool on);
/* rungs_climb or rungs_lower, and the settings that the rung needs. */
int starter_climb(struct starter *st, int (*climb)(struct rungs *));
/* What is in effect, for all who look. */
void starter_publish(struct starter *st);
/* Without the program nobody limits or denies: then it is said, whatever -q. */
void starter_check_guard(const struct starter *st);

/* --- starter_link.c --- */
/* When there are rings. */
void link_open(struct starter *st);
void link_close(struct starter *st);
/* It could not be opened: once more after a pause, which grows while nothing helps. */
void link_retry(struct starter *st);
int link_fd(const struct starter *st); /* -1: none */
/* When it is readable, and each second. */
void link_look(struct starter *st, uint64_t now_ns);

/* --- starter_upgrade.c --- */
/* SIGUSR2: to the binary that now has our name, if it takes what we have. Comes back
 * only if not; that is said. */
void upgrade_start(struct starter *st);
/* Are we that binary? 1: everything is ours now, and a worker serves; 0: no; -errno. */
int upgrade_resume(struct starter *st);

#endif
