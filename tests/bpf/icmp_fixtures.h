/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * icmp_fixtures.h - one row an ICMP error: who sent what about which segment
 *
 * Model    All zero stands for "too big" about a segment of ours from our port,
 *          quoted as shortly as a router may. All of them are passed; some are
 *          told to the I/O thread besides.
 */
#ifndef ICMP_FIXTURES_H
#define ICMP_FIXTURES_H

#include "frame.h"

enum { QUOTED_SEQ = 0x89abcdef };

struct icmp_fixture {
	const char *name;
	struct frame outer;  /* its protocol, and what is behind it, come from here */
	struct frame quoted; /* `port` is the segment's source here; v6 that of the outer */
	bool told;
	uint32_t mtu;
	bool other_type, other_code;
	bool other_local; /* the segment was sent by somebody else */
	uint8_t more;     /* bytes that are quoted beyond the first eight of TCP */
	enum situation in;
};

/* clang-format off */
#define V6 .outer = { .v6 = true }
#define VLAN WIRE_TYPE_VLAN
static const struct icmp_fixture icmp_fixtures[] = {
	{ "of our segment", .told = true, .mtu = 1400 },
	{ "IPv6, of our segment", V6, .told = true, .mtu = 1400 },
	{ "in a VLAN", .outer = { .tag = { VLAN } }, .told = true, .mtu = 576 },
	{ "IPv6, in a VLAN", .outer = { .v6 = true, .tag = { VLAN } }, .told = true, .mtu = 1280 },
	{ "with more of the segment", .more = 40, .told = true, .mtu = 68 },
	{ "IPv6, with more of the segment", V6, .more = 40, .told = true, .mtu = 1492 },
	{ "padded behind the datagram", .outer = { .pad = 6 }, .told = true, .mtu = 1400 },
	{ "MTU 0, from an old router", .told = true },
	{ "the largest MTU", .told = true, .mtu = 65535 },
	{ "IPv6, MTU in 32 bits", V6, .told = true, .mtu = 0x12345678 },
	{ "IPv6, a code that means nothing", V6, .other_code = true, .told = true, .mtu = 1400 },
	{ "an address that is served", .in = NARROW, .told = true, .mtu = 1400 },
	{ "IPv6, an address that is served", V6, .in = NARROW, .told = true, .mtu = 1400 },
	{ "while not ready", .in = UNREADY, .told = true, .mtu = 1400 },

	{ "port unreachable", .other_code = true, .mtu = 1400 },
	{ "time exceeded", .other_type = true, .mtu = 1400 },
	{ "IPv6, unreachable", V6, .other_type = true, .mtu = 1400 },
	{ "of UDP", .quoted = { .proto = 17 }, .mtu = 1400 },
	{ "IPv6, of UDP", V6, .quoted = { .proto = 17 }, .mtu = 1400 },
	{ "of another port", .quoted = { .port = 22 }, .mtu = 1400 },
	{ "IPv6, of another port", V6, .quoted = { .port = 22 }, .mtu = 1400 },
	{ "an address that is not served", .other_local = true, .in = NARROW, .mtu = 1400 },
	{ "IPv6, an address that is not served", V6, .other_local = true, .in = NARROW, .mtu = 1400 },
	{ "quoted with IPv4 options", .quoted = { .ihl = 6 }, .mtu = 1400 },
	{ "quoted with IHL 4", .quoted = { .ihl = 4 }, .mtu = 1400 },
	{ "quoted is a first fragment", .quoted = { .frag = WIRE_IP4_MF }, .mtu = 1400 },
	{ "quoted is a later fragment", .quoted = { .frag = 100 }, .mtu = 1400 },
	{ "quoted with a wrong version", .quoted = { .version = 6 }, .mtu = 1400 },
	{ "IPv6, quoted with an extension header", V6,
	  .quoted = { .exts = 1, .ext = { WIRE_IP6_DESTINATION } }, .mtu = 1400 },
	{ "IPv6, quoted with a wrong version", V6, .quoted = { .version = 4 }, .mtu = 1400 },
	{ "IPv4 options in front", .outer = { .ihl = 6 }, .mtu = 1400 },
	{ "first fragment of it", .outer = { .frag = WIRE_IP4_MF }, .mtu = 1400 },
	{ "IPv6, extension header in front",
	  .outer = { .v6 = true, .exts = 1, .ext = { WIRE_IP6_DESTINATION } }, .mtu = 1400 },
	{ "datagram ends before the quote does", .outer = { .length_off = -1 }, .mtu = 1400 },
	{ "IPv6, datagram ends before the quote does",
	  .outer = { .v6 = true, .length_off = -1 }, .mtu = 1400 },
	{ "to another MAC", .outer = { .other_mac = true }, .mtu = 1400 },
	{ "to all", .outer = { .broadcast = true }, .mtu = 1400 },
	{ "two tags", .outer = { .tag = { VLAN, VLAN } }, .mtu = 1400 },
};
#undef V6
#undef VLAN
/* clang-format on */

/* What the segment of ours was, as far as it is quoted. */
static inline size_t icmp_quote(uint8_t *at, const struct icmp_fixture *x)
{
	const uint8_t *local = x->outer.v6 ? frame_addr6 : frame_addr4;
	uint8_t *start = at, other[16];
	struct frame f = x->quoted;
	memcpy(other, local, x->outer.v6 ? 16 : 4);
	other[3] ^= 0x80;
	f.src = x->other_local ? other : local;
	f.dst = x->outer.v6 ? frame_client6 : frame_client4;
	at += x->outer.v6 ? frame_ip6(at, &f, 1200) : frame_ip4(at, &f, 1200);
	put_be16(at, f.port ? f.port : FRAME_PORT);
	put_be16(at + 2, FRAME_CLIENT_PORT);
	put_be32(at + 4, QUOTED_SEQ);
	memset(at + 8, 0x5a, x->more);
	return (size_t)(at - start) + 8 + x->more;
}

static inline size_t icmp_build(uint8_t out[FRAME_MAX], const struct icmp_fixture *x)
{
	uint8_t body[FRAME_MAX] = { 0 };
	size_t length = 8 + icmp_quote(body + 8, x);
	struct frame f = x->outer;
	memset(out, 0, FRAME_MAX);
	f.proto = f.v6 ? 58 : 1;
	body[0] = (uint8_t)((f.v6 ? 2 : 3) + (x->other_type ? 8 : 0));
	body[1] = (uint8_t)((f.v6 ? 0 : 4) + (x->other_code ? -1 : 0));
	if (f.v6)
		put_be32(body + 4, x->mtu);
	else
		put_be16(body + 6, (uint16_t)x->mtu);
	uint8_t *at = out + frame_eth(out, &f);
	at += f.v6 ? frame_ip6(at, &f, length) : frame_ip4(at, &f, length);
	memcpy(at, body, length);
	return (size_t)(at - out) + length + f.pad;
}

#endif
