/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dut.h - the program under test: load it, put it in a situation, run a frame
 *
 * Model    Loaded and run by BPF_PROG_TEST_RUN, never attached. A run says what
 *          the verdict was and which counters rose. hook.h says which program.
 */
#ifndef DUT_H
#define DUT_H

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "fixtures.h"
#include "hook.h"
#include "icmp.h"

_Static_assert(STATS_xdp_seen == 0, "the counters of the XDP program come first");
enum { XDP_COUNTERS = STATS_icmp_told, OUR_COUNTERS = STATS_rx_frames };
/* Blocks of others before that of CPU 0. */
enum { CPU_BLOCK = 3 };
enum { DUT_FLOWS = 4 }; /* so that a test can fill them */

static const char *const counter_names[] = {
#define X(name, help) #name,
	STATS_LIST(X)
#undef X
};

static const struct {
	uint64_t ready;
	int64_t heartbeat; /* from now; 0: never */
	uint64_t stall, grace;
} situations[] = {
#define X(name, ready, heartbeat, stall, grace) [name] = { ready, heartbeat, stall, grace },
	SITUATION_LIST(X)
#undef X
};

static struct {
	struct hook_bpf *skel;
	struct steer_config told;
	struct stats_block *counters;
	uint32_t blocks;
	struct icmp icmp;
	bool filled[QUEUES_MAX]; /* which queues have a taker */
} dut;

/* --- load ------------------------------------------------------------------- */

static int silent(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level, (void)format, (void)args;
	return 0;
}

static void unload(void)
{
	if (dut.counters)
		munmap(dut.counters, dut.blocks * sizeof *dut.counters);
	dut.counters = NULL;
	icmp_close(&dut.icmp);
	hook_bpf__destroy(dut.skel);
	dut.skel = NULL;
	memset(dut.filled, 0, sizeof dut.filled);
}

/* What the program is told is frozen at load: load again when it differs. */
static int load(const struct steer_config *told)
{
	if (dut.skel && !memcmp(told, &dut.told, sizeof *told))
		return 0;
	unload();
	dut.skel = hook_bpf__open();
	if (!dut.skel)
		return -errno;
	memcpy((void *)&dut.skel->rodata->conf, told, sizeof *told);
	dut.blocks = (uint32_t)(CPU_BLOCK + libbpf_num_possible_cpus());
	bpf_map__set_max_entries(dut.skel->maps.counters, dut.blocks);
	bpf_map__set_max_entries(dut.skel->maps.flows, DUT_FLOWS);
	bpf_map__set_autocreate(dut.skel->maps.flows, told->steer == STEER_path);
	bpf_map__set_autocreate(dut.skel->maps.syn_hints, told->steer == STEER_path);
	int error = hook_bpf__load(dut.skel);
	if (error)
		return error;
	dut.told = *told;
	dut.counters = mmap(NULL, dut.blocks * sizeof *dut.counters, PROT_READ, MAP_SHARED,
			    bpf_map__fd(dut.skel->maps.counters), 0);
	if (dut.counters == MAP_FAILED)
		return -errno;
	return icmp_open(&dut.icmp, bpf_map__fd(dut.skel->maps.icmp_ring));
}

/* A map of rings waits for RCU at each change: so only where there is one. */
static void set_slot(uint32_t queue, bool filled)
{
	int map = bpf_map__fd(dut.skel->maps.HOOK_TAKERS), taker = hook_taker();
	if (filled == dut.filled[queue])
		return;
	must(filled ? !bpf_map_update_elem(map, &queue, &taker, 0) :
		      !bpf_map_delete_elem(map, &queue));
	dut.filled[queue] = filled;
}

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static void map_addr4(uint8_t out[16], const uint8_t addr[4])
{
	memset(out, 0, 10);
	memset(out + 10, 0xff, 2);
	memcpy(out + 12, addr, 4);
}

static struct steer_config told_of(enum situation in, uint32_t threads)
{
	struct steer_config told;
	memset(&told, 0, sizeof told); /* compared whole, with its padding */
	told.version = ABI_VERSION;
	told.port = FRAME_PORT;
	put_be16(&told.port_be, FRAME_PORT);
	memcpy(told.mac, frame_mac, sizeof told.mac);
	told.stall_ns = situations[in].stall;
	told.grace_ns = situations[in].grace;
	told.io_threads = threads;
	told.cpu_block = CPU_BLOCK;
	return told;
}

/* What the responder wrote. */
static int enter_live(enum situation in, bool kernel_flows)
{
	struct steer_live live = { .ready = situations[in].ready };
	if (situations[in].heartbeat)
		live.io[0].heartbeat_ns = (now_ns() + (uint64_t)situations[in].heartbeat) & ~1ull;
	live.io[0].heartbeat_ns |= kernel_flows ? STEER_KERNEL_FLOWS : 0;
	uint32_t key = 0;
	set_slot(0, in != NO_SOCKET);
	set_slot(1, in == NO_SOCKET);
	return bpf_map_update_elem(bpf_map__fd(dut.skel->maps.live), &key, &live, 0);
}

static int enter(enum situation in, bool kernel_flows)
{
	struct steer_config told = told_of(in, 1);
	if (in == NARROW)
		map_addr4(told.addr[told.addr_count++], frame_addr4);
	if (in == NARROW || in == NARROW6)
		memcpy(told.addr[told.addr_count++], frame_addr6, 16);
	if (in == NARROW6) /* ::192.0.2.1 is not ::ffff:192.0.2.1 */
		memcpy(told.addr[told.addr_count++] + 12, frame_addr4, 4);
	int error = load(&told);
	return error ?: enter_live(in, kernel_flows);
}

/* --- run --------------------------------------------------------------------- */

static void sum_counters(uint64_t sum[OUR_COUNTERS])
{
	memset(sum, 0, OUR_COUNTERS * sizeof *sum);
	for (uint32_t b = CPU_BLOCK; b < dut.blocks; b++)
		for (uint32_t i = 0; i < OUR_COUNTERS; i++)
			sum[i] += ((volatile uint64_t *)&dut.counters[b])[i];
}

static uint32_t only_risen(const uint64_t *before, const uint64_t *after)
{
	uint32_t risen = STATS_COUNT, sum = 0;
	for (uint32_t i = STATS_xdp_seen + 1; i < XDP_COUNTERS; i++) {
		if (after[i] != before[i])
			risen = i;
		sum += (uint32_t)(after[i] - before[i]);
	}
	return sum == 1 && after[STATS_xdp_seen] - before[STATS_xdp_seen] == 1 ? risen :
										 STATS_COUNT;
}

static inline struct outcome run_as(const struct arrival *a)
{
	uint64_t before[OUR_COUNTERS], after[OUR_COUNTERS];
	struct outcome o = { .verdict = UINT32_MAX, .counter = STATS_COUNT };

	sum_counters(before);
	if (!hook_run(bpf_program__fd(dut.skel->progs.HOOK_PROGRAM), a, &o))
		return o;
	sum_counters(after);
	o.counter = only_risen(before, after);
	o.told = after[STATS_icmp_told] - before[STATS_icmp_told];
	o.lost = after[STATS_icmp_lost] - before[STATS_icmp_lost];
	return o;
}

static inline struct outcome run(const uint8_t *frame, size_t length)
{
	return run_as(&(struct arrival){ .frame = frame, .length = length });
}

/* --- where it runs ------------------------------------------------------------ */

/* NULL, or why nothing can be tested here. */
static const char *prepare(void)
{
	cpu_set_t here;
	CPU_ZERO(&here);
	CPU_SET(sched_getcpu(), &here);
	sched_setaffinity(0, sizeof here, &here);

	if (unshare(CLONE_NEWNET))
		return "no CAP_SYS_ADMIN";
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (ioctl(fd, SIOCSIFFLAGS, &lo))
		return "no CAP_NET_ADMIN";
	close(fd);

	const char *why = hook_prepare();
	if (why)
		return why;
	return enter(UP, false) == -EPERM ? "no CAP_BPF" : NULL;
}

#endif
