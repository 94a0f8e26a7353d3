// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_tc.c - the tc program on a real interface: what a test run cannot bring
 *
 * Model    A tap device of several queues in a network namespace of this process, with
 *          the program at its ingress. What is written to the tap has come by the wire: by
 *          a queue, with a tag that the kernel takes off, in fragments, cut at any length.
 *          It has been judged when write() returns. Each frame that the responder has is
 *          a record in the ring of its queue; counters say the rest.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>
#include "tap.h"
#include "dut.h"

enum { QUEUES = 4, LONGEST = FRAME_ROOM - WIRE_VLAN_LEN };

/* --- the interface ------------------------------------------------------------- */

struct device {
	int fd[QUEUES];
	unsigned ifindex;
};

static int tap_open(const char *name, int flags)
{
	struct ifreq r = { .ifr_flags = (short)(IFF_TAP | IFF_NO_PI | flags) };
	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);

	strncpy(r.ifr_name, name, sizeof r.ifr_name - 1);
	if (fd >= 0 && ioctl(fd, TUNSETIFF, &r)) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool attach(unsigned ifindex)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)ifindex, .attach_point = BPF_TC_INGRESS);
	LIBBPF_OPTS(bpf_tc_opts, opts, .prog_fd = bpf_program__fd(dut.skel->progs.HOOK_PROGRAM));

	bpf_tc_hook_create(&hook);
	opts.flags = BPF_TC_F_REPLACE, opts.handle = 1, opts.priority = 1;
	return !bpf_tc_attach(&hook, &opts);
}

/* NULL, or why there is none. */
static const char *device_open(struct device *d, const char *name, unsigned queues, int flags)
{
	struct ifreq r = { .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	for (unsigned q = 0; q < queues; q++) {
		d->fd[q] = tap_open(name, flags | (queues > 1 ? IFF_MULTI_QUEUE : 0));
		if (d->fd[q] < 0)
			return "no tap device (CONFIG_TUN, /dev/net/tun)";
	}
	strncpy(r.ifr_name, name, sizeof r.ifr_name - 1);
	must(!ioctl(fd, SIOCSIFFLAGS, &r));
	close(fd);
	d->ifindex = if_nametoindex(name);
	return NULL;
}

/* --- what came of a frame --------------------------------------------------------- */

static struct hook_ring ring[QUEUES];

static void set_rings(unsigned queues)
{
	for (uint32_t q = 0; q < QUEUES; q++) {
		int map = bpf_map__fd(dut.skel->maps.frames_q);
		if (q < queues)
			must(!bpf_map_update_elem(map, &q, &ring[q].map, 0));
		else
			bpf_map_delete_elem(map, &q);
		dut.filled[q] = q < queues;
	}
}

/* The only counter that rose, by one; STATS_COUNT: none or more. */
static uint32_t put(int fd, const struct iovec *parts, int n)
{
	uint64_t before[OUR_COUNTERS], after[OUR_COUNTERS];

	sum_counters(before);
	if (writev(fd, parts, n) < 0)
		return STATS_COUNT;
	sum_counters(after);
	return only_risen(before, after);
}

/* In two parts, of which the first is linear; or in one. */
static uint32_t put_split(int fd, const uint8_t *frame, size_t length, size_t first)
{
	struct iovec parts[2] = {
		{ .iov_base = (void *)frame, .iov_len = first },
		{ .iov_base = (void *)(frame + first), .iov_len = length - first },
	};

	return put(fd, parts, first < length ? 2 : 1);
}

static uint32_t put_whole(int fd, const uint8_t *frame, size_t length)
{
	return put_split(fd, frame, length, length);
}

/* One record came in the ring of queue q, and none in another: the frame as it was. */
static bool came(unsigned q, const uint8_t *frame, size_t length)
{
	bool good = true;

	for (unsigned i = 0; i < QUEUES; i++)
		good = hook_ring_take(&ring[i]) == (i == q) && good;
	return good && ring[q].sound && ring[q].last.queue == q && ring[q].last.len == length &&
	       !memcmp(ring[q].data, frame, length);
}

static bool none_came(void)
{
	unsigned records = 0;

	for (unsigned i = 0; i < QUEUES; i++)
		records += hook_ring_take(&ring[i]);
	return !records;
}

static bool judged(uint32_t counter, uint32_t want, unsigned q, const uint8_t *frame, size_t length)
{
	bool here = want == STATS_xdp_redirected ? came(q, frame, length) : none_came();

	if (counter == want && here)
		return true;
	printf("#   %zu bytes: counter %s, wanted %s; record of queue %u %s\n", length,
	       counter < STATS_COUNT ? counter_names[counter] : "(not exactly one)",
	       counter_names[want], q, here ? "as expected" : "not as expected");
	return false;
}

/* --- tags ----------------------------------------------------------------------------- */

static void test_tags(const struct device *d)
{
	static const struct {
		const char *name;
		struct frame frame;
		uint32_t counter;
	} cases[] = {
		{ "no tag", { .flags = ACK }, STATS_xdp_redirected },
		{ "802.1Q", { .tag = { WIRE_TYPE_VLAN }, .flags = ACK }, STATS_xdp_redirected },
		{ "802.1Q, IPv6",
		  { .v6 = true, .tag = { WIRE_TYPE_VLAN }, .flags = SYN },
		  STATS_xdp_redirected },
		{ "802.1Q, other port",
		  { .tag = { WIRE_TYPE_VLAN }, .port = 22 },
		  STATS_xdp_pass_port },
		{ "802.1Q, options",
		  { .tag = { WIRE_TYPE_VLAN }, .ihl = 6, .flags = ACK },
		  STATS_xdp_drop_options },
		{ "802.1ad", { .tag = { WIRE_TYPE_QINQ }, .flags = ACK }, STATS_xdp_pass_other },
		{ "802.1Q twice",
		  { .tag = { WIRE_TYPE_VLAN, WIRE_TYPE_VLAN }, .flags = ACK },
		  STATS_xdp_pass_other },
		{ "802.1ad, 802.1Q",
		  { .tag = { WIRE_TYPE_QINQ, WIRE_TYPE_VLAN }, .flags = ACK },
		  STATS_xdp_pass_other },
		{ "802.1Q, 802.1ad",
		  { .tag = { WIRE_TYPE_VLAN, WIRE_TYPE_QINQ }, .flags = ACK },
		  STATS_xdp_pass_other },
	};
	static const uint16_t tcis[] = { 0, 7, 0x0fff, 0x1000, 0xe001, 0xffff };
	uint8_t frame[FRAME_MAX];

	for (unsigned i = 0; i < array_size(cases); i++) {
		size_t length = frame_build(frame, &cases[i].frame);
		bool good = true;
		for (unsigned t = 0; t < array_size(tcis); t++) {
			if (cases[i].frame.tag[0])
				put_be16(frame + WIRE_ETH_LEN, tcis[t]);
			good = judged(put_whole(d->fd[0], frame, length), cases[i].counter, 0,
				      frame, length) &&
			       good;
		}
		ok(good, "tag: %s: %s", cases[i].name, counter_names[cases[i].counter]);
	}
}

/* --- queues ----------------------------------------------------------------------------- */

static void test_queues(const struct device *d)
{
	uint8_t frame[FRAME_MAX];
	size_t length = frame_build(frame, &(struct frame){ .flags = ACK });

	for (unsigned q = 0; q < QUEUES; q++)
		ok(judged(put_whole(d->fd[q], frame, length), STATS_xdp_redirected, q, frame,
			  length),
		   "queue %u: in its ring", q);
	set_rings(QUEUES - 1);
	ok(judged(put_whole(d->fd[QUEUES - 1], frame, length), STATS_xdp_pass_queue, 0, frame,
		  length),
	   "queue %u: passed when it has no ring", QUEUES - 1);
	set_rings(QUEUES);
}

/* The frames of a queue go by the heartbeat of the thread that has it, q % threads. */
static void test_threads(const struct device *d, uint32_t threads)
{
	struct steer_config told = told_of(UP_AHEAD, threads);
	uint8_t frame[FRAME_MAX];
	size_t length = frame_build(frame, &(struct frame){ .flags = SYN });
	uint32_t key = 0;

	must(!load(&told));
	set_rings(QUEUES);
	must(attach(d->ifindex));
	for (uint32_t t = 0; t < threads; t++) {
		struct steer_live live = { .ready = 1 };
		bool good = true;
		for (uint32_t i = 0; i < IO_THREADS_MAX; i++)
			live.io[i].heartbeat_ns = 2; /* a moment after boot */
		live.io[t].heartbeat_ns = (now_ns() + HOUR) & ~1ull;
		must(!bpf_map_update_elem(bpf_map__fd(dut.skel->maps.live), &key, &live, 0));
		for (uint32_t q = 0; q < QUEUES; q++)
			good = judged(put_whole(d->fd[q], frame, length),
				      q % threads == t ? STATS_xdp_redirected :
							 STATS_xdp_pass_stalled,
				      q, frame, length) &&
			       good;
		ok(good, "%u threads, only thread %u beats: its queues alone", threads, t);
	}
}

/* --- lengths ---------------------------------------------------------------------------- */

/* Padding behind a datagram: as long as wanted. */
static void test_lengths(const struct device *d)
{
	static uint8_t frame[HOOK_FRAME_MAX];
	static const struct {
		uint32_t length, counter;
	} cases[] = {
		{ 60, STATS_xdp_redirected },
		{ PACKET_SHORT - WIRE_VLAN_LEN, STATS_xdp_redirected },
		{ PACKET_SHORT - WIRE_VLAN_LEN + 1, STATS_xdp_redirected },
		{ 1514, STATS_xdp_redirected },
		{ LONGEST, STATS_xdp_redirected },
		{ LONGEST + 1, STATS_xdp_drop_large },
		{ 4000, STATS_xdp_drop_large },
	};

	for (unsigned i = 0; i < array_size(cases) * 2; i++) {
		uint32_t length = cases[i / 2].length, counter = cases[i / 2].counter;
		bool tagged = i % 2;
		struct frame f = { .flags = ACK, .tag = { tagged ? WIRE_TYPE_VLAN : 0 } };
		size_t built = frame_build(frame, &f), whole = length + 4 * tagged;
		for (size_t b = built; b < sizeof frame; b++)
			frame[b] = (uint8_t)(b * 7);
		ok(judged(put_whole(d->fd[0], frame, whole), counter, 0, frame, whole),
		   "%u bytes%s: %s", length, tagged ? " and a tag" : "", counter_names[counter]);
	}
	frame_build(frame, &(struct frame){ .port = 22 });
	ok(judged(put_whole(d->fd[0], frame, 4000), STATS_xdp_pass_port, 0, frame, 4000),
	   "4000 bytes to another port: passed");
}

/* Cut within the IP header too. Behind a tag the kernel itself wants two bytes. */
static void test_cut(const struct device *d)
{
	static const struct frame frames[] = {
		{ .flags = ACK },
		{ .v6 = true, .flags = ACK },
		{ .tag = { WIRE_TYPE_VLAN }, .flags = ACK },
		{ .v6 = true, .flags = ACK, .exts = 1, .ext = { WIRE_IP6_DESTINATION } },
	};
	uint8_t frame[FRAME_MAX];

	for (unsigned i = 0; i < array_size(frames); i++) {
		size_t length = frame_build(frame, &frames[i]), cut = length;
		bool good = true;
		while (good && --cut > WIRE_ETH_LEN + (frames[i].tag[0] ? WIRE_VLAN_LEN + 1 : 0))
			good = judged(put_whole(d->fd[0], frame, cut), STATS_xdp_pass_short, 0,
				      frame, cut);
		ok(good, "cut frame %u of %zu: short at every length", i, array_size(frames));
	}
}

/* --- a full ring -------------------------------------------------------------------------- */

static void test_full(const struct device *d, size_t length, unsigned fit)
{
	enum { MORE = 20 };
	static uint8_t frame[HOOK_FRAME_MAX];
	unsigned given = 0, lost = 0;

	frame_build(frame, &(struct frame){ .flags = ACK });
	for (unsigned round = 0; round < 3; round++) {
		given = lost = 0;
		for (unsigned i = 0; i < fit + MORE; i++) {
			uint32_t counter = put_whole(d->fd[0], frame, length);
			given += counter == STATS_xdp_redirected;
			lost += counter == STATS_xdp_drop_ring;
		}
		ok(given + 1 >= fit && given + lost == fit + MORE,
		   "%zu bytes: a full ring drops the rest", length);
		is(hook_ring_take(&ring[0]), given, "%zu bytes: and all others are there", length);
	}
}

/* The verdict on the last of so many, by a test run: a real interface does not show it. */
static uint32_t verdict_of(const uint8_t *frame, size_t length, unsigned times)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = (uint32_t)length,
		    .repeat = (int)times);

	must(!bpf_prog_test_run_opts(bpf_program__fd(dut.skel->progs.HOOK_PROGRAM), &opts));
	return opts.retval;
}

static void test_verdicts(void)
{
	static uint8_t frame[HOOK_FRAME_MAX];
	unsigned fit = FRAMES_RING_BYTES / (8 + 24 + PACKET_SHORT);

	frame_build(frame, &(struct frame){ .flags = ACK });
	is(verdict_of(frame, 60, fit + 20), TC_ACT_SHOT,
	   "no room in the ring: the kernel does not"
	   " get the frame");
	ok(hook_ring_take(&ring[0]) <= fit, "and there is no record of it");
	is(verdict_of(frame, LONGEST + 1, 1), TC_ACT_SHOT,
	   "too long: the kernel does not get the frame");
	ok(none_came(), "and there is no record of it");
}

/* --- fragments ----------------------------------------------------------------------------- */

/* Whatever a driver left linear, the judgement is the same. */
static void test_fragments(void)
{
	static const char much[700] = "POST /compute HTTP/1.1";
	static const struct {
		const char *name;
		struct frame frame;
		uint32_t counter;
	} cases[] = {
		{ "data", { .flags = ACK }, STATS_xdp_redirected },
		{ "data, IPv6", { .v6 = true, .flags = ACK }, STATS_xdp_redirected },
		{ "more data than is made linear",
		  { .flags = ACK, .data = much, .data_len = sizeof much },
		  STATS_xdp_redirected },
		{ "in a VLAN", { .tag = { WIRE_TYPE_VLAN }, .flags = ACK }, STATS_xdp_redirected },
		{ "options", { .ihl = 15, .flags = ACK }, STATS_xdp_drop_options },
		{ "IPv6, options",
		  { .v6 = true, .exts = 1, .ext = { 60 }, .ext_len = 2, .flags = ACK },
		  STATS_xdp_drop_options },
		{ "other port", { .port = 22, .flags = ACK }, STATS_xdp_pass_port },
		{ "IPv6, UDP", { .v6 = true, .proto = 17 }, STATS_xdp_pass_proto },
		{ "length beyond the frame",
		  { .flags = ACK, .length_off = 1 },
		  STATS_xdp_pass_short },
	};
	struct device d;
	uint8_t frame[FRAME_MAX];
	const char *why = device_open(&d, "frags0", 1, IFF_NAPI | IFF_NAPI_FRAGS);

	if (why) {
		skip("frames in fragments", why);
		return;
	}
	must(attach(d.ifindex));
	for (unsigned i = 0; i < array_size(cases); i++) {
		size_t length = frame_build(frame, &cases[i].frame), first = length;
		bool good = true;
		while (good && --first >= WIRE_ETH_LEN)
			good = judged(put_split(d.fd[0], frame, length, first), cases[i].counter, 0,
				      frame, length);
		if (!ok(good, "in fragments: %s: %s, wherever they part", cases[i].name,
			counter_names[cases[i].counter]))
			printf("#   %zu bytes linear\n", first);
	}
	close(d.fd[0]);
}

static void test_interface(void)
{
	struct device d;
	const char *why = device_open(&d, "tap0", QUEUES, 0);

	if (!why && !attach(d.ifindex))
		why = "no clsact (CONFIG_NET_SCH_INGRESS, CONFIG_NET_CLS_BPF)";
	if (why) {
		skip("the tc program on an interface", why);
		return;
	}
	test_tags(&d);
	test_queues(&d);
	test_lengths(&d);
	test_cut(&d);
	test_full(&d, 60, FRAMES_RING_BYTES / (8 + 24 + PACKET_SHORT));
	test_full(&d, 1514, FRAMES_RING_BYTES / (8 + 24 + FRAME_ROOM));
	test_fragments();
	for (uint32_t threads = 2; threads <= QUEUES; threads++)
		test_threads(&d, threads);
	for (unsigned q = 0; q < QUEUES; q++)
		close(d.fd[q]);
}

int main(void)
{
	libbpf_set_print(silent);
	const char *why = prepare();
	if (why) {
		skip("the tc program on an interface", why);
		return done();
	}
	for (unsigned q = 0; q < QUEUES; q++)
		must(hook_ring_open(&ring[q]));
	must(!enter(UP, false));
	set_rings(QUEUES);
	test_verdicts();
	test_interface();
	unload();
	return done();
}
