/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * http_private.h - what http.c and http_body.c share
 *
 * Place    Seen by these two only.
 * Model    Classes of bytes, and the states of a message in the order in which
 *          it goes through them.
 */
#ifndef HTTP_PRIVATE_H
#define HTTP_PRIVATE_H

#include "base.h"

/* struct http_head.state */
enum { AT_START, AT_METHOD, AT_TARGET, AT_VERSION, AT_FIELDS, AT_BODY, AT_DONE };

/* Classes, bits of http_classes[byte]: tchar (RFC 9110 5.6.2); what a target may
 * have (RFC 3986 2, without '#': a fragment is never sent); reg-name without '%'. */
enum { TOKEN = 1, URI = 2, NAME = 4 };
extern const uint8_t http_classes[256];

static inline bool is_token(uint8_t c)
{
	return http_classes[c] & TOKEN;
}

static inline bool is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

static inline bool is_control(uint8_t c)
{
	return c < 0x20 || c == 0x7f;
}

/* 0 to 15, or -1. */
static inline int hex_value(uint8_t c)
{
	if (is_digit(c))
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

#endif
