/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * threads.h - the I/O threads of this process, and what each has of its own
 *
 * Place    The server's: it opens them first and closes them last. What one
 *          thread does is in iothread.h.
 * Model    open: each thread's view of the kernel's sockets, which share the port.
 *          prepare: its worker. run: on its CPU, with its share of the compute
 *          cores; the port answers from here on.
 *          maps, gates: its blocks in the maps, once; its gates, as often as there are
 *          others.
 *          All have the same settings and the same cookie secret, and nothing
 *          else in common than what iothread.h says.
 *          The stand-in is a single thread on any CPU, without gates and compute
 *          cores, that accepts from the sockets of all.
 * Owner    The server's memory, zeroed, most of it never touched.
 * Errors   0 or -errno, reported here, once, on stderr, with a cure.
 * Limits   IO_THREADS_MAX, as many as there are CPUs in --io-cpu.
 */
#ifndef THREADS_H
#define THREADS_H

#include "blocks.h"
#include "conf.h"
#include "crew.h"
#include "handover.h"
#include "iothread.h"
#include "ktcp.h"
#include "listener.h"
#include "logger.h"
#include "nic.h"

struct thread {
	struct iothread io;
	struct sock sock;
	int sock_fd[SOCKS_DEFAULT];
	uint32_t sock_events[SOCKS_DEFAULT];
	struct crew crew;
	size_t worker_len;
	/* what it has, and what it had, in turns */
	struct bypass bypass[2];
	unsigned given;
	struct spsc heard; /* what the thread before this one was told by routers */
	struct icmp_event heard_record[RELAY_RECORDS];
	/* where it counts until the maps are there, and what /metrics shows of that time */
	struct stats_block early_stats;
	struct stage_block early_stages;
	struct mode early_mode;
} __attribute__((aligned(64)));

struct threads {
	const struct conf *conf;
	bool stand_in;
	struct logger *log;    /* before threads_start; NULL: none */
	struct blocks *blocks; /* of threads_maps; NULL: there are no maps, or not yet */
	unsigned count;
	unsigned opened, running;                 /* so many of them */
	bool measured[IO_THREADS_MAX + CREW_MAX]; /* and shown so in the maps */
	struct iothread *all[IO_THREADS_MAX];
	struct thread one[IO_THREADS_MAX];
};

int threads_open(struct threads *th, const struct conf *conf, const struct listeners *l,
		 bool stand_in);

/* A worker for each, on the CPUs of mode; nothing runs yet. */
int threads_prepare(struct threads *th, const struct mode *mode, const struct nic *nic,
		    const struct ktcp *kernel, const uint8_t secret[16]);

/* Compute cores and I/O threads: the port is answered. text: the mode, for /healthz; it
 * stays where it is. */
int threads_run(struct threads *th, const char *text);

/* Behind threads_stop, and between prepare and run: leave all connections to another
 * process, or go on from there (handover.h, with room bytes for each image). */
int threads_save(struct threads *th, struct handover *to, size_t room);
int threads_load(struct threads *th, struct handover *from, size_t room);
/* So many are enough with these settings. */
size_t threads_room(const struct conf *conf, const struct nic *nic);

/* Each one's share of the maps, before the first gates. */
void threads_maps(struct threads *th, struct blocks *blocks);

/* Each one's share of the gates, which may be none, and the mode with them. They have
 * taken them, and let go of those before, when it returns 0; -ETIMEDOUT: not yet.
 * Before threads_run it does not wait: then threads_took does, behind it. */
int threads_gates(struct threads *th, struct gate *gate, unsigned gates, const char *text);
int threads_took(const struct threads *th);

/* The start is over: they may measure their cores, while nobody is served. */
void threads_calibrate(struct threads *th);

/* Bring up to date what the maps say of compute cores, and of what was measured.
 * Now and then; without maps nothing. */
void threads_publish(struct threads *th);

void threads_mtu(struct threads *th, unsigned mtu);
/* What a thread wants of the starter (watch.h), the worst; 0: nothing. */
unsigned threads_asked(const struct threads *th);

void threads_drain(struct threads *th);
bool threads_drained(struct threads *th);

/* Those that run, and then those that are open. Neither needs the one before it to
 * have gone well. */
void threads_stop(struct threads *th);
void threads_close(struct threads *th);

#endif
