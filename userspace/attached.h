/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * attached.h - which programs an interface has, and what keeps them there
 *
 * Place    steer.c before it attaches ours; `saker-ctl detach` before it removes what
 *          a crash left. Edge.
 * Model    An interface holds one native and one generic program; the one found first
 *          is told. A program stays there by a BPF link, which processes and pins
 *          hold, or by netlink alone, which nobody holds.
 *          At tc ingress there may be many. Ours is there by a link (tcx), or as a filter
 *          of clsact with a handle of its own, before the others; those are left alone.
 * Errors   0 or -errno, not reported here.
 */
#ifndef ATTACHED_H
#define ATTACHED_H

#include "base.h"

/* As the kernel shows it; of libxdp's dispatcher too. */
#define ATTACHED_OURS "saker_steer"
#define ATTACHED_OURS_TC "saker_tc"
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

/* For bpf_link_create, whose headers may be older: BPF_TCX_INGRESS, BPF_F_BEFORE. */
enum { ATTACHED_TCX = 46, ATTACHED_TCX_FIRST = 1 << 3 };

/* The program of ours at tcx; 0: none, or the kernel is older than 6.6. */
unsigned attached_tcx(unsigned ifindex);

/* The filter of ours at clsact: the program's id, 0: none. put: also in the place of one
 * that is there. remove: true if there was one; clsact goes with it where nobody else has a
 * filter there. */
unsigned attached_filter(unsigned ifindex);
int attached_filter_put(unsigned ifindex, int prog_fd);
bool attached_filter_remove(unsigned ifindex);

#endif
