// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * drop.bpf.c - lose every 20th frame
 *
 * For clsact at the client's end of the veth: its ingress sees what the
 * responder sent, its egress what the client sends. (tc at the responder's end
 * would see neither: XDP takes the frames before it, AF_XDP sends past it.) Each
 * direction loads the object for itself and so has a count of its own. STOLEN,
 * not SHOT: a sender is told of a drop in its own queue, and not of a loss on the wire.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

enum { EVERY = 20 };

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} frames SEC(".maps");

SEC("tc")
int drop_some(struct __sk_buff *skb)
{
	__u32 key = 0;
	__u64 *seen = bpf_map_lookup_elem(&frames, &key);
	(void)skb;
	if (seen && (__sync_fetch_and_add(seen, 1) + 1) % EVERY == 0)
		return TC_ACT_STOLEN;
	return TC_ACT_OK;
}

char license_text[] SEC("license") = "Dual BSD/GPL";
