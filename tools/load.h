/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * load.h - what the parts of saker-load share: the plan, and what it asks for
 *
 * Place    saker-load.c makes the plan from the options; load_check.c makes the requests;
 *          everybody reads.
 * Model    A plan is fixed before the first packet. A kind is one of the distinct
 *          requests of the mix, ready to send, with what a right answer must hold.
 * Units    ns in structs, whatever the options take.
 */
#ifndef LOAD_H
#define LOAD_H

#include <stdio.h>
#include <sys/socket.h>
#include "base.h"
#include "load_schedule.h"

enum {
	LOAD_KINDS_MAX = 64,
	LOAD_HEADERS_MAX = 32,
	LOAD_CONNECTIONS_MAX = 60000,
	LOAD_BODY_MAX = 1 << 20,
	LOAD_WHY = 256,
};

/* What becomes of a request. */
#define LOAD_OUTCOME_LIST(X) \
	X(ok, "ok") \
	X(refused, "refused (503)") \
	X(errors, "errors") \
	X(timeouts, "time-outs") \
	X(resets, "resets") \
	X(wrong, "wrong hashes") \
	X(unsent, "never sent")

enum load_outcome {
#define X(name, text) LOAD_##name,
	LOAD_OUTCOME_LIST(X)
#undef X
		LOAD_OUTCOMES,
};

struct load_kind {
	const char *path;
	double weight;
	char *request;
	size_t request_len;
	bool checked;  /* its answers have a hash that is known beforehand */
	char hash[20]; /* "0x" and 8 or 16 digits */
	size_t hash_len;
};

struct load_plan {
	enum load_mode mode;
	double rate; /* requests a second; 0: closed */
	unsigned burst;
	double burst_ms;
	unsigned connections;
	bool fresh; /* --new */
	double seconds, warm, floor;
	uint64_t timeout_ns;
	uint64_t seed;
	bool verify, spin, quickack, quiet;
	int cpu; /* -1: any */

	struct load_kind kind[LOAD_KINDS_MAX];
	double weights[LOAD_KINDS_MAX]; /* running total */
	unsigned kinds;
	char *post; /* NULL: GET */
	size_t post_len;
	const char *type;
	const char *header[LOAD_HEADERS_MAX];
	unsigned headers;

	const char *url;
	char host[80]; /* for Host: */
	struct sockaddr_storage server;
	socklen_t server_len;

	uint32_t need_ppm; /* --need: a percentile that the run must carry; 0: none */
	const char *find;  /* --find-max, as given; NULL: none */
	uint32_t find_ppm;
	uint64_t find_ns;
	double max_rate;
	const char *name, *json, *hgrm, *series; /* files; json "-": stdout */
};

/* --- load_check.c ------------------------------------------------------------------- */

/* Write the request, and compute what its answer must hold. False: it cannot be sent;
 * the reason is in why. A request whose answer nobody can know is not .checked, and
 * why says the reason. */
bool load_check_prepare(struct load_kind *k, const struct load_plan *plan, char why[LOAD_WHY]);

/* Does the body hold the hash? As JSON, or alone as text. */
bool load_check_body(const struct load_kind *k, const char *body, size_t len);

#endif
