// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_steer.c - the program against its fixtures, by BPF_PROG_TEST_RUN, at either hook
 *
 * Model    The program is loaded and run, never attached. Everything is in a
 *          network namespace of this process and goes with it: the loopback
 *          interface that test runs come in by, and real sockets for the
 *          program to find. Each fixture is run whole and cut at every length.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "tap.h"
#include "dut.h"
#include "guard_cases.h"
#include "icmp_fixtures.h"

static bool agrees(const struct outcome *o, uint32_t verdict, uint32_t counter)
{
	uint32_t meta = verdict == XDP_REDIRECT ? sizeof(struct steer_meta) : 0;
	return o->verdict == verdict && o->counter == counter && o->meta == meta && o->intact;
}

static void show(const struct outcome *o)
{
	printf("#   verdict %u, counter %s, %u bytes of metadata, frame %s\n", o->verdict,
	       o->counter < STATS_COUNT ? counter_names[o->counter] : "(not exactly one)", o->meta,
	       o->intact ? "intact" : "changed");
}

/* --- fixtures -------------------------------------------------------------------- */

static bool judged_by_header(enum stats_index counter)
{
	return counter == STATS_xdp_pass_other || counter == STATS_xdp_pass_proto ||
	       counter == STATS_xdp_pass_fragment;
}

/* Cut inside the datagram it passes: as short, or for what its start already
 * tells. Cut behind the datagram nothing changes. */
static bool cut_agrees(const struct fixture *f, size_t cut, size_t whole, const struct outcome *o)
{
	if (cut >= whole)
		return agrees(o, f->verdict, f->counter);
	return agrees(o, XDP_PASS, STATS_xdp_pass_short) ||
	       (judged_by_header(f->counter) && agrees(o, f->verdict, f->counter));
}

static void test_fixture(const struct fixture *f)
{
	uint8_t frame[FRAME_MAX];
	size_t length = frame_build(frame, &f->frame);
	size_t whole = length - f->frame.pad;
	if (f->frame.length_off < 0)
		whole -= (size_t)-f->frame.length_off;

	if (enter(f->in, false)) {
		ok(false, "%s: program and maps", f->name);
		return;
	}
	struct outcome o = run(frame, length);
	if (!ok(agrees(&o, f->verdict, f->counter), "%s: %s", f->name, counter_names[f->counter]))
		show(&o);

	size_t cut = length;
	bool good = true;
	while (good && --cut >= hook_cut_min(frame)) {
		o = run(frame, cut);
		good = cut_agrees(f, cut, whole, &o);
	}
	if (!ok(good, "%s: cut at every length", f->name)) {
		printf("#   cut at %zu of %zu\n", cut, length);
		show(&o);
	}
}

/* --- ICMP errors ----------------------------------------------------------------- */

static struct icmp_event event_of(const struct icmp_fixture *x)
{
	bool v6 = x->outer.v6;
	struct icmp_event e = { .remote_port = FRAME_CLIENT_PORT,
				.local_port = FRAME_PORT,
				.seq = QUOTED_SEQ,
				.mtu = x->mtu,
				.family = v6 ? 6 : 4 };
	map_addr4(e.local, frame_addr4);
	map_addr4(e.remote, frame_client4);
	if (v6) {
		memcpy(e.local, frame_addr6, 16);
		memcpy(e.remote, frame_client6, 16);
	}
	return e;
}

/* Passed, and told or not; what was told is what the router quoted. */
static bool icmp_agrees(const struct icmp_fixture *x, const struct outcome *o, bool told)
{
	struct icmp_event e, want = event_of(x);
	bool came = icmp_take(&dut.icmp, &e);
	return o->verdict == XDP_PASS && !o->meta && o->intact && o->counter < STATS_COUNT &&
	       o->told == told && !o->lost && came == told &&
	       (!told || !memcmp(&e, &want, sizeof e));
}

static void test_icmp(const struct icmp_fixture *x)
{
	uint8_t frame[FRAME_MAX];
	size_t length = icmp_build(frame, x), cut = length, whole = length - x->outer.pad;
	if (enter(x->in, false)) {
		ok(false, "ICMP: %s: program and maps", x->name);
		return;
	}
	struct outcome o = run(frame, length);
	if (!ok(icmp_agrees(x, &o, x->told), "ICMP: %s: %s", x->name,
		x->told ? "told" : "not told"))
		show(&o);
	bool good = true;
	while (good && --cut >= hook_cut_min(frame)) {
		o = run(frame, cut);
		good = icmp_agrees(x, &o, x->told && cut >= whole - x->more);
	}
	if (!ok(good, "ICMP: %s: cut at every length", x->name))
		printf("#   cut at %zu of %zu\n", cut, length);
}

/* Nobody takes: the ring fills, the rest is counted; when it is empty it goes on. */
static void test_icmp_full(void)
{
	enum { FIT = ICMP_RING_BYTES / (8 + sizeof(struct icmp_event)), MORE = 30 };
	uint8_t frame[FRAME_MAX];
	size_t length = icmp_build(frame, &icmp_fixtures[0]);
	struct icmp_event e, want = event_of(&icmp_fixtures[0]);
	must(!enter(UP, false));
	for (unsigned round = 0; round < 3; round++) {
		uint64_t told = 0, lost = 0, taken = 0, right = 0;
		for (unsigned i = 0; i < FIT + MORE; i++) {
			struct outcome o = run(frame, length);
			told += o.told;
			lost += o.lost;
		}
		while (icmp_take(&dut.icmp, &e)) {
			taken++;
			right += !memcmp(&e, &want, sizeof e);
		}
		ok(told + 1 >= FIT && told + lost == FIT + MORE,
		   "ICMP: a full ring loses the rest");
		ok(taken == told && right == told, "ICMP: and all that was told is there");
	}
	ok(!icmp_pending(&dut.icmp), "ICMP: nothing is left");
}

static void test_stamp(void)
{
	uint8_t frame[FRAME_MAX];
	size_t length = frame_build(frame, &(struct frame){ .flags = ACK });
	must(!enter(UP, false));
	uint64_t before = now_ns();
	struct outcome o = run(frame, length);
	uint64_t after = now_ns();
	is(o.meta, sizeof(struct steer_meta), "a redirected frame carries a stamp");
	ok(o.stamp.stamp_ns >= before && o.stamp.stamp_ns <= after,
	   "the stamp is CLOCK_MONOTONIC, taken while the program ran");
}

/* The test stays on one CPU: of all blocks only that one's may be touched. */
static void test_blocks(void)
{
	static const struct stats_block none;
	uint32_t ours = CPU_BLOCK + (uint32_t)sched_getcpu();
	for (uint32_t b = 0; b < dut.blocks; b++) {
		bool touched = memcmp(&dut.counters[b], &none, sizeof none);
		ok(touched == (b == ours), "block %u of the counters", b);
	}
}

/* --- threads ----------------------------------------------------------------------- */

/* The frames of a queue go by the heartbeat of the thread that has it, q % threads. */
static void test_thread(uint32_t ifindex, uint32_t threads, uint32_t queue, uint32_t live_one)
{
	struct steer_config told = told_of(UP_AHEAD, threads);
	struct steer_live live = { .ready = 1 };
	uint8_t frame[FRAME_MAX];
	size_t length = frame_build(frame, &(struct frame){ .flags = SYN });
	bool alive = queue % threads == live_one;
	uint32_t key = 0;

	for (uint32_t t = 0; t < IO_THREADS_MAX; t++)
		live.io[t].heartbeat_ns = 2; /* a moment after boot */
	live.io[live_one].heartbeat_ns = (now_ns() + HOUR) & ~1ull;
	if (load(&told) || bpf_map_update_elem(bpf_map__fd(dut.skel->maps.live), &key, &live, 0)) {
		ok(false, "%u threads: program and maps", threads);
		return;
	}
	set_slot(queue, true);
	struct outcome o = run_as(&(struct arrival){
		.frame = frame, .length = length, .ifindex = ifindex, .queue = queue });
	if (!ok(alive ? agrees(&o, XDP_REDIRECT, STATS_xdp_redirected) :
			agrees(&o, XDP_PASS, STATS_xdp_pass_stalled),
		"%u threads, only thread %u beats, queue %u: %s", threads, live_one, queue,
		alive ? "redirected" : "passed"))
		show(&o);
	set_slot(queue, false);
}

/* An interface of our own: the kernel takes a queue number only where it is in use. */
static void test_threads(void)
{
	if (system("ip link add four0 numrxqueues 4 numtxqueues 4 type veth peer name four1 && "
		   "ip link set four0 up && ip link set four1 up")) {
		skip("heartbeats of several threads", "no veth");
		return;
	}
	uint32_t ifindex = if_nametoindex("four0");
	for (uint32_t threads = 2; threads <= 4; threads++)
		for (uint32_t queue = 0; queue < 4; queue++)
			for (uint32_t t = 0; t < threads; t++)
				test_thread(ifindex, threads, queue, t);
}

/* --- the kernel's connections ------------------------------------------------------ */

/* A listener on the port and connections to it, over loopback. */
struct kernel {
	bool v6;
	int listener;
	struct sockaddr_storage at;
	socklen_t at_size;
};

static bool kernel_listen(struct kernel *k, bool v6)
{
	struct sockaddr_in a4 = { .sin_family = AF_INET,
				  .sin_port = htons(FRAME_PORT),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 a6 = { .sin6_family = AF_INET6,
				   .sin6_port = htons(FRAME_PORT),
				   .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	k->v6 = v6;
	k->at_size = v6 ? sizeof a6 : sizeof a4;
	memcpy(&k->at, v6 ? (void *)&a6 : (void *)&a4, k->at_size);
	k->listener = socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return k->listener >= 0 && !bind(k->listener, (void *)&k->at, k->at_size) &&
	       !listen(k->listener, 8);
}

/* Connect, and make a frame's description of what the client would send. */
static int kernel_connect(const struct kernel *k, struct frame *f)
{
	static struct sockaddr_storage from;
	socklen_t size = sizeof from;
	int client = socket(k->v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (client < 0 || connect(client, (void *)&k->at, k->at_size) ||
	    getsockname(client, (void *)&from, &size))
		return -1;
	const struct sockaddr_in *a4 = (void *)&from, *to4 = (void *)&k->at;
	const struct sockaddr_in6 *a6 = (void *)&from, *to6 = (void *)&k->at;
	*f = (struct frame){ .v6 = k->v6, .flags = ACK };
	f->src = k->v6 ? (void *)&a6->sin6_addr : (void *)&a4->sin_addr;
	f->dst = k->v6 ? (void *)&to6->sin6_addr : (void *)&to4->sin_addr;
	f->src_port = ntohs(a4->sin_port);
	return client;
}

static void expect(const struct kernel *k, const char *name, struct frame f, enum situation in,
		   bool kernel_flows, uint32_t verdict, enum stats_index counter)
{
	uint8_t frame[FRAME_MAX];
	size_t length = frame_build(frame, &f);
	const char *ip = k->v6 ? "IPv6" : "IPv4";
	if (enter(in, kernel_flows)) {
		ok(false, "%s: %s: program and maps", ip, name);
		return;
	}
	struct outcome o = run(frame, length);
	if (!ok(agrees(&o, verdict, counter), "%s: %s: %s", ip, name, counter_names[counter]))
		show(&o);
}

static struct frame with(struct frame f, uint8_t flags)
{
	f.flags = flags;
	return f;
}

static struct frame with_options(struct frame f)
{
	if (!f.v6)
		f.ihl = 6;
	f.ext[f.exts++] = WIRE_IP6_DESTINATION;
	return f;
}

static struct frame first_fragment(struct frame f)
{
	f.frag = f.v6 ? WIRE_IP6_MORE : WIRE_IP4_MF;
	f.ext[f.exts++] = WIRE_IP6_FRAGMENT;
	return f;
}

#define PASS(why) XDP_PASS, STATS_xdp_pass_##why
#define OURS XDP_REDIRECT, STATS_xdp_redirected
#define STRAY XDP_DROP, STATS_xdp_drop_stray

static void test_established(const struct kernel *k)
{
	struct frame f;
	int client = kernel_connect(k, &f), server = accept(k->listener, NULL, NULL);
	if (!ok(client >= 0 && server >= 0, "the kernel has a connection on the port"))
		return;
	struct frame other = f;
	other.src_port ^= 1; /* finds the listener alone */

	expect(k, "its data while the kernel has connections", f, UP, true, PASS(kernel));
	expect(k, "its FIN", with(f, FIN | ACK), UP, true, PASS(kernel));
	expect(k, "its RST", with(f, RST), UP, true, PASS(kernel));
	expect(k, "SYN on it", with(f, SYN), UP, true, PASS(kernel));
	expect(k, "its data with options", with_options(f), UP, true, PASS(kernel));
	expect(k, "the same when the kernel is said to have none", with_options(f), UP, false,
	       PASS(kernel));
	expect(k, "its first fragment", first_fragment(f), UP, false, PASS(kernel));
	expect(k, "options of nobody", with_options(other), UP, false, XDP_DROP,
	       STATS_xdp_drop_options);
	expect(k, "first fragment of nobody", first_fragment(other), UP, true, XDP_DROP,
	       STATS_xdp_drop_fragment);
	expect(k, "data of nobody", other, UP, true, OURS);
	expect(k, "a new SYN", with(other, SYN), UP, true, OURS);
	expect(k, "its data when the kernel is said to have none", f, UP, false, OURS);
	expect(k, "its data while not ready", f, UNREADY, false, PASS(unready));
	expect(k, "its data while stalled", f, STALLED, false, PASS(stalled));
	expect(k, "data of nobody while not ready", other, UNREADY, true, STRAY);
	expect(k, "data of nobody while stalled", other, STALLED, true, STRAY);

	close(server); /* first: TIME-WAIT is then the server's */
	char byte;
	ok(read(client, &byte, 1) == 0, "the server closed");
	close(client);
	expect(k, "a late segment for its TIME-WAIT", f, UP, true, PASS(kernel));
	expect(k, "the same while stalled", f, STALLED, false, PASS(stalled));
}

/* With TCP_DEFER_ACCEPT the handshake is not complete before data comes. */
static void test_half_open(const struct kernel *k)
{
	int on = 60;
	struct frame f;
	if (!ok(!setsockopt(k->listener, IPPROTO_TCP, TCP_DEFER_ACCEPT, &on, sizeof on),
		"the listener waits for data"))
		return;
	int client = kernel_connect(k, &f);
	ok(client >= 0, "the kernel has a half-open connection");
	expect(k, "first data on it", f, UP, true, PASS(kernel));
	expect(k, "the same while not ready", f, UNREADY, false, PASS(unready));
	close(client);
}

static void test_kernel(bool v6)
{
	struct kernel k;
	if (!kernel_listen(&k, v6)) {
		skip(v6 ? "connections of the kernel, IPv6" : "connections of the kernel, IPv4",
		     "no loopback address to listen on");
		return;
	}
	test_established(&k);
	test_half_open(&k);
	close(k.listener);
}

int main(void)
{
	libbpf_set_print(silent);
	const char *why = prepare();
	if (why) {
		skip("the program against its fixtures", why);
		return done();
	}
	for (size_t i = 0; i < array_size(fixtures); i++)
		test_fixture(&fixtures[i]);
	for (size_t i = 0; i < array_size(icmp_fixtures); i++)
		test_icmp(&icmp_fixtures[i]);
	test_icmp_full();
	test_stamp();
	if (HOOK_CONTEXT)
		test_threads();
	test_guard();
	test_kernel(false);
	test_kernel(true);
	test_blocks();
	unload();
	return done();
}
