// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * pass.bpf.c - somebody else's XDP program, for the tests of refusal
 *
 * It passes everything. One of the two has the name that libxdp's dispatcher
 * has, and nothing else of it.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("xdp")
int foreign_pass(struct xdp_md *ctx)
{
	(void)ctx;
	return XDP_PASS;
}

SEC("xdp")
int xdp_dispatcher(struct xdp_md *ctx)
{
	(void)ctx;
	return XDP_PASS;
}

char license_text[] SEC("license") = "Dual BSD/GPL";
