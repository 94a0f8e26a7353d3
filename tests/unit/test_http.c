/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests against the parser. Every input lies right before a page that cannot
 * be read; every prefix of it is tried; and what comes out must not depend on
 * how the bytes were cut.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "http.h"
#include "tap.h"

enum { ROOM = 1 << 16 };
static uint8_t *fence; /* the first byte that cannot be read */

static void fence_build(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *at = mmap(NULL, ROOM + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	if (at == MAP_FAILED || mprotect(at + ROOM, page, PROT_NONE))
		exit(1);
	fence = at + ROOM;
}

static uint8_t *fenced(const void *bytes, size_t len)
{
	return memcpy(fence - len, bytes, len);
}

/* Parse at once, then by prefixes and byte by byte; false when they disagree.
 * *h is what came out at once. */
static bool parse(const char *text, size_t len, struct http_head *h, enum http_step *step)
{
	struct http_head grown;
	enum http_step last = HTTP_MORE;

	http_begin(h);
	*step = http_head(h, fenced(text, len), len);
	http_begin(&grown);
	for (size_t n = 0; n <= len && last == HTTP_MORE; n++) {
		struct http_head once;
		http_begin(&once);
		enum http_step alone = http_head(&once, fenced(text, n), n);
		last = http_head(&grown, fence - n, n); /* at another place each time */
		if (alone != last || once.fault != grown.fault)
			return false;
		if (alone == HTTP_WHOLE && (n != once.line || memcmp(&once, &grown, sizeof once)))
			return false;
	}
	if (last != *step || grown.fault != h->fault)
		return false;
	return last != HTTP_WHOLE || !memcmp(h, &grown, sizeof grown);
}

#define HOST "Host: a\r\n"
#define GET "GET / HTTP/1.1\r\n" HOST
#define END "\r\n"

static const struct bad {
	const char *name;
	const char *text;
	enum http_fault fault;
} bad[] = {
	/* request line */
	{ "HTTP/0.9 has no version", "GET /\r\n\r\n", HTTP_bad_line },
	{ "a line of one word", "GET\r\n", HTTP_bad_line },
	{ "two spaces before the target", "GET  / HTTP/1.1\r\n", HTTP_bad_line },
	{ "two spaces before the version", "GET /  HTTP/1.1\r\n", HTTP_bad_line },
	{ "no target", "GET  HTTP/1.1\r\n", HTTP_bad_line },
	{ "a space after the version", "GET / HTTP/1.1 \r\n", HTTP_bad_line },
	{ "version in small letters", "GET / http/1.1\r\n", HTTP_bad_line },
	{ "version without minor", "GET / HTTP/1\r\n", HTTP_bad_line },
	{ "version with two digits", "GET / HTTP/1.10\r\n", HTTP_bad_line },
	{ "a space before the method", " GET / HTTP/1.1\r\n", HTTP_bad_line },
	{ "a space in the target", "GET /a b HTTP/1.1\r\n", HTTP_bad_line },
	{ "a tab after the method", "GET\t/ HTTP/1.1\r\n", HTTP_bad_method_token },
	{ "a colon in the method", "GE:T / HTTP/1.1\r\n", HTTP_bad_method_token },
	{ "a TLS hello", "\x16\x03\x01\x02", HTTP_bad_method_token },
	{ "an accent in the method", "G\xc3\x89T / HTTP/1.1\r\n", HTTP_bad_method_token },
	{ "a raw accent in the target", "GET /\xc3\xa9 HTTP/1.1\r\n", HTTP_bad_target },
	{ "a fragment in the target", "GET /#a HTTP/1.1\r\n", HTTP_bad_target },
	{ "a quote in the target", "GET /\" HTTP/1.1\r\n", HTTP_bad_target },
	{ "a backslash in the target", "GET /\\ HTTP/1.1\r\n", HTTP_bad_target },
	{ "a tab in the target", "GET /\t HTTP/1.1\r\n", HTTP_bad_target },
	{ "DEL in the target", "GET /\x7f HTTP/1.1\r\n", HTTP_bad_target },
	{ "a target without slash", "GET compute HTTP/1.1\r\n", HTTP_bad_target },
	{ "the star for GET", "GET * HTTP/1.1\r\n", HTTP_bad_target },
	{ "two stars", "OPTIONS ** HTTP/1.1\r\n", HTTP_bad_target },
	{ "authority-form for GET", "GET a:80 HTTP/1.1\r\n", HTTP_bad_target },
	{ "authority-form for CONNECT", "CONNECT a:80 HTTP/1.1\r\n", HTTP_not_implemented },
	{ "absolute-form of another scheme", "GET ftp://a/ HTTP/1.1\r\n", HTTP_bad_target },
	{ "absolute-form without host", "GET http:///a HTTP/1.1\r\n", HTTP_bad_target },
	{ "absolute-form cut after the scheme", "GET http:// HTTP/1.1\r\n", HTTP_bad_target },
	{ "absolute-form with user", "GET http://u@a/ HTTP/1.1\r\n", HTTP_bad_target },
	{ "HTTP/2.0", "GET / HTTP/2.0\r\n", HTTP_bad_version },
	{ "the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", HTTP_h2_preface },
	{ "another target of PRI", "PRI / HTTP/2.0\r\n", HTTP_bad_version },
	{ "another version of PRI", "PRI * HTTP/2.1\r\n", HTTP_bad_version },
	{ "PRI in HTTP/1.1", "PRI * HTTP/1.1\r\n", HTTP_not_implemented },
	{ "HTTP/1.2", "GET / HTTP/1.2\r\n", HTTP_bad_version },
	{ "HTTP/0.9 spelled out", "GET / HTTP/0.9\r\n", HTTP_bad_version },
	/* line ends */
	{ "LF before the request", "\nGET / HTTP/1.1\r\n", HTTP_bad_newline },
	{ "CR before the request", "\rGET / HTTP/1.1\r\n", HTTP_bad_newline },
	{ "LF after the method", "GET\n", HTTP_bad_newline },
	{ "LF after the target", "GET /\n", HTTP_bad_newline },
	{ "LF after the version", "GET / HTTP/1.1\n", HTTP_bad_newline },
	{ "CR and no LF after the version", "GET / HTTP/1.1\rHost", HTTP_bad_newline },
	{ "LF after a field", GET "A: b\n", HTTP_bad_newline },
	{ "CR in a value", GET "A: b\rc\r\n", HTTP_bad_newline },
	{ "CR in a name", GET "A\rb: c\r\n", HTTP_bad_newline },
	{ "two CR", GET "A: b\r\r\n", HTTP_bad_newline },
	{ "LF for the empty line", GET "\n", HTTP_bad_newline },
	/* fields */
	{ "a space before the colon", GET "A : b\r\n", HTTP_bad_field_name },
	{ "a tab before the colon", GET "A\t: b\r\n", HTTP_bad_field_name },
	{ "Content-Length with a space before the colon", GET "Content-Length : 5\r\n",
	  HTTP_bad_field_name },
	{ "a field without name", GET ": b\r\n", HTTP_bad_field_name },
	{ "a field without colon", GET "Ab\r\n", HTTP_bad_field_name },
	{ "a name with a bracket", GET "A(b): c\r\n", HTTP_bad_field_name },
	{ "a name with an accent", GET "\xc3\xa9: c\r\n", HTTP_bad_field_name },
	{ "NUL in a name",
	  GET "A\x01"
	      "b: c\r\n",
	  HTTP_bad_field_name },
	{ "a control character in a value",
	  GET "A: b\x01"
	      "c\r\n",
	  HTTP_bad_field_value },
	{ "a vertical tab before a value",
	  GET "Transfer-Encoding: \x0b"
	      "chunked\r\n",
	  HTTP_bad_field_value },
	{ "DEL in a value", GET "A: b\x7f\r\n", HTTP_bad_field_value },
	{ "DEL amid a long value",
	  GET "A: 0123456789\x7f"
	      "0123456789\r\n",
	  HTTP_bad_field_value },
	{ "a folded value", GET "A: b\r\n c\r\n", HTTP_bad_fold },
	{ "a fold by tab", GET "A: b\r\n\tc\r\n", HTTP_bad_fold },
	{ "a space before the first field", "GET / HTTP/1.1\r\n Host: a\r\n", HTTP_bad_fold },
	{ "a line of white space", GET " \r\n", HTTP_bad_fold },
	/* Host */
	{ "no Host", "GET / HTTP/1.1\r\n\r\n", HTTP_bad_host },
	{ "two Hosts", GET HOST END, HTTP_bad_host },
	{ "two Hosts in 1.0", "GET / HTTP/1.0\r\n" HOST HOST END, HTTP_bad_host },
	{ "an empty Host", "GET / HTTP/1.1\r\nHost:\r\n", HTTP_bad_host },
	{ "a Host of spaces", "GET / HTTP/1.1\r\nHost:  \r\n", HTTP_bad_host },
	{ "a Host with user", "GET / HTTP/1.1\r\nHost: u@a\r\n", HTTP_bad_host },
	{ "a Host with path", "GET / HTTP/1.1\r\nHost: a/b\r\n", HTTP_bad_host },
	{ "a Host with space", "GET / HTTP/1.1\r\nHost: a b\r\n", HTTP_bad_host },
	{ "a Host of a port only", "GET / HTTP/1.1\r\nHost: :80\r\n", HTTP_bad_host },
	{ "a Host with a word for port", "GET / HTTP/1.1\r\nHost: a:b\r\n", HTTP_bad_host },
	{ "a Host with two ports", "GET / HTTP/1.1\r\nHost: a:1:2\r\n", HTTP_bad_host },
	{ "a Host with a long port", "GET / HTTP/1.1\r\nHost: a:123456\r\n", HTTP_bad_host },
	{ "a Host with an open bracket", "GET / HTTP/1.1\r\nHost: [::1\r\n", HTTP_bad_host },
	{ "a Host with empty brackets", "GET / HTTP/1.1\r\nHost: []\r\n", HTTP_bad_host },
	{ "a Host with letters behind brackets", "GET / HTTP/1.1\r\nHost: [::1]a\r\n",
	  HTTP_bad_host },
	/* smuggling */
	{ "Content-Length twice", GET "Content-Length: 5\r\nContent-Length: 6\r\n",
	  HTTP_bad_length },
	{ "the same Content-Length twice", GET "Content-Length: 5\r\ncontent-length: 5\r\n",
	  HTTP_bad_length },
	{ "Content-Length with a list", GET "Content-Length: 5, 5\r\n", HTTP_bad_length },
	{ "Content-Length with plus", GET "Content-Length: +5\r\n", HTTP_bad_length },
	{ "Content-Length with minus", GET "Content-Length: -0\r\n", HTTP_bad_length },
	{ "Content-Length in hex", GET "Content-Length: 0x5\r\n", HTTP_bad_length },
	{ "Content-Length with underscore", GET "Content-Length: 1_0\r\n", HTTP_bad_length },
	{ "Content-Length with a space inside", GET "Content-Length: 1 0\r\n", HTTP_bad_length },
	{ "Content-Length empty", GET "Content-Length: \r\n", HTTP_bad_length },
	{ "Content-Length, then chunked",
	  GET "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", HTTP_bad_framing },
	{ "chunked, then Content-Length",
	  GET "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n", HTTP_bad_framing },
	{ "chunked in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
	  HTTP_bad_framing },
	{ "chunked twice in a list", GET "Transfer-Encoding: chunked, chunked\r\n",
	  HTTP_bad_framing },
	{ "chunked twice in two lines",
	  GET "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", HTTP_bad_framing },
	{ "chunked not last", GET "Transfer-Encoding: chunked, identity\r\n", HTTP_bad_framing },
	{ "an empty Transfer-Encoding", GET "Transfer-Encoding:\r\n\r\n", HTTP_bad_framing },
	{ "a Transfer-Encoding of commas", GET "Transfer-Encoding: , ,\r\n\r\n", HTTP_bad_framing },
	{ "a comma before chunked", GET "Transfer-Encoding: ,chunked\r\n", HTTP_bad_framing },
	{ "a comma behind chunked", GET "Transfer-Encoding: chunked ,\r\n", HTTP_bad_framing },
	{ "chunked, then an empty Transfer-Encoding",
	  GET "Transfer-Encoding: chunked\r\nTransfer-Encoding:\r\n", HTTP_bad_framing },
	{ "gzip before chunked", GET "Transfer-Encoding: gzip, chunked\r\n", HTTP_not_implemented },
	{ "identity", GET "Transfer-Encoding: identity\r\n", HTTP_not_implemented },
	{ "xchunked", GET "Transfer-Encoding: xchunked\r\n", HTTP_not_implemented },
	{ "chunked in quotes", GET "Transfer-Encoding: \"chunked\"\r\n", HTTP_not_implemented },
	{ "chunked with a parameter", GET "Transfer-Encoding: chunked;a=b\r\n",
	  HTTP_not_implemented },
	{ "another expectation", GET "Expect: 200-ok\r\n", HTTP_expectation },
	{ "two expectations", GET "Expect: 100-continue, 100-continue\r\n", HTTP_expectation },
};

static void test_bad(void)
{
	for (size_t i = 0; i < array_size(bad); i++) {
		struct http_head h;
		enum http_step step;
		bool same = parse(bad[i].text, strlen(bad[i].text), &h, &step);
		bool right = step == HTTP_BAD && h.fault == bad[i].fault;
		if (!ok(same && right, "%s is %s", bad[i].name, http_fault_name(bad[i].fault)))
			printf("#   step %d, fault %s, %s by pieces\n", step,
			       http_fault_name(h.fault), same ? "same" : "another");
	}
}

static const struct good {
	const char *name;
	const char *text;
	const char *rest; /* what is not of the head any more */
	const char *target;
	struct http_head want;
} good[] = {
	{ "the shortest request", "GET / HTTP/1.0\r\n\r\n", "", "/", { .minor = 0 } },
	{ "HTTP/1.1 stays open", GET END, "", "/", { .minor = 1, .keep_alive = true } },
	{ "what follows stays", GET END GET END, GET END, "/", { .minor = 1, .keep_alive = true } },
	{ "empty lines before", "\r\n\r\n" GET END, "", "/", { .minor = 1, .keep_alive = true } },
	{ "HEAD",
	  "HEAD /a?b=c HTTP/1.1\r\n" HOST END,
	  "",
	  "/a?b=c",
	  { .method = HTTP_HEAD_METHOD, .minor = 1, .keep_alive = true } },
	{ "a method in small letters is another one",
	  "get / HTTP/1.1\r\n" HOST END,
	  "",
	  "/",
	  { .method = HTTP_OTHER, .minor = 1, .keep_alive = true } },
	{ "all bytes of a token in a method",
	  "!#$%&'*+-.^_`|~9aZ / HTTP/1.1\r\n" HOST END,
	  "",
	  "/",
	  { .method = HTTP_OTHER, .minor = 1, .keep_alive = true } },
	{ "all bytes of a target",
	  "GET /-._~!$&'()*+,;=:@%41?/[] HTTP/1.1\r\n" HOST END,
	  "",
	  "/-._~!$&'()*+,;=:@%41?/[]",
	  { .minor = 1, .keep_alive = true } },
	{ "OPTIONS *",
	  "OPTIONS * HTTP/1.1\r\n" HOST END,
	  "",
	  "*",
	  { .method = HTTP_OPTIONS, .minor = 1, .keep_alive = true } },
	{ "absolute-form",
	  "GET http://a.b:80/c?d HTTP/1.1\r\n" HOST END,
	  "",
	  "/c?d",
	  { .minor = 1, .keep_alive = true } },
	{ "absolute-form of https in capitals",
	  "GET HTTPS://[::1]/c HTTP/1.1\r\n" HOST END,
	  "",
	  "/c",
	  { .minor = 1, .keep_alive = true } },
	{ "absolute-form without path",
	  "GET http://a HTTP/1.1\r\n" HOST END,
	  "",
	  "",
	  { .minor = 1, .keep_alive = true } },
	{ "absolute-form with query only",
	  "GET http://a?b HTTP/1.1\r\n" HOST END,
	  "",
	  "?b",
	  { .minor = 1, .keep_alive = true } },
	{ "an IPv6 Host",
	  "GET / HTTP/1.1\r\nHost: [fe80::1.2.3.4]:8080\r\n" END,
	  "",
	  "/",
	  { .minor = 1, .keep_alive = true } },
	{ "a Host with an empty port",
	  "GET / HTTP/1.1\r\nhOST:a:\r\n" END,
	  "",
	  "/",
	  { .minor = 1, .keep_alive = true } },
	{ "tabs around a value",
	  "GET / HTTP/1.1\r\nHost:\t a \t\r\n" END,
	  "",
	  "/",
	  { .minor = 1, .keep_alive = true } },
	{ "tabs and bytes above 127 in a value",
	  GET "A: b\tc\xe9\xff"
	      "0123456789\r\nB:\r\n" END,
	  "",
	  "/",
	  { .minor = 1, .keep_alive = true } },
	{ "Connection: close", GET "Connection: close\r\n" END, "", "/", { .minor = 1 } },
	{ "close in a list, in capitals",
	  GET "Connection: te , CLOSE\r\n" END,
	  "",
	  "/",
	  { .minor = 1 } },
	{ "close beats keep-alive",
	  GET "Connection: close\r\nConnection: keep-alive\r\n" END,
	  "",
	  "/",
	  { .minor = 1 } },
	{ "closed is not close",
	  GET "Connection: closed\r\n" END,
	  "",
	  "/",
	  { .minor = 1, .keep_alive = true } },
	{ "an upgrade to HTTP/2 that is not made",
	  GET "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: "
	      "AAMAAABkAAQA\r\n" END,
	  "",
	  "/",
	  { .minor = 1, .keep_alive = true } },
	{ "an upgrade with close",
	  GET "Upgrade: websocket\r\nConnection: upgrade, close\r\n" END,
	  "",
	  "/",
	  { .minor = 1 } },
	{ "HTTP/1.0 with keep-alive",
	  "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n" END,
	  "",
	  "/",
	  { .keep_alive = true } },
	{ "Content-Length",
	  "POST / HTTP/1.1\r\n" HOST "Content-Length: 0012\r\n" END,
	  "",
	  "/",
	  { .method = HTTP_POST, .minor = 1, .keep_alive = true, .length = 12 } },
	{ "a Content-Length beyond 64 bits stays at the end",
	  GET "Content-Length: 18446744073709551617\r\n" END,
	  "",
	  "/",
	  { .minor = 1, .keep_alive = true, .length = UINT64_MAX } },
	{ "the longest Content-Length of 64 bits",
	  GET "Content-Length: 18446744073709551615\r\n" END,
	  "",
	  "/",
	  { .minor = 1, .keep_alive = true, .length = UINT64_MAX } },
	{ "chunked",
	  GET "Transfer-Encoding: \tChunked \r\n" END,
	  "",
	  "/",
	  { .minor = 1, .keep_alive = true, .chunked = true } },
	{ "Expect with a body",
	  GET "Expect: 100-Continue\r\nContent-Length: 1\r\n" END,
	  "",
	  "/",
	  { .minor = 1, .keep_alive = true, .length = 1, .expect = true } },
	{ "Expect without a body",
	  GET "Expect: 100-continue\r\n" END,
	  "",
	  "/",
	  { .minor = 1, .keep_alive = true } },
	{ "Expect in HTTP/1.0",
	  "POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n" END,
	  "",
	  "/",
	  { .method = HTTP_POST, .length = 1 } },
	{ "JSON with a charset",
	  GET "Content-Type: Application/JSON ; charset=utf-8\r\n" END,
	  "",
	  "/",
	  { .minor = 1, .keep_alive = true, .media = HTTP_MEDIA_JSON } },
	{ "a form",
	  GET "Content-Type: application/x-www-form-urlencoded\r\n" END,
	  "",
	  "/",
	  { .minor = 1, .keep_alive = true, .media = HTTP_MEDIA_FORM } },
	{ "plain text",
	  GET "Content-Type: text/plain\r\n" END,
	  "",
	  "/",
	  { .minor = 1, .keep_alive = true, .media = HTTP_MEDIA_TEXT } },
	{ "another type",
	  GET "Content-Type: application/jsonp\r\n" END,
	  "",
	  "/",
	  { .minor = 1, .keep_alive = true, .media = HTTP_MEDIA_OTHER } },
	{ "two types",
	  GET "Content-Type: text/plain\r\nContent-Type: application/json\r\n" END,
	  "",
	  "/",
	  { .minor = 1, .keep_alive = true, .media = HTTP_MEDIA_OTHER } },
};

static bool good_right(const struct good *g, const struct http_head *h)
{
	const struct http_head *w = &g->want;
	size_t len = strlen(g->text), target = strlen(g->target);

	return h->line == len - strlen(g->rest) && !h->fault && h->target_len == target &&
	       !memcmp(g->text + h->target, g->target, target) && h->method == w->method &&
	       h->minor == w->minor && h->length == w->length && h->chunked == w->chunked &&
	       h->keep_alive == w->keep_alive && h->expect == w->expect && h->media == w->media;
}

static void test_good(void)
{
	for (size_t i = 0; i < array_size(good); i++) {
		struct http_head h;
		enum http_step step;
		bool same = parse(good[i].text, strlen(good[i].text), &h, &step);
		bool right = step == HTTP_WHOLE && good_right(&good[i], &h);
		if (!ok(same && right, "%s", good[i].name))
			printf("#   step %d, fault %s, %s by pieces\n", step,
			       http_fault_name(h.fault), same ? "same" : "another");
	}
}

static void test_accept(void)
{
	static const struct {
		const char *value;
		enum http_media want;
	} rows[] = {
		{ "*/*", HTTP_MEDIA_JSON },
		{ "text/plain", HTTP_MEDIA_TEXT },
		{ "Text/Plain;charset=utf-8", HTTP_MEDIA_TEXT },
		{ "text/*", HTTP_MEDIA_JSON },
		{ "text/plain;q=0", HTTP_MEDIA_JSON },
		{ "text/plain; q=0.001", HTTP_MEDIA_TEXT },
		{ "text/plain, */*", HTTP_MEDIA_JSON },
		{ "text/plain, */*;q=0.9", HTTP_MEDIA_TEXT },
		{ "text/plain;q=0.5,application/json;q=0.5", HTTP_MEDIA_JSON },
		{ "text/plain;q=0.5,application/json;q=0.499", HTTP_MEDIA_TEXT },
		{ "*/*, application/json;q=0.1, text/plain;q=0.2", HTTP_MEDIA_TEXT },
		{ "application/*;q=0.1, */*, text/plain;q=0.2", HTTP_MEDIA_TEXT },
		{ "text/plain;q=2", HTTP_MEDIA_JSON },
		{ "text/plain;q=0.5000", HTTP_MEDIA_JSON },
		{ "text/plain;q=", HTTP_MEDIA_JSON },
		{ "text/plain;q=1.000", HTTP_MEDIA_TEXT },
		{ "", HTTP_MEDIA_JSON },
	};
	for (size_t i = 0; i < array_size(rows); i++) {
		struct http_head h;
		enum http_step step;
		char text[256];
		int len = snprintf(text, sizeof text, GET "Accept: %s\r\n\r\n", rows[i].value);
		bool same = parse(text, (size_t)len, &h, &step);
		ok(same && step == HTTP_WHOLE && h.accept == rows[i].want, "Accept: %s is %s",
		   rows[i].value, rows[i].want == HTTP_MEDIA_TEXT ? "text" : "JSON");
	}
}

/* A request whose target or head has a wanted length. */
static size_t padded(char *text, size_t target, size_t head)
{
	size_t len = (size_t)sprintf(text, "GET /");

	memset(text + len, 'a', target - 1);
	len += target - 1;
	len += (size_t)sprintf(text + len, " HTTP/1.1\r\n" HOST "A: ");
	if (head) {
		memset(text + len, 'b', head - len - 4);
		len = head - 4;
	}
	return len + (size_t)sprintf(text + len, "\r\n\r\n");
}

static void test_limits(void)
{
	static char text[ROOM / 2];
	struct http_head h;
	enum http_step step;

	size_t len = padded(text, HTTP_TARGET_MAX, 0);
	ok(parse(text, len, &h, &step) && step == HTTP_WHOLE, "the longest target is taken");
	len = padded(text, HTTP_TARGET_MAX + 1, 0);
	ok(parse(text, len, &h, &step) && h.fault == HTTP_target_long, "one byte more is not");
	http_begin(&h);
	step = http_head(&h, fenced(text, 4 + HTTP_TARGET_MAX + 1), 4 + HTTP_TARGET_MAX + 1);
	is(h.fault, HTTP_target_long, "and it is refused before its end is seen");

	len = padded(text, 1, HTTP_HEAD_MAX);
	is(len, HTTP_HEAD_MAX, "(the longest head is as long as meant)");
	ok(parse(text, len, &h, &step) && step == HTTP_WHOLE, "the longest head is taken");
	len = padded(text, 1, HTTP_HEAD_MAX + 1);
	ok(parse(text, len, &h, &step) && h.fault == HTTP_head_long, "one byte more is not");
	memset(text, 'A', sizeof text);
	ok(parse(text, HTTP_HEAD_MAX + 9, &h, &step) && h.fault == HTTP_head_long,
	   "a method without end is a long head");
	for (size_t i = 0; i < HTTP_HEAD_MAX; i += 2)
		memcpy(text + i, "\r\n", 2);
	ok(parse(text, HTTP_HEAD_MAX, &h, &step) && h.fault == HTTP_head_long,
	   "empty lines without end are a long head");
}

static void test_pipeline(void)
{
	static const char text[] = "GET /a HTTP/1.1\r\n" HOST END "POST /b HTTP/1.1\r\n" HOST
				   "Content-Length: 3\r\n" END "x=y"
				   "POST /c HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n" END
				   "1\r\nz\r\n0\r\n\r\n"
				   "GET /d HTTP/1.1\r\n" HOST "Connection: close\r\n" END;
	size_t len = sizeof text - 1, used, body;
	uint8_t *at = fenced(text, len);
	char seen[64] = "";

	for (int i = 0; i < 8 && at < fence; i++) {
		struct http_head h;
		http_begin(&h);
		if (http_head(&h, at, (size_t)(fence - at)) != HTTP_WHOLE)
			break;
		sprintf(seen + strlen(seen), "%.*s", (int)h.target_len, (char *)at + h.target);
		at += h.line;
		size_t left = (size_t)(fence - at);
		if (http_body(&h, at, &left, 100, &used, &body) != HTTP_WHOLE)
			break;
		sprintf(seen + strlen(seen), "=%.*s%s", (int)body, (char *)at,
			h.keep_alive ? " " : ".");
		at += used;
	}
	is_str(seen, "/a= /b=x=y /c=z /d=.", "four requests in one piece are read in order");
	ok(at == fence, "and nothing is left");
}

int main(void)
{
	fence_build();
	test_bad();
	test_good();
	test_accept();
	test_limits();
	test_pipeline();
	return done();
}
