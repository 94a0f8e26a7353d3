/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * doctor_tasks.h - responders that run while their cores are isolated
 *
 * Place    doctor_apply.c, for the setting `process PID`, which is the cgroup that it is in;
 *          doctor_partition.c, which must not lose the cores of who is inside.
 * Model    A partition takes its cores from all that are outside: a thread that is pinned to
 *          one of them is put elsewhere. So a responder that runs goes inside before. The
 *          kernel forgets pins when a process moves (before Linux 6.2), so they are noted
 *          and set again. A thread that may run on all cores that there are is not pinned.
 * Limits   PINS threads at a time; those beyond keep what the kernel gives them. Below a
 *          root of plain files there are no processes.
 * Errors   0 or -errno. A thread that has ended meanwhile is none.
 */
#ifndef DOCTOR_TASKS_H
#define DOCTOR_TASKS_H

#include <sched.h>
#include "doctor_file.h"

enum { PINS = 256, FAMILY = 20 };

struct pins {
	unsigned count;
	struct {
		pid_t tid;
		cpu_set_t set;
	} pin[PINS];
};

/* The threads of a process that are pinned, where it may run on so many cores. */
void pins_take(struct pins *p, pid_t pid, unsigned cores);
void pins_set(const struct pins *p);

/* All processes of responders that have pinned threads, each on these cores only: how many,
 * the starter before what it has started. */
unsigned tasks_on(const cpu_set_t *cores, pid_t pid[FAMILY]);

/* When the process began, as the kernel counts it; "": there is none. */
void task_start(pid_t pid, char text[32]);

/* Who is in that cgroup goes to where the process is that started it; who was started by
 * the first process of all stays. */
void tasks_leave(struct machine *m, const char *cgroup);

int task_read(struct machine *m, const char *name, char value[VALUE_SIZE]);
int task_write(struct machine *m, const char *name, const char *value);

#endif
