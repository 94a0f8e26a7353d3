/* SPDX-License-Identifier: GPL-2.0-only */
#include "tcp_private.h"

/*
 * What is lost, and what is sent again: RFC 6675 where the peer sends SACK,
 * RFC 6582 (NewReno) where it does not, RFC 8985 7 (tail loss probe) for the
 * last segment of a flight, which is the only one of most answers.
 */

/* --- the scoreboard: what of snd_una ... snd_max the peer has --------------------------- */

static void forget_below(struct loss *l, uint32_t seq)
{
	unsigned gone = 0;

	while (gone < l->count && seq_le(l->sacked[gone].right, seq))
		gone++;
	l->count -= (uint8_t)gone;
	memmove(l->sacked, l->sacked + gone, l->count * sizeof l->sacked[0]);
	if (l->count && seq_lt(l->sacked[0].left, seq))
		l->sacked[0].left = seq;
}

/* Add one range; false when it tells nothing new, or there is no place for it. */
static bool add_range(struct loss *l, uint32_t left, uint32_t right)
{
	unsigned i = 0, merged;

	while (i < l->count && seq_lt(l->sacked[i].right, left))
		i++;
	if (i < l->count && seq_le(l->sacked[i].left, left) && seq_ge(l->sacked[i].right, right))
		return false;
	for (merged = 0; i + merged < l->count && seq_le(l->sacked[i + merged].left, right);
	     merged++) {
		if (seq_lt(l->sacked[i + merged].left, left))
			left = l->sacked[i + merged].left;
		if (seq_gt(l->sacked[i + merged].right, right))
			right = l->sacked[i + merged].right;
	}
	if (!merged && l->count == LOSS_RANGES)
		return false; /* it will be said again when there is */
	memmove(l->sacked + i + 1, l->sacked + i + merged,
		(l->count - i - merged) * sizeof l->sacked[0]);
	l->count = (uint8_t)(l->count + 1 - merged);
	l->sacked[i].left = left;
	l->sacked[i].right = right;
	return true;
}

/* Blocks outside of what is in flight say nothing (CVE-2019-11477); at or below
 * the acknowledgement they are D-SACKs. */
static bool take_sack(struct conn *c, const struct pkt_seg *seg)
{
	bool fresh = false;

	if (!c->sack_ok)
		return false;
	for (unsigned i = 0; i < seg->sack_count; i++) {
		uint32_t left = seg->sack[i].left, right = seg->sack[i].right;

		if (seq_lt(c->snd_una, left) && seq_lt(left, right) && seq_le(right, c->snd_max))
			fresh |= add_range(&c->loss, left, right);
	}
	return fresh;
}

static uint32_t sacked_bytes(const struct loss *l)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < l->count; i++)
		sum += l->sacked[i].right - l->sacked[i].left;
	return sum;
}

/* Everything that is not sacked below this is taken for lost while recovering. */
static uint32_t lost_edge(const struct conn *c)
{
	const struct loss *l = &c->loss;

	/* Without SACK only the first segment is known to be missing. */
	return l->count ? l->sacked[l->count - 1].left : c->snd_una + c->mss;
}

/* --- recovery --------------------------------------------------------------------------- */

/* RFC 6675 4, IsLost, of the first octet in flight: three ranges above it, or more
 * than two segments' worth; or the probe of the tail has arrived over a hole. */
static bool first_is_lost(const struct conn *c)
{
	const struct loss *l = &c->loss;

	return l->count >= TCP_DUP_THRESH ||
	       sacked_bytes(l) > (TCP_DUP_THRESH - 1) * (uint32_t)c->mss ||
	       (l->probed && l->count && l->sacked[l->count - 1].right == c->snd_max);
}

uint32_t loss_halved(const struct conn *c)
{
	return (uint32_t)max_u64((c->snd_max - c->snd_una) / 2, 2u * c->mss);
}

static void begin_recovery(struct tcp *t, struct conn *c)
{
	struct loss *l = &c->loss;

	l->recovering = true;
	l->recover = c->snd_max;
	l->rxt_nxt = c->snd_una;
	c->ssthresh = loss_halved(c);
	c->cwnd = c->ssthresh;
	c->rtt_start_ns = 0; /* Karn */
	t->tally.recoveries++;
}

/* RFC 6675 5 (4), RFC 6582 3.2 (3): the cumulative acknowledgement moved. */
static void ack_moved(struct conn *c)
{
	struct loss *l = &c->loss;

	forget_below(l, c->snd_una);
	l->dup_acks = 0;
	l->probed = false;
	if (!l->recovering)
		return;
	if (seq_ge(c->snd_una, l->recover)) {
		l->recovering = false;
		c->cwnd = c->ssthresh;
	} else if (seq_lt(l->rxt_nxt, c->snd_una) || !l->count) {
		l->rxt_nxt = c->snd_una; /* a partial one: what follows is lost too */
	}
}

/* RFC 5681 2 for peers without SACK; with it only news count (RFC 6675 2). */
static bool is_duplicate(const struct conn *c, const struct pkt_seg *seg, bool fresh)
{
	if (c->sack_ok)
		return fresh;
	return !pkt_span(seg) && c->snd_una != c->snd_max &&
	       (uint32_t)seg->window << c->snd_scale == c->snd_wnd;
}

bool loss_ack(struct tcp *t, struct conn *c, const struct pkt_seg *seg, bool moved)
{
	struct loss *l = &c->loss;
	bool fresh = take_sack(c, seg);

	if (moved) {
		ack_moved(c);
	} else if (is_duplicate(c, seg, fresh)) {
		l->dup_acks += l->dup_acks < UINT8_MAX;
		/* without SACK: each says that a segment has left (RFC 5681 3.2) */
		if (l->recovering && !c->sack_ok)
			c->cwnd += c->mss;
	} else {
		return false;
	}
	if (!l->recovering && seq_ge(c->snd_una, l->recover) && c->snd_una != c->snd_max &&
	    (l->dup_acks >= TCP_DUP_THRESH || first_is_lost(c)))
		begin_recovery(t, c);
	tcp_mark(t, c, DUE_DATA);
	return moved || (fresh && loss_probe_after(c));
}

/* --- what goes next ------------------------------------------------------------------------ */

/* The first hole at or behind `at`: false when none is lost. */
static bool next_hole(const struct conn *c, uint32_t at, uint32_t *seq, uint32_t *len)
{
	const struct loss *l = &c->loss;
	uint32_t end = lost_edge(c);

	if (!l->recovering)
		return false;
	if (seq_gt(end, c->snd_max))
		end = c->snd_max;
	for (unsigned i = 0; i < l->count && seq_le(l->sacked[i].left, at); i++)
		if (seq_lt(at, l->sacked[i].right))
			at = l->sacked[i].right;
	if (seq_ge(at, end))
		return false;
	for (unsigned i = 0; i < l->count; i++)
		if (seq_gt(l->sacked[i].left, at) && seq_lt(l->sacked[i].left, end))
			end = l->sacked[i].left;
	*seq = at;
	*len = end - at;
	return true;
}

bool loss_next(const struct conn *c, uint32_t *seq, uint32_t *len)
{
	return next_hole(c, c->loss.rxt_nxt, seq, len);
}

/* RFC 6675 4, SetPipe: octets that are neither at the peer nor lost. */
uint32_t loss_pipe(const struct conn *c)
{
	const struct loss *l = &c->loss;
	uint32_t pipe = c->snd_nxt - c->snd_una, gone = sacked_bytes(l);
	uint32_t hole = l->rxt_nxt, len = 0;

	while (next_hole(c, hole + len, &hole, &len))
		gone += len; /* still to be sent again */
	if (!l->recovering && !c->sack_ok)
		gone += (uint32_t)min_u64(l->dup_acks, 2) * c->mss; /* RFC 3042 */
	return pipe > gone ? pipe - gone : 0;
}

/* --- timers ---------------------------------------------------------------------------------- */

/* RFC 8985 7.2. With one segment in flight its ACK may be delayed; not when the
 * peer has told of later ones: then it is soon time to ask for the first. */
uint64_t loss_probe_after(const struct conn *c)
{
	uint64_t twice = 2000ull * c->srtt_us;

	/* Without SACK its answer would not say what else is missing (7.1). */
	if (!c->sack_ok || !c->srtt_us || c->loss.probed || c->loss.recovering || c->retries ||
	    !c->snd_wnd || c->snd_una == c->snd_max)
		return 0;
	if (!c->loss.count && c->snd_max - c->snd_una <= c->mss + 1u)
		return twice + TCP_PEER_DELACK_MS * (uint64_t)NS_PER_MS;
	return max_u64(twice, TCP_PROBE_MIN_MS * (uint64_t)NS_PER_MS);
}

/* A retransmission time-out: nothing of the scoreboard is believed any more (the
 * peer may have reneged, RFC 2018 8), and no duplicate of what is sent now shall
 * begin a recovery (RFC 6582 4). */
void loss_timeout(struct conn *c)
{
	c->loss = (struct loss){ .recover = c->snd_max };
}
