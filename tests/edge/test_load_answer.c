/* SPDX-License-Identifier: GPL-2.0-only */
/* load_answer: what it reads of answers, whole, byte by byte, and cut at every place. */
#include "load_answer.h"
#include "tap.h"

struct want {
	enum load_step step;
	unsigned status;
	bool close, timed;
	uint64_t server_ns;
	size_t used;
	const char *body;
};

static struct load_answer a;

/* In pieces of n bytes; those that are left over are not shown to it. */
static enum load_step feed(const char *text, size_t len, size_t n, size_t *used)
{
	enum load_step step = LOAD_MORE;

	load_answer_begin(&a);
	for (*used = 0; *used < len && step == LOAD_MORE;) {
		size_t some = min_u64(n, len - *used), took;
		/* Where it ends is where the memory ends: a read beyond is found by the sanitizer */
		char *piece = malloc(some);
		memcpy(piece, text + *used, some);
		step = load_answer_feed(&a, piece, some, &took);
		free(piece);
		*used += took;
		if (step == LOAD_MORE && took != some)
			return LOAD_BAD;
	}
	return step;
}

static bool as_wanted(enum load_step step, size_t used, const struct want *w)
{
	if (step != w->step)
		return false;
	if (step != LOAD_WHOLE)
		return step == LOAD_MORE || a.why;
	return a.status == w->status && a.close == w->close && a.timed == w->timed &&
	       a.server_ns == w->server_ns && used == w->used && a.kept == strlen(w->body) &&
	       !memcmp(a.body, w->body, a.kept);
}

static void reads(const char *name, const char *text, struct want w)
{
	size_t len = strlen(text), used, wrong = 0;

	if (!w.body)
		w.body = "";
	if (!w.used)
		w.used = len;
	enum load_step step = feed(text, len, len, &used);
	ok(as_wanted(step, used, &w), "%s", name);
	for (size_t n = 1; n < len; n++) {
		step = feed(text, len, n, &used);
		wrong += !as_wanted(step, used, &w);
	}
	is(wrong, 0, "%s: the same in pieces of 1 to %zu bytes", name, len - 1);
}

#define SAKER \
	"HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Type: " \
	"application/json\r\n" \
	"Content-Length: 14\r\nServer-Timing: steer;dur=0.001, parse;dur=0.0005, wait;dur=0, " \
	"compute;dur=9.123456\r\n\r\n{\"hash\":\"0x1\"}"

static void test_right(void)
{
	reads("ours", SAKER,
	      (struct want){ LOAD_WHOLE, 200, false, true, 9124956, 0, "{\"hash\":\"0x1\"}" });
	reads("two in one piece: the second is left over", SAKER "HTTP/1.1 200",
	      (struct want){ LOAD_WHOLE, 200, false, true, 9124956, sizeof SAKER - 1,
			     "{\"hash\":\"0x1\"}" });
	reads("a refusal that ends the connection",
	      "HTTP/1.1 503 Busy\r\nconnection: keep-alive, Close \r\ncontent-length:0\r\n\r\n",
	      (struct want){ LOAD_WHOLE, 503, true, false, 0, 0, "" });
	reads("chunks, an extension and a trailer",
	      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nA;x=y\r\n, "
	      "world..\n\r\n0\r\nX: y\r\n\r\n",
	      (struct want){ LOAD_WHOLE, 200, false, false, 0, 0, "hello, world..\n" });
	reads("204 has no body", "HTTP/1.1 204 No Content\r\nServer: x\r\n\r\n",
	      (struct want){ LOAD_WHOLE, 204, false, false, 0, 0, "" });
	reads("interim answers are passed over",
	      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 "
	      "200 "
	      "OK\r\nContent-Length: 2\r\n\r\nok",
	      (struct want){ LOAD_WHOLE, 200, false, false, 0, 0, "ok" });
	reads("bare line feeds", "HTTP/1.1 200 OK\nContent-Length: 2\n\nok",
	      (struct want){ LOAD_WHOLE, 200, false, false, 0, 0, "ok" });
	reads("HTTP/1.0 closes", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
	      (struct want){ LOAD_WHOLE, 200, true, false, 0, 0, "ok" });
	reads("HTTP/1.0 that is kept",
	      "HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: Keep-Alive\r\n\r\nok",
	      (struct want){ LOAD_WHOLE, 200, false, false, 0, 0, "ok" });
	reads("total counts alone",
	      "HTTP/1.1 200 OK\r\nServer-Timing: db;dur=5, total;dur=12.5;desc=\"a, b\", "
	      "x;dur=1\r\n"
	      "Content-Length: 0\r\n\r\n",
	      (struct want){ LOAD_WHOLE, 200, false, true, 12500000, 0, "" });
	reads("timing without a duration is none",
	      "HTTP/1.1 200 OK\r\nServer-Timing: cache;desc=hit\r\nContent-Length: 0\r\n\r\n",
	      (struct want){ LOAD_WHOLE, 200, false, false, 0, 0, "" });
	reads("a duration with an exponent is not taken for another one",
	      "HTTP/1.1 200 OK\r\nServer-Timing: total;dur=5e-05\r\nContent-Length: 0\r\n\r\n",
	      (struct want){ LOAD_WHOLE, 200, false, false, 0, 0, "" });
	reads("what may stand behind a duration",
	      "HTTP/1.1 200 OK\r\nServer-Timing: a;dur=1;desc=x, b;dur=\"2.5\", c;dur=4 , "
	      "d;dur=8\r\n"
	      "Content-Length: 0\r\n\r\n",
	      (struct want){ LOAD_WHOLE, 200, false, true, 15500000, 0, "" });
	reads("a list of equal lengths",
	      "HTTP/1.1 200 OK\r\nContent-Length: 2, 2 ,2\r\nContent-Length: 2\r\n\r\nok",
	      (struct want){ LOAD_WHOLE, 200, false, false, 0, 0, "ok" });
	reads("not yet whole", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok",
	      (struct want){ .step = LOAD_MORE });
	reads("nor this", "HTTP/1.1 200 OK\r\nContent-Len", (struct want){ .step = LOAD_MORE });
}

static void test_wrong(void)
{
	static const char *const bad[] = {
		"HTTP/2 200 OK\r\n",
		"SSH-2.0-OpenSSH_9.2\r\n",
		"HTTP/1.1 2x0 OK\r\n",
		"HTTP/1.1\r\n",
		"\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1x\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1,\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1 1\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: \r\n",
		"HTTP/1.1 099 Low\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
	};

	for (unsigned i = 0; i < array_size(bad); i++) {
		char name[48];
		snprintf(name, sizeof name, "bad %u: %.*s", i, (int)strcspn(bad[i], "\r"), bad[i]);
		reads(name, bad[i], (struct want){ .step = LOAD_BAD });
	}
}

static void test_long(void)
{
	size_t len = LOAD_HEAD + 4096, used;
	char *text = malloc(len);

	memset(text, 'x', len);
	memcpy(text, "HTTP/1.1 200 OK\r\n", 17);
	is(feed(text, len, 1000, &used), LOAD_BAD, "a line without an end is given up");
	ok(used <= LOAD_LINE + 2000, "soon");
	for (size_t i = 50; i < len; i += 50)
		text[i] = '\n';
	is(feed(text, len, 1000, &used), LOAD_BAD, "so is a head without an end");
	memset(text, 'b', len);
	int head = snprintf(text, 100, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", len - 60);
	memset(text + head, 'b', len - (size_t)head);
	is(feed(text, (size_t)head + len - 60, 1000, &used), LOAD_WHOLE, "a long body is read");
	is(a.kept, LOAD_KEEP, "of which the beginning is kept");
	free(text);
}

static void test_end(void)
{
	size_t used;
	static const char to_end[] = "HTTP/1.0 200 OK\r\n\r\nall of it";

	is(feed(to_end, sizeof to_end - 1, 4, &used), LOAD_MORE, "without a length it goes on");
	is(load_answer_end(&a), LOAD_WHOLE, "to the end of the connection");
	ok(a.close && a.kept == 9, "which it says");
	feed("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok", 40, 40, &used);
	is(load_answer_end(&a), LOAD_BAD, "an end before the length is wrong");
	is_str(a.why, "half of an answer", "and half of an answer");
	load_answer_begin(&a);
	is(load_answer_end(&a), LOAD_BAD, "nothing at all is wrong, too");
	is_str(a.why, "no answer", "and none");
	is(a.body[0], '\0', "nothing of the body before is left");
}

/* Random bytes spoilt into right answers, cut at random: one verdict, whatever the cuts. */
static void test_spoilt(void)
{
	uint64_t drawn = 42, differ = 0, beyond = 0;

	for (int round = 0; round < 20000; round++) {
		char text[sizeof SAKER];
		size_t used, whole_used;
		memcpy(text, SAKER, sizeof SAKER);
		for (int i = 0; i < 1 + round % 3; i++) {
			drawn = drawn * 6364136223846793005u + 1442695040888963407u;
			text[(drawn >> 33) % (sizeof text - 1)] = (char)(drawn >> 25);
		}
		enum load_step whole = feed(text, sizeof text - 1, sizeof text - 1, &whole_used);
		uint64_t ns = a.server_ns;
		unsigned status = a.status;
		enum load_step cut = feed(text, sizeof text - 1, 1 + (drawn >> 50) % 40, &used);
		/* What it makes of what is right is the same; a fault may be found earlier or later */
		differ += cut != whole ||
			  (whole == LOAD_WHOLE &&
			   (used != whole_used || a.server_ns != ns || a.status != status));
		beyond += used > sizeof text - 1 || a.kept > LOAD_KEEP;
	}
	is(differ, 0, "20,000 spoilt answers: the same verdict however they are cut");
	is(beyond, 0, "and nothing is read beyond them");
}

int main(void)
{
	test_right();
	test_wrong();
	test_long();
	test_end();
	test_spoilt();
	return done();
}
