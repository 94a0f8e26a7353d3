/* SPDX-License-Identifier: GPL-2.0-only */
/* Bodies: chunks undone in place, cut at every byte, before a page that cannot be read. */
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

#define GET "GET / HTTP/1.1\r\nHost: a\r\n"
#define END "\r\n"

enum { MAX = 64 }; /* --max-body of the rows below */

static const struct chunks {
	const char *name;
	const char *text;
	const char *body; /* NULL: refused */
	const char *rest;
	enum http_fault fault;
} chunks[] = {
	{ "no data", "0\r\n\r\n", "", "", 0 },
	{ "one chunk", "5\r\nhello\r\n0\r\n\r\n", "hello", "", 0 },
	{ "two chunks, and the next request", "5\r\nhello\r\n0c\r\n, wide world\r\n000\r\n\r\nGET",
	  "hello, wide world", "GET", 0 },
	{ "line ends as data", "4\r\n\r\n\r\n\r\n0\r\n\r\n", "\r\n\r\n", "", 0 },
	{ "digits in capitals", "A\r\n0123456789\r\n0\r\n\r\n", "0123456789", "", 0 },
	{ "fifteen digits", "000000000000001\r\nx\r\n0\r\n\r\n", "x", "", 0 },
	{ "CR in a quoted value", "1;a\r\nx\r\n1;b=c;d=\"e;\\\"\r\r\ny\r\n0\r\n\r\n", NULL, "",
	  HTTP_bad_chunk },
	{ "extensions of all kinds", "1;a\r\nx\r\n1;b=c;d=\"e;\\\"\";f\r\ny\r\n0;g\r\n\r\n", "xy",
	  "", 0 },
	{ "trailers", "1\r\nx\r\n0\r\nA: b\r\nContent-Length:\t9\r\n\r\n.", "x", ".", 0 },
	{ "exactly the limit",
	  "40\r\n0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\r\n0\r\n\r\n",
	  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "", 0 },
	{ "one chunk above the limit", "41\r\n", NULL, "", HTTP_too_large },
	{ "a sum above the limit", "1\r\nx\r\n40\r\n", NULL, "", HTTP_too_large },
	{ "the largest size", "fffffffffffffff\r\n", NULL, "", HTTP_too_large },
	{ "sixteen digits", "0000000000000001\r\n", NULL, "", HTTP_bad_chunk },
	{ "a size that wraps", "10000000000000001\r\n", NULL, "", HTTP_bad_chunk },
	{ "no size", "\r\n", NULL, "", HTTP_bad_chunk },
	{ "no size but an extension", ";a\r\n", NULL, "", HTTP_bad_chunk },
	{ "a signed size", "+1\r\n", NULL, "", HTTP_bad_chunk },
	{ "a negative size", "-1\r\n", NULL, "", HTTP_bad_chunk },
	{ "0x", "0x1\r\n", NULL, "", HTTP_bad_chunk },
	{ "a space before the size", " 1\r\n", NULL, "", HTTP_bad_chunk },
	{ "a space after the size", "1 \r\n", NULL, "", HTTP_bad_chunk },
	{ "a tab before an extension", "1\t;a\r\n", NULL, "", HTTP_bad_chunk },
	{ "an underscore in the size", "1_0\r\n", NULL, "", HTTP_bad_chunk },
	{ "a bare semicolon", "1;\r\n", NULL, "", HTTP_bad_chunk },
	{ "an extension without value", "1;a=\r\n", NULL, "", HTTP_bad_chunk },
	{ "LF in a quoted value", "1;a=\"\n\"\r\n", NULL, "", HTTP_bad_newline },
	{ "bytes behind a quoted value", "1;a=\"b\"c\r\n", NULL, "", HTTP_bad_chunk },
	{ "LF after a size", "1\nx\r\n0\r\n\r\n", NULL, "", HTTP_bad_newline },
	{ "CR only after a size", "1\rx\r\n0\r\n\r\n", NULL, "", HTTP_bad_newline },
	{ "LF after an extension", "1;a\nx\r\n", NULL, "", HTTP_bad_newline },
	{ "data longer than its size", "1\r\nxy\r\n", NULL, "", HTTP_bad_chunk },
	{ "LF after data", "1\r\nx\n0\r\n\r\n", NULL, "", HTTP_bad_chunk },
	{ "CR only after data", "1\r\nx\r0\r\n\r\n", NULL, "", HTTP_bad_newline },
	{ "LF for the end", "0\r\n\n", NULL, "", HTTP_bad_newline },
	{ "CR only for the end", "0\r\n\rG", NULL, "", HTTP_bad_newline },
	{ "a trailer without colon", "0\r\nA\r\n\r\n", NULL, "", HTTP_bad_field_name },
	{ "a trailer without name", "0\r\n: a\r\n\r\n", NULL, "", HTTP_bad_field_name },
	{ "a folded trailer", "0\r\nA: b\r\n c\r\n\r\n", NULL, "", HTTP_bad_fold },
	{ "a control character in a trailer", "0\r\nA: \x01\r\n\r\n", NULL, "",
	  HTTP_bad_field_value },
	{ "LF after a trailer", "0\r\nA: b\n\r\n", NULL, "", HTTP_bad_newline },
};

static void chunked_begin(struct http_head *h)
{
	static const char head[] = GET "Transfer-Encoding: chunked\r\n" END;

	http_begin(h);
	must(http_head(h, (const uint8_t *)head, sizeof head - 1) == HTTP_WHOLE);
}

/* Bring the text in pieces that end at `cut` and then every `step` bytes. */
static bool chunked_right(const struct chunks *c, size_t cut, size_t every)
{
	struct http_head h;
	enum http_step step = HTTP_MORE;
	size_t all = strlen(c->text), given = 0, have = 0, used = 0, body = 0;
	uint8_t *bytes = fence - all;

	chunked_begin(&h);
	while (step == HTTP_MORE && given < all) {
		size_t n = min_u64(given < cut ? cut - given : every, all - given);
		memcpy(bytes + have, c->text + given, n);
		have += n;
		given += n;
		step = http_body(&h, bytes, &have, MAX, &used, &body);
	}
	if (!c->body)
		return step == HTTP_BAD && h.fault == c->fault;
	size_t rest = all - given + have - used;
	return step == HTTP_WHOLE && body == strlen(c->body) && !memcmp(bytes, c->body, body) &&
	       rest == strlen(c->rest) && !memcmp(bytes + used, c->rest, have - used);
}

static void test_chunks(void)
{
	for (size_t i = 0; i < array_size(chunks); i++) {
		const struct chunks *c = &chunks[i];
		size_t all = strlen(c->text), wrong = 0;
		wrong += !chunked_right(c, all, all);
		wrong += !chunked_right(c, 1, 1);
		for (size_t cut = 1; cut < all; cut++)
			wrong += !chunked_right(c, cut, all);
		is(wrong, 0, "chunked, at every cut: %s", c->name);
	}
}

static void test_chunk_limits(void)
{
	static char text[3 * HTTP_HEAD_MAX];
	struct http_head h;
	size_t have, used, body;

	have = (size_t)sprintf(text, "1;");
	memset(text + have, 'a', sizeof text - have);
	have = sizeof text;
	chunked_begin(&h);
	http_body(&h, (uint8_t *)text, &have, MAX, &used, &body);
	is(h.fault, HTTP_bad_chunk, "an extension without end is refused");
	have = (size_t)sprintf(text, "0\r\nA: ");
	memset(text + have, 'a', sizeof text - have);
	have = sizeof text;
	chunked_begin(&h);
	http_body(&h, (uint8_t *)text, &have, MAX, &used, &body);
	is(h.fault, HTTP_head_long, "a trailer without end is refused");
	is(http_body(&h, (uint8_t *)text, &have, MAX, &used, &body), HTTP_BAD, "and stays refused");
}

static void test_length(void)
{
	static const char head[] = GET "Content-Length: 64\r\n" END;
	static uint8_t text[100];
	struct http_head h;
	size_t have = 63, used, body;

	http_begin(&h);
	http_head(&h, (const uint8_t *)head, sizeof head - 1);
	struct http_head kept = h;
	is(http_body(&h, text, &have, MAX, &used, &body), HTTP_MORE, "one byte is missing");
	have = 100;
	is(http_body(&h, text, &have, MAX, &used, &body), HTTP_WHOLE, "the body is whole");
	ok(used == 64 && body == 64 && have == 100, "what is behind it stays");
	have = 0;
	is(http_body(&kept, text, &have, MAX - 1, &used, &body), HTTP_BAD,
	   "a length above the limit is refused before the body comes");
	is(kept.fault, HTTP_too_large, "by its name");
}

int main(void)
{
	fence_build();
	test_chunks();
	test_chunk_limits();
	test_length();
	return done();
}
