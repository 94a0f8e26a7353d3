/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bench_steer - what the XDP program takes for a frame, by what is switched on
 *
 * Model    BPF_PROG_TEST_RUN, so no network and no driver: the kernel's own average of
 *          RUNS runs on one CPU. The rows take turns, ROUNDS times, and the least of
 *          each is shown: an interruption only adds. Root.
 * Units    ns a frame.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_xdp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include "abi.h"
#include "frame.h"
#include "steer.skel.h"

enum { RUNS = 200000, ROUNDS = 25 };

_Noreturn void base_panic(const char *what, const char *file, int line);
_Noreturn void base_panic(const char *what, const char *file, int line)
{
	fprintf(stderr, "bench_steer: broken invariant at %s:%d: %s\n", file, line, what);
	abort();
}

struct row {
	const char *name;
	struct frame frame;
	unsigned rules; /* prefixes, nested in each other, that let in */
	bool deny;      /* the longest does not */
	struct limits limits;
	double least_ns;
};

#define MANY 10000000

static struct row rows[] = {
	{ .name = "other port", .frame = { .port = 22 } },
	{ .name = "data", .frame = { .flags = WIRE_ACK } },
	{ .name = "data, IPv6", .frame = { .v6 = true, .flags = WIRE_ACK } },
	{ .name = "SYN", .frame = { .flags = WIRE_SYN } },
	{ .name = "data, one prefix", .frame = { .flags = WIRE_ACK }, .rules = 1 },
	{ .name = "data, 16 nested prefixes", .frame = { .flags = WIRE_ACK }, .rules = 16 },
	{ .name = "data, denied", .frame = { .flags = WIRE_ACK }, .rules = 1, .deny = true },
	{ .name = "SYN, --limit-syns",
	  .frame = { .flags = WIRE_SYN },
	  .limits = { .syns_per_s = MANY, .syns_burst = MANY } },
	{ .name = "SYN, --limit-syns, over it",
	  .frame = { .flags = WIRE_SYN },
	  .limits = { .syns_per_s = 1, .syns_burst = 1 } },
	{ .name = "SYN, --limit-conns", .frame = { .flags = WIRE_SYN }, .limits = { .conns = 9 } },
	{ .name = "data, --limit-syns and --limit-conns",
	  .frame = { .flags = WIRE_ACK },
	  .limits = { .conns = 9, .syns_per_s = MANY, .syns_burst = MANY } },
	{ .name = "data, --limit-frames",
	  .frame = { .flags = WIRE_ACK },
	  .limits = { .frames_per_s = MANY, .frames_burst = MANY } },
	{ .name = "data, --limit-frames, over it",
	  .frame = { .flags = WIRE_ACK },
	  .limits = { .frames_per_s = 1, .frames_burst = 1 } },
};

static int trouble(const char *what, int error)
{
	fprintf(stderr, "bench_steer: %s: %s\n", what, strerror(error));
	return 1;
}

static int load(struct steer_bpf *skel)
{
	const uint64_t hour = UINT64_C(3600000000000);
	struct steer_config told = { .version = ABI_VERSION,
				     .port = FRAME_PORT,
				     .stall_ns = hour,
				     .grace_ns = hour,
				     .io_threads = 1,
				     .cpu_block = 1 };
	struct steer_live live = { .ready = 1 };
	struct timespec now;
	uint32_t key = 0;
	int xsk = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0), size = 64, error;

	put_be16(&told.port_be, FRAME_PORT);
	memcpy(told.mac, frame_mac, sizeof told.mac);
	memcpy((void *)&skel->rodata->conf, &told, sizeof told);
	bpf_map__set_max_entries(skel->maps.counters, 1 + (uint32_t)libbpf_num_possible_cpus());
	error = steer_bpf__load(skel);
	if (error)
		return error;
	clock_gettime(CLOCK_MONOTONIC, &now);
	live.io[0].heartbeat_ns = ((uint64_t)now.tv_sec * NS_PER_S) & ~UINT64_C(1);
	if (xsk < 0 || setsockopt(xsk, SOL_XDP, XDP_RX_RING, &size, sizeof size))
		return -errno;
	error = bpf_map_update_elem(bpf_map__fd(skel->maps.live), &key, &live, 0);
	return error ? error : bpf_map_update_elem(bpf_map__fd(skel->maps.xsks_map), &key, &xsk, 0);
}

/* Around the client's address, from /32 up. */
static void set_rules(const struct row *r, int map)
{
	struct access_key key;

	while (!bpf_map_get_next_key(map, NULL, &key))
		bpf_map_delete_elem(map, &key);
	for (unsigned i = 0; i < r->rules; i++) {
		struct access_rule rule = { .what = r->deny && !i ? ACCESS_deny : ACCESS_allow };
		uint32_t host = be32(frame_client4) >> i << i;

		key = (struct access_key){ .bits = ACCESS_BITS - i };
		memset((uint8_t *)key.addr + 10, 0xff, 2);
		put_be32((uint8_t *)key.addr + 12, host);
		bpf_map_update_elem(map, &key, &rule, 0);
	}
}

static double measure(const struct row *r, const struct steer_bpf *skel)
{
	uint8_t frame[FRAME_MAX];
	uint32_t key = 0;
	struct source_key source;
	int sources = bpf_map__fd(skel->maps.sources);
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame,
		    .data_size_in = (uint32_t)frame_build(frame, &r->frame), .repeat = RUNS);

	set_rules(r, bpf_map__fd(skel->maps.access));
	while (!bpf_map_get_next_key(sources, NULL, &source))
		bpf_map_delete_elem(sources, &source);
	if (bpf_map_update_elem(bpf_map__fd(skel->maps.limits), &key, &r->limits, 0) ||
	    bpf_prog_test_run_opts(bpf_program__fd(skel->progs.saker_steer), &opts))
		exit(trouble("run", errno));
	return opts.duration;
}

int main(void)
{
	struct steer_bpf *skel = steer_bpf__open();
	cpu_set_t here;
	int error;

	CPU_ZERO(&here);
	CPU_SET(sched_getcpu(), &here);
	sched_setaffinity(0, sizeof here, &here);
	error = skel ? load(skel) : -errno;
	if (error)
		return trouble("load (root?)", -error);
	for (unsigned round = 0; round < ROUNDS; round++)
		for (unsigned i = 0; i < array_size(rows); i++) {
			double ns = measure(&rows[i], skel);

			if (!round || ns < rows[i].least_ns)
				rows[i].least_ns = ns;
		}
	for (unsigned i = 0; i < array_size(rows); i++)
		printf("%-40s %4.0f ns\n", rows[i].name, rows[i].least_ns);
	steer_bpf__destroy(skel);
	return 0;
}
