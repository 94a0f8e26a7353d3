/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * icmp.h - read what a router says about the size of our segments
 *
 * Place    judge.h, for frames that it passes because they are not TCP. The
 *          kernel gets them all the same.
 * Model    ICMP type 3 code 4 (RFC 792, RFC 1191 4) and ICMPv6 type 2 (RFC 4443
 *          3.2) quote the start of the segment that was too big. Ours have
 *          neither IPv4 options nor extension headers, and are no fragments, so a
 *          quote that has is not ours. Other ICMP errors are not read: RFC 5927 6
 *          advises not to act on them, and TCP finds out by itself.
 * Limits   No checksum is verified (the Ethernet FCS was). Nothing here is
 *          believed for good: tcp_mtu wants the quoted sequence in flight.
 */
#ifndef ICMP_H
#define ICMP_H

#include <stdbool.h>
#include "abi.h"
#include "cursor.h"

/* The TCP segment that starts here, of whose header 8 bytes are quoted at least. */
static __always_inline bool icmp_quote(struct cursor *c, struct icmp_event *e)
{
	const struct wire_tcp *tcp = cursor_take(c, WIRE_QUOTE_LEN);
	if (!tcp)
		return false;
	e->local_port = bpf_ntohs(tcp->src_be);
	e->remote_port = bpf_ntohs(tcp->dst_be);
	__builtin_memcpy(&e->seq, tcp->seq, sizeof e->seq);
	e->seq = bpf_ntohl(e->seq);
	return true;
}

static __always_inline void icmp_map(__u8 to[16], const __u8 ip4[4])
{
	to[10] = to[11] = 0xff;
	__builtin_memcpy(to + 12, ip4, 4);
}

static __always_inline bool icmp_read4(struct cursor *c, struct icmp_event *e)
{
	const __u8 plain = WIRE_IP4_VERSION << 4 | WIRE_IP4_LEN / 4;
	const struct wire_ip4 *ip = cursor_ip4(c);
	if (!ip || ip->ver_ihl != plain || ip->proto != WIRE_PROTO_ICMP ||
	    ip->frag_be & bpf_htons(WIRE_IP4_MF | WIRE_IP4_OFFSET) ||
	    bpf_ntohs(ip->len_be) < 2 * WIRE_IP4_LEN + WIRE_ICMP_LEN + WIRE_QUOTE_LEN)
		return false;
	const struct wire_icmp *icmp = cursor_take(c, sizeof *icmp);
	if (!icmp || icmp->type != WIRE_ICMP_UNREACHABLE || icmp->code != WIRE_ICMP_FRAG_NEEDED)
		return false;
	const struct wire_ip4 *ours = cursor_ip4(c);
	if (!ours || ours->ver_ihl != plain || ours->proto != WIRE_PROTO_TCP ||
	    ours->frag_be & bpf_htons(WIRE_IP4_MF | WIRE_IP4_OFFSET))
		return false;
	icmp_map(e->local, ours->src);
	icmp_map(e->remote, ours->dst);
	e->mtu = bpf_ntohs(icmp->mtu_be);
	e->family = WIRE_IP4_VERSION;
	return icmp_quote(c, e);
}

static __always_inline bool icmp_read6(struct cursor *c, struct icmp_event *e)
{
	const struct wire_ip6 *ip = cursor_ip6(c);
	if (!ip || ip->ver_class >> 4 != WIRE_IP6_VERSION || ip->next != WIRE_PROTO_ICMP6 ||
	    bpf_ntohs(ip->len_be) < WIRE_ICMP_LEN + WIRE_IP6_LEN + WIRE_QUOTE_LEN)
		return false;
	const struct wire_icmp *icmp = cursor_take(c, sizeof *icmp);
	if (!icmp || icmp->type != WIRE_ICMP6_TOO_BIG)
		return false;
	const struct wire_ip6 *ours = cursor_ip6(c);
	if (!ours || ours->ver_class >> 4 != WIRE_IP6_VERSION || ours->next != WIRE_PROTO_TCP)
		return false;
	__builtin_memcpy(e->local, ours->src, sizeof e->local);
	__builtin_memcpy(e->remote, ours->dst, sizeof e->remote);
	e->mtu = (__u32)bpf_ntohs(icmp->unused_be) << 16 | bpf_ntohs(icmp->mtu_be);
	e->family = WIRE_IP6_VERSION;
	return icmp_quote(c, e);
}

/* *c stands behind the Ethernet header and tag, *e is zero. */
static __always_inline bool icmp_read(struct cursor *c, __u16 type_be, struct icmp_event *e)
{
	if (type_be == bpf_htons(WIRE_TYPE_IP4))
		return icmp_read4(c, e);
	return type_be == bpf_htons(WIRE_TYPE_IP6) && icmp_read6(c, e);
}

#endif
