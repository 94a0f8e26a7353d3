/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kernel.h - what the kernel keeps, and what it gets while the responder is away
 *
 * Place    judge.h and path.h.
 * Model    The responder is there while it is ready and its heartbeat is fresh.
 *          Then the kernel keeps its own connections; else it gets new ones too.
 */
#ifndef KERNEL_H
#define KERNEL_H

#include "segment.h"

/* What the kernel would give the segment to; NULL, or to be released. */
static __always_inline struct bpf_sock *kernel_socket(struct frame_md *ctx, struct segment *s)
{
	__u32 size = s->v6 ? sizeof s->tuple.ipv6 : sizeof s->tuple.ipv4;
	return bpf_skc_lookup_tcp(ctx, &s->tuple, size, BPF_F_CURRENT_NETNS, 0);
}

/* A connection of the kernel's own, in whatever state: half-open and
 * TIME-WAIT records are found too. A listener alone owns nothing. */
static __always_inline bool kernel_owns(struct frame_md *ctx, struct segment *s)
{
	struct bpf_sock *sk = kernel_socket(ctx, s);
	if (!sk)
		return false;
	bool listens = sk->state == BPF_TCP_LISTEN;
	bpf_sk_release(sk);
	return !listens;
}

/* The responder has been away since `since` (0: it never was there). A new
 * connection is the kernel's from now on. A segment of a connection of ours
 * would be answered with RST by the kernel, so for a while it is dropped: the
 * client sends it again, by then we may be back. */
static __always_inline enum stats_index fall_through(struct frame_md *ctx, struct segment *s,
						     __u64 now, __u64 since,
						     enum stats_index passed)
{
	if ((s->flags & (WIRE_SYN | WIRE_ACK)) == WIRE_SYN)
		return passed;
	if (since == 0 || (__s64)(now - since) >= (__s64)conf.grace_ns)
		return passed;
	return kernel_owns(ctx, s) ? passed : STATS_xdp_drop_stray;
}

/* Of the thread that has the frame's queue. One thread costs no division: conf is
 * frozen, so the verifier drops the branch. It does not follow a remainder: hence
 * the mask. */
static __always_inline __u64 heartbeat_of(const volatile struct steer_live *l, __u32 queue)
{
	__u32 thread = 0;
	if (conf.io_threads > 1)
		thread = queue % conf.io_threads & (IO_THREADS_MAX - 1);
	return l->io[thread].heartbeat_ns;
}
_Static_assert((IO_THREADS_MAX & (IO_THREADS_MAX - 1)) == 0, "the mask keeps every thread");

/* STATS_xdp_pass_* why the responder is away, and since when; OURS: it is there. */
static __always_inline enum stats_index away(const volatile struct steer_live *l, __u64 heartbeat,
					     __u64 now, __u64 *since)
{
	*since = heartbeat;
	if (!l->ready)
		return STATS_xdp_pass_unready;
	*since += conf.stall_ns;
	/* Signed: a heartbeat written on another CPU may be later than our now. */
	return (__s64)(now - heartbeat) > (__s64)conf.stall_ns ? STATS_xdp_pass_stalled : OURS;
}

#endif
