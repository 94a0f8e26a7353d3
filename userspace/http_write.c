/* SPDX-License-Identifier: GPL-2.0-only */
/* http_write.c - answers, dates and the names of faults; http.h has the story */

#include "http.h"

/* --- words ------------------------------------------------------------------ */

static const struct fault {
	const char *name;
	const char *text;
	uint16_t status;
} faults[HTTP_FAULTS] = {
#define X(name, status, text) [HTTP_##name] = { #name, text, status },
	HTTP_FAULT_LIST(X)
#undef X
};

unsigned http_status(enum http_fault fault)
{
	return faults[fault].status;
}

const char *http_fault_name(enum http_fault fault)
{
	return faults[fault].name;
}

const char *http_fault_text(enum http_fault fault)
{
	return faults[fault].text;
}

/* RFC 9110 15. Each line goes on to the Date field, which every answer has. */
static const struct status_line {
	uint16_t status;
	uint16_t len;
	const char *line;
} status_lines[] = {
#define LINE(code, reason) \
	{ \
		code, sizeof("HTTP/1.1 " #code " " reason "\r\nDate: ") - 1, \
			"HTTP/1.1 " #code " " reason "\r\nDate: " \
	}
	LINE(200, "OK"),
	LINE(204, "No Content"),
	LINE(400, "Bad Request"),
	LINE(404, "Not Found"),
	LINE(405, "Method Not Allowed"),
	LINE(413, "Content Too Large"),
	LINE(414, "URI Too Long"),
	LINE(415, "Unsupported Media Type"),
	LINE(417, "Expectation Failed"),
	LINE(421, "Misdirected Request"),
	LINE(431, "Request Header Fields Too Large"),
	LINE(501, "Not Implemented"),
	LINE(503, "Service Unavailable"),
	LINE(505, "HTTP Version Not Supported"),
#undef LINE
};

/* --- pieces ------------------------------------------------------------------ */

/* All writers take the place to write to and return the place behind. */

#define put(at, literal) put_bytes(at, literal, sizeof(literal) - 1)

static inline uint8_t *put_bytes(uint8_t *at, const void *from, size_t n)
{
	memcpy(at, from, n);
	return at + n;
}

static uint8_t *put_string(uint8_t *at, const char *s)
{
	while (*s)
		*at++ = (uint8_t)*s++;
	return at;
}

static uint8_t *put_u64(uint8_t *at, uint64_t v)
{
	unsigned digits = 1;

	for (uint64_t rest = v; rest >= 10; rest /= 10)
		digits++;
	for (uint8_t *to = at + digits; to > at; v /= 10)
		*--to = '0' + (uint8_t)(v % 10);
	return at + digits;
}

static uint8_t *put_hex(uint8_t *at, uint64_t v, unsigned digits)
{
	at = put(at, "0x");
	for (unsigned shift = digits * 4; shift;) {
		shift -= 4;
		*at++ = (uint8_t) "0123456789abcdef"[v >> shift & 15];
	}
	return at;
}

/* Nanoseconds as milliseconds with three decimals. */
static uint8_t *put_ms(uint8_t *at, uint64_t ns)
{
	uint64_t us = ns / NS_PER_US + (ns % NS_PER_US >= NS_PER_US / 2);
	unsigned part = (unsigned)(us % 1000);

	at = put_u64(at, us / 1000);
	*at++ = '.';
	*at++ = '0' + (uint8_t)(part / 100);
	*at++ = '0' + (uint8_t)(part / 10 % 10);
	*at++ = '0' + (uint8_t)(part % 10);
	return at;
}

/* The inside of a JSON string, up to `end`; what is not ASCII becomes '?'. */
static uint8_t *put_escaped(uint8_t *at, const uint8_t *end, const char *s)
{
	for (; *s && at + 2 <= end; s++) {
		uint8_t c = (uint8_t)*s;
		if (c == '"' || c == '\\')
			*at++ = '\\';
		*at++ = c < 0x20 || c >= 0x7f ? '?' : c;
	}
	return at;
}

/* --- heads -------------------------------------------------------------------- */

static uint8_t *put_status(uint8_t *at, const struct http_reply *r, unsigned status)
{
	const struct status_line *line = status_lines;

	while (line->status != status) {
		line++;
		must(line < status_lines + array_size(status_lines));
	}
	at = put_bytes(at, line->line, line->len);
	at = put_bytes(at, r->date, HTTP_DATE_LEN);
	return put(at, "\r\n");
}

/* RFC 9112 9.3: 1.1 stays open unless told, 1.0 closes unless told. */
static uint8_t *put_end(uint8_t *at, const struct http_reply *r)
{
	if (!r->keep_alive)
		return put(at, "Connection: close\r\n\r\n");
	if (r->minor == 0)
		return put(at, "Connection: keep-alive\r\n\r\n");
	return put(at, "\r\n");
}

/* What stands between two stages makes room for the end of the line. */
static uint8_t *put_timing(uint8_t *at, const struct http_reply *r)
{
	if (!r->timed)
		return at;
	at = put(at, "Server-Timing: ");
	if (r->timed & HTTP_TIMED_STEER)
		at = put(put_ms(put(at, "steer;dur="), r->steer_ns), ", ");
	if (r->timed & HTTP_TIMED_PARSE)
		at = put(put_ms(put(at, "parse;dur="), r->parse_ns), ", ");
	if (r->timed & HTTP_TIMED_WAIT)
		at = put(put_ms(put(at, "wait;dur="), r->wait_ns), ", ");
	if (r->timed & HTTP_TIMED_COMPUTE)
		at = put(put_ms(put(at, "compute;dur="), r->compute_ns), ", ");
	memcpy(at - 2, "\r\n", 2);
	return at;
}

static uint8_t *put_cache(uint8_t *at, const struct http_reply *r)
{
	if (r->cache == HTTP_CACHE_HIT)
		return put(at, "X-Saker-Cache: hit\r\n");
	if (r->cache == HTTP_CACHE_MISS)
		return put(at, "X-Saker-Cache: miss\r\n");
	return at;
}

/* The fields of an answer with a body of so many bytes. */
static uint8_t *put_fields(uint8_t *at, const struct http_reply *r, const char *type, size_t len)
{
	at = put(at, "Content-Type: ");
	at = put_string(at, type);
	at = put(at, "\r\nContent-Length: ");
	at = put_u64(at, len);
	at = put(at, "\r\n");
	at = put_cache(at, r);
	at = put_timing(at, r);
	return put_end(at, r);
}

/* And the body, unless it was HEAD. */
static uint8_t *put_content(uint8_t *at, const struct http_reply *r, const char *type,
			    const uint8_t *body, size_t len)
{
	at = put_fields(at, r, type, len);
	return r->head_only ? at : put_bytes(at, body, len);
}

/* --- answers ------------------------------------------------------------------ */

enum {
	/* Names of 7 bytes, two numbers of 20, two of 18 and punctuation: 133. */
	HASH_BODY_MAX = 160,
	/* The longest text of a fault has 75 bytes; the rest is for the detail. */
	FAULT_BODY_MAX = 384,
};
_Static_assert(HTTP_REPLY_HEAD_MAX + FAULT_BODY_MAX <= HTTP_ANSWER_MAX, "a fault fits");
_Static_assert(HTTP_REPLY_HEAD_MAX + HASH_BODY_MAX <= HTTP_ANSWER_MAX, "a hash fits");
_Static_assert(HTTP_REPLY_HEAD_MAX + HTTP_TEXT_MAX <= HTTP_ANSWER_MAX, "a text fits");

size_t http_write_hash(uint8_t *to, const struct http_reply *r, const char *alg, unsigned bits,
		       uint64_t n, uint64_t seed, uint64_t hash, bool as_text)
{
	uint8_t body[HASH_BODY_MAX], *at = body;

	if (!as_text) {
		at = put(at, "{\"alg\":\"");
		at = put_string(at, alg);
		at = put(at, "\",\"n\":");
		at = put_u64(at, n);
		at = put(at, ",\"seed\":\"");
		at = put_hex(at, seed, bits / 4);
		at = put(at, "\",\"hash\":\"");
	}
	at = put_hex(at, hash, bits / 4);
	if (!as_text) {
		at = put(at, "\",\"compute_ns\":");
		at = put_u64(at, r->compute_ns);
		at = put(at, "}");
	}
	at = put(at, "\n");
	uint8_t *end = put_status(to, r, 200);
	end = put_content(end, r, as_text ? "text/plain" : "application/json", body,
			  (size_t)(at - body));
	return (size_t)(end - to);
}

size_t http_write_fault(uint8_t *to, const struct http_reply *r, enum http_fault fault,
			const char *allow, const char *detail)
{
	uint8_t body[FAULT_BODY_MAX], *at = body;
	const uint8_t *end = body + sizeof body - sizeof "\"}\n";
	unsigned status = http_status(fault);

	at = put(at, "{\"error\":\"");
	at = put_escaped(at, end, http_fault_text(fault));
	if (detail && *detail) {
		at = put(at, "\",\"detail\":\"");
		at = put_escaped(at, end, detail);
	}
	at = put(at, "\"}\n");
	uint8_t *to_at = put_status(to, r, status);
	if (status == 405 && allow) { /* RFC 9110 15.5.6: must */
		to_at = put(to_at, "Allow: ");
		to_at = put_string(to_at, allow);
		to_at = put(to_at, "\r\n");
	}
	to_at = put_content(to_at, r, "application/json", body, (size_t)(at - body));
	return (size_t)(to_at - to);
}

size_t http_write_busy(uint8_t *to, const struct http_reply *r, uint64_t wait_ns)
{
	uint8_t body[FAULT_BODY_MAX], *at = body, *end;

	at = put(at, "{\"error\":\"");
	at = put_string(at, http_fault_text(HTTP_busy));
	at = put(at, "\",\"wait_ms\":");
	at = put_u64(at, wait_ns / NS_PER_MS);
	at = put(at, "}\n");
	end = put(put_status(to, r, 503), "Retry-After: ");
	end = put_u64(end, max_u64(wait_ns / NS_PER_S + (wait_ns % NS_PER_S > 0), 1));
	end = put_content(put(end, "\r\n"), r, "application/json", body, (size_t)(at - body));
	return (size_t)(end - to);
}

size_t http_write_text(uint8_t *to, const struct http_reply *r, const char *type, const char *body)
{
	size_t len = 0;

	while (len <= HTTP_TEXT_MAX && body[len])
		len++;
	must(len <= HTTP_TEXT_MAX);
	uint8_t *at = put_status(to, r, 200);
	return (size_t)(put_content(at, r, type, (const uint8_t *)body, len) - to);
}

size_t http_write_echo(uint8_t *to, const struct http_reply *r, size_t len)
{
	uint8_t *at = put_status(to, r, 200);

	return (size_t)(put_fields(at, r, "text/plain", len) - to);
}

size_t http_write_stream(uint8_t *to, const struct http_reply *r, const char *type)
{
	uint8_t *at = put(put_status(to, r, 200), "Content-Type: ");

	must(r->minor || !r->keep_alive);
	at = put(put_string(at, type), "\r\n");
	if (r->minor)
		at = put(at, "Transfer-Encoding: chunked\r\n");
	return (size_t)(put_end(put_timing(at, r), r) - to);
}

/* RFC 9112 7.1: zeros in front are allowed, also of the last chunk, behind which is
 * no trailer. */
size_t http_write_chunk(uint8_t *to, size_t n)
{
	must(n <= HTTP_CHUNK_MAX);
	for (unsigned i = 0; i < 4; i++)
		to[i] = (uint8_t) "0123456789abcdef"[n >> (12 - 4 * i) & 15];
	memcpy(to + 4, "\r\n", 2);
	memcpy(to + HTTP_CHUNK_FRONT + n, "\r\n", HTTP_CHUNK_BACK);
	return HTTP_CHUNK_FRONT + n + HTTP_CHUNK_BACK;
}

/* RFC 9110 8.6: 204 must not have Content-Length. */
size_t http_write_allow(uint8_t *to, const struct http_reply *r, const char *allow)
{
	uint8_t *at = put_status(to, r, 204);

	at = put(at, "Allow: ");
	at = put_string(at, allow);
	at = put_timing(put(at, "\r\n"), r);
	return (size_t)(put_end(at, r) - to);
}

size_t http_write_continue(uint8_t *to)
{
	return (size_t)(put(to, "HTTP/1.1 100 Continue\r\n\r\n") - to);
}

/* --- dates -------------------------------------------------------------------- */

static void put_2(char *to, uint64_t v)
{
	to[0] = (char)('0' + v / 10 % 10);
	to[1] = (char)('0' + v % 10);
}

/* Counts days from 1 March, so that a leap day is the last of its year; 400
 * years (an era) have 146097 days. 719468 is 1 March 0000 to 1 January 1970. */
void http_date(uint64_t unix_s, char date[HTTP_DATE_LEN + 1])
{
	uint64_t days = unix_s / 86400, left = unix_s % 86400, z = days + 719468;
	uint64_t day = z % 146097; /* of the era */
	uint64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
	day -= 365 * year + year / 4 - year / 100; /* of the year */
	uint64_t month = (5 * day + 2) / 153;      /* March is 0; 153 days in 5 months */
	day -= (153 * month + 2) / 5;
	year += z / 146097 * 400 + (month >= 10);

	memcpy(date, "Thu, 01 Jan 1970 00:00:00 GMT", HTTP_DATE_LEN + 1);
	memcpy(date, &"ThuFriSatSunMonTueWed"[days % 7 * 3], 3);
	put_2(date + 5, day + 1);
	memcpy(date + 8, &"MarAprMayJunJulAugSepOctNovDecJanFeb"[month * 3], 3);
	put_2(date + 12, year / 100);
	put_2(date + 14, year);
	put_2(date + 17, left / 3600);
	put_2(date + 20, left / 60 % 60);
	put_2(date + 23, left % 60);
}
