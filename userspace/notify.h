/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * notify.h - tell the service manager how we are (sd_notify(3))
 *
 * Place    The starter's: open before it forks, ready when it says "saker: ready",
 *          status when the mode changes, beat in each round of its loop, stopping at
 *          SIGTERM, or when it ends by itself. Workers say nothing.
 * Model    Lines NAME=VALUE in one datagram to the socket of $NOTIFY_SOCKET, a path or
 *          an abstract name (@...). The protocol is documented as stable and free to
 *          be written anew; libsystemd would cost 1.1 MB of the starter's memory.
 *          Without the variable, or where the socket is gone, everything is a no-op.
 * Upgrade  The variables stay set: the same process, executing a new binary, opens
 *          again. No MAINPID is needed.
 * Threads  One.
 * Limits   A beat is sent at a third of $WATCHDOG_USEC, so one may be lost or late;
 *          the caller's loop must come round more often than that. A manager that does not
 *          read is waited for NOTIFY_WAIT_MS, and then loses what we say.
 * Units    ns.
 * Errors   Said on stderr, once; we serve as well unheard.
 */
#ifndef NOTIFY_H
#define NOTIFY_H

#include <sys/socket.h>
#include <sys/un.h>
#include "base.h"

enum { NOTIFY_WAIT_MS = 200 };

struct notify {
	int fd; /* negative: nobody listens */
	struct sockaddr_un to;
	socklen_t to_len;
	bool told;            /* that it cannot be told */
	uint64_t interval_ns; /* between two beats; 0: no watchdog */
	uint64_t beat_ns;     /* the last one */
};

void notify_open(struct notify *n);
void notify_close(struct notify *n);

/* READY=1 with a status. text: one line, what `systemctl status` shows. */
void notify_ready(struct notify *n, const char *text);
void notify_status(struct notify *n, const char *text);
void notify_stopping(struct notify *n, const char *text);

/* WATCHDOG=1, when it is time. */
void notify_beat(struct notify *n, uint64_t now_ns);

#endif
