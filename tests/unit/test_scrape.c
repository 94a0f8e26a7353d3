/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * GET /metrics: a text of many pieces, for clients who take their time, who go away, who
 * ask for more behind it. What it says is metrics.h's: here it must arrive unchanged.
 */
#include "hist.h"
#include "http.h"
#include "metrics.h"
#include "worker_rig.h"

#define REQUEST "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"

static struct mode mode = { .port = 8080, .io_threads = 2, .program = "v1" };
static struct steer_live live;
/* Of two threads. Nobody writes these meanwhile, so that a text can be foretold. */
static struct stats_block counters[2];
static struct stage_block times[2];
static struct metrics_source source = {
	.name = "eth0",
	.rung = "xdp-native",
	.copy = "copy",
	.mode = &mode,
	.counters = counters,
	.counter_blocks = 2,
	.stages = times,
	.stage_blocks = 2,
};
static char want[METRICS_MAX], got[2][2 * METRICS_MAX];

static void start_scrape(struct worker_params p)
{
	start_with(p);
	counters[0].http_ok = 5;
	counters[1].xdp_seen = 7;
	hist_record(&times[0].total, 12345);
	hist_record(&times[1].total, 1234567);
	live.io[0].heartbeat_ns = (now - 5 * NS_PER_MS) | STEER_KERNEL_FLOWS;
	live.io[1].heartbeat_ns = (now - 3 * NS_PER_MS) & ~(uint64_t)STEER_KERNEL_FLOWS;
	worker_set_metrics(w, &source, &live);
}

/* The text as it begins now. */
static void foretell(void)
{
	struct metrics_source s = source;
	struct metrics m;

	s.now_ns = now;
	s.heartbeat_ns = live.io[0].heartbeat_ns & ~(uint64_t)STEER_KERNEL_FLOWS;
	metrics_begin(&m, &s, 1);
	want[metrics_write(&m, want, sizeof want - 1)] = '\0';
}

#define HEAD_OF_IT \
	"Content-Type: text/plain; version=0.0.4; charset=utf-8\r\nTransfer-Encoding: " \
	"chunked\r\n"

/* Take the chunks from behind the head, leave the bytes in their place. Returns what is
 * behind the last one, NULL when it is not all there, or wrong. */
static char *undo_chunks(char *answer, char **body)
{
	char *at = strstr(answer, "\r\n\r\n"), *to, *end;

	if (strncmp(answer, "HTTP/1.1 200 OK\r\n", 17) || !strstr(answer, HEAD_OF_IT) || !at)
		return NULL;
	*body = to = at += 4;
	for (;;) {
		size_t n = strtoul(at, &end, 16);

		if (end != at + 4 || strncmp(end, "\r\n", 2) || strlen(at) < 6 + n + 2 ||
		    strncmp(at + 6 + n, "\r\n", 2))
			return NULL;
		memmove(to, at + 6, n);
		to += n;
		at += 6 + n + 2;
		if (!n) {
			*to = '\0';
			return at;
		}
	}
}

/* Is it the text that was foretold, and nothing else? */
static bool is_whole(char *answer)
{
	char *body, *behind = undo_chunks(answer, &body);

	return behind && !*behind && !strcmp(body, want);
}

/* What is there, at most n bytes; as if the client had read it. */
static size_t take(uint16_t id, char *to, size_t n)
{
	const struct buf *out = worker_out(w, id);

	n = min_u64(n, out->len);
	memcpy(to, n ? buf_bytes(out) : (const uint8_t *)"", n);
	to[n] = '\0';
	worker_sent(w, id, n, now);
	return n;
}

static void test_whole(void)
{
	size_t len = 0, most = 0, n;
	uint16_t id;

	start_scrape(usual);
	id = open_and_send(REQUEST);
	foretell();
	for (int i = 0; i < 200; i++) {
		turn();
		len += n = take(id, got[0] + len, SIZE_MAX);
		most = n > most ? n : most;
	}
	ok(is_whole(got[0]), "the text is what metrics.h writes");
	ok(most <= METRICS_PIECE + HTTP_REPLY_HEAD_MAX + 16, "a piece a turn: %zu bytes at most",
	   most);
	ok(len > 10 * most, "of many");
	is(stats.http_ok, 1, "it is one answer");
	is(stages.total.count, 1, "of which the time is taken once");

	worker_set_metrics(
		w, &(struct metrics_source){ .name = "e", .rung = "r", .copy = "c", .mode = &mode },
		NULL);
	send_bytes(id, REQUEST, strlen(REQUEST));
	for (int i = 0; i < 3; i++)
		turn();
	take(id, got[0], SIZE_MAX);
	ok(says(got[0], "saker_heartbeat_age_seconds{interface=\"e\"} +Inf\n"),
	   "no heartbeat where there is none");
}

static void test_own_blocks(void)
{
	static struct stats_block map_stats;
	static struct stage_block map_stages;

	start();
	heard(open_and_send("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"));
	uint16_t id = open_and_send(REQUEST);
	turn();
	worker_set_blocks(w, &map_stats, &map_stages); /* the maps are there */
	map_stats.http_busy = 77;
	for (size_t len = 0, i = 0; i < 200; i++, turn())
		len += take(id, got[0] + len, SIZE_MAX);
	char *body, *end = undo_chunks(got[0], &body);
	ok(end && says(body, "saker_http_ok_total{interface=\"\"} 1\n"),
	   "without maps a worker tells of its own blocks");
	ok(says(body, "saker_http_busy_total{interface=\"\"} 77\n"), "also when they have moved");
}

/* Two at once, of whom one reads a few bytes a turn and the other now and then. */
static void test_two_slow(void)
{
	size_t len[2] = { 0 };
	uint16_t id[2];
	bool bounded = true;

	start_scrape(usual);
	id[0] = open_and_send(REQUEST);
	id[1] = open_and_send(REQUEST);
	foretell();
	for (int i = 0; i < 20000; i++) {
		turn();
		bounded &= worker_out(w, id[0])->len <= 20000 && worker_out(w, id[1])->len <= 20000;
		len[0] += take(id[0], got[0] + len[0], 11);
		if (i % 97 == 0)
			len[1] += take(id[1], got[1] + len[1], 1009);
	}
	ok(is_whole(got[0]), "who reads 11 bytes a turn has all of it: %zu", len[0]);
	ok(is_whole(got[1]), "and so has the other, who asked at the same time: %zu", len[1]);
	ok(bounded, "no more of it waits than a block holds");
	is(stats.http_ok, 2, "two answers");
	is(worker_live(w), 2, "(both are still connected)");
}

static void test_gone(void)
{
	unsigned whole = 0;

	start_scrape(usual);
	for (unsigned i = 0; i < 3 * LARGE; i++) {
		uint16_t id = open_and_send(REQUEST);

		for (unsigned k = 0; k < i % 9; k++)
			turn();
		worker_gone(w, id);
		turn();
	}
	is(stats.http_aborted, 3 * LARGE, "each who went away in the middle is counted");
	uint16_t id = open_and_send(REQUEST);
	foretell();
	for (size_t len = 0, i = 0; i < 200; i++, turn())
		len += take(id, got[0] + len, SIZE_MAX);
	whole += is_whole(got[0]);
	is(whole, 1, "no block is lost by it, and the next one has all");
	is(worker_busy(w), false, "and then there is nothing to do");
}

static void test_silent(void)
{
	uint16_t id;
	size_t len = 0;

	start_scrape(usual);
	id = open_and_send(REQUEST);
	turn();
	foretell(); /* not of the gauges, which are written */
	pass_ms(4900);
	ok(!worker_closing(w, id), "who does not read has --idle-timeout");
	pass_ms(200);
	ok(worker_closing(w, id), "and no more");
	is(stats.http_send_timeouts, 1, "which is counted");

	id = open_and_send(REQUEST);
	foretell();
	for (unsigned ms = 0; ms < 200000 && worker_out(w, id)->len + !ms; ms += 100) {
		pass_ms(100);
		len += take(id, got[0] + len, 60);
	}
	now = NS_PER_S;
	char *body;
	ok(undo_chunks(got[0], &body), "at 600 bytes a second it may take minutes");
	is(stats.http_send_timeouts, 1, "(nobody is cut off)");
}

/* --- over frames ---------------------------------------------------------------------- */

/* A client with a window of a few bytes, who acknowledges each segment. */
static void test_windows(void)
{
	static const uint16_t windows[] = { 100, 1000, 1460 };

	for (size_t i = 0; i < array_size(windows); i++) {
		uint32_t ack;
		size_t len = 0;
		bool in_order = true;

		start_scrape(usual);
		window = windows[i];
		ack = connect_port(1);
		foretell();
		now += 50 * NS_PER_US; /* a turn goes by before the text begins */
		frame(1, WIRE_ACK, 1001, ack, REQUEST);
		for (int silent = 0; silent < 50;) {
			static char nothing[1];
			uint32_t n = last.len && last.seq == ack + (uint32_t)len ? last.len : 0;

			in_order &= !last.len || n || seq_lt(last.seq, ack + (uint32_t)len);
			memcpy(got[0] + len, last.data, n);
			len += n;
			silent = n ? 0 : silent + 1;
			last.len = 0;
			if (n)
				frame(1, WIRE_ACK, 1001 + (uint32_t)strlen(REQUEST),
				      ack + (uint32_t)len, nothing);
			else
				emit_after(10 * (uint64_t)NS_PER_MS);
		}
		got[0][len] = '\0';
		char *body, *behind = undo_chunks(got[0], &body);
		ok(behind && !*behind && in_order, "a window of %u: every chunk", windows[i]);
		char *gauges = strstr(want, "# HELP saker_requests_total");
		char *had = behind ? strstr(body, "# HELP saker_requests_total") : NULL;
		ok(had && !strcmp(had, gauges), "is right");
		is(stats.http_ok, 1, "(an answer)");
	}
}

/* --- forms of the request ---------------------------------------------------------------- */

static void answer_in(uint16_t id, char *to)
{
	size_t len = 0;

	for (int i = 0; i < 400; i++) {
		turn();
		len += take(id, to + len, SIZE_MAX);
	}
}

static void test_forms(void)
{
	char *body, *behind;
	uint16_t id;

	start_scrape(usual);
	id = open_and_send("HEAD /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
	answer_in(id, got[0]);
	ok(strstr(got[0], HEAD_OF_IT) && strlen(strstr(got[0], "\r\n\r\n")) == 4,
	   "HEAD: the head alone");
	ok(!worker_closing(w, id), "and the connection stays");

	id = open_and_send("GET /metrics HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
	foretell();
	answer_in(id, got[0]);
	body = strstr(got[0], "\r\n\r\n");
	ok(body && !strcmp(body + 4, want), "HTTP/1.0: the text as it is");
	ok(says(got[0], "Connection: close\r\n\r\n") && !says(got[0], "Transfer-Encoding: "),
	   "to the end");
	ok(worker_closing(w, id), "of the connection");

	id = open_and_send("HEAD /metrics HTTP/1.0\r\n\r\n");
	answer_in(id, got[0]);
	ok(says(got[0], "Connection: close\r\n\r\n") && worker_closing(w, id), "HEAD, HTTP/1.0");

	id = open_and_send("GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
	answer_in(id, got[0]);
	behind = undo_chunks(got[0], &body);
	ok(behind && !*behind && worker_closing(w, id), "close: in chunks, and closed");

	id = open_and_send(REQUEST GET(1) REQUEST "GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n");
	answer_in(id, got[0]);
	behind = undo_chunks(got[0], &body);
	ok(behind && !strncmp(behind, "HTTP/1.1 200 OK", 15) && says(behind, "\"n\":1,"),
	   "what is pipelined comes behind it");
	behind = behind ? strstr(behind, "}\n") : NULL;
	behind = behind ? undo_chunks(behind + 2, &body) : NULL;
	ok(behind && !strncmp(behind, "HTTP/1.1 404 ", 13), "as often as it is asked");

	id = open_and_send(REQUEST);
	turn();
	worker_eof(w, id, now);
	answer_in(id, got[0]);
	behind = undo_chunks(got[0], &body);
	ok(behind && !*behind && worker_over(w, id), "who says that no more comes has all of it");

	id = open_and_send(REQUEST);
	turn();
	worker_drain(w);
	worker_close_idle(w, now);
	answer_in(id, got[0]);
	behind = undo_chunks(got[0], &body);
	ok(behind && !*behind && worker_closing(w, id), "and at the end it is finished");
}

/* Every large block is a body's, of a client who has not sent all of it. */
static void test_no_block(void)
{
	static char bytes[3000];
	uint16_t id[LARGE], scrape;

	start_scrape(usual);
	for (int i = 0; i < LARGE; i++) {
		id[i] = open_and_send(
			"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9000\r\n\r\n");
		send_bytes(id[i], bytes, sizeof bytes);
	}
	scrape = open_and_send(REQUEST);
	turn();
	turn();
	is(worker_out(w, scrape)->len < HTTP_REPLY_HEAD_MAX, true, "no block: the text waits");
	worker_gone(w, id[0]);
	foretell();
	answer_in(scrape, got[0]);
	ok(is_whole(got[0]), "and comes when there is one");
}

static void test_small_blocks(void)
{
	struct worker_params p = usual;

	p.max_body = 0; /* so that a block is no longer than a head needs */
	start_scrape(p);
	uint16_t id = open_and_send(REQUEST);
	foretell();
	for (size_t len = 0, i = 0; i < 20000; i++, turn())
		len += take(id, got[0] + len, 37);
	ok(is_whole(got[0]), "the shortest blocks are long enough");
}

int main(void)
{
	test_whole();
	test_own_blocks();
	test_two_slow();
	test_gone();
	test_silent();
	test_windows();
	test_forms();
	test_no_block();
	test_small_blocks();
	return done();
}
