/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * frame_xdp.h - a frame as XDP has it, and the AF_XDP socket of its queue
 *
 * Place    frame.h, for steer.bpf.c.
 * Errors   A queue may have no socket: then the kernel gets the frame. A driver may have
 *          no room for metadata: then the frame goes without, if it can.
 */
#ifndef FRAME_XDP_H
#define FRAME_XDP_H

#include "told.h"

#define frame_md xdp_md

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, QUEUES_MAX);
	__type(key, __u32);
	__type(value, __u32);
} xsks_map SEC(".maps");

static __always_inline void *frame_begin(const struct xdp_md *ctx)
{
	return (void *)(long)ctx->data;
}

static __always_inline void *frame_end(const struct xdp_md *ctx)
{
	return (void *)(long)ctx->data_end;
}

static __always_inline __u64 frame_length(struct xdp_md *ctx)
{
	return bpf_xdp_get_buff_len(ctx);
}

static __always_inline long frame_load(struct xdp_md *ctx, __u32 at, void *to, __u32 length)
{
	return bpf_xdp_load_bytes(ctx, at, to, length);
}

static __always_inline __u32 frame_queue(const struct xdp_md *ctx)
{
	return ctx->rx_queue_index;
}

/* The card leaves it in the frame: the responder sees to that (settings.h). */
static __always_inline __u16 frame_tag(const struct xdp_md *ctx)
{
	(void)ctx;
	return 0;
}

static __always_inline bool frame_taker(struct xdp_md *ctx)
{
	return bpf_redirect_map(&xsks_map, ctx->rx_queue_index, XDP_PASS) == XDP_REDIRECT;
}

/* After bpf_redirect_map, which only notes the target: so a frame that the
 * kernel keeps never carries metadata, which would keep it out of GRO. */
static __always_inline enum stats_index frame_give(struct xdp_md *ctx, struct steer_meta meta,
						   bool whole)
{
	const enum stats_index without = whole ? STATS_xdp_pass_meta : OURS;
	if (bpf_xdp_adjust_meta(ctx, -(int)sizeof meta))
		return without;
	struct steer_meta *to = (void *)(long)ctx->data_meta;
	if ((void *)(to + 1) > (void *)(long)ctx->data)
		return without;
	*to = meta;
	return OURS;
}

#endif
