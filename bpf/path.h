/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * path.h - a port that is shared with the kernel's web server, path by path
 *
 * Place    judge.h, in place of the rest of its judgement, with --steer=path.
 * Model    The kernel answers SYNs, with a cookie (net.ipv4.tcp_syncookies=2), and
 *          keeps nothing. XDP notes what they said, drops the ACK that would
 *          complete the handshake, and lets the first data decide: by its request
 *          line the connection is the worker's, which adopts it from that segment,
 *          or the kernel's, which completes the handshake from the same segment.
 *          Nobody has to undo anything, and no connection moves.
 *
 *          In this order:
 *            responder away     flows of ours: as in port mode. All others: pass
 *            odd                of a flow: drop. Else pass: the kernel's, for good
 *            SYN                of a flow: the worker (RFC 5961 4). Else note, pass
 *            (a) of a flow      the worker
 *            (b) of a socket    the kernel has it, and it does not listen: pass
 *            (c) cookie valid   no data: drop, but a FIN passes. Data: by its line
 *            (d) SYN < early_ns drop: it overtook the first segment
 *            (e) else           pass: the kernel resets
 *
 *          A flow that is closing is as good as none for a SYN and for what has a
 *          valid cookie, unless that is the flow's own first segment.
 *
 *          What happens then:
 *            two segments of a request, second first: (d) drops it, it comes again
 *              behind the first. First lost: the same, until it comes
 *            first too short to tell: ours; the worker answers 421 where it is not
 *            a path that begins like ours (/computer): the kernel's
 *            HEAD, POST, any method, Expect: as GET; absolute-form: by its path
 *            TLS, HTTP/2's preface, an empty line in front: the kernel's
 *            first sent again: of a flow of ours with the flag ADOPT again, since it
 *              may have been lost on the way; the kernel's finds its socket (b), or
 *              decides again
 *            handshake's ACK sent again, or a keepalive probe before any data (one
 *              sequence below, 0 or 1 byte): dropped, while the hint is there and
 *              the cookie valid. Then (e): reset
 *            client that never sends: nobody knows of it. One that sends after the
 *              cookie's two minutes: (e), reset
 *            FIN first: the kernel's, which answers as it does a client that only
 *              closes. Data and FIN in one: by its line
 *            RST: of a flow: the worker; else pass
 *            hint lost: ours all the same, with mss 0. A probe then: (e)
 *            flow map full: the kernel's, counted
 *            connection from before the attach: (b)
 *            port used again right after close: closing flow, see above
 *            nobody listens: the kernel resets the SYN itself
 * Limits   IPv4 and IPv6, one tag. What is not plain, at the start of a connection
 *          or later, is the kernel's, or dropped if the flow is ours.
 */
#ifndef PATH_H
#define PATH_H

#include "cookie.h"
#include "frame.h"
#include "hint.h"
#include "kernel.h"
#include "line.h"

enum { COOKIE_MSSES = 4 };

struct path {
	struct steer_flow_key key;
	struct steer_flow flow;
	__u64 now;
	__u32 seq;
	__u32 data, len; /* its data in the frame */
	struct wire_tcp tcp;
};

/* The plain segment once more; false: its header is longer than it is. */
static __always_inline bool path_read(struct frame_md *ctx, struct path *p, __u32 *tcp_at)
{
	struct cursor c = cursor_open(ctx);
	const struct wire_ip4 *ip4 = 0;
	const struct wire_ip6 *ip6 = 0;
	__u32 length;
	__u16 type_be;

	if (!cursor_link(&c, &type_be))
		return false;
	if (type_be == bpf_htons(WIRE_TYPE_IP4)) {
		if (!(ip4 = cursor_ip4(&c)))
			return false;
		length = bpf_ntohs(ip4->len_be) - WIRE_IP4_LEN;
	} else {
		if (!(ip6 = cursor_ip6(&c)))
			return false;
		length = bpf_ntohs(ip6->len_be);
	}
	const struct wire_tcp *tcp = cursor_take(&c, sizeof *tcp);
	if (!tcp)
		return false;
	*tcp_at = (__u32)((void *)tcp - frame_begin(ctx));
	__u32 header = (tcp->doff >> 4) * 4;
	p->tcp = *tcp;
	p->seq = tcp_seq(tcp);
	p->data = *tcp_at + header;
	p->len = length - header;
	return header >= WIRE_TCP_LEN && header <= length;
}

static __always_inline enum stats_index path_hand(struct frame_md *ctx, const struct path *p)
{
	bool early = p->now - p->flow.since_ns < conf.early_ns;
	struct steer_meta meta = { .stamp_ns = p->now, .flags = early ? STEER_META_EARLY : 0 };
	return frame_taker(ctx) ? frame_give(ctx, meta, false) : STATS_xdp_pass_queue;
}

/* The first data of a connection that shall be ours, with what its SYN said. */
static __always_inline enum stats_index path_adopt(struct frame_md *ctx, const struct path *p)
{
	const struct syn_hint *hint = bpf_map_lookup_elem(&syn_hints, &p->key);
	struct steer_meta meta = { .stamp_ns = p->now,
				   .scale = STEER_NO_SCALE,
				   .flags = STEER_META_ADOPT | STEER_META_EARLY };
	struct steer_flow flow = { .since_ns = p->now,
				   .state = FLOW_ours,
				   .queue = (__u16)frame_queue(ctx),
				   .first_seq = p->seq };

	if (hint && hint->isn + 1 == p->seq) {
		meta.mss = hint->mss;
		meta.scale = hint->scale;
		meta.flags |= hint->flags;
	}
	if (!frame_taker(ctx))
		return STATS_xdp_pass_queue;
	if (p->flow.state != FLOW_ours && bpf_map_update_elem(&flows, &p->key, &flow, BPF_ANY))
		return STATS_xdp_pass_flows;
	enum stats_index why = frame_give(ctx, meta, true);
	if (why == STATS_xdp_pass_meta)
		bpf_map_delete_elem(&flows, &p->key);
	return why;
}

/* It acknowledges the kernel's cookie and begins where the SYN ends. */
static __always_inline enum stats_index path_first(struct frame_md *ctx, const struct path *p)
{
	enum stats_index why = STATS_xdp_pass_fin;
	if (!p->len && !(p->tcp.flags & WIRE_FIN))
		return STATS_xdp_drop_handshake;
	if (p->len) {
		/* Once ours, always: sent again it may be cut differently. */
		if (p->flow.state == FLOW_ours || line_owner(ctx, p->data, p->len) != LINE_kernel)
			return path_adopt(ctx, p);
		why = STATS_xdp_pass_request;
	}
	if (p->flow.state != FLOW_none)
		bpf_map_delete_elem(&flows, &p->key);
	return why;
}

/* The kernel's check finds the client's ISN and the MSS's number, 0 to 3, in one sum: a
 * segment that begins a little off may pass it with another MSS. The hint knows better. */
static __always_inline bool path_near(const struct path *p, const struct syn_hint *hint)
{
	__s32 off = hint ? (__s32)(p->seq - hint->isn - 1) : 0;
	return off && off > -COOKIE_MSSES && off < COOKIE_MSSES;
}

/* A keepalive probe of a client that has not sent anything: one below the first byte. */
static __always_inline bool path_probe(const struct segment *s, struct path *p,
				       struct bpf_sock *listener, const struct syn_hint *hint)
{
	if (!hint || p->seq != hint->isn || p->len > 1)
		return false;
	__u32 first = bpf_htonl(hint->isn + 1);
	__builtin_memcpy(p->tcp.seq, &first, sizeof first);
	return cookie_valid(s, listener, &p->tcp);
}

enum path_kind { PATH_kernel, PATH_nobody, PATH_first, PATH_probe, PATH_early, PATH_stranger };

/* What the segment is to the kernel, and by the SYN that was noted. A function of its
 * own: what it knows is forgotten behind it, else the program takes three times as long
 * to load. */
static __noinline enum path_kind path_kind(struct frame_md *ctx, struct segment *s, struct path *p)
{
	struct bpf_sock *sk = kernel_socket(ctx, s);
	if (!sk)
		return PATH_nobody;
	if (sk->state != BPF_TCP_LISTEN) {
		bpf_sk_release(sk);
		return PATH_kernel;
	}
	const struct syn_hint *hint = bpf_map_lookup_elem(&syn_hints, &p->key);
	bool first = !path_near(p, hint) && cookie_valid(s, sk, &p->tcp);
	bool probe = !first && path_probe(s, p, sk, hint);
	bpf_sk_release(sk);
	if (first)
		return PATH_first;
	if (probe)
		return PATH_probe;
	if (hint && p->now - hint->seen_ns < conf.early_ns && !(s->flags & WIRE_RST))
		return PATH_early;
	return PATH_stranger;
}

/* Not of a flow, or perhaps the first segment of one. */
static __always_inline enum stats_index path_new(struct frame_md *ctx, struct segment *s,
						 struct path *p)
{
	enum path_kind kind = path_kind(ctx, s, p);
	if (kind == PATH_kernel)
		return STATS_xdp_pass_kernel;
	if (kind == PATH_first)
		return path_first(ctx, p);
	if (p->flow.state != FLOW_none)
		return path_hand(ctx, p);
	if (kind == PATH_probe)
		return STATS_xdp_drop_handshake;
	return kind == PATH_early ? STATS_xdp_drop_early : STATS_xdp_pass_stranger;
}

/* Of the port's segments; since, passed: as for fall_through, passed is OURS while the
 * responder is there. A function of its own, so that it costs port mode no register. */
static __noinline enum stats_index path_judge(struct frame_md *ctx, struct segment *s, __u64 now,
					      __u64 since, enum stats_index passed)
{
	struct path p;
	__u32 tcp_at;

	flow_key(&p.key, s);
	p.flow = flow_find(&p.key);
	p.now = now;
	bool known = p.flow.state != FLOW_none;
	bool syn = (s->flags & (WIRE_SYN | WIRE_ACK)) == WIRE_SYN;
	if (passed != OURS)
		return known ? fall_through(ctx, s, now, since, passed) : passed;
	if (s->odd != OURS)
		return known ? s->odd : STATS_xdp_pass_odd;
	if (!path_read(ctx, &p, &tcp_at))
		return known ? path_hand(ctx, &p) : STATS_xdp_pass_stranger;
	if (syn && p.flow.state != FLOW_ours) {
		hint_note(ctx, &p.key, &p.tcp, tcp_at, s->v6, now);
		return STATS_xdp_pass_syn;
	}
	bool first = p.seq == p.flow.first_seq;
	if (p.flow.state == FLOW_ours ? syn || !first : known && first)
		return path_hand(ctx, &p);
	return path_new(ctx, s, &p);
}

#endif
