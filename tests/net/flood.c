// SPDX-License-Identifier: GPL-2.0-only
/*
 * flood.c - so many frames from one CPU, each of which XDP counts under a known name
 *
 * Usage    flood INTERFACE CPU FRAMES PORT SERVER_MAC; for exact.sh
 * Model    A packet socket; four kinds of frames by turns, FRAMES in all:
 *            TCP whose header is cut off                 xdp_pass_short
 *            TCP to another port                         xdp_pass_port
 *            TCP to PORT, to another MAC                 xdp_pass_mac
 *            TCP to PORT, no valid checksum              xdp_redirected
 *          A veth hands a frame to the backlog of the sender's own CPU, where the
 *          other end's generic XDP looks at it. That holds 1000 frames
 *          (netdev_max_backlog), and what does not fit is lost before XDP: so we
 *          rest for a moment before so many can have gathered.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { KINDS = 4, BURST = 400, FRAME = 60 };

static int fail(const char *what)
{
	fprintf(stderr, "flood: %s: %s\n", what, strerror(errno));
	return 1;
}

static uint8_t frame[KINDS][FRAME];
static const size_t frame_len[KINDS] = { 40, FRAME, FRAME, FRAME };

static void build(unsigned kind, const uint8_t mac[6], uint16_t port)
{
	uint8_t *f = frame[kind];
	uint16_t to = htons(kind == 1 ? (uint16_t)(port + 1) : port);

	memcpy(f, mac, 6);
	if (kind == 2)
		f[5] ^= 0xff;
	memcpy(f + 6, "\x02\x00\x00\x00\x88\x63", 6);
	memcpy(f + 12, "\x08\x00\x45\x00\x00\x28\x00\x00\x00\x00\x40\x06\x00\x00", 14);
	memcpy(f + 26, "\x0a\x58\x00\x63\x0a\x58\x00\x01", 8); /* 10.88.0.99 to 10.88.0.1 */
	memcpy(f + 34, "\x12\x67", 2);
	memcpy(f + 36, &to, 2);
	f[46] = 0x50;
	f[47] = 0x10; /* ACK */
}

int main(int argc, char **argv)
{
	struct timespec rest = { .tv_nsec = 20000 };
	struct sockaddr_ll to = { .sll_family = AF_PACKET };
	unsigned mac[6];
	uint8_t bytes[6];
	cpu_set_t cpus;
	int fd;

	if (argc != 6 || sscanf(argv[5], "%x:%x:%x:%x:%x:%x", mac, mac + 1, mac + 2, mac + 3,
				mac + 4, mac + 5) != 6)
		return 2;
	for (int i = 0; i < 6; i++)
		bytes[i] = (uint8_t)mac[i];
	CPU_ZERO(&cpus);
	CPU_SET(atoi(argv[2]), &cpus);
	if (sched_setaffinity(0, sizeof cpus, &cpus))
		return fail("sched_setaffinity");
	for (unsigned kind = 0; kind < KINDS; kind++)
		build(kind, bytes, (uint16_t)atoi(argv[4]));
	to.sll_ifindex = (int)if_nametoindex(argv[1]);
	fd = socket(AF_PACKET, SOCK_RAW, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&to, sizeof to))
		return fail("packet socket");
	for (long i = 0, n = atol(argv[3]); i < n; i++) {
		unsigned kind = (unsigned)i % KINDS;

		while (send(fd, frame[kind], frame_len[kind], 0) < 0)
			if (errno != ENOBUFS && errno != EAGAIN)
				return fail("send");
		if (i % BURST == BURST - 1)
			nanosleep(&rest, NULL);
	}
	return 0;
}
