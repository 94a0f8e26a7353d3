/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The difference of two states, and then real events: what `ip` and `ethtool` do to a
 * veth in a network namespace of our own.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "netev.h"
#include "nic.h"
#include "tap.h"

static const struct netev_state usual = {
	.exists = true,
	.up = true,
	.carrier = true,
	.ifindex = 7,
	.mtu = 1500,
	.rx_queues = 2,
	.carrier_changes = 4,
	.xdp_id = 9,
	.mac = { 2, 0, 0, 0, 0, 1 },
	.addrs = 2,
	.addr = { { [15] = 1 }, { [15] = 2 } },
};

/* --- the difference ------------------------------------------------------------------- */

/* The events between two states, by their names. */
static const char *between(const struct netev_state *before, const struct netev_state *after)
{
	static char names[512];
	struct netev_state known = *before;
	struct netev_event e;
	size_t n = 0;

	names[0] = 0;
	for (int i = 0; i < 100 && netev_diff(&known, after, &e); i++)
		n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", n ? " " : "",
				      netev_name(e.kind));
	return netev_diff(&known, after, &e) ? "no end" : names;
}

#define is_text(got, want, ...) \
	({ \
		const char *got_ = (got), *want_ = (want); \
		if (!ok(!strcmp(got_, want_), __VA_ARGS__)) \
			printf("#   got %s, wanted %s\n", got_, want_); \
	})

static void test_diff(void)
{
	struct netev_state s = usual, none = { .exists = false };
	struct netev_event e;

	is_text(between(&usual, &usual), "", "no difference, no event");
	s.tx_packets = 5;
	is_text(between(&usual, &s), "", "nor for what is sent");
	s = usual, s.carrier = false, s.carrier_changes++;
	is_text(between(&usual, &s), "carrier_lost", "carrier lost");
	is_text(between(&s, &usual), "carrier_back", "and back");
	s = usual, s.carrier_changes += 2;
	is_text(between(&usual, &s), "carrier_lost carrier_back", "a flap between two looks");
	s = usual, s.up = s.carrier = false, s.carrier_changes++;
	is_text(between(&usual, &s), "admin_down", "set down: its carrier goes without saying");
	is_text(between(&s, &usual), "admin_up carrier_back", "set up");
	s = usual, s.mtu = 1400, s.mac[5] = 9, s.rx_queues = 3, s.xdp_id = 0;
	is_text(between(&usual, &s), "mac mtu rx_queues xdp", "several at once, each told");
	s = usual, s.addr[0][15] = 3, s.addr[1][15] = 1;
	is_text(between(&usual, &s), "addr_removed addr_added", "addresses are a set");
	s = usual, s.addrs = 0;
	is_text(between(&usual, &s), "addr_removed addr_removed", "all go");
	is_text(between(&s, &usual), "addr_added addr_added", "all come");
	is_text(between(&usual, &none), "deleted",
		"gone: one event, not one for each of its facts");
	is_text(between(&none, &usual), "back", "back: the same");
	s = usual, s.ifindex = 8, s.mtu = 9000;
	is_text(between(&usual, &s), "deleted back", "deleted and made anew between two looks");

	s = usual;
	for (s.addrs = 0; s.addrs < NETEV_ADDRS; s.addrs++)
		s.addr[s.addrs][15] = (uint8_t)(100 + s.addrs);
	ok(strlen(between(&usual, &s)) > 300, "as many addresses as are watched");

	s = usual, s.mtu = 1400;
	struct netev_state known = usual;
	ok(netev_diff(&known, &s, &e) && e.before == 1500 && e.after == 1400,
	   "the event has the facts");
	ok(!netev_diff(&known, &s, &e) && known.mtu == 1400, "and then they are known");
}

static enum netev_cure mtu_cure(uint32_t before, uint32_t after)
{
	struct netev_event e = { .kind = NETEV_mtu, .before = before, .after = after };

	return netev_cure(&e);
}

static void test_cure(void)
{
	static const enum netev_cure cure[] = {
		[NETEV_carrier_lost] = CURE_keep, [NETEV_carrier_back] = CURE_keep,
		[NETEV_admin_down] = CURE_keep,   [NETEV_admin_up] = CURE_keep,
		[NETEV_mac] = CURE_steer,         [NETEV_addr_added] = CURE_keep,
		[NETEV_addr_removed] = CURE_keep, [NETEV_rx_queues] = CURE_rings,
		[NETEV_xdp] = CURE_sockets,       [NETEV_deleted] = CURE_sockets,
		[NETEV_back] = CURE_open,
	};
	char text[NETEV_TEXT];

	for (enum netev_kind k = 0; k <= NETEV_back; k++) {
		struct netev_event e = { .kind = k, .before = 1500, .after = 9000 };

		if (k != NETEV_mtu)
			is(netev_cure(&e), cure[k], "%s: its cure", netev_name(k));
		ok(*netev_text(&e, "eth0", text) && strlen(text) < NETEV_TEXT - 1,
		   "%s: and what is said fits: %s", netev_name(k), text);
	}
	is(mtu_cure(1500, 1400), CURE_mtu, "a smaller MTU");
	is(mtu_cure(1400, NIC_MTU_MAX), CURE_mtu, "the largest one");
	is(mtu_cure(1500, NIC_MTU_MAX + 1), CURE_pause, "one too large");
	is(mtu_cure(1500, NIC_MTU_MIN - 1), CURE_pause, "one too small");
	is(mtu_cure(9000, 65000), CURE_pause, "from one too large to another");
	is(mtu_cure(9000, 1500), CURE_resume, "and back");
}

/* --- real events ------------------------------------------------------------------------ */

enum { PATIENCE_MS = 5000 };

static struct netev n;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Addresses that the kernel makes of itself come when they like. */
static bool is_noise(const struct netev_event *e)
{
	return (e->kind == NETEV_addr_added || e->kind == NETEV_addr_removed) &&
	       e->addr[0] == 0xfe && e->addr[1] == 0x80;
}

/* The next event, as the starter waits for it: by the descriptor, and each second. */
static bool wait_event(struct netev_event *e)
{
	struct pollfd p = { .fd = netev_fd(&n), .events = POLLIN };
	uint64_t end_ns = now_ns() + PATIENCE_MS * (uint64_t)NS_PER_MS;

	do {
		while (netev_next(&n, now_ns(), e))
			if (!is_noise(e))
				return true;
		poll(&p, 1, 1000);
	} while (now_ns() < end_ns);
	return false;
}

static struct netev_event e;

static void expect(enum netev_kind kind, const char *name)
{
	bool came = wait_event(&e);

	ok(came && e.kind == kind, "%s", name);
	if (!came || e.kind != kind)
		printf("#   got %s, wanted %s\n", came ? netev_name(e.kind) : "nothing",
		       netev_name(kind));
}

static void run(const char *command)
{
	char line[512];

	snprintf(line, sizeof line, "{ %s; } > /dev/null 2>&1", command);
	if (system(line))
		ok(false, "%s", command);
}

#define MAKE_VETH \
	"ip link add ours mtu 1500 numrxqueues 2 numtxqueues 2 type veth peer name peer && " \
	"ip link set ours address 02:00:00:00:00:05 && ip link set ours up && ip link set peer up"

static void test_link(void)
{
	static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 6 };

	run("ip link set peer down");
	expect(NETEV_carrier_lost, "the peer goes down: carrier lost");
	run("ip link set peer up");
	expect(NETEV_carrier_back, "and back");
	run("ip link set peer down; ip link set peer up");
	expect(NETEV_carrier_lost, "the peer flaps before we look: lost");
	expect(NETEV_carrier_back, "and back");
	run("ip link set ours down");
	expect(NETEV_admin_down, "set down");
	run("ip link set ours up");
	expect(NETEV_admin_up, "set up");
	expect(NETEV_carrier_back, "with its carrier");
	run("ip link set ours mtu 1400");
	expect(NETEV_mtu, "MTU changed");
	ok(e.before == 1500 && e.after == 1400, "from 1500 to 1400");
	run("ip link set ours address 02:00:00:00:00:06");
	expect(NETEV_mac, "MAC changed");
	ok(!memcmp(e.mac, mac, 6), "to the new one");
}

static void test_addresses(void)
{
	static const uint8_t four[16] = { [10] = 0xff, 0xff, 192, 0, 2, 1 };
	uint8_t six[16];

	inet_pton(AF_INET6, "2001:db8::1", six);
	run("ip addr add 192.0.2.1/24 dev ours");
	expect(NETEV_addr_added, "IPv4 address added");
	ok(!memcmp(e.addr, four, 16), "that one");
	run("ip addr add 2001:db8::1/64 dev ours nodad");
	expect(NETEV_addr_added, "IPv6 address added");
	ok(!memcmp(e.addr, six, 16), "that one");
	run("ip addr change 2001:db8::1/64 dev ours valid_lft 1000 preferred_lft 500");
	run("ip addr del 192.0.2.1/24 dev ours");
	expect(NETEV_addr_removed, "new lifetimes are no event; IPv4 address removed is one");
	ok(!memcmp(e.addr, four, 16), "that one");
}

static void test_queues(void)
{
	if (system("ethtool -L ours rx 2 > /dev/null 2>&1")) {
		skip("RX queues", "no ethtool that knows -L");
		return;
	}
	expect(NETEV_carrier_lost, "ethtool -L: veth stops for it");
	expect(NETEV_carrier_back, "and goes on");
	expect(NETEV_rx_queues, "with other queues");
	ok(e.before == 1 && e.after == 2, "1 queue, then 2");
}

/* What brings no message is seen a second after the last look. */
static void test_no_bell(void)
{
	char bytes[8192];

	ok(netev_settle(&n, now_ns()), "settled");
	run("ip link set ours mtu 1390");
	while (recv(n.bell_fd, bytes, sizeof bytes, 0) > 0)
		;
	ok(!netev_next(&n, n.looked_ns + NS_PER_S - 1, &e), "no bell: no look within a second");
	ok(netev_next(&n, n.looked_ns + NS_PER_S, &e) && e.kind == NETEV_mtu,
	   "a second later there is one");
}

/* Events are lost: the socket's buffer is full of others before we look. */
static void test_overrun(void)
{
	int least = 1, error = 0;
	socklen_t size = sizeof error;

	setsockopt(netev_fd(&n), SOL_SOCKET, SO_RCVBUF, &least, sizeof least);
	run("for i in 1 2 3 4 5 6 7 8 9; do ip link set peer mtu 140$i; done; "
	    "ip link set ours mtu 1300");
	getsockopt(netev_fd(&n), SOL_SOCKET, SO_ERROR, &error, &size);
	is(error, ENOBUFS, "the socket is overrun");
	expect(NETEV_mtu, "and the change is found all the same");
	is(e.after, 1300, "as it is");
}

/* SO_ERROR took the error away above: here it is met by recv. */
static void test_overrun_again(void)
{
	run("for i in 1 2 3 4 5 6 7 8 9; do ip link set peer mtu 140$i; done; "
	    "ip link set ours mtu 1310");
	n.looked_ns = now_ns(); /* not because a second has passed */
	ok(netev_next(&n, n.looked_ns, &e) && e.kind == NETEV_mtu && e.after == 1310,
	   "ENOBUFS is a reason to look");
}

static void test_device(void)
{
	int before;

	before = (int)if_nametoindex("ours");
	run("ip link del ours");
	expect(NETEV_deleted, "deleted");
	is(e.before, before, "which it was");
	ok(!netev_next(&n, now_ns(), &e), "nothing more is told of it");
	run("ip link add other type veth peer name other2");
	ok(!netev_next(&n, now_ns(), &e), "another interface is not it");
	run(MAKE_VETH);
	expect(NETEV_back, "made anew: back");
	is(e.after, if_nametoindex("ours"), "which it is");
	while (wait_event(&e) && e.kind != NETEV_carrier_back)
		ok(e.kind == NETEV_admin_up || e.kind == NETEV_mac, "%s, as it is set up",
		   netev_name(e.kind));
	run("ip link del ours; " MAKE_VETH);
	expect(NETEV_deleted, "deleted and made anew at once: deleted");
	expect(NETEV_back, "and back");
	ok(netev_settle(&n, now_ns()), "settled");
	run("ip link set ours name theirs");
	expect(NETEV_deleted, "renamed: gone");
	run("ip link set theirs name ours");
	expect(NETEV_back, "renamed again: back");
}

static void test_settle(void)
{
	ok(netev_settle(&n, now_ns()), "settled");
	run("ip link set ours mtu 1350");
	ok(netev_settle(&n, now_ns()), "a change of our own is settled");
	ok(!netev_next(&n, now_ns(), &e) || is_noise(&e), "and no event");
	is(n.known.mtu, 1350, "but known");
}

static void test_real(void)
{
	const char *why = geteuid()                               ? "not root" :
			  unshare(CLONE_NEWNET | CLONE_NEWNS) < 0 ? "no network namespace" :
			  system(MAKE_VETH)                       ? "no veth" :
								    NULL;

	if (why) {
		skip("events of a real interface", why);
		return;
	}
	run("mount --make-rprivate /; mount -t sysfs sysfs /sys");
	run("ethtool -L ours rx 1");
	is(netev_open(&n, "nothere"), 0, "an interface that is not there can be waited for");
	ok(!n.known.exists, "it is not there");
	netev_close(&n);
	is(netev_open(&n, "ours"), 0, "watched");
	while (netev_next(&n, now_ns(), &e))
		ok(is_noise(&e) || e.kind == NETEV_carrier_back, "%s", netev_name(e.kind));
	ok(n.known.exists && n.known.up && n.known.mtu == 1500, "known from the start");
	test_link();
	test_addresses();
	test_queues();
	test_no_bell();
	test_overrun();
	test_overrun_again();
	test_settle();
	test_device();
	netev_close(&n);
}

int main(void)
{
	test_diff();
	test_cure();
	test_real();
	return done();
}
