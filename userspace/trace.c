/* SPDX-License-Identifier: GPL-2.0-only */
#include "trace.h"
#include "wire.h"

_Static_assert(TRACE_RECORD_MAX + 8 <= UINT16_MAX, "struct trace_record.bytes");
_Static_assert(TRACE_BYTES % 8 == 0, "records begin at multiples of 8");

/* --- what is wanted ----------------------------------------------------------- */

void trace_look(const struct trace_ring *r, struct trace_want *want)
{
	uint32_t run = __atomic_load_n(&r->want.run, __ATOMIC_ACQUIRE); /* A */

	memcpy(want, &r->want, sizeof *want);
	want->run = run;
}

/* Whose address and ports stand where. */
struct ends {
	uint8_t source[16], destination[16]; /* IPv4 as ::ffff:a.b.c.d */
	bool has_ports;
	uint16_t port[2];
};

static void map_ip4(uint8_t to[16], const uint8_t ip[4])
{
	memset(to, 0, 10);
	to[10] = to[11] = 0xff;
	memcpy(to + 12, ip, 4);
}

static void read_ports(struct ends *e, const uint8_t *tcp, size_t len)
{
	struct wire_tcp h;

	if (len < offsetof(struct wire_tcp, seq))
		return;
	memcpy(&h, tcp, offsetof(struct wire_tcp, seq));
	e->has_ports = true;
	e->port[0] = __builtin_bswap16(h.src_be);
	e->port[1] = __builtin_bswap16(h.dst_be);
}

static bool read_ip4(struct ends *e, const uint8_t *ip, size_t len)
{
	struct wire_ip4 h;
	size_t header;

	if (len < sizeof h)
		return false;
	memcpy(&h, ip, sizeof h);
	map_ip4(e->source, h.src);
	map_ip4(e->destination, h.dst);
	header = (h.ver_ihl & 15u) * 4u;
	if (h.proto == WIRE_PROTO_TCP && header >= sizeof h && header <= len)
		read_ports(e, ip + header, len - header);
	return true;
}

static bool read_ip6(struct ends *e, const uint8_t *ip, size_t len)
{
	struct wire_ip6 h;

	if (len < sizeof h)
		return false;
	memcpy(&h, ip, sizeof h);
	memcpy(e->source, h.src, sizeof e->source);
	memcpy(e->destination, h.dst, sizeof e->destination);
	if (h.next == WIRE_PROTO_TCP)
		read_ports(e, ip + sizeof h, len - sizeof h);
	return true;
}

static bool read_ends(struct ends *e, const uint8_t *frame, size_t len)
{
	size_t at = WIRE_ETH_LEN;
	uint16_t type;

	e->has_ports = false;
	if (len < at)
		return false;
	type = be16(frame + at - 2);
	if (type == WIRE_TYPE_VLAN) {
		at += WIRE_VLAN_LEN;
		if (len < at)
			return false;
		type = be16(frame + at - 2);
	}
	if (type == WIRE_TYPE_IP4)
		return read_ip4(e, frame + at, len - at);
	return type == WIRE_TYPE_IP6 && read_ip6(e, frame + at, len - at);
}

static bool same_prefix(const uint8_t a[16], const uint8_t b[16], unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;

	return !memcmp(a, b, whole) && (!rest || !((a[whole] ^ b[whole]) >> (8 - rest)));
}

bool trace_match(const struct trace_want *want, const uint8_t *frame, size_t len, bool sent)
{
	struct ends e;

	if (!want->prefix && !want->port)
		return true;
	if (!read_ends(&e, frame, len))
		return false;
	if (want->prefix && !same_prefix(sent ? e.destination : e.source, want->addr,
					 (unsigned)min_u64(want->prefix, 128)))
		return false;
	return !want->port || (e.has_ports && (e.port[0] == want->port || e.port[1] == want->port));
}

/* --- the ring ------------------------------------------------------------------- */

/* Where a count of bytes stands in the ring, and what fits before its end. */
static uint8_t *place(struct trace_ring *r, uint64_t at, size_t *room)
{
	size_t offset = at % TRACE_BYTES;

	*room = TRACE_BYTES - offset;
	return (uint8_t *)r->word + offset;
}

static uint64_t ring_write(struct trace_ring *r, uint64_t at, const void *from, size_t n)
{
	size_t room, first;
	uint8_t *to = place(r, at, &room);

	first = min_u64(n, room);
	memcpy(to, from, first);
	memcpy(r->word, (const uint8_t *)from + first, n - first);
	return at + n;
}

static uint64_t ring_read(struct trace_ring *r, uint64_t at, void *to, size_t n)
{
	size_t room, first;
	const uint8_t *from = place(r, at, &room);

	first = min_u64(n, room);
	memcpy(to, from, first);
	memcpy((uint8_t *)to + first, r->word, n - first);
	return at + n;
}

/* A stamp of a clock that is ahead of ours is none. */
static struct trace_record record_of(const struct trace_want *want, const struct trace_frame *f)
{
	bool stamped = !f->sent && f->stamp_ns && f->stamp_ns <= f->now_ns;
	uint64_t steer_ns = stamped ? f->now_ns - f->stamp_ns : 0;
	size_t captured = min_u64(f->len, TRACE_FRAME_MAX);
	size_t times = f->times ? sizeof *f->times : 0;

	if (want->snap)
		captured = min_u64(captured, want->snap);
	return (struct trace_record){
		.bytes = (uint16_t)round_up(sizeof(struct trace_record) + times + captured, 8),
		.flags = (uint16_t)((f->sent ? TRACE_SENT : 0) | (stamped ? TRACE_STAMPED : 0) |
				    (f->times ? TRACE_ANSWER : 0)),
		.run = want->run,
		.time_ns = stamped ? f->stamp_ns : f->now_ns,
		.captured = (uint16_t)captured,
		.original = (uint16_t)min_u64(f->len, UINT16_MAX),
		.steer_ns = (uint32_t)min_u64(steer_ns, UINT32_MAX),
	};
}

/* A head that is ahead of the tail, or too far behind, is of a reader gone mad: full. */
bool trace_put(struct trace_ring *r, const struct trace_want *want, const struct trace_frame *f)
{
	struct trace_record record = record_of(want, f);
	uint64_t tail = r->tail, at = tail;
	uint64_t used = tail - __atomic_load_n(&r->head, __ATOMIC_ACQUIRE); /* B */

	if (used > TRACE_BYTES || TRACE_BYTES - used < record.bytes) {
		__atomic_store_n(&r->lost, r->lost + 1, __ATOMIC_RELAXED);
		return false;
	}
	at = ring_write(r, at, &record, sizeof record);
	if (f->times)
		at = ring_write(r, at, f->times, sizeof *f->times);
	ring_write(r, at, f->bytes, record.captured);
	__atomic_store_n(&r->tail, tail + record.bytes, __ATOMIC_RELEASE); /* C */
	return true;
}

/* --- the reader ------------------------------------------------------------------- */

void trace_ask(struct trace_ring *r, const struct trace_want *want)
{
	uint32_t run = r->want.run + 1;

	__atomic_store_n(&r->want.until_ns, 0, __ATOMIC_RELEASE);
	r->want.pid = want->pid;
	r->want.snap = want->snap;
	r->want.port = want->port;
	r->want.prefix = want->prefix;
	memcpy(r->want.addr, want->addr, sizeof r->want.addr);
	__atomic_store_n(&r->want.run, run, __ATOMIC_RELEASE); /* A */
	__atomic_store_n(&r->head, __atomic_load_n(&r->tail, __ATOMIC_ACQUIRE) /* C */,
			 __ATOMIC_RELEASE); /* B */
}

void trace_renew(struct trace_ring *r, uint64_t until_ns)
{
	__atomic_store_n(&r->want.until_ns, until_ns, __ATOMIC_RELEASE);
}

/* The record at the head, of which `there` bytes are there. False: it is none. */
static bool read_record(struct trace_ring *r, uint64_t at, uint64_t there, struct trace_copy *to)
{
	const struct trace_record *record = &to->record;
	size_t times;

	if (there > TRACE_BYTES || there < sizeof *record)
		return false;
	at = ring_read(r, at, &to->record, sizeof to->record);
	times = record->flags & TRACE_ANSWER ? sizeof to->times : 0;
	if (record->captured > TRACE_FRAME_MAX || record->bytes > there ||
	    record->bytes != round_up(sizeof *record + times + record->captured, 8))
		return false;
	at = ring_read(r, at, &to->times, times);
	ring_read(r, at, to->frame, record->captured);
	return true;
}

enum trace_taken trace_take(struct trace_ring *r, struct trace_copy *to)
{
	uint64_t head = r->head;
	enum trace_taken taken = TRACE_NOTHING;

	while (taken == TRACE_NOTHING) {
		uint64_t tail = __atomic_load_n(&r->tail, __ATOMIC_ACQUIRE); /* C */
		bool good;

		if (head == tail)
			break;
		good = read_record(r, head, tail - head, to);
		head = good ? head + to->record.bytes : tail;
		if (!good)
			taken = TRACE_BROKEN;
		else if (to->record.run == r->want.run) /* else for a reader before */
			taken = TRACE_ONE;
		__atomic_store_n(&r->head, head, __ATOMIC_RELEASE); /* B */
	}
	return taken;
}
