/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * flows.h - what an I/O thread says of its connections to the XDP program
 *
 * Place    iothread, with --steer=path, for what the worker noted in a turn. The XDP
 *          program adds flows (bpf/flow.h).
 * Model    closing: a SYN of the same ports counts as new from now on.
 *          gone: the worker knows nothing of it any more.
 *          XDP may have made the same ports a flow of the next connection
 *          meanwhile; that one is left alone, as its first segment is younger than
 *          the note. Between the look and the deletion lies a microsecond; a new
 *          connection takes a handshake.
 * Threads  Each thread says it of its own flows.
 * Owner    fd is of the map; an open descriptor is all that it takes, no
 *          capability (Linux 5.19: unprivileged_bpf_disabled stops only what makes
 *          new objects).
 * Errors   What is not there is done. Others are -errno, and cannot be mended.
 */
#ifndef FLOWS_H
#define FLOWS_H

#include "abi.h"
#include "base.h"

int flows_closing(int fd, const struct steer_flow_key *key, uint64_t noted_ns);
int flows_gone(int fd, const struct steer_flow_key *key, uint64_t noted_ns);

/* All of them: the worker that had them is dead. The number, or -errno. */
int flows_clear(int fd);

#endif
