/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * toy_kernel.h - what stands before the worker with --steer=path: XDP, and the kernel's TCP
 *
 * Place    Tests of whole workers, between the clients and worker_frame. What it says
 *          to a client goes by toy_kernel_send.
 * Model    The kernel answers a SYN with a cookie and keeps nothing, as Linux with
 *          tcp_syncookies=2: timestamps with the options in their low six bits, scale
 *          and SACK only with timestamps. XDP remembers what the SYN said for 3 s,
 *          drops the ACK, and takes the first data for ours, whatever it asks; the
 *          order is that of bpf/path.h. The kernel has no connection of its own, so
 *          what is not ours gets a RST. Of the frames that open a connection each
 *          toy_ring_loss'th does not arrive.
 * Units    ns; the kernel's timestamps are ms, 12345 ahead of the test's clock.
 */
#ifndef TOY_KERNEL_H
#define TOY_KERNEL_H

#include "toy_flows.h"

enum { TOY_HINTS = 256, TOY_KERNEL_SCALE = 7, TOY_EARLY_MS = 3000 };

static struct toy_hint {
	struct steer_flow_key key;
	uint64_t seen_ns;
	uint32_t isn;
	uint16_t mss;
	uint8_t scale;
	bool sack_ok;
} toy_hint[TOY_HINTS];
static unsigned toy_hints;
static bool toy_hints_lost; /* none is kept */
static unsigned toy_ring_loss, toy_opens;

static void toy_kernel_send(const struct pkt_seg *s);

static inline struct toy_hint *toy_hint_of(const struct steer_flow_key *key)
{
	for (unsigned i = 0; i < TOY_HINTS && i < toy_hints; i++)
		if (!memcmp(&toy_hint[i].key, key, sizeof *key))
			return &toy_hint[i];
	return NULL;
}

static inline void toy_hint_note(const struct steer_flow_key *key, const struct pkt_seg *syn,
				 uint64_t now_ns)
{
	struct toy_hint *h = toy_hint_of(key);

	if (toy_hints_lost)
		return;
	if (!h)
		h = &toy_hint[toy_hints++ % TOY_HINTS]; /* the oldest gives way */
	*h = (struct toy_hint){
		.key = *key,
		.seen_ns = now_ns,
		.isn = syn->seq,
		.mss = syn->mss ? syn->mss : 536,
		.scale = syn->wscale == PKT_NO_SCALE ? STEER_NO_SCALE : syn->wscale,
		.sack_ok = syn->sack_ok,
	};
}

static inline uint32_t toy_cookie(const struct pkt_flow *flow, uint32_t isn)
{
	return (isn ^ flow->remote_port * 2654435761u) * 2246822519u;
}

/* The kernel's clock, and what it puts into a SYN-ACK. */
static inline uint32_t toy_kernel_ts(uint64_t now_ns, uint32_t options)
{
	uint32_t now = (uint32_t)(now_ns / NS_PER_MS) + 12345, ts = (now & ~63u) | options;

	return ts > now ? ts - 64 : ts;
}

static inline void toy_kernel_syn(const struct pkt_seg *syn, uint64_t now_ns)
{
	bool scales = syn->has_ts && syn->wscale != PKT_NO_SCALE;
	struct pkt_seg s = {
		.flow = syn->flow,
		.link = syn->link,
		.flags = WIRE_SYN | WIRE_ACK,
		.seq = toy_cookie(&syn->flow, syn->seq),
		.ack = syn->seq + 1,
		.window = 64240,
		.mss = 1460,
		.has_ts = syn->has_ts,
		.sack_ok = syn->has_ts && syn->sack_ok,
		.wscale = scales ? TOY_KERNEL_SCALE : PKT_NO_SCALE,
		.ts_val = toy_kernel_ts(now_ns, scales ? syn->wscale : 15),
		.ts_ecr = syn->ts_val,
	};

	toy_kernel_send(&s);
}

static inline void toy_kernel_reset(const struct pkt_seg *seg)
{
	struct pkt_seg s = { .flow = seg->flow,
			     .link = seg->link,
			     .flags = WIRE_RST,
			     .seq = seg->ack,
			     .wscale = PKT_NO_SCALE };

	if (!(seg->flags & WIRE_RST))
		toy_kernel_send(&s);
}

/* No segment of a flow, or one with a valid cookie. */
static inline bool toy_new(const struct steer_flow_key *key, const struct pkt_seg *seg,
			   uint64_t now_ns, struct steer_meta *meta)
{
	const struct toy_hint *h = toy_hint_of(key);
	bool first = seg->flags & WIRE_ACK && !(seg->flags & (WIRE_RST | WIRE_SYN)) &&
		     seg->ack == toy_cookie(&seg->flow, seg->seq - 1) + 1;

	if (first && seg->len) {
		if (!toy_flow_of(key) || toy_flow_state(key) == FLOW_closing)
			toy_flow_open(key, seg->seq)->since_ns = now_ns;
		meta->flags = STEER_META_ADOPT | STEER_META_EARLY;
		if (h && h->isn + 1 == seg->seq) {
			meta->flags |= h->sack_ok ? STEER_META_SACK : 0;
			meta->mss = h->mss;
			meta->scale = h->scale;
		}
		toy_flow_of(key)->lost = toy_ring_loss && ++toy_opens % toy_ring_loss == 0;
		return !toy_flow_of(key)->lost;
	}
	if (toy_flow_of(key))
		return true;
	if (!first && !(h && now_ns - h->seen_ns < TOY_EARLY_MS * (uint64_t)NS_PER_MS))
		toy_kernel_reset(seg);
	return false;
}

/* Is the frame the worker's? */
static inline bool toy_kernel_passes(const uint8_t *frame, size_t len, uint64_t now_ns,
				     struct steer_meta *meta)
{
	struct steer_flow_key key;
	const struct toy_flow *f;
	struct pkt_seg seg;
	bool first;

	*meta = (struct steer_meta){ .scale = STEER_NO_SCALE };
	if (pkt_parse(frame, len, &seg) > PKT_bad_option)
		return true; /* the worker says what is wrong with it */
	key = toy_flow_key(&seg.flow);
	f = toy_flow_of(&key);
	if ((seg.flags & (WIRE_SYN | WIRE_ACK)) == WIRE_SYN) {
		if (f && f->state == FLOW_ours)
			return true;
		toy_hint_note(&key, &seg, now_ns);
		toy_kernel_syn(&seg, now_ns);
		return false;
	}
	if (f && now_ns - f->since_ns < TOY_EARLY_MS * (uint64_t)NS_PER_MS)
		meta->flags = STEER_META_EARLY;
	first = f && seg.seq == f->first_seq;
	if (f && (f->state == FLOW_ours ? !first : first))
		return true;
	return toy_new(&key, &seg, now_ns, meta);
}

#endif
