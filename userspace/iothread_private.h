/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * iothread_private.h - what an I/O thread does now and then
 *
 * Place    iothread.c calls it between turns.
 * Model    Every 50 ms: the date, the MTU, counters and gauges as the maps show them, the
 *          watchdog over the rings, connections that the flow map has forgotten, the drain.
 * Threads  The I/O thread itself.
 */
#ifndef IOTHREAD_PRIVATE_H
#define IOTHREAD_PRIVATE_H

#include "iothread.h"

/* Each turn; it knows when it is time. */
void house_keep(struct iothread *io, uint64_t now_ns);

/* Say now what the maps show, whatever the time. */
void house_publish(struct iothread *io, uint64_t now_ns);

/* What rings lose counts on from what the maps have: before the first rings are looked at,
 * perhaps those of the worker before an upgrade; and before others take the place of these. */
void house_count_from(struct iothread *io, const struct bypass *b);
void house_count_on(struct iothread *io, uint64_t now_ns);

#endif
