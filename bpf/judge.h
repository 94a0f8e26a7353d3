/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * judge.h - which frames the responder gets, and which the kernel keeps
 *
 * Place    steer.bpf.c and steer_tc.bpf.c: all that they do with a frame but the verdict.
 * Model    An allow-list. The responder gets a frame only when it is TCP to our
 *          port, our MAC and a served address, whole and plain, and the
 *          responder is up. The judgement is the name of a counter; the
 *          verdict follows from it. Everything else goes to the kernel, but
 *          for segments to our port that the kernel would answer with RST: of
 *          connections that it does not have, so they may be ours.
 * Threads  One block of counters a CPU; neither hook migrates while it runs.
 * Units    ns of CLOCK_MONOTONIC.
 */
#ifndef JUDGE_H
#define JUDGE_H

#include "frame.h"
#include "guard.h"
#include "icmp.h"
#include "kernel.h"
#include "maps.h"
#include "path.h"
#include "segment.h"

static __always_inline enum stats_index judge(struct frame_md *ctx)
{
	struct segment s = { .odd = OURS };
	enum stats_index why = segment_parse(ctx, &s);
	if (why != OURS)
		return why;
	struct sender from = { .tuple = &s.tuple, .v6 = s.v6 };
	why = guard_admit(&from, s.flags, conf.io_threads);
	if (why != OURS)
		return why;

	__u32 key = 0;
	const volatile struct steer_live *l = bpf_map_lookup_elem(&live, &key);
	if (!l)
		return STATS_xdp_pass_unready;
	__u64 heartbeat = heartbeat_of(l, frame_queue(ctx));
	__u64 now = bpf_ktime_get_ns(), since;
	why = away(l, heartbeat, now, &since);
	if (conf.steer == STEER_path) {
		why = path_judge(ctx, &s, now, since, why);
		return why == OURS ? guard_take(&from, now) : why;
	}
	if (why != OURS)
		return fall_through(ctx, &s, now, since, why);
	/* A SYN too: on a connection that the kernel has, only the kernel can
	 * answer it (RFC 5961 4, RFC 6191), and what follows would go there. */
	if ((s.odd != OURS || heartbeat & STEER_KERNEL_FLOWS) && kernel_owns(ctx, &s))
		return STATS_xdp_pass_kernel;
	/* The responder takes plain segments only, and the kernel has a listener on
	 * the port, which would answer with RST and end a connection of ours. */
	if (s.odd != OURS)
		return s.odd;

	why = guard_take(&from, now);
	if (why != OURS)
		return why;
	if (!frame_taker(ctx))
		return STATS_xdp_pass_queue;
	return frame_give(ctx, (struct steer_meta){ .stamp_ns = now }, false);
}

/* A router's word about a segment of ours goes to I/O thread 0 too. Nobody is
 * woken: the thread looks each turn. */
static __always_inline void tell_icmp(struct frame_md *ctx, struct stats_block *block)
{
	struct cursor c = cursor_open(ctx);
	struct icmp_event e = {};
	__u16 type_be;
	const struct wire_eth *eth = cursor_link(&c, &type_be);
	if (!eth || !mac_ours(eth) || !icmp_read(&c, type_be, &e))
		return;
	if (e.local_port != conf.port || !addr_served((const __u32 *)e.local))
		return;
	if (bpf_ringbuf_output(&icmp_ring, &e, sizeof e, BPF_RB_NO_WAKEUP))
		block->icmp_lost++;
	else
		block->icmp_told++;
}

/* Counted; OURS: the responder has it. */
static __always_inline enum stats_index judge_frame(struct frame_md *ctx)
{
	enum stats_index why = judge(ctx);
	__u32 key = conf.cpu_block + bpf_get_smp_processor_id();
	struct stats_block *block = bpf_map_lookup_elem(&counters, &key);
	if (block && why < STATS_COUNT) {
		block->xdp_seen++;
		((__u64 *)block)[why]++;
		if (why == STATS_xdp_pass_proto)
			tell_icmp(ctx, block);
	}
	return why;
}

/* What neither the responder nor the kernel gets. */
static __always_inline bool judge_drops(enum stats_index why)
{
	switch (why) {
	case STATS_xdp_drop_stray:
	case STATS_xdp_drop_options:
	case STATS_xdp_drop_fragment:
	case STATS_xdp_drop_denied:
	case STATS_xdp_drop_syn_rate:
	case STATS_xdp_drop_conns:
	case STATS_xdp_drop_frame_rate:
	case STATS_xdp_drop_handshake:
	case STATS_xdp_drop_early:
	case STATS_xdp_drop_ring:
	case STATS_xdp_drop_large:
		return true;
	default:
		return false;
	}
}

#endif
