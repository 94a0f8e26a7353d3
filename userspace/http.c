/* SPDX-License-Identifier: GPL-2.0-only */
/* http.c - the request parser; http.h has the story */

#include "http.h"
#include "http_private.h"

/* --- bytes ----------------------------------------------------------------- */

enum { ALL = TOKEN | URI | NAME };

const uint8_t http_classes[256] = {
	['!'] = ALL,         ['#'] = TOKEN,      ['$'] = ALL,         ['%'] = TOKEN | URI,
	['&'] = ALL,         ['\''] = ALL,       ['('] = URI | NAME,  [')'] = URI | NAME,
	['*'] = ALL,         ['+'] = ALL,        [','] = URI | NAME,  ['-'] = ALL,
	['.'] = ALL,         ['/'] = URI,        ['0' ... '9'] = ALL, [':'] = URI,
	[';'] = URI | NAME,  ['='] = URI | NAME, ['?'] = URI,         ['@'] = URI,
	['A' ... 'Z'] = ALL, ['['] = URI,        [']'] = URI,         ['^'] = TOKEN,
	['_'] = ALL,         ['`'] = TOKEN,      ['a' ... 'z'] = ALL, ['|'] = TOKEN,
	['~'] = ALL,
};

struct span {
	const uint8_t *at;
	size_t len;
};

/* Compare with a word in lower case. Both sides hold no control characters, so
 * setting bit 5 folds letters and leaves the other bytes of our words alone. */
static bool word_is(struct span s, const char *word, size_t len)
{
	if (s.len != len)
		return false;
	for (size_t i = 0; i < len; i++)
		if ((s.at[i] | 0x20) != (uint8_t)word[i])
			return false;
	return true;
}
#define is_word(s, word) word_is(s, word, sizeof(word) - 1)

/* Offset of the first control character at or after `at`, else end. Eight bytes
 * a step: borrows spoil only bytes above the first hit, which is the lowest. */
static size_t text_end(const uint8_t *bytes, size_t at, size_t end)
{
	const uint64_t ones = 0x0101010101010101;

	for (; at + 8 <= end; at += 8) {
		uint64_t v;
		memcpy(&v, bytes + at, sizeof v);
		uint64_t del = v ^ (ones * 0x7f);
		uint64_t hit = ((v - ones * 0x20) & ~v) | ((del - ones) & ~del);
		hit &= ones * 0x80;
		if (hit)
			return at + (size_t)__builtin_ctzll(hit) / 8;
	}
	while (at < end && !is_control(bytes[at]))
		at++;
	return at;
}

static struct span trim(struct span s)
{
	while (s.len && (s.at[0] == ' ' || s.at[0] == '\t')) {
		s.at++;
		s.len--;
	}
	while (s.len && (s.at[s.len - 1] == ' ' || s.at[s.len - 1] == '\t'))
		s.len--;
	return s;
}

/* Take what is before the next `by`, trimmed; *rest is what is behind it. */
static struct span cut(struct span *rest, uint8_t by)
{
	struct span head = { rest->at, 0 };

	while (head.len < rest->len && rest->at[head.len] != by)
		head.len++;
	size_t used = head.len < rest->len ? head.len + 1 : head.len;
	rest->at += used;
	rest->len -= used;
	return trim(head);
}

/* The next element of a comma list; empty ones are skipped (RFC 9110 5.6.1.2). */
static bool list_next(struct span *rest, struct span *item)
{
	while (rest->len) {
		*item = cut(rest, ',');
		if (item->len)
			return true;
	}
	return false;
}

static bool fail(struct http_head *h, enum http_fault fault)
{
	h->fault = (uint8_t)fault;
	return false;
}

/* --- hosts ------------------------------------------------------------------ */

/* RFC 9110 4.2.1, RFC 3986 3.2.2: host [ ":" port ]. An empty host is refused:
 * http has no use for it. IPv6 literals are checked by their bytes only. */
static bool host_good(struct span s)
{
	size_t i = 0;

	if (s.len && s.at[0] == '[') {
		for (i = 1; i < s.len && s.at[i] != ']'; i++)
			if (hex_value(s.at[i]) < 0 && s.at[i] != ':' && s.at[i] != '.')
				return false;
		if (i < 3 || i++ == s.len) /* [::] is the shortest */
			return false;
	} else {
		while (i < s.len && (http_classes[s.at[i]] & NAME))
			i++;
		if (!i)
			return false;
	}
	if (i < s.len && s.at[i++] != ':')
		return false;
	size_t port = i;
	while (i < s.len && is_digit(s.at[i]))
		i++;
	return i == s.len && i - port <= 5;
}

/* --- the request line (RFC 9112 3) ------------------------------------------- */

/* RFC 9112 2.2: empty lines before the request line are ignored. */
static bool read_start(struct http_head *h, const uint8_t *bytes, size_t end)
{
	while (h->seen < end) {
		uint8_t c = bytes[h->seen];
		if (c == '\n')
			return fail(h, HTTP_bad_newline);
		if (c != '\r') {
			h->line = h->seen;
			h->state = AT_METHOD;
			return true;
		}
		if (h->seen + 1 == end)
			return false;
		if (bytes[h->seen + 1] != '\n')
			return fail(h, HTTP_bad_newline);
		h->seen += 2;
	}
	return false;
}

static enum http_method method_of(const uint8_t *at, size_t len)
{
	static const struct {
		const char *name;
		uint8_t len, method;
	} known[] = {
		{ "GET", 3, HTTP_GET },     { "HEAD", 4, HTTP_HEAD_METHOD },
		{ "POST", 4, HTTP_POST },   { "OPTIONS", 7, HTTP_OPTIONS },
		{ "PUT", 3, HTTP_KNOWN },   { "DELETE", 6, HTTP_KNOWN },
		{ "TRACE", 5, HTTP_KNOWN }, { "PATCH", 5, HTTP_KNOWN },
	};

	for (size_t i = 0; i < array_size(known); i++)
		if (len == known[i].len && !memcmp(at, known[i].name, len))
			return known[i].method;
	return HTTP_OTHER;
}

static bool read_method(struct http_head *h, const uint8_t *bytes, size_t end)
{
	while (h->seen < end && is_token(bytes[h->seen]))
		h->seen++;
	if (h->seen == end)
		return false;
	uint8_t c = bytes[h->seen];
	if (c == '\n')
		return fail(h, HTTP_bad_newline);
	if (c == '\r' || h->seen == h->line)
		return fail(h, c == '\r' || c == ' ' ? HTTP_bad_line : HTTP_bad_method_token);
	if (c != ' ')
		return fail(h, HTTP_bad_method_token);
	h->method = (uint8_t)method_of(bytes + h->line, h->seen - h->line);
	h->target = ++h->seen;
	h->state = AT_TARGET;
	return true;
}

static bool read_target(struct http_head *h, const uint8_t *bytes, size_t end)
{
	while (h->seen < end && (http_classes[bytes[h->seen]] & URI))
		h->seen++;
	h->target_len = h->seen - h->target;
	if (h->target_len > HTTP_TARGET_MAX)
		return fail(h, HTTP_target_long);
	if (h->seen == end)
		return false;
	uint8_t c = bytes[h->seen];
	if (c == '\n')
		return fail(h, HTTP_bad_newline);
	if (c == '\r' || (c == ' ' && !h->target_len))
		return fail(h, HTTP_bad_line);
	if (c != ' ')
		return fail(h, HTTP_bad_target);
	h->seen++;
	h->state = AT_VERSION;
	return true;
}

/* Is it a form that the method may have (RFC 9112 3.2)? Absolute-form is cut
 * down to its path and query. */
static bool target_form(struct http_head *h, const uint8_t *bytes)
{
	struct span t = { bytes + h->target, h->target_len };

	if (t.at[0] == '/')
		return true;
	if (t.len == 1 && t.at[0] == '*' && h->method == HTTP_OPTIONS)
		return true;
	size_t scheme = t.len > 7 && word_is((struct span){ t.at, 7 }, "http://", 7)  ? 7 :
			t.len > 8 && word_is((struct span){ t.at, 8 }, "https://", 8) ? 8 :
											0;
	if (!scheme) /* CONNECT's authority-form is right, but not for us */
		return fail(h, h->method == HTTP_OTHER ? HTTP_not_implemented : HTTP_bad_target);
	struct span host = { t.at + scheme, 0 };
	while (scheme + host.len < t.len && host.at[host.len] != '/' && host.at[host.len] != '?')
		host.len++;
	if (!host_good(host))
		return fail(h, HTTP_bad_target);
	h->target += scheme + host.len;
	h->target_len -= scheme + host.len;
	return true;
}

/* RFC 9113 3.4: 1.1 calls it PRI, a method that nobody else may have. */
static bool is_h2_preface(const struct http_head *h, const uint8_t *bytes)
{
	static const char line[] = "PRI * HTTP/2.0\r\n";

	return h->seen - h->line == sizeof line - 1 &&
	       !memcmp(bytes + h->line, line, sizeof line - 1);
}

static bool read_version(struct http_head *h, const uint8_t *bytes, size_t end)
{
	static const char form[] = "HTTP/0.0\r\n"; /* 0 stands for any digit */
	size_t from = h->target + h->target_len + 1;

	while (h->seen < end) {
		size_t i = h->seen - from;
		uint8_t c = bytes[h->seen++];
		if (form[i] == '0' ? !is_digit(c) : c != (uint8_t)form[i])
			return fail(h, c == '\n' || form[i] == '\n' ? HTTP_bad_newline :
								      HTTP_bad_line);
		if (form[i] != '\n')
			continue;
		h->minor = bytes[from + 7] - '0';
		if (bytes[from + 5] != '1' || h->minor > 1)
			return fail(h,
				    is_h2_preface(h, bytes) ? HTTP_h2_preface : HTTP_bad_version);
		h->keep_alive = h->minor == 1;
		h->line = h->seen;
		h->state = AT_FIELDS;
		return target_form(h, bytes);
	}
	return false;
}

/* --- fields (RFC 9112 5) ----------------------------------------------------- */

static bool field_host(struct http_head *h, struct span value)
{
	if (h->has_host || !host_good(value))
		return fail(h, HTTP_bad_host);
	h->has_host = true;
	return true;
}

/* A value too big for 64 bits stays at their end: far above any limit. */
static bool field_length(struct http_head *h, struct span value)
{
	uint64_t n = 0;

	if (h->has_length || !value.len)
		return fail(h, HTTP_bad_length);
	for (size_t i = 0; i < value.len; i++) {
		if (!is_digit(value.at[i]))
			return fail(h, HTTP_bad_length);
		uint64_t digit = value.at[i] - (uint64_t)'0';
		n = n > (UINT64_MAX - digit) / 10 ? UINT64_MAX : n * 10 + digit;
	}
	h->has_length = true;
	h->length = n;
	return true;
}

/* RFC 9112 6.1: chunked is the only coding we know; it comes once and last. Empty
 * elements are legal (RFC 9110 5.6.1.2), but to some "chunked," is not chunked. */
static bool field_coding(struct http_head *h, struct span value)
{
	h->has_coding = true;
	if (!value.len || value.at[value.len - 1] == ',')
		return fail(h, HTTP_bad_framing);
	while (value.len) {
		struct span item = cut(&value, ',');
		if (!item.len || h->chunked)
			return fail(h, HTTP_bad_framing);
		if (!is_word(item, "chunked"))
			return fail(h, HTTP_not_implemented);
		h->chunked = true;
	}
	return true;
}

static void field_connection(struct http_head *h, struct span value)
{
	struct span item;

	while (list_next(&value, &item)) {
		if (is_word(item, "close"))
			h->close = true;
		else if (is_word(item, "keep-alive"))
			h->keep_alive = true;
	}
}

/* Two Content-Types could be read in two ways: neither is believed. */
static void field_type(struct http_head *h, struct span value)
{
	struct span type = cut(&value, ';');

	if (h->media == HTTP_MEDIA_NONE && is_word(type, "application/json"))
		h->media = HTTP_MEDIA_JSON;
	else if (h->media == HTTP_MEDIA_NONE && is_word(type, "application/x-www-form-urlencoded"))
		h->media = HTTP_MEDIA_FORM;
	else if (h->media == HTTP_MEDIA_NONE && is_word(type, "text/plain"))
		h->media = HTTP_MEDIA_TEXT;
	else
		h->media = HTTP_MEDIA_OTHER;
}

/* The q among parameters, in thousandths; 1000 without, -1 when malformed
 * (RFC 9110 12.4.2). */
static int weight(struct span params)
{
	while (params.len) {
		struct span p = cut(&params, ';');
		if (p.len < 2 || (p.at[0] | 0x20) != 'q' || p.at[1] != '=')
			continue;
		int q = 0, scale = 1000;
		if (p.len < 3 || p.len > 7 || (p.len > 3 && p.at[3] != '.'))
			return -1;
		for (size_t i = 2; i < p.len; i++) {
			if (i == 3)
				continue;
			if (!is_digit(p.at[i]))
				return -1;
			q += (p.at[i] - '0') * scale;
			scale /= 10;
		}
		return q <= 1000 ? q : -1;
	}
	return 1000;
}

/* The nearest range decides what JSON is worth (RFC 9110 12.5.1); text/plain
 * must be named. */
static void field_accept(struct http_head *h, struct span value)
{
	struct span item;

	while (list_next(&value, &item)) {
		struct span range = cut(&item, ';');
		int q = weight(item);
		if (q < 0)
			continue;
		if (is_word(range, "text/plain"))
			h->text_q = (uint16_t)q;
		uint8_t rank = is_word(range, "application/json") ? 3 :
			       is_word(range, "application/*")    ? 2 :
			       is_word(range, "*/*")              ? 1 :
								    0;
		if (rank && rank >= h->json_rank) {
			h->json_rank = rank;
			h->json_q = (uint16_t)q;
		}
	}
}

static bool field_expect(struct http_head *h, struct span value)
{
	if (!is_word(value, "100-continue"))
		return fail(h, HTTP_expectation);
	h->expect = true;
	return true;
}

static bool field_take(struct http_head *h, struct span name, struct span value)
{
	switch (name.len) { /* most names differ in length from all of ours */
	case 4:
		return is_word(name, "host") ? field_host(h, value) : true;
	case 6:
		if (is_word(name, "expect"))
			return field_expect(h, value);
		if (is_word(name, "accept"))
			field_accept(h, value);
		return true;
	case 10:
		if (is_word(name, "connection"))
			field_connection(h, value);
		return true;
	case 12:
		if (is_word(name, "content-type"))
			field_type(h, value);
		return true;
	case 14:
		return is_word(name, "content-length") ? field_length(h, value) : true;
	case 17:
		return is_word(name, "transfer-encoding") ? field_coding(h, value) : true;
	default:
		return true;
	}
}

/* The line that ends the head is here: what can be judged only now. */
static bool head_whole(struct http_head *h)
{
	if (h->minor == 1 && !h->has_host)
		return fail(h, HTTP_bad_host);
	/* RFC 9112 6.1: chunked in 1.0, or with Content-Length, is faulty framing */
	if (h->has_coding && (!h->chunked || h->has_length || h->minor == 0))
		return fail(h, HTTP_bad_framing);
	if (h->close)
		h->keep_alive = false;
	/* RFC 9110 10.1.1: 1.0 cannot want it; without a body there is nothing to hold back */
	h->expect = h->expect && h->minor == 1 && (h->chunked || h->length);
	h->accept = h->text_q > h->json_q ? HTTP_MEDIA_TEXT : HTTP_MEDIA_JSON;
	h->state = AT_BODY;
	return true;
}

/* One line of fields, or the empty one that ends the head. */
static bool read_field(struct http_head *h, const uint8_t *bytes, size_t end)
{
	size_t at = text_end(bytes, h->seen, end);

	while (at < end && bytes[at] == '\t')
		at = text_end(bytes, at + 1, end);
	h->seen = (uint32_t)at;
	if (at == end || (bytes[at] == '\r' && at + 1 == end))
		return false;
	if (bytes[at] == '\n' || (bytes[at] == '\r' && bytes[at + 1] != '\n'))
		return fail(h, HTTP_bad_newline);

	struct span line = { bytes + h->line, at - h->line };
	struct span name = { line.at, 0 };
	if (bytes[at] == '\r')
		h->line = h->seen = (uint32_t)at + 2;
	if (!line.len && bytes[at] == '\r')
		return head_whole(h);
	if (line.len && (line.at[0] == ' ' || line.at[0] == '\t'))
		return fail(h, HTTP_bad_fold);
	while (name.len < line.len && is_token(name.at[name.len]))
		name.len++;
	if (!name.len || name.len == line.len || name.at[name.len] != ':')
		return fail(h, HTTP_bad_field_name);
	if (bytes[at] != '\r')
		return fail(h, HTTP_bad_field_value);
	struct span value = { name.at + name.len + 1, line.len - name.len - 1 };
	return field_take(h, name, trim(value));
}

void http_begin(struct http_head *h)
{
	memset(h, 0, sizeof *h);
}

enum http_step http_head(struct http_head *h, const uint8_t *bytes, size_t len)
{
	size_t end = min_u64(len, HTTP_HEAD_MAX);
	bool more = !h->fault;

	/* A verdict depends on the bytes before it only, never on how they came:
	 * each reader stops at its first fault, and none looks beyond `end`. */
	while (more) {
		switch (h->state) {
		case AT_START:
			more = read_start(h, bytes, end);
			break;
		case AT_METHOD:
			more = read_method(h, bytes, end);
			break;
		case AT_TARGET:
			more = read_target(h, bytes, end);
			break;
		case AT_VERSION:
			more = read_version(h, bytes, end);
			break;
		case AT_FIELDS:
			more = read_field(h, bytes, end);
			break;
		default:
			return HTTP_WHOLE;
		}
	}
	if (!h->fault && len >= HTTP_HEAD_MAX)
		h->fault = HTTP_head_long;
	return h->fault ? HTTP_BAD : HTTP_MORE;
}
