/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests, one behind the other, through parser, router and writer. The first
 * byte is the length of pieces. Invariants: a verdict and all that it says are
 * the same at once, in pieces and byte by byte; every answer fits.
 */
#include "http.h"
#include "route.h"
#include "tap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_BODY = 1000, MAX_N = 1000 };

struct outcome {
	struct http_head h;
	enum http_step head, body;
	size_t used, len; /* bytes of input in the message, of text in its body */
	uint8_t text[MAX_BODY];
};

/* Bring one message in pieces, in memory that ends where they end. */
static void run(struct outcome *o, const uint8_t *data, size_t size, size_t piece)
{
	size_t given = 0, have = 0, used = 0;
	uint8_t *copy = NULL;

	memset(o, 0, sizeof *o);
	while (given < size && o->head != HTTP_BAD && o->body == HTTP_MORE) {
		size_t n = min_u64(piece, size - given);
		copy = realloc(copy, have + n);
		memcpy(copy + have, data + given, n);
		have += n;
		given += n;
		if (o->head == HTTP_MORE &&
		    (o->head = http_head(&o->h, copy, have)) == HTTP_WHOLE) {
			have -= o->h.line;
			memmove(copy, copy + o->h.line, have);
			copy = realloc(copy, have + !have);
		}
		if (o->head == HTTP_WHOLE)
			o->body = http_body(&o->h, copy, &have, MAX_BODY, &used, &o->len);
	}
	if (o->body == HTTP_WHOLE) {
		o->used = given - (have - used);
		memcpy(o->text, copy, o->len);
	}
	free(copy);
}

/* Ask and answer as worker does. */
static void answer(const struct outcome *o, const uint8_t *data)
{
	struct http_reply r = { .date = "Thu, 01 Jan 1970 00:00:00 GMT", .minor = o->h.minor };
	struct route_refusal why = { .fault = o->h.fault };
	struct route_ask ask;
	uint8_t *body = memcpy(malloc(o->len + 1), o->text, o->len);
	uint8_t *to = malloc(HTTP_ANSWER_MAX); /* ASan has the last word */

	if (o->body == HTTP_WHOLE && route_head(&o->h, data, MAX_N, &ask, &why) &&
	    (ask.path != ROUTE_COMPUTE || o->h.method != HTTP_POST ||
	     route_body(&o->h, body, o->len, MAX_N, &ask, &why))) {
		must(ask.path < ROUTE_NONE && ask.n <= MAX_N &&
		     !(ask.seed >> 32 >> (ask.alg ? 32 : 0)));
		http_write_hash(to, &r, lane_alg_name(ask.alg), lane_alg_bits(ask.alg), ask.n,
				ask.seed, ask.seed, ask.as_text);
	} else if (why.fault) {
		must(memchr(why.detail, 0, ROUTE_DETAIL));
		http_write_fault(to, &r, why.fault, "GET", why.detail);
	}
	free(to);
	free(body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct outcome once, other;

	for (size_t at = 1; at < size; at += once.used) {
		size_t pieces[] = { 1, 2 + data[0] % 64 };
		run(&once, data + at, size - at, size);
		for (unsigned i = 0; i < array_size(pieces); i++) {
			run(&other, data + at, size - at, pieces[i]);
			must(once.head == other.head && once.h.fault == other.h.fault);
			must(once.body == other.body && once.used == other.used);
			must(once.h.fault || !memcmp(&once.h, &other.h, sizeof once.h));
			must(!memcmp(once.text, other.text, sizeof once.text));
		}
		answer(&once, data + at);
		if (once.body != HTTP_WHOLE)
			break;
	}
	return 0;
}
