// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * steer.bpf.c - which frames the responder gets, and which the kernel keeps
 *
 * Place    XDP on the interface; AF_XDP sockets of the responder behind it.
 * Model    An allow-list. A frame is redirected only when it is TCP to our
 *          port, our MAC and a served address, whole and plain, and the
 *          responder is up. The judgement is the name of a counter; the
 *          verdict follows from it. Everything else goes to the kernel, but
 *          for segments to our port that the kernel would answer with RST: of
 *          connections that it does not have, so they may be ours.
 * Threads  One block of counters a CPU; XDP does not migrate while it runs.
 * Limits   No loop depends on the frame but the one over IPv6 extension
 *          headers, IP6_EXTENSIONS of them. Header lengths are checked, nothing
 *          more: user space validates what it gets.
 * Units    ns of CLOCK_MONOTONIC.
 */
#include <stdbool.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>
#include "abi.h"
#include "cursor.h"
#include "guard.h"
#include "icmp.h"

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

/* The loader cuts this and the next two down to the threads, cores and CPUs there are. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, ABI_BLOCKS_MAX);
	__type(key, __u32);
	__type(value, struct stats_block);
} counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, IO_THREADS_MAX + 1);
	__type(key, __u32);
	__type(value, struct stage_block);
} stages SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, IO_THREADS_MAX + CREW_MAX);
	__type(key, __u32);
	__type(value, struct lane_table);
} lanes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, IO_THREADS_MAX + 1);
	__type(key, __u32);
	__type(value, struct gauge_block);
} gauges SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, QUEUES_MAX);
	__type(key, __u32);
	__type(value, struct ring_block);
} rings SEC(".maps");

/* As long as the loader says. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, CONNS_DEFAULT + SOCKS_DEFAULT);
	__type(key, __u32);
	__type(value, struct conn_entry);
} conns SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct summary);
} summary SEC(".maps");

/* Cut down to the threads, too. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, IO_THREADS_MAX);
	__type(key, __u32);
	__type(value, struct trace_ring);
} trace SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, QUEUES_MAX);
	__type(key, __u32);
	__type(value, __u32);
} xsks_map SEC(".maps");

/* Records of struct icmp_event. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, ICMP_RING_BYTES);
} icmp_ring SEC(".maps");

/* Set before load and then frozen, so the verifier folds it into the code. */
const volatile struct steer_config conf;

/* What a function says that found nothing against a frame. */
enum { OURS = STATS_xdp_redirected };

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
static __always_inline bool frame_holds(struct xdp_md *ctx, const void *at, __u32 length)
{
	__u64 offset = (__u64)at - (__u64)ctx->data;
	if (offset + length <= (__u64)ctx->data_end - (__u64)ctx->data)
		return true;
	return offset + length <= bpf_xdp_get_buff_len(ctx);
}

/* Of a TCP header: a first fragment may end behind its ports. */
static __always_inline __u32 tcp_least(const struct segment *s)
{
	return s->odd == STATS_xdp_drop_fragment ? WIRE_QUOTE_LEN : WIRE_TCP_LEN;
}

static __always_inline enum stats_index segment_ip4(struct xdp_md *ctx, struct cursor *c,
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

/* Step over what stands before the TCP header; *next is what follows then. */
static __always_inline enum stats_index skip_extensions(struct cursor *c, __u8 *next,
							struct segment *s)
{
	for (int i = 0; i < IP6_EXTENSIONS; i++) {
		if (*next != WIRE_IP6_HOP_BY_HOP && *next != WIRE_IP6_ROUTING &&
		    *next != WIRE_IP6_FRAGMENT && *next != WIRE_IP6_DESTINATION)
			break;
		const struct wire_ip6_ext *e = cursor_take(c, WIRE_IP6_EXT_LEN);
		if (!e)
			return STATS_xdp_pass_short;
		bool fragment = *next == WIRE_IP6_FRAGMENT;
		if (fragment && e->frag_be & bpf_htons(WIRE_IP6_OFFSET))
			return STATS_xdp_pass_fragment;
		if (!fragment && !cursor_take(c, e->len * WIRE_IP6_EXT_LEN))
			return STATS_xdp_pass_short;
		if (fragment && e->frag_be & bpf_htons(WIRE_IP6_MORE))
			s->odd = STATS_xdp_drop_fragment;
		else if (s->odd == OURS)
			s->odd = STATS_xdp_drop_options;
		*next = e->next;
	}
	return *next == WIRE_PROTO_TCP ? OURS : STATS_xdp_pass_proto;
}

static __always_inline enum stats_index segment_ip6(struct xdp_md *ctx, struct cursor *c,
						    struct segment *s)
{
	const struct wire_ip6 *ip = cursor_ip6(c);
	if (!ip || ip->ver_class >> 4 != WIRE_IP6_VERSION)
		return STATS_xdp_pass_short;
	__u8 next = ip->next;
	enum stats_index why = skip_extensions(c, &next, s);
	if (why != OURS)
		return why;
	__u32 length = bpf_ntohs(ip->len_be), taken = (__u32)(c->at - (void *)(ip + 1));
	if (length < taken + tcp_least(s) || !frame_holds(ctx, ip, WIRE_IP6_LEN + length))
		return STATS_xdp_pass_short;
	__builtin_memcpy(s->local, ip->dst, sizeof ip->dst);
	__builtin_memcpy(s->tuple.ipv6.saddr, ip->src, sizeof ip->src);
	__builtin_memcpy(s->tuple.ipv6.daddr, ip->dst, sizeof ip->dst);
	s->v6 = true;
	return OURS;
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

static __always_inline enum stats_index segment_parse(struct xdp_md *ctx, struct segment *s)
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

/* --- the responder and the kernel ------------------------------------------- */

/* A connection of the kernel's own, in whatever state: half-open and
 * TIME-WAIT records are found too. A listener alone owns nothing. */
static __always_inline bool kernel_owns(struct xdp_md *ctx, struct segment *s)
{
	__u32 size = s->v6 ? sizeof s->tuple.ipv6 : sizeof s->tuple.ipv4;
	struct bpf_sock *sk = bpf_skc_lookup_tcp(ctx, &s->tuple, size, BPF_F_CURRENT_NETNS, 0);
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
		*meta = (struct steer_meta){ .stamp_ns = now };
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

static __always_inline enum stats_index judge(struct xdp_md *ctx)
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
	__u64 heartbeat = heartbeat_of(l, ctx->rx_queue_index);
	__u64 now = bpf_ktime_get_ns();
	if (!l->ready)
		return fall_through(ctx, &s, now, heartbeat, STATS_xdp_pass_unready);
	/* Signed: a heartbeat written on another CPU may be later than our now. */
	if ((__s64)(now - heartbeat) > (__s64)conf.stall_ns)
		return fall_through(ctx, &s, now, heartbeat + conf.stall_ns,
				    STATS_xdp_pass_stalled);
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
	if (bpf_redirect_map(&xsks_map, ctx->rx_queue_index, XDP_PASS) != XDP_REDIRECT)
		return STATS_xdp_pass_queue;
	stamp(ctx, now);
	return STATS_xdp_redirected;
}

/* A router's word about a segment of ours goes to I/O thread 0 too. Nobody is
 * woken: the thread looks each turn. */
static __always_inline void tell_icmp(struct xdp_md *ctx, struct stats_block *block)
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

SEC("xdp.frags")
int saker_steer(struct xdp_md *ctx)
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
	switch (why) {
	case STATS_xdp_redirected:
		return XDP_REDIRECT;
	case STATS_xdp_drop_stray:
	case STATS_xdp_drop_options:
	case STATS_xdp_drop_fragment:
	case STATS_xdp_drop_denied:
	case STATS_xdp_drop_syn_rate:
	case STATS_xdp_drop_conns:
	case STATS_xdp_drop_frame_rate:
		return XDP_DROP;
	default:
		return XDP_PASS;
	}
}

char license_text[] SEC("license") = "Dual BSD/GPL";
