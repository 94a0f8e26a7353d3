/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * flows.h - what an I/O thread says of its connections to the XDP program
 *
 * Place    iothread, with --steer=path: what the worker noted in a turn, and each
 *          HOUSE_NS a few entries more. The XDP program adds flows (bpf/flow.h).
 * Model    tell: closing, so that a SYN of the same ports counts as new, and then
 *          none: the entry goes.
 *          An entry that is not in the state in which the worker had it is of the
 *          next connection of the same ports, and stays. Between the look and the
 *          change lies a microsecond; a new connection takes a handshake.
 *          sweep: an entry of this thread that is FLOWS_OLD_MS old and of no
 *          connection: the segment that opens it was lost on the ring, and its client
 *          has gone. Else such entries would fill the map in the end.
 * Threads  Each thread its own struct, of its own flows.
 * Owner    fd is of the map, and the caller's; an open descriptor is all that it
 *          takes, no capability (unprivileged_bpf_disabled stops only what makes new
 *          objects, since Linux 5.19).
 * Errors   tell, sweep: none; what is not there is done.
 */
#ifndef FLOWS_H
#define FLOWS_H

#include "abi.h"
#include "base.h"
#include "worker.h"

struct flows {
	int fd; /* -1: the port is not shared, nothing is done */
	unsigned thread, threads;
	struct steer_flow_key at; /* of sweep: how far it is */
	bool begun;
};

/* What has become of flows of the worker's, before the client hears of it, and before the
 * worker is saved. */
void flows_tell(const struct flows *f, struct worker *w, uint64_t now_ns);

/* Look at a few entries. */
void flows_sweep(struct flows *f, struct worker *w, uint64_t now_ns);

/* All of them: the worker that had them is dead. The number, or -errno. */
int flows_clear(int fd);

#endif
