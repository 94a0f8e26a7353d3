/* SPDX-License-Identifier: GPL-2.0-only */
#include "worker_private.h"

/* --- life ------------------------------------------------------------------------- */

static bool is_reading(const struct session *s)
{
	return s->phase == PHASE_HEAD || s->phase == PHASE_BODY;
}

/* Has an answer for which there is no room. */
static bool is_writing(const struct session *s)
{
	return s->phase >= PHASE_ANSWER && s->phase <= PHASE_METRICS;
}

static void set_deadline(struct worker *w, uint16_t id, uint64_t now_ns, uint32_t ms)
{
	wheel_set(&w->wheel, id, now_ns + ms * (uint64_t)NS_PER_MS);
}

/* Nothing happens until the peer takes what is in the output, or asks again. */
void session_await(struct worker *w, uint16_t id, uint64_t now_ns)
{
	w->session[id].mark = w->out[id].len;
	set_deadline(w, id, now_ns, w->p.idle_timeout_ms);
}

void session_next(struct worker *w, uint16_t id, uint64_t now_ns)
{
	struct session *s = &w->session[id];

	http_begin(&s->head);
	s->phase = PHASE_HEAD;
	s->request_begun = false;
	s->told_continue = false;
	s->cache = HTTP_CACHE_NONE;
	s->parsed_ns = s->lane_ns = s->result_ns = 0;
	session_await(w, id, now_ns);
}

void session_top(struct worker *w, uint16_t id)
{
	uint16_t *top = is_sock(w, id) ? &w->sock_top : &w->conn_top;

	*top = (uint16_t)max_u64(*top, id + 1u);
}

void session_open(struct worker *w, uint16_t id, uint64_t now_ns)
{
	struct session *s = &w->session[id];

	must(s->phase == PHASE_FREE);
	s->eof = false;
	s->unsent = false;
	s->opened_ns = now_ns;
	s->requests = s->bytes_in = s->bytes_out = 0;
	session_top(w, id);
	if (!is_sock(w, id))
		line_put(w, LINE_MOVED, id);
	session_next(w, id, now_ns);
}

void session_asked(struct worker *w, uint16_t id)
{
	must_debug(!w->session[id].asked);
	count(w, STATS_http_requests);
	w->session[id].asked = true;
	w->requests++;
}

void session_told(struct worker *w, uint16_t id)
{
	must_debug(w->session[id].asked);
	w->session[id].asked = false;
	w->requests--;
}

/* What is under way for this session ends without an answer. */
static void drop_work(struct worker *w, uint16_t id)
{
	struct session *s = &w->session[id];

	if (s->asked) {
		count(w, STATS_http_aborted);
		if (unlikely(w->note))
			note_end(w, id, 0, 0);
		session_told(w, id);
	}
	if (s->phase == PHASE_LANE)
		roster_drop(w->roster, s->job);
	if (s->phase == PHASE_WAIT) {
		w->waiting--;
		line_leave(w, LINE_NEW, id);
		line_leave(w, LINE_SHORT, id);
		line_leave(w, LINE_LONG, id);
	}
	if (s->phase == PHASE_LANE || s->phase == PHASE_WAIT)
		w->forecast_ns = 0;
	buf_free(&w->pool, &s->in);
}

void session_end(struct worker *w, uint16_t id)
{
	drop_work(w, id);
	wheel_set(&w->wheel, id, 0);
	if (!is_sock(w, id))
		line_put(w, LINE_MOVED, id);
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
	if (s->phase == PHASE_HEAD && s->request_begun)
		return STATS_http_header_timeouts;
	return w->out[id].len ? STATS_http_send_timeouts : STATS_http_idle_timeouts;
}

/* Bytes that moved since the deadline was set, and what it was. A head has none
 * that count: it is short, and more bytes shall not buy more time. */
static uint32_t moved(const struct worker *w, uint16_t id, uint32_t *ms)
{
	const struct session *s = &w->session[id];
	uint32_t out = w->out[id].len;

	if (s->phase == PHASE_BODY) {
		*ms = w->p.body_timeout_ms;
		return s->in.len > s->mark ? s->in.len - s->mark : 0;
	}
	*ms = w->p.idle_timeout_ms;
	return (s->phase == PHASE_HEAD && s->request_begun) || out > s->mark ? 0 : s->mark - out;
}

/* Slow is not silent: a window that brought enough bytes buys another. */
static bool has_progress(struct worker *w, uint16_t id, uint64_t now_ns)
{
	struct session *s = &w->session[id];
	uint32_t ms, bytes = moved(w, id, &ms);

	if (bytes < (uint64_t)ms * RATE_MIN / 1000)
		return false;
	s->mark = s->phase == PHASE_BODY ? s->in.len : w->out[id].len;
	set_deadline(w, id, now_ns, ms);
	return true;
}

void session_timeout(struct worker *w, uint16_t id, uint64_t now_ns)
{
	struct session *s = &w->session[id];

	if (is_reading(s) || is_writing(s)) {
		if (has_progress(w, id, now_ns))
			return;
		count(w, silence_of(w, id));
		if (s->phase == PHASE_BODY)
			session_told(w, id);
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

/* --- requests --------------------------------------------------------------------------- */

/* Where the parser stands in the bytes at hand. */
struct reading {
	uint8_t *bytes;
	size_t len;  /* shrinks when chunk lines are undone */
	size_t used; /* done with */
};

/* Over frames, where the port is shared with a web server: is it that one's? Then the
 * client took the connection for both of us, since an earlier request of it was ours, or
 * XDP had too little of the first to tell. */
static bool is_misdirected(const struct worker *w, uint16_t id, const uint8_t *bytes)
{
	if (!w->p.paths || is_sock(w, id))
		return false;
	for (unsigned i = 0; i < w->p.paths; i++)
		if (route_below(&w->session[id].head, bytes, w->p.path[i]))
			return false;
	return true;
}

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
	session_asked(w, id);
	if (unlikely(w->note))
		note_head(w, id, bytes);
	if (step == HTTP_BAD) {
		answer_refuse(w, id, s->head.fault, "", false, now_ns);
		return false;
	}
	if (unlikely(is_misdirected(w, id, bytes))) {
		answer_refuse(w, id, HTTP_misdirected, "", false, now_ns);
		return false;
	}
	in->used += s->head.line;
	s->request_begun = true;
	s->phase = PHASE_BODY;
	s->mark = 0;
	if (route_head(&s->head, bytes, w->p.max_n, &s->ask, &why))
		return true;
	answer_refuse(w, id, why.fault, why.detail, !s->head.length && !s->head.chunked, now_ns);
	return s->phase == PHASE_HEAD;
}

static void more_body(struct worker *w, uint16_t id, bool begun, uint64_t now_ns)
{
	struct session *s = &w->session[id];

	if (!s->told_continue) {
		set_deadline(w, id, now_ns, w->p.body_timeout_ms);
		if (s->head.expect && !begun)
			answer_continue(w, id);
	}
	s->told_continue = true;
}

/* A body to send back: now, or it stays, without the chunk lines behind it. */
static bool read_echo(struct worker *w, uint16_t id, struct reading *in, size_t used, size_t body,
		      uint64_t now_ns)
{
	uint8_t *bytes = in->bytes + in->used;

	if (answer_echo(w, id, bytes, body, now_ns)) {
		in->used += used;
		return w->session[id].phase == PHASE_HEAD;
	}
	memmove(bytes + body, bytes + used, in->len - in->used - used);
	in->len -= used - body;
	w->session[id].echo_len = (uint32_t)body;
	answer_wait(w, id, PHASE_ECHO, now_ns);
	return false;
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
		answer_refuse(w, id, s->head.fault, "", false, now_ns);
		return false;
	}
	if (step == HTTP_MORE) {
		in->len = in->used + len;
		more_body(w, id, len > 0, now_ns);
		return false;
	}
	if (s->ask.path == ROUTE_ECHO && s->head.method == HTTP_POST && body)
		return read_echo(w, id, in, used, body, now_ns);
	in->used += used;
	if (s->ask.path == ROUTE_COMPUTE && s->head.method == HTTP_POST &&
	    !route_body(&s->head, bytes, body, w->p.max_n, &s->ask, &why))
		answer_refuse(w, id, why.fault, why.detail, true, now_ns);
	else
		answer_request(w, id, now_ns);
	return s->phase == PHASE_HEAD;
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
	if (s->phase == PHASE_HEAD) {
		http_begin(&s->head);
	} else if (s->phase == PHASE_BODY || s->phase == PHASE_ECHO) {
		s->phase = PHASE_BODY;
		s->head = w->undo;
		s->mark = 0;
		set_deadline(w, id, now_ns, w->p.body_timeout_ms);
	}
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

static void read_buffered(struct worker *w, uint16_t id, uint64_t now_ns)
{
	static uint8_t nothing[1]; /* a body may be due of which no byte is buffered */
	struct session *s = &w->session[id];
	struct reading in = { .bytes = s->in.base ? buf_bytes(&s->in) : nothing, .len = s->in.len };

	read_requests(w, id, &in, now_ns);
	if (s->phase == PHASE_CLOSING)
		return;
	s->in.len = (uint32_t)in.len;
	buf_drop(&w->pool, &s->in, in.used);
	if (s->eof && is_reading(s) && !(s->lines & 1u << LINE_AGAIN))
		session_close(w, id, now_ns); /* the rest of the request will never come */
}

void session_again(struct worker *w, uint16_t id, uint64_t now_ns)
{
	const struct session *s = &w->session[id];

	if (is_writing(s))
		answer_again(w, id, now_ns);
	else if (is_reading(s))
		read_buffered(w, id, now_ns);
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
