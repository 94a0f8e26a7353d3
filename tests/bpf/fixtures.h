/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fixtures.h - one row a frame: what it is, how it stands with us, where it goes
 *
 * Model    A situation is what the program was told and what the responder
 *          wrote. Spans are chosen so far apart that no clock decides a test:
 *          "within" is an hour, "beyond" a nanosecond.
 */
#ifndef FIXTURES_H
#define FIXTURES_H

#include <linux/bpf.h>
#include "abi.h"
#include "frame.h"

/* clang-format off */
/* name, ready, heartbeat: ns from now (0: never), stall and grace in ns */
#define HOUR 3600000000000
#define SITUATION_LIST(X) \
	X(UP, 1, -1000, HOUR, HOUR) \
	X(UP_AHEAD, 1, HOUR, 1, HOUR)          /* heartbeat of a CPU that is ahead */ \
	X(NEVER_UP, 0, 0, HOUR, HOUR) \
	X(UNREADY, 0, -1000, HOUR, HOUR)       /* was up a moment ago */ \
	X(UNREADY_LONG, 0, -1000, HOUR, 1) \
	X(STALLED, 1, -1000, 1, HOUR) \
	X(STALLED_LONG, 1, -1000, 1, 1) \
	X(NO_SOCKET, 1, -1000, HOUR, HOUR)     /* xsks_map has one, for another queue */ \
	X(NARROW, 1, -1000, HOUR, HOUR)        /* --addr: frame_addr4 and frame_addr6 */ \
	X(NARROW6, 1, -1000, HOUR, HOUR)       /* --addr: frame_addr6 alone */

enum situation {
#define X(name, ready, heartbeat, stall, grace) name,
	SITUATION_LIST(X)
#undef X
};

struct fixture {
	const char *name;
	struct frame frame;
	enum situation in;
	uint32_t verdict;
	enum stats_index counter;
};

#define PASS(why) XDP_PASS, STATS_xdp_pass_##why
#define OURS XDP_REDIRECT, STATS_xdp_redirected
#define STRAY XDP_DROP, STATS_xdp_drop_stray
#define ODD(why) XDP_DROP, STATS_xdp_drop_##why
#define EXT(...) .v6 = true, .exts = sizeof((uint8_t[]){ __VA_ARGS__ }), .ext = { __VA_ARGS__ }
#define ACK WIRE_ACK
#define SYN WIRE_SYN
#define FIN WIRE_FIN
#define RST WIRE_RST

static const struct fixture fixtures[] = {
	/* not ours by its headers */
	{ "ARP", { .type = WIRE_TYPE_ARP, .broadcast = true }, UP, PASS(other) },
	{ "LLDP", { .type = 0x88cc }, UP, PASS(other) },
	{ "length instead of a type (802.3)", { .type = 46 }, UP, PASS(other) },
	{ "tag 802.1ad", { .tag = { WIRE_TYPE_QINQ } }, UP, PASS(other) },
	{ "tags 802.1ad, 802.1Q", { .tag = { WIRE_TYPE_QINQ, WIRE_TYPE_VLAN } }, UP, PASS(other) },
	{ "tags 802.1Q twice", { .tag = { WIRE_TYPE_VLAN, WIRE_TYPE_VLAN } }, UP, PASS(other) },
	{ "ARP in a VLAN", { .tag = { WIRE_TYPE_VLAN }, .type = WIRE_TYPE_ARP }, UP, PASS(other) },
	{ "ICMP", { .proto = 1 }, UP, PASS(proto) },
	{ "UDP to our port", { .proto = 17 }, UP, PASS(proto) },
	{ "UDP, fragment", { .proto = 17, .frag = WIRE_IP4_MF }, UP, PASS(proto) },
	{ "ICMPv6 (ND)", { .v6 = true, .proto = 58 }, UP, PASS(proto) },
	{ "later fragment", { .flags = ACK, .frag = 100 }, UP, PASS(fragment) },
	{ "later fragment and options", { .frag = 1, .ihl = 6 }, UP, PASS(fragment) },
	{ "middle fragment", { .frag = WIRE_IP4_MF | 1 }, UP, PASS(fragment) },
	{ "IPv6, later fragment", { EXT(44), .frag = 8 }, UP, PASS(fragment) },
	{ "IPv6, middle fragment", { EXT(44), .frag = 8 | 1 }, UP, PASS(fragment) },
	{ "IPv6, UDP behind options", { EXT(60), .proto = 17 }, UP, PASS(proto) },
	{ "IPv6, encrypted (ESP)", { .v6 = true, .proto = 50 }, UP, PASS(proto) },
	{ "IPv6, seven extension headers", { EXT(0, 60, 43, 60, 60, 60, 60) }, UP, PASS(proto) },
	{ "options, other port", { .flags = ACK, .ihl = 6, .port = 22 }, UP, PASS(port) },
	{ "first fragment, other port", { .frag = WIRE_IP4_MF, .port = 22 }, UP, PASS(port) },
	{ "IPv6, options, other port", { EXT(60), .port = 22 }, UP, PASS(port) },
	{ "options, other MAC", { .ihl = 6, .other_mac = true }, UP, PASS(mac) },
	{ "options, address not served", { .ihl = 6, .other_addr = true }, NARROW, PASS(addr) },
	{ "IHL 4", { .flags = ACK, .ihl = 4 }, UP, PASS(short) },
	{ "version 5 in an IPv4 frame", { .flags = ACK, .version = 5 }, UP, PASS(short) },
	{ "version 4 in an IPv6 frame", { .v6 = true, .flags = ACK, .version = 4 }, UP, PASS(short) },
	{ "IPv4 length beyond the frame", { .flags = ACK, .length_off = 1 }, UP, PASS(short) },
	{ "IPv6 length beyond the frame", { .v6 = true, .length_off = 1 }, UP, PASS(short) },
	{ "IPv4 length without TCP header", { .flags = ACK, .length_off = -5 }, UP, PASS(short) },
	{ "IPv6 length without TCP header", { .v6 = true, .length_off = -5 }, UP, PASS(short) },
	{ "other port", { .flags = SYN, .port = 22 }, UP, PASS(port) },
	{ "other port, IPv6", { .v6 = true, .flags = SYN, .port = 8081 }, UP, PASS(port) },
	{ "port in the other byte order", { .flags = SYN, .port = 0x901f }, UP, PASS(port) },
	{ "other MAC", { .flags = SYN, .other_mac = true }, UP, PASS(mac) },
	{ "broadcast", { .flags = SYN, .broadcast = true }, UP, PASS(mac) },
	{ "other MAC, IPv6, in a VLAN",
	  { .v6 = true, .tag = { WIRE_TYPE_VLAN }, .other_mac = true }, UP, PASS(mac) },
	{ "address not served", { .flags = SYN, .other_addr = true }, NARROW, PASS(addr) },
	{ "address not served, IPv6", { .v6 = true, .other_addr = true }, NARROW, PASS(addr) },
	{ "IPv4 where IPv6 alone is served", { .flags = SYN }, NARROW6, PASS(addr) },

	/* ours */
	{ "SYN", { .flags = SYN }, UP, OURS },
	{ "SYN, IPv6", { .v6 = true, .flags = SYN }, UP, OURS },
	{ "SYN with ECE and CWR", { .flags = SYN | WIRE_ECE | WIRE_CWR }, UP, OURS },
	{ "data", { .flags = ACK | WIRE_PSH }, UP, OURS },
	{ "data, IPv6", { .v6 = true, .flags = ACK }, UP, OURS },
	{ "data in a VLAN", { .tag = { WIRE_TYPE_VLAN }, .flags = ACK }, UP, OURS },
	{ "data in a VLAN, IPv6", { .v6 = true, .tag = { WIRE_TYPE_VLAN }, .flags = ACK }, UP, OURS },
	{ "FIN", { .flags = FIN | ACK }, UP, OURS },
	{ "RST", { .flags = RST }, UP, OURS },
	{ "RST with ACK", { .flags = RST | ACK }, UP, OURS },
	{ "no flags", { .flags = 0 }, UP, OURS },
	{ "all flags", { .flags = 0xff }, UP, OURS },
	{ "DF set", { .flags = ACK, .frag = WIRE_IP4_DF }, UP, OURS },
	{ "data offset 1", { .flags = ACK, .doff = 1 }, UP, OURS },
	{ "data offset beyond the segment", { .flags = ACK, .doff = 15 }, UP, OURS },
	{ "no data", { .flags = ACK, .length_off = -FRAME_DATA }, UP, OURS },
	{ "padding behind the datagram", { .flags = ACK, .pad = 6 }, UP, OURS },
	{ "every address is served", { .flags = SYN, .other_addr = true }, UP, OURS },
	{ "address served", { .flags = SYN }, NARROW, OURS },
	{ "address served, IPv6", { .v6 = true, .flags = SYN }, NARROW, OURS },
	{ "IPv6 alone is served, IPv6", { .v6 = true, .flags = SYN }, NARROW6, OURS },
	{ "heartbeat in the future", { .flags = ACK }, UP_AHEAD, OURS },

	/* ours, but not plain: the kernel would answer with RST */
	{ "IPv4 options", { .flags = ACK, .ihl = 6 }, UP, ODD(options) },
	{ "IPv4 options, all", { .flags = ACK, .ihl = 15 }, UP, ODD(options) },
	{ "IPv4 options, SYN", { .flags = SYN, .ihl = 6 }, UP, ODD(options) },
	{ "IPv4 options in a VLAN", { .tag = { WIRE_TYPE_VLAN }, .ihl = 6 }, UP, ODD(options) },
	{ "first fragment", { .flags = ACK, .frag = WIRE_IP4_MF }, UP, ODD(fragment) },
	{ "first fragment and options", { .frag = WIRE_IP4_MF, .ihl = 6 }, UP, ODD(fragment) },
	{ "first fragment that ends behind the ports",
	  { .frag = WIRE_IP4_MF, .length_off = 8 - 24 }, UP, ODD(fragment) },
	{ "IPv6, hop-by-hop header", { EXT(0), .flags = ACK }, UP, ODD(options) },
	{ "IPv6, routing header", { EXT(43), .flags = ACK }, UP, ODD(options) },
	{ "IPv6, destination options", { EXT(60), .flags = ACK }, UP, ODD(options) },
	{ "IPv6, long options", { EXT(60), .ext_len = 7, .flags = ACK }, UP, ODD(options) },
	{ "IPv6, all extension headers", { EXT(0, 60, 43, 44, 60, 60) }, UP, ODD(options) },
	{ "IPv6, options in a VLAN", { .tag = { WIRE_TYPE_VLAN }, EXT(60) }, UP, ODD(options) },
	{ "IPv6, a fragment of one", { EXT(44), .flags = ACK }, UP, ODD(options) },
	{ "IPv6, first fragment", { EXT(44), .frag = 1, .flags = ACK }, UP, ODD(fragment) },
	{ "IPv6, first fragment, options", { EXT(0, 44), .frag = 1 }, UP, ODD(fragment) },
	{ "IPv6, first fragment, options behind", { EXT(44, 60), .frag = 1 }, UP, ODD(fragment) },
	{ "IPv6, first fragment that ends behind the ports",
	  { EXT(44), .frag = 1, .length_off = 8 - 24 }, UP, ODD(fragment) },
	{ "options, not ready, SYN", { .flags = SYN, .ihl = 6 }, UNREADY, PASS(unready) },
	{ "options, not ready, data", { .flags = ACK, .ihl = 6 }, UNREADY, STRAY },
	{ "first fragment, stalled", { .flags = ACK, .frag = WIRE_IP4_MF }, STALLED, STRAY },
	{ "options, stalled for long", { .flags = ACK, .ihl = 6 }, STALLED_LONG, PASS(stalled) },

	/* ours, and nobody there */
	{ "no socket for the queue, SYN", { .flags = SYN }, NO_SOCKET, PASS(queue) },
	{ "no socket for the queue, data", { .flags = ACK }, NO_SOCKET, PASS(queue) },
	{ "never up, SYN", { .flags = SYN }, NEVER_UP, PASS(unready) },
	{ "never up, data", { .flags = ACK }, NEVER_UP, PASS(unready) },
	{ "not ready, SYN", { .flags = SYN }, UNREADY, PASS(unready) },
	{ "not ready, SYN and ACK", { .flags = SYN | ACK }, UNREADY, STRAY },
	{ "not ready, data", { .flags = ACK }, UNREADY, STRAY },
	{ "not ready, data, IPv6", { .v6 = true, .flags = ACK }, UNREADY, STRAY },
	{ "not ready, RST", { .flags = RST }, UNREADY, STRAY },
	{ "not ready for long, data", { .flags = ACK }, UNREADY_LONG, PASS(unready) },
	{ "stalled, SYN", { .flags = SYN }, STALLED, PASS(stalled) },
	{ "stalled, data", { .flags = ACK }, STALLED, STRAY },
	{ "stalled, FIN, IPv6", { .v6 = true, .flags = FIN | ACK }, STALLED, STRAY },
	{ "stalled for long, data", { .flags = ACK }, STALLED_LONG, PASS(stalled) },
	{ "stalled, other port", { .flags = ACK, .port = 22 }, STALLED, PASS(port) },
	{ "not ready, ARP", { .type = WIRE_TYPE_ARP }, UNREADY, PASS(other) },
};

/* clang-format on */

#undef PASS
#undef STRAY
#undef ODD
#undef EXT
#undef OURS

#endif
