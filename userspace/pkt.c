/* SPDX-License-Identifier: GPL-2.0-only */
#include "pkt.h"
#include "wire.h"

static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

/* What is left of the frame while its headers are taken off. */
struct cursor {
	const uint8_t *at;
	size_t left;
};

static const uint8_t *take(struct cursor *c, size_t n)
{
	const uint8_t *at = c->at;

	if (c->left < n)
		return NULL;
	c->at += n;
	c->left -= n;
	return at;
}

/* --- checksums --------------------------------------------------------------- */

uint64_t pkt_sum(const void *bytes, size_t len, uint64_t sum)
{
	const uint8_t *at = bytes;
	uint32_t word = 0;

	for (; len >= 16; len -= 16, at += 16) {
		uint32_t w[4];
		memcpy(w, at, 16);
		sum += (uint64_t)w[0] + w[1];
		sum += (uint64_t)w[2] + w[3];
	}
	for (; len >= 4; len -= 4, at += 4) {
		memcpy(&word, at, 4);
		sum += word;
	}
	word = 0;
	for (size_t i = 0; i < len; i++)
		word |= (uint32_t)at[i] << (8 * i);
	return sum + word;
}

/* Little-endian sums give the little-endian checksum (RFC 1071 2 B). */
uint16_t pkt_fold(uint64_t sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* Pseudo-header: addresses, protocol, length. The mapped prefix of an IPv4
 * address sums to ffff, which is zero in ones' complement. */
static uint64_t pseudo_sum(const struct pkt_flow *f, size_t tcp_len)
{
	uint64_t sum = pkt_sum(f->remote, 16, 0);

	sum = pkt_sum(f->local, 16, sum);
	return sum + __builtin_bswap16(WIRE_PROTO_TCP) + __builtin_bswap32((uint32_t)tcp_len);
}

/* --- in ---------------------------------------------------------------------- */

static enum pkt_verdict parse_eth(struct cursor *c, struct pkt_link *link, uint16_t *type)
{
	const uint8_t *at = take(c, WIRE_ETH_LEN);
	struct wire_eth eth;
	struct wire_vlan tag;

	if (!at)
		return PKT_bad_eth;
	memcpy(&eth, at, sizeof eth);
	memcpy(link->remote, eth.src, 6);
	memcpy(link->local, eth.dst, 6);
	link->vlan = PKT_UNTAGGED;
	*type = be16(&eth.type_be);
	if (*type != WIRE_TYPE_VLAN)
		return PKT_ok;
	at = take(c, WIRE_VLAN_LEN);
	if (!at)
		return PKT_bad_eth;
	memcpy(&tag, at, sizeof tag);
	link->vlan = be16(&tag.tci_be);
	*type = be16(&tag.type_be);
	return PKT_ok;
}

static void map_ip4(uint8_t to[16], const uint8_t ip4[4])
{
	memcpy(to, mapped, 12);
	memcpy(to + 12, ip4, 4);
}

/* Addresses that no TCP connection can have: 0/8, 127/8, multicast, class E
 * with the broadcast address (RFC 1122 3.2.1.3). */
static bool bad_ip4(const uint8_t a[4])
{
	return a[0] == 0 || a[0] == 127 || a[0] >= 224;
}

/* Unspecified, loopback, multicast, and IPv4-mapped (RFC 4291; never on a wire). */
static bool bad_ip6(const uint8_t a[16])
{
	static const uint8_t zero[15];

	return a[0] == 0xff || (!memcmp(a, zero, 15) && a[15] <= 1) || !memcmp(a, mapped, 12);
}

static enum pkt_verdict parse_ip4(struct cursor *c, struct pkt_flow *f)
{
	const uint8_t *start = c->at, *at = take(c, WIRE_IP4_LEN);
	struct wire_ip4 ip;
	size_t header, total;

	if (!at)
		return PKT_bad_ip_header;
	memcpy(&ip, at, sizeof ip);
	header = (ip.ver_ihl & 15) * 4u;
	if (ip.ver_ihl >> 4 != WIRE_IP4_VERSION || header < WIRE_IP4_LEN ||
	    header - WIRE_IP4_LEN > c->left)
		return PKT_bad_ip_header;
	total = be16(&ip.len_be);
	if (total < header + WIRE_TCP_LEN || total - WIRE_IP4_LEN > c->left)
		return PKT_bad_ip_length;
	if (pkt_fold(pkt_sum(start, header, 0)))
		return PKT_bad_ip_csum;
	if (header > WIRE_IP4_LEN)
		return PKT_ip_options;
	if (be16(&ip.frag_be) & (WIRE_IP4_MF | WIRE_IP4_OFFSET))
		return PKT_fragment;
	if (ip.proto != WIRE_PROTO_TCP)
		return PKT_bad_type;
	if (bad_ip4(ip.src) || bad_ip4(ip.dst))
		return PKT_bad_addr;
	c->left = total - WIRE_IP4_LEN; /* the rest is Ethernet padding */
	map_ip4(f->remote, ip.src);
	map_ip4(f->local, ip.dst);
	return PKT_ok;
}

static enum pkt_verdict parse_ip6(struct cursor *c, struct pkt_flow *f)
{
	const uint8_t *at = take(c, WIRE_IP6_LEN);
	struct wire_ip6 ip;
	size_t len;

	if (!at)
		return PKT_bad_ip_header;
	memcpy(&ip, at, sizeof ip);
	if (ip.ver_class >> 4 != WIRE_IP6_VERSION)
		return PKT_bad_ip_header;
	len = be16(&ip.len_be);
	if (len < WIRE_TCP_LEN || len > c->left)
		return PKT_bad_ip_length;
	if (ip.next != WIRE_PROTO_TCP)
		return PKT_ip_options;
	if (bad_ip6(ip.src) || bad_ip6(ip.dst))
		return PKT_bad_addr;
	c->left = len;
	memcpy(f->remote, ip.src, 16);
	memcpy(f->local, ip.dst, 16);
	return PKT_ok;
}

static void parse_sack(const uint8_t *body, size_t len, struct pkt_seg *s)
{
	for (; len >= 8 && s->sack_count < PKT_SACKS; len -= 8, body += 8) {
		s->sack[s->sack_count].left = be32(body);
		s->sack[s->sack_count].right = be32(body + 4);
		s->sack_count++;
	}
}

/* One option of known kind. False: its length is wrong for the kind. */
static bool parse_option(uint8_t kind, const uint8_t *body, size_t len, struct pkt_seg *s)
{
	switch (kind) {
	case WIRE_OPT_MSS:
		if (len != 2)
			return false;
		s->mss = be16(body);
		return true;
	case WIRE_OPT_WSCALE:
		if (len != 1)
			return false;
		s->wscale = body[0];
		return true;
	case WIRE_OPT_SACK_OK:
		s->sack_ok = len == 0;
		return len == 0;
	case WIRE_OPT_SACK:
		if (!len || len % 8)
			return false;
		parse_sack(body, len, s);
		return true;
	case WIRE_OPT_TS:
		if (len != 8)
			return false;
		s->has_ts = true;
		s->ts_val = be32(body);
		s->ts_ecr = be32(body + 4);
		return true;
	default:
		return true; /* RFC 9293 MUST-6: unknown options are skipped by their length */
	}
}

/* A length below 2, or one that runs past the header, ends the list. */
static enum pkt_verdict parse_options(const uint8_t *at, size_t left, struct pkt_seg *s)
{
	while (left && at[0] != WIRE_OPT_END) {
		if (at[0] == WIRE_OPT_NOP) {
			at++;
			left--;
			continue;
		}
		if (left < 2 || at[1] < 2 || at[1] > left)
			return PKT_bad_option;
		if (!parse_option(at[0], at + 2, at[1] - 2u, s))
			return PKT_bad_option;
		left -= at[1];
		at += at[1];
	}
	return PKT_ok;
}

static enum pkt_verdict parse_tcp(struct cursor *c, struct pkt_seg *s)
{
	const uint8_t *start = c->at;
	size_t len = c->left, header;
	struct wire_tcp tcp;

	memcpy(&tcp, take(c, WIRE_TCP_LEN), sizeof tcp);
	header = (tcp.doff >> 4) * 4u;
	if (header < WIRE_TCP_LEN || header > len)
		return PKT_bad_doff;
	if (pkt_fold(pkt_sum(start, len, pseudo_sum(&s->flow, len))))
		return PKT_bad_tcp_csum;
	s->flow.remote_port = be16(&tcp.src_be);
	s->flow.local_port = be16(&tcp.dst_be);
	if (!s->flow.remote_port || !s->flow.local_port)
		return PKT_bad_port;
	if (!memcmp(s->flow.remote, s->flow.local, 16))
		return PKT_bad_addr; /* LAND */
	s->seq = be32(tcp.seq);
	s->ack = be32(tcp.ack);
	s->window = be16(&tcp.win_be);
	s->flags = tcp.flags;
	s->data = start + header;
	s->len = (uint32_t)(len - header);
	s->wscale = PKT_NO_SCALE;
	return header == WIRE_TCP_LEN ?
		       PKT_ok :
		       parse_options(start + WIRE_TCP_LEN, header - WIRE_TCP_LEN, s);
}

enum pkt_verdict pkt_parse(const uint8_t *frame, size_t len, struct pkt_seg *s)
{
	struct cursor c = { frame, len };
	enum pkt_verdict v;
	uint16_t type;

	memset(s, 0, offsetof(struct pkt_seg, sack));
	v = parse_eth(&c, &s->link, &type);
	if (v != PKT_ok)
		return v;
	if (type == WIRE_TYPE_IP4)
		v = parse_ip4(&c, &s->flow);
	else if (type == WIRE_TYPE_IP6)
		v = parse_ip6(&c, &s->flow);
	else
		v = PKT_bad_type;
	return v == PKT_ok ? parse_tcp(&c, s) : v;
}

/* --- out --------------------------------------------------------------------- */

static uint8_t *emit_eth(uint8_t *at, const struct pkt_link *link, uint16_t type)
{
	memcpy(at, link->remote, 6);
	memcpy(at + 6, link->local, 6);
	at += 12;
	if (link->vlan != PKT_UNTAGGED) {
		put_be16(at, WIRE_TYPE_VLAN);
		put_be16(at + 2, link->vlan);
		at += WIRE_VLAN_LEN;
	}
	put_be16(at, type);
	return at + 2;
}

/* DF is set and the identification is 0: atomic datagrams (RFC 6864 4.1). */
static uint8_t *emit_ip4(uint8_t *at, const struct pkt_flow *f, size_t tcp_len)
{
	struct wire_ip4 ip = {
		.ver_ihl = WIRE_IP4_VERSION << 4 | WIRE_IP4_LEN / 4,
		.ttl = 64, /* RFC 1700's default, as Linux */
		.proto = WIRE_PROTO_TCP,
	};

	put_be16(&ip.len_be, (uint16_t)(WIRE_IP4_LEN + tcp_len));
	put_be16(&ip.frag_be, WIRE_IP4_DF);
	memcpy(ip.src, f->local + 12, 4);
	memcpy(ip.dst, f->remote + 12, 4);
	ip.csum_be = pkt_fold(pkt_sum(&ip, sizeof ip, 0));
	memcpy(at, &ip, sizeof ip);
	return at + sizeof ip;
}

static uint8_t *emit_ip6(uint8_t *at, const struct pkt_flow *f, size_t tcp_len)
{
	struct wire_ip6 ip = {
		.ver_class = WIRE_IP6_VERSION << 4,
		.next = WIRE_PROTO_TCP,
		.hop_limit = 64,
	};

	put_be16(&ip.len_be, (uint16_t)tcp_len);
	memcpy(ip.src, f->local, 16);
	memcpy(ip.dst, f->remote, 16);
	memcpy(at, &ip, sizeof ip);
	return at + sizeof ip;
}

/* In the order and with the padding that Linux uses, so that a timestamp
 * alone is aligned: NOP NOP TS (RFC 7323 appendix A). */
static uint8_t *emit_options(uint8_t *at, const struct pkt_seg *s)
{
	if (s->mss) {
		at[0] = WIRE_OPT_MSS;
		at[1] = 4;
		put_be16(at + 2, s->mss);
		at += 4;
	}
	if (s->sack_ok) {
		memcpy(at, (uint8_t[4]){ WIRE_OPT_NOP, WIRE_OPT_NOP, WIRE_OPT_SACK_OK, 2 }, 4);
		at += 4;
	}
	if (s->has_ts) {
		memcpy(at, (uint8_t[4]){ WIRE_OPT_NOP, WIRE_OPT_NOP, WIRE_OPT_TS, 10 }, 4);
		put_be32(at + 4, s->ts_val);
		put_be32(at + 8, s->ts_ecr);
		at += 12;
	}
	if (s->wscale != PKT_NO_SCALE) {
		memcpy(at, (uint8_t[4]){ WIRE_OPT_NOP, WIRE_OPT_WSCALE, 3, s->wscale }, 4);
		at += 4;
	}
	if (s->sack_count) {
		memcpy(at,
		       (uint8_t[4]){ WIRE_OPT_NOP, WIRE_OPT_NOP, WIRE_OPT_SACK,
				     (uint8_t)(2 + 8 * s->sack_count) },
		       4);
		at += 4;
		for (unsigned i = 0; i < s->sack_count; i++, at += 8) {
			put_be32(at, s->sack[i].left);
			put_be32(at + 4, s->sack[i].right);
		}
	}
	return at;
}

static size_t options_len(const struct pkt_seg *s)
{
	return (s->mss ? 4u : 0) + (s->sack_ok ? 4u : 0) + (s->has_ts ? 12u : 0) +
	       (s->wscale != PKT_NO_SCALE ? 4u : 0) + (s->sack_count ? 4u + 8u * s->sack_count : 0);
}

static size_t link_len(const struct pkt_seg *s)
{
	return WIRE_ETH_LEN + (s->link.vlan != PKT_UNTAGGED ? WIRE_VLAN_LEN : 0);
}

size_t pkt_room(const struct pkt_seg *s)
{
	size_t len = link_len(s) + (pkt_is_ip4(&s->flow) ? WIRE_IP4_LEN : WIRE_IP6_LEN) +
		     WIRE_TCP_LEN + options_len(s) + s->len;

	return len < WIRE_ETH_MIN ? WIRE_ETH_MIN : len;
}

size_t pkt_emit(const struct pkt_seg *s, uint8_t *frame, size_t room)
{
	bool ip4 = pkt_is_ip4(&s->flow);
	size_t header = WIRE_TCP_LEN + options_len(s), tcp_len = header + s->len;
	struct wire_tcp tcp = {
		.doff = (uint8_t)(header / 4 << 4),
		.flags = s->flags,
	};
	uint8_t *at, *start, *end;
	uint16_t csum;

	must(pkt_room(s) <= room && header <= 60);
	at = emit_eth(frame, &s->link, ip4 ? WIRE_TYPE_IP4 : WIRE_TYPE_IP6);
	start = ip4 ? emit_ip4(at, &s->flow, tcp_len) : emit_ip6(at, &s->flow, tcp_len);
	put_be16(&tcp.src_be, s->flow.local_port);
	put_be16(&tcp.dst_be, s->flow.remote_port);
	put_be32(tcp.seq, s->seq);
	put_be32(tcp.ack, s->ack);
	put_be16(&tcp.win_be, s->window);
	memcpy(start, &tcp, sizeof tcp);
	end = emit_options(start + sizeof tcp, s);
	must_debug(end == start + header);
	if (s->len)
		memcpy(end, s->data, s->len);
	csum = pkt_fold(pkt_sum(start, tcp_len, pseudo_sum(&s->flow, tcp_len)));
	memcpy(start + offsetof(struct wire_tcp, csum_be), &csum, 2);
	end += s->len;
	if (end < frame + WIRE_ETH_MIN) {
		memset(end, 0, (size_t)(frame + WIRE_ETH_MIN - end));
		end = frame + WIRE_ETH_MIN;
	}
	return (size_t)(end - frame);
}

const char *pkt_verdict_name(enum pkt_verdict v)
{
	static const char *const name[] = {
#define X(word) #word,
		PKT_LIST(X)
#undef X
	};

	return name[v];
}
