// SPDX-License-Identifier: GPL-2.0-only
/*
 * flood_tcp.c - segments of nobody, and segments in the name of others
 *
 * Usage    flood_tcp [OPTIONS] INTERFACE SERVER_MAC SERVER PORT KIND; flood_tcp --help
 * Model    A packet socket. Without --victim each segment comes from a random address
 *          of 198.18.0.0/15 and a random port, and from a MAC that nobody has, so that
 *          nobody answers the answers. With --victim it carries the addresses and
 *          ports of a connection that this client really has to the server: the same
 *          socket sees the client's own segments go out, and learns from them.
 *          --near: sequence numbers are from NEAR_LEAST to NEAR_MOST past the next one of
 *          that connection: inside any window, and never the exact one, which is a
 *          valid segment for every TCP. Acknowledgements are random.
 *          --rate: so many a second, a 1,000th of it each millisecond; 0: as fast as
 *          sendmmsg takes them.
 * Limits   IPv4. All checksums are right.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { FIN = 1, SYN = 2, RST = 4, PSH = 8, ACK = 16 };
enum {
	ETH = 14,
	IP = 20,
	TCP = 20,
	HEAD = ETH + IP + TCP,
	DATA = 32,
	BATCH = 64,
	/* A client sends a few hundred bytes between two of our looks; a window of ours
	 * is 16 KiB at least while nothing is kept. */
	NEAR_LEAST = 2000,
	NEAR_MOST = 14000,
};

static const struct kind {
	const char *name;
	uint8_t flags;
	uint16_t data;
} kinds[] = {
	{ "syn", SYN, 0 },       { "ack", ACK, 0 },           { "rst", RST, 0 },
	{ "fin", FIN | ACK, 0 }, { "data", ACK | PSH, DATA },
};

static struct {
	const struct kind *kind;
	unsigned rate;
	double seconds;
	bool near;
	uint32_t victim, server; /* in network order; 0: strangers */
	uint16_t port;
	uint64_t random;
} plan = { .rate = 20000, .seconds = 1, .random = 1 };

/* Ports of the victim that have a connection, and its next sequence number there. */
static uint16_t flow[65536];
static unsigned flows, flows_most;
static bool known[65536];
static uint32_t next_seq[65536];

static uint8_t frame[BATCH][HEAD + DATA];
static struct mmsghdr message[BATCH];
static struct iovec piece[BATCH];

_Noreturn static void die(const char *what)
{
	fprintf(stderr, "flood_tcp: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint32_t draw(void)
{
	plan.random ^= plan.random << 13;
	plan.random ^= plan.random >> 7;
	plan.random ^= plan.random << 17;
	return (uint32_t)(plan.random >> 16);
}

static void put16(uint8_t *at, uint32_t v)
{
	at[0] = (uint8_t)(v >> 8);
	at[1] = (uint8_t)v;
}

static void put32(uint8_t *at, uint32_t v)
{
	put16(at, v >> 16);
	put16(at + 2, v);
}

static uint32_t get16(const uint8_t *at)
{
	return (uint32_t)at[0] << 8 | at[1];
}

static uint32_t get32(const uint8_t *at)
{
	return get16(at) << 16 | get16(at + 2);
}

static uint32_t sum16(const uint8_t *at, unsigned bytes)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < bytes; i += 2)
		sum += get16(at + i);
	return sum;
}

static void put_checksum(uint8_t *at, uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	put16(at, ~sum);
}

/* --- what is seen of the victim --------------------------------------------------- */

static void forget(uint16_t port)
{
	known[port] = false;
	for (unsigned i = 0; i < flows; i++)
		if (flow[i] == port)
			flow[i--] = flow[--flows];
}

static void learn(const uint8_t *f, size_t len)
{
	const uint8_t *t = f + HEAD - TCP;
	unsigned bytes = get16(f + 16) - IP, words = t[12] >> 4;
	uint16_t port;

	if (len < HEAD || get16(f + 12) != ETH_P_IP || f[14] != 0x45 || f[23] != IPPROTO_TCP ||
	    memcmp(f + 26, &plan.victim, 4) || memcmp(f + 30, &plan.server, 4) ||
	    get16(t + 2) != plan.port)
		return;
	port = (uint16_t)get16(t);
	if (t[13] & (RST | FIN)) {
		forget(port);
		return;
	}
	if (t[13] & SYN)
		return;
	if (!known[port])
		flow[flows++] = port;
	known[port] = true;
	next_seq[port] = get32(t + 4) + bytes - 4 * words;
	if (flows > flows_most)
		flows_most = flows;
}

static void look(int fd)
{
	struct sockaddr_ll from;
	socklen_t size = sizeof from;
	uint8_t bytes[HEAD + 40];
	ssize_t n;

	while ((n = recvfrom(fd, bytes, sizeof bytes, MSG_DONTWAIT, (struct sockaddr *)&from,
			     &size)) > 0)
		if (from.sll_pkttype == PACKET_OUTGOING)
			learn(bytes, (size_t)n);
}

/* --- what is sent ------------------------------------------------------------------- */

static void start_frame(uint8_t *f, const uint8_t mac[6])
{
	memcpy(f, mac, 6);
	memcpy(f + 6, "\x02\x00\x00\x00\x88\x66", 6);
	put16(f + 12, ETH_P_IP);
	f[14] = 0x45;
	put16(f + 16, (uint32_t)(IP + TCP + plan.kind->data));
	put16(f + 20, 0x4000); /* DF */
	f[22] = 64;
	f[23] = IPPROTO_TCP;
	memcpy(f + 30, &plan.server, 4);
	put16(f + 36, plan.port);
	f[46] = 0x50;
	f[47] = plan.kind->flags;
	put16(f + 48, 64240);
	memset(f + HEAD, 'x', DATA);
}

static void forge(uint8_t *f)
{
	uint32_t seq = draw();

	if (plan.victim) {
		uint16_t port = flow[draw() % flows];

		memcpy(f + 26, &plan.victim, 4);
		put16(f + 34, port);
		if (plan.near)
			seq = next_seq[port] + NEAR_LEAST + seq % (NEAR_MOST - NEAR_LEAST);
	} else {
		put32(f + 26, 198u << 24 | 18u << 16 | (draw() & 0x1ffff));
		put16(f + 34, 1024 + draw() % 64512);
	}
	put32(f + 38, seq);
	put32(f + 42, plan.kind->flags & ACK ? draw() : 0);
	put16(f + 24, 0);
	put_checksum(f + 24, sum16(f + ETH, IP));
	put16(f + 50, 0);
	put_checksum(f + 50, sum16(f + 26, 8) + IPPROTO_TCP + TCP + plan.kind->data +
				     sum16(f + HEAD - TCP, (unsigned)TCP + plan.kind->data));
}

static void send_some(int fd, unsigned n)
{
	for (unsigned i = 0, sent; i < n; i += sent) {
		int done = sendmmsg(fd, message + i, n - i, 0);

		if (done < 0 && errno != ENOBUFS && errno != EAGAIN)
			die("send");
		sent = done < 0 ? 0 : (unsigned)done;
	}
}

/* Returns how many. */
static uint64_t flood(int fd)
{
	uint64_t start = now_ns(), end = start + (uint64_t)(plan.seconds * 1e9), sent = 0, now;

	while ((now = now_ns()) < end) {
		uint64_t due = plan.rate ? (now - start) / 1000000 * plan.rate / 1000 :
					   sent + BATCH;

		if (plan.victim)
			look(fd);
		if (due <= sent || (plan.victim && !flows)) {
			nanosleep(&(struct timespec){ .tv_nsec = 500000 }, NULL);
			continue;
		}
		unsigned n = due - sent < BATCH ? (unsigned)(due - sent) : BATCH;

		for (unsigned i = 0; i < n; i++)
			forge(frame[i]);
		send_some(fd, n);
		sent += n;
	}
	return sent;
}

static const char usage[] =
	"usage: flood_tcp [OPTIONS] INTERFACE SERVER_MAC SERVER PORT syn|ack|rst|fin|data\n"
	"  --rate=N      segments a second (20000); 0: as many as go\n"
	"  --seconds=S   for so long (1)\n"
	"  --victim=A    in the name of the connections of address A; else of strangers\n"
	"  --near        with sequence numbers inside their windows; else random ones\n"
	"  --seed=N      other draws (1)\n";

_Noreturn static void refuse(void)
{
	fputs(usage, stderr);
	exit(2);
}

static void options(int argc, char **argv)
{
	static const struct option names[] = {
		{ "rate", 1, NULL, 'r' }, { "seconds", 1, NULL, 't' }, { "victim", 1, NULL, 'v' },
		{ "near", 0, NULL, 'n' }, { "seed", 1, NULL, 's' },    { 0 }
	};
	int o;

	while ((o = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (o == 'r')
			plan.rate = (unsigned)atoi(optarg);
		else if (o == 't')
			plan.seconds = atof(optarg);
		else if (o == 'v' && inet_pton(AF_INET, optarg, &plan.victim) != 1)
			refuse();
		else if (o == 'n')
			plan.near = true;
		else if (o == 's')
			plan.random = strtoull(optarg, NULL, 0) * 2 + 1;
		else if (o == '?')
			refuse();
	}
	if (argc - optind != 5 || (plan.near && !plan.victim))
		refuse();
	for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (!strcmp(kinds[i].name, argv[optind + 4]))
			plan.kind = &kinds[i];
	plan.port = (uint16_t)atoi(argv[optind + 3]);
	if (!plan.kind || !plan.port || inet_pton(AF_INET, argv[optind + 2], &plan.server) != 1)
		refuse();
}

int main(int argc, char **argv)
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	uint8_t mac[6];
	uint64_t sent;
	int fd;

	options(argc, argv);
	if (sscanf(argv[optind + 1], "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", mac, mac + 1, mac + 2,
		   mac + 3, mac + 4, mac + 5) != 6)
		refuse();
	at.sll_ifindex = (int)if_nametoindex(argv[optind]);
	/* Only who learns wants to see frames. */
	if (!plan.victim)
		at.sll_protocol = 0;
	fd = socket(AF_PACKET, SOCK_RAW, 0);
	if (!at.sll_ifindex || fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at))
		die(argv[optind]);
	for (unsigned i = 0; i < BATCH; i++) {
		start_frame(frame[i], mac);
		piece[i] = (struct iovec){ frame[i], (size_t)(HEAD + plan.kind->data) };
		message[i].msg_hdr = (struct msghdr){ .msg_iov = &piece[i], .msg_iovlen = 1 };
	}
	sent = flood(fd);
	printf("{\"kind\":\"%s\",\"sent\":%llu,\"flows\":%u}\n", plan.kind->name,
	       (unsigned long long)sent, flows_most);
	return plan.victim && !flows_most;
}
