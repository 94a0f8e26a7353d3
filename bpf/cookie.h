/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * cookie.h - does a segment acknowledge the kernel's SYN cookie?
 *
 * Place    path.h.
 * Model    The kernel's own check, with the kernel's secret, for about two minutes
 *          after the SYN. It looks at the addresses, the ports and the two sequence
 *          numbers, so headers without options do, made up from those. It must have
 *          sent a cookie lately from this listener or another of its SO_REUSEPORT
 *          group: the kernel keeps that time for the group.
 */
#ifndef COOKIE_H
#define COOKIE_H

#include "segment.h"

static __always_inline bool cookie_valid(const struct segment *s, struct bpf_sock *listener,
					 struct wire_tcp *tcp)
{
	if (s->v6) {
		struct wire_ip6 ip = { .ver_class = WIRE_IP6_VERSION << 4 };
		__builtin_memcpy(ip.src, s->tuple.ipv6.saddr, sizeof ip.src);
		__builtin_memcpy(ip.dst, s->tuple.ipv6.daddr, sizeof ip.dst);
		return !bpf_tcp_check_syncookie(listener, &ip, sizeof ip, (void *)tcp, sizeof *tcp);
	}
	struct wire_ip4 ip = { .ver_ihl = WIRE_IP4_VERSION << 4 | WIRE_IP4_LEN / 4 };
	__builtin_memcpy(ip.src, &s->tuple.ipv4.saddr, sizeof ip.src);
	__builtin_memcpy(ip.dst, &s->tuple.ipv4.daddr, sizeof ip.dst);
	return !bpf_tcp_check_syncookie(listener, &ip, sizeof ip, (void *)tcp, sizeof *tcp);
}

#endif
