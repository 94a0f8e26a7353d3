/* SPDX-License-Identifier: GPL-2.0-only */
/* Answers, byte by byte; dates against the C library's calendar. */
#include <time.h>

#include "http.h"
#include "tap.h"

#define DATE "Sun, 06 Nov 1994 08:49:37 GMT"
#define JSON "Content-Type: application/json\r\n"

/* An answer as a string, with a mark behind it that must stay. */
static char answer[HTTP_ANSWER_MAX + 2];

static void fresh(void)
{
	memset(answer, '#', sizeof answer);
}

static const char *sealed(size_t len)
{
	if (len > HTTP_ANSWER_MAX || answer[len] != '#')
		return "written beyond its length";
	answer[len] = 0;
	return answer;
}

static const struct http_reply plain = { .date = DATE, .keep_alive = true, .minor = 1 };

static void test_hash(void)
{
	struct http_reply r = plain;
	uint8_t *to = (uint8_t *)answer;

	r.timed = HTTP_TIMED_PARSE | HTTP_TIMED_WAIT | HTTP_TIMED_COMPUTE;
	r.parse_ns = 1499;
	r.wait_ns = 499;
	r.compute_ns = 12503112;
	fresh();
	is_str(sealed(http_write_hash(to, &r, "fnv1a32", 32, 10000000, 0x811c9dc5, 0x25be6645,
				      false)),
	       "HTTP/1.1 200 OK\r\nDate: " DATE "\r\n" JSON "Content-Length: 93\r\n"
	       "Server-Timing: parse;dur=0.001, wait;dur=0.000, compute;dur=12.503\r\n\r\n"
	       "{\"alg\":\"fnv1a32\",\"n\":10000000,\"seed\":\"0x811c9dc5\",\"hash\":"
	       "\"0x25be6645\","
	       "\"compute_ns\":12503112}\n",
	       "a hash in JSON");
	fresh();
	r.timed = 0;
	is_str(sealed(http_write_hash(to, &r, "fnv1a32", 32, 0, 0, 0xbeef, true)),
	       "HTTP/1.1 200 OK\r\nDate: " DATE "\r\nContent-Type: text/plain\r\n"
	       "Content-Length: 11\r\n\r\n0x0000beef\n",
	       "a hash as text, padded to its width");
	fresh();
	r.head_only = true;
	is_str(sealed(http_write_hash(to, &r, "mix64", 64, 0, 0, 42, true)),
	       "HTTP/1.1 200 OK\r\nDate: " DATE "\r\nContent-Type: text/plain\r\n"
	       "Content-Length: 19\r\n\r\n",
	       "HEAD has the length of what it leaves out");
	r = (struct http_reply){ .date = DATE,
				 .timed = 0xf,
				 .steer_ns = UINT64_MAX,
				 .parse_ns = UINT64_MAX,
				 .wait_ns = UINT64_MAX,
				 .compute_ns = UINT64_MAX };
	fresh();
	const char *got = sealed(
		http_write_hash(to, &r, "fnv1a64", 64, UINT64_MAX, UINT64_MAX, UINT64_MAX, false));
	ok(strstr(got, "compute;dur=18446744073709.552\r\n") &&
		   strstr(got, "_ns\":1844674407370955"
			       "1615}\n") &&
		   strstr(got, "\"seed\":\"0xffffffffffffffff\""),
	   "the largest numbers are written in full");
	uint64_t length = strtoull(strstr(got, "Content-Length: ") + 16, NULL, 10);
	is(length, strlen(strstr(got, "\r\n\r\n") + 4), "and Content-Length is right");
}

static void test_cache(void)
{
	static const char *const want[] = {
		[HTTP_CACHE_NONE] = "Content-Length: 19\r\n\r\n",
		[HTTP_CACHE_HIT] = "Content-Length: 19\r\nX-Saker-Cache: hit\r\n\r\n",
		[HTTP_CACHE_MISS] = "Content-Length: 19\r\nX-Saker-Cache: miss\r\n\r\n",
	};
	struct http_reply r = plain;
	uint8_t *to = (uint8_t *)answer;

	for (unsigned i = 0; i < array_size(want); i++) {
		r.cache = (uint8_t)i;
		fresh();
		ok(strstr(sealed(http_write_hash(to, &r, "mix64", 64, 1, 1, 1, true)), want[i]),
		   "the cache is told of: %u", i);
	}
}

static void test_echo(void)
{
	struct http_reply r = plain;
	uint8_t *to = (uint8_t *)answer;

	fresh();
	is_str(sealed(http_write_echo(to, &r, 1048576)),
	       "HTTP/1.1 200 OK\r\nDate: " DATE "\r\nContent-Type: text/plain\r\n"
	       "Content-Length: 1048576\r\n\r\n",
	       "the head of an echo");
	/* the longest head of all */
	r = (struct http_reply){ .date = DATE,
				 .cache = HTTP_CACHE_MISS,
				 .timed = 0xf,
				 .steer_ns = UINT64_MAX,
				 .parse_ns = UINT64_MAX,
				 .wait_ns = UINT64_MAX,
				 .compute_ns = UINT64_MAX };
	fresh();
	ok(strlen(sealed(http_write_fault(to, &r, HTTP_head_long, NULL, ""))) -
			   strlen(strstr(answer, "\r\n\r\n") + 4) <=
		   HTTP_REPLY_HEAD_MAX - sizeof "Allow: GET, HEAD, POST, OPTIONS",
	   "every head has room in HTTP_REPLY_HEAD_MAX");
	ok(strstr(answer, "Server-Timing: steer;dur=18446744073709.552, parse;dur="), "(of all)");
}

static void test_stream(void)
{
	struct http_reply r = plain;
	uint8_t *to = (uint8_t *)answer;

	fresh();
	is_str(sealed(http_write_stream(to, &r, "text/plain; version=0.0.4")),
	       "HTTP/1.1 200 OK\r\nDate: " DATE "\r\nContent-Type: text/plain; version=0.0.4\r\n"
	       "Transfer-Encoding: chunked\r\n\r\n",
	       "a body of unknown length comes in chunks");
	r.minor = 0;
	r.keep_alive = false;
	fresh();
	is_str(sealed(http_write_stream(to, &r, "a/b")),
	       "HTTP/1.1 200 OK\r\nDate: " DATE
	       "\r\nContent-Type: a/b\r\nConnection: close\r\n\r\n",
	       "for HTTP/1.0 it ends with the connection");
	fresh();
	memset(answer + HTTP_CHUNK_FRONT, 'x', 300);
	const char *got = sealed(http_write_chunk(to, 300));
	ok(!strncmp(got, "012c\r\nxxx", 9) && strlen(got) == 308 && !strcmp(got + 305, "x\r\n"),
	   "a chunk around its bytes");
	fresh();
	is_str(sealed(http_write_chunk(to, 0)), "0000\r\n\r\n", "the last one");
}

static void test_timing(void)
{
	static const struct {
		uint64_t ns;
		const char *ms;
	} rows[] = { { 0, "0.000" },
		     { 499, "0.000" },
		     { 500, "0.001" },
		     { 999499, "0.999" },
		     { 999500, "1.000" },
		     { 1000000, "1.000" },
		     { 60012345678, "60012.346" } };

	for (size_t i = 0; i < array_size(rows); i++) {
		struct http_reply r = plain;
		char want[64];
		r.timed = HTTP_TIMED_COMPUTE;
		r.compute_ns = rows[i].ns;
		snprintf(want, sizeof want, "\r\nServer-Timing: compute;dur=%s\r\n", rows[i].ms);
		fresh();
		const char *got = sealed(
			http_write_hash((uint8_t *)answer, &r, "mix64", 64, 1, 1, 1, true));
		ok(strstr(got, want), "%" PRIu64 " ns are %s ms", rows[i].ns, rows[i].ms);
	}
}

static void test_connection(void)
{
	static const struct {
		bool keep;
		uint8_t minor;
		const char *want;
	} rows[] = {
		{ true, 1, "\r\nContent-Length: 3\r\n\r\nok\n" },
		{ false, 1, "\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n" },
		{ true, 0, "\r\nContent-Length: 3\r\nConnection: keep-alive\r\n\r\nok\n" },
		{ false, 0, "\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n" },
	};
	for (size_t i = 0; i < array_size(rows); i++) {
		struct http_reply r = plain;
		r.keep_alive = rows[i].keep;
		r.minor = rows[i].minor;
		fresh();
		const char *got = sealed(
			http_write_text((uint8_t *)answer, &r, "text/plain", "ok\n"));
		ok(strstr(got, rows[i].want), "HTTP/1.%u that %s says so as it must", r.minor,
		   r.keep_alive ? "stays open" : "closes");
	}
}

static void test_faults(void)
{
	struct http_reply r = plain;
	uint8_t *to = (uint8_t *)answer;

	r.keep_alive = false;
	for (unsigned f = HTTP_none + 1; f < HTTP_FAULTS; f++) {
		char line[32], body[200];
		snprintf(line, sizeof line, "HTTP/1.1 %u ", http_status(f));
		snprintf(body, sizeof body, "\r\n\r\n{\"error\":\"%s\"}\n", http_fault_text(f));
		fresh();
		const char *got = sealed(http_write_fault(to, &r, f, NULL, ""));
		const char *length = strstr(got, "Content-Length: ");
		ok(!strncmp(got, line, strlen(line)) && strstr(got, body) &&
			   strstr(got, "Connection: close\r\n") && length &&
			   strtoul(length + 16, NULL, 10) == strlen(body) - 4,
		   "%s is %u and its text", http_fault_name(f), http_status(f));
	}
	fresh();
	ok(strstr(sealed(http_write_busy(to, &r, 0)), "\r\nRetry-After: 1\r\nContent-Type"),
	   "busy says when to come back, in a second at the earliest");
	ok(strstr(answer, "\",\"wait_ms\":0}\n"), "and what the wait would be");
	fresh();
	ok(strstr(sealed(http_write_busy(to, &r, 2000000001)), "\r\nRetry-After: 3\r\n") &&
		   strstr(answer, "\"wait_ms\":2000}\n"),
	   "in whole seconds, rounded up; in milliseconds");
	fresh();
	ok(strstr(sealed(http_write_busy(to, &r, UINT64_MAX)), "\r\nRetry-After: 18446744074\r\n"),
	   "however long");
	fresh();
	ok(strstr(sealed(http_write_fault(to, &r, HTTP_bad_method, "GET, HEAD", NULL)),
		  "\r\nAllow: GET, HEAD\r\n"),
	   "a method not allowed names those that are");
	fresh();
	ok(strstr(sealed(http_write_fault(to, &r, HTTP_bad_number, NULL,
					  "n \"1\\\x01\x7f\xc3\xa9\" at byte 2")),
		  "wanted form\",\"detail\":\"n \\\"1\\\\????\\\" at byte 2\"}\n"),
	   "a detail is escaped");
	char longest[2000];
	memset(longest, '"', sizeof longest);
	longest[sizeof longest - 1] = 0;
	fresh();
	const char *got = sealed(
		http_write_fault(to, &r, HTTP_bad_method, "GET, HEAD, POST, OPTIONS", longest));
	ok(!strcmp(got + strlen(got) - 5, "\\\"\"}\n"), "a detail that is too long is cut whole");
	ok(strlen(got) <= HTTP_ANSWER_MAX, "and the answer fits");
}

static void test_others(void)
{
	uint8_t *to = (uint8_t *)answer;

	fresh();
	is_str(sealed(http_write_allow(to, &plain, "GET, OPTIONS")),
	       "HTTP/1.1 204 No Content\r\nDate: " DATE "\r\nAllow: GET, OPTIONS\r\n\r\n",
	       "OPTIONS: no content and no length");
	fresh();
	is_str(sealed(http_write_continue(to)), "HTTP/1.1 100 Continue\r\n\r\n", "100 Continue");
	char body[HTTP_TEXT_MAX + 1];
	memset(body, 'x', HTTP_TEXT_MAX);
	body[HTTP_TEXT_MAX] = 0;
	fresh();
	ok(strstr(sealed(http_write_text(to, &plain, "text/plain; charset=utf-8", body)), body),
	   "the longest text fits");
}

static void test_date(void)
{
	char got[HTTP_DATE_LEN + 1], want[64];
	unsigned wrong = 0;

	http_date(784111777, got);
	is_str(got, DATE, "the date of RFC 9110");
	http_date(0, got);
	is_str(got, "Thu, 01 Jan 1970 00:00:00 GMT", "the first second");
	http_date(951782400, got);
	is_str(got, "Tue, 29 Feb 2000 00:00:00 GMT", "a leap day of a fourth century");
	http_date(4107542399, got);
	is_str(got, "Sun, 28 Feb 2100 23:59:59 GMT", "no leap day in 2100");
	/* every day up to the year 2800, at a moving time of day */
	for (time_t t = 0; t < 26179200000; t += 86400 - 77) {
		struct tm tm;
		gmtime_r(&t, &tm);
		strftime(want, sizeof want, "%a, %d %b %Y %H:%M:%S GMT", &tm);
		http_date((uint64_t)t, got);
		wrong += strcmp(got, want) != 0;
	}
	is(wrong, 0, "every day until 2800 as the C library has it");
}

int main(void)
{
	test_hash();
	test_cache();
	test_echo();
	test_stream();
	test_timing();
	test_connection();
	test_faults();
	test_others();
	test_date();
	return done();
}
