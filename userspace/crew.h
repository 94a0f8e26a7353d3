/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * crew.h - the compute cores of one I/O thread
 *
 * Place    The starter makes it; the I/O thread's worker talks to hop[0 ... count-1]
 *          and, once a turn, crew_wake.
 * Model    A thread on each CPU, named saker-cpuN, turns between its end of the hop
 *          and its lanes: jobs, a slice, results. Without jobs it measures its lanes,
 *          one sample between two looks, then spins for spin_us, then sleeps.
 * Owner    One mapping holds all; each core and each hop has its own cache lines.
 * Threads  A core takes no lock, and makes no system call but to sleep. What it shares
 *          beside the hop: its counters, which it alone writes, and
 *
 *            crew_stop                        core
 *            store stop    (relaxed)          exchange asleep for 1  (hop_doze; B, C)
 *            exchange asleep for 0            load stop     (relaxed)
 *              (hop_rouse; B, C)               set: do not sleep
 *
 *          as jobs in hop.h: the core sees stop, or it is woken.
 * Limits   CREW_MAX cores.
 * Errors   -errno, reported.
 */
#ifndef CREW_H
#define CREW_H

#include "abi.h"
#include "base.h"
#include "hop.h"

struct crew_params {
	const int *cpus; /* one core each; needed by crew_start only */
	unsigned count;
	unsigned lanes; /* of each core */
	uint32_t features;
	uint32_t slice_us, spin_us;
};

struct crew {
	struct hop *hop[CREW_MAX];
	unsigned count;
	bool locked; /* the memory is, see cpu_pages */
	uint8_t *memory;
	size_t length;
};

/* Start the threads. 0 or -errno; then none of them runs. */
int crew_start(struct crew *c, const struct crew_params *p);

/* For the I/O thread after it has sent jobs: wake the cores that sleep and have some.
 * Each is one system call, counted in stats. */
void crew_wake(struct crew *c, struct stats_block *stats);

/* Add what the cores have counted since the last time to count blocks, one each; from
 * any one thread. */
void crew_publish(struct crew *c, struct stats_block *blocks);

/* Stop and join, within a slice; jobs not done by then are lost. The memory is
 * unmapped: nobody touches a hop any more. */
void crew_stop(struct crew *c);

#endif
