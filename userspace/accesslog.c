/* SPDX-License-Identifier: GPL-2.0-only */
#include "accesslog.h"
#include "http.h"
#include "lane.h"

/* All writers take the place to write to and return the place behind. */

static char *put_string(char *at, const char *s)
{
	while (*s)
		*at++ = *s++;
	return at;
}

static char *put_number(char *at, uint64_t v)
{
	char digits[20];
	unsigned n = 0;

	do
		digits[n++] = (char)('0' + v % 10);
	while (v /= 10);
	while (n)
		*at++ = digits[--n];
	return at;
}

static char *put_hex(char *at, unsigned v, unsigned least)
{
	for (unsigned shift = 16; shift;) {
		shift -= 4;
		if (v >> shift || shift < least * 4)
			*at++ = "0123456789abcdef"[v >> shift & 15];
	}
	return at;
}

/* The calendar is http_date's: "Sun, 06 Nov 1994 08:49:37 GMT". */
static char *put_time(char *at, uint64_t ns)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	char date[HTTP_DATE_LEN + 1];
	uint64_t us = ns / NS_PER_US % 1000000;
	unsigned month = 0;

	http_date(ns / NS_PER_S, date);
	while (memcmp(months + 3 * month, date + 8, 3))
		month++;
	month++;
	memcpy(at, date + 12, 4);
	memcpy(at + 4, (char[]){ '-', (char)('0' + month / 10), (char)('0' + month % 10), '-' }, 4);
	memcpy(at + 8, date + 5, 2);
	at[10] = 'T';
	memcpy(at + 11, date + 17, 8);
	at[19] = '.';
	for (unsigned i = 6; i--; us /= 10)
		at[20 + i] = (char)('0' + us % 10);
	at[26] = 'Z';
	return at + 27;
}

/* The longest run of zeros, of two words at least; the first of such (RFC 5952 4.2). */
static unsigned longest_zeros(const uint8_t ip[16], unsigned *len)
{
	unsigned from = 8;

	*len = 1;
	for (unsigned i = 0; i < 8; i++) {
		unsigned n = 0;

		while (i + n < 8 && !be16(ip + 2 * (i + n)))
			n++;
		if (n > *len) {
			*len = n;
			from = i;
		}
	}
	return from;
}

static char *put_ip6(char *at, const uint8_t ip[16])
{
	unsigned len, zeros = longest_zeros(ip, &len);

	for (unsigned i = 0; i < 8; i++) {
		if (i == zeros) {
			at = put_string(at, "::");
			i += len - 1;
			continue;
		}
		if (i && i != zeros + len)
			*at++ = ':';
		at = put_hex(at, be16(ip + 2 * i), 1);
	}
	return at;
}

static char *put_peer(char *at, const struct accesslog_record *r)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (!memcmp(r->peer, mapped, sizeof mapped)) {
		for (unsigned i = 12; i < 16; i++) {
			at = put_number(at, r->peer[i]);
			*at++ = i < 15 ? '.' : ':';
		}
	} else {
		*at++ = '[';
		at = put_ip6(at, r->peer);
		at = put_string(at, "]:");
	}
	return put_number(at, r->port);
}

static char *put_target(char *at, const struct accesslog_record *r)
{
	size_t kept = min_u64(r->target_len, ACCESSLOG_TARGET);

	*at++ = '"';
	for (size_t i = 0; i < kept; i++) {
		uint8_t c = r->target[i];

		if (c > ' ' && c <= '~' && c != '"' && c != '\\')
			*at++ = (char)c;
		else
			at = put_hex(put_string(at, "\\x"), c, 2);
	}
	*at++ = '"';
	return kept < r->target_len ? put_string(at, "...") : at;
}

static const char *method_name(uint8_t method)
{
	static const char *const names[] = {
		[HTTP_GET] = "GET",
		[HTTP_HEAD_METHOD] = "HEAD",
		[HTTP_POST] = "POST",
		[HTTP_OPTIONS] = "OPTIONS",
	};
	return method < array_size(names) ? names[method] : "OTHER";
}

static char *put_job(char *at, const struct accesslog_record *r)
{
	if (!r->has_job)
		return put_string(at, " - -");
	*at++ = ' ';
	at = put_number(at, r->n);
	*at++ = ' ';
	return put_string(at, lane_alg_name(r->alg));
}

static char *put_ns(char *at, uint64_t ns)
{
	*at++ = ' ';
	return ns == ACCESSLOG_NO_TIME ? put_string(at, "-") : put_number(at, ns);
}

size_t accesslog_line(const struct accesslog_record *r, uint64_t epoch_ns, char *to)
{
	char *at = put_time(to, r->at_ns + epoch_ns);

	*at++ = ' ';
	at = put_peer(at, r);
	*at++ = ' ';
	if (r->has_target) {
		at = put_string(at, method_name(r->method));
		*at++ = ' ';
		at = put_target(at, r);
	} else {
		at = put_string(at, "- -");
	}
	*at++ = ' ';
	at = r->status ? put_number(at, r->status) : put_string(at, "-");
	at = put_job(at, r);
	at = put_ns(at, r->steer_ns);
	at = put_ns(at, r->parse_ns);
	at = put_ns(at, r->wait_ns);
	at = put_ns(at, r->compute_ns);
	at = put_ns(at, r->total_ns);
	at = put_string(at, r->is_sock ? " socket\n" : " bypass\n");
	return (size_t)(at - to);
}
