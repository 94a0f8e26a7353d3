/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bench_json - what reading a JSON body costs, in time and in heap
 *
 * Model    One line of JSON a measurement, PARSES parses each. "route": the
 *          responder's own way, route_body, which checks every byte, and refuses
 *          nested documents with the place. "tokens": jsmn alone, as route.c
 *          builds it, with as many tokens as the document has. Every call of
 *          malloc and its kin in the program is counted.
 * Units    ns and bytes a parse.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "http.h"
#include "route.h"

#define JSMN_STATIC
#define JSMN_STRICT
#define JSMN_PARENT_LINKS
#include <jsmn.h>

enum { PARSES = 10000, LONGEST = 128 << 10, TOKENS = LONGEST / 2 };

/* --- the heap, counted ---------------------------------------------------------- */

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t n);

static uint64_t heap_bytes;

void *malloc(size_t n)
{
	heap_bytes += n;
	return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	heap_bytes += n * size;
	return __libc_calloc(n, size);
}

void *realloc(void *old, size_t n)
{
	heap_bytes += n;
	return __libc_realloc(old, n);
}

_Noreturn void base_panic(const char *what, const char *file, int line);
_Noreturn void base_panic(const char *what, const char *file, int line)
{
	fprintf(stderr, "bench_json: broken invariant at %s:%d: %s\n", file, line, what);
	abort();
}

/* --- documents ------------------------------------------------------------------- */

static char document[LONGEST + 1];

/* Records in an array in an object, four levels deep, then spaces up to len. */
static void make_nested(size_t len)
{
	static const char record[] = "{\"id\":%u,\"name\":\"caf\\u00e9 "
				     "%u\",\"on\":true,\"at\":[%u.5,-1e3,{\"x\":[1,null]}]},";
	size_t at = (size_t)sprintf(document, "{\"records\":[");

	for (unsigned i = 0; at + 120 < len; i++)
		at += (size_t)sprintf(document + at, record, i, i * 7, i * 31);
	at += (size_t)sprintf(document + at, "0]}");
	memset(document + at, ' ', len - at);
	document[len] = '\0';
}

/* What the responder answers with 200, and spaces up to len. */
static void make_flat(size_t len)
{
	size_t at = (size_t)sprintf(document, "{\"n\":10,\"seed\":\"0x2a\",\"alg\":\"fnv1a64\"}");

	memset(document + at, ' ', len > at ? len - at : 0);
	document[len > at ? len : at] = '\0';
}

/* --- measurements ------------------------------------------------------------------ */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static void tell(const char *name, const char *way, size_t len, uint64_t ns, const char *says)
{
	printf("{\"bench\":\"json\",\"document\":\"%s\",\"bytes\":%zu,\"way\":\"%s\",\"parses\":%d,"
	       "\"ns\":%" PRIu64 ",\"ns_per_byte\":%.2f,\"heap_bytes\":%.1f,\"says\":\"%s\"}\n",
	       name, len, way, PARSES, ns / PARSES, (double)ns / PARSES / (double)len,
	       (double)heap_bytes / PARSES, says);
}

static void by_route(const char *name, size_t len)
{
	struct http_head h = { .method = HTTP_POST, .media = HTTP_MEDIA_JSON };
	struct route_refusal why = { .fault = HTTP_none };
	struct route_ask ask;
	uint64_t start = now_ns();

	heap_bytes = 0;
	for (int i = 0; i < PARSES; i++) {
		ask = (struct route_ask){ .n = N_DEFAULT };
		route_body(&h, (const uint8_t *)document, len, N_MAX_DEFAULT, &ask, &why);
	}
	tell(name, "route", len, now_ns() - start, why.fault ? why.detail : "200");
}

static void by_tokens(const char *name, size_t len)
{
	static jsmntok_t tokens[TOKENS];
	jsmn_parser parser;
	char says[40];
	int got = 0;
	uint64_t start = now_ns();

	heap_bytes = 0;
	for (int i = 0; i < PARSES; i++) {
		jsmn_init(&parser);
		got = jsmn_parse(&parser, document, len, tokens, TOKENS);
		must(got > 0);
	}
	start = now_ns() - start;
	snprintf(says, sizeof says, "%d tokens", got);
	tell(name, "tokens", len, start, says);
}

int main(void)
{
	static const size_t lens[] = { 16 << 10, LONGEST };

	make_flat(0);
	by_route("flat", strlen(document));
	for (size_t i = 0; i < array_size(lens); i++) {
		make_flat(lens[i]);
		by_route("flat", lens[i]);
		make_nested(lens[i]);
		by_route("nested", lens[i]);
		by_tokens("nested", lens[i]);
	}
	return 0;
}
