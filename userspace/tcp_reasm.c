/* SPDX-License-Identifier: GPL-2.0-only */
#include "image.h"
#include "tcp_private.h"

/*
 * What came past a gap (RFC 9293 3.10.7.4, SHOULD-31), and what the peer is told
 * about it (RFC 2018, RFC 2883). A store is one large block of the pool: this
 * head, then a ring of bytes. A FIN takes a place in it as it takes a sequence
 * number. A segment costs its bytes and a walk over the ranges, whatever came
 * before (CVE-2018-5390).
 */

enum { REASM_RANGES = 4 }; /* as many as an ACK without timestamps can name (RFC 2018 3) */

struct range {
	uint32_t left, right;
};

struct reasm {
	uint32_t base; /* lies at ring[0]; at most a ring below rcv_nxt */
	uint32_t fin;  /* the peer's FIN, if has_fin */
	uint8_t count;
	bool has_fin;
	struct range range[REASM_RANGES]; /* apart from each other, the latest first (RFC 2018 4) */
	uint8_t ring[];
};

/* --- blocks -------------------------------------------------------------------------- */

static uint32_t ring_size(const struct tcp *t)
{
	return (uint32_t)(buf_most(t->p.pool) - sizeof(struct reasm));
}

/* Gaps may not starve requests and answers of buffers: half is for those. */
static struct reasm *take_block(struct tcp *t, struct conn *c)
{
	struct buf b = { .base = NULL };

	if (t->reasms >= (t->p.pool->large.count + 1) / 2)
		return NULL;
	c->reasm = (struct reasm *)buf_reserve(t->p.pool, &b, buf_most(t->p.pool));
	if (!c->reasm)
		return NULL;
	t->reasms++;
	c->reasm->base = c->rcv_nxt;
	c->reasm->count = 0;
	c->reasm->has_fin = false;
	return c->reasm;
}

void reasm_free(struct tcp *t, struct conn *c)
{
	struct buf b = { .base = (uint8_t *)c->reasm };

	if (!c->reasm)
		return;
	buf_free(t->p.pool, &b);
	c->reasm = NULL;
	t->reasms--;
}

/* More may come. */
static bool may_gap(const struct conn *c)
{
	return c->state == TCP_ESTABLISHED || c->state == TCP_FIN_WAIT_1 ||
	       c->state == TCP_FIN_WAIT_2;
}

/* --- in ---------------------------------------------------------------------------------- */

static void remove_range(struct reasm *r, unsigned i)
{
	r->count--;
	memmove(r->range + i, r->range + i + 1, (r->count - i) * sizeof r->range[0]);
}

static void put_first(struct reasm *r, struct range range)
{
	memmove(r->range + 1, r->range, r->count * sizeof r->range[0]);
	r->range[0] = range;
	r->count++;
}

/* Add a range, with those that it touches; it is the latest now. */
static enum tcp_verdict add_range(struct conn *c, struct range new)
{
	struct reasm *r = c->reasm;
	struct range sum = new;
	unsigned i = 0;

	while (i < r->count) {
		struct range old = r->range[i];

		if (seq_lt(old.right, new.left) || seq_lt(new.right, old.left)) {
			i++;
			continue;
		}
		sum.left = seq_lt(old.left, sum.left) ? old.left : sum.left;
		sum.right = seq_gt(old.right, sum.right) ? old.right : sum.right;
		remove_range(r, i);
		if (seq_le(old.left, new.left) && seq_le(new.right, old.right)) {
			put_first(r, old);
			reasm_twice(c, new.left, new.right);
			return TCP_duplicate;
		}
	}
	if (r->count == REASM_RANGES)
		return TCP_too_many_gaps;
	put_first(r, sum);
	return TCP_out_of_order;
}

static uint32_t place(const struct tcp *t, const struct reasm *r, uint32_t seq)
{
	return (seq - r->base) % ring_size(t);
}

static void store(const struct tcp *t, struct reasm *r, uint32_t seq, const uint8_t *data,
		  uint32_t n)
{
	uint32_t at = place(t, r, seq), first = (uint32_t)min_u64(n, ring_size(t) - at);

	memcpy(r->ring + at, data, first);
	memcpy(r->ring, data + first, n - first);
}

/* The first FIN counts: its place in the ring is the only one without a byte. */
static bool takes_fin(const struct conn *c, const struct pkt_seg *seg)
{
	const struct reasm *r = c->reasm;

	return seg->flags & WIRE_FIN && !(r && r->has_fin && r->fin != seg->seq + seg->len);
}

/* What does not fit the window, or the ring, comes again; a FIN behind it too. */
enum tcp_verdict reasm_keep(struct tcp *t, struct conn *c, const struct pkt_seg *seg)
{
	uint32_t room = (uint32_t)min_u64(c->rcv_adv - c->rcv_nxt, ring_size(t));
	uint32_t skip = seg->seq - c->rcv_nxt, span = seg->len + takes_fin(c, seg);
	uint32_t n = (uint32_t)min_u64(span, room > skip ? room - skip : 0);
	enum tcp_verdict v;

	if (!span)
		return TCP_duplicate; /* a second FIN, elsewhere */
	if (!n || (!c->reasm && !take_block(t, c)))
		return TCP_no_buffer;
	v = add_range(c, (struct range){ seg->seq, seg->seq + n });
	if (v != TCP_out_of_order)
		return v;
	store(t, c->reasm, seg->seq, seg->data, (uint32_t)min_u64(n, seg->len));
	if (n > seg->len) {
		c->reasm->fin = seg->seq + seg->len;
		c->reasm->has_fin = true;
	}
	return v;
}

/* --- out ---------------------------------------------------------------------------------- */

void reasm_passed(struct tcp *t, struct conn *c, bool all_taken)
{
	struct reasm *r = c->reasm;
	unsigned i = 0;

	while (i < r->count) {
		struct range *range = &r->range[i];

		if (seq_le(range->right, c->rcv_nxt)) {
			remove_range(r, i);
		} else if (seq_le(range->left, c->rcv_nxt) && !all_taken) {
			t->tally.reneged++;
			remove_range(r, i);
		} else {
			if (seq_lt(range->left, c->rcv_nxt))
				range->left = c->rcv_nxt;
			i++;
		}
	}
	if (r->has_fin && seq_lt(r->fin, c->rcv_nxt))
		r->has_fin = false;
	r->base = c->rcv_nxt - place(t, r, c->rcv_nxt);
	if (!r->count)
		reasm_free(t, c);
}

bool tcp_more(const struct tcp *t, uint16_t slot, struct tcp_event *ev)
{
	const struct conn *c = &t->conn[slot];
	struct reasm *r = c->reasm;

	for (unsigned i = 0; r && i < r->count; i++) {
		uint32_t at = place(t, r, c->rcv_nxt), end = r->range[i].right;

		if (r->range[i].left != c->rcv_nxt)
			continue;
		if (r->has_fin && seq_lt(r->fin, end))
			end = r->fin;
		*ev = (struct tcp_event){ .slot = slot, .data = r->ring + at };
		ev->len = (uint32_t)min_u64(end - c->rcv_nxt, ring_size(t) - at);
		ev->fin = r->has_fin && c->rcv_nxt + ev->len == r->fin;
		return true;
	}
	return false;
}

/* --- SACK ------------------------------------------------------------------------------------ */

void reasm_twice(struct conn *c, uint32_t left, uint32_t right)
{
	c->twice_left = left;
	c->twice_right = right;
}

static void say(struct pkt_seg *s, uint32_t left, uint32_t right)
{
	s->sack[s->sack_count].left = left;
	s->sack[s->sack_count].right = right;
	s->sack_count++;
}

/* 40 bytes of options hold four blocks, or three and timestamps. */
void reasm_say(struct conn *c, struct pkt_seg *s)
{
	const struct reasm *r = c->reasm;
	unsigned most = s->has_ts ? PKT_SACKS - 1 : PKT_SACKS;

	if (c->sack_ok && c->twice_left != c->twice_right)
		say(s, c->twice_left, c->twice_right);
	c->twice_left = c->twice_right;
	for (unsigned i = 0; c->sack_ok && r && i < r->count && s->sack_count < most; i++)
		say(s, r->range[i].left, r->range[i].right);
}

/* --- to an image, and back ---------------------------------------------------------------------- */

/* The bytes of a range, the place of a FIN among them, lie in one or two pieces. */
static void save_range(const struct tcp *t, const struct reasm *r, struct range range,
		       struct image *m)
{
	uint32_t n = range.right - range.left, at = place(t, r, range.left);
	uint32_t first = (uint32_t)min_u64(n, ring_size(t) - at);

	image_put(m, &range, sizeof range);
	image_put(m, r->ring + at, first);
	image_put(m, r->ring, n - first);
}

void reasm_save(const struct tcp *t, const struct conn *c, struct image *m)
{
	const struct reasm *r = c->reasm;

	image_put_u32(m, r ? r->count : 0);
	if (!r)
		return;
	image_put_u32(m, r->has_fin);
	image_put_u32(m, r->fin);
	for (unsigned i = 0; i < r->count; i++)
		save_range(t, r, r->range[i], m);
}

static bool range_fits(const struct tcp *t, const struct conn *c, struct range a)
{
	return seq_lt(c->rcv_nxt, a.left) && seq_lt(a.left, a.right) &&
	       seq_le(a.right, c->rcv_adv) && a.right - c->rcv_nxt <= ring_size(t);
}

static bool load_range(struct tcp *t, struct conn *c, struct image *m)
{
	struct reasm *r = c->reasm;
	const uint8_t *bytes;
	struct range a;

	image_take(m, &a, sizeof a);
	if (!range_fits(t, c, a))
		return image_refuse(m, IMAGE_broken);
	for (unsigned i = 0; i < r->count; i++)
		if (!seq_lt(a.right, r->range[i].left) && !seq_lt(r->range[i].right, a.left))
			return image_refuse(m, IMAGE_broken);
	bytes = image_pass(m, a.right - a.left);
	if (!bytes)
		return false;
	store(t, r, a.left, bytes, a.right - a.left);
	r->range[r->count++] = a;
	return true;
}

bool reasm_load(struct tcp *t, struct conn *c, struct image *m)
{
	uint32_t count = image_take_u32(m);

	if (!count)
		return !m->fault;
	if (count > REASM_RANGES || !may_gap(c))
		return image_refuse(m, IMAGE_broken);
	if (!take_block(t, c))
		return image_refuse(m, IMAGE_buffers);
	c->reasm->has_fin = image_take_u32(m);
	c->reasm->fin = image_take_u32(m);
	while (count--)
		if (!load_range(t, c, m))
			return false;
	return true;
}

/* --- looking in -------------------------------------------------------------------------------- */

void reasm_check(const struct tcp *t, const struct conn *c)
{
	const struct reasm *r = c->reasm;

	must(may_gap(c));
	must(r->count && r->count <= REASM_RANGES);
	must(c->rcv_nxt - r->base < ring_size(t));
	for (unsigned i = 0; i < r->count; i++) {
		struct range a = r->range[i];

		must(seq_lt(c->rcv_nxt, a.left) && seq_lt(a.left, a.right));
		must(seq_le(a.right, c->rcv_adv) && a.right - c->rcv_nxt <= ring_size(t));
		for (unsigned k = i + 1; k < r->count; k++)
			must(seq_lt(a.right, r->range[k].left) ||
			     seq_lt(r->range[k].right, a.left));
	}
}
