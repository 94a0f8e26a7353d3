/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * load_answer.h - HTTP/1.1 answers, read as they come
 *
 * Place    load_conn.c hands in what it received. Pure.
 * Model    Of the head it keeps what saker-load judges by: status, framing, whether the
 *          connection ends, and what Server-Timing says that the server took. Of the
 *          body it keeps the beginning, which holds the hash. Interim answers (1xx) are
 *          passed over. What it says depends on the bytes, never on how they were cut.
 * Limits   A line of LOAD_LINE bytes, a head of LOAD_HEAD; the first LOAD_KEEP bytes of
 *          the body are kept. Answers to HEAD are not for it: nobody asks with HEAD.
 */
#ifndef LOAD_ANSWER_H
#define LOAD_ANSWER_H

#include "base.h"

enum { LOAD_LINE = 1024, LOAD_HEAD = 65536, LOAD_KEEP = 512 };

enum load_step {
	LOAD_MORE,  /* right so far */
	LOAD_WHOLE, /* the answer is complete */
	LOAD_BAD,   /* no answer: .why says in which respect */
};

struct load_answer {
	uint8_t state;
	bool close; /* the server ends the connection behind it */
	bool chunked;
	bool has_length; /* neither this nor chunked: the body goes on to the end */
	bool timed;      /* server_ns is known */
	bool timed_total;
	uint16_t status;
	uint16_t kept;     /* bytes of body[] */
	uint32_t line_len; /* of an unfinished line, in line[] */
	uint32_t head_len;
	uint64_t left;      /* of the body, or of the present chunk */
	uint64_t server_ns; /* Server-Timing: `total`, or the sum of all durations */
	const char *why;
	char body[LOAD_KEEP];
	char line[LOAD_LINE];
};

void load_answer_begin(struct load_answer *a);

/* Read on. *used: how many of the bytes belong to the answer; all, unless it is whole. */
enum load_step load_answer_feed(struct load_answer *a, const char *bytes, size_t len, size_t *used);

/* The connection has ended. LOAD_WHOLE: that is how the answer had to end. */
enum load_step load_answer_end(struct load_answer *a);

/* Has any byte of it come? */
bool load_answer_begun(const struct load_answer *a);

#endif
