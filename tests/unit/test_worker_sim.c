/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whole workers behind a bad network, in virtual time: thousands of requests
 * under each impairment that tests/net/impair.c has, by the same code and from
 * seeds. Every answer is right; at the end nothing is left of the connections;
 * and while the server has something to say that is not acknowledged, it is never
 * silent for longer than the retransmission time-out in effect and a tick. And all
 * that again while the worker is replaced by another one every few steps, which knows
 * nothing but an image of the last (worker_save). Where no timer decides (its wheel may
 * be a tick late, or not), every frame is the same then, at the same time, as if there
 * had been one worker only.
 * Some storms rage over a port that is shared with the kernel, which answers the SYNs;
 * XDP is a toy then, which loses some first segments, and must hear of each end.
 */
#include "net/impair_core.h"
#include "reborn.h"
#include "tap.h"
#include "tcp_private.h"
#include "toy_kernel.h"
#include "toy_tcp.h"
#include "worker_defaults.h"
#include "worker_private.h"

enum {
	SIDE_BY_SIDE = 8,
	ROUNDS = 6, /* connections that each of these makes, one after the other */
	CLIENTS = SIDE_BY_SIDE * ROUNDS,
	REQUESTS = 50, /* of each connection */
	CONNS = 12,
	DEPTH_MAX = 16,
	N_MAX = 2000,
	PORT = 1000,
	TURN_NS = 50 * NS_PER_US,
	STEP_NS = NS_PER_MS,
	TICK_NS = 1 << WHEEL_TICK_BITS,
	LATENCIES = CLIENTS * REQUESTS,
	SEEDS = 3,
	LIVES = 17, /* steps of a worker that is replaced */
};

enum { TO_SERVER, TO_CLIENT };

struct weather {
	const char *name, *list;
	uint16_t mss;
	enum { PORT_OURS, PORT_SHARED, PORT_NO_HINTS } port;
};

struct client {
	struct toy tcp;
	bool server_closes, breaks_off;
	unsigned depth, asked, heard;
	uint32_t hash[DEPTH_MAX];
	uint64_t asked_at[DEPTH_MAX];
	/* what the watch knows of the server's side */
	uint64_t said_at;
};

/* How long the server was silent, though something was not acknowledged. */
static const unsigned stall_ms[] = { 1, 10, 50, 100, 210, 500, 1000, 10000 };

static struct client clients[CLIENTS];
static struct impair line[2];
static struct worker *w;
static void *memory;
static bool is_mortal;
static bool shared; /* --steer=path */
static struct stats_block stats;
static struct stage_block stages;
static uint64_t now, seed;
static uint64_t sent; /* a hash of all frames of the server, and of when they left */
static struct {
	unsigned wrong, malformed, latencies, steps;
	uint64_t latency[LATENCIES];
	uint64_t stalls[array_size(stall_ms) + 1];
	uint64_t longest, too_long;
	/* of each slot */
	uint64_t since[CONNS];
	uint32_t una[CONNS];
} seen;

static uint32_t draw(uint32_t below)
{
	seed = seed * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)((seed >> 32) % below);
}

/* --- the network ------------------------------------------------------------------------ */

static void toy_send(const struct pkt_seg *s)
{
	uint8_t frame[IMPAIR_FRAME];
	impair_put(&line[TO_SERVER], frame, pkt_emit(s, frame, sizeof frame), now);
}

/* By the same way as what the worker sends, seen from there. */
static void toy_kernel_send(const struct pkt_seg *s)
{
	uint8_t frame[IMPAIR_FRAME];

	impair_put(&line[TO_CLIENT], frame, pkt_emit(s, frame, sizeof frame), now);
}

static struct client *client_at(uint16_t port)
{
	must(port >= PORT && port < PORT + CLIENTS);
	return &clients[port - PORT];
}

static void hash_sent(const uint8_t *frame, size_t len)
{
	for (size_t i = 0; i < len; i++)
		sent = (sent ^ frame[i]) * 0x100000001b3;
	sent = (sent ^ now) * 0x100000001b3;
}

/* A RST says nothing that must be acknowledged. */
static void note_said(const uint8_t *frame, size_t len)
{
	struct pkt_seg s;

	if (pkt_parse(frame, len, &s) != PKT_ok)
		seen.malformed++;
	else if (s.len || s.flags & WIRE_FIN)
		client_at(s.flow.local_port)->said_at = now;
}

static void deliver(void)
{
	uint8_t frame[IMPAIR_FRAME];
	struct pkt_seg s;
	size_t len;

	while ((len = impair_take(&line[TO_SERVER], frame, now))) {
		struct steer_meta meta = { 0 };

		if (!shared || toy_kernel_passes(frame, len, now, &meta))
			worker_frame(w, frame, len, &meta, now);
	}
	while ((len = impair_take(&line[TO_CLIENT], frame, now)))
		if (pkt_parse(frame, len, &s) == PKT_ok) /* flipped bits end here */
			toy_input(&client_at(s.flow.local_port)->tcp, &s, now);
}

/* --- the clients -------------------------------------------------------------------------- */

static uint32_t hash_of(uint32_t n, uint32_t from)
{
	for (uint32_t i = 0; i < n; i++)
		from = (from ^ i) * 16777619u;
	return from;
}

/* GET, POST, and uploads of several segments. */
static void ask(struct client *c)
{
	static char text[6000];
	uint32_t n = draw(N_MAX), from = draw(UINT32_MAX), kind = draw(10);
	unsigned at = c->asked++ % DEPTH_MAX, pad = kind == 9 ? draw(4000) : 1;
	const char *more = c->asked == REQUESTS && c->server_closes ? "Connection: close\r\n" : "";
	char body[64];
	int len = snprintf(body, sizeof body, "{\"n\":%u,\"seed\":%u}", n, from);

	if (kind < 7)
		len = snprintf(text, sizeof text,
			       "GET /compute?n=%u&seed=%u HTTP/1.1\r\nHost: a\r\n%s\r\n", n, from,
			       more);
	else
		len = snprintf(text, sizeof text,
			       "POST /compute HTTP/1.1\r\nHost: a\r\n%sContent-Length: %u\r\n"
			       "Content-Type: application/json\r\n\r\n%*s%s",
			       more, pad + (unsigned)len, (int)pad, "", body);
	c->hash[at] = hash_of(n, from);
	c->asked_at[at] = now;
	toy_write(&c->tcp, text, (uint32_t)len);
}

/* One whole answer, if there is one. */
static bool hear(struct client *c)
{
	static char text[TOY_WINDOW + 1];
	struct toy *t = &c->tcp;
	uint32_t have = t->rcv - t->rd, len;
	unsigned at = c->heard % DEPTH_MAX;
	const char *body, *length;
	char wanted[32];

	for (uint32_t i = 0; i < have; i++)
		text[i] = (char)t->rx[(t->rd + i) % TOY_WINDOW];
	text[have] = '\0';
	body = strstr(text, "\r\n\r\n");
	length = strstr(text, "\r\nContent-Length: ");
	if (!body || !length)
		return false;
	len = (uint32_t)(body + 4 - text) + (uint32_t)strtoul(length + 18, NULL, 10);
	if (len > have)
		return false;
	text[len] = '\0';
	snprintf(wanted, sizeof wanted, "\"hash\":\"0x%08x\"", c->hash[at]);
	seen.wrong += c->heard >= c->asked || strncmp(text, "HTTP/1.1 200 ", 13) ||
		      !strstr(body, wanted);
	if (seen.latencies < LATENCIES)
		seen.latency[seen.latencies++] = now - c->asked_at[at];
	c->heard++;
	toy_used(t, len);
	return true;
}

/* In the midst of an upload, with answers under way. */
static void break_off(struct client *c)
{
	static char part[3000] = "POST /compute HTTP/1.1\r\nHost: a\r\nContent-Length: 9000\r\n"
				 "Content-Type: application/json\r\n\r\n";
	size_t head = strlen(part);

	memset(part + head, ' ', sizeof part - 1 - head);
	toy_write(&c->tcp, part, sizeof part - 1);
	part[head] = '\0';
	toy_pump(&c->tcp, now);
	toy_break(&c->tcp, now);
}

static void client_turn(unsigned i)
{
	struct client *c = &clients[i];
	struct toy *t = &c->tcp;

	if (t->state == TOY_IDLE &&
	    (i < SIDE_BY_SIDE || clients[i - SIDE_BY_SIDE].tcp.state == TOY_OVER))
		toy_start(t, now);
	if (t->state == TOY_IDLE || t->state == TOY_OVER)
		return;
	toy_tick(t, now);
	while (t->rcv > t->rd && hear(c))
		;
	while (t->state == TOY_UP && c->asked < REQUESTS && c->asked - c->heard < c->depth)
		ask(c);
	if (c->breaks_off && c->heard >= REQUESTS / 2) {
		break_off(c);
		return;
	}
	if (c->heard == REQUESTS && (t->fin_in || !c->server_closes))
		toy_finish(t);
	toy_pump(t, now);
}

static void plan(unsigned i, const struct weather *k)
{
	static const uint8_t depth[] = { 1, 1, 4, DEPTH_MAX };
	struct client *c = &clients[i];
	struct toy *t = &c->tcp;

	memset(c, 0, sizeof *c);
	c->depth = depth[i % array_size(depth)];
	c->server_closes = i / 4 % 2;
	c->breaks_off = i % 8 == 6;
	t->ts = i % 3;
	t->sack = i % 5;
	t->mss = k->mss;
	t->isn = draw(UINT32_MAX);
	t->addr.remote_port = 8080;
	t->addr.local_port = (uint16_t)(PORT + i);
	if (i % 2) { /* RFC 3849 */
		memcpy(t->addr.remote, (uint8_t[16]){ 0x20, 1, 0x0d, 0xb8, [15] = 1 }, 16);
		memcpy(t->addr.local, (uint8_t[16]){ 0x20, 1, 0x0d, 0xb8, [15] = 2 }, 16);
	} else { /* RFC 5737 */
		memcpy(t->addr.remote, (uint8_t[16]){ [10] = 255, 255, 192, 0, 2, 1 }, 16);
		memcpy(t->addr.local, (uint8_t[16]){ [10] = 255, 255, 192, 0, 2, 2 }, 16);
	}
}

/* --- the server --------------------------------------------------------------------------------- */

/* Must the slot speak again by itself if nothing comes? */
static bool owes(uint16_t slot)
{
	enum tcp_state state = tcp_state(w->tcp, slot);

	return state != TCP_FREE && (w->out[slot].len || state == TCP_FIN_WAIT_1 ||
				     state == TCP_CLOSING || state == TCP_LAST_ACK);
}

static void count_stall(uint64_t ns)
{
	unsigned i = 0;

	while (i < array_size(stall_ms) && ns > stall_ms[i] * (uint64_t)NS_PER_MS)
		i++;
	seen.stalls[i]++;
	seen.longest = max_u64(seen.longest, ns);
}

/* Silence ends when it says something, or something is acknowledged. */
static void watch(void)
{
	for (uint16_t slot = 0; slot < CONNS; slot++) {
		const struct conn *c = &w->tcp->conn[slot];
		uint64_t quiet = now - seen.since[slot], said = 0;

		if (tcp_state(w->tcp, slot) != TCP_FREE)
			said = client_at(c->flow.remote_port)->said_at;
		if (!owes(slot) || said > seen.since[slot] || c->snd_una != seen.una[slot]) {
			if (owes(slot))
				count_stall(quiet);
			seen.since[slot] = now;
			seen.una[slot] = c->snd_una;
			quiet = 0;
		}
		seen.too_long += quiet > (c->rto_ns << c->retries) + TICK_NS + 2 * STEP_NS;
	}
}

static void server_turn(void)
{
	uint8_t frame[FRAME_ROOM];
	bool answer;
	size_t len;

	worker_admit(w, now);
	worker_compute(w, now);
	worker_answer(w, now);
	toy_flows_hear(w, now);
	while ((len = worker_emit(w, frame, sizeof frame, now, &answer))) {
		note_said(frame, len);
		hash_sent(frame, len);
		impair_put(&line[TO_CLIENT], frame, len, now);
	}
	worker_check(w);
	if (shared)
		toy_flows_check(w, CONNS);
	watch();
}

/* --- the run ------------------------------------------------------------------------------------- */

static void start(const struct weather *k)
{
	struct worker_params p = worker_defaults;
	struct impair_kind kind = impair_fine;
	size_t size;

	p.max_conns = CONNS;
	memcpy(p.secret, "simulated", sizeof "simulated");
	p.max_n = N_MAX;
	p.stats = &stats;
	p.stages = &stages;
	p.paths = k->port != PORT_OURS;
	strcpy(p.path[0], "/compute");
	p.path_keepalive = true;
	p.kernel_scale = TOY_KERNEL_SCALE;
	shared = p.paths;
	toy_hints_lost = k->port == PORT_NO_HINTS;
	toy_hints = toy_flows = 0;
	toy_ring_loss = 16;
	size = round_up(worker_footprint(&p), 64);
	free(memory);
	memory = memset(aligned_alloc(64, size), 0, size);
	memset(&stats, 0, sizeof stats);
	memset(&stages, 0, sizeof stages);
	memset(&seen, 0, sizeof seen);
	sent = 0;
	now = 1000ull * NS_PER_S;
	w = worker_init(memory, &p, now);
	must(impair_parse(&kind, "delay=0.1") && impair_parse(&kind, k->list));
	for (unsigned d = 0; d < 2; d++)
		impair_init(&line[d], &kind, seed, d);
	for (unsigned i = 0; i < CLIENTS; i++)
		plan(i, k);
}

static bool over(void)
{
	for (unsigned i = 0; i < CLIENTS; i++)
		if (clients[i].tcp.state != TOY_OVER)
			return false;
	return !worker_live(w);
}

static void step(void)
{
	uint64_t at = now + (worker_busy(w) ? TURN_NS : STEP_NS);

	at = min_u64(at, min_u64(impair_next(&line[0]), impair_next(&line[1])));
	for (unsigned i = 0; i < CLIENTS; i++)
		at = min_u64(at, toy_timer(&clients[i].tcp));
	now = max_u64(at, now + 1);
	deliver();
	for (unsigned i = 0; i < CLIENTS; i++)
		client_turn(i);
	server_turn();
	if (is_mortal && ++seen.steps % LIVES == 0)
		w = reborn(w, &memory, now);
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

static void tell(const struct weather *k)
{
	qsort(seen.latency, seen.latencies, sizeof *seen.latency, by_value);
	printf("# %s: answers p50 %.2f ms, p99 %.1f, longest %.1f; silences of the server", k->name,
	       seen.latency[seen.latencies / 2] / 1e6,
	       seen.latency[seen.latencies * 99 / 100] / 1e6,
	       seen.latency[seen.latencies - 1] / 1e6);
	for (unsigned i = 0; i < array_size(stall_ms); i++)
		printf(" <=%u ms: %" PRIu64, stall_ms[i], seen.stalls[i]);
	printf(", longest %.1f; sent again %" PRIu64 "\n", seen.longest / 1e6,
	       stats.tcp_retransmits);
}

static unsigned free_blocks(const struct buf_list *l)
{
	unsigned n = (unsigned)((size_t)(l->end - l->fresh) / l->size);
	uint8_t *at = l->first, *next;

	for (; at; n++, at = next)
		memcpy(&next, at, sizeof next);
	return n;
}

/* TIME-WAIT ends. But for first segments that were lost and never came again. */
static unsigned flows_left(void)
{
	unsigned left = 0;

	for (unsigned i = 0; shared && i < TIMEWAIT_MAX / TIMEWAIT_SWEEP + 1; i++) {
		now += i ? STEP_NS : TCP_TIMEWAIT_MS * (uint64_t)NS_PER_MS;
		toy_flows_hear(w, now);
	}
	for (unsigned i = 0; i < toy_flows; i++)
		left += !toy_flow[i].lost;
	return left;
}

static void judge(const struct weather *k, unsigned small, unsigned large)
{
	unsigned asked = 0, heard = 0, unheard = 0, unread = 0, bad = 0;

	worker_publish(w);
	for (unsigned i = 0; i < CLIENTS; i++) {
		const struct client *c = &clients[i];
		const struct toy *t = &c->tcp;
		asked += c->asked;
		heard += c->heard;
		bad += t->torn + t->beyond + t->behind;
		if (c->breaks_off)
			continue;
		unheard += REQUESTS - c->heard;
		unread += t->rcv - t->rd;
		bad += t->reset;
	}
	ok(over(), "%s: everybody came to an end", k->name);
	is(unheard, 0, "each request of who did not break off was answered");
	is(seen.wrong + unread, 0, "with what was asked for, in order, and no byte more");
	is(bad, 0, "no byte changed, none beyond the window, nobody was reset");
	is(seen.malformed, 0, "each frame that the server sent is well-formed");
	ok(stats.http_ok >= heard && stats.http_ok <= asked, "nothing was computed twice");
	is(stats.tcp_timed_out, 0, "nobody was given up");
	is(seen.too_long, 0, "no silence was longer than the time-out in effect and a tick");
	is(worker_live(w), 0, "all slots are free");
	is(flows_left(), 0, "no flow is left");
	is(free_blocks(&w->pool.small), small, "all small blocks are free");
	is(free_blocks(&w->pool.large), large, "all large blocks are free");
	tell(k);
}

/* Was the network as bad as it was meant to be? */
static void judge_line(const struct weather *k, const struct impair *d)
{
	const struct impair_count *c = &d->count;
	const struct impair_kind *kind = &d->kind;

	ok(!c->overflow && !kind->loss == !c->lost && !kind->burst == !c->lost_in_burst &&
		   !kind->reorder == !c->overtaken && !kind->duplicate == !c->duplicated &&
		   !kind->corrupt == !c->corrupted,
	   "%s: and that is what the network did", k->name);
	is(c->too_long, 0, "no frame was longer than the MSS of the client allows");
}

static void storm(const struct weather *k, uint64_t from)
{
	unsigned small, large;
	uint64_t limit;

	seed = from;
	start(k);
	small = free_blocks(&w->pool.small);
	large = free_blocks(&w->pool.large);
	for (limit = now + 900ull * NS_PER_S; !over() && now < limit;)
		step();
	judge(k, small, large);
	judge_line(k, &line[TO_SERVER]);
	judge_line(k, &line[TO_CLIENT]);
}

static void storm_again(const struct weather *k, uint64_t from)
{
	struct stats_block one = stats;
	uint64_t sent_by_one = sent;
	const struct impair_kind *kind = &line[TO_CLIENT].kind;

	is_mortal = true;
	storm(k, from);
	is_mortal = false;
	printf("# %u workers\n", seen.steps / LIVES);
	if (kind->loss || kind->burst || kind->corrupt || k->port != PORT_OURS)
		return;
	ok(sent == sent_by_one, "%s: many workers sent what one did", k->name);
	ok(!memcmp(&one, &stats, sizeof stats), "and counted what one did");
}

/* An argument: so many seeds. */
int main(int argc, char **argv)
{
	static const struct weather kinds[] = {
		{ "fine", "", 1460, PORT_OURS },
		{ "loss", "loss=2", 1460, PORT_OURS },
		{ "bursts of loss", "burst=1/50", 1460, PORT_OURS },
		{ "delay and jitter", "delay=5,jitter=10", 1460, PORT_OURS },
		{ "overtaken by one", "reorder=25", 1460, PORT_OURS },
		{ "overtaken by four", "reorder=15,by=4,hold=5", 1460, PORT_OURS },
		{ "duplicates", "duplicate=20", 1460, PORT_OURS },
		{ "flipped bits", "corrupt=3", 1460, PORT_OURS },
		{ "short frames", "mtu=600,loss=2", 536, PORT_OURS },
		{ "loss and overtaking", "loss=2,reorder=25", 1460, PORT_OURS },
		{ "storm",
		  "loss=4,burst=0.5/50,delay=1,jitter=8,reorder=10,by=2,duplicate=5,corrupt=2",
		  1460, PORT_OURS },
		{ "shared port, fine", "", 1460, PORT_SHARED },
		{ "shared port, loss and overtaking", "loss=2,reorder=25", 1460, PORT_SHARED },
		{ "shared port, hints lost", "duplicate=20,delay=5", 1460, PORT_NO_HINTS },
		{ "shared port, storm",
		  "loss=4,burst=0.5/50,delay=1,jitter=8,reorder=10,by=2,duplicate=5,corrupt=2",
		  1460, PORT_SHARED },
	};

	const unsigned seeds = argc > 1 ? (unsigned)atoi(argv[1]) : SEEDS;

	for (unsigned i = 0; i < array_size(kinds) * seeds; i++) {
		storm(&kinds[i / seeds], i + 1);
		if (i % SEEDS == 0)
			storm_again(&kinds[i / seeds], i + 1);
	}
	return done();
}
