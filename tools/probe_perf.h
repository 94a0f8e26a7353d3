/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * probe_perf.h - events of the CPU, counted by the kernel
 *
 * Place    probe_perf() in probe.h adds the sources; tests use the counter alone.
 * Model    A target is a thread on any CPU, or a CPU with all that runs on it. Its
 *          events form one group if the CPU has so many counters, so that one read
 *          has all: to read a counter that runs on another core interrupts that core.
 *          What does not fit starts the next group, takes turns with the first, and
 *          is scaled to the whole time.
 * Threads  One.
 */
#ifndef PROBE_PERF_H
#define PROBE_PERF_H

#include <sys/types.h>
#include "base.h"

enum { PERF_EVENTS = 8, PERF_GROUPS = 4 };

struct perf_event {
	uint32_t type;
	uint64_t config;
	bool alone; /* in a group of its own */
};

struct perf_group {
	int fd; /* of its first event */
	unsigned count, event[PERF_EVENTS];
	uint64_t enabled, running, last[PERF_EVENTS];
};

struct perf_target {
	pid_t tid; /* -1: everything on the CPU */
	int cpu;   /* -1: wherever the thread runs */
	bool user_only;
	unsigned groups;
	struct perf_group group[PERF_GROUPS];
	double sum[PERF_EVENTS]; /* by event */
};

/* 0, or -errno: then nothing has changed. -EACCES with the kernel's part, so it counts
 * user space only, and says so in user_only. */
int perf_add(struct perf_target *t, unsigned event, const struct perf_event *e);

/* Bring the sums to now. False: the thread has ended. */
bool perf_read(struct perf_target *t);

#endif
