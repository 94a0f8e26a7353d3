/* SPDX-License-Identifier: GPL-2.0-only */
#include "worker_private.h"

/* --- life ------------------------------------------------------------------------- */

static void set_deadline(struct worker *w, uint16_t id, uint64_t now_ns, uint32_t ms)
{
	wheel_set(&w->wheel, id, now_ns + ms * (uint64_t)NS_PER_MS);
}

static void next_request(struct worker *w, uint16_t id, uint64_t now_ns)
{
	struct session *s = &w->session[id];

	http_begin(&s->head);
	s->phase = PHASE_HEAD;
	s->request_begun = false;
	s->told_continue = false;
	set_deadline(w, id, now_ns, w->p.idle_timeout_ms);
}

void session_open(struct worker *w, uint16_t id, uint64_t now_ns)
{
	struct session *s = &w->session[id];

	must(s->phase == PHASE_FREE);
	s->eof = false;
	s->unsent = false;
	next_request(w, id, now_ns);
}

/* What is under way for this session ends without an answer. */
static void drop_work(struct worker *w, uint16_t id)
{
	struct session *s = &w->session[id];

	if (s->phase == PHASE_LANE)
		must(lane_drop(w->lane, id));
	buf_free(&w->pool, &s->in);
}

void session_end(struct worker *w, uint16_t id)
{
	uint8_t phase = w->session[id].phase;

	if (phase == PHASE_WAIT || phase == PHASE_LANE || phase == PHASE_ANSWER)
		count(w, STATS_http_aborted);
	drop_work(w, id);
	wheel_set(&w->wheel, id, 0);
	w->session[id].phase = PHASE_FREE;
}

void session_close(struct worker *w, uint16_t id, uint64_t now_ns)
{
	struct session *s = &w->session[id];

	drop_work(w, id);
	s->phase = PHASE_CLOSING;
	if (is_sock(w, id)) {
		set_deadline(w, id, now_ns, TCP_LINGER_MS);
		line_put(w, LINE_SOCK, id);
	} else {
		wheel_set(&w->wheel, id, 0); /* tcp has its own */
		tcp_close(w->tcp, id, now_ns);
	}
}

/* What the silence of this session is called. */
static enum stats_index silence_of(const struct worker *w, uint16_t id)
{
	const struct session *s = &w->session[id];

	if (s->phase == PHASE_BODY)
		return STATS_http_body_timeouts;
	if (s->request_begun)
		return STATS_http_header_timeouts;
	return w->out[id].len ? STATS_http_send_timeouts : STATS_http_idle_timeouts;
}

void session_timeout(struct worker *w, uint16_t id, uint64_t now_ns)
{
	struct session *s = &w->session[id];

	if (s->phase == PHASE_HEAD || s->phase == PHASE_BODY) {
		count(w, silence_of(w, id));
		if (is_sock(w, id) || !w->out[id].len) {
			session_close(w, id, now_ns);
		} else {
			/* The peer does not take what we sent: no FIN behind it would arrive. */
			tcp_abort(w->tcp, id);
			session_end(w, id);
		}
	} else if (s->phase == PHASE_CLOSING && is_sock(w, id)) {
		/* Neither the peer's end nor room for ours came: it is over. */
		buf_free(&w->pool, &w->out[id]);
		s->eof = true;
		line_put(w, LINE_SOCK, id);
	}
}

/* --- answers ------------------------------------------------------------------------- */

static uint8_t *answer_room(struct worker *w, uint16_t id)
{
	return buf_reserve(&w->pool, &w->out[id], HTTP_ANSWER_MAX);
}

static struct http_reply reply_to(const struct worker *w, const struct session *s)
{
	return (struct http_reply){
		.date = w->date,
		.keep_alive = s->head.keep_alive && !w->draining,
		.head_only = s->head.method == HTTP_HEAD_METHOD,
		.minor = s->head.minor,
	};
}

/* Bytes stand behind the output: let the transport send them. */
static void wrote(struct worker *w, uint16_t id, size_t n)
{
	if (is_sock(w, id)) {
		buf_commit(&w->out[id], n);
		line_put(w, LINE_SOCK, id);
	} else {
		tcp_wrote(w->tcp, id, (uint32_t)n);
	}
}

/* A whole answer of n bytes has been written; on to the next request, or the end. */
static void answered(struct worker *w, uint16_t id, size_t n, bool keep_alive, uint64_t now_ns)
{
	struct session *s = &w->session[id];

	if (!s->unsent) {
		s->unsent = true;
		s->sent_result_ns = now_ns;
		s->sent_from_ns = s->req_stamp_ns ? s->req_stamp_ns : s->req_pop_ns;
	}
	wrote(w, id, n);
	next_request(w, id, now_ns);
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

/* Refuse the request in hand. The room is there. keep: the message was read to
 * its end, so the next one can be found. */
static void refuse(struct worker *w, uint16_t id, enum http_fault fault, const char *detail,
		   bool keep, uint64_t now_ns)
{
	struct session *s = &w->session[id];
	struct http_reply r = reply_to(w, s);
	const char *allow = fault == HTTP_bad_method ? route_allow(s->ask.path) : NULL;

	r.keep_alive = r.keep_alive && keep;
	count(w, fault_counter[fault]);
	answered(w, id, http_write_fault(answer_room(w, id), &r, fault, allow, detail),
		 r.keep_alive, now_ns);
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

static size_t write_hash(const struct session *s, struct http_reply *r, uint8_t *to)
{
	r->timed = true;
	r->parse_ns = s->parsed_ns - s->req_pop_ns;
	r->wait_ns = s->lane_ns - s->parsed_ns;
	r->compute_ns = s->result_ns - s->lane_ns;
	return http_write_hash(to, r, lane_alg_name(s->ask.alg), lane_alg_bits(s->ask.alg),
			       s->ask.n, s->ask.seed, s->hash, s->ask.as_text);
}

void session_result(struct worker *w, uint16_t id, uint64_t now_ns)
{
	struct session *s = &w->session[id];
	struct http_reply r = reply_to(w, s);
	uint8_t *to = answer_room(w, id);

	if (!to) {
		s->phase = PHASE_ANSWER;
		line_put(w, LINE_AGAIN, id);
		return;
	}
	count(w, STATS_http_ok);
	answered(w, id, write_hash(s, &r, to), r.keep_alive, now_ns);
	after_answer(w, id, now_ns);
}

void session_refuse(struct worker *w, uint16_t id, enum http_fault fault, uint64_t now_ns)
{
	if (!answer_room(w, id)) { /* neither lane nor buffer: it has to go, unanswered */
		count(w, fault_counter[fault]);
		session_close(w, id, now_ns);
		return;
	}
	refuse(w, id, fault, "", true, now_ns);
	after_answer(w, id, now_ns);
}

/* --- requests --------------------------------------------------------------------------- */

static void to_lane(struct worker *w, uint16_t id)
{
	struct session *s = &w->session[id];

	s->phase = PHASE_WAIT;
	s->parsed_ns = 0;
	line_put(w, LINE_WAIT, id);
}

/* The request is whole and right. */
static void dispatch(struct worker *w, uint16_t id, uint64_t now_ns)
{
	struct session *s = &w->session[id];
	struct http_reply r = reply_to(w, s);
	uint8_t *to;
	char body[HTTP_TEXT_MAX], *end = body;

	if (s->head.method != HTTP_OPTIONS && s->ask.path == ROUTE_COMPUTE) {
		to_lane(w, id);
		return;
	}
	to = answer_room(w, id);
	count(w, STATS_http_ok);
	if (s->head.method == HTTP_OPTIONS) {
		answered(w, id, http_write_allow(to, &r, route_allow(s->ask.path)), r.keep_alive,
			 now_ns);
		return;
	}
	for (const char *part = "{\"status\":\"ok\",\"mode\":\""; *part;)
		*end++ = *part++;
	for (const char *part = w->mode; *part && end < body + HTTP_TEXT_MAX - 4;)
		*end++ = *part++;
	memcpy(end, "\"}\n", 4);
	answered(w, id, http_write_text(to, &r, "application/json", body), r.keep_alive, now_ns);
}

/* Where the parser stands in the bytes at hand. */
struct reading {
	uint8_t *bytes;
	size_t len;  /* shrinks when chunk lines are undone */
	size_t used; /* done with */
};

/* False: no more can be done with what is there. */
static bool read_head(struct worker *w, uint16_t id, struct reading *in, uint64_t now_ns)
{
	struct session *s = &w->session[id];
	const uint8_t *bytes = in->bytes + in->used;
	enum http_step step = http_head(&s->head, bytes, in->len - in->used);
	struct route_refusal why;

	s->req_stamp_ns = s->stamp_ns;
	s->req_pop_ns = s->pop_ns;
	if (step == HTTP_MORE) {
		if (!s->request_begun)
			set_deadline(w, id, now_ns, w->p.header_timeout_ms);
		s->request_begun = true;
		return false;
	}
	if (step == HTTP_BAD) {
		refuse(w, id, s->head.fault, "", false, now_ns);
		return false;
	}
	in->used += s->head.line;
	s->request_begun = true;
	s->phase = PHASE_BODY;
	if (route_head(&s->head, bytes, w->p.max_n, &s->ask, &why))
		return true;
	refuse(w, id, why.fault, why.detail, !s->head.length && !s->head.chunked, now_ns);
	return s->phase == PHASE_HEAD;
}

static void more_body(struct worker *w, uint16_t id, bool begun, uint64_t now_ns)
{
	struct session *s = &w->session[id];

	if (!s->told_continue) {
		set_deadline(w, id, now_ns, w->p.body_timeout_ms);
		if (s->head.expect && !begun)
			wrote(w, id, http_write_continue(answer_room(w, id)));
	}
	s->told_continue = true;
}

static bool read_body(struct worker *w, uint16_t id, struct reading *in, uint64_t now_ns)
{
	struct session *s = &w->session[id];
	uint8_t *bytes = in->bytes + in->used;
	size_t len = in->len - in->used, used = 0, body = 0;
	struct route_refusal why;
	enum http_step step;

	w->undo = s->head;
	s->req_stamp_ns = s->stamp_ns;
	s->req_pop_ns = s->pop_ns;
	step = http_body(&s->head, bytes, &len, w->p.max_body, &used, &body);
	if (step == HTTP_BAD) {
		refuse(w, id, s->head.fault, "", false, now_ns);
		return false;
	}
	if (step == HTTP_MORE) {
		in->len = in->used + len;
		more_body(w, id, len > 0, now_ns);
		return false;
	}
	in->used += used;
	if (s->head.method == HTTP_POST &&
	    !route_body(&s->head, bytes, body, w->p.max_n, &s->ask, &why))
		refuse(w, id, why.fault, why.detail, true, now_ns);
	else
		dispatch(w, id, now_ns);
	return s->phase == PHASE_HEAD;
}

static bool is_reading(const struct session *s)
{
	return s->phase == PHASE_HEAD || s->phase == PHASE_BODY;
}

/* Requests out of the bytes at hand, until one goes to a lane, more must come,
 * or there is no room for an answer. */
static void read_requests(struct worker *w, uint16_t id, struct reading *in, uint64_t now_ns)
{
	struct session *s = &w->session[id];

	while (is_reading(s) && (in->used < in->len || s->phase == PHASE_BODY)) {
		if (!answer_room(w, id)) {
			line_put(w, LINE_AGAIN, id);
			break;
		}
		if (s->phase == PHASE_HEAD ? !read_head(w, id, in, now_ns) :
					     !read_body(w, id, in, now_ns))
			break;
	}
	if (!w->out[id].len)
		buf_free(&w->pool, &w->out[id]); /* the room was not needed */
}

/* Straight from the frame, without a copy; what is left over is kept. */
static uint32_t read_frame(struct worker *w, uint16_t id, uint8_t *bytes, uint32_t n,
			   uint64_t now_ns)
{
	struct session *s = &w->session[id];
	struct reading in = { bytes, n, 0 };

	w->undo = s->head;
	read_requests(w, id, &in, now_ns);
	if (s->phase == PHASE_CLOSING || in.used == in.len ||
	    buf_append(&w->pool, &s->in, bytes + in.used, in.len - in.used))
		return n;
	/* No buffer: they come again, and are read again from where they start. */
	if (s->phase == PHASE_HEAD)
		http_begin(&s->head);
	else if (s->phase == PHASE_BODY)
		s->head = w->undo;
	return (uint32_t)in.used;
}

uint32_t session_bytes(struct worker *w, uint16_t id, uint8_t *bytes, uint32_t n, uint64_t now_ns)
{
	struct session *s = &w->session[id];

	if (s->phase == PHASE_CLOSING)
		return n;
	if (!s->in.len && is_reading(s))
		return read_frame(w, id, bytes, n, now_ns);
	if (!buf_append(&w->pool, &s->in, bytes, n))
		return 0;
	if (is_reading(s))
		session_again(w, id, now_ns);
	return n;
}

void session_again(struct worker *w, uint16_t id, uint64_t now_ns)
{
	static uint8_t nothing[1]; /* a body may be due of which no byte is buffered */
	struct session *s = &w->session[id];
	struct reading in = { .bytes = s->in.base ? buf_bytes(&s->in) : nothing, .len = s->in.len };

	if (s->phase == PHASE_ANSWER) {
		session_result(w, id, now_ns);
		return;
	}
	if (!is_reading(s))
		return;
	read_requests(w, id, &in, now_ns);
	if (s->phase == PHASE_CLOSING)
		return;
	s->in.len = (uint32_t)in.len;
	buf_drop(&w->pool, &s->in, in.used);
	if (s->eof && is_reading(s) && !(s->lines & 1u << LINE_AGAIN))
		session_close(w, id, now_ns); /* the rest of the request will never come */
}

void session_eof(struct worker *w, uint16_t id, uint64_t now_ns)
{
	struct session *s = &w->session[id];

	s->eof = true;
	if (s->phase == PHASE_CLOSING && is_sock(w, id))
		line_put(w, LINE_SOCK, id);
	else
		session_again(w, id, now_ns);
}
