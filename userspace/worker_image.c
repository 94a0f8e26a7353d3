/* SPDX-License-Identifier: GPL-2.0-only */
/* worker_image.c - a worker to an image, and back; image.h has the story */
#include "image.h"
#include "worker_private.h"

/* Header, tcp, sessions, lines, and the magic once more. */

/* Raise it when records keep their size and get another meaning. */
enum { IMAGE_VERSION = 1 };
#define IMAGE_MAGIC UINT64_C(0x6567616d696b6173) /* "sakimage" */

/* The Makefile's checksum of the text of all structs and enums that an image has. */
#ifndef IMAGE_LAYOUT
#define IMAGE_LAYOUT 0
#endif

struct header {
	uint64_t magic;
	uint32_t version;
	uint32_t with_notes; /* there is an access log */
	uint64_t layout;
	uint64_t bytes; /* in all; 0 in an image that is not complete */
	uint32_t large_size, max_body;
	uint32_t max_conns, conn_top, sock_top;
	uint32_t sessions;
	uint32_t draining, zero;
};

/* What the text does not show: sizes, and the ends of lists. */
static uint64_t layout(void)
{
	static const uint32_t words[] = {
		IMAGE_LAYOUT,
		sizeof(struct session),
		sizeof(struct peer),
		sizeof(struct accesslog_record),
		sizeof(struct pkt_seg),
		PHASE_CLOSING,
		LINES,
		TCP_LAST_ACK,
		HTTP_FAULTS,
		HTTP_OTHER,
		ROUTE_NONE,
		LANE_ALGS,
		EARLY_MAX,
	};
	uint64_t h = 0xcbf29ce484222325; /* FNV-1a, by words */

	for (unsigned i = 0; i < array_size(words); i++)
		h = (h ^ words[i]) * 0x100000001b3;
	return h;
}

/* Those who stand in line in another process too: sockets are all settled anew. */
static const uint8_t lines_kept[] = { LINE_NEW, LINE_SHORT, LINE_LONG, LINE_AGAIN };

/* --- saving --------------------------------------------------------------------------- */

static void save_buf(const struct buf *b, struct image *m)
{
	image_put_u32(m, b->len);
	image_put(m, b->len ? buf_bytes(b) : NULL, b->len);
}

/* Without what depends on where we are now, and what is done again: a head is read anew
 * from its first byte, a job that is in a lane is computed anew. */
static struct session portable(const struct session *from)
{
	struct session s = *from;

	s.in = (struct buf){ .base = NULL };
	s.lines = 0;
	memset(s.next, 0, sizeof s.next);
	memset(s.prev, 0, sizeof s.prev);
	if (s.phase == PHASE_HEAD)
		http_begin(&s.head);
	if (s.phase == PHASE_LANE)
		s.phase = PHASE_WAIT;
	return s;
}

static void save_session(const struct worker *w, uint16_t id, struct image *m)
{
	struct session s = portable(&w->session[id]);

	image_put_u32(m, id);
	image_put(m, &s, sizeof s);
	image_put(m, &w->wheel.entry[id].at, sizeof w->wheel.entry[id].at);
	save_buf(&w->session[id].in, m);
	if (is_sock(w, id)) {
		save_buf(&w->out[id], m); /* tcp saves its own */
		image_put(m, &w->peer[id - w->p.max_conns], sizeof w->peer[0]);
	}
	if (w->note)
		image_put(m, &w->note[id], sizeof w->note[id]);
}

/* Of those that were ever in use: others are not even looked at. */
static unsigned next_used(const struct worker *w, unsigned id)
{
	return id >= w->conn_top && id < w->p.max_conns ? w->p.max_conns : id;
}

/* Does it come before all who stand there? Who had a lane comes first; with as many lanes as
 * there were all of them find one at once, before anybody is told that it takes too long. */
static bool is_before(const struct worker *w, uint16_t id, enum session_line which)
{
	const struct session *s = &w->session[id];

	return s->phase == PHASE_LANE && which == (s->ask.n <= LANE_SHORT ? LINE_SHORT : LINE_LONG);
}

/* Their ids, after the number of them: counted by a first walk, without m. */
static uint32_t walk_line(const struct worker *w, enum session_line which, struct image *m)
{
	uint32_t n = 0;

	for (unsigned id = next_used(w, 0); id < w->sock_top && roster_jobs(w->roster);
	     id = next_used(w, id + 1))
		if (is_before(w, (uint16_t)id, which)) {
			n++;
			if (m)
				image_put_u32(m, id);
		}
	for (uint16_t id = w->line[which].first; id != WORKER_NONE; id = w->session[id].next[which])
		if (w->session[id].phase != PHASE_FREE) {
			n++;
			if (m)
				image_put_u32(m, id);
		}
	return n;
}

static void save_line(const struct worker *w, enum session_line which, struct image *m)
{
	image_put_u32(m, walk_line(w, which, NULL));
	walk_line(w, which, m);
}

static void save(const struct worker *w, struct image *m, uint64_t now_ns)
{
	const struct header h = {
		.magic = IMAGE_MAGIC,
		.version = IMAGE_VERSION,
		.with_notes = w->note != NULL,
		.layout = layout(),
		.large_size = (uint32_t)buf_most(&w->pool),
		.max_body = w->p.max_body,
		.max_conns = w->p.max_conns,
		.conn_top = w->conn_top,
		.sock_top = w->sock_top,
		.sessions = tcp_count(w->tcp) + w->socks,
		.draining = w->draining,
	};

	image_put(m, &h, sizeof h);
	tcp_save(w->tcp, m, now_ns);
	for (unsigned id = next_used(w, 0); id < w->sock_top; id = next_used(w, id + 1))
		if (w->session[id].phase != PHASE_FREE)
			save_session(w, (uint16_t)id, m);
	for (unsigned i = 0; i < array_size(lines_kept); i++)
		save_line(w, lines_kept[i], m);
	image_put(m, &h.magic, sizeof h.magic);
}

uint64_t worker_layout(void)
{
	return layout() + IMAGE_VERSION;
}

size_t worker_image_room(const struct worker *w, uint64_t now_ns)
{
	struct image m = image_count();

	save(w, &m, now_ns);
	return m.at;
}

size_t worker_save(const struct worker *w, void *to, size_t room, uint64_t now_ns)
{
	struct image m = image_write(to, room);
	uint64_t bytes;

	save(w, &m, now_ns);
	if (m.fault)
		return 0;
	bytes = m.at;
	memcpy((uint8_t *)to + offsetof(struct header, bytes), &bytes, sizeof bytes);
	return m.at;
}

/* --- is it a session? ------------------------------------------------------------------- */

static bool bools_fit(const struct session *s)
{
	static const uint16_t bools[] = {
		offsetof(struct session, head.keep_alive),
		offsetof(struct session, head.close),
		offsetof(struct session, head.chunked),
		offsetof(struct session, head.expect),
		offsetof(struct session, head.has_host),
		offsetof(struct session, head.has_length),
		offsetof(struct session, head.has_coding),
		offsetof(struct session, ask.has_n),
		offsetof(struct session, ask.seed_in_body),
		offsetof(struct session, ask.has_seed),
		offsetof(struct session, ask.has_alg),
		offsetof(struct session, ask.as_text),
		offsetof(struct session, eof),
		offsetof(struct session, request_begun),
		offsetof(struct session, asked),
		offsetof(struct session, told_continue),
		offsetof(struct session, unsent),
	};

	return image_bools(s, bools, array_size(bools));
}

static bool session_fits(const struct session *s, uint32_t in_len)
{
	bool asked = s->phase >= PHASE_BODY && s->phase <= PHASE_METRICS;

	if (!bools_fit(s) || s->phase == PHASE_FREE || s->phase == PHASE_LANE ||
	    s->phase > PHASE_CLOSING)
		return false;
	if (s->asked != asked || s->cache > HTTP_CACHE_MISS || s->head.method > HTTP_OTHER ||
	    s->ask.alg >= LANE_ALGS || s->ask.path > ROUTE_NONE)
		return false;
	if (asked && s->ask.path == ROUTE_NONE)
		return false;
	if (s->phase == PHASE_ECHO && (!s->echo_len || s->echo_len > in_len))
		return false;
	return s->phase != PHASE_BODY || http_body_fits(&s->head, in_len);
}

/* Of either transport, and what tcp has of it goes with it. */
static bool transport_fits(const struct worker *w, uint16_t id)
{
	const struct session *s = &w->session[id];
	enum tcp_state state;

	if (is_sock(w, id))
		return true;
	state = tcp_state(w->tcp, id);
	return (s->phase == PHASE_FREE) == (state == TCP_FREE) &&
	       (s->phase == PHASE_CLOSING) == (state >= TCP_FIN_WAIT_1);
}

/* --- loading ------------------------------------------------------------------------------ */

static bool load_header(const struct worker *w, struct image *m, struct header *h)
{
	image_take(m, h, sizeof *h);
	if (m->fault)
		return false;
	if (h->magic != IMAGE_MAGIC)
		return image_refuse(m, IMAGE_foreign);
	if (h->version != IMAGE_VERSION)
		return image_refuse(m, IMAGE_version);
	if (h->layout != layout())
		return image_refuse(m, IMAGE_layout);
	if (h->bytes != m->room)
		return image_refuse(m, h->bytes > m->room ? IMAGE_short : IMAGE_broken);
	if (h->large_size > buf_most(&w->pool) || h->max_body > w->p.max_body)
		return image_refuse(m, IMAGE_buffers);
	return true;
}

/* Sockets lie behind all connections over frames. WORKER_NONE: there is no such slot. */
static uint16_t load_id(const struct worker *w, const struct header *h, struct image *m)
{
	uint32_t id = image_take_u32(m), sock = id - h->max_conns;

	if (id < h->max_conns && id < w->p.max_conns)
		return (uint16_t)id;
	if (id >= h->max_conns && sock < w->p.max_socks)
		return (uint16_t)(w->p.max_conns + sock);
	image_refuse(m, IMAGE_slots);
	return WORKER_NONE;
}

/* The number of bytes, which have been looked for; they follow by image_pass. */
static uint32_t load_len(struct image *m)
{
	uint32_t len = image_take_u32(m);

	if (!m->fault && len > m->room - m->at)
		image_refuse(m, IMAGE_short);
	return m->fault ? 0 : len;
}

static bool load_buf(struct worker *w, struct buf *b, uint32_t len, struct image *m)
{
	const uint8_t *bytes = image_pass(m, len);

	if (bytes && len && !buf_append(&w->pool, b, bytes, len))
		return image_refuse(m, IMAGE_buffers);
	return bytes;
}

static bool load_note(struct worker *w, uint16_t id, const struct header *h, struct image *m)
{
	static const uint16_t bools[] = {
		offsetof(struct accesslog_record, has_target),
		offsetof(struct accesslog_record, has_job),
		offsetof(struct accesslog_record, is_sock),
	};
	struct accesslog_record r = { .port = 0 };
	struct tcp_view v;

	if (h->with_notes) {
		image_take(m, &r, sizeof r);
		if (!image_bools(&r, bools, array_size(bools)))
			return image_refuse(m, IMAGE_broken);
	}
	if (!w->note || m->fault)
		return !m->fault;
	w->note[id] = r;
	if (h->with_notes)
		return true;
	if (is_sock(w, id)) {
		const struct peer *peer = &w->peer[id - w->p.max_conns];

		note_peer(w, id, peer->address, peer->port);
	} else {
		tcp_describe(w->tcp, id, &v);
		note_peer(w, id, v.flow->remote, v.flow->remote_port);
	}
	return true;
}

static void settle(struct worker *w, uint16_t id)
{
	const struct session *s = &w->session[id];

	w->requests += s->asked;
	w->waiting += s->phase == PHASE_WAIT;
	session_top(w, id);
	if (is_sock(w, id)) {
		w->socks++;
		line_put(w, LINE_SOCK, id);
	}
}

static bool load_session(struct worker *w, const struct header *h, struct image *m, uint64_t now_ns)
{
	uint16_t id = load_id(w, h, m);
	struct session s;
	uint64_t at_ns;
	uint32_t len;

	image_take(m, &s, sizeof s);
	image_take(m, &at_ns, sizeof at_ns);
	len = load_len(m);
	if (m->fault)
		return false;
	if (w->session[id].phase != PHASE_FREE || !session_fits(&s, len))
		return image_refuse(m, IMAGE_broken);
	s = portable(&s);
	if (!load_buf(w, &s.in, len, m))
		return false;
	if (is_sock(w, id) && (!load_buf(w, &w->out[id], load_len(m), m) ||
			       !image_take(m, &w->peer[id - w->p.max_conns], sizeof w->peer[0])))
		return false;
	w->session[id] = s;
	wheel_set(&w->wheel, id, image_deadline(at_ns, now_ns));
	settle(w, id);
	return load_note(w, id, h, m);
}

static bool load_line(struct worker *w, enum session_line which, const struct header *h,
		      struct image *m)
{
	bool waits = LINES_WAIT & 1u << which;

	for (uint32_t n = image_take_u32(m); n && !m->fault; n--) {
		uint16_t id = load_id(w, h, m);
		const struct session *s;

		if (m->fault)
			return false;
		s = &w->session[id];
		if (waits ? s->phase != PHASE_WAIT || s->lines & LINES_WAIT :
			    s->phase == PHASE_FREE)
			return image_refuse(m, IMAGE_broken);
		line_put(w, which, id);
	}
	return !m->fault;
}

static bool load_sessions(struct worker *w, const struct header *h, struct image *m,
			  uint64_t now_ns)
{
	for (uint32_t n = h->sessions; n && !m->fault; n--)
		load_session(w, h, m, now_ns);
	for (unsigned i = 0; i < array_size(lines_kept) && !m->fault; i++)
		load_line(w, lines_kept[i], h, m);
	w->conn_top = (uint16_t)max_u64(w->conn_top, tcp_top(w->tcp));
	for (unsigned id = next_used(w, 0); id < w->sock_top && !m->fault;
	     id = next_used(w, id + 1)) {
		const struct session *s = &w->session[id];

		if (!transport_fits(w, (uint16_t)id) ||
		    (s->phase == PHASE_WAIT) != !!(s->lines & LINES_WAIT))
			return image_refuse(m, IMAGE_broken);
	}
	return !m->fault;
}

/* Ids that were in use once are shown by others until they are told otherwise. */
static void load_tops(struct worker *w, const struct header *h)
{
	unsigned conns = (unsigned)min_u64(h->conn_top, w->p.max_conns);
	unsigned socks = (unsigned)min_u64(h->sock_top - h->max_conns, w->p.max_socks);

	w->conn_top = (uint16_t)max_u64(w->conn_top, conns);
	w->sock_top = (uint16_t)max_u64(w->sock_top, w->p.max_conns + socks);
}

static bool load_end(struct image *m)
{
	uint64_t magic;

	image_take(m, &magic, sizeof magic);
	return magic == IMAGE_MAGIC && m->at == m->room ? !m->fault : image_refuse(m, IMAGE_broken);
}

static bool load(struct worker *w, struct image *m, uint64_t now_ns)
{
	struct header h;

	if (!load_header(w, m, &h) || !tcp_load(w->tcp, m, now_ns) ||
	    !load_sessions(w, &h, m, now_ns) || !load_end(m))
		return false;
	load_tops(w, &h);
	free_socks(w);
	w->draining = h.draining;
	return true;
}

enum image_fault worker_load(struct worker *w, const void *from, size_t len, uint64_t now_ns)
{
	struct image m = image_read(from, len);

	must(!worker_live(w));
	if (!load(w, &m, now_ns))
		worker_blank(w, now_ns);
	return m.fault;
}
