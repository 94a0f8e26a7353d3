/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * accesslog.h - a request, and the line that tells of it
 *
 * Place    worker makes a record of each request that it has done with; logger, on a
 *          thread of its own, makes a line of it. Pure.
 * Model    Fields, a space between two, a dash where there is none:
 *
 *            2026-12-01T00:39:13.123456Z when the request came, UTC
 *            192.0.2.1:40000             peer; [2001:db8::1]:40000
 *            GET                         method; OTHER for what is not served
 *            "/compute?n=7"              target; what is not printable ASCII, quotes
 *                                        and backslashes as \xHH; cut: "..."...
 *            200                         status; a dash: the client went away before
 *            7 fnv1a32                   n and alg, when it was a job
 *            1043 402 0 3525 5210        steer, parse, wait, compute, total, in ns
 *            bypass                      or socket
 *
 * Owner    Records and lines are the caller's.
 * Limits   ACCESSLOG_TARGET bytes of a target, ACCESSLOG_LINE of a line.
 * Units    Records in ns of CLOCK_MONOTONIC; lines in microseconds of wall clock.
 */
#ifndef ACCESSLOG_H
#define ACCESSLOG_H

#include "base.h"

enum {
	ACCESSLOG_TARGET = 128,
	/* Time 27, peer 47, method 7, target 517, status 3, n 20, alg 7, five times
	 * 20, transport 6, and what is between them: 746. */
	ACCESSLOG_LINE = 768,
};

#define ACCESSLOG_NO_TIME UINT64_MAX

struct accesslog_record {
	uint64_t at_ns; /* when the request came */
	uint64_t n;
	/* or ACCESSLOG_NO_TIME */
	uint64_t steer_ns, parse_ns, wait_ns, compute_ns, total_ns;
	uint8_t peer[16];    /* IPv4 as ::ffff:a.b.c.d */
	uint16_t port;       /* the peer's */
	uint16_t status;     /* 0: never answered */
	uint16_t target_len; /* as it came; only the first ACCESSLOG_TARGET are kept */
	uint8_t method;      /* enum http_method */
	uint8_t alg;         /* enum lane_alg */
	bool has_target;     /* and a method: the request line could be read */
	bool has_job;        /* n and alg */
	bool is_sock;        /* over a socket of the kernel */
	uint8_t target[ACCESSLOG_TARGET];
};

/* Write the line, with its newline, to to[0 ... ACCESSLOG_LINE); its length. epoch_ns:
 * what to add to CLOCK_MONOTONIC to have nanoseconds since 1970. */
size_t accesslog_line(const struct accesslog_record *r, uint64_t epoch_ns, char *to);

#endif
