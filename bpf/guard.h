/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * guard.h - who may come in, and how much one source may send
 *
 * Place    judge.h, for segments to our port: guard_admit right behind the
 *          parser, also while the kernel serves the port; guard_take right before
 *          the redirect. nftables sees no redirected frame, so this is the only
 *          place where they can be held off.
 * Model    `access`: of the prefixes that hold the source the longest decides;
 *          who is in none is let in. `limits`: per source (IPv4 /32, IPv6 /64)
 *          SYNs per second, connections open at once, frames per second; 0 is
 *          none. What is refused is dropped and never passed: the kernel's listener
 *          would answer.
 *          A bucket is one word: when it will be full again (the generic cell rate
 *          algorithm of ITU-T I.371). What is taken moves it on by 1/rate; it may
 *          be at most burst/rate ahead of now.
 * Threads  Several CPUs may have frames of one source. A bucket moves by compare
 *          and swap; who loses twice takes without moving it: two CPUs that did
 *          nothing but take from one bucket let 0.01 % too many pass. With one RX
 *          queue there is no other. Drops are counted by atomic adds: exactly.
 *          Open connections are counted by the I/O threads when they have opened:
 *          SYNs that come within a round trip pass beyond the limit, as many as
 *          their rate lets.
 * Limits   SOURCES_MAX sources; a new one takes the entry of one that has long sent
 *          nothing, which finds full buckets when it comes again. Who gets no entry
 *          is let in.
 */
#ifndef GUARD_H
#define GUARD_H

#include <stdbool.h>
#include "abi.h"
#include "wire.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct limits);
} limits SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC); /* no trie without */
	__uint(max_entries, ACCESS_MAX);
	__type(key, struct access_key);
	__type(value, struct access_rule);
} access SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, SOURCES_MAX);
	__type(key, struct source_key);
	__type(value, struct source);
} sources SEC(".maps");

/* The loader makes it as long as there may be connections. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC); /* most of the time it is empty */
	__uint(max_entries, CONNS_DEFAULT);
	__type(key, struct source_thread);
	__type(value, __u32);
} source_conns SEC(".maps");

enum { GUARD_NS_PER_S = 1000000000 };

/* Who sent a segment. */
struct sender {
	const struct bpf_sock_tuple *tuple;
	bool v6;
};

/* Take one. False: there is none. */
static __always_inline bool bucket_take(uint64_t *full_ns, __u32 per_s, __u32 burst, __u64 now)
{
	__u64 each = GUARD_NS_PER_S / per_s, room = each * (burst ? burst : 1);

	for (int tries = 0; tries < 2; tries++) {
		__u64 full = *(volatile uint64_t *)full_ns;
		__u64 ahead = (__s64)(full - now) > 0 ? full - now : 0;

		if (ahead > room) /* filled under other limits */
			__sync_val_compare_and_swap(full_ns, full, now + room);
		if (ahead + each > room)
			return false;
		if (__sync_val_compare_and_swap(full_ns, full, now + ahead + each) == full)
			return true;
	}
	return true;
}

static __always_inline void sender_addr(const struct sender *from, __u32 addr[4])
{
	if (from->v6) {
		__builtin_memcpy(addr, from->tuple->ipv6.saddr, sizeof from->tuple->ipv6.saddr);
		return;
	}
	addr[0] = addr[1] = 0;
	addr[2] = bpf_htonl(0xffff);
	addr[3] = from->tuple->ipv4.saddr;
}

/* IPv6: a host has a /64 to choose from, and takes a new address when it likes. */
static __always_inline void sender_source(const struct sender *from, struct source_key *key)
{
	sender_addr(from, key->addr);
	if (from->v6)
		key->addr[2] = key->addr[3] = 0;
}

/* Its entry, a new one if need be; NULL: there is none to be had. */
static __always_inline struct source *source_of(const struct source_key *key)
{
	struct source *s = bpf_map_lookup_elem(&sources, key);
	if (s)
		return s;
	struct source fresh = { .syns_full_ns = 0 };
	bpf_map_update_elem(&sources, key, &fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&sources, key);
}

static __always_inline bool denied(const struct sender *from)
{
	struct access_key key = { .bits = ACCESS_BITS };

	sender_addr(from, key.addr);
	struct access_rule *rule = bpf_map_lookup_elem(&access, &key);
	if (!rule || rule->what != ACCESS_deny)
		return false;
	__sync_fetch_and_add(&rule->dropped, 1);
	return true;
}

/* Open now, on all I/O threads. Counted in a register: of what the key holds, on the stack,
 * Linux 6.12 knows nothing after the look-up, and so no end of the loop. */
static __always_inline __u32 conns_of(const struct source_key *source, __u32 io_threads)
{
	struct source_thread key = { .source = *source };
	__u32 open = 0;

	for (__u32 thread = 0; thread < IO_THREADS_MAX && thread < io_threads; thread++) {
		key.thread = thread;
		const __u32 *n = bpf_map_lookup_elem(&source_conns, &key);
		open += n ? *n : 0;
	}
	return open;
}

static __always_inline enum stats_index guard_syn(const struct sender *from, const struct limits *l,
						  __u32 io_threads)
{
	struct source_key key;

	sender_source(from, &key);
	struct source *s = source_of(&key);
	if (!s)
		return STATS_xdp_redirected;
	if (l->syns_per_s &&
	    !bucket_take(&s->syns_full_ns, l->syns_per_s, l->syns_burst, bpf_ktime_get_ns())) {
		__sync_fetch_and_add(&s->dropped_syn_rate, 1);
		return STATS_xdp_drop_syn_rate;
	}
	if (l->conns && conns_of(&key, io_threads) >= l->conns) {
		__sync_fetch_and_add(&s->dropped_conns, 1);
		return STATS_xdp_drop_conns;
	}
	return STATS_xdp_redirected;
}

/* xdp_redirected: nothing is against it. */
static __always_inline enum stats_index guard_admit(const struct sender *from, __u8 flags,
						    __u32 io_threads)
{
	__u32 zero = 0;

	if (denied(from))
		return STATS_xdp_drop_denied;
	const struct limits *l = bpf_map_lookup_elem(&limits, &zero);
	if (!l || (flags & (WIRE_SYN | WIRE_ACK)) != WIRE_SYN || !(l->syns_per_s || l->conns))
		return STATS_xdp_redirected;
	return guard_syn(from, l, io_threads);
}

/* A frame that the responder would get. */
static __always_inline enum stats_index guard_take(const struct sender *from, __u64 now)
{
	struct source_key key;
	__u32 zero = 0;
	const struct limits *l = bpf_map_lookup_elem(&limits, &zero);

	if (!l || !l->frames_per_s)
		return STATS_xdp_redirected;
	sender_source(from, &key);
	struct source *s = source_of(&key);
	if (!s || bucket_take(&s->frames_full_ns, l->frames_per_s, l->frames_burst, now))
		return STATS_xdp_redirected;
	__sync_fetch_and_add(&s->dropped_frame_rate, 1);
	return STATS_xdp_drop_frame_rate;
}

#endif
