// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * steer.bpf.c - which frames the responder gets, and which the kernel keeps
 *
 * Place    XDP on the interface; AF_XDP sockets of the responder behind it.
 * Model    An allow-list. A frame is redirected only when it is TCP to our
 *          port, our MAC and a served address, whole and plain, and the
 *          responder is up. The judgement is the name of a counter; the
 *          verdict follows from it. Everything else goes to the kernel.
 * Threads  One block of counters a CPU; XDP does not migrate while it runs.
 * Limits   No loop depends on the frame. Header lengths are checked, nothing
 *          more: user space validates what it gets.
 * Units    ns of CLOCK_MONOTONIC.
 */
#include <stdbool.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>
#include "abi.h"
#include "cursor.h"

/* --- maps: the table in abi.h --------------------------------------------- */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct steer_config);
} config SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct steer_live);
} live SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct mode);
} mode SEC(".maps");

/* The loader cuts this down to the CPUs that the machine can have. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, ABI_THREADS + ABI_CPUS_MAX);
	__type(key, __u32);
	__type(value, struct stats_block);
} counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, ABI_THREADS);
	__type(key, __u32);
	__type(value, struct stage_block);
} stages SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct summary);
} summary SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, QUEUES_MAX);
	__type(key, __u32);
	__type(value, __u32);
} xsks_map SEC(".maps");

/* Set before load and then frozen, so the verifier folds it into the code. */
const volatile struct steer_config conf;

/* What a function says that found nothing against a frame. */
enum { OURS = STATS_xdp_redirected };

struct segment {
	struct bpf_sock_tuple tuple; /* source: the client */
	__u32 tuple_size;            /* which half of the union it is */
	__u8 flags;
};

/* --- the frame --------------------------------------------------------------- */

/* Bytes of the frame from `at` on. Only the part in fragments costs a call. */
static __always_inline bool frame_holds(struct xdp_md *ctx, const void *at, __u32 length)
{
	__u64 offset = (__u64)at - (__u64)ctx->data;
	if (offset + length <= (__u64)ctx->data_end - (__u64)ctx->data)
		return true;
	return offset + length <= bpf_xdp_get_buff_len(ctx);
}

static __always_inline enum stats_index segment_ip4(struct xdp_md *ctx, struct cursor *c,
						    struct segment *s)
{
	const struct wire_ip4 *ip = cursor_ip4(c);
	if (!ip || ip->ver_ihl >> 4 != WIRE_IP4_VERSION || (ip->ver_ihl & 15) < WIRE_IP4_LEN / 4)
		return STATS_xdp_pass_short;
	if (ip->proto != WIRE_PROTO_TCP)
		return STATS_xdp_pass_proto;
	if (ip->frag_be & bpf_htons(WIRE_IP4_MF | WIRE_IP4_OFFSET))
		return STATS_xdp_pass_fragment;
	if ((ip->ver_ihl & 15) != WIRE_IP4_LEN / 4)
		return STATS_xdp_pass_options;
	__u32 length = bpf_ntohs(ip->len_be);
	if (length < WIRE_IP4_LEN + WIRE_TCP_LEN || !frame_holds(ctx, ip, length))
		return STATS_xdp_pass_short;
	__builtin_memcpy(&s->tuple.ipv4.saddr, ip->src, sizeof ip->src);
	__builtin_memcpy(&s->tuple.ipv4.daddr, ip->dst, sizeof ip->dst);
	s->tuple_size = sizeof s->tuple.ipv4;
	return OURS;
}

static __always_inline enum stats_index segment_ip6(struct xdp_md *ctx, struct cursor *c,
						    struct segment *s)
{
	const struct wire_ip6 *ip = cursor_ip6(c);
	if (!ip || ip->ver_class >> 4 != WIRE_IP6_VERSION)
		return STATS_xdp_pass_short;
	if (ip->next != WIRE_PROTO_TCP)
		return STATS_xdp_pass_proto;
	__u32 length = bpf_ntohs(ip->len_be);
	if (length < WIRE_TCP_LEN || !frame_holds(ctx, ip, WIRE_IP6_LEN + length))
		return STATS_xdp_pass_short;
	__builtin_memcpy(s->tuple.ipv6.saddr, ip->src, sizeof ip->src);
	__builtin_memcpy(s->tuple.ipv6.daddr, ip->dst, sizeof ip->dst);
	s->tuple_size = sizeof s->tuple.ipv6;
	return OURS;
}

static __always_inline void segment_tcp(const struct wire_tcp *tcp, struct segment *s)
{
	if (s->tuple_size == sizeof s->tuple.ipv4) {
		s->tuple.ipv4.sport = tcp->src_be;
		s->tuple.ipv4.dport = tcp->dst_be;
	} else {
		s->tuple.ipv6.sport = tcp->src_be;
		s->tuple.ipv6.dport = tcp->dst_be;
	}
	s->flags = tcp->flags;
}

static __always_inline bool addr_served(const struct segment *s)
{
	for (int i = 0; i < STEER_ADDRS_MAX && i < conf.addr_count; i++) {
		const volatile __u32 *a = (const volatile __u32 *)conf.addr[i];
		const __u32 *d = s->tuple.ipv6.daddr;
		if (s->tuple_size == sizeof s->tuple.ipv6) {
			if (a[0] == d[0] && a[1] == d[1] && a[2] == d[2] && a[3] == d[3])
				return true;
		} else if (!a[0] && !a[1] && a[2] == bpf_htonl(0xffff) &&
			   a[3] == s->tuple.ipv4.daddr) {
			return true;
		}
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

static __always_inline enum stats_index segment_parse(struct xdp_md *ctx, struct segment *s)
{
	struct cursor c = cursor_open(ctx);
	const struct wire_eth *eth = cursor_eth(&c);
	if (!eth)
		return STATS_xdp_pass_short;

	__u16 type_be = eth->type_be;
	if (type_be == bpf_htons(WIRE_TYPE_VLAN)) {
		const struct wire_vlan *tag = cursor_vlan(&c);
		if (!tag)
			return STATS_xdp_pass_short;
		type_be = tag->type_be;
	}

	enum stats_index why = STATS_xdp_pass_other;
	if (type_be == bpf_htons(WIRE_TYPE_IP4))
		why = segment_ip4(ctx, &c, s);
	else if (type_be == bpf_htons(WIRE_TYPE_IP6))
		why = segment_ip6(ctx, &c, s);
	if (why != OURS)
		return why;

	const struct wire_tcp *tcp = cursor_tcp(&c);
	if (!tcp)
		return STATS_xdp_pass_short;
	if (tcp->dst_be != conf.port_be)
		return STATS_xdp_pass_port;
	segment_tcp(tcp, s);
	if (!addr_served(s))
		return STATS_xdp_pass_addr;
	if (!mac_ours(eth))
		return STATS_xdp_pass_mac;
	return OURS;
}

/* --- the responder and the kernel ------------------------------------------- */

/* A connection of the kernel's own, in whatever state: half-open and
 * TIME-WAIT records are found too. A listener alone owns nothing. */
static __always_inline bool kernel_owns(struct xdp_md *ctx, struct segment *s)
{
	struct bpf_sock *sk = bpf_skc_lookup_tcp(ctx, &s->tuple, s->tuple_size, BPF_F_CURRENT_NETNS,
						 0);
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
static __always_inline enum stats_index fall_through(struct xdp_md *ctx, struct segment *s,
						     __u64 now, __u64 since,
						     enum stats_index passed)
{
	if ((s->flags & (WIRE_SYN | WIRE_ACK)) == WIRE_SYN)
		return passed;
	if (since == 0 || (__s64)(now - since) >= (__s64)conf.grace_ns)
		return passed;
	return kernel_owns(ctx, s) ? passed : STATS_xdp_drop_stray;
}

/* After bpf_redirect_map, which only notes the target: so a frame that the
 * kernel keeps never carries metadata, which would keep it out of GRO. Not
 * every driver has room for it: then the frame goes without. */
static __always_inline void stamp(struct xdp_md *ctx, __u64 now)
{
	if (bpf_xdp_adjust_meta(ctx, -(int)sizeof(struct steer_meta)))
		return;
	struct steer_meta *meta = (void *)(long)ctx->data_meta;
	if ((void *)(meta + 1) <= (void *)(long)ctx->data)
		meta->stamp_ns = now;
}

static __always_inline enum stats_index judge(struct xdp_md *ctx)
{
	struct segment s = {};
	enum stats_index why = segment_parse(ctx, &s);
	if (why != OURS)
		return why;

	__u32 key = 0;
	const volatile struct steer_live *l = bpf_map_lookup_elem(&live, &key);
	if (!l)
		return STATS_xdp_pass_unready;
	__u64 heartbeat = l->heartbeat_ns;
	__u64 now = bpf_ktime_get_ns();
	if (!l->ready)
		return fall_through(ctx, &s, now, heartbeat, STATS_xdp_pass_unready);
	/* Signed: a heartbeat written on another CPU may be later than our now. */
	if ((__s64)(now - heartbeat) > (__s64)conf.stall_ns)
		return fall_through(ctx, &s, now, heartbeat + conf.stall_ns,
				    STATS_xdp_pass_stalled);
	/* A SYN too: on a connection that the kernel has, only the kernel can
	 * answer it (RFC 5961 4, RFC 6191), and what follows would go there. */
	if (heartbeat & STEER_KERNEL_FLOWS && kernel_owns(ctx, &s))
		return STATS_xdp_pass_kernel;

	if (bpf_redirect_map(&xsks_map, ctx->rx_queue_index, XDP_PASS) != XDP_REDIRECT)
		return STATS_xdp_pass_queue;
	stamp(ctx, now);
	return STATS_xdp_redirected;
}

static __always_inline void count(enum stats_index why)
{
	__u32 key = ABI_THREADS + bpf_get_smp_processor_id();
	struct stats_block *block = bpf_map_lookup_elem(&counters, &key);
	if (!block || why >= STATS_COUNT)
		return;
	block->xdp_seen++;
	((__u64 *)block)[why]++;
}

SEC("xdp.frags")
int saker_steer(struct xdp_md *ctx)
{
	enum stats_index why = judge(ctx);
	count(why);
	switch (why) {
	case STATS_xdp_redirected:
		return XDP_REDIRECT;
	case STATS_xdp_drop_stray:
		return XDP_DROP;
	default:
		return XDP_PASS;
	}
}

char license_text[] SEC("license") = "Dual BSD/GPL";
