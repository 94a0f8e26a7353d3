/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * frame_skb.h - a frame as tc ingress has it, and the ring of its queue
 *
 * Place    frame.h, for steer_tc.bpf.c.
 * Model    `frames_q` has a BPF ring buffer for each RX queue that an I/O thread looks
 *          at. A frame of ours is copied into one, as struct packet_record, and that
 *          is the end of it. Of the tag that the kernel has taken off (it always does,
 *          before tc) the bytes are put back, so that the responder sees what came by the
 *          wire. Nobody is woken: who reads the ring looks each turn.
 *          What is reserved is one of two constants: all that a 6.1 kernel can do.
 * Limits   FRAME_ROOM bytes a frame, FRAMES_RING_BYTES a queue. A frame that finds no
 *          room is dropped, as on a full AF_XDP ring: the client sends again. So is a
 *          longer one, which GRO or LRO merged from several: given to the kernel it would
 *          be answered with RST; what is sent again comes one by one.
 *          The first FRAME_HEADERS bytes are made linear where a driver has left them in
 *          fragments; IPv6 extension headers that go beyond must be linear.
 */
#ifndef FRAME_SKB_H
#define FRAME_SKB_H

#include "told.h"
#include "wire.h"

#define frame_md __sk_buff

enum {
	/* Ethernet, tag, ICMPv6 error, IPv6 and 8 bytes of TCP are 118; tag, 60 bytes of
	 * IPv4 and TCP are 98. */
	FRAME_HEADERS = 128,
	FRAME_SHORT = sizeof(struct packet_record) + PACKET_SHORT,
	FRAME_LONG = sizeof(struct packet_record) + FRAME_ROOM,
	FRAME_MACS = 12, /* a tag stands behind both */
};

/* As the loader makes them; it may make others. */
struct frames_ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, FRAMES_RING_BYTES);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, QUEUES_MAX);
	__type(key, __u32);
	__array(values, struct frames_ring);
} frames_q SEC(".maps");

static __always_inline void *frame_begin(const struct __sk_buff *ctx)
{
	return (void *)(long)ctx->data;
}

static __always_inline void *frame_end(const struct __sk_buff *ctx)
{
	return (void *)(long)ctx->data_end;
}

static __always_inline __u64 frame_length(const struct __sk_buff *ctx)
{
	return ctx->len;
}

static __always_inline long frame_load(struct __sk_buff *ctx, __u32 at, void *to, __u32 length)
{
	return bpf_skb_load_bytes(ctx, at, to, length);
}

/* The kernel counts from 1; 0: the driver did not say. */
static __always_inline __u32 frame_queue(const struct __sk_buff *ctx)
{
	__u32 mapping = ctx->queue_mapping;
	return mapping ? mapping - 1 : 0;
}

static __always_inline __u16 frame_tag(const struct __sk_buff *ctx)
{
	return ctx->vlan_present ? (__u16)ctx->vlan_proto : 0;
}

/* Before anything else. What fails is judged by what is linear. */
static __always_inline void frame_pull(struct __sk_buff *ctx)
{
	__u32 want = ctx->len < FRAME_HEADERS ? ctx->len : FRAME_HEADERS;
	if (frame_begin(ctx) + want > frame_end(ctx))
		bpf_skb_pull_data(ctx, want);
}

static __always_inline void *frames_of(__u32 queue)
{
	return bpf_map_lookup_elem(&frames_q, &queue);
}

static __always_inline bool frame_taker(struct __sk_buff *ctx)
{
	return frames_of(frame_queue(ctx));
}

/* Of a tagged one the addresses move down, and the tag fills the gap. */
static __always_inline void frame_copy(struct __sk_buff *ctx, __u8 *to, __u64 length)
{
	if (!frame_tag(ctx)) {
		bpf_skb_load_bytes(ctx, 0, to, length);
		return;
	}
	struct {
		__u16 type_be, tci_be;
	} tag = { (__u16)ctx->vlan_proto, bpf_htons((__u16)ctx->vlan_tci) };
	bpf_skb_load_bytes(ctx, 0, to + sizeof tag, length);
	__builtin_memmove(to, to + sizeof tag, FRAME_MACS);
	__builtin_memcpy(to + FRAME_MACS, &tag, sizeof tag);
}

static __always_inline enum stats_index frame_put(struct __sk_buff *ctx, struct packet_record *r,
						  const struct steer_meta *meta, __u64 length)
{
	if (!r)
		return STATS_xdp_drop_ring;
	r->meta = *meta;
	r->len = (__u32)length + (frame_tag(ctx) ? WIRE_VLAN_LEN : 0);
	r->queue = (__u16)frame_queue(ctx);
	r->unused = 0;
	frame_copy(ctx, r->data, length);
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	return OURS;
}

static __always_inline enum stats_index frame_give(struct __sk_buff *ctx, struct steer_meta meta,
						   bool whole)
{
	void *ring = frames_of(frame_queue(ctx));
	/* Of 64 bits, or Linux 6.1 forgets its bounds on the stack. Barriers, so that both
	 * bounds stay comparisons, which it follows. */
	__u64 length = ctx->len;

	(void)whole;
	barrier_var(length);
	if (!ring || length < WIRE_ETH_LEN)
		return STATS_xdp_pass_queue;
	barrier_var(length);
	if (length <= PACKET_SHORT - WIRE_VLAN_LEN)
		return frame_put(ctx, bpf_ringbuf_reserve(ring, FRAME_SHORT, 0), &meta, length);
	if (length <= FRAME_ROOM - WIRE_VLAN_LEN)
		return frame_put(ctx, bpf_ringbuf_reserve(ring, FRAME_LONG, 0), &meta, length);
	return STATS_xdp_drop_large;
}

#endif
