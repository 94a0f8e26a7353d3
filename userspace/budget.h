/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * budget.h - how much memory the responder takes, before it has taken any (--memory)
 *
 * Place    memory.c says what machine and settings are; from there on it is arithmetic.
 *          Pure.
 * Model    The forecast is the sum of PSS of starter and worker, with their share of UMEM
 *          and maps, when every table is full: all connections there are slots for, a
 *          buffer in each, the long ones in use, the cache and the log's rings full.
 *          What is laid out by this program is added up from the same sizes as it is laid
 *          out by. What the loader and the C library take is measured (limits.h).
 *          One number sizes what the user left open: so many connections, and TIME-WAIT
 *          records and log lines in proportion, up to their defaults.
 * Limits   Not in it: the kernel's own share of maps that are not mapped, socket buffers;
 *          a trace (TRACE_ENTRY for each I/O thread while somebody looks); a stand-in, and
 *          a second worker at an upgrade, while there is one.
 * Units    Bytes.
 */
#ifndef BUDGET_H
#define BUDGET_H

#include "base.h"

/* What takes memory. */
struct budget_shape {
	uint32_t page;   /* of the machine */
	unsigned cpus;   /* possible ones: each has counters */
	unsigned queues; /* AF_XDP sockets; 0: none */
	unsigned io_threads, compute_cores;
	unsigned max_conns; /* of each I/O thread */
	unsigned timewait;  /* TIME-WAIT records of each */
	unsigned log_lines; /* that each may be ahead of the log's writer; 0: no log */
	unsigned cache;
	uint32_t max_body;
	bool by_path; /* --steer=path */
	bool packet;  /* --io=packet: less than AF_XDP; who does not say takes the most */
};

#define BUDGET_LIST(X) \
	X(processes, "programs, stacks, heap") \
	X(frames, "frames and their rings") \
	X(maps, "maps") \
	X(conns, "connections and their buffers") \
	X(cache, "cache") \
	X(log, "access log") \
	X(cores, "compute CPUs")
enum budget_part {
#define X(name, text) BUDGET_##name,
	BUDGET_LIST(X)
#undef X
		BUDGET_PARTS,
};

/* The sum; what each part has of it, unless that is NULL. */
uint64_t budget_forecast(const struct budget_shape *s, uint64_t part[BUDGET_PARTS]);

/* Size what is open, as large as goes with so many bytes: TIME-WAIT and, if there is one,
 * the log; connections too, unless that is fixed. False: even the least is more; then s has
 * the least. */
bool budget_fit(struct budget_shape *s, bool conns_fixed, uint64_t bytes);

/* What the user could give less of. */
#define BUDGET_OPTION_LIST(X) \
	X(max_conns) X(max_body) X(cache) X(access_log) X(io_cpu) X(compute_cpus) X(queues)
enum budget_option {
#define X(name) BUDGET_OPTION_##name,
	BUDGET_OPTION_LIST(X)
#undef X
		BUDGET_OPTIONS,
};

/* The one that costs most, and what would be saved by its least value. */
enum budget_option budget_dearest(const struct budget_shape *s, uint64_t *bytes);

#endif
