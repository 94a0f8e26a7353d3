/* SPDX-License-Identifier: GPL-2.0-only */
/* pkt: round trips, one spoilt frame for each verdict, every cut, every bit. */
#include "tap.h"

#include <sys/mman.h>
#include <unistd.h>

#include "pkt.h"
#include "wire.h"

enum {
	ROOM = 2048,
	/* offsets in an untagged frame */
	IP = 14,
	IP_LEN = IP + 2,
	IP_FRAG = IP + 6,
	IP_PROTO = IP + 9,
	IP_CSUM = IP + 10,
	IP_SRC = IP + 12,
	IP_DST = IP + 16,
	TCP4 = IP + 20,
	IP6_LEN = IP + 4,
	IP6_NEXT = IP + 6,
	IP6_SRC = IP + 8,
	IP6_DST = IP + 24,
	TCP6 = IP + 40,
};

static bool seen[PKT_VERDICTS];
static uint8_t *guard; /* the first byte that may not be touched */

static uint64_t random_next(void)
{
	static uint64_t x = 0xda3e39cb94b95bdb;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x >> 11;
}

static void random_bytes(uint8_t *to, size_t n)
{
	while (n--)
		*to++ = (uint8_t)random_next();
}

/* Two pages, the second one forbidden. */
static void make_guard(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *at = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			   0);

	must(at != MAP_FAILED && !mprotect(at + page, page, PROT_NONE) && page >= ROOM);
	guard = at + page;
}

/* Parse a copy that ends where memory ends. */
static enum pkt_verdict parse(const uint8_t *frame, size_t len, struct pkt_seg *s)
{
	enum pkt_verdict v;

	if (len)
		memcpy(guard - len, frame, len);
	v = pkt_parse(guard - len, len, s);
	seen[v] = true;
	return v;
}

static bool is_segment(enum pkt_verdict v)
{
	return v == PKT_ok || v == PKT_bad_option;
}

/* --- checksums, the way RFC 1071 tells it ------------------------------------------ */

static uint32_t naive_sum(const uint8_t *at, size_t len)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < len; i++) {
		sum += i % 2 ? at[i] : (uint32_t)at[i] << 8;
		sum = (sum & 0xffff) + (sum >> 16);
	}
	return sum;
}

static void fix_ip4(uint8_t *frame)
{
	put_be16(frame + IP_CSUM, 0);
	put_be16(frame + IP_CSUM, (uint16_t)~naive_sum(frame + IP, (frame[IP] & 15) * 4u));
}

static void fix_tcp(uint8_t *frame, bool ip4)
{
	uint8_t *tcp = frame + (ip4 ? TCP4 : TCP6);
	unsigned len = ip4 ? be16(frame + IP_LEN) - 20u : be16(frame + IP6_LEN);
	uint32_t sum = ip4 ? naive_sum(frame + IP_SRC, 8) : naive_sum(frame + IP6_SRC, 32);

	put_be16(tcp + 16, 0);
	sum += naive_sum(tcp, len) + WIRE_PROTO_TCP + len;
	sum = (sum & 0xffff) + (sum >> 16);
	put_be16(tcp + 16, (uint16_t) ~((sum & 0xffff) + (sum >> 16)));
}

static void test_checksum(void)
{
	static uint8_t room[3000];
	unsigned wrong = 0, parts = 0;

	random_bytes(room, sizeof room);
	for (unsigned at = 0; at < 8; at++)
		for (unsigned len = 0; len < 300; len++) {
			uint16_t want = __builtin_bswap16((uint16_t)~naive_sum(room + at, len));
			unsigned cut = len / 3 & ~1u;
			wrong += pkt_fold(pkt_sum(room + at, len, 0)) != want;
			parts += pkt_fold(pkt_sum(room + at + cut, len - cut,
						  pkt_sum(room + at, cut, 0))) != want;
		}
	is(wrong, 0, "checksum as RFC 1071, every length to 300 at every alignment");
	is(parts, 0, "the same in two parts");
	memset(room, 0xff, sizeof room);
	is(pkt_fold(pkt_sum(room, sizeof room, 0)), 0, "all ones: carries are folded");
	is(pkt_fold(UINT64_MAX), 0, "the fullest sum folds");
	is(pkt_fold(0), 0xffff, "the empty sum folds");
}

/* --- frames ------------------------------------------------------------------------- */

static const uint8_t text[] = "GET /compute HTTP/1.1\r\nHost: saker\r\n\r\n";

static struct pkt_seg plain(bool ip4)
{
	struct pkt_seg s = {
		.link = { { 2, 0, 0, 0, 0, 1 }, { 2, 0, 0, 0, 0, 2 }, PKT_UNTAGGED },
		.flow = { .remote = { [10] = 255, 255, 10, 1, 2, 3 },
			  .local = { [10] = 255, 255, 10, 9, 8, 7 },
			  .remote_port = 40001,
			  .local_port = 8080 },
		.seq = 0xfffffff0,
		.ack = 0x80000001,
		.window = 0xfedc,
		.flags = WIRE_ACK | WIRE_PSH,
		.wscale = PKT_NO_SCALE,
		.data = text,
		.len = sizeof text - 1,
	};

	if (!ip4) {
		memset(s.flow.remote, 0x20, 16);
		memset(s.flow.local, 0x3f, 16);
	}
	return s;
}

/* The same segment seen from the other end. */
static struct pkt_seg mirror(const struct pkt_seg *s)
{
	struct pkt_seg m = *s;

	memcpy(m.flow.remote, s->flow.local, 16);
	memcpy(m.flow.local, s->flow.remote, 16);
	m.flow.remote_port = s->flow.local_port;
	m.flow.local_port = s->flow.remote_port;
	memcpy(m.link.remote, s->link.local, 6);
	memcpy(m.link.local, s->link.remote, 6);
	return m;
}

/* A frame that parses as *s. */
static size_t frame_of(const struct pkt_seg *s, uint8_t frame[ROOM])
{
	struct pkt_seg m = mirror(s);

	return pkt_emit(&m, frame, ROOM);
}

static bool same(const struct pkt_seg *a, const struct pkt_seg *b)
{
	for (unsigned i = 0; i < a->sack_count; i++)
		if (a->sack[i].left != b->sack[i].left || a->sack[i].right != b->sack[i].right)
			return false;
	return !memcmp(&a->flow, &b->flow, sizeof a->flow) &&
	       !memcmp(&a->link, &b->link, sizeof a->link) && a->seq == b->seq &&
	       a->ack == b->ack && a->len == b->len && a->window == b->window &&
	       a->flags == b->flags && a->wscale == b->wscale && a->mss == b->mss &&
	       a->sack_ok == b->sack_ok && a->has_ts == b->has_ts && a->ts_val == b->ts_val &&
	       a->ts_ecr == b->ts_ecr && a->sack_count == b->sack_count &&
	       (!a->len || !memcmp(a->data, b->data, a->len));
}

static struct pkt_seg random_segment(void)
{
	static uint8_t data[1400];
	struct pkt_seg s = plain(random_next() % 2);
	unsigned room = 40;

	random_bytes(data, sizeof data);
	random_bytes(s.link.remote, 12);
	s.link.vlan = random_next() % 2 ? PKT_UNTAGGED : (uint16_t)(random_next() % 0xffff);
	random_bytes(s.flow.remote + 13, 3);
	random_bytes(s.flow.local + 13, 3);
	s.flow.remote_port = (uint16_t)(1 + random_next() % 65535);
	s.seq = (uint32_t)random_next();
	s.ack = (uint32_t)random_next();
	s.window = (uint16_t)random_next();
	s.flags = (uint8_t)random_next();
	s.data = data;
	s.len = random_next() % 4 ? (uint32_t)(random_next() % sizeof data) : 0;
	if (random_next() % 2)
		s.mss = (uint16_t)(1 + random_next() % 65535), room -= 4;
	if (random_next() % 2)
		s.sack_ok = true, room -= 4;
	if (random_next() % 2)
		s.has_ts = true, s.ts_val = (uint32_t)random_next(),
		s.ts_ecr = (uint32_t)random_next(), room -= 12;
	if (random_next() % 2)
		s.wscale = random_next() % 15, room -= 4;
	s.sack_count = (uint8_t)(random_next() % (1 + min_u64((room - 4) / 8, PKT_SACKS)));
	for (unsigned i = 0; i < s.sack_count; i++) {
		s.sack[i].left = (uint32_t)random_next();
		s.sack[i].right = (uint32_t)random_next();
	}
	return s;
}

static void test_round_trip(void)
{
	unsigned wrong = 0, length = 0, badsum = 0;
	struct pkt_seg s, m, got;

	for (unsigned i = 0; i < 20000; i++) {
		s = random_segment();
		m = mirror(&s);
		size_t room = pkt_room(&m), len = pkt_emit(&m, guard - room, room);
		length += len != room || len < WIRE_ETH_MIN;
		wrong += pkt_parse(guard - len, len, &got) != PKT_ok || !same(&s, &got);
	}
	is(wrong, 0, "20000 random segments, emitted and parsed: the same");
	is(length, 0, "each as long as pkt_room said, to the last byte of memory");

	for (unsigned ip4 = 0; ip4 < 2; ip4++) {
		uint8_t frame[ROOM], fixed[ROOM];
		s = plain(ip4);
		size_t len = frame_of(&s, frame);
		memcpy(fixed, frame, len);
		fix_tcp(fixed, ip4);
		if (ip4)
			fix_ip4(fixed);
		badsum += memcmp(fixed, frame, len) != 0;
	}
	is(badsum, 0, "checksums as the plain way makes them");
}

static void test_padding(void)
{
	struct pkt_seg s = plain(true), got;
	uint8_t frame[ROOM];
	size_t len;

	s.len = 0;
	len = frame_of(&s, frame);
	is(len, WIRE_ETH_MIN, "a bare ACK is padded");
	memset(frame + TCP4 + 20, 0xee, len - TCP4 - 20);
	is(parse(frame, len, &got), PKT_ok, "padding of any bytes does not matter");
	is(got.len, 0, "and is no data");
	is(parse(frame, TCP4 + 20, &got), PKT_ok, "nor must it be there");
}

/* --- one spoilt frame for each verdict ----------------------------------------------- */

enum { FIX_IP = 1, FIX_TCP = 2, FIX_BOTH = 3 };

static const struct {
	const char *name;
	uint8_t ip, at, n;
	const char *bytes;
	uint8_t fix;
	enum pkt_verdict want;
} spoilt[] = {
	{ "nothing", 4, 0, 0, "", FIX_BOTH, PKT_ok },
	{ "nothing", 6, 0, 0, "", FIX_TCP, PKT_ok },
	{ "ARP", 4, 12, 2, "\x08\x06", 0, PKT_bad_type },
	{ "802.3 length in the place of a type", 4, 12, 2, "\x00\x40", 0, PKT_bad_type },
	{ "IPv4 under IPv6's type", 4, 12, 2, "\x86\xdd", 0, PKT_bad_ip_header },
	{ "IPv6 under IPv4's type", 6, 12, 2, "\x08\x00", 0, PKT_bad_ip_header },
	{ "802.1ad", 4, 12, 2, "\x88\xa8", 0, PKT_bad_type },
	{ "two tags", 4, 12, 6, "\x81\x00\x00\x05\x81\x00", 0, PKT_bad_type },
	{ "version 5", 4, IP, 1, "\x55", FIX_IP, PKT_bad_ip_header },
	{ "IHL 4", 4, IP, 1, "\x44", FIX_IP, PKT_bad_ip_header },
	{ "IHL 0", 4, IP, 1, "\x40", FIX_IP, PKT_bad_ip_header },
	{ "IHL 6", 4, IP, 1, "\x46", FIX_IP, PKT_ip_options },
	{ "IHL 15", 4, IP, 1, "\x4f", FIX_IP, PKT_bad_ip_length },
	{ "total length 0", 4, IP_LEN, 2, "\x00\x00", FIX_IP, PKT_bad_ip_length },
	{ "total length 19", 4, IP_LEN, 2, "\x00\x13", FIX_IP, PKT_bad_ip_length },
	{ "total length 20", 4, IP_LEN, 2, "\x00\x14", FIX_IP, PKT_bad_ip_length },
	{ "total length 39", 4, IP_LEN, 2, "\x00\x27", FIX_IP, PKT_bad_ip_length },
	{ "total length 40, no data", 4, IP_LEN, 2, "\x00\x28", FIX_BOTH, PKT_ok },
	{ "total length one short", 4, IP_LEN, 2, "\x00\x4d", FIX_BOTH, PKT_ok },
	{ "total length one too many", 4, IP_LEN, 2, "\x00\x4f", FIX_IP, PKT_bad_ip_length },
	{ "total length 65535", 4, IP_LEN, 2, "\xff\xff", FIX_IP, PKT_bad_ip_length },
	{ "IP checksum", 4, IP_CSUM, 2, "\x00\x00", 0, PKT_bad_ip_csum },
	{ "more fragments", 4, IP_FRAG, 2, "\x20\x00", FIX_IP, PKT_fragment },
	{ "fragment offset 8", 4, IP_FRAG, 2, "\x00\x01", FIX_IP, PKT_fragment },
	{ "highest fragment offset", 4, IP_FRAG, 2, "\x1f\xff", FIX_IP, PKT_fragment },
	{ "don't fragment is clear", 4, IP_FRAG, 2, "\x00\x00", FIX_IP, PKT_ok },
	{ "UDP", 4, IP_PROTO, 1, "\x11", FIX_IP, PKT_bad_type },
	{ "IP in IP", 4, IP_PROTO, 1, "\x04", FIX_IP, PKT_bad_type },
	{ "source 0.0.0.0", 4, IP_SRC, 4, "\x00\x00\x00\x00", FIX_BOTH, PKT_bad_addr },
	{ "source 127.0.0.1", 4, IP_SRC, 4, "\x7f\x00\x00\x01", FIX_BOTH, PKT_bad_addr },
	{ "source 224.0.0.1", 4, IP_SRC, 4, "\xe0\x00\x00\x01", FIX_BOTH, PKT_bad_addr },
	{ "source 255.255.255.255", 4, IP_SRC, 4, "\xff\xff\xff\xff", FIX_BOTH, PKT_bad_addr },
	{ "destination 239.1.1.1", 4, IP_DST, 4, "\xef\x01\x01\x01", FIX_BOTH, PKT_bad_addr },
	{ "destination broadcast", 4, IP_DST, 4, "\xff\xff\xff\xff", FIX_BOTH, PKT_bad_addr },
	{ "LAND", 4, IP_SRC, 4, "\x0a\x09\x08\x07", FIX_BOTH, PKT_bad_addr },
	{ "TCP checksum", 4, TCP4 + 16, 2, "\x00\x00", 0, PKT_bad_tcp_csum },
	{ "data", 4, TCP4 + 20, 1, "X", 0, PKT_bad_tcp_csum },
	{ "data offset 0", 4, TCP4 + 12, 1, "\x00", FIX_TCP, PKT_bad_doff },
	{ "data offset 4", 4, TCP4 + 12, 1, "\x40", FIX_TCP, PKT_bad_doff },
	{ "data offset 15, beyond the segment", 4, TCP4 + 12, 1, "\xf0", FIX_TCP, PKT_bad_doff },
	{ "source port 0", 4, TCP4, 2, "\x00\x00", FIX_TCP, PKT_bad_port },
	{ "destination port 0", 4, TCP4 + 2, 2, "\x00\x00", FIX_TCP, PKT_bad_port },
	{ "reserved bits of TCP", 4, TCP4 + 12, 1, "\x5f", FIX_TCP, PKT_ok },
	{ "urgent pointer past the end", 4, TCP4 + 13, 7, "\x38\xff\xff\x00\x00\xff\xff", FIX_TCP,
	  PKT_ok },
	{ "IPv6 version 4", 6, IP, 1, "\x45", FIX_TCP, PKT_bad_ip_header },
	{ "payload length 0", 6, IP6_LEN, 2, "\x00\x00", 0, PKT_bad_ip_length },
	{ "payload length 19", 6, IP6_LEN, 2, "\x00\x13", 0, PKT_bad_ip_length },
	{ "payload length one too many", 6, IP6_LEN, 2, "\x00\x3b", 0, PKT_bad_ip_length },
	{ "payload length 20, no data", 6, IP6_LEN, 2, "\x00\x14", FIX_TCP, PKT_ok },
	{ "hop-by-hop header", 6, IP6_NEXT, 1, "\x00", 0, PKT_ip_options },
	{ "fragment header", 6, IP6_NEXT, 1, "\x2c", 0, PKT_ip_options },
	{ "source ::", 6, IP6_SRC, 16, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", FIX_TCP, PKT_bad_addr },
	{ "source ::1", 6, IP6_SRC, 16, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", FIX_TCP, PKT_bad_addr },
	{ "source mapped", 6, IP6_SRC, 16, "\0\0\0\0\0\0\0\0\0\0\xff\xff\1\1\1\1", FIX_TCP,
	  PKT_bad_addr },
	{ "source multicast", 6, IP6_SRC, 1, "\xff", FIX_TCP, PKT_bad_addr },
	{ "destination multicast", 6, IP6_DST, 1, "\xff", FIX_TCP, PKT_bad_addr },
	{ "LAND", 6, IP6_SRC, 16, "????????????????", FIX_TCP, PKT_bad_addr },
	{ "TCP checksum", 6, TCP6 + 16, 2, "\x00\x00", 0, PKT_bad_tcp_csum },
};

static void test_spoilt(void)
{
	for (unsigned i = 0; i < array_size(spoilt); i++) {
		bool ip4 = spoilt[i].ip == 4;
		struct pkt_seg s = plain(ip4), got;
		uint8_t frame[ROOM];
		size_t len = frame_of(&s, frame);
		must(spoilt[i].at + spoilt[i].n <= len);
		memcpy(frame + spoilt[i].at, spoilt[i].bytes, spoilt[i].n);
		if (spoilt[i].fix & FIX_TCP)
			fix_tcp(frame, ip4);
		if (spoilt[i].fix & FIX_IP)
			fix_ip4(frame);
		is_str(pkt_verdict_name(parse(frame, len, &got)), pkt_verdict_name(spoilt[i].want),
		       "IPv%u, %s", spoilt[i].ip, spoilt[i].name);
	}
}

/* --- every cut, every bit --------------------------------------------------------------- */

static struct pkt_seg sample(unsigned kind)
{
	struct pkt_seg s = plain(kind % 2);

	s.link.vlan = kind & 2 ? 0x2005 : PKT_UNTAGGED;
	if (kind & 4) {
		s.flags = WIRE_SYN;
		s.mss = 1460;
		s.wscale = 7;
		s.sack_ok = s.has_ts = true;
		s.len = 0;
	}
	return s;
}

static void test_cuts(void)
{
	for (unsigned kind = 0; kind < 8; kind++) {
		struct pkt_seg s = sample(kind), got;
		uint8_t frame[ROOM];
		size_t len = frame_of(&s, frame);
		unsigned passed = 0;
		for (size_t cut = 0; cut < len; cut++)
			passed += is_segment(parse(frame, cut, &got));
		is(passed, 0, "frame %u, cut at each of %zu lengths: never a segment", kind, len);
		is(parse(frame, len, &got), PKT_ok, "and whole it is one");
	}
}

/* Bytes of IPv6 that no checksum covers and no rule judges: traffic class,
 * flow label, hop limit (RFC 8200 8.1). */
static bool uncovered(size_t ip, size_t at, bool ip4, unsigned bit)
{
	if (ip4 || at < ip)
		return false;
	return (at == ip && bit < 4) || (at > ip && at < ip + 4) || at == ip + 7;
}

static void test_bits(void)
{
	for (unsigned kind = 0; kind < 8; kind++) {
		struct pkt_seg s = sample(kind), got;
		bool ip4 = pkt_is_ip4(&s.flow);
		uint8_t frame[ROOM];
		size_t len = frame_of(&s, frame), ip = s.link.vlan == PKT_UNTAGGED ? 14 : 18;
		unsigned passed = 0, tried = 0;
		for (size_t at = 12; at < len; at++)
			for (unsigned bit = 0; bit < 8; bit++) {
				if ((at >= 14 && at < ip - 2u) || uncovered(ip, at, ip4, bit))
					continue;
				frame[at] ^= (uint8_t)(1u << bit);
				passed += is_segment(parse(frame, len, &got));
				frame[at] ^= (uint8_t)(1u << bit);
				tried++;
			}
		is(passed, 0, "frame %u, each of %u bits turned over: never a segment", kind,
		   tried);
	}
}

/* --- options ------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	uint8_t n;
	const char *bytes;
	enum pkt_verdict want;
	uint16_t mss;
	uint8_t wscale;
	bool sack_ok, has_ts;
	uint8_t sacks;
} lists[] = {
	{ "all end", 4, "\0\0\0\0", PKT_ok, 0, 255, 0, 0, 0 },
	{ "all nop, to the last byte", 8, "\1\1\1\1\1\1\1\1", PKT_ok, 0, 255, 0, 0, 0 },
	{ "Linux's SYN", 20, "\2\4\5\xb4\4\2\x8\xa\0\0\0\1\0\0\0\0\1\3\3\7", PKT_ok, 1460, 7, 1, 1,
	  0 },
	{ "Windows' SYN", 12, "\2\4\5\xb4\1\3\3\x8\1\1\4\2", PKT_ok, 1460, 8, 1, 0, 0 },
	{ "behind an end nothing counts", 8, "\0\0\0\0\2\4\5\xb4", PKT_ok, 0, 255, 0, 0, 0 },
	{ "length 0 does not hang", 4, "\2\0\0\0", PKT_bad_option, 0, 255, 0, 0, 0 },
	{ "length 1 does not hang", 4, "\3\1\0\0", PKT_bad_option, 0, 255, 0, 0, 0 },
	{ "nop, then length 0", 4, "\1\2\0\0", PKT_bad_option, 0, 255, 0, 0, 0 },
	{ "unknown kind, length 0", 4, "\xfe\0\0\0", PKT_bad_option, 0, 255, 0, 0, 0 },
	{ "unknown kind, length 1", 4, "\xfe\1\1\1", PKT_bad_option, 0, 255, 0, 0, 0 },
	{ "unknown kind is skipped", 8, "\xfe\4xx\2\4\2\0", PKT_ok, 512, 255, 0, 0, 0 },
	{ "unknown kind of length 2", 8, "\xfd\2\2\4\2\0\1\1", PKT_ok, 512, 255, 0, 0, 0 },
	{ "last byte is a kind without length", 4, "\1\1\1\2", PKT_bad_option, 0, 255, 0, 0, 0 },
	{ "one byte past the header", 4, "\1\2\4\5", PKT_bad_option, 0, 255, 0, 0, 0 },
	{ "length 255", 4, "\x8\xff\0\0", PKT_bad_option, 0, 255, 0, 0, 0 },
	{ "what came before a bad one counts", 8, "\2\4\5\xb4\3\0\0\0", PKT_bad_option, 1460, 255,
	  0, 0, 0 },
	{ "MSS of length 3", 4, "\2\3\5\0", PKT_bad_option, 0, 255, 0, 0, 0 },
	{ "MSS of length 5", 8, "\2\5\5\xb4\0\0\0\0", PKT_bad_option, 0, 255, 0, 0, 0 },
	{ "MSS 0", 4, "\2\4\0\0", PKT_ok, 0, 255, 0, 0, 0 },
	{ "scale of length 2", 4, "\3\2\0\0", PKT_bad_option, 0, 255, 0, 0, 0 },
	{ "scale of length 4", 4, "\3\4\1\1", PKT_bad_option, 0, 255, 0, 0, 0 },
	{ "scale 15", 4, "\3\3\xf\0", PKT_ok, 0, 15, 0, 0, 0 },
	{ "SACK permitted of length 3", 4, "\4\3\0\0", PKT_bad_option, 0, 255, 0, 0, 0 },
	{ "timestamp of length 9", 12, "\x8\x9\0\0\0\0\0\0\0\0\0\0", PKT_bad_option, 0, 255, 0, 0,
	  0 },
	{ "timestamp of length 2", 4, "\x8\2\0\0", PKT_bad_option, 0, 255, 0, 0, 0 },
	{ "SACK without a block", 4, "\5\2\0\0", PKT_bad_option, 0, 255, 0, 0, 0 },
	{ "SACK with half a block", 8, "\5\6\0\0\0\0\0\0", PKT_bad_option, 0, 255, 0, 0, 0 },
	{ "SACK with a block", 12, "\1\1\5\xa\0\0\0\1\0\0\0\2", PKT_ok, 0, 255, 0, 0, 1 },
	{ "SACK with four blocks, to the last byte", 36,
	  "\1\1\5\x22\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\5\0\0\0\6\0\0\0\7\0\0\0\x8", PKT_ok, 0,
	  255, 0, 0, 4 },
	{ "two SACKs, five blocks asked for, no room for them", 40,
	  "\5\x1a\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\5\0\0\0\6\5\x12\0\0\0\1\0\0\0\2\0\0\0\3",
	  PKT_bad_option, 0, 255, 0, 0, 3 },
	{ "the last of two MSS counts", 8, "\2\4\5\xb4\2\4\2\0", PKT_ok, 512, 255, 0, 0, 0 },
	{ "a full header", 40,
	  "\2\4\5\xb4\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\3\3\2",
	  PKT_ok, 1460, 2, 0, 0, 0 },
};

static void test_options(void)
{
	for (unsigned i = 0; i < array_size(lists); i++) {
		struct pkt_seg s = plain(true), got;
		uint8_t frame[ROOM];
		size_t len = TCP4 + 20u + lists[i].n;
		must(lists[i].n % 4 == 0 && lists[i].n <= 40);
		s.flags = WIRE_SYN;
		s.len = 0;
		frame_of(&s, frame);
		put_be16(frame + IP_LEN, (uint16_t)(len - IP));
		frame[TCP4 + 12] = (uint8_t)((20 + lists[i].n) / 4 << 4);
		memcpy(frame + TCP4 + 20, lists[i].bytes, lists[i].n);
		fix_tcp(frame, true);
		fix_ip4(frame);
		is_str(pkt_verdict_name(parse(frame, len, &got)), pkt_verdict_name(lists[i].want),
		       "options, %s", lists[i].name);
		ok(got.mss == lists[i].mss && got.wscale == lists[i].wscale &&
			   got.sack_ok == lists[i].sack_ok && got.has_ts == lists[i].has_ts &&
			   got.sack_count == lists[i].sacks,
		   "its values");
	}
}

int main(void)
{
	make_guard();
	test_checksum();
	test_round_trip();
	test_padding();
	test_spoilt();
	test_cuts();
	test_bits();
	test_options();
	for (unsigned v = 0; v < PKT_VERDICTS; v++)
		ok(seen[v], "verdict %s was seen", pkt_verdict_name(v));
	return done();
}
