/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * load_check.c - requests as bytes, and what the right answers hold
 *
 * The responder's own parser reads each request once, before the run, and its plain loop
 * computes the hash: so query, form and JSON body mean here what they mean there.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "http.h"
#include "lane.h"
#include "load.h"
#include "route.h"

/* A second and more of one core: nobody waits for the expected value of that. */
static const uint64_t longest = 1000000000;

static const char *type_of(const struct load_plan *plan)
{
	if (plan->type)
		return plan->type;
	return plan->post_len && *plan->post == '{' ? "application/json" :
						      "application/x-www-form-urlencoded";
}

static bool write_request(struct load_kind *k, const struct load_plan *plan)
{
	FILE *to = open_memstream(&k->request, &k->request_len);

	if (!to)
		return false;
	fprintf(to, "%s %s HTTP/1.1\r\nHost: %s\r\n", plan->post ? "POST" : "GET", k->path,
		plan->host);
	if (plan->fresh)
		fputs("Connection: close\r\n", to);
	for (unsigned i = 0; i < plan->headers; i++)
		fprintf(to, "%s\r\n", plan->header[i]);
	if (plan->post)
		fprintf(to, "Content-Type: %s\r\nContent-Length: %zu\r\n", type_of(plan),
			plan->post_len);
	fputs("\r\n", to);
	if (plan->post)
		fwrite(plan->post, 1, plan->post_len, to);
	return fclose(to) == 0;
}

/* What the request asks for, as the responder reads it. False: why it would refuse. */
static bool read_request(const struct load_kind *k, uint8_t *copy, struct route_ask *ask,
			 const char **why)
{
	struct route_refusal refusal = { 0 };
	struct http_head head;
	size_t used, body, len;

	http_begin(&head);
	*why = "it is no request of /compute";
	if (http_head(&head, copy, k->request_len) != HTTP_WHOLE)
		return false;
	if (!route_head(&head, copy, UINT64_MAX, ask, &refusal)) {
		if (refusal.fault != HTTP_not_found)
			*why = http_fault_text(refusal.fault);
		return false;
	}
	if (ask->path != ROUTE_COMPUTE)
		return false;
	if (head.method != HTTP_POST)
		return true;
	len = k->request_len - head.line;
	if (http_body(&head, copy + head.line, &len, HTTP_BODY_MAX, &used, &body) == HTTP_WHOLE &&
	    route_body(&head, copy + head.line, body, UINT64_MAX, ask, &refusal))
		return true;
	*why = "the body is no request for a hash";
	return false;
}

static void compute(struct load_kind *k, const struct route_ask *ask)
{
	uint64_t seed = ask->has_seed ? ask->seed : lane_alg_seed(ask->alg);
	uint64_t hash = lane_plain(ask->alg, seed, ask->n);

	k->hash_len = (size_t)snprintf(k->hash, sizeof k->hash, "0x%0*" PRIx64,
				       (int)lane_alg_bits(ask->alg) / 4, hash);
	k->checked = true;
}

bool load_check_prepare(struct load_kind *k, const struct load_plan *plan, char why[LOAD_WHY])
{
	struct route_ask ask;
	const char *refusal;

	*why = '\0';
	if (!write_request(k, plan)) {
		snprintf(why, LOAD_WHY, "no memory for the request");
		return false;
	}
	if (!plan->verify)
		return true;
	/* A body is decoded where it lies */
	uint8_t *copy = malloc(k->request_len);
	if (!copy) {
		snprintf(why, LOAD_WHY, "no memory for the request");
		return false;
	}
	memcpy(copy, k->request, k->request_len);
	if (!read_request(k, copy, &ask, &refusal))
		snprintf(why, LOAD_WHY, "answers to %s are not verified: %s", k->path, refusal);
	else if (ask.n > longest)
		snprintf(why, LOAD_WHY, "answers to %s are not verified: n is above 10^9", k->path);
	else
		compute(k, &ask);
	free(copy);
	return true;
}

bool load_check_body(const struct load_kind *k, const char *body, size_t len)
{
	static const char name[] = "\"hash\"";
	const char *at = memmem(body, len, name, sizeof name - 1), *end = body + len;

	if (!at)
		at = body;
	else
		for (at += sizeof name - 1; at < end && strchr(" \t\r\n:\"", *at); at++)
			;
	if ((size_t)(end - at) < k->hash_len || memcmp(at, k->hash, k->hash_len) != 0)
		return false;
	at += k->hash_len;
	return at == end || strchr("\" \t\r\n", *at);
}
