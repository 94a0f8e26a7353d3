/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * veth.c - a live responder at the other end of a link, in real time
 *
 * Model    A raw AF_PACKET socket speaks for an address and a MAC that no
 *          kernel owns, so no kernel answers for it. Counters are read from
 *          the pinned map by two bpf(2) calls.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "device.h"
#include "wire.h"

enum { PUBLISHED_US = 80000 };

static struct {
	int packet, counters;
	unsigned blocks;
} veth;

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* --- frames -------------------------------------------------------------------- */

static void veth_send(struct device *d, const uint8_t *frame, size_t len, const struct told *told)
{
	(void)told;
	(void)d;
	if (send(veth.packet, frame, len, 0) != (ssize_t)len) {
		fprintf(stderr, "wire: send of %zu bytes: %s\n", len, strerror(errno));
		exit(1);
	}
}

/* The kernel takes the tag out of the frame and hands it over beside it. */
static size_t put_tag_back(uint8_t *frame, size_t len, struct msghdr *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		struct tpacket_auxdata aux;

		if (c->cmsg_level != SOL_PACKET || c->cmsg_type != PACKET_AUXDATA)
			continue;
		memcpy(&aux, CMSG_DATA(c), sizeof aux);
		if (!(aux.tp_status & TP_STATUS_VLAN_VALID) || len < 12 || len + 4 > FRAME_MOST)
			continue;
		memmove(frame + 16, frame + 12, len - 12);
		put_be16(frame + 12, WIRE_TYPE_VLAN);
		put_be16(frame + 14, aux.tp_vlan_tci);
		return len + 4;
	}
	return len;
}

static size_t veth_receive(struct device *d, uint8_t frame[FRAME_MOST], uint64_t *at_ns)
{
	char control[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
	struct iovec piece = { frame, FRAME_MOST };
	struct msghdr m = {
		.msg_iov = &piece,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof control,
	};
	ssize_t len = recvmsg(veth.packet, &m, MSG_DONTWAIT);

	(void)d;
	if (len <= 0)
		return 0;
	*at_ns = clock_ns();
	return put_tag_back(frame, (size_t)len, &m);
}

static uint64_t veth_wait(struct device *d, uint64_t until_ns)
{
	struct pollfd p = { .fd = veth.packet, .events = POLLIN };
	uint64_t now = clock_ns();

	(void)d;
	if (now < until_ns) {
		struct timespec left = { (time_t)((until_ns - now) / NS_PER_S),
					 (long)((until_ns - now) % NS_PER_S) };
		ppoll(&p, 1, &left, NULL);
	}
	return clock_ns();
}

static const char *veth_close(struct device *d)
{
	(void)d;
	return NULL; /* the counters of the whole run are for wire.sh to judge */
}

/* --- counters ------------------------------------------------------------------- */

static long bpf(int command, union bpf_attr *attr)
{
	return syscall(SYS_bpf, command, attr, sizeof *attr);
}

static void sum_counters(struct stats_block *sum)
{
	memset(sum, 0, sizeof *sum);
	for (uint32_t key = 0; key < veth.blocks; key++) {
		struct stats_block block;
		union bpf_attr attr = {
			.map_fd = (uint32_t)veth.counters,
			.key = (uintptr_t)&key,
			.value = (uintptr_t)&block,
		};

		if (bpf(BPF_MAP_LOOKUP_ELEM, &attr))
			break;
		for (unsigned i = 0; i < STATS_COUNT; i++)
			((uint64_t *)sum)[i] += ((uint64_t *)&block)[i];
	}
}

/* Not while frames are on their way from the XDP program to the responder. */
static void veth_count(struct device *d, struct stats_block *sum)
{
	(void)d;
	for (int tries = 0; tries < 100; tries++) {
		sum_counters(sum);
		if (sum->xdp_redirected == sum->rx_frames)
			return;
		usleep(5000);
	}
}

static bool open_counters(const char *path)
{
	union bpf_attr attr = { .pathname = (uintptr_t)path, .file_flags = BPF_F_RDONLY };
	struct bpf_map_info info = { 0 };

	veth.counters = (int)bpf(BPF_OBJ_GET, &attr);
	if (veth.counters < 0) {
		fprintf(stderr, "wire: %s: %s\n", path, strerror(errno));
		return false;
	}
	memset(&attr, 0, sizeof attr);
	attr.info.bpf_fd = (uint32_t)veth.counters;
	attr.info.info_len = sizeof info;
	attr.info.info = (uintptr_t)&info;
	if (bpf(BPF_OBJ_GET_INFO_BY_FD, &attr) || info.value_size != sizeof(struct stats_block)) {
		fprintf(stderr, "wire: %s is not the counters of this build\n", path);
		return false;
	}
	veth.blocks = info.max_entries;
	return true;
}

/* --- open ------------------------------------------------------------------------- */

static bool open_packet(const char *ifname)
{
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	int on = 1;

	to.sll_ifindex = (int)if_nametoindex(ifname);
	veth.packet = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (!to.sll_ifindex || veth.packet < 0 ||
	    setsockopt(veth.packet, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on) ||
	    setsockopt(veth.packet, SOL_PACKET, PACKET_AUXDATA, &on, sizeof on) ||
	    bind(veth.packet, (struct sockaddr *)&to, sizeof to)) {
		fprintf(stderr, "wire: packet socket on %s: %s\n", ifname, strerror(errno));
		return false;
	}
	return true;
}

static bool take_end(char *text, uint8_t mac[6], uint8_t ip4[4], uint8_t ip6[16])
{
	char *at;
	const char *m = strtok_r(text, "/", &at), *v4 = strtok_r(NULL, "/", &at),
		   *v6 = strtok_r(NULL, "/", &at);

	return m && v4 && v6 &&
	       sscanf(m, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &mac[0], &mac[1], &mac[2], &mac[3],
		      &mac[4], &mac[5]) == 6 &&
	       inet_pton(AF_INET, v4, ip4) == 1 && inet_pton(AF_INET6, v6, ip6) == 1;
}

/* What the script before did is to be counted before this one begins; some of tcp's
 * counters are brought into the map every 50 ms only (worker_publish). */
static bool veth_open(struct device *d, const struct script *s, const char **why)
{
	struct stats_block sum;
	uint8_t frame[FRAME_MOST];

	(void)s, (void)why;
	veth_count(d, &sum);
	usleep(PUBLISHED_US);
	while (recv(veth.packet, frame, sizeof frame, MSG_DONTWAIT) >= 0)
		; /* what came between two scripts */
	return true;
}

struct device *veth_device(char *parameters)
{
	static struct device device = {
		.name = "veth",
		.kind = ON_VETH,
		/* Real time: others run too, so early and late are generous; the order
		 * and the number of frames are not. */
		.early_percent = 50,
		.late_ns = 2ull * NS_PER_S,
		.quiet_ns = 25 * NS_PER_MS,
		.open = veth_open,
		.send = veth_send,
		.receive = veth_receive,
		.wait = veth_wait,
		.count = veth_count,
		.close = veth_close,
	};
	char *at, *ifname = strtok_r(parameters, ",", &at), *word;
	struct ends *e = &device.ends;
	bool server = false, client = false, counters = false;

	while ((word = strtok_r(NULL, ",", &at))) {
		if (!strncmp(word, "server=", 7))
			server = take_end(word + 7, e->server_mac, e->server_ip4, e->server_ip6);
		else if (!strncmp(word, "client=", 7))
			client = take_end(word + 7, e->client_mac, e->client_ip4, e->client_ip6);
		else if (!strncmp(word, "port=", 5))
			e->server_port = (uint16_t)strtoul(word + 5, NULL, 10);
		else if (!strncmp(word, "counters=", 9))
			counters = open_counters(word + 9);
	}
	if (!ifname || !server || !client || !e->server_port || !counters) {
		fprintf(stderr, "wire: --device=veth:IF,server=MAC/IP4/IP6,client=MAC/IP4/IP6,"
				"port=N,counters=PATH\n");
		return NULL;
	}
	return open_packet(ifname) ? &device : NULL;
}
