/* SPDX-License-Identifier: GPL-2.0-only */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "frame.h"
#include "wire.h"

/* RFC 1071, byte by byte. */
static uint32_t sum(const uint8_t *at, size_t n, uint32_t so_far)
{
	for (size_t i = 0; i < n; i++)
		so_far += i & 1 ? at[i] : (uint32_t)at[i] << 8;
	return so_far;
}

static uint16_t folded(uint32_t s)
{
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return (uint16_t)~s;
}

/* Where the headers of a frame under construction are. */
struct plan {
	uint8_t *frame, *ip, *tcp;
	size_t tcp_len, len;
	bool ip6;
};

static uint16_t tcp_sum(const uint8_t *ip, bool ip6, const uint8_t *tcp, size_t len)
{
	uint32_t s = ip6 ? sum(ip + 8, 32, 0) : sum(ip + 12, 8, 0);

	return folded(sum(tcp, len, s + WIRE_PROTO_TCP + (uint32_t)len));
}

static void make_sums(struct plan *p)
{
	if (!p->ip6) {
		put_be16(p->ip + 10, 0);
		put_be16(p->ip + 10, folded(sum(p->ip, (size_t)(p->tcp - p->ip), 0)));
	}
	put_be16(p->tcp + 16, 0);
	put_be16(p->tcp + 16, tcp_sum(p->ip, p->ip6, p->tcp, p->tcp_len));
}

static void insert(struct plan *p, uint8_t *at, const void *bytes, size_t n)
{
	memmove(at + n, at, (size_t)(p->frame + p->len - at));
	memcpy(at, bytes, n);
	p->len += n;
	if (at <= p->ip)
		p->ip += n;
	p->tcp += n; /* nothing is ever put behind the TCP header */
}

/* Damages to fields that the sums cover. */
static void damage_inside(struct plan *p, const struct damage *d, const struct ends *e)
{
	static const uint8_t none[16];
	bool server = !memcmp(d->address, none, sizeof none);
	uint16_t v = (uint16_t)d->value;

	switch (d->kind) {
	case DAMAGE_doff:
		p->tcp[12] = (uint8_t)(v << 4);
		break;
	case DAMAGE_reserved:
		p->tcp[12] |= v & 15;
		break;
	case DAMAGE_urg:
		put_be16(p->tcp + 18, v);
		break;
	case DAMAGE_sport:
		put_be16(p->tcp, v);
		break;
	case DAMAGE_dport:
		put_be16(p->tcp + 2, v);
		break;
	case DAMAGE_frag:
		put_be16(p->ip + 6, v);
		break;
	case DAMAGE_iplen:
		put_be16(p->ip + (p->ip6 ? 4 : 2), v);
		break;
	case DAMAGE_ihl:
		p->ip[0] = (uint8_t)(0x40 | v);
		break;
	case DAMAGE_ver:
		p->ip[0] = (uint8_t)(v << 4 | (p->ip[0] & 15));
		break;
	case DAMAGE_proto:
		p->ip[p->ip6 ? 6 : 9] = (uint8_t)v;
		break;
	case DAMAGE_src:
	case DAMAGE_dst: {
		size_t size = p->ip6 ? 16 : 4, at = p->ip6 ? 8 : 12;
		const uint8_t *to = p->ip6 ? e->server_ip6 : e->server_ip4;
		memcpy(p->ip + at + (d->kind == DAMAGE_dst ? size : 0), server ? to : d->address,
		       size);
		break;
	}
	case DAMAGE_ipopt:
		insert(p, p->tcp, "\1\1\1\0", 4);
		p->ip[0]++;
		put_be16(p->ip + 2, (uint16_t)(be16(p->ip + 2) + 4));
		break;
	default:
		break;
	}
}

/* Damages to the frame around them, and to the sums. */
static void damage_outside(struct plan *p, const struct damage *d)
{
	uint8_t tag[4] = { 0x81, 0x00, (uint8_t)(d->value >> 8), (uint8_t)d->value };

	switch (d->kind) {
	case DAMAGE_badsum:
		p->tcp[16] ^= 0x5a;
		break;
	case DAMAGE_zerosum:
		put_be16(p->tcp + 16, 0);
		break;
	case DAMAGE_badipsum:
		p->ip[10] ^= 0x5a;
		break;
	case DAMAGE_vlan:
		insert(p, p->frame + 12, tag, 4);
		break;
	case DAMAGE_type:
		put_be16(p->ip - 2, (uint16_t)d->value);
		break;
	case DAMAGE_pad:
		memset(p->frame + p->len, 0xa5, d->value);
		p->len += d->value;
		break;
	case DAMAGE_trunc:
		p->len = d->value < p->len ? d->value : p->len;
		break;
	default:
		break;
	}
}

static uint8_t *make_ip(struct plan *p, const struct ends *e, size_t tcp_len)
{
	static uint16_t id; /* a host counts its datagrams */
	uint8_t *ip = p->ip;

	if (p->ip6) {
		memset(ip, 0, WIRE_IP6_LEN);
		ip[0] = WIRE_IP6_VERSION << 4;
		put_be16(ip + 4, (uint16_t)tcp_len);
		ip[6] = WIRE_PROTO_TCP;
		ip[7] = 64;
		memcpy(ip + 8, e->client_ip6, 16);
		memcpy(ip + 24, e->server_ip6, 16);
		return ip + WIRE_IP6_LEN;
	}
	memset(ip, 0, WIRE_IP4_LEN);
	ip[0] = WIRE_IP4_VERSION << 4 | WIRE_IP4_LEN / 4;
	put_be16(ip + 2, (uint16_t)(WIRE_IP4_LEN + tcp_len));
	put_be16(ip + 4, ++id);
	put_be16(ip + 6, WIRE_IP4_DF);
	ip[8] = 64;
	ip[9] = WIRE_PROTO_TCP;
	memcpy(ip + 12, e->client_ip4, 4);
	memcpy(ip + 16, e->server_ip4, 4);
	return ip + WIRE_IP4_LEN;
}

size_t frame_make(uint8_t frame[FRAME_MOST], const struct ends *e, bool ip6, const struct seg *s,
		  const struct damage *damage, unsigned damages)
{
	size_t header = WIRE_TCP_LEN + (s->option_len + 3) / 4 * 4;
	struct plan p = {
		.frame = frame,
		.ip = frame + WIRE_ETH_LEN,
		.tcp_len = header + s->len,
		.ip6 = ip6,
	};

	must(WIRE_ETH_LEN + WIRE_IP6_LEN + p.tcp_len + 64 <= FRAME_MOST);
	memcpy(frame, e->server_mac, 6);
	memcpy(frame + 6, e->client_mac, 6);
	put_be16(frame + 12, ip6 ? WIRE_TYPE_IP6 : WIRE_TYPE_IP4);
	p.tcp = make_ip(&p, e, p.tcp_len);
	memset(p.tcp, 0, header);
	put_be16(p.tcp, s->sport);
	put_be16(p.tcp + 2, s->dport);
	put_be32(p.tcp + 4, s->seq);
	put_be32(p.tcp + 8, s->ack);
	p.tcp[12] = (uint8_t)(header / 4 << 4);
	p.tcp[13] = s->flags;
	put_be16(p.tcp + 14, s->window);
	memcpy(p.tcp + WIRE_TCP_LEN, s->option, s->option_len);
	if (s->len)
		memcpy(p.tcp + header, s->data, s->len);
	p.len = (size_t)(p.tcp + p.tcp_len - frame);
	for (unsigned i = 0; i < damages; i++)
		damage_inside(&p, &damage[i], e);
	make_sums(&p);
	for (unsigned i = 0; i < damages; i++)
		damage_outside(&p, &damage[i]);
	return p.len;
}

/* --- what came ------------------------------------------------------------------- */

static const char *bad_ip4(const uint8_t *ip, size_t left, size_t *tcp_len)
{
	if (left < WIRE_IP4_LEN || ip[0] != 0x45)
		return "IPv4 header is not 20 bytes";
	if (be16(ip + 2) < WIRE_IP4_LEN + WIRE_TCP_LEN || be16(ip + 2) > left)
		return "IPv4 total length does not fit the frame";
	if (folded(sum(ip, WIRE_IP4_LEN, 0)))
		return "wrong IPv4 checksum";
	if (be16(ip + 6) != WIRE_IP4_DF)
		return "DF is not set, or a fragment";
	if (!ip[8])
		return "TTL 0";
	*tcp_len = be16(ip + 2) - (size_t)WIRE_IP4_LEN;
	return NULL;
}

static const char *bad_ip6(const uint8_t *ip, size_t left, size_t *tcp_len)
{
	if (left < WIRE_IP6_LEN || ip[0] >> 4 != WIRE_IP6_VERSION)
		return "IPv6 header is cut off or of another version";
	if (be16(ip + 4) < WIRE_TCP_LEN || be16(ip + 4) > left - WIRE_IP6_LEN)
		return "IPv6 payload length does not fit the frame";
	if (!ip[7])
		return "hop limit 0";
	*tcp_len = be16(ip + 4);
	return NULL;
}

static const char *read_tcp(const uint8_t *tcp, size_t len, struct seg *s)
{
	size_t header = (tcp[12] >> 4) * 4u;
	unsigned end;

	if (header < WIRE_TCP_LEN || header > len)
		return "TCP data offset is impossible";
	if (tcp[12] & 15)
		return "reserved bits are set";
	s->seq = be32(tcp + 4);
	s->ack = be32(tcp + 8);
	s->flags = tcp[13];
	s->window = be16(tcp + 14);
	s->option_len = (unsigned)(header - WIRE_TCP_LEN);
	memcpy(s->option, tcp + WIRE_TCP_LEN, s->option_len);
	s->data = tcp + header;
	s->len = (uint32_t)(len - header);
	if (!(s->flags & WIRE_ACK) && s->ack)
		return "ACK number without the ACK flag"; /* not forbidden, but a leak */
	return frame_option(s, WIRE_OPT_END, &end) ? "option list is malformed" : NULL;
}

enum frame_kind frame_read(const uint8_t *frame, size_t len, const struct ends *e, bool ip6,
			   struct seg *s, const char **why)
{
	size_t at = WIRE_ETH_LEN, ip_len = ip6 ? WIRE_IP6_LEN : WIRE_IP4_LEN, tcp_len = 0;

	if (len < WIRE_ETH_LEN + WIRE_VLAN_LEN || memcmp(frame, e->client_mac, 6))
		return FRAME_OTHER;
	*s = (struct seg){ .vlan = FRAME_UNTAGGED };
	if (be16(frame + 12) == WIRE_TYPE_VLAN) {
		s->vlan = be16(frame + 14);
		at += WIRE_VLAN_LEN;
	}
	const uint8_t *ip = frame + at, *tcp = ip + ip_len;
	if (be16(ip - 2) != (ip6 ? WIRE_TYPE_IP6 : WIRE_TYPE_IP4) ||
	    len < at + ip_len + WIRE_TCP_LEN || ip[ip6 ? 6 : 9] != WIRE_PROTO_TCP)
		return FRAME_OTHER;
	s->sport = be16(tcp);
	s->dport = be16(tcp + 2);
	if ((uint16_t)(s->dport - e->client_port) >= SCRIPT_CONNS)
		return FRAME_OTHER;
	*why = ip6 ? bad_ip6(ip, len - at, &tcp_len) : bad_ip4(ip, len - at, &tcp_len);
	if (!*why && memcmp(frame + 6, e->server_mac, 6))
		*why = "not from the server's MAC";
	if (!*why &&
	    (ip6 ? memcmp(ip + 8, e->server_ip6, 16) || memcmp(ip + 24, e->client_ip6, 16) :
		   memcmp(ip + 12, e->server_ip4, 4) || memcmp(ip + 16, e->client_ip4, 4)))
		*why = "not from the server's address to the client's";
	if (!*why && s->sport != e->server_port)
		*why = "not from the server's port";
	if (!*why && len < WIRE_ETH_MIN)
		*why = "shorter than an Ethernet frame";
	if (!*why && tcp_sum(ip, ip6, tcp, tcp_len))
		*why = "wrong TCP checksum";
	if (!*why)
		*why = read_tcp(tcp, tcp_len, s);
	return *why ? FRAME_BAD : FRAME_OURS;
}

const uint8_t *frame_option(const struct seg *s, uint8_t kind, unsigned *len)
{
	const uint8_t *o = s->option;

	for (unsigned i = 0; i < s->option_len; i += o[i + 1]) {
		while (i < s->option_len && o[i] == WIRE_OPT_NOP)
			i++;
		if (i == s->option_len || o[i] == WIRE_OPT_END)
			return NULL;
		if (i + 1 == s->option_len || o[i + 1] < 2 || i + o[i + 1] > s->option_len)
			return kind == WIRE_OPT_END ? o + i : NULL;
		*len = o[i + 1] - 2u;
		if (o[i] == kind)
			return o + i + 2;
	}
	return NULL;
}

/* --- for people -------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static void add(char *to, size_t room, const char *format,
						      ...)
{
	size_t n = strlen(to);
	va_list args;

	va_start(args, format);
	vsnprintf(to + n, room - n, format, args);
	va_end(args);
}

static void show_options(char *to, size_t room, const struct seg *s, uint32_t ack0)
{
	const uint8_t *o;
	unsigned n;
	const char *comma = "";

	if (!s->option_len)
		return;
	add(to, room, " <");
	if ((o = frame_option(s, WIRE_OPT_MSS, &n)) && n == 2) {
		add(to, room, "mss %u", be16(o));
		comma = ",";
	}
	if (frame_option(s, WIRE_OPT_SACK_OK, &n)) {
		add(to, room, "%ssackOK", comma);
		comma = ",";
	}
	if ((o = frame_option(s, WIRE_OPT_TS, &n)) && n == 8) {
		add(to, room, "%sTS val %u ecr %u", comma, be32(o), be32(o + 4));
		comma = ",";
	}
	if ((o = frame_option(s, WIRE_OPT_SACK, &n))) {
		add(to, room, "%ssack", comma);
		for (unsigned i = 0; i + 8 <= n; i += 8)
			add(to, room, " %u:%u", be32(o + i) - ack0, be32(o + i + 4) - ack0);
		comma = ",";
	}
	if ((o = frame_option(s, WIRE_OPT_WSCALE, &n)) && n == 1)
		add(to, room, "%swscale %u", comma, *o);
	add(to, room, ">");
}

void frame_show(char *to, size_t room, const struct seg *s, uint32_t seq0, uint32_t ack0)
{
	uint32_t seq = s->seq - seq0;

	*to = 0;
	for (int bit = 0; bit < 8; bit++)
		if (s->flags & 1u << bit)
			add(to, room, "%c", "FSRP.UEC"[bit]);
	add(to, room, "%s %u:%u(%u)", s->flags ? "" : "-", seq, seq + s->len, s->len);
	if (s->flags & WIRE_ACK)
		add(to, room, " ack %u", s->ack - ack0);
	add(to, room, " win %u", s->window);
	show_options(to, room, s, ack0);
	if (s->vlan != FRAME_UNTAGGED)
		add(to, room, " vlan %u", s->vlan);
	if (!s->len)
		return;
	add(to, room, " \"");
	for (uint32_t i = 0; i < s->len && strlen(to) + 16 < room; i++) {
		uint8_t c = s->data[i];
		if (c == '\r')
			add(to, room, "\\r");
		else if (c == '\n')
			add(to, room, "\\n");
		else if (isprint(c))
			add(to, room, c == '"' || c == '\\' ? "\\%c" : "%c", c);
		else
			add(to, room, "\\x%02x", c);
	}
	add(to, room, "\"");
}
