/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * flow.h - the connections of ours, with --steer=path
 *
 * Place    path.h; the map is also the I/O threads' (userspace/flows.h).
 * Model    XDP adds a flow with its first segment. A thread marks it closing and
 *          then deletes it; XDP may take a closing one for a new connection of
 *          the same ports, or leave that one to the kernel, and then deletes it.
 * Limits   As many as the loader says: connections and TIME-WAIT records of all
 *          threads. When it is full nothing gives way: the kernel gets the
 *          connection.
 */
#ifndef FLOW_H
#define FLOW_H

#include "segment.h"

/* As long as the loader says. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CONNS_DEFAULT + TIMEWAIT_MAX);
	__type(key, struct steer_flow_key);
	__type(value, struct steer_flow);
} flows SEC(".maps");

static __always_inline void flow_key(struct steer_flow_key *k, const struct segment *s)
{
	__builtin_memcpy(k->local, s->local, sizeof k->local);
	k->zero = 0;
	if (s->v6) {
		__builtin_memcpy(k->remote, s->tuple.ipv6.saddr, sizeof k->remote);
		k->remote_port = bpf_ntohs(s->tuple.ipv6.sport);
	} else {
		__u32 mapped[4] = { 0, 0, bpf_htonl(0xffff), s->tuple.ipv4.saddr };
		__builtin_memcpy(k->remote, mapped, sizeof k->remote);
		k->remote_port = bpf_ntohs(s->tuple.ipv4.sport);
	}
	k->local_port = conf.port;
}

/* A copy: the entry may be replaced while we look. FLOW_none: there is none. */
static __always_inline struct steer_flow flow_find(const struct steer_flow_key *k)
{
	const struct steer_flow *f = bpf_map_lookup_elem(&flows, k);
	return f ? *f : (struct steer_flow){ .state = FLOW_none };
}

#endif
