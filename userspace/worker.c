/* SPDX-License-Identifier: GPL-2.0-only */
#include "wire.h"
#include "worker_private.h"

/* --- memory ------------------------------------------------------------------------ */

/* A head must fit, and a body with the chunk lines that are not yet undone, or with
 * the head of the answer that it becomes. And behind them a segment more: the window
 * opens by whole segments only (RFC 9293 3.8.6.2.2), and must not shut before the end. */
static unsigned large_size(const struct worker_params *p)
{
	return (unsigned)round_up(max_u64(HTTP_HEAD_MAX, p->max_body + 1024) + FRAME_ROOM, 64);
}
_Static_assert(HTTP_REPLY_HEAD_MAX <= 1024, "an echo fits");

static unsigned small_count(const struct worker_params *p)
{
	return p->max_conns + p->max_socks;
}

static unsigned large_count(const struct worker_params *p)
{
	return (unsigned)max_u64(BUF_LARGE_MIN, p->max_conns / BUF_LARGE_SHARE);
}

/* A chunk holds no more than an Ethernet frame of the usual MTU. */
static uint16_t mss_of(unsigned mtu, unsigned ip_header)
{
	return (uint16_t)(min_u64(mtu, 1500) - ip_header - WIRE_TCP_LEN);
}

static struct tcp_params tcp_params_of(struct worker *w, const struct worker_params *p)
{
	struct tcp_params tp = {
		.max_conns = p->max_conns,
		.timewait = p->timewait,
		.mss4 = mss_of(p->mtu, WIRE_IP4_LEN),
		.mss6 = mss_of(p->mtu, WIRE_IP6_LEN),
		.window = (uint16_t)min_u64(large_size(p), 65535),
		.adopts = p->paths,
		.scale = p->kernel_scale,
		.pool = w ? &w->pool : NULL,
		.out = w ? w->out : NULL,
	};

	memcpy(tp.secret, p->secret, sizeof tp.secret);
	return tp;
}

struct layout {
	size_t session, note, out, entries, peer, roster, tcp, cache, pool, end;
};

static struct layout layout_of(const struct worker_params *p)
{
	size_t n = p->max_conns + p->max_socks;
	struct tcp_params tp = tcp_params_of(NULL, p);
	struct layout l;

	l.session = round_up(sizeof(struct worker), 64);
	l.note = l.session + round_up(n * sizeof(struct session), 64);
	l.out = l.note + (p->log ? round_up(n * sizeof(struct accesslog_record), 64) : 0);
	l.entries = l.out + round_up(n * sizeof(struct buf), 64);
	l.peer = l.entries + round_up(n * sizeof(struct wheel_entry), 64);
	l.roster = l.peer + round_up(p->max_socks * sizeof(struct peer), 64);
	l.tcp = l.roster + round_up(roster_footprint(), 64);
	l.cache = l.tcp + round_up(tcp_footprint(&tp), 64);
	l.pool = l.cache + (p->cache ? round_up(cache_footprint(p->cache), 64) : 0);
	l.end = l.pool + buf_pool_footprint(small_count(p), large_count(p), large_size(p));
	return l;
}

size_t worker_footprint(const struct worker_params *p)
{
	return layout_of(p).end;
}

void free_socks(struct worker *w)
{
	w->sock_free = WORKER_NONE;
	for (unsigned id = w->sock_top; id-- > w->p.max_conns;) {
		if (w->session[id].phase != PHASE_FREE)
			continue;
		w->session[id].next[LINE_SOCK] = w->sock_free;
		w->sock_free = (uint16_t)id;
	}
}

static struct metrics_source own_source(const struct worker_params *p)
{
	static const struct mode no_mode;

	return (struct metrics_source){
		.name = "",
		.rung = "none",
		.copy = "none",
		.mode = &no_mode,
		.counters = p->stats,
		.counter_blocks = 1,
		.stages = p->stages,
		.stage_blocks = 1,
	};
}

struct worker *worker_init(void *memory, const struct worker_params *p, uint64_t now_ns)
{
	struct layout l = layout_of(p);
	struct worker *w = memory;
	uint8_t *base = memory;
	struct tcp_params tp;

	must(p->max_conns + p->max_socks < WORKER_NONE);
	w->p = *p;
	w->sessions = p->max_conns + p->max_socks;
	w->session = (struct session *)(base + l.session);
	w->note = p->log ? (struct accesslog_record *)(base + l.note) : NULL;
	w->out = (struct buf *)(base + l.out);
	w->peer = (struct peer *)(base + l.peer);
	w->sock_top = (uint16_t)p->max_conns;
	w->roster = roster_init(base + l.roster, p->lanes, p->features);
	buf_pool_init(&w->pool, base + l.pool, small_count(p), large_count(p), large_size(p));
	tp = tcp_params_of(w, p);
	w->tcp = tcp_init(base + l.tcp, &tp, now_ns);
	w->cache = p->cache ? cache_init(base + l.cache, p->cache, p->secret) : NULL;
	wheel_init(&w->wheel, (struct wheel_entry *)(base + l.entries), now_ns);
	for (int i = 0; i < LINES; i++)
		w->line[i] = (struct line){ WORKER_NONE, WORKER_NONE };
	w->sock_free = WORKER_NONE;
	w->source = own_source(p);
	w->mode = "starting";
	http_date(0, w->date);
	return w;
}

void worker_blank(struct worker *w, uint64_t now_ns)
{
	struct worker_params p = w->p;

	memset(w, 0, layout_of(&p).pool); /* blocks of the pool may hold anything */
	worker_init(w, &p, now_ns);
}

void worker_set_blocks(struct worker *w, struct stats_block *stats, struct stage_block *stages)
{
	uint64_t *to = (uint64_t *)stats;
	const uint64_t *from = (const uint64_t *)w->p.stats;

	for (unsigned i = 0; i < STATS_COUNT; i++)
		to[i] += from[i];
	/* Stages are of requests, and of connections over frames. Without any, nothing is in
	 * the old ones, and their pages, which a look would touch, are not. */
	for (unsigned i = 0; i < STAGES && (w->p.stats->http_requests || w->p.stats->tcp_opened);
	     i++) {
		const struct hist *h = (const struct hist *)w->p.stages + i;

		if (h->count)
			hist_merge((struct hist *)stages + i, h);
	}
	if (w->source.counters == w->p.stats)
		w->source.counters = stats;
	if (w->source.stages == w->p.stages)
		w->source.stages = stages;
	w->p.stats = stats;
	w->p.stages = stages;
}

void worker_set_metrics(struct worker *w, const struct metrics_source *source,
			const struct steer_live *live)
{
	w->source = *source;
	w->live = live;
}

void worker_set_mtu(struct worker *w, unsigned mtu)
{
	w->p.mtu = mtu;
	tcp_set_mss(w->tcp, mss_of(mtu, WIRE_IP4_LEN), mss_of(mtu, WIRE_IP6_LEN));
}

void worker_set_date(struct worker *w, uint64_t unix_s)
{
	if (unix_s == w->unix_s)
		return;
	w->unix_s = unix_s;
	http_date(unix_s, w->date);
}

void worker_set_mode(struct worker *w, const char *mode)
{
	w->mode = mode;
}

void worker_crew(struct worker *w, struct hop *const *hop, unsigned n)
{
	roster_crew(w->roster, hop, n);
}

struct lane *worker_lane(struct worker *w)
{
	return roster_lane(w->roster);
}

void worker_calibrated(struct worker *w)
{
	roster_calibrated(w->roster);
}

/* --- lines --------------------------------------------------------------------------- */

void line_put(struct worker *w, enum session_line which, uint16_t id)
{
	struct session *s = &w->session[id];
	struct line *l = &w->line[which];

	if (s->lines & 1u << which)
		return;
	s->lines |= (uint8_t)(1u << which);
	s->next[which] = WORKER_NONE;
	s->prev[which] = l->last;
	if (l->first == WORKER_NONE)
		l->first = id;
	else
		w->session[l->last].next[which] = id;
	l->last = id;
}

void line_leave(struct worker *w, enum session_line which, uint16_t id)
{
	struct session *s = &w->session[id];
	struct line *l = &w->line[which];
	uint16_t next = s->next[which], prev = s->prev[which];

	if (!(s->lines & 1u << which))
		return;
	s->lines &= (uint8_t) ~(1u << which);
	if (l->first == id)
		l->first = next;
	else
		w->session[prev].next[which] = next;
	if (l->last == id)
		l->last = prev;
	else
		w->session[next].prev[which] = prev;
}

uint16_t line_take(struct worker *w, enum session_line which)
{
	uint16_t id = w->line[which].first;

	if (id != WORKER_NONE)
		line_leave(w, which, id);
	return id;
}

/* --- requests and timers ---------------------------------------------------------------------- */

void worker_admit(struct worker *w, uint64_t now_ns)
{
	uint16_t id, last = w->line[LINE_AGAIN].last;

	while ((id = tcp_tick(w->tcp, now_ns)) != TCP_NONE)
		session_end(w, id);
	while ((id = wheel_due(&w->wheel, now_ns)) != WHEEL_NONE)
		session_timeout(w, id, now_ns);
	/* those who stand there now, once each */
	while ((id = line_take(w, LINE_AGAIN)) != WORKER_NONE) {
		session_again(w, id, now_ns);
		if (!is_sock(w, id) && w->session[id].phase != PHASE_FREE)
			frames_room(w, id);
		if (id == last)
			break;
	}
	if (buf_pool_has_large(&w->pool))
		while ((id = line_take(w, LINE_ROOM)) != WORKER_NONE)
			line_put(w, LINE_SOCK, id);
	/* Long jobs first: they cannot take all places, short ones could. */
	jobs_admit(w, now_ns);
}

void worker_compute(struct worker *w, uint64_t now_ns)
{
	jobs_step(w, now_ns);
}

bool worker_answer(struct worker *w, uint64_t now_ns)
{
	return jobs_take(w, now_ns);
}

/* --- frames out ----------------------------------------------------------------------------------- */

size_t worker_emit(struct worker *w, uint8_t *frame, size_t room, uint64_t now_ns, bool *answer)
{
	struct pkt_seg seg;
	uint16_t slot;

	*answer = false;
	if (!tcp_output(w->tcp, now_ns, &seg, &slot))
		return 0;
	if (slot != TCP_NONE && seg.len && w->session[slot].unsent) {
		struct session *s = &w->session[slot];

		s->unsent = false;
		*answer = true;
		w->emitted = slot;
		record(w, STAGE_reply, s->sent_result_ns, now_ns);
		record(w, STAGE_total, s->sent_from_ns, now_ns);
	}
	return pkt_emit(&seg, frame, room);
}

void worker_times(const struct worker *w, uint64_t now_ns, struct trace_times *times)
{
	const struct session *s = &w->session[w->emitted];
	const struct stamps *of = &s->sent;

	*times = (struct trace_times){
		.steer_ns = span_ns(of->stamp_ns, of->pop_ns),
		.parse_ns = span_ns(of->pop_ns, of->parsed_ns),
		.wait_ns = span_ns(of->parsed_ns, of->lane_ns),
		.compute_ns = span_ns(of->lane_ns, of->result_ns),
		.reply_ns = span_ns(s->sent_result_ns, now_ns),
		.total_ns = span_ns(s->sent_from_ns, now_ns),
	};
}
_Static_assert(SPAN_NONE == TRACE_UNKNOWN, "a span is a time of the trace");

bool worker_due(const struct worker *w)
{
	return tcp_due(w->tcp);
}

bool worker_busy(const struct worker *w)
{
	/* Who waits for the crew is no work of ours; when all are done, there is a lane. */
	bool admits = w->line[LINE_NEW].first != WORKER_NONE ||
		      (w->waiting && !roster_busy(w->roster));

	return admits || lane_busy(roster_lane(w->roster)) ||
	       w->line[LINE_AGAIN].first != WORKER_NONE;
}

bool worker_awaits(const struct worker *w)
{
	return roster_busy(w->roster);
}

void worker_publish(struct worker *w)
{
	const struct tcp_tally *tally = tcp_tally(w->tcp);

#define X(name) w->p.stats->tcp_##name += tally->name - w->told.name;
	TCP_TALLY_LIST(X)
#undef X
	w->told = *tally;
}

/* --- kernel sockets --------------------------------------------------------------------------------- */

uint16_t worker_open(struct worker *w, uint64_t now_ns)
{
	uint16_t id = w->sock_free;

	if (id != WORKER_NONE)
		w->sock_free = w->session[id].next[LINE_SOCK];
	else if (w->sock_top < w->sessions)
		id = w->sock_top; /* never used yet: its page is untouched */
	else
		return id;
	w->socks++;
	session_open(w, id, now_ns);
	return id;
}

void worker_peer(struct worker *w, uint16_t id, const uint8_t address[16], uint16_t port)
{
	struct peer *peer = &w->peer[id - w->p.max_conns];

	memcpy(peer->address, address, sizeof peer->address);
	peer->port = port;
	if (w->note)
		note_peer(w, id, address, port);
}

void worker_gone(struct worker *w, uint16_t id)
{
	must(is_sock(w, id));
	session_end(w, id);
	buf_free(&w->pool, &w->out[id]);
	line_leave(w, LINE_ROOM, id);
	w->socks--;
	/* It may still stand in LINE_SOCK: worker_ready frees it then. */
	if (w->session[id].lines & 1u << LINE_SOCK)
		return;
	w->session[id].next[LINE_SOCK] = w->sock_free;
	w->sock_free = id;
}

uint8_t *worker_room(struct worker *w, uint16_t id, size_t *n)
{
	struct session *s = &w->session[id];
	uint8_t *to;

	/* A small block first; what does not fit there moves to a large one. */
	*n = s->in.len < BUF_SMALL ? BUF_SMALL - s->in.len : buf_most(&w->pool) - s->in.len;
	to = *n ? buf_reserve(&w->pool, &s->in, *n) : NULL;
	if (*n && !to)
		line_put(w, LINE_ROOM, id);
	return to;
}

void worker_read(struct worker *w, uint16_t id, size_t n, uint64_t now_ns)
{
	struct session *s = &w->session[id];

	s->stamp_ns = 0;
	s->pop_ns = now_ns;
	s->bytes_in += n;
	buf_commit(&s->in, n);
	session_again(w, id, now_ns);
}

void worker_eof(struct worker *w, uint16_t id, uint64_t now_ns)
{
	session_eof(w, id, now_ns);
}

uint16_t worker_ready(struct worker *w)
{
	uint16_t id;

	while ((id = line_take(w, LINE_SOCK)) != WORKER_NONE) {
		if (w->session[id].phase != PHASE_FREE)
			return id;
		w->session[id].next[LINE_SOCK] = w->sock_free;
		w->sock_free = id;
	}
	return WORKER_NONE;
}

uint16_t worker_sock_after(const struct worker *w, uint16_t id)
{
	unsigned next = id == WORKER_NONE ? w->p.max_conns : id + 1u;

	while (next < w->sock_top && w->session[next].phase == PHASE_FREE)
		next++;
	return next < w->sock_top ? (uint16_t)next : WORKER_NONE;
}

const struct buf *worker_out(const struct worker *w, uint16_t id)
{
	return &w->out[id];
}

void worker_sent(struct worker *w, uint16_t id, size_t n, uint64_t now_ns)
{
	struct session *s = &w->session[id];

	buf_drop(&w->pool, &w->out[id], n);
	if (n && s->unsent) {
		s->unsent = false;
		record(w, STAGE_reply, s->sent_result_ns, now_ns);
		record(w, STAGE_total, s->sent_from_ns, now_ns);
	}
}

bool worker_closing(const struct worker *w, uint16_t id)
{
	return w->session[id].phase == PHASE_CLOSING;
}

bool worker_eof_seen(const struct worker *w, uint16_t id)
{
	return w->session[id].eof;
}

bool worker_over(const struct worker *w, uint16_t id)
{
	return worker_closing(w, id) && w->session[id].eof;
}

/* --- the end ------------------------------------------------------------------------------------------ */

void worker_drain(struct worker *w)
{
	w->draining = true;
	tcp_refuse(w->tcp);
}

void worker_close_idle(struct worker *w, uint64_t now_ns)
{
	for (unsigned id = 0; id < w->sessions; id++)
		if (session_is_idle(w, (uint16_t)id))
			session_close(w, (uint16_t)id, now_ns);
}

unsigned worker_live(const struct worker *w)
{
	return tcp_count(w->tcp) + w->socks;
}

void worker_check(const struct worker *w)
{
	unsigned lanes = 0, waiting = 0, requests = 0;

	tcp_check(w->tcp);
	for (unsigned id = 0; id < w->sessions; id++) {
		const struct session *s = &w->session[id];

		lanes += s->phase == PHASE_LANE;
		requests += s->asked;
		must(s->asked == (s->phase >= PHASE_BODY && s->phase <= PHASE_METRICS));
		must(s->phase != PHASE_FREE || !s->in.base);
		waiting += s->phase == PHASE_WAIT;
		must((s->phase == PHASE_WAIT) == !!(s->lines & LINES_WAIT));
		if (id < w->p.max_conns)
			must((s->phase == PHASE_FREE) ==
			     (tcp_state(w->tcp, (uint16_t)id) == TCP_FREE));
	}
	must(lanes == roster_jobs(w->roster) && waiting == w->waiting);
	must(requests == w->requests);
}
