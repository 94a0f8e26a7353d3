/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hop.h - the link between an I/O thread and one core of the crew
 *
 * Place    The worker puts jobs on the near side, as into a lane, and takes the
 *          results; the core's loop (crew.c) runs them on the far side. Pure.
 * Model    Two rings (spsc.h), jobs there and results back, and the core's engine
 *          (lane.h) at the far end. Each job has a slot, whose number is its tag
 *          between the sides. Every job gets exactly one result: done, or dropped.
 *          A drop overtakes nothing: it finds its job in the engine, or the result
 *          is already on its way back; the slot, and with it the answer to whose
 *          result this is, stays taken until that has come.
 * Owner    All is in memory that the caller brings, shared by both sides. Jobs and
 *          results are copied.
 * Threads  One thread a side. Besides the rings they share two words:
 *
 *            I/O thread                       core
 *            put jobs                         exchange asleep for 1   (B, C)
 *            exchange asleep for 0   (B, C)   look for jobs
 *             1: wake it by the futex          none: sleep while asleep is 1
 *                                             exchange asleep for 0   (B, C)
 *
 *            load measured  (acquire, D)      write the table
 *            read the table                   store measured          (release, D)
 *
 *          B, C: asleep is changed by exchanges only, each acquires what the one
 *          before it released (B one way, C the other). Of two of them one is the
 *          first. The core's: then the I/O thread gets the 1 and wakes. The I/O
 *          thread's: then the core sees the jobs that were put before it. So no job
 *          lies there while the core sleeps. Who has written the 0 always calls the
 *          futex, so a core that was just about to sleep does not.
 *          D: measured goes from 0 to 1 once; the table in use before is another.
 * Limits   As many jobs as lane_put takes; then hop_put says no. So the engine and the
 *          ring of results always have room for what arrives there.
 * Units    ns on CLOCK_MONOTONIC, as the core reads it.
 *
 *   hop_put -> [ jobs ] -> hop_accept, hop_step ..., hop_deliver -> [ results ] -> hop_take
 */
#ifndef HOP_H
#define HOP_H

#include "base.h"
#include "lane.h"

struct hop_result {
	uint64_t hash;
	uint64_t begun_ns, done_ns; /* when the core took the job, and was done with it */
	uint32_t tag;
	bool dropped; /* hop_drop was called for this job; then the numbers above are 0 */
};

struct hop;

/* Bytes of a hop with its engine; aligned to hop_align. */
size_t hop_footprint(void);
size_t hop_align(void);

/* Make one whose core has so many lanes and these features (lane.h), in zeroed or
 * used memory, before either side runs. */
struct hop *hop_init(void *memory, unsigned lanes, uint32_t features);

/* --- the I/O thread's side -------------------------------------------------------- */

/* Send a job. False when all lanes are taken: keep it, and come back after the next
 * hop_take. Then, once for all that were sent, hop_must_wake. Tags of jobs that are
 * not dropped must differ. */
bool hop_put(struct hop *h, const struct lane_job *job);

/* Forget the job with this tag; its lane is free within a slice, and its result will
 * say dropped. The tag may be used again at once. False when there is none. */
bool hop_drop(struct hop *h, uint32_t tag);

/* Take a result. False when there is none yet. */
bool hop_take(struct hop *h, struct hop_result *result);

/* Jobs sent whose result has not been taken, those dropped included. */
unsigned hop_busy(const struct hop *h);

/* True: the core sleeps, call the futex at hop_word. Costs nothing when nothing
 * was sent since the last call. */
bool hop_must_wake(struct hop *h);

/* One round each of k jobs on that core, as lane_pass_ps: built in until the core
 * has measured it. */
uint32_t hop_pass_ps(const struct hop *h, enum lane_alg alg, unsigned k);
bool hop_measured(const struct hop *h);
/* The core's engine: its table may be read before the core runs, and again when it is
 * measured. */
const struct lane *hop_lane(const struct hop *h);

/* --- the core's side ---------------------------------------------------------------- */

/* Take what was sent; *dropped grows by the jobs that were cut short. False when there
 * was nothing. */
bool hop_accept(struct hop *h, uint64_t *dropped);

/* lane_step: what was spent, 0 when no job is running. now_ns, which was read after
 * hop_accept, is when the jobs begin that came with it. */
uint64_t hop_step(struct hop *h, uint64_t budget_ps, uint64_t now_ns);

/* Hand back what is done; how many that were. */
unsigned hop_deliver(struct hop *h, uint64_t now_ns);

/* Is nothing in the engine? */
bool hop_idle(const struct hop *h);

/* lane_sample and lane_sampled, and after the last sample the table is published. */
bool hop_sample(struct hop *h);
void hop_sampled(struct hop *h, uint64_t ns);

/* Say that the core goes to sleep. False: do not, a job came. True: sleep as long as
 * hop_word holds 1. After either hop_rouse. */
bool hop_doze(struct hop *h);

/* --- both, and others ------------------------------------------------------------------ */

/* The word of the futex. */
uint32_t *hop_word(struct hop *h);

/* The core is up; or shall be, from any other thread, which calls the futex then.
 * What that thread has written before, the core sees after its next hop_doze. */
void hop_rouse(struct hop *h);

#endif
