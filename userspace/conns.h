/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * conns.h - the list of connections that others may read
 *
 * Place    The I/O thread keeps its part of the map `conns` up to date, in
 *          house-keeping; saker-stat conns reads it. Pure.
 * Model    A hand goes round over the slots that were ever in use, a few a call;
 *          an entry is written anew when its connection is open, and once when
 *          it has ended. What is shown is as old as a round takes, at most:
 *          CONNS_SHOWN slots each 50 ms.
 * Owner    The entries are the map's; nothing here is read back but state.
 * Threads  One writer, any readers, who find out by seq what was whole:
 *
 *            writer                                reader
 *            store seq, odd                        copy 1: seq
 *            fence            (release, A)         fence (seq_cst, B)
 *            store the rest                        copy 2: all
 *            store seq, even  (release, B)         fence (seq_cst, A)
 *                                                  copy 3: seq
 *
 *          Copy 2 is whole when all three have the same even seq: it was made
 *          after what is written before B, and before what is written behind A.
 */
#ifndef CONNS_H
#define CONNS_H

#include "abi.h"
#include "base.h"
#include "worker.h"

struct conns {
	struct conn_entry *entry; /* by the worker's ids; NULL: nobody looks */
	uint16_t port;            /* ours, which a worker does not know of sockets */
	uint16_t hand;            /* the id that is next */
};

void conns_publish(struct conns *c, const struct worker *w, uint64_t now_ns);

#endif
