/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * wire.h - how the headers lie in a frame
 *
 * Place    Read by bpf/ and userspace/ alike; nothing here knows the host.
 * Model    One struct a header, natural layout, no packing: a header is either
 *          read in place (BPF, bounds checked by the verifier) or copied out
 *          with memcpy (user space), since it may start at any address.
 * Units    Every field that has more than one byte is big-endian and says _be.
 */
#ifndef WIRE_H
#define WIRE_H

#include <stdint.h>

/* IEEE 802.3; the FCS never reaches us. */
struct wire_eth {
	uint8_t dst[6];
	uint8_t src[6];
	uint16_t type_be;
};

/* IEEE 802.1Q: what follows the first EtherType 0x8100. */
struct wire_vlan {
	uint16_t tci_be; /* priority 3 bits, drop eligible 1, VLAN id 12 */
	uint16_t type_be;
};

/* RFC 791 */
struct wire_ip4 {
	uint8_t ver_ihl;
	uint8_t tos;
	uint16_t len_be; /* header and all that follows */
	uint16_t id_be;
	uint16_t frag_be; /* reserved, DF, MF, 13 bits of offset */
	uint8_t ttl;
	uint8_t proto;
	uint16_t csum_be;
	uint8_t src[4];
	uint8_t dst[4];
};

/* RFC 8200 */
struct wire_ip6 {
	uint8_t ver_class; /* version 4 bits, upper half of traffic class */
	uint8_t class_flow[3];
	uint16_t len_be; /* what follows this header */
	uint8_t next;
	uint8_t hop_limit;
	uint8_t src[16];
	uint8_t dst[16];
};

/* RFC 9293, 3.1 */
struct wire_tcp {
	uint16_t src_be;
	uint16_t dst_be;
	uint8_t seq[4];
	uint8_t ack[4];
	uint8_t doff; /* upper 4 bits: header length in 32-bit words */
	uint8_t flags;
	uint16_t win_be;
	uint16_t csum_be;
	uint16_t urg_be;
};

/* RFC 8200 4: routing, hop-by-hop and destination options begin so; so does the
 * fragment header, whose length is fixed. */
struct wire_ip6_ext {
	uint8_t next;
	uint8_t len;      /* in 8 bytes, the first not counted; in a fragment header reserved */
	uint16_t frag_be; /* in a fragment header: 13 bits of offset, 2 reserved, M */
	uint8_t rest[4];
};

/* RFC 792 with RFC 1191 4; RFC 4443 */
struct wire_icmp {
	uint8_t type;
	uint8_t code;
	uint16_t csum_be;
	uint16_t unused_be;
	uint16_t mtu_be; /* ICMPv6: all four bytes from unused_be on */
};

/* RFC 826, for IPv4 over Ethernet */
struct wire_arp {
	uint16_t hw_type_be;
	uint16_t proto_be;
	uint8_t hw_len, proto_len;
	uint16_t op_be;
	uint8_t sender_mac[6], sender_ip[4];
	uint8_t target_mac[6], target_ip[4];
};

enum wire_length {
	WIRE_ETH_LEN = 14,
	WIRE_VLAN_LEN = 4,
	WIRE_IP4_LEN = 20,    /* without options */
	WIRE_IP6_LEN = 40,    /* without extension headers */
	WIRE_TCP_LEN = 20,    /* without options */
	WIRE_IP6_EXT_LEN = 8, /* the shortest */
	WIRE_ICMP_LEN = 8,
	WIRE_QUOTE_LEN = 8, /* of TCP, at least: ports and sequence (RFC 792) */
	WIRE_ARP_LEN = 28,
	WIRE_ETH_MIN = 60, /* IEEE 802.3: shorter frames are padded */
};

enum wire_ethertype {
	WIRE_TYPE_IP4 = 0x0800,
	WIRE_TYPE_ARP = 0x0806,
	WIRE_TYPE_VLAN = 0x8100,
	WIRE_TYPE_QINQ = 0x88a8,
	WIRE_TYPE_IP6 = 0x86dd,
	WIRE_TYPE_LOCAL = 0x88b5, /* IEEE 802 local experiment 1 */
};

enum wire_misc {
	WIRE_PROTO_ICMP = 1,
	WIRE_PROTO_TCP = 6,
	WIRE_PROTO_ICMP6 = 58,
	WIRE_IP6_HOP_BY_HOP = 0,
	WIRE_IP6_ROUTING = 43,
	WIRE_IP6_FRAGMENT = 44,
	WIRE_IP6_DESTINATION = 60,
	WIRE_IP6_OFFSET = 0xfff8,
	WIRE_IP6_MORE = 1,
	WIRE_ICMP_UNREACHABLE = 3,
	WIRE_ICMP_FRAG_NEEDED = 4, /* code */
	WIRE_ICMP6_TOO_BIG = 2,
	WIRE_IP4_VERSION = 4,
	WIRE_IP6_VERSION = 6,
	WIRE_IP4_DF = 0x4000,
	WIRE_IP4_MF = 0x2000,
	WIRE_IP4_OFFSET = 0x1fff,
	WIRE_ARP_ETHERNET = 1,
	WIRE_ARP_REQUEST = 1,
};

/* RFC 9293, 3.1; ECE and CWR: RFC 3168 */
enum wire_tcp_flag {
	WIRE_FIN = 0x01,
	WIRE_SYN = 0x02,
	WIRE_RST = 0x04,
	WIRE_PSH = 0x08,
	WIRE_ACK = 0x10,
	WIRE_URG = 0x20,
	WIRE_ECE = 0x40,
	WIRE_CWR = 0x80,
};

enum wire_tcp_option {
	WIRE_OPT_END = 0,
	WIRE_OPT_NOP = 1,
	WIRE_OPT_MSS = 2,     /* length 4, RFC 9293 3.2 */
	WIRE_OPT_WSCALE = 3,  /* length 3, RFC 7323 2.2 */
	WIRE_OPT_SACK_OK = 4, /* length 2, RFC 2018 2 */
	WIRE_OPT_SACK = 5,    /* length 2 + 8 a block, RFC 2018 3 */
	WIRE_OPT_TS = 8,      /* length 10, RFC 7323 3.2 */
};

enum { WIRE_SCALE_MAX = 14 }; /* RFC 7323 2.3 */

_Static_assert(sizeof(struct wire_eth) == WIRE_ETH_LEN, "Ethernet header");
_Static_assert(sizeof(struct wire_vlan) == WIRE_VLAN_LEN, "802.1Q tag");
_Static_assert(sizeof(struct wire_ip4) == WIRE_IP4_LEN, "IPv4 header");
_Static_assert(sizeof(struct wire_ip6) == WIRE_IP6_LEN, "IPv6 header");
_Static_assert(sizeof(struct wire_tcp) == WIRE_TCP_LEN, "TCP header");
_Static_assert(sizeof(struct wire_ip6_ext) == WIRE_IP6_EXT_LEN, "IPv6 extension header");
_Static_assert(sizeof(struct wire_icmp) == WIRE_ICMP_LEN, "ICMP header");
_Static_assert(sizeof(struct wire_arp) == WIRE_ARP_LEN, "ARP packet");

#endif
