/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * redirect.h - a frame to the AF_XDP socket of its queue
 *
 * Place    The last thing that happens to a frame of ours.
 * Errors   A queue may have no socket: then the kernel gets the frame.
 */
#ifndef REDIRECT_H
#define REDIRECT_H

#include "told.h"

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, QUEUES_MAX);
	__type(key, __u32);
	__type(value, __u32);
} xsks_map SEC(".maps");

/* After bpf_redirect_map, which only notes the target: so a frame that the
 * kernel keeps never carries metadata, which would keep it out of GRO. Not
 * every driver has room for it: then the frame goes without, and false. */
static __always_inline bool stamp(struct xdp_md *ctx, struct steer_meta meta)
{
	if (bpf_xdp_adjust_meta(ctx, -(int)sizeof meta))
		return false;
	struct steer_meta *to = (void *)(long)ctx->data_meta;
	if ((void *)(to + 1) > (void *)(long)ctx->data)
		return false;
	*to = meta;
	return true;
}

#endif
