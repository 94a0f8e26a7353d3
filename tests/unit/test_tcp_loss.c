/* SPDX-License-Identifier: GPL-2.0-only */
/* tcp_loss: the scoreboard against a map of octets, and what follows from it. */
#include "tap.h"
#include "tcp_private.h"

enum { FLIGHT = 400, MSS = 10, ROUNDS = 20000 };

static const uint32_t UNA = 0xffffff80; /* the numbers wrap within the flight */

static struct tcp *t;
static struct buf_pool pool;
static struct buf out[1];
static struct conn *c;
static bool has[FLIGHT]; /* the peer's octets, by our count */
static uint32_t seed = 1;

static uint32_t draw(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

static void start(bool sack)
{
	static uint8_t blocks[BUF_SMALL + 8192];
	struct tcp_params p = { .max_conns = 1,
				.mss4 = 1460,
				.mss6 = 1440,
				.window = 8192,
				.pool = &pool,
				.out = out };
	size_t size = round_up(tcp_footprint(&p), 64);
	struct pkt_flow f = { .remote_port = 1, .local_port = 2 };

	free(t);
	t = aligned_alloc(64, size);
	memset(t, 0, size);
	memset(out, 0, sizeof out);
	memset(has, 0, sizeof has);
	buf_pool_init(&pool, blocks, 1, 1, 8192);
	tcp_init(t, &p, NS_PER_S);
	c = tcp_new(t, &f, tcp_hash(t, &f));
	c->state = TCP_ESTABLISHED;
	c->mss = MSS;
	c->sack_ok = sack;
	c->snd_una = UNA;
	c->loss.recover = UNA;
	c->snd_nxt = c->snd_max = UNA + FLIGHT;
	c->cwnd = c->ssthresh = c->snd_wnd = 10000;
	c->at_rtx_ns = 1;
	must(buf_reserve(&pool, &out[0], FLIGHT));
	buf_commit(&out[0], FLIGHT);
}

static void ack(uint32_t offset)
{
	struct pkt_seg s = { .ack = c->snd_una + offset, .window = 10000 };

	buf_drop(&pool, &out[0], offset);
	c->snd_una += offset;
	loss_ack(t, c, &s, offset != 0);
}

static void sack(uint32_t left, uint32_t right)
{
	struct pkt_seg s = { .ack = c->snd_una, .window = 10000, .sack_count = 1 };

	s.sack[0].left = UNA + left;
	s.sack[0].right = UNA + right;
	loss_ack(t, c, &s, false);
}

/* Every range is of octets that the peer has, in order, and apart. */
static bool scoreboard_true(void)
{
	const struct loss *l = &c->loss;
	uint32_t end = c->snd_una;

	for (unsigned i = 0; i < l->count; i++) {
		bool apart = i ? seq_gt(l->sacked[i].left, end) : seq_ge(l->sacked[i].left, end);

		if (!apart || !seq_lt(l->sacked[i].left, l->sacked[i].right))
			return false;
		end = l->sacked[i].right;
		for (uint32_t at = l->sacked[i].left; at != end; at++)
			if (!has[at - UNA])
				return false;
	}
	return seq_le(end, c->snd_max);
}

/* What is sent again are octets that the peer has not told of, each once. */
static bool holes_true(void)
{
	uint32_t seq, len, last = c->snd_una - 1;
	bool good = true;

	while (loss_next(c, &seq, &len)) {
		good = good && len && seq_gt(seq, last) && seq_le(seq + len, c->snd_max);
		for (unsigned i = 0; i < c->loss.count; i++)
			good = good && (seq_le(c->loss.sacked[i].right, seq) ||
					seq_ge(c->loss.sacked[i].left, seq + len));
		last = seq + len - 1;
		c->loss.rxt_nxt = seq + len;
	}
	return good;
}

static void test_scoreboard(void)
{
	unsigned wrong = 0, holes = 0, full = 0;

	start(true);
	for (int i = 0; i < ROUNDS; i++) {
		uint32_t una = c->snd_una - UNA, left, right;

		if (una > FLIGHT - 20) {
			start(true);
			una = 0;
		}
		left = una + draw(FLIGHT - una);
		right = left + 1 + draw(30);
		if (right <= FLIGHT && left > una) {
			memset(has + left, true, right - left);
			sack(left, right);
		} else {
			sack(right, left); /* nonsense changes nothing */
		}
		full += c->loss.count == LOSS_RANGES;
		if (!draw(8))
			ack(draw(8));
		wrong += !scoreboard_true();
		holes += !holes_true();
	}
	is(wrong, 0, "after %d random blocks the scoreboard says only what is true", ROUNDS);
	is(holes, 0, "and what is sent again is what it does not have");
	ok(full > 100, "with all of its ranges in use often");
}

static void test_recovery(void)
{
	start(true);
	sack(10, 20);
	sack(10, 20);
	sack(12, 20);
	ok(!c->loss.recovering, "what was said before is no duplicate");
	sack(30, 35);
	ok(!c->loss.recovering, "two ranges are not enough");
	sack(50, 55);
	ok(c->loss.recovering, "three are");
	is(c->ssthresh, FLIGHT / 2, "half of the flight is the new threshold");
	is(c->cwnd, FLIGHT / 2, "and window");
	is(loss_pipe(c), FLIGHT - 20 - 35, "lost and received octets are not in the pipe");
	ok(holes_true(), "the holes go again");
	is(loss_pipe(c), FLIGHT - 20, "and are in the pipe then");
	is(t->tally.recoveries, 1, "one recovery");
	ack(300);
	ok(c->loss.recovering, "a partial acknowledgement does not end it");
	is(c->loss.count, 0, "but clears the board below");
	ack(100);
	ok(!c->loss.recovering && c->cwnd == c->ssthresh, "all that was out when it began does");
}

static void test_bytes(void)
{
	start(true);
	sack(10, 30);
	ok(!c->loss.recovering, "two segments' worth above the hole may be another order");
	sack(10, 31);
	ok(c->loss.recovering, "more than that is a loss (RFC 6675 4)");
}

static void test_without_sack(void)
{
	uint32_t seq, len;

	start(false);
	sack(10, 100);
	is(c->loss.count, 0, "blocks that were not agreed on are not believed");
	ack(0);
	is(loss_pipe(c), FLIGHT - 2 * MSS, "two duplicates let two new segments out (RFC 3042)");
	ack(0);
	ok(c->loss.recovering, "the third duplicate is a loss");
	ok(loss_next(c, &seq, &len) && seq == UNA && len == MSS, "the first segment goes again");
	c->loss.rxt_nxt = seq + len;
	ok(!loss_next(c, &seq, &len), "and nothing else");
	ack(0);
	is(c->cwnd, FLIGHT / 2 + MSS, "further duplicates open the window");
	ack(20);
	ok(loss_next(c, &seq, &len) && seq == UNA + 20, "a partial one sends the next (RFC 6582)");
	loss_timeout(c);
	ok(!c->loss.recovering && !loss_next(c, &seq, &len), "a time-out ends it");
	for (int i = 0; i < 5; i++)
		ack(0);
	ok(!c->loss.recovering, "and duplicates of what was out then begin none");
}

int main(void)
{
	test_scoreboard();
	test_recovery();
	test_bytes();
	test_without_sack();
	return done();
}
