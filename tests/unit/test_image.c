/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A worker in the midst of everything, written down and read back: each session goes on
 * where it was. What does not fit is refused by name; and an image that is cut short or
 * has any byte changed is refused, or loaded and still a worker.
 */
#include "image_rig.h"

static void begin(void)
{
	begin_with(usual);
}

static void rebirth(void)
{
	w = reborn(w, &memory, now);
}

/* --- sessions, phase by phase --------------------------------------------------------- */

static const char *hash_said(uint64_t n)
{
	static char text[64];

	snprintf(text, sizeof text, "\"hash\":\"0x%08x\"",
		 (unsigned)lane_plain(LANE_FNV1A32, lane_alg_seed(LANE_FNV1A32), n));
	return text;
}

/* On a socket, byte by byte, each to another worker. */
static uint16_t send_slowly(const char *text)
{
	uint16_t id;

	begin();
	id = worker_open(w, now);
	for (; *text; text++) {
		send_bytes(id, text, 1);
		rebirth();
	}
	turn();
	return id;
}

static void test_head(void)
{
	static const char text[] = "\r\nPOST /compute HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n"
				   "Content-Type: application/json\r\n\r\n{\"n\": 7}";
	uint16_t id = send_slowly(text);

	ok(says(heard(id), hash_said(7)), "a request, and a worker for each of its bytes");
	is(stats.http_requests, 1, "it is one request");
	is(stats.http_ok, 1, "and one answer");
}

static void test_chunks(void)
{
	static const char text[] =
		"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
		"5;a=\"b\"\r\nhello\r\n1\r\n!\r\n0\r\nX: y\r\n\r\n";
	uint16_t id = send_slowly(text);

	ok(says(heard(id), "\r\n\r\nhello!"), "and so a body in chunks, and its trailer");
}

static void test_lanes(void)
{
	struct worker_params p = usual;
	const char *text;
	uint16_t id[6];

	p.lanes = 2;
	p.slice_us = 5;
	begin_with(p);
	for (unsigned i = 0; i < 4; i++)
		id[i] = open_and_send(GET(1000000));
	id[4] = open_and_send(GET(16000));
	turn();
	id[5] = open_and_send(GET(16001));
	is(roster_jobs(w->roster), 3, "two long jobs and a short one have lanes");
	is(w->waiting, 3, "two wait, and one has just come");
	now += 150 * NS_PER_MS; /* more than may be waited for a lane */
	rebirth();
	is(w->waiting, 6, "in another worker all of them wait");
	is(roster_jobs(w->roster), 0, "nothing is in a lane");
	turn();
	is(roster_jobs(w->roster), 4, "who had a lane has one again, and who just came");
	is(stats.http_busy_late, 2, "who had waited too long is told so, as he would have been");
	for (unsigned i = 0; i < 9999 && roster_jobs(w->roster); i++)
		turn();
	ok(says(heard(id[0]), hash_said(1000000)) && says(heard(id[1]), hash_said(1000000)) &&
		   says(heard(id[4]), hash_said(16000)) && says(heard(id[5]), hash_said(16001)),
	   "they are computed anew, right");
	text = heard(id[2]);
	ok(says(text, " 503 ") && says(heard(id[3]), " 503 "), "the others are turned away");
	is(stats.http_ok, 4, "each is answered once");
	is(stages.compute.count, 4, "and measured once");
}

/* A peer that does not read: the answers wait, half sent. */
static void test_answers(void)
{
	static char echo[12000];
	static char got[80000];
	size_t len = 0, head;
	uint16_t id[2];

	begin();
	head = (size_t)snprintf(echo, sizeof echo,
				"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 11000\r\n\r\n");
	for (size_t i = 0; i < 11000; i++)
		echo[head + i] = (char)('a' + i % 26);
	id[0] = worker_open(w, now);
	id[1] = open_and_send("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n" GET(9));
	send_bytes(id[0], echo, head + 11000);
	send_bytes(id[0], echo, head + 11000);
	turn();
	is(w->session[id[0]].phase, PHASE_ECHO, "an echo waits for room");
	is(w->session[id[1]].phase, PHASE_METRICS, "the metrics are told piece by piece");
	for (unsigned i = 0; i < 200000 && len < 2 * 11000; i++) {
		const struct buf *out = worker_out(w, id[0]);
		size_t n = min_u64(out->len, 501);

		memcpy(got + len, n ? buf_bytes(out) : (const uint8_t *)"", n);
		len += n;
		worker_sent(w, id[0], n, now);
		rebirth();
		turn();
	}
	got[len] = '\0';
	is(stats.http_ok, 2, "a peer that reads 501 bytes of each worker has both");
	ok(!memcmp(strstr(got, "\r\n\r\n") + 4, echo + head, 11000), "the first as it was sent");
	for (len = 0; len < sizeof got - 4000 && !says(got, "\"hash\"");) {
		const struct buf *out = worker_out(w, id[1]);
		size_t n = min_u64(out->len, 3001);

		memcpy(got + len, n ? buf_bytes(out) : (const uint8_t *)"", n);
		len += n;
		got[len] = '\0';
		worker_sent(w, id[1], n, now);
		rebirth();
		turn();
	}
	ok(says(got, "saker_http_requests_total") && says(got, "le=\"+Inf\"") &&
		   says(got, "\r\n0000\r\n\r\nHTTP/1.1 200"),
	   "the metrics came to their end");
	ok(says(got, hash_said(9)), "and what was asked behind them");
}

static void test_closing(void)
{
	uint16_t id[3], next;
	unsigned named = 0;

	begin();
	id[0] = open_and_send("GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
	id[1] = open_and_send(GET(7));
	worker_eof(w, id[1], now);
	id[2] = worker_open(w, now);
	worker_peer(w, id[2], (uint8_t[16]){ 0x20, 1 }, 99);
	turn();
	while (worker_ready(w) != WORKER_NONE)
		;
	rebirth();
	next = worker_sock_after(w, WORKER_NONE);
	ok(next == id[0] && worker_sock_after(w, next) == id[1] &&
		   worker_sock_after(w, id[1]) == id[2],
	   "the sockets in use are told, one after the other");
	is(worker_sock_after(w, id[2]), WORKER_NONE, "up to the last");
	while (worker_ready(w) != WORKER_NONE)
		named++;
	is(named, 3, "each is named once, to be given its descriptor");
	ok(worker_closing(w, id[0]) && !worker_eof_seen(w, id[0]), "one is closing");
	ok(worker_over(w, id[1]), "one is over");
	ok(says(heard(id[0]), "Connection: close") && says(heard(id[1]), hash_said(7)),
	   "what was not yet sent still is");
	is(w->peer[id[2] - CONNS].port, 99, "the peer is known");
	worker_gone(w, id[1]);
	is(worker_open(w, now), id[1], "an id that is free now is given away");
	next = worker_open(w, now);
	ok(next != id[0] && next != id[2], "and none that is in use");
	is(worker_live(w), 4, "four are open");
}

static void test_deadlines(void)
{
	uint16_t id;

	begin();
	id = open_and_send("GET /he");
	pass_ms(900);
	rebirth();
	pass_ms(90);
	ok(!worker_closing(w, id), "a head has its whole time");
	pass_ms(30);
	ok(worker_closing(w, id), "and no more than that");
	is(stats.http_header_timeouts, 1, "counted");
}

static void test_drain(void)
{
	uint16_t id;

	begin();
	id = open_and_send(GET(100));
	turn();
	heard(id);
	id = open_and_send("GET /compute?n=1 HTTP/1.1\r\n");
	worker_drain(w);
	worker_close_idle(w, now);
	rebirth();
	send_bytes(id, "Host: a\r\n\r\n", 11);
	turn();
	ok(says(heard(id), "Connection: close"), "who drains goes on draining");
	frame(1000, WIRE_SYN, 1000, 0, "");
	is(last.flags, WIRE_RST | WIRE_ACK, "and takes no connection");
}

static void test_log(void)
{
	static _Alignas(64) uint8_t records[8 * sizeof(struct accesslog_record)];
	struct accesslog_record r = { .status = 0 };
	struct worker_params p = usual;
	static struct spsc log;
	size_t len;
	uint8_t *image;
	uint16_t id;

	spsc_init(&log, records, 8, sizeof r);
	p.log = &log;
	begin_with(p);
	id = worker_open(w, now);
	worker_peer(w, id, (uint8_t[16]){ 0x20, 1 }, 99);
	send_bytes(id, GET(77), strlen(GET(77)));
	rebirth();
	turn();
	ok(spsc_take(&log, &r) && r.port == 99 && r.n == 77 && r.status == 200 &&
		   !memcmp(r.target, "/compute?n=77", r.target_len),
	   "the log knows who asked, and what, before the worker was another one");
	image = reborn_save(w, &len, now);
	begin();
	is(worker_load(w, image, len, now), IMAGE_none, "a log may end");
	free(image);
	image = reborn_save(w, &len, now);
	begin_with(p);
	is(worker_load(w, image, len, now), IMAGE_none, "and begin");
	free(image);
	send_bytes(id, GET(78), strlen(GET(78)));
	turn();
	ok(spsc_take(&log, &r) && r.port == 99 && r.n == 78, "and knows who is there");
}

/* --- over frames ------------------------------------------------------------------------ */

static void test_frames(void)
{
	static const char rest[] = "n=5 HTTP/1.1\r\nHost: a\r\n\r\n";
	uint32_t ack, cookie, seq = 1011 + (uint32_t)strlen(rest);

	begin();
	frame(1001, WIRE_SYN, 5000, 0, "");
	cookie = last.seq;
	ack = connect_port(1000);
	frame(1000, WIRE_ACK, 1011, ack, rest);
	rebirth();
	frame(1000, WIRE_ACK | WIRE_PSH, 1001, ack, "GET /ec?n=");
	is(last.seq, ack, "what came past a gap is there when the gap is filled");
	is(stats.http_not_found, 1, "and is read with it");
	ack = last.seq + last.len;
	rebirth();
	frame(1000, WIRE_ACK | WIRE_PSH, seq, ack, GET(8));
	ok(last.len && !memcmp(last.data, "HTTP/1.1 200", 12), "sequence numbers go on");
	rebirth();
	emit_after(1100 * NS_PER_MS);
	worker_publish(w);
	is(stats.tcp_retransmits, 1, "what is not acknowledged is sent again");
	ok(!memcmp(last.data, "HTTP/1.1 200", 12), "from its first byte");
	frame(1001, WIRE_ACK | WIRE_PSH, 5001, cookie + 1, GET(3));
	is(stats.tcp_opened, 2, "a cookie of the first worker opens a connection to the third");
	frame(1001, WIRE_ACK | WIRE_FIN, 5001 + (uint32_t)strlen(GET(3)), last.seq + last.len, "");
	rebirth();
	emit_after(30 * NS_PER_MS);
	is(worker_live(w), 2, "it is in LAST-ACK");
	frame(1001, WIRE_ACK, 5002 + (uint32_t)strlen(GET(3)), last.seq + 1, "");
	is(worker_live(w), 1, "and over");
}

static void test_timewait(void)
{
	static const char bye[] = "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
	uint32_t ack, seq = 1001 + (uint32_t)strlen(bye), end;

	begin();
	ack = connect_port(1000);
	frame(1000, WIRE_ACK | WIRE_PSH, 1001, ack, bye);
	end = last.seq + pkt_span(&last);
	frame(1000, WIRE_ACK | WIRE_FIN, seq, end, "");
	is(worker_live(w), 0, "a connection in TIME-WAIT");
	rebirth();
	frame(1000, WIRE_ACK | WIRE_FIN, seq, end, "");
	is(stats.tcp_timewait, 1, "still is, for a FIN that comes again");
	ok(last.flags == WIRE_ACK && last.ack == seq + 1, "which is acknowledged");
	emit_after((TCP_TIMEWAIT_MS + 10) * (uint64_t)NS_PER_MS);
	rebirth();
	frame(1000, WIRE_ACK | WIRE_FIN, seq, end, "");
	is(stats.tcp_stray, 1, "until its time is over");
}

/* --- refusals ------------------------------------------------------------------------------ */

static bool is_fresh(const struct worker_params *p)
{
	size_t len, other_len, size = worker_footprint(p) + 64;
	void *other = calloc(1, size);
	struct worker *o = worker_init((void *)round_up((uintptr_t)other, 64), p, now);
	uint8_t *image = reborn_save(w, &len, now), *other_image = reborn_save(o, &other_len, now);
	bool same = len == other_len && !memcmp(image, other_image, len) &&
		    worker_open(w, now) == worker_open(o, now);

	free(image);
	free(other_image);
	free(other);
	return same;
}

static void refuse(struct worker_params p, const uint8_t *image, size_t len, enum image_fault why,
		   const char *what)
{
	enum image_fault got;

	begin_with(p);
	got = worker_load(w, image, len, now);
	is_str(image_fault_name(got), image_fault_name(why), "%s", what);
	ok(is_fresh(&p), "and the worker is as good as new");
}

static void test_refusals(void)
{
	struct worker_params p = usual;
	uint8_t *image;
	size_t len;

	begin();
	connect_port(1000);
	connect_port(1001);
	open_and_send("GET /");
	open_and_send("GET /");
	image = reborn_save(w, &len, now);
	is(worker_save(w, (uint8_t[64]){ 0 }, 64, now), 0, "an image that does not fit is none");
	refuse(p, image, len - 1, IMAGE_short, "the last byte is missing");
	refuse(p, image, 0, IMAGE_short, "all are");
	refuse(p, (const uint8_t *)"saker", 5, IMAGE_short, "five bytes");
	image[0] ^= 1;
	refuse(p, image, len, IMAGE_foreign, "another magic");
	image[0] ^= 1;
	image[8]++;
	refuse(p, image, len, IMAGE_version, "another version");
	image[8]--;
	image[16]++;
	refuse(p, image, len, IMAGE_layout, "another build, with other records");
	image[16]--;
	image[len - 1]++;
	refuse(p, image, len, IMAGE_broken, "another end");
	image[len - 1]--;
	p.max_conns = 1;
	refuse(p, image, len, IMAGE_slots, "the second connection has no slot");
	p = usual;
	p.max_socks = 1;
	refuse(p, image, len, IMAGE_slots, "nor has the second socket");
	p = usual;
	p.max_body--;
	refuse(p, image, len, IMAGE_buffers, "bodies must be shorter");
	free(image);
}

/* Another worker than the last, but one that may go on: ids of sockets move with max_conns,
 * segments fit the smaller MTU. */
static void test_other_params(void)
{
	struct worker_params p = usual;
	uint8_t *image;
	uint32_t ack;
	uint16_t id;
	size_t len;

	begin();
	ack = connect_port(1000);
	id = open_and_send("GET /compute?n=7 HTTP/1.1\r\n");
	image = reborn_save(w, &len, now);
	p.max_conns = 2 * CONNS;
	p.max_body *= 2;
	p.mtu = 640;
	p.lanes = 1;
	p.cache = 5;
	begin_with(p);
	is(worker_load(w, image, len, now), IMAGE_none, "a larger worker goes on");
	free(image);
	is(worker_sock_after(w, WORKER_NONE), id + CONNS, "the socket behind all connections");
	send_bytes((uint16_t)(id + CONNS), "Host: a\r\n\r\n", 11);
	turn();
	ok(says(heard((uint16_t)(id + CONNS)), hash_said(7)), "is answered");
	frame(1000, WIRE_ACK | WIRE_PSH, 1001, ack, "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
	for (int i = 0; i < 5; i++)
		emit_after(NS_PER_MS);
	is(w->tcp->conn[0].mss, 600, "the connection has the MTU of today");
	worker_check(w);
}

/* --- any byte may be wrong ------------------------------------------------------------------ */

static unsigned verdicts[IMAGE_FAULTS];

/* Somebody goes on from it, or nobody does. */
static void try_image(const uint8_t *image, size_t len, uint64_t then)
{
	enum image_fault fault;

	now = then;
	fault = worker_load(w, image, len, now);
	verdicts[fault]++;
	if (fault)
		return;
	live_on();
	worker_blank(w, then);
}

static void test_changed(void)
{
	static const uint8_t flips[] = { 0xff, 0x01, 0x80 };
	struct worker_params p = begin_rich();
	uint64_t then = now;
	uint8_t word[8];
	size_t len;
	uint8_t *image = reborn_save(w, &len, now);

	begin_with(p);
	for (size_t at = 0; at < len; at++) {
		image[at] ^= flips[at % array_size(flips)];
		try_image(image, len, then);
		image[at] ^= flips[at % array_size(flips)];
	}
	for (size_t at = 0; at + sizeof word <= len; at += 4) {
		memcpy(word, image + at, sizeof word);
		memset(image + at, 0xff, sizeof word);
		try_image(image, len, then);
		memcpy(image + at, word, sizeof word);
	}
	free(image);
	now = then;
	printf("# %zu bytes:", len);
	for (unsigned i = 0; i < IMAGE_FAULTS; i++)
		printf(" %s %u", image_fault_name(i), verdicts[i]);
	printf("\n");
	ok(verdicts[IMAGE_none] && verdicts[IMAGE_broken] && verdicts[IMAGE_short],
	   "a worker survives any changed byte or word, or does not begin");
	ok(is_fresh(&p), "whoever was refused left no trace");
}

static void test_cut(void)
{
	struct worker_params p = begin_rich();
	enum { BYTES_AT = 24 }; /* where the header says its length */
	size_t len;
	uint8_t *image = reborn_save(w, &len, now);

	begin_with(p);
	for (size_t cut = 0; cut < len; cut++) {
		uint8_t *part = malloc(cut + 1);

		memcpy(part, image, cut);
		if (cut >= BYTES_AT + sizeof cut)
			memcpy(part + BYTES_AT, &cut, sizeof cut);
		must(worker_load(w, part, cut, now) != IMAGE_none);
		free(part);
	}
	free(image);
	ok(is_fresh(&p), "an image that ends early is never taken for one, though it says so");
}

int main(void)
{
	test_head();
	test_chunks();
	test_lanes();
	test_answers();
	test_closing();
	test_deadlines();
	test_drain();
	test_log();
	test_frames();
	test_timewait();
	test_refusals();
	test_other_params();
	test_changed();
	test_cut();
	return done();
}
