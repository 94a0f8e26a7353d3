/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hook.h - where a test runs the program: at XDP, or at tc ingress with HOOK_TC
 *
 * Model    The tests are the same for both, and speak XDP's words. hook_xdp.h and
 *          hook_tc.h translate; each has
 *            hook_bpf, hook_bpf__*  the skeleton
 *            HOOK_PROGRAM           the program in it
 *            HOOK_TAKERS            the map of who takes a queue's frames
 *            HOOK_CONTEXT           a test run can say by which queue a frame comes, and
 *                                   which metadata it has already
 *            hook_prepare           NULL, or why nothing can be tested here
 *            hook_cut_min           to how many bytes a frame may be cut for a test run
 *            hook_taker             what goes into that map, for queue 0 or another
 *            hook_run               false: the kernel refused this test run
 */
#ifndef HOOK_H
#define HOOK_H

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include "abi.h"
#include "frame.h"

struct arrival {
	const uint8_t *frame;
	size_t length;
	uint32_t ifindex, queue; /* 0: queue 0 of loopback */
	uint32_t meta;           /* the first bytes of the frame are metadata of somebody else */
};

struct outcome {
	uint32_t verdict; /* XDP_REDIRECT: the responder has it */
	uint32_t counter; /* the only one that rose, by one, as xdp_seen did; else STATS_COUNT */
	uint32_t meta;    /* bytes of metadata that came with it */
	struct steer_meta stamp;
	bool intact;         /* and the frame as it was */
	uint64_t told, lost; /* by how much icmp_told and icmp_lost rose */
};

#ifdef HOOK_TC
#include "hook_tc.h"
#else
#include "hook_xdp.h"
#endif

#endif
