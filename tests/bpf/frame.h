/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * frame.h - frames for tests of the XDP program, described by what is odd
 *
 * Model    A struct frame that is all zero stands for a good segment: IPv4, no
 *          tag, our MAC, address and port, no flags, 4 bytes of data. Each
 *          member that is not zero changes one thing.
 */
#ifndef FRAME_H
#define FRAME_H

#include <string.h>
#include "base.h"
#include "wire.h"

enum { FRAME_PORT = 8080, FRAME_CLIENT_PORT = 40000, FRAME_DATA = 4, FRAME_MAX = 1024 };

static const uint8_t frame_mac[6] = { 0x02, 0, 0, 0, 0, 0x01 };
static const uint8_t frame_client_mac[6] = { 0x02, 0, 0, 0, 0, 0x02 };
static const uint8_t frame_addr4[4] = { 192, 0, 2, 1 };
static const uint8_t frame_client4[4] = { 192, 0, 2, 2 };
static const uint8_t frame_addr6[16] = { 0x20, 0x01, 0x0d, 0xb8, [15] = 1 };
static const uint8_t frame_client6[16] = { 0x20, 0x01, 0x0d, 0xb8, [15] = 2 };

struct frame {
	bool v6;
	uint16_t type;   /* another EtherType, nothing known behind it */
	uint16_t tag[2]; /* EtherTypes of tags, outer first */
	uint16_t proto;  /* another protocol behind IP */
	bool broadcast;  /* destination MAC ff:ff:ff:ff:ff:ff */
	bool other_mac;  /* destination MAC of somebody else */
	bool other_addr; /* destination address of somebody else */
	uint16_t port;   /* another destination port */
	uint16_t frag;   /* IPv4 flags and offset; offset and M of IPv6 fragment headers */
	uint8_t exts;    /* IPv6 extension headers */
	uint8_t ext[8];  /* their kinds */
	uint8_t ext_len; /* their length as it stands in them: in 8 bytes behind the first */
	uint8_t ihl;     /* IPv4 header length in words; above 5: options */
	uint8_t version; /* another IP version */
	int length_off;  /* add to the IP length */
	uint8_t flags;   /* TCP */
	uint8_t doff;    /* TCP data offset in words, wrong or right */
	uint8_t pad;     /* bytes behind the datagram */
	/* a real connection, instead of the made-up one */
	const void *src, *dst;
	uint16_t src_port;
	uint32_t seq, ack;
	/* other data, perhaps none; and TCP options, whole words */
	const void *data;
	uint16_t data_len;
	const uint8_t *opt;
	uint8_t opt_len;
};

static inline size_t frame_eth(uint8_t *out, const struct frame *f)
{
	struct wire_eth *eth = (struct wire_eth *)out;
	uint8_t *at = out + sizeof *eth - 2;
	memcpy(eth->dst, frame_mac, 6);
	if (f->other_mac)
		eth->dst[5] ^= 0x80;
	if (f->broadcast)
		memset(eth->dst, 0xff, 6);
	memcpy(eth->src, frame_client_mac, 6);
	for (int i = 0; i < 2 && f->tag[i]; i++, at += 4) {
		put_be16(at, f->tag[i]);
		put_be16(at + 2, 7);
	}
	put_be16(at, f->type ? f->type : f->v6 ? WIRE_TYPE_IP6 : WIRE_TYPE_IP4);
	return (size_t)(at + 2 - out);
}

static inline size_t frame_ip4(uint8_t *at, const struct frame *f, size_t payload)
{
	uint8_t ihl = f->ihl ? f->ihl : 5, version = f->version ? f->version : 4;
	size_t header = max_u64(ihl, 5) * 4;
	at[0] = (uint8_t)(version << 4 | ihl);
	put_be16(at + 2, (uint16_t)((int)(header + payload) + f->length_off));
	put_be16(at + 6, f->frag);
	at[8] = 64;
	at[9] = f->proto ? (uint8_t)f->proto : WIRE_PROTO_TCP;
	memcpy(at + 12, f->src ? f->src : frame_client4, 4);
	memcpy(at + 16, f->dst ? f->dst : frame_addr4, 4);
	at[19] ^= f->other_addr ? 0x80 : 0;
	memset(at + 20, 1, header - 20); /* options: no operation */
	return header;
}

/* Each says what the next one is; *next is where the first of them is named. */
static inline size_t frame_exts(uint8_t *next, uint8_t *at, const struct frame *f)
{
	uint8_t *start = at;
	for (int i = 0; i < f->exts; i++) {
		bool fragment = f->ext[i] == WIRE_IP6_FRAGMENT;
		*next = f->ext[i];
		next = at;
		if (fragment)
			put_be16(at + 2, f->frag);
		else
			at[1] = f->ext_len;
		at += fragment ? 8 : 8 + 8 * f->ext_len;
	}
	*next = f->proto ? (uint8_t)f->proto : WIRE_PROTO_TCP;
	return (size_t)(at - start);
}

static inline size_t frame_ip6(uint8_t *at, const struct frame *f, size_t payload)
{
	size_t exts = frame_exts(at + 6, at + 40, f);
	at[0] = (uint8_t)((f->version ? f->version : 6) << 4);
	put_be16(at + 4, (uint16_t)((int)(exts + payload) + f->length_off));
	at[7] = 64;
	memcpy(at + 8, f->src ? f->src : frame_client6, 16);
	memcpy(at + 24, f->dst ? f->dst : frame_addr6, 16);
	at[39] ^= f->other_addr ? 0x80 : 0;
	return 40 + exts;
}

/* Checksums stay zero: the program does not look at them. Returns the length. */
static inline size_t frame_build(uint8_t out[FRAME_MAX], const struct frame *f)
{
	const void *data = f->data ? f->data : "data";
	const size_t data_len = f->data ? f->data_len : FRAME_DATA;
	const size_t payload = WIRE_TCP_LEN + f->opt_len + data_len;
	memset(out, 0, FRAME_MAX);
	uint8_t *at = out + frame_eth(out, f);
	at += f->v6 ? frame_ip6(at, f, payload) : frame_ip4(at, f, payload);
	put_be16(at, f->src_port ? f->src_port : FRAME_CLIENT_PORT);
	put_be16(at + 2, f->port ? f->port : FRAME_PORT);
	put_be32(at + 4, f->seq ? f->seq : 1000);
	put_be32(at + 8, f->ack ? f->ack : 2000);
	at[12] = (uint8_t)((f->doff ? f->doff : (WIRE_TCP_LEN + f->opt_len) / 4) << 4);
	at[13] = f->flags;
	if (f->opt_len)
		memcpy(at + WIRE_TCP_LEN, f->opt, f->opt_len);
	memcpy(at + WIRE_TCP_LEN + f->opt_len, data, data_len);
	return (size_t)(at + payload - out) + f->pad;
}

#endif
