/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * server.h - the process that serves: the worker, or its stand-in
 *
 * Place    What runs in a child of the starter, from the fork to its exit.
 * Model    Privilege goes first; then threads are made, and the port is answered a
 *          millisecond after the fork; behind the last thread the jail is locked. Then
 *          it does what the starter says (talk.h), and ends when the starter closes the
 *          talk, or dies. Descriptors come with the fork or over the talk.
 *          The worker gets maps and rings. The stand-in gets maps only, and accepts
 *          from the kernel while the worker stands still or is gone. At an upgrade the
 *          worker departs: it stops between two turns and leaves its connections to an
 *          heir, which waits, all made, until it has them.
 * Threads  The main thread sleeps, and brings the maps up to date once a second.
 * Errors   Exit status 1: reported on stderr.
 */
#ifndef SERVER_H
#define SERVER_H

#include "abi.h"
#include "conf.h"
#include "jail.h"
#include "ktcp.h"
#include "listener.h"
#include "logger.h"
#include "nic.h"

/* The heir of a worker that departs becomes the worker when it has its state. */
enum server_kind { SERVER_WORKER, SERVER_STAND_IN, SERVER_HEIR };

struct server_want {
	const struct conf *conf;
	const struct nic *nic;
	const struct ktcp *kernel; /* with --steer=path */
	const struct mode *mode;   /* the CPUs, and what is so before the bypass */
	const struct listeners *listeners;
	struct logger *log; /* open; NULL: no log */
	const uint8_t *secret;
	struct jail_want jail;
	enum server_kind kind;
	int talk_fd;
};

_Noreturn void server_run(const struct server_want *want);

#endif
