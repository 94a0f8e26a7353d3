// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * steer_tc.bpf.c - the tc program: rung packet
 *
 * Place    tc ingress of the interface, for kernels without AF_XDP; ring buffers behind it.
 * Model    judge.h, as in XDP, and the same maps but for the one that frames leave by.
 *          It stands behind packet sockets: tcpdump sees what the responder gets. What is
 *          consumed is SHOT, not STOLEN, which a tcx link takes for "go on"; so whoever
 *          watches drops (dropwatch) sees all frames of ours.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>
#define FRAME_SKB
#include "judge.h"

SEC("tc")
int saker_tc(struct __sk_buff *ctx)
{
	frame_pull(ctx);
	enum stats_index why = judge_frame(ctx);
	return why == OURS || judge_drops(why) ? TC_ACT_SHOT : TC_ACT_UNSPEC;
}

char license_text[] SEC("license") = "Dual BSD/GPL";
