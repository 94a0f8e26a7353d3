/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rungs.h - the ladder of ways in and out, and the one in effect
 *
 * Place    The starter's, between the program (steer.h) and the rings that it hands to
 *          the worker.
 * Model    climb: zero-copy before copy, native before generic, AF_XDP before packet; the
 *          first that proves itself by a test send. close and open again: the same rung anew, after a
 *          worker died, the link came back, the queues changed. The worker gets the
 *          descriptors; what stays here is closed when the rings are.
 * Owner    Memory of struct rungs is the caller's.
 * Errors   0 or -errno, reported here, once, with a cure.
 */
#ifndef RUNGS_H
#define RUNGS_H

#include "conf.h"
#include "nic.h"
#include "gate.h"
#include "steer.h"

struct rungs {
	const struct conf *conf;
	const struct nic *nic;
	struct steer *steer;
	enum abi_rung rung; /* none until climbed */
	enum abi_copy copy;
	unsigned gates;
	/* side by side those of an I/O thread; it sends by its first */
	struct gate gate[QUEUES_MAX];
};

/* Which program to load first: auto finds by one system call whether the kernel has AF_XDP. */
enum steer_hook rungs_hook(const struct conf *conf);

/* Can we live with the interface as it is? */
int rungs_check(const struct conf *conf, const struct nic *nic);

/* The first rung that works, of those that --io allows. */
int rungs_climb(struct rungs *r);

/* The rung that was climbed, with fresh sockets: nothing of it is open. */
int rungs_again(struct rungs *r);

/* It does not serve, or did not stay: the next one below, of those that --io allows.
 * Nothing of it is open. */
int rungs_lower(struct rungs *r);

/* May the user be served by less than was tried? Only where the machine cannot do
 * better; not where something is in the way that he can remove. */
bool rungs_may_fall_back(const struct conf *conf, bool maps, int error);

void rungs_close(struct rungs *r);

#endif
