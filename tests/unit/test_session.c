/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One client's conversation: bodies that go back, clients that are slow but not
 * silent, results that were computed before.
 */
#include "worker_rig.h"

#define POST_HEAD "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: image/png\r\n"

/* A POST to /echo with len bytes that start with `mark` and differ along the way. */
static size_t echo_request(char *to, char mark, size_t len)
{
	size_t head = (size_t)sprintf(to, POST_HEAD "Content-Length: %zu\r\n\r\n", len);

	for (size_t i = 0; i < len; i++)
		to[head + i] = i ? (char)('a' + (i ^ i >> 8) % 26) : mark;
	return head + len;
}

static void say(uint16_t id, const char *text)
{
	send_bytes(id, text, strlen(text));
}

/* Is text an answer with that body? The place behind it, or NULL. */
static const char *echo_of(const char *text, const char *body, size_t len)
{
	const char *at = strstr(text, "\r\n\r\n"), *field = strstr(text, "Content-Length: ");

	if (strncmp(text, "HTTP/1.1 200 OK\r\n", 17) || !at || !field || field > at ||
	    strtoul(field + 16, NULL, 10) != len || memcmp(at + 4, body, len) ||
	    !strstr(text, "Content-Type: text/plain\r\n"))
		return NULL;
	return at + 4 + len;
}

static void test_echo(void)
{
	const char *text;
	uint16_t id;

	start();
	id = open_and_send(POST_HEAD "Content-Length: 5\r\n\r\nhello");
	text = heard(id);
	ok(echo_of(text, "hello", 5) && strlen(text) < 200, "a body comes back");
	say(id, POST_HEAD "Transfer-Encoding: chunked\r\n\r\n3;x=\"y\"\r\nabc\r");
	is_str(heard(id), "", "(half a body)");
	say(id, "\n2\r\nde\r\n0\r\nT: v\r\n\r\n" GET(1));
	text = heard(id);
	ok(echo_of(text, "abcde", 5), "without its chunks");
	for (int i = 0; i < 4; i++)
		turn();
	ok(says(heard(id), "\"n\":1,"), "and what follows is a request of its own");

	id = open_and_send("GET /echo?a=b HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nxy");
	ok(echo_of(heard(id), "", 0), "GET: an empty body, whatever was sent");
	say(id, POST_HEAD "\r\n");
	ok(echo_of(heard(id), "", 0), "POST without a body: likewise");
	say(id, "HEAD /echo HTTP/1.1\r\nHost: a\r\n\r\n");
	ok(says(heard(id), "Content-Length: 0\r\n\r\n"), "HEAD");
	say(id, "OPTIONS /echo HTTP/1.1\r\nHost: a\r\n\r\n");
	ok(says(heard(id), "Allow: GET, HEAD, POST, OPTIONS\r\n"), "OPTIONS");
	say(id, "PUT /echo HTTP/1.1\r\nHost: a\r\n\r\n");
	ok(says(heard(id), "HTTP/1.1 405 "), "PUT is not among them");
	is(stats.http_ok, 7, "each is counted");
}

/* As many as there is room for. */
static size_t send_some(uint16_t id, const char *bytes, size_t len)
{
	size_t room;
	uint8_t *to = len ? worker_room(w, id, &room) : NULL;

	if (!to)
		return 0;
	len = min_u64(len, room);
	memcpy(to, bytes, len);
	worker_read(w, id, len, now);
	return len;
}

/* More than the output holds, from a client that reads late: every answer comes,
 * whole and in order. */
static void test_echo_unread(void)
{
	static char request[20000];
	static const size_t lens[] = { 8000, 9000, 1, 16384, 300, 16384, 2048 };
	size_t len = 0, got = 0, count = array_size(lens);
	const char *rest = "";
	uint16_t id;

	start();
	id = worker_open(w, now);
	for (size_t i = 0, sent = 0; i < count || got < count;) {
		if (sent == len && i < count) {
			len = echo_request(request, (char)('A' + i), lens[i]);
			sent = 0;
			i++;
		}
		size_t n = send_some(id, request + sent, min_u64(len - sent, 1400));
		sent += n;
		if (!n)
			rest = heard(id);
		turn();
		for (; got < count && *rest; got++) {
			static char want[20000];
			size_t all = echo_request(want, (char)('A' + got), lens[got]);
			rest = echo_of(rest, want + all - lens[got], lens[got]);
			if (!ok(rest, "answer %zu of %zu bytes, read late, is whole", got,
				lens[got]))
				return;
		}
	}
	is(*rest, 0, "and nothing more comes");
	is(stats.http_ok, count, "one answer a request");
}

/* Each holds a block with its body, no block is free for an answer. */
static void test_echo_crowd(void)
{
	static char request[12000];
	size_t len = echo_request(request, 'x', 10000), right = 0, behind = 0;
	uint16_t id[LARGE];

	start();
	for (int i = 0; i < LARGE; i++) {
		id[i] = worker_open(w, now);
		send_bytes(id[i], request, len - 1);
	}
	for (int i = 0; i < LARGE; i++)
		send_bytes(id[i], "z" GET(1), 1 + strlen(GET(1)));
	request[len - 1] = 'z';
	turn();
	turn();
	for (int i = 0; i < LARGE; i++) {
		const char *text = heard(id[i]);
		right += echo_of(text, request + len - 10000, 10000) != NULL;
		behind += says(text, "\"n\":1,");
	}
	is(right, LARGE, "as many uploads at once as there are blocks are all answered");
	for (int i = 0; i < 20; i++)
		turn();
	for (int i = 0; i < LARGE; i++)
		behind += says(heard(id[i]), "\"n\":1,");
	is(behind, LARGE, "and so is what came behind them");
}

static void test_echo_largest(void)
{
	static char request[HTTP_BODY_MAX + 200], answer[HTTP_BODY_MAX + 400];
	struct worker_params p = usual;
	size_t len = echo_request(request, 'x', HTTP_BODY_MAX);
	const struct buf *out;
	uint16_t id;

	p.max_body = HTTP_BODY_MAX;
	start_with(p);
	id = worker_open(w, now);
	ok(send_bytes(id, request, len), "a body of 1 MiB is taken");
	turn();
	out = worker_out(w, id);
	memcpy(answer, buf_bytes(out), out->len);
	ok(echo_of(answer, request + len - HTTP_BODY_MAX, HTTP_BODY_MAX), "and comes back");
}

/* --- over frames ------------------------------------------------------------------------ */

/* Take every block: for heads in pieces, and for answers that nobody reads. */
static unsigned exhaust(uint16_t hog[SOCKS])
{
	static const char rest[] = "ET / HTTP/1.1\r\nHost: a\r\n\r\nG";
	unsigned hogs = 0;

	while (hogs < SOCKS && (hog[hogs] = worker_open(w, now)) != WORKER_NONE)
		say(hog[hogs++], "G");
	for (unsigned i = 0; i < CONNS + SOCKS + LARGE - hogs; i++)
		say(hog[i], rest);
	return hogs;
}

/* No block for a body that came in a frame, and none for its answer: the frame
 * is not accepted, and read anew when it comes again. */
static void test_echo_no_buffer(void)
{
	static const char head[] = POST_HEAD "Transfer-Encoding: chunked\r\n\r\n";
	static const char body[] = "5\r\nhello\r\n0\r\n\r\n";
	uint16_t hog[SOCKS];
	uint32_t ack, seq = 1001 + (uint32_t)strlen(head);

	start();
	ack = connect_port(1);
	frame(1, WIRE_ACK, 1001, ack, head);
	exhaust(hog);
	frame(1, WIRE_ACK, seq, ack, body);
	is(stats.tcp_no_buffer, 1, "a body for which there is no block is not accepted");
	for (int i = 0; i < SOCKS; i++)
		worker_gone(w, hog[i]);
	frame(1, WIRE_ACK, seq, ack, body);
	is(last.ack, seq + strlen(body), "it comes again, and is taken");
	ok(last.len && says((const char *)last.data, "\r\n\r\nhello"), "and comes back");
}

/* A result for which there is no block waits; a refusal does not. */
static void test_answer_no_buffer(void)
{
	uint16_t hog[SOCKS];
	unsigned hogs;
	uint32_t ack;

	start();
	ack = connect_port(1);
	frame(1, WIRE_ACK, 1001, ack, GET(100000));
	exhaust(hog);
	pass_ms(100);
	is(stages.compute.count, 1, "a job ends while no block is free");
	is(stats.http_ok, 0, "its result waits");
	worker_gone(w, hog[0]);
	emit_after(0);
	ok(last.len && says((const char *)last.data, "200 OK"), "and is sent when there is one");

	start();
	for (int i = 0; i < LANES_DEFAULT; i++)
		open_and_send(GET(2000000));
	turn();
	ack = connect_port(1);
	frame(1, WIRE_ACK, 1001, ack, GET(2000000));
	hogs = exhaust(hog);
	pass_ms(120);
	emit_after(0);
	is(stats.http_busy, 1, "no lane in time, nor a block to say so");
	ok(last.flags & WIRE_FIN && !last.len, "the connection ends");
	is(hogs, SOCKS - LANES_DEFAULT, "(all others are taken)");
}

/* Send text in pieces, never beyond the window. False: it shut, and stays so. */
static bool send_in_window(const char *text, size_t len, size_t piece)
{
	uint32_t ack = connect_port(1), seq = 1001;
	unsigned waits = 0;
	char part[1461];

	for (size_t sent = 0, n; sent < len && waits < 10; sent += n, seq += (uint32_t)n) {
		n = min_u64(min_u64(piece, len - sent), last.ack + last.window - seq);
		memcpy(part, text + sent, n);
		part[n] = '\0';
		if (n)
			frame(1, WIRE_ACK, seq, ack, part);
		else
			emit_after(TCP_DELACK_MS * (uint64_t)NS_PER_MS);
		waits = n ? 0 : waits + 1;
	}
	return waits < 10;
}

/* A GET of len bytes. */
static void long_request(char *to, size_t len)
{
	size_t head = (size_t)sprintf(to, "GET /echo HTTP/1.1\r\nHost: a\r\nA: ");

	memset(to + head, 'a', len - 4 - head);
	strcpy(to + len - 4, "\r\n\r\n");
}

/* The window opens by segments, so that its edge lags behind by up to one: the
 * last bytes of what is allowed must fit all the same. */
static void test_window(void)
{
	enum { BEFORE = 1370 }; /* with the head of the next one not yet a segment */
	static const size_t pieces[] = { 1460, 1448, 1001, 997, 311 };
	static char text[20000];
	struct worker_params p = usual;

	long_request(text, BEFORE);
	size_t len = BEFORE + echo_request(text + BEFORE, 'x', p.max_body);
	for (size_t i = 0; i < array_size(pieces); i++) {
		start();
		ok(send_in_window(text, len, pieces[i]) && stats.http_ok == 2,
		   "the longest body passes in pieces of %zu", pieces[i]);
	}
	p.max_body = 0;
	long_request(text + BEFORE, HTTP_HEAD_MAX);
	for (size_t i = 0; i < array_size(pieces); i++) {
		start_with(p);
		ok(send_in_window(text, BEFORE + HTTP_HEAD_MAX, pieces[i]) && stats.http_ok == 2,
		   "and so does the longest head, without a body: %zu", pieces[i]);
	}
}

/* --- slow clients ------------------------------------------------------------------------ */

/* Send a body of `len` in drops, one each 100 ms. False: it was cut off. */
static bool drip_body(uint16_t id, size_t len, size_t drop)
{
	static char bytes[16384];

	for (size_t sent = 0; sent < len; sent += drop) {
		pass_ms(100);
		if (worker_closing(w, id))
			return false;
		send_bytes(id, bytes, min_u64(drop, len - sent));
	}
	return true;
}

static void test_slow_body(void)
{
	uint16_t id;

	start(); /* --body-timeout 2 s: 1000 bytes a window */
	id = open_and_send(POST_HEAD "Content-Length: 6000\r\n\r\n");
	ok(drip_body(id, 6000, 60), "600 bytes a second: a body may take 10 s");
	ok(says(heard(id), "HTTP/1.1 200 OK"), "and is answered");
	id = open_and_send(POST_HEAD "Content-Length: 6000\r\n\r\n");
	ok(!drip_body(id, 6000, 40), "400 bytes a second: it is cut off");
	is(stats.http_body_timeouts, 1, "and counted");
	id = open_and_send(POST_HEAD "Content-Length: 1100\r\n\r\n");
	ok(drip_body(id, 1100, 60), "who has sent most of it at the end of a window");
	is(stats.http_body_timeouts, 1, "is not");
	id = open_and_send(POST_HEAD "Transfer-Encoding: chunked\r\n\r\n");
	for (int i = 0; i < 30 && !worker_closing(w, id); i++) {
		pass_ms(100);
		for (int k = 0; k < 10; k++)
			send_bytes(id, "1;abcdef=ghijkl\r\nx\r\n", 20);
	}
	is(stats.http_body_timeouts, 2, "chunk lines are no progress: 2 kB/s of them are cut off");
}

/* Take `drop` bytes of the answer each 100 ms. False: it was given up. */
static bool drain_answer(uint16_t id, size_t drop)
{
	while (worker_out(w, id)->len) {
		pass_ms(100);
		if (worker_closing(w, id))
			return false;
		worker_sent(w, id, min_u64(drop, worker_out(w, id)->len), now);
	}
	return true;
}

static void test_slow_reader(void)
{
	static char request[20000];
	size_t len = echo_request(request, 'x', 16000);
	uint16_t id;

	start(); /* --idle-timeout 5 s: 2500 bytes a window */
	id = worker_open(w, now);
	send_bytes(id, request, len);
	ok(drain_answer(id, 60), "600 bytes a second: an answer may take 27 s");
	id = worker_open(w, now);
	send_bytes(id, request, len);
	ok(!drain_answer(id, 40), "400 bytes a second: it is given up");
	is(stats.http_send_timeouts, 1, "and counted");

	id = worker_open(w, now);
	send_bytes(id, request, len);
	send_bytes(id, request, len);
	turn();
	pass_ms(4900);
	ok(!worker_closing(w, id), "an answer that finds no room waits");
	pass_ms(200);
	ok(worker_closing(w, id), "but not for ever");
	is(stats.http_send_timeouts, 2, "and is counted too");
	is(stats.http_aborted, 1, "its request ends without an answer");
}

/* --- cache --------------------------------------------------------------------------------- */

static const char *answer_to(const char *request)
{
	uint16_t id = open_and_send(request);
	const char *text;

	for (int i = 0; i < 4; i++)
		turn();
	text = heard(id);
	worker_gone(w, id);
	return text;
}

static void test_cache(void)
{
	struct worker_params p = usual;
	const char *text;

	start();
	ok(!says(answer_to(GET(10)), "X-Saker-Cache"), "without --cache nothing is said of it");
	p.cache = 2;
	start_with(p);
	ok(says(answer_to(GET(10)), "X-Saker-Cache: miss\r\n"), "the first one is computed");
	text = answer_to(GET(10));
	ok(says(text, "X-Saker-Cache: hit\r\n") && says(text, "\"compute_ns\":0}"),
	   "the second one is not");
	ok(says(text, "\"n\":10,\"seed\":\"0x811c9dc5\",\"hash\":\"0x2f854072\""),
	   "it is the same");
	ok(says(answer_to("GET /compute?n=10&seed=0 HTTP/1.1\r\nHost: a\r\n\r\n"), "miss"),
	   "another seed is another job");
	ok(says(answer_to("GET /compute?n=10&alg=mix64 HTTP/1.1\r\nHost: a\r\n\r\n"), "miss"),
	   "another algorithm too");
	ok(says(answer_to(GET(10)), "miss"), "of two entries, the oldest gave way");
	is(stats.http_cache_hits, 1, "hits are counted");
	is(stats.http_cache_misses, 4, "and misses");
	is(stages.compute.count, 4, "only these were in a lane");
}

static void test_cache_lanes(void)
{
	struct worker_params p = usual;

	p.cache = 100;
	start_with(p);
	answer_to(GET(7));
	for (int i = 0; i < LANES_DEFAULT + 2; i++)
		open_and_send(GET(2000000));
	turn();
	ok(says(answer_to(GET(7)), "X-Saker-Cache: hit"), "a hit needs no lane");
	ok(says(answer_to(GET(7) GET(7)), "hit"), "nor do two");
	is(stats.http_cache_hits, 3, "all are counted");
	is(worker_live(w), LANES_DEFAULT + 2, "(every lane is taken, and two wait)");
}

int main(void)
{
	test_echo();
	test_echo_unread();
	test_echo_crowd();
	test_echo_largest();
	test_echo_no_buffer();
	test_answer_no_buffer();
	test_window();
	test_slow_body();
	test_slow_reader();
	test_cache();
	test_cache_lanes();
	return done();
}
