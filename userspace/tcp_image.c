/* SPDX-License-Identifier: GPL-2.0-only */
/* tcp_image.c - a table of connections to an image, and back; image.h has the story */
#include "image.h"
#include "tcp_private.h"

/* Each of these is in the image, live ones only, behind their number: connections with
 * their bytes, the due list, TIME-WAIT records, early hints, stubs. */

/* --- saving ------------------------------------------------------------------------ */

static void save_conn(const struct tcp *t, uint16_t slot, struct image *m)
{
	const struct buf *out = &t->p.out[slot];
	struct conn c = t->conn[slot];

	c.reasm = NULL;
	c.hash_next = c.due_next = TCP_NONE;
	c.queued = false;
	image_put_u32(m, slot);
	image_put(m, &c, sizeof c);
	image_put_u32(m, out->len);
	image_put(m, out->len ? buf_bytes(out) : NULL, out->len);
	reasm_save(t, &t->conn[slot], m);
}

static void save_conns(const struct tcp *t, struct image *m)
{
	image_put_u32(m, t->count);
	for (unsigned i = 0; i < t->fresh; i++)
		if (t->conn[i].state != TCP_FREE)
			save_conn(t, (uint16_t)i, m);
}

/* A slot that is not in use any more, or has nothing to send, stands there for nothing. */
static bool is_due(const struct tcp *t, uint16_t slot)
{
	return t->conn[slot].state != TCP_FREE && t->conn[slot].due;
}

static void save_due(const struct tcp *t, struct image *m)
{
	uint32_t n = 0;

	for (uint16_t i = t->due_first; i != TCP_NONE; i = t->conn[i].due_next)
		n += is_due(t, i);
	image_put_u32(m, n);
	for (uint16_t i = t->due_first; i != TCP_NONE; i = t->conn[i].due_next)
		if (is_due(t, i))
			image_put_u32(m, i);
}

static bool timewait_is_live(const struct timewait *w, uint64_t now_ns)
{
	return w->key && w->until_ns > now_ns;
}

/* What is over must still be told of, where flows are. */
static bool timewait_counts(const struct tcp *t, unsigned i, uint64_t now_ns)
{
	const struct timewait *w = &t->timewait[i];

	return t->p.adopts ? w->key != 0 : timewait_is_live(w, now_ns);
}

static void save_timewait(const struct tcp *t, struct image *m, uint64_t now_ns)
{
	uint32_t n = 0;

	for (unsigned i = 0; i < t->p.timewait; i++)
		n += timewait_counts(t, i, now_ns);
	image_put_u32(m, n);
	for (unsigned i = 0; i < t->p.timewait; i++) {
		if (!timewait_counts(t, i, now_ns))
			continue;
		image_put(m, &t->timewait[i], sizeof t->timewait[i]);
		if (t->p.adopts)
			image_put(m, &t->tw_flow[i], sizeof t->tw_flow[i]);
	}
}

static bool early_is_live(const struct early *e, uint64_t now_ns)
{
	return e->tag && e->until_ms - (uint32_t)(now_ns / NS_PER_MS) <= TCP_EARLY_MS;
}

static void save_early(const struct tcp *t, struct image *m, uint64_t now_ns)
{
	uint32_t n = 0;

	for (unsigned i = 0; i < EARLY_MAX; i++)
		n += early_is_live(&t->early[i], now_ns);
	image_put_u32(m, n);
	for (unsigned i = 0; i < EARLY_MAX; i++)
		if (early_is_live(&t->early[i], now_ns)) {
			image_put_u32(m, i);
			image_put(m, &t->early[i], sizeof t->early[i]);
		}
}

static void save_stubs(const struct tcp *t, struct image *m)
{
	image_put_u32(m, t->stub_count);
	for (unsigned i = 0; i < t->stub_count; i++)
		image_put(m, &t->stub[(t->stub_head + i) % STUBS_MAX], sizeof t->stub[0]);
}

void tcp_save(const struct tcp *t, struct image *m, uint64_t now_ns)
{
	if (t->note_count || t->owes_first != TCP_NONE)
		image_refuse(m, IMAGE_untold);
	image_put(m, t->p.secret, sizeof t->p.secret);
	image_put_u32(m, t->p.adopts);
	image_put_u32(m, t->refusing);
	image_put_u32(m, t->stubs_first);
	save_conns(t, m);
	save_due(t, m);
	save_timewait(t, m, now_ns);
	save_early(t, m, now_ns);
	save_stubs(t, m);
}

/* --- is it a connection? ---------------------------------------------------------------- */

static bool bools_fit(const struct conn *c)
{
	static const uint16_t bools[] = {
		offsetof(struct conn, queued),
		offsetof(struct conn, has_ts),
		offsetof(struct conn, sack_ok),
		offsetof(struct conn, fin_sent),
		offsetof(struct conn, loss.probed),
		offsetof(struct conn, loss.recovering),
		offsetof(struct conn, loss.probe_next),
		offsetof(struct conn, adopted),
		offsetof(struct conn, owes),
		offsetof(struct conn, unsaid),
	};

	return image_bools(c, bools, array_size(bools));
}

/* The scoreboard's walks end because its ranges are in order, within what is in flight. */
static bool loss_fits(const struct conn *c)
{
	const struct loss *l = &c->loss;
	uint32_t edge = c->snd_una;

	if (l->count > LOSS_RANGES)
		return false;
	for (unsigned i = 0; i < l->count; i++) {
		if (!seq_lt(edge, l->sacked[i].left) ||
		    !seq_lt(l->sacked[i].left, l->sacked[i].right) ||
		    !seq_le(l->sacked[i].right, c->snd_max))
			return false;
		edge = l->sacked[i].right;
	}
	return !l->recovering || (seq_le(c->snd_una, l->rxt_nxt) && seq_le(l->rxt_nxt, c->snd_max));
}

/* Windows are divided by, and shifted; a segment must hold the longest options. */
enum {
	MSS_MIN = 64 - 12,
	CWND_MOST = 1 << 30,
	SCALE_MAX = 14, /* RFC 7323 2.3 */
	DUE_ALL = DUE_DATA | DUE_ACK | DUE_PROBE | DUE_TAIL,
};

/* What the steering was told is what is. */
static bool flow_fits(const struct tcp *t, const struct conn *c)
{
	enum tcp_flow is = c->state >= TCP_FIN_WAIT_1 ? TCP_FLOW_CLOSING : TCP_FLOW_OPEN;

	return c->adopted == t->p.adopts && !c->owes && !c->unsaid && c->rcv_scale <= SCALE_MAX &&
	       c->told == (c->adopted ? is : TCP_FLOW_GONE);
}

static bool conn_fits(const struct conn *c, uint32_t out_len)
{
	if (c->state == TCP_FREE || c->state > TCP_LAST_ACK || c->due & ~DUE_ALL)
		return false;
	if (!seq_le(c->snd_una, c->snd_nxt) || !seq_le(c->snd_nxt, c->snd_max) ||
	    c->snd_max - c->snd_una > out_len + 1 || c->rcv_adv - c->rcv_nxt > UINT16_MAX)
		return false;
	if (c->snd_una != c->snd_max && !c->at_rtx_ns)
		return false;
	return c->mss >= MSS_MIN && c->snd_scale <= SCALE_MAX && c->cwnd && c->ssthresh &&
	       loss_fits(c);
}

/* --- loading ----------------------------------------------------------------------------- */

/* What depends on where we are now: places in lists, pointers, and the MTU. */
static void settle(const struct tcp *t, struct conn *c, uint64_t now_ns)
{
	uint32_t ours = pkt_is_ip4(&c->flow) ? t->p.mss4 : t->p.mss6;

	c->reasm = NULL;
	c->queued = false;
	c->mss = (uint16_t)min_u64(c->mss, ours - (c->has_ts ? 12 : 0));
	c->cwnd = (uint32_t)min_u64(c->cwnd, CWND_MOST);
	c->room = (uint32_t)min_u64(c->room, t->p.window);
	c->at_rtx_ns = image_deadline(c->at_rtx_ns, now_ns);
	c->at_ack_ns = image_deadline(c->at_ack_ns, now_ns);
	c->at_end_ns = image_deadline(c->at_end_ns, now_ns);
}

static bool load_conn(struct tcp *t, struct image *m, uint64_t now_ns)
{
	uint32_t slot = image_take_u32(m), len;
	const uint8_t *bytes;
	uint16_t *bucket;
	struct conn c;

	image_take(m, &c, sizeof c);
	len = image_take_u32(m);
	bytes = image_pass(m, len);
	if (!bytes)
		return false;
	if (slot >= t->p.max_conns)
		return image_refuse(m, IMAGE_slots);
	if (t->conn[slot].state != TCP_FREE || !bools_fit(&c) || !conn_fits(&c, len) ||
	    !flow_fits(t, &c))
		return image_refuse(m, IMAGE_broken);
	if (len && !buf_append(t->p.pool, &t->p.out[slot], bytes, len))
		return image_refuse(m, IMAGE_buffers);
	settle(t, &c, now_ns);
	bucket = &t->bucket[tcp_hash(t, &c.flow) & t->bucket_mask];
	c.hash_next = *bucket;
	*bucket = (uint16_t)slot;
	t->conn[slot] = c;
	t->fresh = (uint16_t)max_u64(t->fresh, slot + 1);
	t->count++;
	tcp_arm(t, &t->conn[slot]);
	return reasm_load(t, &t->conn[slot], m);
}

/* What remains below the last one is free. */
static void free_the_rest(struct tcp *t)
{
	t->free = TCP_NONE;
	for (unsigned i = t->fresh; i-- > 0;)
		if (t->conn[i].state == TCP_FREE) {
			t->conn[i].hash_next = t->free;
			t->free = (uint16_t)i;
		}
}

static bool load_due(struct tcp *t, struct image *m)
{
	for (uint32_t n = image_take_u32(m); n && !m->fault; n--) {
		uint32_t slot = image_take_u32(m);

		if (slot >= t->p.max_conns || t->conn[slot].state == TCP_FREE)
			return image_refuse(m, IMAGE_broken);
		tcp_mark(t, &t->conn[slot], 0);
	}
	for (unsigned i = 0; i < t->fresh; i++)
		if (t->conn[i].due && !t->conn[i].queued)
			return image_refuse(m, IMAGE_broken);
	return !m->fault;
}

static bool load_timewait(struct tcp *t, struct image *m, uint64_t now_ns)
{
	static const uint16_t bools[] = { offsetof(struct timewait, has_ts) };
	uint64_t longest_ns = now_ns + TCP_TIMEWAIT_MS * (uint64_t)NS_PER_MS;

	for (uint32_t n = image_take_u32(m); n && !m->fault; n--) {
		struct timewait_flow f = { .rcv_scale = 0 };
		struct timewait w, *to;

		image_take(m, &w, sizeof w);
		if (t->p.adopts)
			image_take(m, &f, sizeof f);
		if (t->p.adopts && (f.rcv_scale > SCALE_MAX || w.key != tcp_hash(t, &f.flow) ||
				    tcp_find(t, &f.flow, w.key)))
			return image_refuse(m, IMAGE_broken);
		if (!image_bools(&w, bools, array_size(bools)))
			return image_refuse(m, IMAGE_broken);
		w.until_ns = min_u64(w.until_ns, longest_ns);
		to = timewait_oldest(t, w.key);
		*to = w;
		if (t->p.adopts)
			t->tw_flow[to - t->timewait] = f;
	}
	return !m->fault;
}

static bool load_early(struct tcp *t, struct image *m)
{
	for (uint32_t n = image_take_u32(m); n && !m->fault; n--) {
		uint32_t i = image_take_u32(m);
		struct early e;

		image_take(m, &e, sizeof e);
		if (i >= EARLY_MAX)
			return image_refuse(m, IMAGE_broken);
		t->early[i] = e;
	}
	return !m->fault;
}

static bool load_stubs(struct tcp *t, struct image *m)
{
	static const uint16_t bools[] = { offsetof(struct pkt_seg, sack_ok),
					  offsetof(struct pkt_seg, has_ts) };

	for (uint32_t n = image_take_u32(m); n && !m->fault; n--) {
		struct pkt_seg s, *stub;

		image_take(m, &s, sizeof s);
		if (s.len || s.sack_count || !image_bools(&s, bools, array_size(bools)))
			return image_refuse(m, IMAGE_broken);
		s.data = NULL;
		stub = tcp_stub(t);
		if (stub)
			*stub = s;
	}
	return !m->fault;
}

bool tcp_load(struct tcp *t, struct image *m, uint64_t now_ns)
{
	must(!t->count);
	image_take(m, t->p.secret, sizeof t->p.secret);
	memcpy(&t->key, t->p.secret, sizeof t->key);
	if (image_take_u32(m) != t->p.adopts)
		return image_refuse(m, IMAGE_steer);
	t->refusing = image_take_u32(m);
	t->stubs_first = image_take_u32(m);
	for (uint32_t n = image_take_u32(m); n && !m->fault; n--)
		load_conn(t, m, now_ns);
	free_the_rest(t);
	return !m->fault && load_due(t, m) && load_timewait(t, m, now_ns) && load_early(t, m) &&
	       load_stubs(t, m);
}
