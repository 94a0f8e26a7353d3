/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * line.h - whose is a request, by the first bytes of its line
 *
 * Place    path.h, for the first data of a connection.
 * Model    METHOD SP target, where the method is any token, so that a method of
 *          tomorrow has the same owner as GET; and the target is a path, or
 *          http://HOST and a path (RFC 9112 3.2.2). Byte by byte: it is read once
 *          a connection, a dozen bytes.
 *            ours    the path is one of --path, or goes on behind it with '/', '?'
 *                    or the space behind the target
 *            kernel  anything else: another path, a TLS ClientHello, HTTP/2's
 *                    preface, an empty line in front
 *            short   what there is could become either
 * Limits   LINE_METHOD and LINE_LOOK bytes; what is longer is the kernel's. The
 *          path is compared as it stands: neither %63 nor /./ is undone.
 */
#ifndef LINE_H
#define LINE_H

#include "loop.h"
#include "told.h"

enum line_owner { LINE_short, LINE_ours, LINE_kernel };
enum line_part { LINE_METHOD_PART, LINE_TARGET, LINE_SCHEME, LINE_HOST, LINE_PATH };

/* "http://", the first byte lowest: no array, since libbpf 1.1 mistakes the place of one
 * that is static. */
#define LINE_HTTP 0x2f2f3a70747468ull
enum { LINE_HTTP_LEN = 7 };

struct line {
	struct frame_md *ctx;
	__u32 at, len; /* in the frame */
	/* Bytes that begin no word: their values are not followed through every turn of
	 * the loop, which loads in a fifth of the time. */
	__u8 unused;
	__u8 part;  /* enum line_part */
	__u8 n;     /* bytes of that part that were read */
	__u8 match; /* bit k: it may still be conf.path[k] */
	__u8 owner; /* enum line_owner */
};

/* RFC 9110 5.6.2, a bit a character: ! # $ % & ' * + - . ^ _ ` | ~, digits, letters */
static __always_inline bool line_token(__u8 c)
{
	const __u64 low = 0x03ff6cfa00000000, high = 0x57ffffffc7fffffe;
	return c < 128 && (c < 64 ? low : high) >> (c & 63) & 1;
}

static __always_inline enum line_owner line_method(struct line *l, __u8 c)
{
	if (c == ' ' && l->n) {
		l->part = LINE_TARGET;
		return LINE_short;
	}
	return line_token(c) && ++l->n <= LINE_METHOD ? LINE_short : LINE_kernel;
}

static __always_inline enum line_owner line_scheme(struct line *l, __u8 c)
{
	__u8 lower = c >= 'A' && c <= 'Z' ? c | 0x20 : c;
	if (lower != (LINE_HTTP >> (l->n & 7) * 8 & 0xff))
		return LINE_kernel;
	if (++l->n == LINE_HTTP_LEN)
		l->part = LINE_HOST;
	return LINE_short;
}

static __always_inline enum line_owner line_path(struct line *l, __u8 c)
{
	for (__u32 k = 0; k < STEER_PATHS_MAX; k++) {
		if (k >= conf.path_count || !(l->match & 1 << k))
			continue;
		if (l->n == conf.path[k].len) {
			if (c == '/' || c == '?' || c == ' ')
				return LINE_ours;
			l->match &= (__u8) ~(1 << k);
		} else if (c != conf.path[k].text[l->n & (STEER_PATH_LEN - 1)]) {
			l->match &= (__u8) ~(1 << k);
		}
	}
	l->n++;
	return l->match ? LINE_short : LINE_kernel;
}
_Static_assert((STEER_PATH_LEN & (STEER_PATH_LEN - 1)) == 0, "the mask keeps every byte");

static __always_inline enum line_owner line_slash(struct line *l)
{
	l->part = LINE_PATH;
	l->n = 0;
	l->match = (1 << conf.path_count) - 1;
	return line_path(l, '/');
}

static __always_inline enum line_owner line_byte(struct line *l, __u8 c)
{
	switch (l->part) {
	case LINE_METHOD_PART:
		return line_method(l, c);
	case LINE_TARGET:
		if (c == '/')
			return line_slash(l);
		l->part = LINE_SCHEME;
		l->n = 0;
		return line_scheme(l, c);
	case LINE_SCHEME:
		return line_scheme(l, c);
	case LINE_HOST:
		if (c == '/')
			return line_slash(l);
		/* no path is no path of ours */
		return c <= ' ' || c == '?' || c == '#' ? LINE_kernel : LINE_short;
	default:
		return line_path(l, c);
	}
}

static long line_next(__u32 i, struct line *l)
{
	__u8 c;
	if (i >= l->len || frame_load(l->ctx, l->at + i, &c, 1))
		return 1;
	l->owner = line_byte(l, c);
	return l->owner != LINE_short;
}

/* Of len bytes of data, which begin at `at` in the frame. */
static __always_inline enum line_owner line_owner(struct frame_md *ctx, __u32 at, __u32 len)
{
	const __u8 zero = (__u8)loop_zero();
	struct line l = { .ctx = ctx,
			  .at = at,
			  .len = len,
			  .part = LINE_METHOD_PART + zero,
			  .n = zero,
			  .match = zero,
			  .owner = LINE_short + zero };
	bpf_loop(LINE_LOOK, line_next, &l, 0);
	return l.owner == LINE_short && len >= LINE_LOOK ? LINE_kernel : l.owner;
}

#endif
