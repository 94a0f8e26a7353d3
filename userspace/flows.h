/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * flows.h - what an I/O thread says of its connections to the XDP program
 *
 * Place    iothread, with --steer=path: what the worker noted in a turn, and each
 *          HOUSE_NS a few entries more. The XDP program adds flows (bpf/flow.h).
 * Model    change: closing, so that a SYN of the same ports counts as new, and then
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
 * Errors   What is not there is done. Others are -errno, and cannot be mended.
 */
#ifndef FLOWS_H
#define FLOWS_H

#include "abi.h"
#include "base.h"

struct flows {
	int fd;
	unsigned thread, threads;
	struct steer_flow_key at; /* of sweep: how far it is */
	bool begun;
};

/* was none: whatever state it is in. */
int flows_change(const struct flows *f, const struct steer_flow_key *key, enum flow_state was,
		 enum flow_state now);

/* Look at a few entries. knows: is there anything of this flow in the worker? */
void flows_sweep(struct flows *f, bool (*knows)(void *worker, const struct steer_flow_key *key),
		 void *worker, uint64_t now_ns);

/* All of them: the worker that had them is dead. The number, or -errno. */
int flows_clear(int fd);

#endif
