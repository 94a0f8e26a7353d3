/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cpu.h - one thread, one core, memory that stays
 *
 * Place    starter, iothread and crew, before the first packet.
 * Errors   -errno; nothing is printed here.
 */
#ifndef CPU_H
#define CPU_H

#include "base.h"

/* The CPU for a spinning thread when the user named none: the first of
 * /sys/devices/system/cpu/isolated that this process may use, else the last
 * one that it may use; none of those in `but`. -ENODEV: none is left. */
int cpu_choose(const int *but, unsigned count);

/* Is this CPU in /sys/devices/system/cpu/isolated? */
bool cpu_isolated(int cpu);

/* Is there such a CPU, and is it on? */
bool cpu_online(int cpu);

/* May this process run on it? */
bool cpu_allowed(int cpu);

/* What of it the lanes may use: bits of enum lane_cpu (lane.h). A vector unit counts
 * only if the kernel keeps its registers. */
uint32_t cpu_features(void);

/* As long as the descriptor that it returns is open, no CPU of this machine idles in a
 * state that takes time to leave (Linux: pm_qos_interface.rst): a sleeping thread is
 * woken in 4 us instead of 24 on a virtual machine whose CPUs halt. -errno: it may not,
 * or there is no such thing. */
int cpu_idle_lightly(void);

/* Zeroed pages, shared with children, never swapped once touched
 * (mlock2 ONFAULT; a refused lock is not an error: *locked says). The length is
 * rounded up to pages. NULL with errno. */
void *cpu_pages(size_t length, bool *locked);
void cpu_pages_free(void *pages, size_t length);

/* CLOCK_MONOTONIC in ns: the clock of bpf_ktime_get_ns. */
uint64_t cpu_now_ns(void);

#endif
