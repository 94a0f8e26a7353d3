/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * segment.h - is it TCP to our port, and whose
 *
 * Place    judge.h: the first thing that it does with a frame.
 * Model    Fills in struct segment, or names what the frame is instead.
 * Limits   No loop depends on the frame but the one over IPv6 extension
 *          headers, IP6_EXTENSIONS of them. Header lengths are checked, nothing
 *          more: user space validates what it gets.
 */
#ifndef SEGMENT_H
#define SEGMENT_H

#include <stdbool.h>
#include "cursor.h"
#include "frame.h"
#include "loop.h"
#include "told.h"

/* RFC 8200 4.1: each once, destination options twice; more than that is passed. */
enum { IP6_EXTENSIONS = 6 };

struct segment {
	struct bpf_sock_tuple tuple; /* source: the client */
	bool v6;                     /* which half of the union it is */
	__u32 local[4];              /* its destination, IPv4 as ::ffff:a.b.c.d */
	/* OURS, or why the responder would not take it: xdp_drop_options, _fragment */
	enum stats_index odd;
	__u8 flags;
};

/* --- the frame --------------------------------------------------------------- */

/* Bytes of the frame from `at` on. Only the part in fragments costs a call. */
static __always_inline bool frame_holds(struct frame_md *ctx, const void *at, __u32 length)
{
	__u64 offset = (__u64)(at - frame_begin(ctx));
	if (offset + length <= (__u64)(frame_end(ctx) - frame_begin(ctx)))
		return true;
	return offset + length <= frame_length(ctx);
}

/* Of a TCP header: a first fragment may end behind its ports. */
static __always_inline __u32 tcp_least(const struct segment *s)
{
	return s->odd == STATS_xdp_drop_fragment ? WIRE_QUOTE_LEN : WIRE_TCP_LEN;
}

static __always_inline enum stats_index segment_ip4(struct frame_md *ctx, struct cursor *c,
						    struct segment *s)
{
	const struct wire_ip4 *ip = cursor_ip4(c);
	if (!ip || ip->ver_ihl >> 4 != WIRE_IP4_VERSION || (ip->ver_ihl & 15) < WIRE_IP4_LEN / 4)
		return STATS_xdp_pass_short;
	if (ip->proto != WIRE_PROTO_TCP)
		return STATS_xdp_pass_proto;
	if (ip->frag_be & bpf_htons(WIRE_IP4_OFFSET))
		return STATS_xdp_pass_fragment;
	__u32 header = (ip->ver_ihl & 15) * 4;
	if (header > WIRE_IP4_LEN) {
		s->odd = STATS_xdp_drop_options;
		if (!cursor_take(c, header - WIRE_IP4_LEN))
			return STATS_xdp_pass_short;
	}
	if (ip->frag_be & bpf_htons(WIRE_IP4_MF))
		s->odd = STATS_xdp_drop_fragment;
	__u32 length = bpf_ntohs(ip->len_be);
	if (length < header + tcp_least(s) || !frame_holds(ctx, ip, length))
		return STATS_xdp_pass_short;
	s->local[2] = bpf_htonl(0xffff);
	__builtin_memcpy(&s->local[3], ip->dst, sizeof ip->dst);
	__builtin_memcpy(&s->tuple.ipv4.saddr, ip->src, sizeof ip->src);
	__builtin_memcpy(&s->tuple.ipv4.daddr, ip->dst, sizeof ip->dst);
	return OURS;
}

/* What stands between the IPv6 header and the TCP header. */
struct extensions {
	struct frame_md *ctx;
	__u32 at;  /* in the frame: the next one */
	__u8 next; /* what it is */
	/* OURS, or what is wrong with the frame; and what the responder would not take */
	enum stats_index why, odd;
};

/* The verifier walks a plain loop, and all that follows, once for each way through it: that took
 * 4 ms of each start. */
static long extension_next(__u32 i, struct extensions *x)
{
	struct wire_ip6_ext e;
	bool fragment = x->next == WIRE_IP6_FRAGMENT;

	(void)i;
	if (x->next != WIRE_IP6_HOP_BY_HOP && x->next != WIRE_IP6_ROUTING && !fragment &&
	    x->next != WIRE_IP6_DESTINATION)
		return 1;
	if (frame_load(x->ctx, x->at, &e, sizeof e)) {
		x->why = STATS_xdp_pass_short;
		return 1;
	}
	if (fragment && e.frag_be & bpf_htons(WIRE_IP6_OFFSET)) {
		x->why = STATS_xdp_pass_fragment;
		return 1;
	}
	if (fragment && e.frag_be & bpf_htons(WIRE_IP6_MORE))
		x->odd = STATS_xdp_drop_fragment;
	else if (x->odd == OURS)
		x->odd = STATS_xdp_drop_options;
	x->at += WIRE_IP6_EXT_LEN + (fragment ? 0 : e.len * WIRE_IP6_EXT_LEN);
	x->next = e.next;
	return 0;
}

static __always_inline enum stats_index skip_extensions(struct frame_md *ctx, struct cursor *c,
							__u8 next, struct segment *s)
{
	const __u32 zero = loop_zero();
	struct extensions x = {
		.ctx = ctx,
		.at = (__u32)cursor_at(c) + zero,
		.next = (__u8)(next + zero),
		.why = OURS + zero,
		.odd = s->odd + zero,
	};

	bpf_loop(IP6_EXTENSIONS, extension_next, &x, 0);
	s->odd = x.odd;
	if (x.why != OURS)
		return x.why;
	if (x.next != WIRE_PROTO_TCP)
		return STATS_xdp_pass_proto;
	return cursor_go(c, x.at) ? OURS : STATS_xdp_pass_short;
}

static __always_inline enum stats_index segment_ip6(struct frame_md *ctx, struct cursor *c,
						    struct segment *s)
{
	const struct wire_ip6 *ip = cursor_ip6(c);
	if (!ip || ip->ver_class >> 4 != WIRE_IP6_VERSION)
		return STATS_xdp_pass_short;
	s->v6 = true;
	__builtin_memcpy(s->local, ip->dst, sizeof ip->dst);
	__builtin_memcpy(s->tuple.ipv6.saddr, ip->src, sizeof ip->src);
	__builtin_memcpy(s->tuple.ipv6.daddr, s->local, sizeof ip->dst);
	if (ip->next != WIRE_PROTO_TCP) {
		enum stats_index why = skip_extensions(ctx, c, ip->next, s);
		if (why != OURS)
			return why;
	}
	__u32 length = bpf_ntohs(ip->len_be), taken = (__u32)(c->at - (void *)(ip + 1));
	if (length < taken + tcp_least(s) || !frame_holds(ctx, ip, WIRE_IP6_LEN + length))
		return STATS_xdp_pass_short;
	return OURS;
}

static __always_inline __u32 tcp_seq(const struct wire_tcp *tcp)
{
	__u32 seq;
	__builtin_memcpy(&seq, tcp->seq, sizeof seq);
	return bpf_ntohl(seq);
}

static __always_inline enum stats_index segment_tcp(struct cursor *c, struct segment *s)
{
	const struct wire_tcp *tcp = cursor_take(c, WIRE_QUOTE_LEN);
	if (!tcp)
		return STATS_xdp_pass_short;
	if (tcp->dst_be != conf.port_be)
		return STATS_xdp_pass_port;
	if (s->v6) {
		s->tuple.ipv6.sport = tcp->src_be;
		s->tuple.ipv6.dport = tcp->dst_be;
	} else {
		s->tuple.ipv4.sport = tcp->src_be;
		s->tuple.ipv4.dport = tcp->dst_be;
	}
	if (s->odd == STATS_xdp_drop_fragment)
		return OURS;
	if (!cursor_take(c, WIRE_TCP_LEN - WIRE_QUOTE_LEN))
		return STATS_xdp_pass_short;
	s->flags = tcp->flags;
	return OURS;
}

static __always_inline bool addr_served(const __u32 d[4])
{
	for (int i = 0; i < STEER_ADDRS_MAX && i < conf.addr_count; i++) {
		const volatile __u32 *a = (const volatile __u32 *)conf.addr[i];
		if (a[0] == d[0] && a[1] == d[1] && a[2] == d[2] && a[3] == d[3])
			return true;
	}
	return conf.addr_count == 0;
}

static __always_inline bool mac_ours(const struct wire_eth *eth)
{
	for (unsigned i = 0; i < sizeof eth->dst; i++)
		if (eth->dst[i] != conf.mac[i])
			return false;
	return true;
}

static __always_inline enum stats_index segment_parse(struct frame_md *ctx, struct segment *s)
{
	struct cursor c = cursor_open(ctx);
	__u16 type_be;
	const struct wire_eth *eth = cursor_link(&c, &type_be);
	if (!eth)
		return STATS_xdp_pass_short;

	enum stats_index why = STATS_xdp_pass_other;
	if (type_be == bpf_htons(WIRE_TYPE_IP4))
		why = segment_ip4(ctx, &c, s);
	else if (type_be == bpf_htons(WIRE_TYPE_IP6))
		why = segment_ip6(ctx, &c, s);
	if (why == OURS)
		why = segment_tcp(&c, s);
	if (why != OURS)
		return why;
	if (!addr_served(s->local))
		return STATS_xdp_pass_addr;
	if (!mac_ours(eth))
		return STATS_xdp_pass_mac;
	return OURS;
}

#endif
