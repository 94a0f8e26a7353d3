/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * logger.h - the thread that writes the access log
 *
 * Place    The starter opens it before anything else, and stops it when the I/O
 *          threads are gone. Each of those has a ring into it, which its worker fills
 *          (worker_params.log).
 * Model    Each LOG_PAUSE_MS it takes what is in the rings, makes lines of it
 *          (accesslog.h), and writes as many at a time as fit LOG_BATCH. Lines of one
 *          I/O thread are in the order of its answers. Nothing is ever forced to disk.
 *          A file is opened to append, once: who cuts it off in place (logrotate's
 *          copytruncate) loses nothing of what is written later, who moves it away
 *          takes the log with it.
 *          What is no file (a pipe, a terminal) may be slow for ever: then lines are
 *          lost, in the rings, and at the end nobody waits for it longer than a second.
 * Owner    It has the rings' memory.
 * Threads  The writer keeps off the CPUs of the others, if there are any besides. Rings
 *          are spsc.h's. Besides:
 *
 *            logger_stop                      writer
 *            (I/O threads are joined)         load stop      (acquire, A)
 *            store stop    (release, A)       take what is left in the rings
 *
 *          and the count of lines that could not be written (relaxed).
 * Errors   A file that cannot be opened is reported, with a cure; so is the first line
 *          that cannot be written, and how many there were at the end.
 * Limits   LOG_RECORDS a ring, or fewer (--memory).
 */
#ifndef LOGGER_H
#define LOGGER_H

#include <pthread.h>
#include "abi.h"
#include "base.h"
#include "limits.h"
#include "spsc.h"

struct logger {
	const char *name; /* as the user gave it; NULL: there is no log */
	int fd;
	bool is_file;
	bool torn; /* the last line written has no end */
	bool told; /* that lines cannot be written */
	bool running;
	uint32_t lines; /* of each ring, a power of two; 0: LOG_RECORDS */
	pthread_t thread;
	unsigned rings;
	struct spsc ring[IO_THREADS_MAX];
	void *records[IO_THREADS_MAX];
	_Atomic int stop;
	_Atomic uint64_t unwritten; /* lines */
	uint64_t stop_ns;           /* when it is to end, whatever is left */
	char batch[LOG_BATCH];
};

/* path: a file, or "-" for standard output. 0 or -errno, reported. */
int logger_open(struct logger *l, const char *path);

/* A ring for one more I/O thread. NULL with errno. Before logger_start. */
struct spsc *logger_ring(struct logger *l);

/* Start the writer, off these CPUs if it may run on others. 0 or -errno, reported. */
int logger_start(struct logger *l, const struct mode *cpus);

/* Lines that could not be written, so far. From any thread. */
uint64_t logger_unwritten(const struct logger *l);

/* Write what is in the rings, and end; nobody fills them any more. Also when it was
 * never opened, or not started. */
void logger_stop(struct logger *l);

#endif
