/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * probe_parse.h - the kernel's texts in /proc, read for their numbers
 *
 * Place    probe_proc.c and probe_task.c bring the texts. Pure.
 * Model    A text is a string that is not changed. What a kernel does not print
 *          leaves its number as it was.
 * Units    As the kernel has them: ticks of 10 ms in /proc/stat, kB in status.
 */
#ifndef PROBE_PARSE_H
#define PROBE_PARSE_H

#include "base.h"

/* The start of the next line, or of the end. */
const char *next_line(const char *at);

/* The number behind KEY at the start of a line, blanks and colons between. */
bool parse_field(const char *text, const char *key, uint64_t *value);

struct cpu_ticks {
	bool online;
	uint64_t busy, irq, softirq, total;
};

/* /proc/stat. How many CPUs have an entry in list, those that are off included. */
unsigned parse_stat(const char *text, struct cpu_ticks *list, unsigned size);

/* /proc/interrupts, /proc/softirqs: the sum of each CPU's column. Only CPUs that are
 * online have one; its head names it. How many entries of sum have been written. */
unsigned parse_columns(const char *text, uint64_t *sum, unsigned size);

struct softnet {
	uint64_t processed, dropped, squeezed;
};

/* /proc/net/softnet_stat: each line a CPU that is online. How many. */
unsigned parse_softnet(const char *text, struct softnet *list, unsigned size);

/* /proc/net/dev: the 16 columns of an interface. */
enum { NETDEV_COLUMNS = 16 };
bool parse_netdev(const char *text, const char *iface, uint64_t value[NETDEV_COLUMNS]);

/* /proc/PID/stat: field n as proc(5) counts them, from 1; n > 2. The name of a process
 * may have blanks and brackets in it. */
bool parse_pid_stat(const char *text, unsigned n, uint64_t *value);

#endif
