/* SPDX-License-Identifier: GPL-2.0-only */
/* note.c - what the access log is told of a session's request; accesslog.h has the story */
#include "accesslog.h"
#include "spsc.h"
#include "worker_private.h"

void note_peer(struct worker *w, uint16_t id, const uint8_t peer[16], uint16_t port)
{
	struct accesslog_record *r = &w->note[id];

	memcpy(r->peer, peer, sizeof r->peer);
	r->port = port;
}

/* The bytes of the head are gone when the answer is there. */
void note_head(struct worker *w, uint16_t id, const uint8_t *bytes)
{
	const struct http_head *h = &w->session[id].head;
	struct accesslog_record *r = &w->note[id];

	r->has_target = !h->fault || h->target_len;
	r->target_len = (uint16_t)h->target_len;
	r->method = h->method;
	memcpy(r->target, bytes + h->target, min_u64(h->target_len, sizeof r->target));
}
_Static_assert(HTTP_TARGET_MAX < UINT16_MAX, "target_len, and one byte more in a refusal");

void note_end(struct worker *w, uint16_t id, unsigned status, uint64_t now_ns)
{
	const struct session *s = &w->session[id];
	struct accesslog_record *r = &w->note[id];
	uint64_t from_ns = s->req_pop_ns;

	if (s->req_stamp_ns && s->req_stamp_ns < from_ns)
		from_ns = s->req_stamp_ns;
	r->at_ns = from_ns;
	r->status = (uint16_t)status;
	r->is_sock = is_sock(w, id);
	r->has_job = s->parsed_ns || s->phase == PHASE_WAIT;
	r->n = s->ask.n;
	r->alg = s->ask.alg;
	r->steer_ns = span_ns(s->req_stamp_ns, s->req_pop_ns);
	r->parse_ns = span_ns(s->req_pop_ns, s->parsed_ns);
	r->wait_ns = span_ns(s->parsed_ns, s->lane_ns);
	r->compute_ns = span_ns(s->lane_ns, s->result_ns);
	r->total_ns = status ? now_ns - from_ns : SPAN_NONE;
	if (!spsc_put(w->p.log, r))
		count(w, STATS_http_log_lost);
}
_Static_assert(SPAN_NONE == ACCESSLOG_NO_TIME, "a span is a time of the record");
