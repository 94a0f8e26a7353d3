/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bench_steer - what each program takes for a frame, by what is switched on
 *
 * Model    BPF_PROG_TEST_RUN, so no network and no driver: the kernel's own average of
 *          RUNS runs on one CPU. The rows and programs take turns, ROUNDS times, and the
 *          least of each is shown: an interruption only adds. Root.
 *          XDP only says where a frame shall go; tc also copies it into the ring, in
 *          batches that fit. Rows of frames that are dropped compare the judgement alone.
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
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "abi.h"
#include "frame.h"
#include "steer.skel.h"
#include "steer_tc.skel.h"

/* So many short frames fit the ring, and so many long ones. */
enum { RUNS = 200000, ROUNDS = 25, TC_RUNS = 50000, TC_BATCH = 800, TC_BATCH_LONG = 120 };

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
	double least_ns[2]; /* of each program */
};

#define MANY 10000000
static const char much[900];

static struct row rows[] = {
	{ .name = "other port", .frame = { .port = 22 } },
	{ .name = "data", .frame = { .flags = WIRE_ACK } },
	{ .name = "data, 954 bytes",
	  .frame = { .flags = WIRE_ACK, .data = much, .data_len = sizeof much } },
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

struct program {
	struct bpf_object *obj;
	int fd;
	unsigned long *consumer; /* of the tc program's ring; NULL: XDP */
	const unsigned long *producer;
};

static struct steer_config told(void)
{
	const uint64_t hour = UINT64_C(3600000000000);
	struct steer_config told = { .version = ABI_VERSION,
				     .port = FRAME_PORT,
				     .stall_ns = hour,
				     .grace_ns = hour,
				     .io_threads = 1,
				     .cpu_block = 1 };
	put_be16(&told.port_be, FRAME_PORT);
	memcpy(told.mac, frame_mac, sizeof told.mac);
	return told;
}

static int map_of(const struct program *p, const char *name)
{
	return bpf_object__find_map_fd_by_name(p->obj, name);
}

/* With somebody who takes the frames of queue 0, and is up. */
static int load(struct program *p, struct bpf_program *prog, const char *takers, int taker)
{
	struct steer_live live = { .ready = 1 };
	struct timespec now;
	uint32_t key = 0;

	bpf_map__set_max_entries(bpf_object__find_map_by_name(p->obj, "counters"),
				 1 + (uint32_t)libbpf_num_possible_cpus());
	int error = bpf_object__load(p->obj);
	if (error)
		return error;
	p->fd = bpf_program__fd(prog);
	clock_gettime(CLOCK_MONOTONIC, &now);
	live.io[0].heartbeat_ns = ((uint64_t)now.tv_sec * NS_PER_S) & ~UINT64_C(1);
	error = bpf_map_update_elem(map_of(p, "live"), &key, &live, 0);
	return error ? error : bpf_map_update_elem(map_of(p, takers), &key, &taker, 0);
}

static int load_xdp(struct program *p, struct steer_bpf *skel)
{
	int xsk = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0), size = 64;

	if (!skel || xsk < 0 || setsockopt(xsk, SOL_XDP, XDP_RX_RING, &size, sizeof size))
		return -errno;
	struct steer_config conf = told();
	memcpy((void *)&skel->rodata->conf, &conf, sizeof conf);
	p->obj = skel->obj;
	return load(p, skel->progs.saker_steer, "xsks_map", xsk);
}

static int load_tc(struct program *p, struct steer_tc_bpf *skel)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int ring = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "frames", 0, 0, FRAMES_RING_BYTES, NULL);

	if (!skel || ring < 0)
		return -errno;
	p->consumer = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, ring, 0);
	p->producer = mmap(NULL, page, PROT_READ, MAP_SHARED, ring, (off_t)page);
	if (p->consumer == MAP_FAILED || p->producer == MAP_FAILED)
		return -errno;
	struct steer_config conf = told();
	memcpy((void *)&skel->rodata->conf, &conf, sizeof conf);
	p->obj = skel->obj;
	return load(p, skel->progs.saker_tc, "frames_q", ring);
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

static double run(const struct program *p, const uint8_t *frame, size_t length, unsigned times)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = (uint32_t)length,
		    .repeat = (int)times);

	if (bpf_prog_test_run_opts(p->fd, &opts))
		exit(trouble("run", errno));
	if (p->consumer)
		__atomic_store_n(p->consumer, __atomic_load_n(p->producer, __ATOMIC_ACQUIRE),
				 __ATOMIC_RELEASE);
	return opts.duration;
}

static double measure(const struct row *r, const struct program *p)
{
	uint8_t frame[FRAME_MAX];
	size_t length = frame_build(frame, &r->frame);
	uint32_t key = 0;
	struct source_key source;
	int sources = map_of(p, "sources");

	set_rules(r, map_of(p, "access"));
	while (!bpf_map_get_next_key(sources, NULL, &source))
		bpf_map_delete_elem(sources, &source);
	if (bpf_map_update_elem(map_of(p, "limits"), &key, &r->limits, 0))
		exit(trouble("limits", errno));
	if (!p->consumer)
		return run(p, frame, length, RUNS);
	unsigned batch = length > PACKET_SHORT ? TC_BATCH_LONG : TC_BATCH;
	double sum = 0;
	for (unsigned i = 0; i < TC_RUNS / batch; i++)
		sum += run(p, frame, length, batch);
	return sum / (TC_RUNS / batch);
}

static void measure_all(const struct program programs[2])
{
	for (unsigned round = 0; round < ROUNDS; round++)
		for (unsigned i = 0; i < array_size(rows); i++)
			for (unsigned k = 0; k < 2; k++) {
				double ns = measure(&rows[i], &programs[k]);

				if (!round || ns < rows[i].least_ns[k])
					rows[i].least_ns[k] = ns;
			}
}

int main(void)
{
	struct steer_bpf *xdp = steer_bpf__open();
	struct steer_tc_bpf *tc = steer_tc_bpf__open();
	struct program programs[2] = { 0 };
	cpu_set_t here;

	CPU_ZERO(&here);
	CPU_SET(sched_getcpu(), &here);
	sched_setaffinity(0, sizeof here, &here);
	int error = load_xdp(&programs[0], xdp);
	if (!error)
		error = load_tc(&programs[1], tc);
	if (error)
		return trouble("load (root?)", -error);
	measure_all(programs);
	printf("%-40s %8s %8s\n", "", "XDP", "tc");
	for (unsigned i = 0; i < array_size(rows); i++)
		printf("%-40s %5.0f ns %5.0f ns\n", rows[i].name, rows[i].least_ns[0],
		       rows[i].least_ns[1]);
	steer_bpf__destroy(xdp);
	steer_tc_bpf__destroy(tc);
	return 0;
}
