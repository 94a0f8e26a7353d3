/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * roster.h - which core computes what, and when the next lane will be free
 *
 * Place    worker puts requests here when they are admitted and takes results;
 *          behind it are the lanes of this very core, or the cores of the crew at
 *          the other end of their hops. Pure.
 * Model    A job goes to the core that finishes it soonest: where a pass over all
 *          that runs there, this job among them, takes the least time. With a crew
 *          this core keeps its time for frames, and computes only what is shorter
 *          than the way to another core.
 *          A forecast is a list of lanes by the time when each will be free: a job
 *          in flight ends when its rounds are done at the present speed of its
 *          core; those who wait take the lanes in their order. The speed is that of
 *          the table, times how the jobs of late compared with it (`pace`).
 * Owner    From roster_put to roster_take the job is the roster's, under a handle.
 *          A dropped job gives no result; on this core its lane is free at once, on
 *          another within a slice.
 * Threads  One roster for each I/O thread.
 * Limits   The lanes of all cores; CREW_MAX of them besides this one.
 * Units    ns of CLOCK_MONOTONIC.
 */
#ifndef ROSTER_H
#define ROSTER_H

#include "base.h"
#include "hop.h"
#include "lane.h"
#include "limits.h"

struct roster_result {
	uint64_t hash;
	uint64_t begun_ns, done_ns; /* in a lane; out of it */
	uint16_t id;
};

struct roster;

enum { ROSTER_NONE = 0xffff };

size_t roster_footprint(void);
/* In zeroed memory, aligned to 64. lanes and features as for lane_init. */
struct roster *roster_init(void *memory, unsigned lanes, uint32_t features);

/* From now on these n cores (1 ... CREW_MAX) compute. */
void roster_crew(struct roster *r, struct hop *const *hop, unsigned n);

/* --- jobs -------------------------------------------------------------------- */

/* Hand in a job for this id; its tag is not used. Returns a handle, or ROSTER_NONE
 * when no lane is free for it. */
uint16_t roster_put(struct roster *r, uint16_t id, const struct lane_job *job, uint64_t now_ns);

/* A finished job; false when there is none. now_ns is when those of this core are done. */
bool roster_take(struct roster *r, struct roster_result *result, uint64_t now_ns);

/* The result of this one is not wanted any more. */
void roster_drop(struct roster *r, uint16_t handle);

/* Jobs in flight whose results are wanted; and is there anything at all to wait for? */
unsigned roster_jobs(const struct roster *r);
bool roster_busy(const struct roster *r);

/* --- this core's share of the work --------------------------------------------- */

/* Advance the lanes of this core by about so much of the clock's time. Returns what
 * that should take, 0 when nothing runs here; say what it did. */
uint64_t roster_step(struct roster *r, uint64_t slice_ns);
void roster_stepped(struct roster *r, uint64_t ns);

/* The engine of this core: to be calibrated between steps, its table to be shown.
 * roster_calibrated: its table is a new one. */
struct lane *roster_lane(struct roster *r);
void roster_calibrated(struct roster *r);

/* --- the forecast ---------------------------------------------------------------- */

/* Look anew at what is in flight; nobody waits. */
void roster_forecast(struct roster *r, uint64_t now_ns);
/* When a lane will be free for the next who comes, at the earliest now. */
uint64_t roster_free_ns(const struct roster *r);
/* Somebody waits for it, with so many rounds. */
void roster_queue(struct roster *r, uint64_t n);

#endif
