/* SPDX-License-Identifier: GPL-2.0-only */
/* http_body.c - where a body ends, and chunks undone in place (RFC 9112 6, 7) */

#include "http.h"
#include "http_private.h"

/* Where a chunked body stands: the next byte is ... */
enum {
	CHUNK_SIZE_FIRST, /* first hex digit of a size */
	CHUNK_SIZE,       /* another one, or its end */
	CHUNK_EXT_FIRST,  /* first byte of an extension's name */
	CHUNK_EXT_NAME,
	CHUNK_EXT_EQUAL, /* first byte of its value */
	CHUNK_EXT_VALUE,
	CHUNK_EXT_QUOTED,
	CHUNK_EXT_ESCAPED, /* after a backslash */
	CHUNK_EXT_QUOTE,   /* after the closing quote */
	CHUNK_SIZE_LF,
	CHUNK_DATA,
	CHUNK_DATA_CR,
	CHUNK_DATA_LF,
	CHUNK_TRAILER_FIRST,
	CHUNK_TRAILER_NAME,
	CHUNK_TRAILER_VALUE,
	CHUNK_TRAILER_LF,
	CHUNK_LAST_LF,
	CHUNK_END,
};

enum {
	CHUNK_DIGITS = 15, /* 60 bits: no sum of sizes below can wrap */
	/* Extensions and trailers of one message, together: as much as a head. */
	CHUNK_EXTRA_MAX = HTTP_HEAD_MAX,
};

/* The size line is read: data, or the trailers behind the last chunk. */
static uint8_t chunk_open(const struct http_head *h)
{
	return h->chunk_left ? CHUNK_DATA : CHUNK_TRAILER_FIRST;
}

/* A byte of a chunk's size. No sign, no 0x, no space: RFC 9112 7.1. */
static enum http_fault chunk_size(struct http_head *h, uint8_t c)
{
	int digit = hex_value(c);

	if (digit >= 0) {
		h->chunk_digits = h->chunk_state == CHUNK_SIZE ? h->chunk_digits + 1 : 1;
		h->chunk_left = h->chunk_left << 4 | (uint64_t)digit;
		h->chunk_state = CHUNK_SIZE;
		return h->chunk_digits > CHUNK_DIGITS ? HTTP_bad_chunk : HTTP_none;
	}
	if (h->chunk_state == CHUNK_SIZE_FIRST || (c != '\r' && c != ';'))
		return c == '\n' ? HTTP_bad_newline : HTTP_bad_chunk;
	h->chunk_state = c == ';' ? CHUNK_EXT_FIRST : CHUNK_SIZE_LF;
	return HTTP_none;
}

/* A byte of an extension: ;name, ;name=token or ;name="text" (RFC 9112 7.1.1),
 * without the white space that its grammar calls bad. */
static enum http_fault chunk_ext(struct http_head *h, uint8_t c)
{
	bool token = is_token(c);
	uint8_t next = CHUNK_END; /* nothing fits */

	switch (h->chunk_state) {
	case CHUNK_EXT_FIRST:
		next = token ? CHUNK_EXT_NAME : CHUNK_END;
		break;
	case CHUNK_EXT_EQUAL:
		next = token ? CHUNK_EXT_VALUE : c == '"' ? CHUNK_EXT_QUOTED : CHUNK_END;
		break;
	case CHUNK_EXT_QUOTED:
	case CHUNK_EXT_ESCAPED:
		if (is_control(c) && c != '\t')
			break;
		next = CHUNK_EXT_QUOTED;
		if (h->chunk_state == CHUNK_EXT_QUOTED && c == '\\')
			next = CHUNK_EXT_ESCAPED;
		else if (h->chunk_state == CHUNK_EXT_QUOTED && c == '"')
			next = CHUNK_EXT_QUOTE;
		break;
	default: /* NAME, VALUE or QUOTE: the extension may end here */
		if (c == '\r' || c == ';')
			next = c == ';' ? CHUNK_EXT_FIRST : CHUNK_SIZE_LF;
		else if (c == '=' && h->chunk_state == CHUNK_EXT_NAME)
			next = CHUNK_EXT_EQUAL;
		else if (token && h->chunk_state != CHUNK_EXT_QUOTE)
			next = h->chunk_state;
	}
	h->chunk_state = next;
	if (next == CHUNK_END)
		return c == '\n' ? HTTP_bad_newline : HTTP_bad_chunk;
	return ++h->chunk_extra > CHUNK_EXTRA_MAX ? HTTP_bad_chunk : HTTP_none;
}

/* A byte of the trailers, which are checked like fields and forgotten. */
static enum http_fault chunk_trailer(struct http_head *h, uint8_t c)
{
	if (++h->chunk_extra > CHUNK_EXTRA_MAX)
		return HTTP_head_long;
	if (c == '\n')
		return HTTP_bad_newline;
	switch (h->chunk_state) {
	case CHUNK_TRAILER_FIRST:
		if (c == ' ' || c == '\t')
			return HTTP_bad_fold;
		h->chunk_state = c == '\r' ? CHUNK_LAST_LF : CHUNK_TRAILER_NAME;
		return c == '\r' || is_token(c) ? HTTP_none : HTTP_bad_field_name;
	case CHUNK_TRAILER_NAME:
		if (c == ':')
			h->chunk_state = CHUNK_TRAILER_VALUE;
		return c == ':' || is_token(c) ? HTTP_none : HTTP_bad_field_name;
	default:
		if (c == '\r')
			h->chunk_state = CHUNK_TRAILER_LF;
		return c == '\r' || c == '\t' || !is_control(c) ? HTTP_none : HTTP_bad_field_value;
	}
}

/* One byte that is not data. */
static enum http_fault chunk_byte(struct http_head *h, uint8_t c, uint64_t max)
{
	switch (h->chunk_state) {
	case CHUNK_SIZE_FIRST:
	case CHUNK_SIZE:
		return chunk_size(h, c);
	case CHUNK_DATA_CR:
		h->chunk_state = CHUNK_DATA_LF;
		return c == '\r' ? HTTP_none : HTTP_bad_chunk;
	case CHUNK_SIZE_LF:
		h->chunk_state = chunk_open(h);
		if (c == '\n' && h->chunk_left > max - h->body_got)
			return HTTP_too_large;
		break;
	case CHUNK_DATA_LF:
		h->chunk_state = CHUNK_SIZE_FIRST;
		break;
	case CHUNK_TRAILER_LF:
		h->chunk_state = CHUNK_TRAILER_FIRST;
		break;
	case CHUNK_LAST_LF:
		h->chunk_state = CHUNK_END;
		break;
	case CHUNK_TRAILER_FIRST:
	case CHUNK_TRAILER_NAME:
	case CHUNK_TRAILER_VALUE:
		return chunk_trailer(h, c);
	default:
		return chunk_ext(h, c);
	}
	return c == '\n' ? HTTP_none : HTTP_bad_newline;
}

/* Every byte is consumed once: what is not data is read and forgotten, data
 * moves down over it. */
static enum http_step body_chunks(struct http_head *h, uint8_t *bytes, size_t *len, uint64_t max,
				  size_t *used)
{
	size_t at = h->body_got;

	while (at < *len && h->chunk_state != CHUNK_END) {
		if (h->chunk_state != CHUNK_DATA) {
			h->fault = (uint8_t)chunk_byte(h, bytes[at++], max);
			if (h->fault)
				return HTTP_BAD;
			continue;
		}
		size_t n = min_u64(h->chunk_left, *len - at);
		if (at != h->body_got)
			memmove(bytes + h->body_got, bytes + at, n);
		h->body_got += (uint32_t)n;
		h->chunk_left -= n;
		at += n;
		if (!h->chunk_left)
			h->chunk_state = CHUNK_DATA_CR;
	}
	*used = at;
	if (h->chunk_state == CHUNK_END)
		return HTTP_WHOLE;
	*len = h->body_got;
	return HTTP_MORE;
}

enum http_step http_body(struct http_head *h, uint8_t *bytes, size_t *len, uint64_t max,
			 size_t *used, size_t *body)
{
	enum http_step step = HTTP_MORE;

	if (h->fault)
		return HTTP_BAD;
	must(h->state == AT_BODY && max <= HTTP_BODY_MAX);
	*used = *body = 0;
	if (h->chunked) {
		step = body_chunks(h, bytes, len, max, used);
		*body = h->body_got;
	} else if (h->length > max) {
		h->fault = HTTP_too_large;
		step = HTTP_BAD;
	} else if (h->length <= *len) {
		*used = *body = h->length;
		step = HTTP_WHOLE;
	}
	if (step == HTTP_WHOLE)
		h->state = AT_DONE;
	return step;
}

bool http_body_fits(const struct http_head *h, size_t len)
{
	return !h->fault && h->state == AT_BODY && h->chunk_state <= CHUNK_END &&
	       h->body_got <= len;
}
