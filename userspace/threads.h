/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * threads.h - the I/O threads, and what each has of its own
 *
 * Place    The starter's: it opens them first and closes them last. What one
 *          thread does is in iothread.h.
 * Model    listen: each thread's sockets of the kernel, which share the port.
 *          start: its worker, on its CPU, and its share of the compute cores; the
 *          port answers from here on.
 *          give: its rings and its blocks in the maps.
 *          drain, stop, close: the reverse.
 *          All have the same settings and the same cookie secret, and nothing
 *          else in common than what iothread.h says.
 * Owner    The starter's memory, zeroed, most of it never touched.
 * Errors   0 or -errno, reported here, once, on stderr, with a cure.
 * Limits   IO_THREADS_MAX, as many as there are CPUs in --io-cpu.
 */
#ifndef THREADS_H
#define THREADS_H

#include "conf.h"
#include "crew.h"
#include "iothread.h"
#include "logger.h"
#include "nic.h"
#include "steer.h"

struct thread {
	struct iothread io;
	struct sock sock;
	int sock_fd[SOCKS_DEFAULT];
	uint32_t sock_events[SOCKS_DEFAULT];
	struct crew crew;
	size_t worker_len;
	/* ring and rings: by the starter, before it gives; the rest by threads_give */
	struct bypass bypass;
	struct spsc heard; /* what the thread before this one was told by routers */
	struct icmp_event heard_record[RELAY_RECORDS];
	/* where it counts until the maps are there, and what /metrics shows of that time */
	struct stats_block early_stats;
	struct stage_block early_stages;
	struct mode early_mode;
} __attribute__((aligned(64)));

struct threads {
	const struct conf *conf;
	struct logger *log; /* by the starter, before threads_start; NULL: none */
	unsigned count;
	unsigned listening, running;              /* so many of them */
	int idle_fd;                              /* cpu_idle_lightly; negative: no */
	bool measured[IO_THREADS_MAX + CREW_MAX]; /* and shown so in the maps */
	struct iothread *all[IO_THREADS_MAX];
	struct thread one[IO_THREADS_MAX];
};

int threads_listen(struct threads *th, const struct conf *conf);

/* On the CPUs of mode. text: the mode, for /healthz; it stays where it is. */
int threads_start(struct threads *th, const struct mode *mode, const struct nic *nic,
		  const char *text);

/* Each one's share of the maps, and its rings, if there are any. They have taken
 * them when it returns. */
void threads_give(struct threads *th, struct steer *steer, const char *text);

/* The start is over: they may measure their cores, while nobody is served. */
void threads_calibrate(struct threads *th);

/* Bring up to date what the maps say of compute cores, and of what was measured.
 * Now and then, after threads_give. */
void threads_publish(struct threads *th, struct steer *steer);

void threads_drain(struct threads *th);
bool threads_drained(struct threads *th);

/* Those that run, and then those that listen. Neither needs the one before it to
 * have gone well. */
void threads_stop(struct threads *th);
void threads_close(struct threads *th);

#endif
