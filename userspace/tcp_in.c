/* SPDX-License-Identifier: GPL-2.0-only */
#include "tcp_private.h"

/* The numbered steps are those of RFC 9293 3.10.7.4. Each says GO_ON, or what
 * became of the segment. */
#define GO_ON TCP_VERDICTS

/* --- round trips, RFC 6298 2 ---------------------------------------------------- */

static void take_rtt(struct conn *c, uint64_t rtt_ns)
{
	uint32_t r = (uint32_t)min_u64(rtt_ns / NS_PER_US, 60u * 1000 * 1000);
	uint64_t spread_ns;

	if (!c->srtt_us) {
		c->srtt_us = r + !r;
		c->rttvar_us = r / 2;
	} else {
		uint32_t off = r > c->srtt_us ? r - c->srtt_us : c->srtt_us - r;
		c->rttvar_us = (uint32_t)((3ull * c->rttvar_us + off) / 4);
		c->srtt_us = (uint32_t)((7ull * c->srtt_us + r) / 8);
		c->srtt_us += !c->srtt_us;
	}
	spread_ns = max_u64(4ull * c->rttvar_us * NS_PER_US, NS_PER_MS); /* G is 1 ms */
	c->rto_ns = max_u64(c->srtt_us * 1000ull + spread_ns, TCP_RTO_MIN_MS * (uint64_t)NS_PER_MS);
}

/* --- a connection is born ---------------------------------------------------------- */

uint32_t tcp_initial_window(uint32_t mss)
{
	return (uint32_t)min_u64(10 * mss, max_u64(2 * mss, 14600)); /* RFC 6928 2 */
}

struct conn *tcp_begin(struct tcp *t, const struct pkt_seg *seg, uint64_t hash, uint32_t mss)
{
	uint32_t ours = pkt_is_ip4(&seg->flow) ? t->p.mss4 : t->p.mss6;
	struct conn *c = tcp_new(t, &seg->flow, hash);

	if (!c)
		return NULL;
	c->state = TCP_ESTABLISHED;
	c->link = seg->link;
	c->has_ts = seg->has_ts;
	c->ts_recent = seg->ts_val;
	c->mss = (uint16_t)(min_u64(mss, ours) - (seg->has_ts ? 12 : 0));
	c->snd_una = c->snd_nxt = c->snd_max = seg->ack;
	c->snd_wl1 = seg->seq;
	c->snd_wl2 = seg->ack;
	c->rcv_nxt = c->ack_sent = seg->seq;
	c->room = t->p.window;
	c->rcv_adv = c->rcv_nxt + c->room;
	c->cwnd = tcp_initial_window(c->mss);
	c->loss.recover = c->snd_una;
	c->ssthresh = UINT32_MAX;
	c->rto_ns = TCP_RTO_FIRST_MS * (uint64_t)NS_PER_MS;
	return c;
}

static struct conn *open_conn(struct tcp *t, const struct pkt_seg *seg, uint64_t hash,
			      const struct cookie_options *o, uint64_t now_ns)
{
	struct conn *c = tcp_begin(t, seg, hash, o->mss);

	if (!c)
		return NULL;
	early_forget(t, hash);
	c->ts_offset = tcp_ts_offset(hash);
	c->snd_scale = o->scale;
	c->sack_ok = o->sack_ok;
	if (seg->has_ts) {
		uint32_t ms = tcp_timestamp(c->ts_offset, now_ns) - seg->ts_ecr;
		if (ms < TCP_RTO_FIRST_MS) /* else its ACK was lost: a wait, no round trip */
			take_rtt(c, ms * (uint64_t)NS_PER_MS);
	}
	return c;
}

/* Correct the peer, but not at its pace: a segment without data or FIN that is
 * wrong gets an ACK twice a second at most (as Linux: tcp_invalid_ratelimit), so
 * two ends out of step, or a forger, cannot keep each other busy. RFC 5961 7. */
static void correct(struct tcp *t, struct conn *c, const struct pkt_seg *seg, uint64_t now_ns)
{
	if (!seg->len && !(seg->flags & WIRE_FIN)) {
		if (c->corrected_ns &&
		    now_ns - c->corrected_ns < TCP_CORRECT_MS * (uint64_t)NS_PER_MS)
			return;
		c->corrected_ns = now_ns;
	}
	tcp_mark(t, c, DUE_ACK);
}

/* --- step 1: is the segment acceptable? -------------------------------------------- */

static bool in_window(const struct conn *c, const struct pkt_seg *seg)
{
	uint32_t window = c->rcv_adv - c->rcv_nxt, span = pkt_span(seg);
	uint32_t first = seg->seq - c->rcv_nxt, last = first + span - 1;

	if (!window)
		return first == 0; /* allowance of step 1 for ACK and RST */
	return first < window || (span && last < window);
}

static enum tcp_verdict step_1_sequence(struct tcp *t, struct conn *c, const struct pkt_seg *seg,
					uint64_t now_ns)
{
	bool rst = seg->flags & WIRE_RST;

	/* RFC 7323 5.3 R1. Segments without the option are let through: some
	 * clients send the handshake's ACK or keep-alives so (gvisor#11536). */
	if (c->has_ts && seg->has_ts && !rst && seq_lt(seg->ts_val, c->ts_recent)) {
		correct(t, c, seg, now_ns);
		return TCP_paws;
	}
	if (in_window(c, seg))
		return GO_ON;
	if (rst)
		return TCP_out_of_window;
	correct(t, c, seg, now_ns);
	if (!seq_le(seg->seq + pkt_span(seg), c->rcv_nxt))
		return TCP_out_of_window;
	reasm_twice(c, seg->seq, seg->seq + pkt_span(seg));
	return TCP_duplicate;
}

/* --- steps 2 and 4: RST and SYN, with RFC 5961 3.2 and 4.2 ---------------------------- */

static enum tcp_verdict step_2_rst(struct tcp *t, struct conn *c, const struct pkt_seg *seg,
				   uint64_t now_ns, struct tcp_event *ev)
{
	if (!(seg->flags & WIRE_RST))
		return GO_ON;
	if (seg->seq != c->rcv_nxt) {
		correct(t, c, seg, now_ns);
		return TCP_challenge;
	}
	ev->gone = true;
	tcp_free(t, c);
	return TCP_reset_in;
}

static enum tcp_verdict step_4_syn(struct tcp *t, struct conn *c, const struct pkt_seg *seg,
				   uint64_t now_ns)
{
	if (!(seg->flags & WIRE_SYN))
		return GO_ON;
	correct(t, c, seg, now_ns);
	return TCP_challenge;
}

/* --- step 5: ACK ------------------------------------------------------------------------ */

/* More than any out[] holds; a cookie's scale ends at 10. */
enum { CWND_MAX = 65535 << 10 };

static void grow_cwnd(struct conn *c, uint32_t acked)
{
	uint32_t mss = c->mss;

	if (c->cwnd >= CWND_MAX)
		return;
	if (c->cwnd < c->ssthresh)
		c->cwnd += (uint32_t)min_u64(acked, mss); /* RFC 5681 3.1 (2) */
	else
		c->cwnd += (uint32_t)max_u64(mss * mss / c->cwnd, 1); /* (3) */
}

static void take_ack(struct tcp *t, struct conn *c, uint32_t ack, uint64_t now_ns,
		     struct tcp_event *ev)
{
	struct buf *out = &t->p.out[tcp_slot(t, c)];
	uint32_t n = ack - c->snd_una;

	buf_drop(t->p.pool, out, min_u64(n, out->len)); /* one more than out holds: our FIN */
	c->snd_una = ack;
	if (seq_lt(c->snd_nxt, ack))
		c->snd_nxt = ack;
	if (c->rtt_start_ns && seq_ge(ack, c->rtt_seq)) {
		ev->rtt_ns = now_ns - c->rtt_start_ns;
		take_rtt(c, ev->rtt_ns);
		c->rtt_start_ns = 0;
	}
	c->retries = 0;
	if (!c->loss.recovering)
		grow_cwnd(c, n);
	/* By a segment's worth, or all: who acknowledges byte by byte gains nothing. */
	if (c->at_end_ns && (n >= c->mss || ack == c->snd_max))
		c->at_end_ns = now_ns + TCP_LINGER_MS * (uint64_t)NS_PER_MS;
	if (out->len)
		tcp_mark(t, c, DUE_DATA);
}

static void take_window(struct tcp *t, struct conn *c, const struct pkt_seg *seg, uint64_t now_ns)
{
	uint32_t window = (uint32_t)seg->window << c->snd_scale;

	if (seq_gt(c->snd_wl1, seg->seq) ||
	    (c->snd_wl1 == seg->seq && seq_gt(c->snd_wl2, seg->ack)))
		return;
	c->snd_wl1 = seg->seq;
	c->snd_wl2 = seg->ack;
	if (window > c->snd_wnd)
		tcp_mark(t, c, DUE_DATA);
	if (window && !c->snd_wnd) { /* what the probes backed off is no measure for losses */
		c->retries = 0;
		c->at_rtx_ns = 0;
		tcp_start_timer(t, c, now_ns);
	}
	c->snd_wnd = window;
	c->snd_wnd_max = (uint32_t)max_u64(c->snd_wnd_max, window);
}

/* Our FIN has been acknowledged: everything that we ever sent has. */
static void take_fin_ack(struct tcp *t, struct conn *c, uint64_t now_ns, struct tcp_event *ev)
{
	switch (c->state) {
	case TCP_FIN_WAIT_1:
		c->state = TCP_FIN_WAIT_2;
		break;
	case TCP_CLOSING:
		timewait_enter(t, c, now_ns);
		ev->gone = true;
		break;
	case TCP_LAST_ACK:
		t->tally.closed++;
		tcp_free(t, c);
		ev->gone = true;
		break;
	default:
		break;
	}
}

static bool fin_is_acked(const struct tcp *t, const struct conn *c)
{
	return c->state >= TCP_FIN_WAIT_1 && !t->p.out[tcp_slot(t, c)].len &&
	       c->snd_una == c->snd_max && c->fin_sent;
}

static enum tcp_verdict step_5_ack(struct tcp *t, struct conn *c, const struct pkt_seg *seg,
				   uint64_t now_ns, struct tcp_event *ev)
{
	bool moved;

	if (!(seg->flags & WIRE_ACK))
		return TCP_bad_flags;
	/* RFC 5961 5.2: from before the largest window, or never sent */
	if (seq_gt(seg->ack, c->snd_max) || seq_lt(seg->ack, c->snd_una - c->snd_wnd_max)) {
		correct(t, c, seg, now_ns);
		return TCP_bad_ack;
	}
	c->silence = 0;
	if (seq_lt(seg->ack, c->snd_una))
		return pkt_span(seg) ? GO_ON : TCP_old_ack;
	moved = seq_gt(seg->ack, c->snd_una);
	if (moved)
		take_ack(t, c, seg->ack, now_ns, ev);
	if (loss_ack(t, c, seg, moved)) { /* RFC 6298 5.3, RFC 8985 7.2 */
		c->at_rtx_ns = 0;
		tcp_start_timer(t, c, now_ns);
	}
	take_window(t, c, seg, now_ns);
	if (fin_is_acked(t, c))
		take_fin_ack(t, c, now_ns, ev);
	return ev->gone ? TCP_accepted : GO_ON;
}

/* --- steps 7 and 8: text and FIN ----------------------------------------------------------- */

static bool may_receive(const struct conn *c)
{
	return c->state == TCP_ESTABLISHED || c->state == TCP_FIN_WAIT_1 ||
	       c->state == TCP_FIN_WAIT_2;
}

static enum tcp_verdict step_7_text(struct tcp *t, struct conn *c, const struct pkt_seg *seg,
				    struct tcp_event *ev)
{
	bool fin = seg->flags & WIRE_FIN;
	uint32_t skip, window;

	if ((!seg->len && !fin) || !may_receive(c))
		return TCP_accepted;
	if (seq_gt(seg->seq, c->rcv_nxt)) {
		tcp_mark(t, c, DUE_ACK); /* RFC 5681 4.2: at once */
		return reasm_keep(t, c, seg);
	}
	skip = (uint32_t)min_u64(c->rcv_nxt - seg->seq, seg->len);
	if (skip)
		reasm_twice(c, seg->seq, seg->seq + skip);
	window = c->rcv_adv - c->rcv_nxt;
	ev->data = seg->data + skip;
	ev->len = seg->len - skip;
	ev->fin = fin;
	if (ev->len > window) {
		ev->len = window;
		ev->fin = false;
	}
	if (!ev->len && !ev->fin)
		tcp_mark(t, c, DUE_ACK);
	return TCP_accepted;
}

/* ACKs wait for the answer, but not for long, and not past the second full
 * segment (RFC 9293 3.8.6.3). */
static void schedule_ack(struct tcp *t, struct conn *c, uint32_t n, uint64_t now_ns)
{
	if (n >= c->mss && ++c->full_segs >= 2)
		tcp_mark(t, c, DUE_ACK);
	if (!c->at_ack_ns) {
		c->at_ack_ns = now_ns + TCP_DELACK_MS * (uint64_t)NS_PER_MS;
		tcp_arm(t, c);
	}
}

static bool step_8_fin(struct tcp *t, struct conn *c, uint64_t now_ns)
{
	reasm_free(t, c); /* nothing counts behind a FIN */
	c->rcv_nxt++;
	if (seq_lt(c->rcv_adv, c->rcv_nxt))
		c->rcv_adv = c->rcv_nxt;
	tcp_mark(t, c, DUE_ACK);
	if (c->state == TCP_ESTABLISHED) {
		c->state = TCP_CLOSE_WAIT;
	} else if (c->state == TCP_FIN_WAIT_1) {
		c->state = TCP_CLOSING;
	} else {
		struct pkt_seg last = { .flow = c->flow, .link = c->link };
		tcp_answer_timewait(t, timewait_enter(t, c, now_ns), &last, now_ns);
		return true;
	}
	return false;
}

bool tcp_took(struct tcp *t, const struct tcp_event *ev, uint32_t n, uint64_t now_ns)
{
	struct conn *c = &t->conn[ev->slot];

	must(n <= ev->len);
	c->rcv_nxt += n;
	if (n)
		schedule_ack(t, c, n, now_ns);
	if (c->reasm) {
		reasm_passed(t, c, n == ev->len);
		tcp_mark(t, c, DUE_ACK); /* RFC 5681 4.2: a gap was filled, or a part of it */
	}
	return ev->fin && n == ev->len && step_8_fin(t, c, now_ns);
}

/* --- one segment ------------------------------------------------------------------------------ */

static enum tcp_verdict input_conn(struct tcp *t, struct conn *c, const struct pkt_seg *seg,
				   uint64_t now_ns, struct tcp_event *ev)
{
	enum tcp_verdict v;

	ev->slot = tcp_slot(t, c);
	v = step_1_sequence(t, c, seg, now_ns);
	if (v == GO_ON)
		v = step_2_rst(t, c, seg, now_ns, ev);
	if (v == GO_ON)
		v = step_4_syn(t, c, seg, now_ns);
	if (v == GO_ON)
		v = step_5_ack(t, c, seg, now_ns, ev);
	if (v != GO_ON)
		return v;
	c->link = seg->link; /* where it lives now; only an accepted segment may say so */
	if (c->has_ts && seg->has_ts && seq_le(seg->seq, c->ack_sent))
		c->ts_recent = seg->ts_val; /* RFC 7323 4.3 (2) */
	return step_7_text(t, c, seg, ev);
}

/* RFC 9293 3.10.7.4 for TIME-WAIT, RFC 6191, RFC 1337. False: the segment is
 * the SYN of a new connection, the record is gone. */
static bool input_timewait(struct tcp *t, struct timewait *w, const struct pkt_seg *seg,
			   uint64_t now_ns)
{
	bool by_ts = w->has_ts && seg->has_ts && seg->ts_val != w->ts_recent;
	bool newer = by_ts ? seq_gt(seg->ts_val, w->ts_recent) : seq_gt(seg->seq, w->rcv_nxt);

	if (seg->flags & WIRE_RST)
		return true;
	if ((seg->flags & (WIRE_SYN | WIRE_ACK | WIRE_FIN)) == WIRE_SYN && newer) {
		w->until_ns = now_ns;
		return false;
	}
	if (seg->flags & WIRE_FIN && seg->seq + pkt_span(seg) == w->rcv_nxt)
		w->until_ns = now_ns + TCP_TIMEWAIT_MS * (uint64_t)NS_PER_MS;
	if (pkt_span(seg)) /* bare ACKs of two ends out of step would never end */
		tcp_answer_timewait(t, w, seg, now_ns);
	return true;
}

/* A segment that brings the right cookie, but is not the first behind its SYN. A
 * bare one may overtake data: the answer to a second SYN-ACK does. */
static bool take_early(struct tcp *t, const struct pkt_seg *seg, uint64_t hash, uint64_t now_ns)
{
	struct pkt_seg first = { .ack = seg->ack };
	struct cookie_options o;
	uint32_t isn;

	if (!early_find(t, hash, now_ns, &isn))
		return false;
	first.seq = isn + 1;
	if (!seq_gt(seg->seq, first.seq) || !tcp_cookie_check(t, &first, hash, now_ns, &o))
		return false;
	early_note(t, hash, isn, now_ns); /* the first may be lost more than once */
	return true;
}

/* Neither SYN nor ACK, or a SYN that ends. */
static bool makes_no_sense(const struct pkt_seg *seg)
{
	uint8_t flags = seg->flags & (WIRE_SYN | WIRE_ACK | WIRE_FIN);

	return !(flags & (WIRE_SYN | WIRE_ACK)) ||
	       (flags & (WIRE_SYN | WIRE_FIN)) == (WIRE_SYN | WIRE_FIN);
}

/* RFC 9293 3.10.7.1 and .2, with the cookie in the place of SYN-RECEIVED. */
static enum tcp_verdict input_listen(struct tcp *t, const struct pkt_seg *seg, uint64_t hash,
				     uint64_t now_ns, struct tcp_event *ev)
{
	struct cookie_options o;
	enum tcp_verdict v;
	struct conn *c;

	if (seg->flags & WIRE_RST)
		return TCP_stray_rst;
	if (makes_no_sense(seg))
		return TCP_bad_flags;
	if ((seg->flags & (WIRE_SYN | WIRE_ACK)) == WIRE_SYN && !t->refusing) {
		early_note(t, hash, seg->seq, now_ns);
		tcp_answer_syn(t, seg, hash, now_ns);
		return TCP_syn;
	}
	if (t->refusing || seg->flags & WIRE_SYN || !tcp_cookie_check(t, seg, hash, now_ns, &o)) {
		if (take_early(t, seg, hash, now_ns))
			return TCP_early;
		tcp_answer_rst(t, seg);
		return TCP_stray;
	}
	c = open_conn(t, seg, hash, &o, now_ns);
	if (!c)
		return TCP_table_full;
	v = input_conn(t, c, seg, now_ns, ev);
	ev->opened = !ev->gone;
	return v == TCP_accepted ? TCP_opened : v;
}

/* The same where the kernel answers SYNs: a connection is opened by who steers. What is
 * not known he shall not send us any more, unless a first segment may be under way. */
static enum tcp_verdict input_adopt(struct tcp *t, const struct pkt_seg *seg, uint64_t hash,
				    const struct tcp_hint *hint, uint64_t now_ns,
				    struct tcp_event *ev)
{
	uint8_t flags = seg->flags & (WIRE_SYN | WIRE_RST | WIRE_ACK);
	bool early = hint && hint->early && flags == WIRE_ACK;
	enum tcp_verdict v = TCP_stray;
	struct conn *c;

	if (!(flags & WIRE_RST) && makes_no_sense(seg))
		return TCP_bad_flags;
	if (adopt_may_open(seg, hint) && !t->refusing) {
		c = adopt_open(t, seg, hash, hint, now_ns);
		if (!c)
			return TCP_table_full;
		v = input_conn(t, c, seg, now_ns, ev);
		ev->opened = !ev->gone;
		return v == TCP_accepted ? TCP_opened : v;
	}
	if (flags & WIRE_RST)
		v = TCP_stray_rst;
	else if (flags == WIRE_SYN || (early && !hint->opens))
		v = TCP_early;
	if (v == TCP_stray)
		tcp_answer_rst(t, seg);
	if (v == TCP_stray || !early)
		adopt_unknown(t, &seg->flow, hash);
	return v;
}

/* May the record of the connection before keep the segment that opens one? */
static bool is_another(const struct tcp *t, const struct timewait *w, const struct pkt_seg *seg,
		       const struct tcp_hint *hint)
{
	return adopt_may_open(seg, hint) && !adopt_timewait_again(t, w, seg);
}

/* The first connection in the bucket is the right one three times of four, and all of it
 * is wanted whatever the segment says. */
FETCH_INLINE void fetch_conn(const struct tcp *t, uint64_t hash)
{
	uint16_t slot = t->bucket[hash & t->bucket_mask];

	if (slot == TCP_NONE)
		return;
	fetch_ahead((const uint8_t *)&t->conn[slot] + CACHE_LINE, CONN_USUAL - CACHE_LINE);
	fetch_ahead(&t->entries[slot], 1);
	fetch_ahead(&t->p.out[slot], 1);
}

enum tcp_verdict tcp_input(struct tcp *t, const struct pkt_seg *seg, const struct tcp_hint *hint,
			   uint64_t now_ns, struct tcp_event *ev)
{
	uint64_t hash = tcp_hash(t, &seg->flow);
	struct timewait *w;
	struct conn *c;

	fetch_conn(t, hash);
	c = tcp_find(t, &seg->flow, hash);
	*ev = (struct tcp_event){ .slot = TCP_NONE };
	t->stubs_first = false;
	if (likely(c))
		return input_conn(t, c, seg, now_ns, ev);
	w = timewait_find(t, hash, now_ns);
	if (w && !is_another(t, w, seg, hint) && input_timewait(t, w, seg, now_ns))
		return TCP_timewait;
	return t->p.adopts ? input_adopt(t, seg, hash, hint, now_ns, ev) :
			     input_listen(t, seg, hash, now_ns, ev);
}

void tcp_set_mss(struct tcp *t, uint16_t mss4, uint16_t mss6)
{
	t->p.mss4 = mss4;
	t->p.mss6 = mss6;
	for (unsigned i = 0; i < t->p.max_conns; i++) {
		struct conn *c = &t->conn[i];
		uint32_t ours = (pkt_is_ip4(&c->flow) ? mss4 : mss6) - (c->has_ts ? 12u : 0);

		if (c->state != TCP_FREE)
			c->mss = (uint16_t)min_u64(c->mss, ours);
	}
}

void tcp_refuse(struct tcp *t)
{
	t->refusing = true;
}

void tcp_room(struct tcp *t, uint16_t slot, uint32_t bytes)
{
	struct conn *c = &t->conn[slot];
	uint32_t was = c->rcv_adv - c->rcv_nxt;

	c->room = (uint32_t)min_u64(bytes, t->p.window);
	/* RFC 9293 3.8.6.2.2: open it again by a worthwhile step only */
	if (was < c->mss && c->room >= was + min_u64(c->mss, t->p.window / 2) && may_receive(c))
		tcp_mark(t, c, DUE_ACK);
}
