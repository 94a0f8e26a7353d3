// SPDX-License-Identifier: GPL-2.0-only
/* Somebody else's program at tc ingress: nothing but ARP comes past it. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

SEC("tc")
int foreign_tc(struct __sk_buff *ctx)
{
	return ctx->protocol == bpf_htons(ETH_P_ARP) ? TC_ACT_OK : TC_ACT_SHOT;
}

char license_text[] SEC("license") = "GPL";
