/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * attached.h - which XDP program an interface has, and what keeps it there
 *
 * Place    steer.c before it attaches ours; `saker-ctl detach` before it removes what
 *          a crash left. Edge.
 * Model    An interface holds one native and one generic program; the one found first
 *          is told. A program stays there by a BPF link, which processes and pins
 *          hold, or by netlink alone, which nobody holds.
 * Errors   0 or -errno, not reported here.
 */
#ifndef ATTACHED_H
#define ATTACHED_H

#include "base.h"

/* As the kernel shows it; of libxdp's dispatcher too. */
#define ATTACHED_OURS "saker_steer"
#define ATTACHED_DISPATCHER "xdp_dispatcher"

struct attached {
	unsigned prog_id; /* 0: there is none */
	char name[16];
	const char *word; /* for `ip link set dev IFACE WORD off`: plain `xdp` takes the mode
			   * that the driver would choose, not the one that is in use */
	unsigned flags;   /* XDP_FLAGS_*_MODE: the same for netlink */
	unsigned link_id; /* 0: netlink did it */
};

int attached_ask(struct attached *out, unsigned ifindex);

/* A process that holds a descriptor of the link; 0: none that we can see. */
unsigned attached_holder(unsigned link_id);

/* Take it off, whoever holds it. */
int attached_remove(const struct attached *a, unsigned ifindex);

#endif
