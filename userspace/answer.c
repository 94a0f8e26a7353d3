/* SPDX-License-Identifier: GPL-2.0-only */
#include "worker_private.h"

/* --- answers ------------------------------------------------------------------------- */

uint8_t *answer_room(struct worker *w, uint16_t id)
{
	return buf_reserve(&w->pool, &w->out[id], HTTP_ANSWER_MAX);
}

/* Has the request had this stage? */
static uint8_t stage_of(uint64_t from_ns, uint64_t to_ns, enum http_timed which, uint64_t *ns)
{
	*ns = span_ns(from_ns, to_ns);
	return *ns == SPAN_NONE ? 0 : (uint8_t)which;
}

/* Where the port is shared, a client that comes again may want another path, which on
 * this connection is not served. */
static bool keeps_alive(const struct worker *w, const struct session *s)
{
	bool shared = w->p.paths && !is_sock(w, (uint16_t)(s - w->session));

	return s->head.keep_alive && !w->draining && (!shared || w->p.path_keepalive);
}

static struct http_reply reply_to(const struct worker *w, const struct session *s)
{
	struct http_reply r = {
		.date = w->date,
		.keep_alive = keeps_alive(w, s),
		.head_only = s->head.method == HTTP_HEAD_METHOD,
		.minor = s->head.minor,
	};

	r.timed = stage_of(s->req_stamp_ns, s->req_pop_ns, HTTP_TIMED_STEER, &r.steer_ns) |
		  stage_of(s->req_pop_ns, s->parsed_ns, HTTP_TIMED_PARSE, &r.parse_ns) |
		  stage_of(s->parsed_ns, s->lane_ns, HTTP_TIMED_WAIT, &r.wait_ns) |
		  stage_of(s->lane_ns, s->result_ns, HTTP_TIMED_COMPUTE, &r.compute_ns);
	return r;
}

/* Bytes stand behind the output: let the transport send them. */
static void wrote(struct worker *w, uint16_t id, size_t n)
{
	w->session[id].bytes_out += n;
	if (is_sock(w, id)) {
		buf_commit(&w->out[id], n);
		line_put(w, LINE_SOCK, id);
	} else {
		tcp_wrote(w->tcp, id, (uint32_t)n);
	}
}

void answer_continue(struct worker *w, uint16_t id)
{
	wrote(w, id, http_write_continue(answer_room(w, id)));
}

/* A whole answer of n bytes has been written; on to the next request, or the end. */
static void answered(struct worker *w, uint16_t id, unsigned status, size_t n, bool keep_alive,
		     uint64_t now_ns)
{
	struct session *s = &w->session[id];

	if (unlikely(w->note))
		note_end(w, id, status, now_ns);
	if (!s->unsent) {
		s->unsent = true;
		s->sent_result_ns = now_ns;
		s->sent = (struct stamps){ s->req_stamp_ns, s->req_pop_ns, s->parsed_ns, s->lane_ns,
					   s->result_ns };
		s->sent_from_ns = s->req_stamp_ns ? s->req_stamp_ns : s->req_pop_ns;
	}
	session_told(w, id);
	s->requests++;
	wrote(w, id, n);
	session_next(w, id, now_ns);
	if (!keep_alive)
		session_close(w, id, now_ns);
}

static const uint8_t fault_counter[] = {
#define X(name, status, text) [HTTP_##name] = STATS_http_##name,
#define STATS_http_none STATS_http_ok
	HTTP_FAULT_LIST(X)
#undef STATS_http_none
#undef X
};

void answer_refuse(struct worker *w, uint16_t id, enum http_fault fault, const char *detail,
		   bool keep, uint64_t now_ns)
{
	struct session *s = &w->session[id];
	struct http_reply r = reply_to(w, s);
	const char *allow = fault == HTTP_bad_method ? route_allow(s->ask.path) : NULL;

	r.keep_alive = r.keep_alive && keep;
	count(w, fault_counter[fault]);
	answered(w, id, http_status(fault),
		 http_write_fault(answer_room(w, id), &r, fault, allow, detail), r.keep_alive,
		 now_ns);
}

/* On to what was pipelined; or, behind the peer's FIN, ours along with the answer. */
static void after_answer(struct worker *w, uint16_t id, uint64_t now_ns)
{
	struct session *s = &w->session[id];

	if (s->phase != PHASE_HEAD)
		return;
	if (s->in.len)
		line_put(w, LINE_AGAIN, id);
	else if (s->eof)
		session_close(w, id, now_ns);
}

static void answer_hash(struct worker *w, uint16_t id, uint8_t *to, uint64_t now_ns)
{
	const struct session *s = &w->session[id];
	const struct route_ask *ask = &s->ask;
	struct http_reply r = reply_to(w, s);
	size_t n;

	r.cache = s->cache;
	n = http_write_hash(to, &r, lane_alg_name(ask->alg), lane_alg_bits(ask->alg), ask->n,
			    ask->seed, s->hash, ask->as_text);
	count(w, STATS_http_ok);
	answered(w, id, 200, n, r.keep_alive, now_ns);
}

static struct cache_key cache_key_of(const struct route_ask *ask)
{
	return (struct cache_key){ .n = ask->n, .seed = ask->seed, .alg = ask->alg };
}

/* Was it computed before? Then that is the result. */
static bool cache_result_of(struct worker *w, struct session *s, uint64_t now_ns)
{
	struct cache_key key = cache_key_of(&s->ask);
	bool hit;

	if (!w->cache)
		return false;
	hit = cache_get(w->cache, &key, &s->hash);
	s->cache = hit ? HTTP_CACHE_HIT : HTTP_CACHE_MISS;
	count(w, hit ? STATS_http_cache_hits : STATS_http_cache_misses);
	s->parsed_ns = s->lane_ns = s->result_ns = now_ns;
	return hit;
}

static void cache_result(struct worker *w, const struct session *s)
{
	struct cache_key key = cache_key_of(&s->ask);

	if (w->cache)
		cache_put(w->cache, &key, s->hash);
}

void answer_wait(struct worker *w, uint16_t id, enum session_phase phase, uint64_t now_ns)
{
	struct session *s = &w->session[id];

	if (s->phase != phase)
		session_await(w, id, now_ns);
	s->phase = (uint8_t)phase;
	line_put(w, LINE_AGAIN, id);
}

void answer_result(struct worker *w, uint16_t id, uint64_t now_ns)
{
	struct session *s = &w->session[id];
	uint8_t *to = answer_room(w, id);

	if (s->phase == PHASE_LANE)
		cache_result(w, s);
	if (!to) {
		answer_wait(w, id, PHASE_ANSWER, now_ns);
		return;
	}
	answer_hash(w, id, to, now_ns);
	after_answer(w, id, now_ns);
}

void answer_busy(struct worker *w, uint16_t id, uint64_t wait_ns, uint64_t now_ns)
{
	struct session *s = &w->session[id];
	uint8_t *to = answer_room(w, id);
	struct http_reply r;

	count(w, STATS_http_busy);
	s->lane_ns = now_ns; /* so long it has waited */
	r = reply_to(w, s);
	s->phase = PHASE_ANSWER; /* it waits no more */
	if (!to) {               /* neither lane nor buffer: it has to go, unanswered */
		if (unlikely(w->note))
			note_end(w, id, 0, now_ns);
		session_told(w, id);
		session_close(w, id, now_ns);
		return;
	}
	answered(w, id, 503, http_write_busy(to, &r, wait_ns), r.keep_alive, now_ns);
	after_answer(w, id, now_ns);
}

/* --- requests --------------------------------------------------------------------------- */

static void to_admit(struct worker *w, uint16_t id)
{
	struct session *s = &w->session[id];

	s->phase = PHASE_WAIT;
	w->waiting++;
	line_put(w, LINE_NEW, id);
}

static size_t write_health(const struct worker *w, const struct http_reply *r, uint8_t *to)
{
	char body[HTTP_TEXT_MAX], *end = body;

	for (const char *part = "{\"status\":\"ok\",\"mode\":\""; *part;)
		*end++ = *part++;
	for (const char *part = w->mode; *part && end < body + HTTP_TEXT_MAX - 4;)
		*end++ = *part++;
	memcpy(end, "\"}\n", 4);
	return http_write_text(to, r, "application/json", body);
}

/* The head of /metrics; the text follows piece by piece. HTTP/1.0 knows no chunks, so
 * there the end of the connection is the end of the text. */
static void answer_metrics(struct worker *w, uint16_t id, uint8_t *to, uint64_t now_ns)
{
	struct session *s = &w->session[id];
	struct http_reply r;
	size_t n;

	s->head.keep_alive &= s->head.minor > 0;
	r = reply_to(w, s);
	n = http_write_stream(to, &r, "text/plain; version=0.0.4; charset=utf-8");
	if (r.head_only) {
		count(w, STATS_http_ok);
		answered(w, id, 200, n, r.keep_alive, now_ns);
		return;
	}
	wrote(w, id, n);
	s->place = 0;
	answer_wait(w, id, PHASE_METRICS, now_ns);
}

void answer_request(struct worker *w, uint16_t id, uint64_t now_ns)
{
	struct session *s = &w->session[id];
	struct http_reply r = reply_to(w, s);
	uint8_t *to = answer_room(w, id);
	unsigned status = 200;
	size_t n;

	if (s->head.method == HTTP_OPTIONS) {
		status = 204;
		n = http_write_allow(to, &r, route_allow(s->ask.path));
	} else if (s->ask.path == ROUTE_HEALTHZ) {
		n = write_health(w, &r, to);
	} else if (s->ask.path == ROUTE_ECHO) {
		n = http_write_text(to, &r, "text/plain", "");
	} else if (s->ask.path == ROUTE_METRICS) {
		answer_metrics(w, id, to, now_ns);
		return;
	} else {
		if (cache_result_of(w, s, now_ns))
			answer_hash(w, id, to, now_ns);
		else
			to_admit(w, id);
		return;
	}
	count(w, STATS_http_ok);
	answered(w, id, status, n, r.keep_alive, now_ns);
}

/* --- /echo ---------------------------------------------------------------------------------- */

/* The body's one copy, from where it came to behind its head. False: the output
 * has no room for both. */
bool answer_echo(struct worker *w, uint16_t id, const uint8_t *body, size_t len, uint64_t now_ns)
{
	struct http_reply r = reply_to(w, &w->session[id]);
	uint8_t *to = buf_reserve(&w->pool, &w->out[id], HTTP_REPLY_HEAD_MAX + len);
	size_t head;

	if (!to)
		return false;
	head = http_write_echo(to, &r, len);
	memcpy(to + head, body, len);
	count(w, STATS_http_ok);
	answered(w, id, 200, head + len, r.keep_alive, now_ns);
	return true;
}

/* Without a second block: the one that the body is in becomes the output. Else
 * as many uploads as there are blocks would wait for each other. */
static bool echo_give(struct worker *w, uint16_t id, uint64_t now_ns)
{
	struct session *s = &w->session[id];
	struct http_reply r = reply_to(w, s);
	uint8_t head[HTTP_REPLY_HEAD_MAX], *to;
	size_t len = http_write_echo(head, &r, s->echo_len), body = s->echo_len;

	if (w->out[id].len)
		return false;
	to = buf_give(&w->pool, &s->in, body, len, &w->out[id]);
	if (!to)
		return false;
	memcpy(to, head, len);
	count(w, STATS_http_ok);
	answered(w, id, 200, len + body, r.keep_alive, now_ns);
	return true;
}

static void echo_again(struct worker *w, uint16_t id, uint64_t now_ns)
{
	struct session *s = &w->session[id];

	if (answer_echo(w, id, buf_bytes(&s->in), s->echo_len, now_ns)) {
		if (s->phase == PHASE_HEAD)
			buf_drop(&w->pool, &s->in, s->echo_len);
	} else if (!echo_give(w, id, now_ns)) {
		line_put(w, LINE_AGAIN, id);
		return;
	}
	after_answer(w, id, now_ns);
}

/* --- /metrics ------------------------------------------------------------------------------- */

/* A piece, and the chunk that is the end. */
enum { METRICS_ROOM = METRICS_PIECE + 2 * (HTTP_CHUNK_FRONT + HTTP_CHUNK_BACK) };
_Static_assert(METRICS_ROOM <= HTTP_HEAD_MAX + FRAME_ROOM, "it fits every large block");
_Static_assert(METRICS_PIECE <= HTTP_CHUNK_MAX, "it fits a chunk");

static uint64_t oldest_heartbeat(const struct worker *w)
{
	uint32_t threads = (uint32_t)min_u64(w->source.mode->io_threads, IO_THREADS_MAX);
	uint64_t oldest_ns = threads && w->live ? UINT64_MAX : 0;

	for (uint32_t t = 0; t < threads && w->live; t++)
		oldest_ns = min_u64(
			oldest_ns, __atomic_load_n(&w->live->io[t].heartbeat_ns, __ATOMIC_RELAXED));
	return oldest_ns & ~(uint64_t)STEER_KERNEL_FLOWS;
}

/* The next piece of the text, in a chunk if the client knows them. */
static size_t write_metrics(struct worker *w, struct session *s, uint8_t *to, uint64_t now_ns)
{
	size_t front = s->head.minor ? HTTP_CHUNK_FRONT : 0, n;
	struct metrics m;

	w->source.now_ns = now_ns;
	w->source.heartbeat_ns = oldest_heartbeat(w);
	metrics_begin(&m, &w->source, 1);
	metrics_go(&m, s->place);
	n = metrics_piece(&m, (char *)to + front);
	s->place = metrics_place(&m);
	if (!front)
		return n;
	n = http_write_chunk(to, n);
	return s->place ? n : n + http_write_chunk(to + n, 0);
}

/* One piece a turn, if the client has taken enough of what was before: nobody waits for
 * the text, and nobody's slowness keeps more of it than the output holds. */
static void metrics_again(struct worker *w, uint16_t id, uint64_t now_ns)
{
	struct session *s = &w->session[id];
	uint8_t *to = buf_reserve(&w->pool, &w->out[id], METRICS_ROOM);
	size_t n;

	if (!to) {
		line_put(w, LINE_AGAIN, id);
		return;
	}
	n = write_metrics(w, s, to, now_ns);
	if (s->place) {
		wrote(w, id, n);
		s->mark += (uint32_t)n;
		line_put(w, LINE_AGAIN, id);
		return;
	}
	count(w, STATS_http_ok);
	answered(w, id, 200, n, keeps_alive(w, s), now_ns);
	after_answer(w, id, now_ns);
}

void answer_again(struct worker *w, uint16_t id, uint64_t now_ns)
{
	if (w->session[id].phase == PHASE_ECHO)
		echo_again(w, id, now_ns);
	else if (w->session[id].phase == PHASE_METRICS)
		metrics_again(w, id, now_ns);
	else
		answer_result(w, id, now_ns);
}
