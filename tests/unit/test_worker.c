/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What happens to requests when something runs out: lanes, time, buffers,
 * clients, the responder itself. Through the interface of kernel sockets, which
 * needs no frames; the last part over frames.
 */
#include "pkt.h"
#include "tap.h"
#include "wire.h"
#include "worker.h"

enum { CONNS = 4, SOCKS = 200, LARGE = BUF_LARGE_MIN };

static struct stats_block stats;
static struct stage_block stages;
static struct worker *w;
static uint64_t now;

static void start(void)
{
	static void *memory;
	static size_t size;
	struct worker_params p = {
		.max_conns = CONNS,
		.max_socks = SOCKS,
		.mss4 = 1460,
		.mss6 = 1440,
		.max_n = N_MAX_DEFAULT,
		.max_body = 16384,
		.slice_us = 50,
		.max_wait_ms = 100,
		.header_timeout_ms = 1000,
		.body_timeout_ms = 2000,
		.idle_timeout_ms = 5000,
		.stats = &stats,
		.stages = &stages,
	};

	if (!memory) {
		size = round_up(worker_footprint(&p), 64);
		memory = aligned_alloc(64, size);
	}
	memset(memory, 0, size);
	memset(&stats, 0, sizeof stats);
	memset(&stages, 0, sizeof stages);
	now = NS_PER_S;
	w = worker_init(memory, &p, now);
}

static void turn(void)
{
	worker_admit(w, now);
	worker_compute(w);
	now += 50 * NS_PER_US;
	worker_answer(w, now);
	worker_check(w);
}

static void pass_ms(unsigned ms)
{
	for (unsigned i = 0; i < ms; i += 5) {
		now += 5 * NS_PER_MS;
		turn();
	}
}

/* False: there was no room for all of it. */
static bool send_bytes(uint16_t id, const char *bytes, size_t len)
{
	while (len) {
		size_t room, n;
		uint8_t *to = worker_room(w, id, &room);

		if (!to)
			return false;
		n = len < room ? len : room;
		memcpy(to, bytes, n);
		worker_read(w, id, n, now);
		bytes += n;
		len -= n;
	}
	return true;
}

static uint16_t open_and_send(const char *text)
{
	uint16_t id = worker_open(w, now);

	send_bytes(id, text, strlen(text));
	return id;
}

/* What was answered so far, as a string; it counts as sent. */
static const char *heard(uint16_t id)
{
	static char text[20000];
	const struct buf *out = worker_out(w, id);
	size_t n = out->len;

	memcpy(text, n ? buf_bytes(out) : (const uint8_t *)"", n);
	text[n] = '\0';
	worker_sent(w, id, n, now);
	return text;
}

static bool says(const char *text, const char *part)
{
	return strstr(text, part) != NULL;
}

#define GET(n) "GET /compute?n=" #n " HTTP/1.1\r\nHost: a\r\n\r\n"

static void test_order(void)
{
	const char *text, *first, *second;
	uint16_t id;

	start();
	id = open_and_send("GET /compute?n=100000 HTTP/1.1\r\nHost: a\r\n\r\n" GET(1) GET(2));
	for (int i = 0; i < 200; i++)
		turn();
	text = heard(id);
	first = strstr(text, "\"n\":100000");
	second = strstr(text, "\"n\":1,");
	ok(first && second && first < second && says(second, "\"n\":2,"),
	   "the long first of three pipelined requests is answered first");
	is(stats.http_ok, 3, "all three are");
}

static void test_lanes(void)
{
	uint16_t id[LANES + 1];
	const char *text;

	start();
	for (int i = 0; i <= LANES; i++)
		id[i] = open_and_send(GET(100000000));
	turn();
	is(stages.wait.count, LANES, "as many requests as lanes are admitted");
	worker_gone(w, id[0]);
	worker_check(w);
	is(stats.http_aborted, 1, "a client that goes away is counted");
	turn();
	is(stages.wait.count, LANES + 1, "and leaves its lane to the one who waits");

	id[0] = open_and_send(GET(5));
	pass_ms(90);
	is(worker_out(w, id[0])->len, 0, "who finds no lane waits");
	pass_ms(30);
	text = heard(id[0]);
	ok(says(text, "503 ") && says(text, "Retry-After"), "but not longer than --max-wait-ms");
	is(stats.http_busy, 1, "then it is refused, and counted");
	ok(!worker_closing(w, id[0]), "its connection stays");
}

static void test_timeouts(void)
{
	uint16_t idle, head, body;

	start();
	idle = worker_open(w, now);
	head = open_and_send("GET /comp");
	body = open_and_send("POST /compute HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n"
			     "Content-Type: application/json\r\n\r\n{");
	pass_ms(900);
	ok(!worker_closing(w, head), "a head may take a while");
	pass_ms(200);
	ok(worker_closing(w, head) && stats.http_header_timeouts == 1, "but not for ever");
	ok(!worker_closing(w, body), "a body has its own time");
	pass_ms(1000);
	ok(worker_closing(w, body) && stats.http_body_timeouts == 1, "and it ends too");
	ok(!worker_closing(w, idle), "who says nothing is left alone for longer");
	pass_ms(3000);
	ok(worker_closing(w, idle) && stats.http_idle_timeouts == 1, "but closed at last");
	ok(!worker_over(w, idle), "a closed connection waits for the peer's end");
	worker_eof(w, idle, now);
	ok(worker_over(w, idle), "and is over when it has come");
	pass_ms(TCP_LINGER_MS);
	ok(worker_over(w, head), "or when it does not come in time");
}

static void test_buffers(void)
{
	static char part[3000] = "POST /compute HTTP/1.1\r\nHost: a\r\nContent-Length: 16000\r\n"
				 "Content-Type: application/json\r\n\r\n";
	uint16_t id[LARGE + 1];
	unsigned full = 0;

	start();
	memset(part + strlen(part), ' ', sizeof part - strlen(part));
	for (int i = 0; i <= LARGE; i++) {
		id[i] = worker_open(w, now);
		full += !send_bytes(id[i], part, sizeof part);
	}
	is(full, 1, "one upload more than there are large blocks has to wait");
	worker_gone(w, id[0]);
	worker_check(w);
	ok(send_bytes(id[LARGE], part + BUF_SMALL, 900), "until one of them is gone");
	for (int i = 1; i <= LARGE; i++)
		worker_gone(w, id[i]);
	worker_check(w);
	for (int i = 0; i < SOCKS; i++)
		ok(worker_open(w, now) != WORKER_NONE || i != SOCKS - 1, "all ids are free again");
	is(worker_open(w, now), WORKER_NONE, "and no more than those");
}

static void test_room_again(void)
{
	static const char head[] = "POST /compute HTTP/1.1\r\nHost: a\r\nContent-Length: 3000\r\n"
				   "Content-Type: application/json\r\n\r\n";
	static char body[3000];
	uint16_t id[LARGE + 1], ready;

	start();
	memset(body, ' ', sizeof body);
	for (int i = 0; i <= LARGE; i++)
		id[i] = open_and_send(head);
	for (int i = 0; i <= LARGE; i++)
		send_bytes(id[i], body, 2500);
	turn();
	while ((ready = worker_ready(w)) != WORKER_NONE)
		ok(ready != id[LARGE], "who found no room is not called while there is none");
	worker_gone(w, id[0]);
	turn();
	is(worker_ready(w), id[LARGE], "but as soon as there is");
}

/* Who neither reads nor ends is let go after the linger, with what he left. */
static void test_unread(void)
{
	uint16_t id;

	start();
	id = open_and_send("GET /healthz HTTP/1.0\r\n\r\n");
	turn();
	ok(worker_closing(w, id) && worker_out(w, id)->len, "an answer that is not read");
	pass_ms(TCP_LINGER_MS + 10);
	ok(worker_over(w, id) && !worker_out(w, id)->len, "is given up at last");
}

static void test_output_full(void)
{
	unsigned sent = 0;
	uint16_t id;

	start();
	id = worker_open(w, now);
	/* a client that asks and never reads */
	for (; sent < 200 && send_bytes(id, GET(1), strlen(GET(1))); sent++)
		turn();
	is(sent, 200, "200 requests are taken");
	ok(worker_out(w, id)->len < 20000, "but no more is answered than a block holds");
	is(stats.http_ok < 200, 1, "the others wait");
	for (int i = 0; i < 400; i++) {
		heard(id);
		turn();
	}
	is(stats.http_ok, 200, "until there is room: none is lost");
}

static void test_drain(void)
{
	uint16_t idle, busy;
	const char *text;

	start();
	idle = open_and_send(GET(1));
	turn();
	heard(idle);
	busy = open_and_send(GET(1000000));
	turn();
	worker_drain(w, now);
	ok(worker_closing(w, idle), "drain closes who is idle");
	ok(!worker_closing(w, busy), "and lets finish who is not");
	for (int i = 0; i < 100; i++)
		turn();
	text = heard(busy);
	ok(says(text, "200 OK") && says(text, "Connection: close"), "with an answer that says so");
	ok(worker_closing(w, busy), "then closes it too");
}

/* --- over frames --------------------------------------------------------------------- */

static struct pkt_seg last; /* that came out */

static void frame(uint16_t port, uint8_t flags, uint32_t seq, uint32_t ack, const char *data)
{
	struct pkt_seg s = {
		.flow = { .local_port = port, .remote_port = 8080 }, /* seen from the client */
		.link.vlan = PKT_UNTAGGED,
		.seq = seq,
		.ack = ack,
		.flags = flags,
		.window = 65535,
		.wscale = PKT_NO_SCALE,
		.data = (const uint8_t *)data,
		.len = (uint32_t)strlen(data),
	};
	static uint8_t bytes[2048]; /* `last` points into it */
	bool answer;
	size_t len;

	memcpy(s.flow.local, (uint8_t[16]){ [10] = 255, 255, 10, 0, 0, 1 }, 16);
	memcpy(s.flow.remote, (uint8_t[16]){ [10] = 255, 255, 10, 0, 0, 2 }, 16);
	worker_frame(w, bytes, pkt_emit(&s, bytes, sizeof bytes), 0, now);
	turn();
	while ((len = worker_emit(w, bytes, sizeof bytes, now, &answer)))
		is(pkt_parse(bytes, len, &last), PKT_ok, "what comes out is valid");
	worker_check(w);
}

static uint32_t connect_port(uint16_t port)
{
	uint32_t iss;

	frame(port, WIRE_SYN, 1000, 0, "");
	iss = last.seq;
	frame(port, WIRE_ACK, 1001, iss + 1, "");
	return iss + 1;
}

static void test_no_buffer(void)
{
	static const char head[] = "GET /compute?n=3 HTTP/1.1\r\nHost: a\r\n";
	static const char rest[] = "ET / HTTP/1.1\r\nHost: a\r\n\r\nG";
	uint16_t hog[SOCKS];
	uint32_t ack;

	start();
	for (int i = 0; i < SOCKS; i++)
		hog[i] = open_and_send("G");
	/* They hold all but CONNS small blocks; these and the large ones go to
	 * answers that nobody reads, while the next request has begun. */
	for (int i = 0; i < CONNS + LARGE; i++)
		send_bytes(hog[i], rest, strlen(rest));
	ack = connect_port(1);
	frame(1, WIRE_ACK, 1001, ack, head);
	is(stats.tcp_no_buffer, 1, "a segment that no buffer can hold is not accepted");
	for (int i = 0; i < 20; i++)
		worker_gone(w, hog[i]);
	frame(1, WIRE_ACK, 1001, ack, head);
	frame(1, WIRE_ACK, 1001 + (uint32_t)strlen(head), ack, "\r\n");
	is(last.ack, 1001 + strlen(head) + 2, "sent again it is, and nothing is lost");
	is(stats.tcp_no_buffer, 1, "and it was one segment");
	ok(last.len > 100, "the request is answered");
}

/* A segment for which there is no buffer leaves the parser as it was, whatever
 * other sessions did in between. */
static void test_no_buffer_in_body(void)
{
	static const char head[] = "POST /compute HTTP/1.1\r\nHost: a\r\nContent-Length: 7\r\n"
				   "Content-Type: application/json\r\nExpect: 100-continue\r\n\r\n";
	static char other[3000] = "POST /compute HTTP/1.1\r\nHost: a\r\nContent-Length: 3333\r\n"
				  "Content-Type: application/json\r\n\r\n";
	uint16_t hog[LARGE + SOCKS];
	uint32_t ack, seq = 1001 + (uint32_t)strlen(head);

	start();
	memset(other + strlen(other), ' ', sizeof other - strlen(other));
	ack = connect_port(1);
	frame(1, WIRE_ACK, 1001, ack, head);
	ok(last.len && says((const char *)last.data, "100 Continue"),
	   "a client waits for its body");
	for (int i = 0; i < SOCKS; i++) {
		hog[i] = worker_open(w, now);
		send_bytes(hog[i], other, sizeof other - 200);
	}
	frame(1, WIRE_ACK, seq, ack, "{\"n\"");
	for (int i = 0; i < SOCKS; i++)
		worker_gone(w, hog[i]);
	frame(1, WIRE_ACK, seq, ack + 25, "{\"n\"");
	frame(1, WIRE_ACK, seq + 4, ack + 25, ":5}");
	ok(says((const char *)last.data, "200 OK") && says((const char *)last.data, "\"n\":5"),
	   "its body is read by its own length");
}

static void test_refuse_when_draining(void)
{
	start();
	worker_drain(w, now);
	frame(7, WIRE_SYN, 5, 0, "");
	ok(last.flags & WIRE_RST, "drain answers a SYN with RST");

	start();
	frame(7, WIRE_SYN, 5, 0, "");
	worker_drain(w, now);
	frame(7, WIRE_ACK, 6, last.seq + 1, "");
	ok(last.flags & WIRE_RST, "and a handshake that was under way");
	is(worker_live(w), 0, "so that it comes to an end");
}

int main(void)
{
	test_order();
	test_lanes();
	test_timeouts();
	test_buffers();
	test_room_again();
	test_unread();
	test_output_full();
	test_drain();
	test_no_buffer();
	test_no_buffer_in_body();
	test_refuse_when_draining();
	return done();
}
