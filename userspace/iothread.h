/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * iothread.h - the thread that never sleeps
 *
 * Place    Turns the worker between the gates and the kernel's sockets, on one
 *          core. The server makes it before anything is loaded, so that the
 *          socket rung answers at once, and gives it the maps and the gates when
 *          the bypass is there.
 * Model    Without gates it waits in epoll. With gates it spins: a look at every
 *          gate each turn, a look at the sockets now and then. Maps are given once,
 *          gates as often as they are opened anew, or none when they must be closed;
 *          connections outlive them. There may be
 *          several, each with queues, connections and lanes of its own. They share
 *          the port (sock.h), so each of them asks all whether the kernel holds
 *          connections; and icmp_ring, which has one reader: thread 0 takes what
 *          routers say, and who finds no connection of its own hands it to the
 *          next by an spsc ring; the last one judges it in any case. So each word
 *          is counted once. Where the next ring is full, it waits where it is.
 * Owner    From iothread_give on the gates, and the thread's blocks in the maps,
 *          are the thread's alone, until it is given others.
 * Threads  These words are shared with the server's main thread, and E with the
 *          other I/O threads, each with one writer:
 *
 *            server                           I/O thread
 *            fill *bypass                     load bypass       (acquire, A)
 *            store bypass  (release, A)       use it, let go of the one before
 *                                             store taken       (release, B)
 *            load taken    (acquire, B)       ...
 *            store stop    (release, C)       load stop         (acquire, C)
 *                                             store drained     (release, D)
 *            load drained  (acquire, D)
 *            load stuck, tx_stuck, asked      store them        (relaxed, E)
 *                          (relaxed, E)
 *            store calibrate (relaxed)        load calibrate    (relaxed)
 *            store mtu     (relaxed)          load mtu          (relaxed)
 *            load calibrated (acquire, F)     write the table of the lanes
 *             read the table                  store calibrated  (release, F)
 */
#ifndef IOTHREAD_H
#define IOTHREAD_H

#include <pthread.h>
#include "abi.h"
#include "conf.h"
#include "conns.h"
#include "crew.h"
#include "flows.h"
#include "icmp.h"
#include "logger.h"
#include "gate.h"
#include "sock.h"
#include "sources.h"
#include "spsc.h"
#include "tracer.h"
#include "watch.h"
#include "worker.h"

/* What is handed over when the maps are there; gates may be none. All but the gates
 * is the same each time. */
struct bypass {
	struct gate *gate;
	unsigned gates;
	struct steer_beat *live;
	struct mode *mode; /* the thread says in it when the first frame came */
	struct stats_block *stats;
	struct stage_block *stages;
	struct gauge_block *gauges;
	struct ring_block *queues; /* of all, by their numbers */
	struct conn_entry *conns;
	struct icmp *icmp; /* looked at while there are gates; NULL: not thread 0 */
	/* of struct icmp_event: from the thread before, to the next one; NULL: none */
	struct spsc *heard, *tell;
	struct sources sources; /* of the stand-in: none */
	struct tracer tracer;   /* has a page while there are gates */
	struct flows flows;     /* fd -1: the port is not shared, or this is the stand-in */
	const char *text;       /* the mode, for /healthz */
	/* what /metrics shows: the blocks of all, and whose hearts beat */
	struct metrics_source metrics;
	const struct steer_live *hearts;
};

/* What the kernel says that gates lost; it begins anew with each socket. */
struct ring_lost {
	uint64_t ring_full, dropped, tx_invalid;
};

enum iothread_stop { IO_RUN, IO_DRAIN, IO_STOP };

struct iothread {
	const struct conf *conf;
	unsigned number;             /* STEER_STAND_IN: the stand-in's */
	int cpu;                     /* -1: any */
	struct iothread *const *all; /* those of this process, this one too */
	unsigned of;                 /* so many */
	struct sock *sock;
	struct worker *worker;
	struct crew *crew;        /* perhaps of no cores */
	const struct logger *log; /* thread 0 tells what it could not write; NULL: no log */
	pthread_t thread;

	struct bypass *_Atomic bypass;
	struct bypass *_Atomic taken; /* NULL: none yet */
	_Atomic int stop;             /* enum iothread_stop */
	_Atomic int drained;
	_Atomic int stuck;      /* a ring of it stands still */
	_Atomic int tx_stuck;   /* and it is that its card does not send */
	_Atomic unsigned asked; /* of the starter: WATCH_ASKED */
	_Atomic int calibrate, calibrated;
	_Atomic unsigned mtu; /* 0: as at the start */

	/* the thread's own */
	struct bypass now;                        /* what it took; gates 0 until then */
	struct ring_lost lost_before;             /* by gates that were given up */
	uint64_t turn_ns;                         /* when it looked at the gates last */
	uint64_t heartbeat_ns, sock_ns, house_ns; /* when each was done last */
	uint64_t kernel_free_ns; /* since when no kernel connection was seen; 0: there is one */
	uint64_t log_unwritten;  /* lines, as far as the counter says */
	struct watch watch[QUEUES_MAX]; /* of each of its gates */
	struct conns conns;
	unsigned mtu_taken;
	bool draining;
	uint64_t drain_ns; /* since when; 0: idle connections are closed already */
};

/* Start the thread on its CPU. 0 or -errno, reported. */
int iothread_start(struct iothread *io);

/* Hand over what stays as it is until the next one was taken. Then ask. */
void iothread_give(struct iothread *io, struct bypass *bypass);
bool iothread_took(const struct iothread *io, const struct bypass *bypass);

/* Measure the lanes, a sample at a time, when there is nothing else to do; and has it? */
void iothread_calibrate(struct iothread *io);
bool iothread_calibrated(struct iothread *io);

/* The interface's MTU is another one. */
void iothread_mtu(struct iothread *io, unsigned mtu);

/* No new connections, no new requests; then ask until all are over. */
void iothread_drain(struct iothread *io);
bool iothread_drained(struct iothread *io);

/* Does one of its gates stand still? */
bool iothread_stuck(const struct iothread *io);

/* What the watchdog asks for, of the ring that is worst off: WATCH_ASKED, or 0. */
unsigned iothread_asked(const struct iothread *io);

/* Stop and join. */
void iothread_stop(struct iothread *io);

#endif
