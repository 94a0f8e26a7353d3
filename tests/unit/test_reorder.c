/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests in pieces, in every order, with overlaps: each is answered once, and
 * as if it had come whole. Through the whole worker, frame by frame. The idea is
 * that of FreeBSD's tcp-testsuite (rcv-data-segments); the cases are our own.
 */
#include "pkt.h"
#include "tap.h"
#include "wire.h"
#include "worker.h"

enum { PIECES = 5, HEARD = 4096, SERVER_PORT = 8080 };

struct piece {
	size_t at, end;
};

static const struct {
	const char *name, *text;
	unsigned answers;
} requests[] = {
	{ "a GET", "GET /compute?n=3&seed=7 HTTP/1.1\r\nHost: a\r\n\r\n", 1 },
	{ "a POST in chunks",
	  "POST /compute HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
	  "Content-Type: application/json\r\n\r\n3\r\n{\"n\r\n4\r\n\":4}\r\n0\r\n\r\n",
	  1 },
	{ "three in a row",
	  "GET /compute?n=5 HTTP/1.1\r\nHost: a\r\n\r\nGET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
	  "GET /compute?n=6&alg=mix64 HTTP/1.1\r\nHost: a\r\n\r\n",
	  3 },
};

static struct {
	struct worker *worker;
	struct stats_block stats;
	struct stage_block stages;
	uint64_t now;
	uint16_t port;
	uint32_t snd, rcv, acked;
	char heard[HEARD];
	size_t len;
} rig;

static void start(void)
{
	struct worker_params p = {
		.max_conns = 2,
		.mtu = 1500,
		.max_n = 1000,
		.max_body = 2000,
		.lanes = LANES_DEFAULT,
		.slice_us = 50,
		.max_wait_ms = 100,
		.header_timeout_ms = 1000,
		.body_timeout_ms = 1000,
		.idle_timeout_ms = 5000,
		.stats = &rig.stats,
		.stages = &rig.stages,
	};
	size_t size = round_up(worker_footprint(&p), 64);

	rig.now = NS_PER_S;
	rig.port = 1000;
	rig.worker = worker_init(memset(aligned_alloc(64, size), 0, size), &p, rig.now);
}

static void hear(const struct pkt_seg *s)
{
	if (s->flags & WIRE_SYN)
		rig.rcv = s->seq + 1;
	rig.acked = s->ack;
	if (s->seq != rig.rcv || !s->len)
		return;
	must(rig.len + s->len < HEARD);
	memcpy(rig.heard + rig.len, s->data, s->len);
	rig.len += s->len;
	rig.rcv += s->len;
}

static void turn(void)
{
	uint8_t frame[2048];
	struct pkt_seg s;
	bool answer;
	size_t len;

	worker_admit(rig.worker, rig.now);
	worker_compute(rig.worker, rig.now);
	rig.now += 50 * NS_PER_US;
	worker_answer(rig.worker, rig.now);
	while ((len = worker_emit(rig.worker, frame, sizeof frame, rig.now, &answer))) {
		must(pkt_parse(frame, len, &s) == PKT_ok);
		hear(&s);
	}
	worker_check(rig.worker);
}

static void say(uint8_t flags, uint32_t seq, const char *data, size_t len)
{
	struct pkt_seg s = {
		.flow = { .local_port = rig.port, .remote_port = SERVER_PORT },
		.link.vlan = PKT_UNTAGGED,
		.seq = seq,
		.ack = flags & WIRE_ACK ? rig.rcv : 0,
		.flags = flags,
		.window = 65535,
		.wscale = PKT_NO_SCALE,
		.data = (const uint8_t *)data,
		.len = (uint32_t)len,
	};
	uint8_t frame[2048];

	memcpy(s.flow.local, (uint8_t[16]){ [10] = 255, 255, 10, 0, 0, 1 }, 16);
	memcpy(s.flow.remote, (uint8_t[16]){ [10] = 255, 255, 10, 0, 0, 2 }, 16);
	worker_frame(rig.worker, frame, pkt_emit(&s, frame, sizeof frame),
		     &(struct steer_meta){ 0 }, rig.now);
	turn();
}

/* A connection, the pieces in this order, and its end. What was answered is in
 * rig.heard; false: not everything was acknowledged. */
static bool converse(const char *text, const struct piece *piece, const uint8_t *order, unsigned n)
{
	uint32_t isn = 0u - 20; /* the request crosses the wrap */
	bool whole;

	rig.port = rig.port < 60000 ? rig.port + 1 : 1000;
	rig.len = 0;
	say(WIRE_SYN, isn, "", 0);
	say(WIRE_ACK, isn + 1, "", 0);
	for (unsigned i = 0; i < n; i++) {
		const struct piece *p = &piece[order[i]];
		say(WIRE_ACK, isn + 1 + (uint32_t)p->at, text + p->at, p->end - p->at);
	}
	for (int i = 0; i < 5; i++)
		turn();
	whole = rig.acked == isn + 1 + (uint32_t)strlen(text);
	rig.heard[rig.len] = '\0';
	say(WIRE_RST, rig.acked, "", 0);
	must(!worker_live(rig.worker));
	return whole;
}

/* What does not change from run to run: status lines and results. */
static void distill(char *to)
{
	static const char *const keep[] = { "HTTP/1.1 ", "\"n\":", "\"hash\":", "\"status\":" };
	const char *end, *at;

	for (at = rig.heard; *at; at++)
		for (unsigned i = 0; i < array_size(keep); i++) {
			if (strncmp(at, keep[i], strlen(keep[i])) != 0)
				continue;
			end = at + strcspn(at, ",\r\n}");
			memcpy(to, at, (size_t)(end - at));
			to += end - at;
			*to++ = '\n';
		}
	*to = '\0';
}

static const char *text; /* of the request that is being sent */
static char want[HEARD]; /* what answers it */
static unsigned answers;

static bool answered(const struct piece *piece, const uint8_t *order, unsigned n)
{
	uint64_t before = rig.stats.http_ok;
	bool whole = converse(text, piece, order, n);
	char got[HEARD];

	distill(got);
	return whole && rig.stats.http_ok - before == answers && !strcmp(got, want);
}

/* --- cut in two ------------------------------------------------------------------------ */

static void test_halves(const char *name)
{
	static const uint8_t order[] = { 1, 0, 1 };
	size_t len = strlen(text);
	unsigned bad = 0, runs = 0;

	for (size_t cut = 1; cut < len; cut++)
		for (size_t over = 0; over <= 8; over += 4) {
			struct piece piece[] = { { 0, cut + over < len ? cut + over : len },
						 { cut > over ? cut - over : 1, len } };
			bad += !answered(piece, order, 2);
			bad += !answered(piece, order, 3); /* and the second once more */
			runs += 2;
		}
	is(bad, 0, "%s: cut in two anywhere, the second half first (%u ways)", name, runs);
}

/* --- every order, every overlap ---------------------------------------------------------- */

static void swap(uint8_t *a, uint8_t *b)
{
	uint8_t was = *a;

	*a = *b;
	*b = was;
}

/* The permutation after this one, in the order of a dictionary. */
static bool next_order(uint8_t *order, unsigned n)
{
	unsigned i = n - 1, k = n - 1;

	while (i && order[i - 1] >= order[i])
		i--;
	if (!i)
		return false;
	while (order[k] <= order[i - 1])
		k--;
	swap(&order[k], &order[i - 1]);
	for (k = n - 1; i < k; i++, k--)
		swap(&order[i], &order[k]);
	return true;
}

/* n equal pieces; each reaches over its left end (bit 2i) and its right one (bit
 * 2i + 1), by so much. */
static void cut_up(struct piece *piece, unsigned n, unsigned overlaps, size_t by)
{
	size_t len = strlen(text);

	for (unsigned i = 0; i < n; i++) {
		size_t at = len * i / n, end = len * (i + 1) / n;

		if (overlaps >> 2 * i & 1)
			at = at > by ? at - by : 0;
		if (overlaps >> 2 * i & 2)
			end = end + by < len ? end + by : len;
		piece[i] = (struct piece){ at, end };
	}
}

static void test_orders(const char *name, unsigned n, unsigned step)
{
	/* a byte; up to a neighbour's middle; over a whole neighbour */
	size_t len = strlen(text), by[] = { 1, len / n / 2, len / n + 3 };
	unsigned bad = 0, runs = 0;
	struct piece piece[PIECES];

	for (unsigned overlaps = 0; overlaps < 1u << 2 * n; overlaps += step) {
		uint8_t order[PIECES] = { 0, 1, 2, 3, 4 };

		cut_up(piece, n, overlaps, by[overlaps % 3]);
		do {
			bad += !answered(piece, order, n);
			runs++;
		} while (next_order(order, n));
	}
	is(bad, 0, "%s: %u pieces in all orders, with overlaps (%u ways)", name, n, runs);
}

int main(void)
{
	static const uint8_t whole[] = { 0 };

	start();
	for (unsigned i = 0; i < array_size(requests); i++) {
		struct piece all = { 0, strlen(requests[i].text) };

		text = requests[i].text;
		answers = requests[i].answers;
		ok(converse(text, &all, whole, 1), "%s, whole", requests[i].name);
		distill(want);
		ok(strstr(want, "HTTP/1.1 200 OK"), "is answered");
		test_halves(requests[i].name);
		test_orders(requests[i].name, 4, 1);
		test_orders(requests[i].name, 5, 31);
	}
	worker_publish(rig.worker);
	is(rig.stats.tcp_no_buffer + rig.stats.tcp_reneged + rig.stats.tcp_too_many_gaps, 0,
	   "nothing was refused");
	is(rig.stats.tcp_retransmits, 0, "and nothing was said twice");
	return done();
}
