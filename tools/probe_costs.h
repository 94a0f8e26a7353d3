/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * probe_costs.h - what the machine takes for the few things that a responder does
 *
 * Model    Each is done many times, and timed in batches where the clock is too coarse
 *          or too dear for one; p50 and p99 are of these batches' means:
 *
 *            syscall   getppid, batches of 32
 *            clock     clock_gettime(CLOCK_MONOTONIC), batches of 32
 *            hop       a record from a core to another by a ring (spsc.h) and back,
 *                      halved; batches of 8 round trips
 *            tx_kick   sendto on an AF_XDP socket in copy mode with one frame of 60
 *                      bytes to send: system call, driver and all
 *
 * Limits   Each takes COSTS_NS at most; one that by then has not what a p99 needs is
 *          null, and the reason is given.
 */
#ifndef PROBE_COSTS_H
#define PROBE_COSTS_H

#include <stdio.h>
#include "base.h"

enum { COSTS_SAMPLES = 20000, COSTS_ENOUGH = 1000 };
#define COSTS_NS (1500ull * NS_PER_MS)

/* cpu[0], cpu[1]: -1, -1: the first and the last that we may use. iface: NULL: none. */
void costs_json(const int cpu[2], const char *iface, FILE *out);

#endif
