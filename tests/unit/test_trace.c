/* SPDX-License-Identifier: GPL-2.0-only */
/* trace: which frames are wanted, the ring of records, and what the worker says of stages. */
#include "tap.h"
#include "trace.h"
#include "worker_rig.h"

static struct trace_ring ring;
static struct trace_copy copy;

/* --- what is wanted ------------------------------------------------------------ */

enum { TAGGED = 1, SIX = 2 };

/* 10.0.0.1 or fd00::1, port 5555, to 10.0.0.2 or fd00::2, port 8080. */
static size_t frame_to(uint8_t *to, unsigned kind)
{
	struct pkt_seg s = {
		.flow = { .local_port = 5555, .remote_port = 8080 },
		.link.vlan = kind & TAGGED ? 7 : PKT_UNTAGGED,
		.flags = WIRE_ACK,
		.wscale = PKT_NO_SCALE,
	};

	for (int end = 0; end < 2; end++) {
		uint8_t *addr = end ? s.flow.remote : s.flow.local;

		if (kind & SIX)
			memcpy(addr, (uint8_t[16]){ 0xfd, [15] = (uint8_t)(end + 1) }, 16);
		else
			memcpy(addr, (uint8_t[16]){ [10] = 255, 255, 10, 0, 0, (uint8_t)(end + 1) },
			       16);
	}
	return pkt_emit(&s, to, FRAME_SIZE);
}

static struct trace_want client(const uint8_t addr[16], uint16_t prefix)
{
	struct trace_want want = { .prefix = prefix };

	memcpy(want.addr, addr, sizeof want.addr);
	return want;
}

static const uint8_t ip4_1[16] = { [10] = 255, 255, 10, 0, 0, 1 };
static const uint8_t ip4_2[16] = { [10] = 255, 255, 10, 0, 0, 2 };
static const uint8_t ip4_net[16] = { [10] = 255, 255, 10, 99, 99, 99 };
static const uint8_t ip6_1[16] = { 0xfd, [15] = 1 };
static const uint8_t ip6_2[16] = { 0xfd, [15] = 2 };

static bool matches(struct trace_want want, unsigned kind, bool sent)
{
	uint8_t frame[FRAME_SIZE];
	size_t len = frame_to(frame, kind);

	return trace_match(&want, frame, len, sent);
}

static void test_address(void)
{
	for (unsigned kind = 0; kind < 4; kind++) {
		bool six = kind & SIX;
		const char *name = six ? "IPv6" : "IPv4", *tag = kind & TAGGED ? ", tagged" : "";
		struct trace_want one = client(six ? ip6_1 : ip4_1, 128);
		struct trace_want two = client(six ? ip6_2 : ip4_2, 128);
		struct trace_want other = client(six ? ip4_1 : ip6_1, 128);

		ok(matches(one, kind, false), "%s%s: received from the client", name, tag);
		ok(!matches(two, kind, false), "%s%s: received from another", name, tag);
		ok(matches(two, kind, true), "%s%s: sent to the client", name, tag);
		ok(!matches(one, kind, true), "%s%s: sent to another", name, tag);
		ok(!matches(other, kind, false), "%s%s: of the other family", name, tag);
	}
	ok(matches(client(ip4_net, 96 + 8), 0, false), "IPv4 prefix of 8 bits");
	ok(matches(client(ip4_net, 96 + 9), 0, false), "of 9 bits: the first of 99 and 0 agree");
	ok(!matches(client(ip4_net, 96 + 10), 0, false), "of 10 bits: the second do not");
	ok(matches(client(ip4_2, 96 + 30), 0, false), "of 30 bits: 1 and 2 are in it");
	ok(!matches(client(ip4_2, 96 + 31), 0, false), "of 31 bits: they are not");
	ok(matches(client(ip6_2, 64), SIX, false), "IPv6 prefix of 64 bits");
	ok(!matches(client(ip6_2, UINT16_MAX), SIX, false),
	   "a prefix longer than an address counts as all of it");
	ok(matches(client(ip6_1, UINT16_MAX), SIX, false), "and matches that one");
}

static void test_port(void)
{
	for (unsigned kind = 0; kind < 4; kind++) {
		ok(matches((struct trace_want){ .port = 5555 }, kind, false), "port of the source");
		ok(matches((struct trace_want){ .port = 8080 }, kind, false), "of the destination");
		ok(!matches((struct trace_want){ .port = 22 }, kind, false), "of neither");
	}
}

/* Read against a guard: no byte behind a frame is looked at (under ASan), and what is
 * cut off does not match. */
static void test_cut(void)
{
	struct trace_want all = { 0 }, port = { .port = 8080 };

	for (unsigned kind = 0; kind < 4; kind++) {
		uint8_t frame[FRAME_SIZE];
		struct trace_want addr = client(kind & SIX ? ip6_1 : ip4_1, 128);
		size_t len = frame_to(frame, kind), ip = kind & TAGGED ? 18 : 14;
		size_t tcp = ip + (kind & SIX ? 40 : 20), first_addr = 0, first_port = 0;
		bool any = true;

		for (size_t n = 0; n <= len; n++) {
			uint8_t *cut = malloc(n + 1);

			memcpy(cut, frame, n);
			any &= trace_match(&all, cut, n, false);
			if (!first_addr && trace_match(&addr, cut, n, false))
				first_addr = n;
			if (!first_port && trace_match(&port, cut, n, false))
				first_port = n;
			free(cut);
		}
		ok(any, "who wants all wants every cut frame");
		is(first_addr, tcp, "an address is known with the whole IP header");
		is(first_port, tcp + 4, "a port with four bytes of TCP");
	}
}

static void test_odd(void)
{
	uint8_t frame[FRAME_SIZE];
	struct trace_want port = { .port = 8080 }, addr = client(ip4_1, 128);
	size_t len = frame_to(frame, 0);

	frame[14] = 0x44; /* IHL 16: less than a header */
	ok(!trace_match(&port, frame, len, false), "IHL below 5: no ports");
	frame[14] = 0x46;
	memmove(frame + 38, frame + 34, 20);
	ok(trace_match(&port, frame, len + 4, false), "IPv4 options are stepped over");
	frame[14] = 0x45;
	frame[23] = 17;
	ok(!trace_match(&port, frame, len, false), "UDP has no TCP port");
	ok(trace_match(&addr, frame, len, false), "but an address");
	frame[12] = 0x08, frame[13] = 0x06;
	ok(!trace_match(&addr, frame, len, false), "ARP has neither");
	ok(trace_match(&(struct trace_want){ 0 }, frame, len, false),
	   "and is wanted by who wants all");
}

/* --- the ring --------------------------------------------------------------------- */

static uint8_t body(uint64_t n, size_t i)
{
	return (uint8_t)(n * 7 + i);
}

static bool put(uint64_t n, size_t len, uint32_t snap)
{
	uint8_t bytes[FRAME_SIZE];
	struct trace_times times = { n, n + 1, n + 2, n + 3, n + 4, TRACE_UNKNOWN };
	struct trace_want want = { .run = ring.want.run, .snap = snap };
	struct trace_frame f = {
		.bytes = bytes,
		.len = len,
		.sent = n & 1,
		.stamp_ns = n,
		.now_ns = n + 10,
		.times = n & 1 ? &times : NULL,
	};

	for (size_t i = 0; i < len; i++)
		bytes[i] = body(n, i);
	return trace_put(&ring, &want, &f);
}

static bool take(uint64_t n, size_t len, size_t captured)
{
	const struct trace_record *r = &copy.record;
	bool sent = n & 1;

	if (trace_take(&ring, &copy) != TRACE_ONE || r->captured != captured || r->original != len)
		return false;
	for (size_t i = 0; i < captured; i++)
		if (copy.frame[i] != body(n, i))
			return false;
	if (sent)
		return r->flags == (TRACE_SENT | TRACE_ANSWER) && r->time_ns == n + 10 &&
		       copy.times.steer_ns == n && copy.times.total_ns == TRACE_UNKNOWN;
	return r->flags == TRACE_STAMPED && r->time_ns == n && r->steer_ns == 10;
}

static void begin(void)
{
	struct trace_want want = { .snap = 0 };

	memset(&ring, 0, sizeof ring);
	trace_ask(&ring, &want);
}

static void test_round_trip(void)
{
	begin();
	is(trace_take(&ring, &copy), TRACE_NOTHING, "nothing at first");
	for (size_t len = 60; len < 69; len++) {
		ok(put(2, len, 0) && take(2, len, len), "%zu bytes, received", len);
		ok(put(3, len, 0) && take(3, len, len), "%zu bytes, sent, an answer", len);
	}
	ok(put(2, 60, 20) && take(2, 60, 20), "cut to 20 bytes");
	ok(put(2, FRAME_SIZE, 0) && take(2, FRAME_SIZE, FRAME_SIZE), "the longest");
	is(trace_take(&ring, &copy), TRACE_NOTHING, "nothing at last");
	is(ring.head, ring.tail, "all is taken");
}

/* Lengths that divide nothing, so that every record lies across the end once. */
static void test_wrap(void)
{
	uint64_t in = 2, out = 2, wrong = 0, across = 0;

	begin();
	while (ring.tail < 20 * TRACE_BYTES) {
		uint64_t before = ring.tail / TRACE_BYTES;

		while (put(in, 60 + in % 1500, 0)) {
			in++;
			across += ring.tail / TRACE_BYTES != before && ring.tail % TRACE_BYTES;
			before = ring.tail / TRACE_BYTES;
		}
		for (int i = 0; i < 50 && out < in; i++, out++)
			wrong += !take(out, 60 + out % 1500, 60 + out % 1500);
	}
	ok(across > 10, "records lie across the end of the ring");
	is(wrong, 0, "and all come out as they went in");
}

static void test_full(void)
{
	uint64_t n = 0;

	begin();
	while (put(2 * (n + 1), 100, 0))
		n++;
	ok(n > TRACE_BYTES / 160 && n <= TRACE_BYTES / 128, "it holds %u frames", (unsigned)n);
	is(ring.lost, 1, "the next is lost and counted");
	ok(!put(2, 100, 0), "and the next");
	is(ring.lost, 2, "and counted");
	ok(take(2, 100, 100) && put(2, 100, 0), "one out, one in");
}

/* A reader or a thread that writes nonsense harms itself. */
static void test_hostile(void)
{
	static const uint64_t heads[] = { 1, 8, TRACE_BYTES, UINT64_MAX / 2,
					  UINT64_MAX - TRACE_BYTES };
	bool good;

	for (size_t i = 0; i < array_size(heads); i++) {
		begin();
		ring.head = heads[i];
		ok(!put(2, 1500, 0), "a head of %" PRIu64 " before the tail: full", heads[i]);
	}
	for (size_t i = 0; i < array_size(heads); i++) {
		begin();
		ring.tail = ring.head = heads[i];
		ok(put(2, 1500, 0) && take(2, 1500, 1500), "a tail of %" PRIu64 " stays inside",
		   heads[i]);
		ring.tail = heads[i] + TRACE_BYTES + 8;
		is(trace_take(&ring, &copy), TRACE_BROKEN, "more than there can be: broken");
		is(trace_take(&ring, &copy), TRACE_NOTHING, "and all of it dropped");
	}
	begin();
	ring.tail = 8;
	is(trace_take(&ring, &copy), TRACE_BROKEN, "less than a record");
	for (unsigned bytes = 0; bytes < 65536; bytes += 1 + bytes / 7) {
		struct trace_record lie = { .bytes = (uint16_t)bytes, .captured = UINT16_MAX };

		begin();
		memcpy(ring.word, &lie, sizeof lie);
		ring.tail = TRACE_BYTES;
		good = trace_take(&ring, &copy) == TRACE_BROKEN;
		lie.captured = 100;
		memcpy(ring.word, &lie, sizeof lie);
		ring.head = 0;
		good &= trace_take(&ring, &copy) == (bytes == 128 ? TRACE_ONE : TRACE_BROKEN);
		if (!good)
			break;
	}
	ok(good, "a record whose numbers do not agree is broken");
}

static void test_lease(void)
{
	struct trace_want want = { .port = 80, .prefix = 128, .snap = 64, .pid = 5 }, seen;

	memset(&ring, 0, sizeof ring);
	ok(!trace_wanted(&ring, 1), "nobody wants anything at first");
	memcpy(want.addr, ip4_1, sizeof want.addr);
	trace_ask(&ring, &want);
	ok(!trace_wanted(&ring, 1), "nor after a question");
	trace_renew(&ring, 100);
	ok(trace_wanted(&ring, 99) && !trace_wanted(&ring, 100), "but from the lease to its end");
	trace_look(&ring, &seen);
	ok(seen.port == 80 && seen.prefix == 128 && seen.snap == 64 && seen.pid == 5 &&
		   !memcmp(seen.addr, ip4_1, sizeof seen.addr),
	   "the thread sees what is wanted");
	put(2, 60, 0);
	trace_ask(&ring, &want);
	ok(!trace_wanted(&ring, 1), "a new reader: the old lease is over");
	is(trace_take(&ring, &copy), TRACE_NOTHING, "and what was there is dropped");
	trace_put(&ring, &seen, &(struct trace_frame){ .bytes = ring.want.addr, .len = 16 });
	is(trace_take(&ring, &copy), TRACE_NOTHING, "and what was still put for the old one");
	ok(put(2, 60, 0) && take(2, 60, 60), "its own comes");
}

static void test_stamps(void)
{
	struct trace_want want = { .run = 0 };
	uint8_t bytes[60] = { 0 };
	struct trace_frame f = { .bytes = bytes, .len = 60, .stamp_ns = 20, .now_ns = 10 };

	begin();
	want.run = ring.want.run;
	trace_put(&ring, &want, &f);
	ok(trace_take(&ring, &copy) == TRACE_ONE && copy.record.flags == 0 &&
		   copy.record.time_ns == 10,
	   "a stamp that is ahead is none");
	f.stamp_ns = 1;
	f.now_ns = 1 + 10ull * NS_PER_S;
	trace_put(&ring, &want, &f);
	ok(trace_take(&ring, &copy) == TRACE_ONE && copy.record.time_ns == 1 &&
		   copy.record.steer_ns == UINT32_MAX,
	   "10 s before the pop: 4.29 s");
}

/* --- the worker's word ------------------------------------------------------------------ */

static void send_text(uint32_t seq, uint32_t ack, uint64_t stamp, const char *text)
{
	struct pkt_seg s = {
		.flow = { .local_port = 5555, .remote_port = 8080 },
		.link.vlan = PKT_UNTAGGED,
		.seq = seq,
		.ack = ack,
		.flags = WIRE_ACK,
		.window = 65535,
		.wscale = PKT_NO_SCALE,
		.data = (const uint8_t *)text,
		.len = (uint32_t)strlen(text),
	};

	memcpy(s.flow.local, ip4_1, 16);
	memcpy(s.flow.remote, ip4_2, 16);
	worker_frame(w, frame_bytes, pkt_emit(&s, frame_bytes, sizeof frame_bytes),
		     &(struct steer_meta){ .stamp_ns = stamp }, now);
}

/* Each step takes another time. */
static bool answer_times(struct trace_times *t)
{
	bool answer;

	now += 30;
	worker_admit(w, now);
	worker_compute(w, now);
	now += 500;
	worker_answer(w, now);
	now += 7000;
	memset(t, 0, sizeof *t);
	while (worker_emit(w, frame_bytes, sizeof frame_bytes, now, &answer))
		if (answer)
			worker_times(w, now, t);
	return t->total_ns;
}

static void test_times(void)
{
	uint32_t seq = 1001, ack;
	struct trace_times t;

	start();
	ack = connect_port(5555);
	send_text(seq, ack, now - 2, GET(10));
	ok(answer_times(&t), "an answer begins");
	is(t.steer_ns, 2, "steer");
	is(t.parse_ns, 30, "parse");
	is(t.wait_ns, 0, "wait");
	is(t.compute_ns, 500, "compute");
	is(t.reply_ns, 7000, "reply");
	is(t.total_ns, 7532, "total");

	seq += sizeof GET(10) - 1;
	send_text(seq, ack, 0, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
	answer_times(&t);
	ok(t.steer_ns == TRACE_UNKNOWN, "no stamp: steer is unknown");
	ok(t.parse_ns == TRACE_UNKNOWN && t.wait_ns == TRACE_UNKNOWN &&
		   t.compute_ns == TRACE_UNKNOWN,
	   "/healthz: no parse, wait, compute of the request before");
	is(t.total_ns, 7530, "but a total");

	seq += sizeof "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n" - 1;
	send_text(seq, ack, now - 2, GET(10));
	worker_admit(w, now + 30);
	worker_compute(w, now + 30);
	worker_answer(w, now + 530);
	send_text(seq + (uint32_t)sizeof GET(10) - 1, ack, now + 598, GET(1));
	now += 600;
	ok(answer_times(&t), "a second request before the first answer has left");
	ok(t.steer_ns == 2 && t.parse_ns == 30 && t.compute_ns == 500,
	   "the stages are those of the first");
	is(t.reply_ns, 600 + 7530 - 530, "reply and total, too");

	start();
	ack = connect_port(5555);
	send_text(1001, ack, now - 2, GET(10) GET(1));
	turn();
	turn();
	ok(answer_times(&t), "two requests in a segment, two answers in the next");
	is(t.steer_ns, 2, "they came at once");
	ok(t.parse_ns != TRACE_UNKNOWN && t.compute_ns != TRACE_UNKNOWN,
	   "the rest is of the first, too");
}

int main(void)
{
	test_address();
	test_port();
	test_cut();
	test_odd();
	test_round_trip();
	test_wrap();
	test_full();
	test_hostile();
	test_lease();
	test_stamps();
	test_times();
	return done();
}
