/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sock.h - the kernel-socket rung: the same worker over ordinary TCP sockets
 *
 * Place    Accepts before anything else is loaded, so that the port answers a
 *          few milliseconds after exec; then serves whom the bypass cannot see:
 *          connections opened before it, clients on this host, and everybody
 *          when steering falls through. With --io=socket it is all there is,
 *          and the baseline of every comparison. With --steer=path the port is
 *          somebody else's: then they are the connections of its proxy, on
 *          --local-port.
 * Model    epoll, level-triggered; bytes are read straight into the session.
 *          This is what worker_frame and worker_emit are to frames.
 * Threads  sock_open before the I/O thread, the rest by it; sock_wake and sock_count
 *          by any.
 * Limits   SOCKS_DEFAULT connections; more are closed at once, counted.
 * Errors   sock_open reports its own, with a cure.
 */
#ifndef SOCK_H
#define SOCK_H

#include "abi.h"
#include "conf.h"
#include "worker.h"

struct sock {
	int epoll_fd;
	int wake_fd; /* eventfd: ends a wait */
	const int *listen_fd;
	unsigned listeners;
	int *fd;          /* by worker id - first_id; -1: none */
	uint32_t *events; /* what epoll watches for it */
	unsigned first_id, count;
};

/* Accept on these (listener.h), which are this process's own copies from now on. fd and
 * events have room for SOCKS_DEFAULT. */
int sock_open(struct sock *s, const struct conf *conf, const int *listen_fd, unsigned listeners,
	      int *fd, uint32_t *events);

/* Serve a connection that another process accepted, with this id in the worker; what it
 * waits for, sock_flush finds out. False: it is closed. */
bool sock_adopt(struct sock *s, uint16_t id, int fd);

/* Connections that are open. */
static inline unsigned sock_count(const struct sock *s)
{
	return __atomic_load_n(&s->count, __ATOMIC_RELAXED);
}

/* Wait up to timeout_ms for something to do, and do it; 0 only looks. Returns
 * whether there was anything. */
bool sock_poll(struct sock *s, struct worker *w, struct stats_block *stats, int timeout_ms);

/* Send what the worker has written, close what is over. After worker_answer. */
void sock_flush(struct sock *s, struct worker *w, struct stats_block *stats);

/* End the present or the next wait of sock_poll. From any thread. */
void sock_wake(struct sock *s);

/* No new connections from here on. */
void sock_stop(struct sock *s);

/* Everything. Connections that are still open are reset by the kernel. */
void sock_close(struct sock *s);

#endif
