/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hook_tc.h - steer_tc.bpf.c under test
 *
 * Place    hook.h.
 * Model    What is ours is one record in the ring buffer of its queue, and the frame goes
 *          no further; what is dropped goes no further either, and no record came. The
 *          ring is read by libbpf: the responder's own reader is tested elsewhere.
 *          A test run always comes by queue 0, no tag is taken off, and none ends within
 *          the IP header: test_tc.c sends such frames by a real interface.
 */
#ifndef HOOK_TC_H
#define HOOK_TC_H

#include <linux/pkt_cls.h>
#include "steer_tc.skel.h"

#define hook_bpf steer_tc_bpf
#define hook_bpf__open steer_tc_bpf__open
#define hook_bpf__load steer_tc_bpf__load
#define hook_bpf__destroy steer_tc_bpf__destroy
#define HOOK_PROGRAM saker_tc
#define HOOK_TAKERS frames_q
enum { HOOK_CONTEXT = 0 };
enum { HOOK_FRAME_MAX = 4096 };

/* A ring, and what came last of it. */
struct hook_ring {
	int map;
	struct ring_buffer *reader;
	unsigned records;
	struct packet_record last;
	uint8_t data[HOOK_FRAME_MAX];
	bool sound; /* so far: long enough for what it says is in it */
};
static struct hook_ring hook_ring;

static int hook_record(void *to, void *record, size_t size)
{
	struct hook_ring *r = to;
	const struct packet_record *p = record;

	r->records++;
	r->last = *p;
	r->sound = r->sound && p->len <= FRAME_ROOM && sizeof *p + p->len <= size && !p->unused;
	if (r->sound)
		memcpy(r->data, p->data, p->len);
	return 0;
}

static bool hook_ring_open(struct hook_ring *r)
{
	*r = (struct hook_ring){ .sound = true };
	r->map = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "frames", 0, 0, FRAMES_RING_BYTES, NULL);
	r->reader = r->map < 0 ? NULL : ring_buffer__new(r->map, hook_record, r, NULL);
	return r->reader;
}

/* Of the records that have come: how many. */
static unsigned hook_ring_take(struct hook_ring *r)
{
	r->records = 0;
	ring_buffer__consume(r->reader);
	return r->records;
}

/* Newer kernels want the IP header whole, others a byte of it. */
static inline size_t hook_cut_min(const uint8_t *frame)
{
	uint16_t type = be16(frame + WIRE_ETH_LEN - 2);

	return WIRE_ETH_LEN + (type == WIRE_TYPE_IP4 ? WIRE_IP4_LEN :
			       type == WIRE_TYPE_IP6 ? WIRE_IP6_LEN :
						       1);
}

static const char *hook_prepare(void)
{
	return hook_ring_open(&hook_ring) ? NULL : "no BPF ring buffer (CAP_BPF?)";
}

static int hook_taker(void)
{
	return hook_ring.map;
}

static uint32_t hook_verdict(uint32_t action, unsigned records)
{
	if (action == TC_ACT_SHOT && records <= 1)
		return records ? XDP_REDIRECT : XDP_DROP;
	return action == (uint32_t)TC_ACT_UNSPEC && !records ? XDP_PASS : UINT32_MAX;
}

static bool hook_run(int prog, const struct arrival *a, struct outcome *o)
{
	const struct hook_ring *r = &hook_ring;
	uint8_t out[FRAME_MAX + 64];
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = a->frame,
		    .data_size_in = (uint32_t)a->length, .data_out = out,
		    .data_size_out = sizeof out, .repeat = 1);

	must(!a->ifindex && !a->queue && !a->meta);
	if (bpf_prog_test_run_opts(prog, &opts))
		return false;
	o->verdict = hook_verdict(opts.retval, hook_ring_take(&hook_ring));
	o->intact = opts.data_size_out == a->length && !memcmp(out, a->frame, a->length);
	if (!r->records)
		return true;
	o->meta = sizeof o->stamp;
	o->stamp = r->last.meta;
	o->intact = o->intact && r->sound && r->last.len == a->length && !r->last.queue &&
		    !memcmp(r->data, a->frame, a->length);
	return true;
}

#endif
