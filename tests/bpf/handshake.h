/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * handshake.h - SYNs to the kernel over loopback, and the cookies in its answers
 *
 * Model    A raw socket sends the SYN and hears the SYN-ACK; no client knows of
 *          it, so the kernel resets its own answer, which a listener ignores: it
 *          keeps nothing of a SYN that it answered with a cookie.
 */
#ifndef HANDSHAKE_H
#define HANDSHAKE_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>
#include "frame.h"
#include "wire.h"

enum { HANDSHAKE_MS = 2000 };

struct handshake {
	bool v6;
	uint8_t src[16], dst[16]; /* IPv4: the first four bytes */
	uint16_t port;            /* of the client */
	uint32_t isn;
	const uint8_t *opt;
	uint8_t opt_len;
	uint32_t cookie; /* what the kernel answered */
};

static uint16_t checksum4(const struct handshake *h, const uint8_t *tcp, size_t len)
{
	uint32_t sum = WIRE_PROTO_TCP + (uint32_t)len;
	for (unsigned i = 0; i < 4; i += 2)
		sum += (uint32_t)(h->src[i] << 8 | h->src[i + 1]) +
		       (uint32_t)(h->dst[i] << 8 | h->dst[i + 1]);
	for (size_t i = 0; i < len; i += 2)
		sum += (uint32_t)(tcp[i] << 8 | tcp[i + 1]);
	sum = (sum >> 16) + (sum & 0xffff);
	sum += sum >> 16;
	return (uint16_t)~sum;
}

static bool send_syn(int fd, const struct handshake *h)
{
	uint8_t tcp[60] = { 0 };
	size_t len = WIRE_TCP_LEN + h->opt_len;
	struct sockaddr_in to4 = { .sin_family = AF_INET };
	struct sockaddr_in6 to6 = { .sin6_family = AF_INET6 };

	put_be16(tcp, h->port);
	put_be16(tcp + 2, FRAME_PORT);
	put_be32(tcp + 4, h->isn);
	tcp[12] = (uint8_t)(len / 4 << 4);
	tcp[13] = WIRE_SYN;
	put_be16(tcp + 14, 65535);
	if (h->opt_len)
		memcpy(tcp + WIRE_TCP_LEN, h->opt, h->opt_len);
	memcpy(&to4.sin_addr, h->dst, 4);
	memcpy(&to6.sin6_addr, h->dst, 16);
	if (!h->v6)
		put_be16(tcp + 16, checksum4(h, tcp, len));
	return sendto(fd, tcp, len, 0, h->v6 ? (void *)&to6 : (void *)&to4,
		      h->v6 ? sizeof to6 : sizeof to4) == (ssize_t)len;
}

/* IPv4 raw sockets show the IP header too. */
static bool hear_synack(int fd, struct handshake *h)
{
	uint8_t bytes[256];
	struct pollfd p = { .fd = fd, .events = POLLIN };

	while (poll(&p, 1, HANDSHAKE_MS) > 0) {
		ssize_t n = recv(fd, bytes, sizeof bytes, 0);
		size_t at = h->v6 || n < 1 ? 0 : (bytes[0] & 15u) * 4;
		const uint8_t *tcp = bytes + at;
		if (n < (ssize_t)(at + WIRE_TCP_LEN) || be16(tcp) != FRAME_PORT ||
		    be16(tcp + 2) != h->port || tcp[13] != (WIRE_SYN | WIRE_ACK) ||
		    be32(tcp + 8) != h->isn + 1)
			continue;
		h->cookie = be32(tcp + 4);
		return true;
	}
	return false;
}

/* False: no answer. */
static bool shake(struct handshake *h)
{
	int offset = 16,
	    fd = socket(h->v6 ? AF_INET6 : AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_TCP);
	struct sockaddr_in from4 = { .sin_family = AF_INET };
	struct sockaddr_in6 from6 = { .sin6_family = AF_INET6 };
	bool good;

	memcpy(&from4.sin_addr, h->src, 4);
	memcpy(&from6.sin6_addr, h->src, 16);
	if (h->v6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_CHECKSUM, &offset, sizeof offset);
	good = !bind(fd, h->v6 ? (void *)&from6 : (void *)&from4,
		     h->v6 ? sizeof from6 : sizeof from4) &&
	       send_syn(fd, h) && hear_synack(fd, h);
	close(fd);
	return good;
}

/* What the client would send next. */
static struct frame segment_of(const struct handshake *h, uint8_t flags, const char *data)
{
	return (struct frame){ .v6 = h->v6,
			       .flags = flags,
			       .src = h->src,
			       .dst = h->dst,
			       .src_port = h->port,
			       .seq = h->isn + 1,
			       .ack = h->cookie + 1,
			       .data = data,
			       .data_len = (uint16_t)strlen(data) };
}

#endif
