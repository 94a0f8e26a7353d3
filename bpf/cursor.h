/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * cursor.h - walk the headers of a frame without leaving it
 *
 * Place    segment.h, icmp.h, path.h.
 * Model    Each cursor_* gives the header that starts here and moves past it,
 *          or NULL when the frame ends before the header does. The verifier
 *          sees the one comparison in cursor_take and believes the rest.
 * Limits   Only the linear part of a frame can be walked; drivers keep the
 *          headers there.
 */
#ifndef CURSOR_H
#define CURSOR_H

#include "frame.h"
#include "wire.h"

/* More than six extension headers of 2,048 bytes, and a bound for the verifier. */
enum { CURSOR_AT_MAX = 0x3fff };

struct cursor {
	void *begin;
	void *at;
	void *end;
	__u16 tag_be; /* frame_tag */
};

static __always_inline struct cursor cursor_open(const struct frame_md *ctx)
{
	void *begin = frame_begin(ctx);
	return (struct cursor){
		.begin = begin, .at = begin, .end = frame_end(ctx), .tag_be = frame_tag(ctx)
	};
}

static __always_inline void *cursor_take(struct cursor *c, unsigned long length)
{
	void *here = c->at;
	if (here + length > c->end)
		return 0;
	c->at = here + length;
	return here;
}

static __always_inline const struct wire_eth *cursor_eth(struct cursor *c)
{
	return cursor_take(c, sizeof(struct wire_eth));
}

static __always_inline const struct wire_vlan *cursor_vlan(struct cursor *c)
{
	return cursor_take(c, sizeof(struct wire_vlan));
}

/* Ethernet and one 802.1Q tag at most; *type_be is that of what follows. */
static __always_inline const struct wire_eth *cursor_link(struct cursor *c, __u16 *type_be)
{
	const struct wire_eth *eth = cursor_eth(c);
	if (!eth)
		return 0;
	*type_be = eth->type_be;
	if (c->tag_be) {
		if (c->tag_be != bpf_htons(WIRE_TYPE_VLAN))
			*type_be = c->tag_be;
	} else if (eth->type_be == bpf_htons(WIRE_TYPE_VLAN)) {
		const struct wire_vlan *tag = cursor_vlan(c);
		if (!tag)
			return 0;
		*type_be = tag->type_be;
	}
	return eth;
}

/* Bytes of the frame before it. */
static __always_inline __u64 cursor_at(const struct cursor *c)
{
	return (__u64)(c->at - c->begin);
}

/* So far into the frame; false: no headers are that long. */
static __always_inline bool cursor_go(struct cursor *c, __u64 at)
{
	if (at > CURSOR_AT_MAX)
		return false;
	c->at = c->begin + at;
	return true;
}

static __always_inline const struct wire_ip4 *cursor_ip4(struct cursor *c)
{
	return cursor_take(c, sizeof(struct wire_ip4));
}

static __always_inline const struct wire_ip6 *cursor_ip6(struct cursor *c)
{
	return cursor_take(c, sizeof(struct wire_ip6));
}

#endif
