/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * listener.h - the kernel's sockets that listen
 *
 * Place    The first thing that the starter opens, before anything is loaded. It keeps
 *          them to the end: whom it forks has them too, and accepts (sock.h).
 * Model    For each I/O thread one on each --addr, or one on all addresses. With
 *          --steer=path the port is the web server's: then one on 127.0.0.1 and one on
 *          ::1, on --local-port, for its proxy. Those of several threads share the port
 *          by SO_REUSEPORT: the kernel deals new connections out among them.
 * Errors   Reported here, with a cure.
 */
#ifndef LISTENER_H
#define LISTENER_H

#include "conf.h"

struct listeners {
	unsigned count, each;                     /* all, and of each thread */
	int fd[IO_THREADS_MAX * STEER_ADDRS_MAX]; /* those of a thread side by side */
};

int listeners_open(struct listeners *l, const struct conf *conf);

/* Who connects from here on is refused, when all who have them have closed them. */
void listeners_close(struct listeners *l);

#endif
