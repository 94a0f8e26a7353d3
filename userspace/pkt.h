/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * pkt.h - frame bytes to a TCP segment, and back
 *
 * Place    worker gives each received frame to pkt_parse before anybody else
 *          believes a byte of it, and each due segment to pkt_emit. Pure.
 * Model    Ethernet, at most one 802.1Q tag, IPv4 without options or IPv6
 *          without extension headers, TCP. Every length is checked before what
 *          it covers, in the order frame, IP, TCP; then both checksums, always
 *          (failure mode 16). What XDP checked is checked again: it only steers.
 * Owner    seg.data points into the caller's frame.
 * Units    Host order, but for addresses, which stay as bytes.
 */
#ifndef PKT_H
#define PKT_H

#include "base.h"

/* What becomes of a frame; each value is a counter pkt_NAME of abi.h. The
 * first two are segments to go on with. */
#define PKT_LIST(X) \
	X(ok) \
	X(bad_option) \
	X(bad_eth) \
	X(bad_type) \
	X(bad_ip_header) X(bad_ip_length) X(bad_ip_csum) X(ip_options) X(fragment) X(bad_addr) \
		X(bad_doff) X(bad_tcp_csum) X(bad_port)

enum pkt_verdict {
#define X(name) PKT_##name,
	PKT_LIST(X)
#undef X
		PKT_VERDICTS,
};

/* The two ends of a connection, seen from here. IPv4 as ::ffff:a.b.c.d. The
 * struct has no padding, so its bytes can be hashed and compared. */
struct pkt_flow {
	uint8_t remote[16];
	uint8_t local[16];
	uint16_t remote_port;
	uint16_t local_port;
};
_Static_assert(sizeof(struct pkt_flow) == 36, "no padding");

/* The way back: where the frame came from. */
struct pkt_link {
	uint8_t remote[6];
	uint8_t local[6];
	uint16_t vlan; /* tag control information, PKT_UNTAGGED if none */
};
enum { PKT_UNTAGGED = 0xffff }; /* VLAN id 4095 is reserved (802.1Q) */

enum { PKT_NO_SCALE = 0xff, PKT_SACKS = 4 };

struct pkt_seg {
	struct pkt_flow flow;
	struct pkt_link link;
	uint32_t seq;
	uint32_t ack;
	uint32_t len; /* bytes of data */
	const uint8_t *data;
	uint16_t window; /* as in the header, not scaled */
	uint8_t flags;   /* WIRE_FIN ... */
	/* options */
	uint8_t wscale; /* PKT_NO_SCALE: not there */
	uint16_t mss;   /* 0: not there */
	bool sack_ok;
	bool has_ts;
	uint32_t ts_val, ts_ecr;
	uint8_t sack_count;
	struct {
		uint32_t left, right;
	} sack[PKT_SACKS];
};

/* Length in sequence numbers: data, SYN and FIN (RFC 9293 3.4). */
static inline uint32_t pkt_span(const struct pkt_seg *s)
{
	return s->len + (s->flags & 1) + (s->flags >> 1 & 1);
}

static inline bool pkt_is_ip4(const struct pkt_flow *f)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	return !memcmp(f->remote, mapped, sizeof mapped);
}

/* Judge frame[0 ... len). On ok or bad_option *s is filled; on bad_option the
 * option list ended early and what came before counts (RFC 9293 MUST-6, and
 * the habit of Linux and the BSDs). */
enum pkt_verdict pkt_parse(const uint8_t *frame, size_t len, struct pkt_seg *s);

/* Write the segment as a frame, both checksums complete; returns its length,
 * at least WIRE_ETH_MIN. `room` must hold pkt_room(s) bytes. */
size_t pkt_emit(const struct pkt_seg *s, uint8_t *frame, size_t room);
size_t pkt_room(const struct pkt_seg *s);

/* Internet checksum (RFC 1071) in parts: add bytes to a sum, then fold. Parts
 * but the last have even length. */
uint64_t pkt_sum(const void *bytes, size_t len, uint64_t sum);
uint16_t pkt_fold(uint64_t sum);

const char *pkt_verdict_name(enum pkt_verdict v);

#endif
