// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * steer.bpf.c - the XDP program: rungs xdp-native and xdp-generic
 *
 * Place    XDP on the interface; AF_XDP sockets of the responder behind it.
 * Model    judge.h.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>
#include "judge.h"

SEC("xdp.frags")
int saker_steer(struct xdp_md *ctx)
{
	enum stats_index why = judge_frame(ctx);
	if (why == OURS)
		return XDP_REDIRECT;
	return judge_drops(why) ? XDP_DROP : XDP_PASS;
}

char license_text[] SEC("license") = "Dual BSD/GPL";
