/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * hint.h - what a SYN said that the kernel answers with a cookie
 *
 * Place    path.h: noted with the SYN, looked at with the first data.
 * Model    The kernel keeps nothing of the SYN but what its cookie holds, which
 *          no helper tells. So MSS, scale and SACK are noted here, each as far
 *          as the kernel takes it up: without timestamps it agrees to neither
 *          scaling nor SACK, since its cookie has no room for them.
 * Limits   SYN_HINTS; the oldest give way. A list of options has 40 bytes, a
 *          malformed one ends where it is wrong.
 */
#ifndef HINT_H
#define HINT_H

#include "flow.h"
#include "loop.h"

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, SYN_HINTS);
	__type(key, struct steer_flow_key);
	__type(value, struct syn_hint);
} syn_hints SEC(".maps");

enum { OPTIONS_MAX = 40, SCALE_MAX = 14 /* RFC 7323 2.3 */ };
enum { MSS_IP4 = 536, MSS_IP6 = 1220 }; /* RFC 9293 3.7.1 */

struct options {
	struct frame_md *ctx;
	__u32 at, end; /* in the frame: the next option, and behind the last */
	__u16 mss;
	__u8 scale;
	bool sack, timestamps;
};

static __always_inline void option_read(struct options *o, const __u8 kind_len[2])
{
	__u8 value[2];

	if (kind_len[0] == WIRE_OPT_SACK_OK && kind_len[1] == 2)
		o->sack = true;
	if (kind_len[0] == WIRE_OPT_TS && kind_len[1] == 10)
		o->timestamps = true;
	if (kind_len[0] == WIRE_OPT_MSS && kind_len[1] == 4 &&
	    !frame_load(o->ctx, o->at + 2, value, 2) && value[0] | value[1])
		o->mss = (__u16)(value[0] << 8 | value[1]);
	if (kind_len[0] == WIRE_OPT_WSCALE && kind_len[1] == 3 &&
	    !frame_load(o->ctx, o->at + 2, value, 1))
		o->scale = value[0] < SCALE_MAX ? value[0] : SCALE_MAX;
}

/* A plain loop over options is more than the verifier follows with clang 14. */
static long option_next(__u32 i, struct options *o)
{
	__u8 kind_len[2];

	(void)i;
	/* One byte alone is NOP or END, or malformed. */
	if (o->at + 2 > o->end || frame_load(o->ctx, o->at, kind_len, 2) ||
	    kind_len[0] == WIRE_OPT_END)
		return 1;
	if (kind_len[0] == WIRE_OPT_NOP) {
		o->at++;
		return 0;
	}
	if (kind_len[1] < 2 || o->at + kind_len[1] > o->end)
		return 1;
	option_read(o, kind_len);
	o->at += kind_len[1];
	return 0;
}

/* Of a SYN whose TCP header is at `at` in the frame. */
static __always_inline void hint_note(struct frame_md *ctx, const struct steer_flow_key *k,
				      const struct wire_tcp *tcp, __u32 at, bool v6, __u64 now)
{
	const __u32 zero = loop_zero();
	struct options o = { .ctx = ctx,
			     .at = at + WIRE_TCP_LEN + zero,
			     .end = at + (tcp->doff >> 4) * 4,
			     .mss = (__u16)((v6 ? MSS_IP6 : MSS_IP4) + zero),
			     .scale = (__u8)(STEER_NO_SCALE + zero),
			     .sack = zero,
			     .timestamps = zero };
	struct syn_hint h = { .seen_ns = now, .isn = tcp_seq(tcp), .scale = STEER_NO_SCALE };

	bpf_loop(OPTIONS_MAX, option_next, &o, 0);
	h.mss = o.mss;
	if (o.timestamps && conf.kernel_options & STEER_KERNEL_SCALE)
		h.scale = o.scale;
	if (o.timestamps && conf.kernel_options & STEER_KERNEL_SACK && o.sack)
		h.flags = STEER_META_SACK;
	bpf_map_update_elem(&syn_hints, k, &h, BPF_ANY);
}

#endif
