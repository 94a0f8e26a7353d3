/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hook_xdp.h - steer.bpf.c under test
 *
 * Place    hook.h.
 * Model    The socket in xsks_map is never bound: the verdict and what stands in front of
 *          the frame are all that a test run shows of a redirect.
 */
#ifndef HOOK_XDP_H
#define HOOK_XDP_H

#include <errno.h>
#include <linux/if_xdp.h>
#include <sys/socket.h>
#include "steer.skel.h"

#define hook_bpf steer_bpf
#define hook_bpf__open steer_bpf__open
#define hook_bpf__load steer_bpf__load
#define hook_bpf__destroy steer_bpf__destroy
#define HOOK_PROGRAM saker_steer
#define HOOK_TAKERS xsks_map
enum { HOOK_CONTEXT = 1 };

static int hook_socket = -1;

static inline size_t hook_cut_min(const uint8_t *frame)
{
	(void)frame;
	return WIRE_ETH_LEN;
}

static const char *hook_prepare(void)
{
	int size = 64;
	hook_socket = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (hook_socket < 0)
		return errno == EAFNOSUPPORT ? "kernel without CONFIG_XDP_SOCKETS" :
					       "no CAP_NET_RAW";
	if (setsockopt(hook_socket, SOL_XDP, XDP_RX_RING, &size, sizeof size))
		return "no RX ring on an AF_XDP socket";
	return NULL;
}

static int hook_taker(void)
{
	return hook_socket;
}

static bool hook_run(int prog, const struct arrival *a, struct outcome *o)
{
	uint8_t out[FRAME_MAX + 64];
	struct xdp_md ctx_out = { .data = 0 };
	struct xdp_md ctx_in = { .data = a->meta,
				 .data_end = (uint32_t)a->length,
				 .ingress_ifindex = a->ifindex,
				 .rx_queue_index = a->queue };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = a->frame,
		    .data_size_in = (uint32_t)a->length, .data_out = out,
		    .data_size_out = sizeof out, .ctx_in = &ctx_in, .ctx_size_in = sizeof ctx_in,
		    .ctx_out = &ctx_out, .ctx_size_out = sizeof ctx_out, .repeat = 1);

	if (bpf_prog_test_run_opts(prog, &opts))
		return false;
	o->verdict = opts.retval;
	o->meta = ctx_out.data - ctx_out.data_meta;
	o->intact = opts.data_size_out == o->meta + a->length &&
		    !memcmp(out + o->meta, a->frame, a->length);
	memcpy(&o->stamp, out, sizeof o->stamp);
	return true;
}

#endif
