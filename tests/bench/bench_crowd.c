// SPDX-License-Identifier: GPL-2.0-only
/*
 * bench_crowd - what a request costs in the pure middle, on one connection and on 10,000
 *
 * Usage    bench_crowd: a table. bench_crowd CASE REQUESTS: one case, turned for callgrind,
 *          which counts turn_measured (crowd.sh).
 * Model    A worker in virtual time, RATE requests a second, a turn for each frame, as
 *          hostile.sh asks. The ACK of an answer rides on the connection's next request;
 *          or it comes alone, in a frame and a turn of its own: after a delayed ACK's
 *          40 ms, or at once when one connection asks again before. By turns over many
 *          there is no other way. Neighbours in memory are not neighbours in time. Only
 *          the worker's calls are timed. Cases alternate; of blocks of BLOCK requests the
 *          fastest tenth counts, since an interruption only adds.
 * Units    ns a request, without the clock's own.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pkt.h"
#include "wire.h"
#include "worker_defaults.h"

enum {
	CROWD = 10000,
	STRIDE = 6367, /* prime to it */
	RATE = 4000,
	DELAYED_ACK_MS = 40, /* Linux */
	BLOCK = 1000,
	BLOCKS = 200,
	CLIENT_PORT = 10000, /* the first */
};

static const char request[] = "GET /compute?n=100 HTTP/1.1\r\nHost: 10.88.0.1:8080\r\n\r\n";

struct client {
	uint32_t seq, ack, ts_ecr;
};

/* The three cases, each with a worker. */
static struct rig {
	const char *name, *text;
	unsigned connections;
	bool alone; /* the ACKs */
	struct worker *w;
	struct client *client;
	unsigned at;
	bool measured;
	uint64_t now_ns, spent_ns, asked;
	struct stats_block stats;
	struct stage_block stages;
	uint64_t block_ns[BLOCKS];
} rigs[] = {
	{ .name = "rides", .text = "one connection, the ACK rides along", .connections = 1 },
	{ .name = "alone",
	  .text = "one connection, the ACK comes alone",
	  .connections = 1,
	  .alone = true },
	{ .name = "crowd",
	  .text = "10,000 by turns, the ACK comes alone",
	  .connections = CROWD,
	  .alone = true },
};
enum { RIGS = sizeof rigs / sizeof *rigs };

static struct rig *rig;
static uint8_t in[FRAME_SIZE], out[FRAME_SIZE];

_Noreturn void base_panic(const char *what, const char *file, int line);
_Noreturn void base_panic(const char *what, const char *file, int line)
{
	fprintf(stderr, "bench_crowd: broken invariant at %s:%d: %s\n", file, line, what);
	abort();
}

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* --- the client ------------------------------------------------------------------ */

static size_t compose(unsigned i, uint8_t flags, const char *text)
{
	const struct client *c = &rig->client[i];
	struct pkt_seg s = {
		.flow.local_port = (uint16_t)(CLIENT_PORT + i), /* seen from the client */
		.flow.remote_port = 8080,
		.link.vlan = PKT_UNTAGGED,
		.seq = c->seq,
		.ack = c->ack,
		.flags = flags,
		.window = 65535,
		.mss = flags & WIRE_SYN ? 1460 : 0,
		.wscale = flags & WIRE_SYN ? 7 : PKT_NO_SCALE,
		.sack_ok = flags & WIRE_SYN,
		.has_ts = true,
		.ts_val = (uint32_t)(rig->now_ns / NS_PER_MS),
		.ts_ecr = c->ts_ecr,
		.data = (const uint8_t *)text,
		.len = (uint32_t)strlen(text),
	};

	memcpy(s.flow.local, (uint8_t[16]){ [10] = 255, 255, 10, 88, 0, 2 }, 16);
	memcpy(s.flow.remote, (uint8_t[16]){ [10] = 255, 255, 10, 88, 0, 1 }, 16);
	return pkt_emit(&s, in, sizeof in);
}

static void hear(size_t len)
{
	struct pkt_seg s;
	struct client *c;

	must(pkt_parse(out, len, &s) == PKT_ok);
	c = &rig->client[s.flow.local_port - CLIENT_PORT];
	c->ack = s.seq + pkt_span(&s);
	c->ts_ecr = s.ts_val;
}

/* --- the server ------------------------------------------------------------------ */

/* One turn over one frame, and the one that it sends, if any. */
static inline __attribute__((always_inline)) void turn(size_t len)
{
	static const struct steer_meta none;
	uint64_t from = clock_ns(), now = rig->now_ns;
	size_t sent = 0;
	bool answer;

	worker_frame(rig->w, in, len, &none, now);
	worker_admit(rig->w, now);
	if (worker_busy(rig->w)) {
		worker_compute(rig->w, now);
		worker_answer(rig->w, now);
	}
	if (worker_due(rig->w))
		sent = worker_emit(rig->w, out, sizeof out, now, &answer);
	rig->spent_ns += clock_ns() - from;
	must(!worker_due(rig->w));
	if (sent)
		hear(sent);
}

/* Two of it, so that callgrind can tell them apart. */
static __attribute__((noinline)) void turn_measured(size_t len)
{
	turn(len);
}

static void turn_with(unsigned i, uint8_t flags, const char *text)
{
	size_t len = compose(i, flags, text);

	if (rig->measured)
		turn_measured(len);
	else
		turn(len);
	rig->client[i].seq += (uint32_t)strlen(text) + (flags & WIRE_SYN ? 1 : 0);
}

/* Neighbours in memory are not neighbours in time. */
static unsigned nth(unsigned at)
{
	return (unsigned)((uint64_t)at * STRIDE % rig->connections);
}

static void ask(void)
{
	unsigned n = rig->connections, behind = RATE * DELAYED_ACK_MS / 1000 % n;

	rig->now_ns += NS_PER_S / RATE;
	turn_with(nth(rig->at), WIRE_ACK | WIRE_PSH, request);
	if (rig->alone)
		turn_with(nth(rig->at + n - behind), WIRE_ACK, "");
	rig->at = (rig->at + 1) % n;
	rig->asked++;
}

static void begin(void)
{
	struct worker_params p = worker_defaults;
	void *memory;

	p.max_conns = CROWD;
	p.idle_timeout_ms = 600000;
	p.stats = &rig->stats;
	p.stages = &rig->stages;
	memory = aligned_alloc(64, round_up(worker_footprint(&p), 64));
	rig->client = calloc(rig->connections, sizeof *rig->client);
	must(memory && rig->client);
	memset(memory, 0, worker_footprint(&p));
	rig->now_ns = NS_PER_S;
	rig->w = worker_init(memory, &p, rig->now_ns);
	for (unsigned i = 0; i < rig->connections; i++) {
		rig->now_ns += NS_PER_S / RATE;
		turn_with(i, WIRE_SYN, "");
		turn_with(i, WIRE_ACK, "");
	}
	for (unsigned i = 0; i < CROWD; i++) /* what is measured is not the first time */
		ask();
	rig->measured = true;
}

static void end(void)
{
	must(rig->stats.http_ok == rig->asked && !rig->stats.tcp_retransmits);
}

/* --- the table ------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Of the two readings of a turn. */
static uint64_t clock_cost_ns(void)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 1000; i++) {
		uint64_t from = clock_ns();

		least = min_u64(least, clock_ns() - from);
	}
	return least;
}

static double tenth_ns(struct rig *r, uint64_t clock_cost)
{
	qsort(r->block_ns, BLOCKS, sizeof *r->block_ns, by_value);
	return (double)r->block_ns[BLOCKS / 10] / BLOCK - (double)(clock_cost * (1u + r->alone));
}

static void table(void)
{
	uint64_t clock_cost = clock_cost_ns();
	double ns[RIGS];

	for (rig = rigs; rig < rigs + RIGS; rig++)
		begin();
	for (unsigned b = 0; b < BLOCKS; b++)
		for (rig = rigs; rig < rigs + RIGS; rig++) {
			rig->spent_ns = 0;
			for (unsigned i = 0; i < BLOCK; i++)
				ask();
			rig->block_ns[b] = rig->spent_ns;
		}
	printf("%-40s %6s %6s\n", "in the pure middle", "ns", "ratio");
	for (unsigned i = 0; i < RIGS; i++) {
		rig = &rigs[i];
		end();
		ns[i] = tenth_ns(rig, clock_cost);
		printf("%-40s %6.0f %6.2f\n", rig->text, ns[i], ns[i] / ns[min_u64(i, 1)]);
	}
}

int main(int argc, char **argv)
{
	if (argc == 1) {
		table();
		return 0;
	}
	for (rig = rigs; rig < rigs + RIGS && strcmp(rig->name, argv[1]);)
		rig++;
	if (argc != 3 || rig == rigs + RIGS) {
		fputs("usage: bench_crowd [rides|alone|crowd REQUESTS]\n", stderr);
		return 2;
	}
	begin();
	for (long i = strtol(argv[2], NULL, 10); i > 0; i--)
		ask();
	end();
	return 0;
}
