/* SPDX-License-Identifier: GPL-2.0-only */
/* Paths, queries, forms and JSON: what they ask, and why they are refused. */
#include "http.h"
#include "route.h"
#include "tap.h"

enum { MAX_N = 100000000 };

/* Send a whole request through parser and router, as worker does. The body
 * comes from memory of its exact size. */
static enum http_fault ask_text(const char *text, size_t len, struct route_ask *ask,
				struct route_refusal *why)
{
	struct http_head h;
	size_t used, body;

	*why = (struct route_refusal){ 0 };
	http_begin(&h);
	if (http_head(&h, (const uint8_t *)text, len) != HTTP_WHOLE)
		return h.fault;
	if (!route_head(&h, (const uint8_t *)text, MAX_N, ask, why))
		return why->fault;
	size_t left = len - h.line;
	uint8_t *bytes = malloc(left ? left : 1);
	memcpy(bytes, text + h.line, left);
	enum http_fault fault = HTTP_none;
	if (http_body(&h, bytes, &left, 4096, &used, &body) != HTTP_WHOLE)
		fault = h.fault;
	else if (h.method == HTTP_POST && !route_body(&h, bytes, body, MAX_N, ask, why))
		fault = why->fault;
	free(bytes);
	return fault;
}

static enum http_fault ask_line(const char *method, const char *target, struct route_ask *ask,
				struct route_refusal *why)
{
	char text[4096];
	int len = snprintf(text, sizeof text, "%s %s HTTP/1.1\r\nHost: a\r\n\r\n", method, target);

	return ask_text(text, (size_t)len, ask, why);
}

static enum http_fault ask_post(const char *query, const char *type, const char *body, size_t n,
				struct route_ask *ask, struct route_refusal *why)
{
	char text[8192];
	int len = snprintf(text, sizeof text,
			   "POST /compute%s HTTP/1.1\r\nHost: a\r\nContent-Type: %s\r\n"
			   "Content-Length: %zu\r\n\r\n",
			   query, type, n);
	memcpy(text + len, body, n);
	return ask_text(text, (size_t)len + n, ask, why);
}

#define JSON "application/json"
#define FORM "application/x-www-form-urlencoded"

static void test_paths(void)
{
	static const struct {
		const char *method, *target;
		enum http_fault fault;
		enum route_path path;
	} rows[] = {
		{ "GET", "/compute", HTTP_none, ROUTE_COMPUTE },
		{ "HEAD", "/compute", HTTP_none, ROUTE_COMPUTE },
		{ "POST", "/compute", HTTP_none, ROUTE_COMPUTE },
		{ "OPTIONS", "/compute?what=ever", HTTP_none, ROUTE_COMPUTE },
		{ "GET", "/compute?", HTTP_none, ROUTE_COMPUTE },
		{ "GET", "/%63omput%65", HTTP_none, ROUTE_COMPUTE },
		{ "GET", "http://b/compute?n=1", HTTP_none, ROUTE_COMPUTE },
		{ "GET", "/echo", HTTP_none, ROUTE_ECHO },
		{ "HEAD", "/echo?n=x&n=%zz", HTTP_none, ROUTE_ECHO },
		{ "POST", "http://b/echo", HTTP_none, ROUTE_ECHO },
		{ "OPTIONS", "/echo", HTTP_none, ROUTE_ECHO },
		{ "PUT", "/echo", HTTP_bad_method, 0 },
		{ "GET", "/echo/", HTTP_not_found, 0 },
		{ "GET", "/healthz?x", HTTP_none, ROUTE_HEALTHZ },
		{ "HEAD", "/healthz", HTTP_none, ROUTE_HEALTHZ },
		{ "OPTIONS", "/healthz", HTTP_none, ROUTE_HEALTHZ },
		{ "POST", "/healthz", HTTP_bad_method, 0 },
		{ "GET", "/metrics", HTTP_none, ROUTE_METRICS },
		{ "HEAD", "/metrics?name[]=x", HTTP_none, ROUTE_METRICS },
		{ "OPTIONS", "/metrics", HTTP_none, ROUTE_METRICS },
		{ "POST", "/metrics", HTTP_bad_method, 0 },
		{ "GET", "/metrics/", HTTP_not_found, 0 },
		{ "OPTIONS", "*", HTTP_none, ROUTE_SERVER },
		{ "OPTIONS", "http://b", HTTP_none, ROUTE_SERVER },
		{ "OPTIONS", "http://b/", HTTP_not_found, 0 },
		{ "GET", "http://b", HTTP_not_found, 0 },
		{ "GET", "/*", HTTP_not_found, 0 },
		{ "GET", "/%2a", HTTP_not_found, 0 },
		{ "GET", "/", HTTP_not_found, 0 },
		{ "GET", "//compute", HTTP_not_found, 0 },
		{ "GET", "/compute/", HTTP_not_found, 0 },
		{ "GET", "/Compute", HTTP_not_found, 0 },
		{ "GET", "/compute%00", HTTP_not_found, 0 },
		{ "GET", "/compute%3Fn=1", HTTP_not_found, 0 },
		{ "GET", "/x/../compute", HTTP_not_found, 0 },
		{ "GET", "/a/path/that/is/longer/than/all", HTTP_not_found, 0 },
		{ "POST", "/nowhere", HTTP_not_found, 0 },
		{ "GET", "/compute%", HTTP_bad_escape, 0 },
		{ "GET", "/compute%4", HTTP_bad_escape, 0 },
		{ "GET", "/a/path/that/is/longer/than/all%g0", HTTP_bad_escape, 0 },
		{ "PUT", "/compute", HTTP_bad_method, 0 },
		{ "DELETE", "/healthz", HTTP_bad_method, 0 },
		{ "PATCH", "/nowhere", HTTP_not_found, 0 },
		{ "get", "/compute", HTTP_not_implemented, 0 },
		{ "BREW", "/nowhere", HTTP_not_implemented, 0 },
	};
	for (size_t i = 0; i < array_size(rows); i++) {
		struct route_ask ask;
		struct route_refusal why;
		enum http_fault got = ask_line(rows[i].method, rows[i].target, &ask, &why);
		bool right = got == rows[i].fault && (got || ask.path == rows[i].path);
		if (!ok(right, "%s %s: %s", rows[i].method, rows[i].target,
			http_fault_name(rows[i].fault)))
			printf("#   got %s\n", http_fault_name(got));
	}
	is_str(route_allow(ROUTE_COMPUTE), "GET, HEAD, POST, OPTIONS", "what /compute allows");
	is_str(route_allow(ROUTE_ECHO), "GET, HEAD, POST, OPTIONS", "what /echo allows");
	is_str(route_allow(ROUTE_HEALTHZ), "GET, HEAD, OPTIONS", "what /healthz allows");
	is_str(route_allow(ROUTE_METRICS), "GET, HEAD, OPTIONS", "what /metrics allows");
	is_str(route_allow(ROUTE_SERVER), "GET, HEAD, POST, OPTIONS", "what the server allows");
}

#define FNV32_SEED 0x811c9dc5
#define FNV64_SEED 0xcbf29ce484222325

/* The same values by query and by form. */
static void test_pairs(void)
{
	static const struct {
		const char *pairs;
		enum http_fault fault;
		uint64_t n, seed;
		enum lane_alg alg;
	} rows[] = {
		{ "", HTTP_none, N_DEFAULT, FNV32_SEED, LANE_FNV1A32 },
		{ "&&", HTTP_none, N_DEFAULT, FNV32_SEED, LANE_FNV1A32 },
		{ "n=0&", HTTP_none, 0, FNV32_SEED, LANE_FNV1A32 },
		{ "n=100000000", HTTP_none, MAX_N, FNV32_SEED, LANE_FNV1A32 },
		{ "n=%31%30&seed=%30x2A", HTTP_none, 10, 42, LANE_FNV1A32 },
		{ "alg=fnv1a64", HTTP_none, N_DEFAULT, FNV64_SEED, LANE_FNV1A64 },
		{ "alg=mix64", HTTP_none, N_DEFAULT, 0, LANE_MIX64 },
		{ "seed=4294967295", HTTP_none, N_DEFAULT, 0xffffffff, LANE_FNV1A32 },
		{ "seed=0X0000000000000000000001", HTTP_none, N_DEFAULT, 1, LANE_FNV1A32 },
		{ "seed=0xffffffffffffffff&alg=fnv1a64", HTTP_none, N_DEFAULT, UINT64_MAX,
		  LANE_FNV1A64 },
		{ "alg=mix64&seed=18446744073709551615", HTTP_none, N_DEFAULT, UINT64_MAX,
		  LANE_MIX64 },
		{ .pairs = "n=100000001", .fault = HTTP_bad_n_range },
		{ .pairs = "n=18446744073709551617", .fault = HTTP_bad_n_range },
		{ .pairs = "seed=4294967296", .fault = HTTP_bad_seed_range },
		{ .pairs = "alg=fnv1a32&seed=0x100000000", .fault = HTTP_bad_seed_range },
		{ .pairs = "seed=0x100000000&alg=fnv1a32", .fault = HTTP_bad_seed_range },
		{ .pairs = "seed=0x10000000000000001&alg=mix64", .fault = HTTP_bad_seed_range },
		{ .pairs = "seed=18446744073709551616&alg=mix64", .fault = HTTP_bad_seed_range },
		{ .pairs = "n", .fault = HTTP_bad_number },
		{ .pairs = "n=", .fault = HTTP_bad_number },
		{ .pairs = "n=-1", .fault = HTTP_bad_number },
		{ .pairs = "n=%2B1", .fault = HTTP_bad_number },
		{ .pairs = "n=+1", .fault = HTTP_bad_number },
		{ .pairs = "n=1+", .fault = HTTP_bad_number },
		{ .pairs = "n=007", .fault = HTTP_bad_number },
		{ .pairs = "n=1e3", .fault = HTTP_bad_number },
		{ .pairs = "n=1.0", .fault = HTTP_bad_number },
		{ .pairs = "n=0x10", .fault = HTTP_bad_number },
		{ .pairs = "n=1=1", .fault = HTTP_bad_number },
		{ .pairs = "n=1%00", .fault = HTTP_bad_number },
		{ .pairs = "seed=0x", .fault = HTTP_bad_number },
		{ .pairs = "seed=0xg", .fault = HTTP_bad_number },
		{ .pairs = "seed=2a", .fault = HTTP_bad_number },
		{ .pairs = "seed=0x0000000000000000000000000000000000000001",
		  .fault = HTTP_bad_number },
		{ .pairs = "n=1%", .fault = HTTP_bad_escape },
		{ .pairs = "n=1%3", .fault = HTTP_bad_escape },
		{ .pairs = "n=1%3z", .fault = HTTP_bad_escape },
		{ .pairs = "m=1", .fault = HTTP_bad_name },
		{ .pairs = "N=1", .fault = HTTP_bad_name },
		{ .pairs = "%6e=1", .fault = HTTP_bad_name },
		{ .pairs = "=1", .fault = HTTP_bad_name },
		{ .pairs = "n=1&n=1", .fault = HTTP_bad_twice },
		{ .pairs = "seed=1&alg=mix64&seed=2", .fault = HTTP_bad_twice },
		{ .pairs = "alg=mix64&alg=mix64", .fault = HTTP_bad_twice },
		{ .pairs = "alg=", .fault = HTTP_bad_alg },
		{ .pairs = "alg=fnv1a3", .fault = HTTP_bad_alg },
		{ .pairs = "alg=fnv1a322", .fault = HTTP_bad_alg },
		{ .pairs = "alg=MIX64", .fault = HTTP_bad_alg },
		{ .pairs = "alg=mix64%00", .fault = HTTP_bad_alg },
	};
	for (size_t i = 0; i < 2 * array_size(rows); i++) {
		const char *pairs = rows[i / 2].pairs;
		struct route_ask ask;
		struct route_refusal why;
		char target[256];
		snprintf(target, sizeof target, "/compute?%s", pairs);
		enum http_fault got = i % 2 ? ask_post("", FORM, pairs, strlen(pairs), &ask, &why) :
					      ask_line("GET", target, &ask, &why);
		bool right = got == rows[i / 2].fault;
		if (right && !got)
			right = ask.n == rows[i / 2].n && ask.seed == rows[i / 2].seed &&
				ask.alg == rows[i / 2].alg;
		if (!ok(right, "%s '%s': %s", i % 2 ? "form" : "query", pairs,
			http_fault_name(rows[i / 2].fault)))
			printf("#   got %s, n %" PRIu64 " seed %" PRIu64 "\n", http_fault_name(got),
			       ask.n, ask.seed);
	}
}

#define TEXT(s) s, sizeof(s) - 1

static const struct json {
	const char *text;
	size_t len;
	enum http_fault fault;
	uint64_t n, seed;
	enum lane_alg alg;
} jsons[] = {
	{ TEXT(""), HTTP_none, N_DEFAULT, FNV32_SEED, LANE_FNV1A32 },
	{ TEXT("{}"), HTTP_none, N_DEFAULT, FNV32_SEED, LANE_FNV1A32 },
	{ TEXT(" \t\r\n{ \n} \r\n"), HTTP_none, N_DEFAULT, FNV32_SEED, LANE_FNV1A32 },
	{ TEXT("{\"n\":0}"), HTTP_none, 0, FNV32_SEED, LANE_FNV1A32 },
	{ TEXT("{\"n\" : 5 , \"seed\" : 42, \"alg\":\"mix64\"}\n"), HTTP_none, 5, 42, LANE_MIX64 },
	{ TEXT("{\"seed\":\"0xcbf29ce484222325\",\"alg\":\"fnv1a64\"}"), HTTP_none, N_DEFAULT,
	  FNV64_SEED, LANE_FNV1A64 },
	{ TEXT("{\"seed\":\"42\"}"), HTTP_none, N_DEFAULT, 42, LANE_FNV1A32 },
	{ TEXT("{\"seed\":18446744073709551615,\"alg\":\"mix64\"}"), HTTP_none, N_DEFAULT,
	  UINT64_MAX, LANE_MIX64 },
	/* numbers */
	{ .text = "{\"n\":100000001}", .fault = HTTP_bad_n_range },
	{ .text = "{\"n\":99999999999999999999999999999999999}", .fault = HTTP_bad_n_range },
	{ .text = "{\"seed\":4294967296}", .fault = HTTP_bad_seed_range },
	{ .text = "{\"seed\":18446744073709551616,\"alg\":\"mix64\"}",
	  .fault = HTTP_bad_seed_range },
	{ .text = "{\"n\":1e3}", .fault = HTTP_bad_number },
	{ .text = "{\"n\":1.5}", .fault = HTTP_bad_number },
	{ .text = "{\"n\":1.0}", .fault = HTTP_bad_number },
	{ .text = "{\"n\":-1}", .fault = HTTP_bad_number },
	{ .text = "{\"n\":007}", .fault = HTTP_bad_number },
	{ .text = "{\"n\":\"5\"}", .fault = HTTP_bad_number },
	{ .text = "{\"n\":true}", .fault = HTTP_bad_number },
	{ .text = "{\"n\":null}", .fault = HTTP_bad_number },
	{ .text = "{\"n\":0x10}", .fault = HTTP_bad_number },
	{ .text = "{\"seed\":0x10}", .fault = HTTP_bad_number },
	{ .text = "{\"seed\":\"\"}", .fault = HTTP_bad_number },
	{ .text = "{\"seed\":\"4\\u0032\"}", .fault = HTTP_bad_number },
	{ .text = "{\"seed\":false}", .fault = HTTP_bad_number },
	/* names */
	{ .text = "{\"m\":1}", .fault = HTTP_bad_name },
	{ .text = "{\"\":1}", .fault = HTTP_bad_name },
	{ .text = "{\"n \":1}", .fault = HTTP_bad_name },
	{ .text = "{\"n\":1,\"n\":1}", .fault = HTTP_bad_twice },
	{ .text = "{\"alg\":5}", .fault = HTTP_bad_alg },
	{ .text = "{\"alg\":\"md5\"}", .fault = HTTP_bad_alg },
	{ .text = "{\"alg\":\"mix6\\u0034\"}", .fault = HTTP_bad_alg },
	{ .text = "{\"\\u006e\":1}", .fault = HTTP_bad_json },
	/* shape */
	{ .text = "5", .fault = HTTP_bad_json },
	{ .text = "[]", .fault = HTTP_bad_json },
	{ .text = "\"n\"", .fault = HTTP_bad_json },
	{ .text = " ", .fault = HTTP_bad_json },
	{ .text = "[{\"n\":1}]", .fault = HTTP_bad_json },
	{ .text = "{\"n\":[1]}", .fault = HTTP_bad_json },
	{ .text = "{\"n\":{}}", .fault = HTTP_bad_json },
	{ .text = "{\"n\":{\"n\":1}}", .fault = HTTP_bad_json },
	{ .text = "{\"n\":1}}", .fault = HTTP_bad_json },
	{ .text = "{\"n\":1]", .fault = HTTP_bad_json },
	{ .text = "{\"n\":1}x", .fault = HTTP_bad_json },
	{ .text = "{\"n\":1}{}", .fault = HTTP_bad_json },
	{ .text = "{\"n\":1}5 ", .fault = HTTP_bad_json },
	{ .text = "{\"n\":1},", .fault = HTTP_bad_json },
	{ .text = "\xef\xbb\xbf{\"n\":1}", .fault = HTTP_bad_json },
	{ .text = "{\"n\":1", .fault = HTTP_bad_json },
	{ .text = "{\"n\":", .fault = HTTP_bad_json },
	{ .text = "{\"n", .fault = HTTP_bad_json },
	{ .text = "{", .fault = HTTP_bad_json },
	{ .text = "{\"n\"}", .fault = HTTP_bad_json },
	{ .text = "{\"n\":}", .fault = HTTP_bad_json },
	{ .text = "{\"n\" 1}", .fault = HTTP_bad_json },
	{ .text = "{\"n\",1}", .fault = HTTP_bad_json },
	{ .text = "{\"n\"::1}", .fault = HTTP_bad_json },
	{ .text = "{n:1}", .fault = HTTP_bad_json },
	{ .text = "{'n':1}", .fault = HTTP_bad_json },
	{ .text = "{1:1}", .fault = HTTP_bad_json },
	{ .text = "{\"n\":1 \"seed\":1}", .fault = HTTP_bad_json },
	{ .text = "{\"n\":1,,\"seed\":1}", .fault = HTTP_bad_json },
	{ .text = "{\"n\":1,}", .fault = HTTP_bad_json },
	{ .text = "{,\"n\":1}", .fault = HTTP_bad_json },
	{ .text = "{,}", .fault = HTTP_bad_json },
	{ .text = "{:}", .fault = HTTP_bad_json },
	{ .text = "{\"seed\":\"1\":1}", .fault = HTTP_bad_json },
	{ .text = "{\"n\" \"seed\"}", .fault = HTTP_bad_json },
	{ .text = "{\"alg\":\"mix64\" \"n\":1}", .fault = HTTP_bad_json },
	{ .text = "{\"n\":1 2}", .fault = HTTP_bad_json },
	{ .text = "{\"seed\":\"1\"\"2\"}", .fault = HTTP_bad_json },
	{ .text = "{\"n\":1 /* one */}", .fault = HTTP_bad_json },
	{ .text = "{\"n\":NaN}", .fault = HTTP_bad_json },
	{ .text = "{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1}",
	  .fault = HTTP_bad_json },
	/* bytes */
	{ .text = "{\"alg\":\"a\tb\"}", .fault = HTTP_bad_json },
	{ .text = "{\"alg\":\"a\nb\"}", .fault = HTTP_bad_json },
	{ .text = "{\"alg\":\"\\\tb\"}", .fault = HTTP_bad_json },
	{ .text = "{\"alg\":\"\\x\"}", .fault = HTTP_bad_json },
	{ .text = "{\"alg\":\"\\u12\"}", .fault = HTTP_bad_json },
	{ .text = "{\"alg\":\"\\\"", .fault = HTTP_bad_json },
	{ .text = "{\"alg\":\"\\", .fault = HTTP_bad_json },
	{ .text = "{\"alg\":\"\x7f\"}", .fault = HTTP_bad_alg },
	{ .text = "{\"alg\":\"\xc3\xa9\"}", .fault = HTTP_bad_alg },
	{ .text = "{\"alg\":\"\xf4\x8f\xbf\xbf\"}", .fault = HTTP_bad_alg },
	{ .text = "{\"alg\":\"\xff\"}", .fault = HTTP_bad_json },
	{ .text = "{\"alg\":\"\xc3\"}", .fault = HTTP_bad_json },
	{ .text = "{\"alg\":\"\xc0\xaf\"}", .fault = HTTP_bad_json },
	{ .text = "{\"alg\":\"\xe0\x80\xaf\"}", .fault = HTTP_bad_json },
	{ .text = "{\"alg\":\"\xed\xa0\x80\"}", .fault = HTTP_bad_json },
	{ .text = "{\"alg\":\"\xf0\x80\x80\x80\"}", .fault = HTTP_bad_json },
	{ .text = "{\"alg\":\"\xf4\x90\x80\x80\"}", .fault = HTTP_bad_json },
	{ .text = "{\"alg\":\"\xf8\x88\x80\x80\x80\"}", .fault = HTTP_bad_json },
	{ .text = "{\"alg\":\"a\xe2\x82", .fault = HTTP_bad_json },
	{ TEXT("{\"n\":1}\0"), HTTP_bad_json, 0, 0, 0 },
	{ TEXT("{\"alg\":\"a\0b\"}"), HTTP_bad_json, 0, 0, 0 },
	{ TEXT("\0"), HTTP_bad_json, 0, 0, 0 },
};

static void test_json(void)
{
	for (size_t i = 0; i < array_size(jsons); i++) {
		const struct json *j = &jsons[i];
		struct route_ask ask;
		struct route_refusal why;
		size_t len = j->len ? j->len : strlen(j->text);
		enum http_fault got = ask_post("", JSON, j->text, len, &ask, &why);
		bool right = got == j->fault;
		if (right && !got)
			right = ask.n == j->n && ask.seed == j->seed && ask.alg == j->alg;
		char name[128];
		for (size_t k = 0; k <= len && k < sizeof name; k++)
			name[k] = k == len || k == sizeof name - 1       ? 0 :
				  j->text[k] < 0x20 || j->text[k] > 0x7e ? '~' :
									   j->text[k];
		if (!ok(right, "JSON %s: %s", name, http_fault_name(j->fault)))
			printf("#   got %s, %s\n", http_fault_name(got), why.detail);
	}
}

/* A whole object, cut at every byte, is refused and never more than JSON. */
static void test_json_cut(void)
{
	static const char whole[] = "{\"n\":10,\"seed\":\"0x2a\",\"alg\":\"fnv1a64\"}";
	struct route_ask ask;
	struct route_refusal why;
	unsigned wrong = 0;

	for (size_t len = 1; len < sizeof whole - 1; len++)
		wrong += ask_post("", JSON, whole, len, &ask, &why) != HTTP_bad_json;
	is(wrong, 0, "every beginning of an object is no object");
}

static void test_bodies(void)
{
	static const struct {
		const char *name, *query, *type, *body;
		enum http_fault fault;
		uint64_t n, seed;
	} rows[] = {
		{ "query and body complete each other", "?alg=mix64", FORM, "n=1&seed=2", HTTP_none,
		  1, 2 },
		{ "the body's alg decides over the query's seed", "?seed=0x1ffffffff", JSON,
		  "{\"alg\":\"mix64\",\"n\":1}", HTTP_none, 1, 0x1ffffffff },
		{ "the query's alg decides over the body's seed", "?alg=mix64&n=1", FORM,
		  "seed=0x1ffffffff", HTTP_none, 1, 0x1ffffffff },
		{ "a wide seed in the query and no alg", "?seed=0x1ffffffff", JSON, "{}",
		  HTTP_bad_seed_range, 0, 0 },
		{ "a wide seed in the query and no body", "?seed=0x1ffffffff", JSON, "",
		  HTTP_bad_seed_range, 0, 0 },
		{ "a name in both", "?n=1", JSON, "{\"n\":1}", HTTP_bad_twice, 0, 0 },
		{ "a bad query is refused before the body", "?n=x", JSON, "x", HTTP_bad_number, 0,
		  0 },
		{ "text is no media type for it", "", "text/plain", "n=1", HTTP_media_type, 0, 0 },
		{ "an empty body may have any type", "?n=1&seed=1", "text/plain", "", HTTP_none, 1,
		  1 },
	};
	for (size_t i = 0; i < array_size(rows); i++) {
		struct route_ask ask;
		struct route_refusal why;
		enum http_fault got = ask_post(rows[i].query, rows[i].type, rows[i].body,
					       strlen(rows[i].body), &ask, &why);
		ok(got == rows[i].fault &&
			   (got || (ask.n == rows[i].n && ask.seed == rows[i].seed)),
		   "%s", rows[i].name);
	}
	static const char bare[] =
		"POST /compute HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx";
	static const char gets[] = "GET /compute HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx";
	static const char text[] = "GET /compute HTTP/1.1\r\nHost: a\r\nAccept: text/plain\r\n\r\n";
	struct route_ask ask;
	struct route_refusal why;
	is(ask_text(bare, sizeof bare - 1, &ask, &why), HTTP_media_type, "a body without type");
	is(ask_text(gets, sizeof gets - 1, &ask, &why), HTTP_none,
	   "the body of a GET means nothing");
	ok(!ask.as_text, "JSON is the usual answer");
	is(ask_text(text, sizeof text - 1, &ask, &why), HTTP_none, "GET that wants text");
	ok(ask.as_text, "gets it");
}

static void test_details(void)
{
	static const struct {
		const char *query, *type, *body, *detail;
	} rows[] = {
		{ "?n=12x", JSON, "", "n \"12x\" at byte 2 of the query" },
		{ "?alg=mix64&seed=0xg", JSON, "", "seed \"0xg\" at byte 15 of the query" },
		{ "?n=1&foo=2", JSON, "", "name \"foo\" at byte 4 of the query" },
		{ "?n=1%zz2", JSON, "", "escape \"%zz\" at byte 3 of the query" },
		{ "?seed=4294967296", JSON, "{}", "seed above 32 bits at byte 5 of the query" },
		{ "", JSON, " {\"seed\": 4294967296}",
		  "seed above 32 bits at byte 10 of the body" },
		{ "", JSON, "{\"n\":1,}", "unexpected byte at byte 6 of the body" },
		{ "", JSON, "{\"n\":[]}", "nested value at byte 5 of the body" },
		{ "", JSON, "{\"\x7f\xc3\xa9\":1}", "name \"???\" at byte 2 of the body" },
		{ "", FORM, "n=5&alg=abcdefghijklmnopqrstuvwxyz",
		  "alg \"abcdefghijklmnopqrstuvwx...\" at byte 8 of the body" },
	};
	for (size_t i = 0; i < array_size(rows); i++) {
		struct route_ask ask;
		struct route_refusal why;
		ask_post(rows[i].query, rows[i].type, rows[i].body, strlen(rows[i].body), &ask,
			 &why);
		is_str(why.detail, rows[i].detail, "detail of '%s' '%s'", rows[i].query,
		       rows[i].body);
	}
}

/* --path: as bpf/path.h has it. */
static void test_below(void)
{
	static const struct {
		const char *target, *path;
		bool below;
	} rows[] = {
		{ "/compute", "/compute", true },
		{ "/compute?n=1", "/compute", true },
		{ "/compute/", "/compute", true },
		{ "/compute/x?y", "/compute", true },
		{ "/computer", "/compute", false },
		{ "/comput", "/compute", false },
		{ "/", "/compute", false },
		{ "/Compute", "/compute", false },
		{ "/%63ompute", "/compute", false },
		{ "/compute%2f", "/compute", false },
		{ "/compute;x", "/compute", false },
		{ "/x/compute", "/compute", false },
		{ "http://a/compute", "/compute", true },
		{ "http://a", "/compute", false },
		{ "//compute", "/compute", false },
		{ "/a/b/c", "/a/b", true },
	};

	for (unsigned i = 0; i < array_size(rows); i++) {
		struct http_head h;
		char text[200];
		int len = snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n",
				   rows[i].target);

		http_begin(&h);
		must(http_head(&h, (const uint8_t *)text, (size_t)len) == HTTP_WHOLE);
		is(route_below(&h, (const uint8_t *)text, rows[i].path), rows[i].below,
		   "%s is %sbelow %s", rows[i].target, rows[i].below ? "" : "not ", rows[i].path);
	}
}

static void test_small_limit(void)
{
	static const char text[] = "GET /compute HTTP/1.1\r\nHost: a\r\n\r\n";
	struct http_head h;
	struct route_ask ask;
	struct route_refusal why;

	http_begin(&h);
	must(http_head(&h, (const uint8_t *)text, sizeof text - 1) == HTTP_WHOLE);
	ok(route_head(&h, (const uint8_t *)text, 1000, &ask, &why), "with a --max-n of 1000");
	is(ask.n, 1000, "n defaults to it");
}

int main(void)
{
	test_paths();
	test_pairs();
	test_json();
	test_json_cut();
	test_bodies();
	test_details();
	test_small_limit();
	test_below();
	return done();
}
