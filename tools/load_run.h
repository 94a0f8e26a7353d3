/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * load_run.h - one run: what is due is sent, what comes is recorded
 *
 * Place    saker-load.c makes one run, or load_find.c several after each other, over the
 *          same connections.
 * Model    One thread, one loop: send what is due, look for answers, tend time-outs. With
 *          --spin it never sleeps. Else it sleeps until shortly before the next request
 *          is due, and looks at the clock for the rest: a timer of the kernel may be late
 *          by as much as a request takes.
 * Units    ns of CLOCK_MONOTONIC.
 */
#ifndef LOAD_RUN_H
#define LOAD_RUN_H

#include "load_conn.h"

/* Spin for --floor seconds, and record the time between looks at the clock. */
void load_run_floor(struct load_record *r, double seconds);

/* A run at this rate (0: closed loop), warm-up and all; then r is finished. drain_ns: how
 * long after the end what is due may still be sent; then answers have as long to come. */
void load_run(struct load_pool *p, double rate, double warm, double seconds, uint64_t drain_ns);

#endif
