/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * route.h - what a request asks for
 *
 * Place    Between http_head / http_body and the lanes: worker asks here what
 *          to do with a whole head, and with a whole body. Pure.
 * Model    A path has a route and the methods it takes; /compute has values
 *          n, seed and alg, from the query, a form or a flat JSON object
 *          (jsmn, which allocates nothing). /echo takes any query and any body.
 *          Every refusal is a fault of http.h and a detail that names the value
 *          and the place.
 * Limits   ROUTE_TOKENS JSON tokens: three names, three values, one object,
 *          and room to say what is wrong with one more.
 */
#ifndef ROUTE_H
#define ROUTE_H

#include "base.h"
#include "http.h"
#include "lane.h"

/* ROUTE_SERVER is the target "*" of OPTIONS: the server as a whole. */
enum route_path {
	ROUTE_COMPUTE,
	ROUTE_ECHO,
	ROUTE_HEALTHZ,
	ROUTE_METRICS,
	ROUTE_SERVER,
	ROUTE_NONE
};

enum { ROUTE_TOKENS = 16, ROUTE_DETAIL = 96 };

/* What is asked, and what of it was given (the rest are defaults). */
struct route_ask {
	uint64_t n;
	uint64_t seed;
	uint8_t path;     /* enum route_path */
	uint8_t alg;      /* enum lane_alg */
	uint32_t seed_at; /* where the seed stood, for a refusal after all is read */
	bool seed_in_body;
	bool has_n, has_seed, has_alg;
	bool as_text;
};

/* A refusal. detail is "" or says more than the fault, e.g. seed "0xg" at byte 5
 * of the query. Bytes count from 0; the query starts behind the '?'. */
struct route_refusal {
	enum http_fault fault;
	char detail[ROUTE_DETAIL];
};

/* Judge a whole head (bytes as given to http_head). False: refused, *why is
 * filled. True: *ask is right but for what the body of a POST still says. With
 * OPTIONS nothing but the path was judged: answer by route_allow. n defaults to
 * N_DEFAULT or max_n, whichever is less. */
bool route_head(const struct http_head *h, const uint8_t *bytes, uint64_t max_n,
		struct route_ask *ask, struct route_refusal *why);

/* Judge the whole body of a POST to /compute that route_head let pass, and complete *ask.
 * Other methods' bodies mean nothing: read them and forget them. A POST without
 * a body may come here (len 0) or not: it asks for what its query says. */
bool route_body(const struct http_head *h, const uint8_t *body, size_t len, uint64_t max_n,
		struct route_ask *ask, struct route_refusal *why);

/* Is the target below this path: the same, or does it go on with '/' or '?'? Escapes are
 * not undone, as XDP does not (bpf/path.h). */
bool route_below(const struct http_head *h, const uint8_t *bytes, const char *path);

/* For Allow: "GET, HEAD, POST, OPTIONS". Any path but ROUTE_NONE. */
const char *route_allow(enum route_path path);

#endif
