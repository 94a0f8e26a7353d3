/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tcp over a bad network, in virtual time: small clients of our own ask, frames
 * get lost, doubled and overtake each other, and still every byte of every
 * request and answer arrives once and in order. Frames are real ones: what
 * leaves tcp goes through pkt_emit and pkt_parse.
 */
#include "tap.h"

#include "tcp_private.h"

enum {
	FLOWS = 12,
	CONNS = 8,
	REQUESTS = 12,
	REQUEST_MAX = 3000,
	ANSWER_MAX = 5000,
	WINDOW = 8192,
	LARGE_SIZE = 16384,
	WIRE = 512,
	FRAME_MAX = 1600,
	CLIENT_RTO_MS = 300,
	STEP_US = 500,
};

enum ending { CLIENT_CLOSES, SERVER_CLOSES, CLIENT_RESETS, SERVER_RESETS, ENDINGS };

/* One client and, beside it, what its server side must see and say. */
struct flow {
	struct pkt_flow addr;
	enum ending ending;
	uint16_t mss;
	uint8_t scale;
	bool ts;
	/* the plan */
	uint8_t ask[REQUESTS * REQUEST_MAX];
	uint32_t ask_len, want_len, ends[REQUESTS], answers[REQUESTS];
	/* client's TCP; offsets count bytes, FIN is one more */
	bool syn_out, up, dead, fin_in, fin_out, reset;
	uint32_t isn, irs, una, nxt, limit, rcv, edge, ts_recent;
	uint64_t rto_at, ack_at, first_at, window_at;
	/* server's upper layer */
	uint16_t slot;
	uint32_t got, done, owed, said;
	bool opened, peer_fin, closed;
};

struct weather {
	const char *name;
	unsigned loss, twice, jitter_ms; /* percent, percent, 0 ... */
	uint16_t mss;
};

static struct flow flows[FLOWS];
static struct {
	uint64_t at;
	bool to_server;
	uint16_t len;
	uint8_t bytes[FRAME_MAX];
} wire[WIRE];
static struct tcp *t;
static struct buf_pool pool;
static struct buf out[CONNS];
static struct weather weather;
static uint64_t now, seed;
static unsigned wrong_ask, wrong_answer, wrong_window, malformed;

static uint64_t random_next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed >> 11;
}

static bool chance(unsigned percent)
{
	return random_next() % 100 < percent;
}

static uint8_t answer_byte(const struct flow *f, uint32_t at)
{
	return (uint8_t)((at * 2654435761u >> 13) + (uint32_t)(f - flows));
}

/* --- the network ------------------------------------------------------------------ */

static void put(const struct pkt_seg *s, bool to_server)
{
	for (unsigned copies = 1 + chance(weather.twice); copies--;) {
		unsigned i = 0;
		while (i < WIRE && wire[i].len)
			i++;
		if (i == WIRE || chance(weather.loss))
			continue;
		wire[i].at = now + NS_PER_MS +
			     random_next() % (1 + weather.jitter_ms * (uint64_t)NS_PER_MS);
		wire[i].to_server = to_server;
		wire[i].len = (uint16_t)pkt_emit(s, wire[i].bytes, FRAME_MAX);
	}
}

/* --- the clients -------------------------------------------------------------------- */

static void client_send(struct flow *f, unsigned flags, uint32_t at, uint32_t len)
{
	struct pkt_seg s = {
		.flow = f->addr,
		.link.vlan = PKT_UNTAGGED,
		.flags = (uint8_t)flags,
		.seq = f->isn + 1 + at,
		.ack = f->irs + 1 + f->rcv + f->fin_in,
		.len = len,
		.data = f->ask + at,
		.has_ts = f->ts,
		.ts_val = (uint32_t)(now / NS_PER_MS),
		.ts_ecr = f->ts_recent,
		.window = (uint16_t)min_u64((f->edge - f->rcv) >> f->scale, 65535),
		.wscale = PKT_NO_SCALE,
	};

	if (flags & WIRE_SYN) {
		s.seq = f->isn;
		s.ack = 0;
		s.mss = f->mss;
		s.wscale = f->scale ? f->scale : PKT_NO_SCALE;
	}
	if (!(flags & WIRE_RST))
		f->ack_at = 0;
	put(&s, true);
}

/* Both FINs are through: from now on it only answers. */
static bool client_done(const struct flow *f)
{
	return f->fin_in && f->fin_out && f->una == f->ask_len + 1;
}

static bool client_may_fin(const struct flow *f)
{
	if (f->ending == CLIENT_CLOSES)
		return f->rcv == f->want_len && now > f->first_at + NS_PER_S / 2;
	return f->ending == SERVER_CLOSES && f->fin_in;
}

/* Go back N: simple, and it makes many duplicates. The first piece goes alone:
 * nobody but the segment that follows the SYN can open a connection. */
static void client_pump(struct flow *f)
{
	if (!f->up || f->dead)
		return;
	while (f->nxt < f->ask_len && f->nxt < f->limit && (f->una || !f->nxt)) {
		uint32_t len = (uint32_t)min_u64(1 + random_next() % 1400, f->ask_len - f->nxt);
		len = (uint32_t)min_u64(len, f->limit - f->nxt);
		if (!f->nxt)
			f->first_at = now;
		client_send(f, WIRE_ACK, f->nxt, len);
		f->nxt += len;
	}
	if (f->nxt == f->ask_len && client_may_fin(f)) {
		client_send(f, WIRE_ACK | WIRE_FIN, f->nxt++, 0);
		f->fin_out = true;
	}
	if (f->una < f->nxt && !f->rto_at)
		f->rto_at = now + CLIENT_RTO_MS * (uint64_t)NS_PER_MS;
}

static void client_timers(struct flow *f)
{
	if (f->dead)
		return;
	if (!f->up && now >= f->rto_at) {
		f->rto_at = now + NS_PER_S;
		client_send(f, WIRE_SYN, 0, 0);
	}
	if (f->up && f->rto_at && now >= f->rto_at) {
		f->rto_at = 0;
		f->nxt = f->una;
		if (f->nxt < f->ask_len && f->nxt >= f->limit) /* probe of a shut window */
			client_send(f, WIRE_ACK, f->nxt, 1), f->rto_at = now + NS_PER_S;
	}
	if (f->up && now >= f->window_at && !client_done(f)) { /* the reader stops and goes on */
		static const uint32_t room[] = { 0, 100, 3000, 20000, 60000 };
		f->edge = (uint32_t)max_u64(f->edge,
					    f->rcv + room[random_next() % array_size(room)]);
		f->window_at = now + 20 * NS_PER_MS + random_next() % (200 * NS_PER_MS);
		f->ack_at = now;
	}
	if (f->up && f->ack_at && now >= f->ack_at)
		client_send(f, WIRE_ACK, f->una ? f->nxt : 0, 0);
	if (f->up && f->ending == CLIENT_RESETS && f->rcv > f->want_len / 2) {
		client_send(f, WIRE_RST, f->nxt, 0);
		f->dead = true;
	}
}

static void client_data(struct flow *f, const struct pkt_seg *s)
{
	uint32_t at = s->seq - f->irs - 1;

	wrong_window += s->len && at + s->len > f->edge;
	if (s->len || s->flags & WIRE_FIN)
		f->ack_at = now + random_next() % (30 * NS_PER_MS);
	if (at > f->rcv || (at < f->rcv && at + s->len <= f->rcv && !(s->flags & WIRE_FIN)))
		return;
	for (uint32_t i = f->rcv - at; i < s->len && f->rcv < f->edge; i++)
		wrong_answer += s->data[i] != answer_byte(f, f->rcv++);
	f->fin_in |= s->flags & WIRE_FIN && at + s->len == f->rcv;
}

static void client_input(struct flow *f, const struct pkt_seg *s)
{
	if (s->has_ts)
		f->ts_recent = s->ts_val;
	if (s->flags & WIRE_RST) {
		f->reset |= f->up && !client_done(f) && s->seq == f->irs + 1 + f->rcv + f->fin_in;
		f->dead |= f->reset;
		return;
	}
	if (f->dead) { /* nobody here */
		struct pkt_seg rst = { .flow = f->addr,
				       .link.vlan = PKT_UNTAGGED,
				       .flags = WIRE_RST,
				       .seq = s->ack,
				       .wscale = PKT_NO_SCALE };
		put(&rst, true);
		return;
	}
	if (s->flags & WIRE_SYN) {
		if (!f->up) {
			f->up = true;
			f->irs = s->seq;
			f->limit = s->window;
			f->edge = 20000;
			f->rto_at = 0;
		}
		f->ack_at = now;
		return;
	}
	uint32_t ack = s->ack - f->isn - 1;
	if (f->up && ack <= f->ask_len + f->fin_out && ack >= f->una) {
		if (ack > f->una)
			f->rto_at = 0;
		f->una = ack;
		f->nxt = (uint32_t)max_u64(f->nxt, ack);
		f->limit = (uint32_t)max_u64(f->limit, ack + s->window);
	}
	client_data(f, s);
}

/* --- the server's upper layer ---------------------------------------------------------- */

static struct flow *flow_at(const struct pkt_flow *addr)
{
	return &flows[addr->remote_port - 1000];
}

static void server_gone(struct flow *f)
{
	f->slot = TCP_NONE;
	f->closed = true;
}

static void server_take(struct flow *f, const struct tcp_event *ev)
{
	uint32_t take = chance(90) ? ev->len : (uint32_t)(random_next() % (ev->len + 1));

	for (uint32_t i = 0; i < take; i++)
		wrong_ask += f->got >= f->ask_len || ev->data[i] != f->ask[f->got], f->got++;
	f->peer_fin |= ev->fin && take == ev->len;
	if (tcp_took(t, ev, take, now))
		server_gone(f);
}

static void server_input(struct pkt_seg *s)
{
	struct flow *f = flow_at(&s->flow);
	struct tcp_event ev;

	tcp_input(t, s, NULL, now, &ev);
	tcp_check(t);
	if (ev.slot == TCP_NONE)
		return;
	if (ev.opened) {
		f->slot = ev.slot;
		if (f->opened) { /* a late copy of the first segment, after a reset: idle limit */
			tcp_abort(t, ev.slot);
			server_gone(f);
			return;
		}
		f->opened = true;
	}
	if (ev.gone) {
		server_gone(f);
		return;
	}
	if (!ev.len && !ev.fin)
		return;
	do
		server_take(f, &ev);
	while (tcp_more(t, ev.slot, &ev));
	tcp_check(t);
}

static void server_pump(struct flow *f)
{
	if (f->slot == TCP_NONE || tcp_state(t, f->slot) >= TCP_FIN_WAIT_1)
		return;
	while (f->done < REQUESTS && f->got >= f->ends[f->done])
		f->owed += f->answers[f->done++];
	if (f->owed) {
		uint32_t n = (uint32_t)min_u64(f->owed, 1 + random_next() % 3000);
		uint8_t *to = buf_reserve(&pool, &out[f->slot], n);
		for (uint32_t i = 0; to && i < n; i++)
			to[i] = answer_byte(f, f->said + i);
		if (to) {
			tcp_wrote(t, f->slot, n);
			f->said += n;
			f->owed -= n;
		}
	}
	if (chance(5))
		tcp_room(t, f->slot, (uint32_t)(random_next() % 4 * (WINDOW / 3)));
	if (f->ending == SERVER_RESETS && f->done > REQUESTS / 2) {
		tcp_abort(t, f->slot);
		server_gone(f);
	} else if (f->done == REQUESTS && !f->owed && out[f->slot].len < 2000 &&
		   (f->peer_fin || f->ending == SERVER_CLOSES)) {
		tcp_close(t, f->slot, now);
	}
	tcp_check(t);
}

static void server_turn(void)
{
	struct pkt_seg s;
	uint16_t slot;

	while ((slot = tcp_tick(t, now)) != TCP_NONE)
		for (unsigned i = 0; i < FLOWS; i++)
			if (flows[i].slot == slot)
				server_gone(&flows[i]);
	for (unsigned i = 0; i < FLOWS; i++)
		server_pump(&flows[i]);
	while (tcp_output(t, now, &s, &slot))
		put(&s, false);
	tcp_check(t);
}

/* --- the run --------------------------------------------------------------------------------- */

static void deliver(unsigned i)
{
	struct pkt_seg s;

	if (pkt_parse(wire[i].bytes, wire[i].len, &s) != PKT_ok)
		malformed++;
	else if (wire[i].to_server)
		server_input(&s);
	else
		client_input(&flows[s.flow.local_port - 1000], &s);
	wire[i].len = 0;
}

static void plan(struct flow *f)
{
	uint16_t i = (uint16_t)(f - flows);

	memset(f, 0, sizeof *f);
	f->addr = (struct pkt_flow){ .remote = { [10] = 255, 255, 10, 0, 0, 1 },
				     .local = { [10] = 255, 255, 10, 0, 0, 2 },
				     .remote_port = 8080,
				     .local_port = 1000 + i };
	f->ending = i % ENDINGS;
	f->mss = weather.mss;
	f->scale = i % 3 ? 0 : 3;
	f->ts = i % 2;
	f->slot = TCP_NONE;
	f->isn = (uint32_t) - (random_next() % 30000); /* near the wrap */
	f->rto_at = now + random_next() % NS_PER_S;
	for (unsigned k = 0; k < REQUESTS; k++) {
		f->ask_len += (uint32_t)(1 + random_next() % REQUEST_MAX);
		f->ends[k] = f->ask_len;
		f->answers[k] = (uint32_t)(random_next() % ANSWER_MAX);
		f->want_len += f->answers[k];
	}
	for (uint32_t k = 0; k < f->ask_len; k++)
		f->ask[k] = (uint8_t)random_next();
}

static bool over(void)
{
	for (unsigned i = 0; i < FLOWS; i++) {
		const struct flow *f = &flows[i];
		if (!(f->dead || client_done(f)) || !f->closed)
			return false;
	}
	return true;
}

static unsigned free_blocks(const struct buf_list *l)
{
	unsigned n = (unsigned)((size_t)(l->end - l->fresh) / l->size);
	uint8_t *at = l->first, *next;

	for (; at; n++, at = next)
		memcpy(&next, at, sizeof next);
	return n;
}

static void setup(void)
{
	static _Alignas(8) uint8_t blocks[CONNS * BUF_SMALL + CONNS * LARGE_SIZE];
	struct tcp_params p = { .max_conns = CONNS,
				.mss4 = 1460,
				.mss6 = 1440,
				.window = WINDOW,
				.secret = "simulated",
				.pool = &pool,
				.out = out };
	size_t size = round_up(tcp_footprint(&p), 64);

	now = 50ull * NS_PER_S;
	t = memset(aligned_alloc(64, size), 0, size);
	buf_pool_init(&pool, blocks, CONNS, CONNS / 2, LARGE_SIZE); /* fewer than wanted */
	tcp_init(t, &p, now);
	memset(wire, 0, sizeof wire);
	wrong_ask = wrong_answer = wrong_window = malformed = 0;
	for (unsigned i = 0; i < FLOWS; i++)
		plan(&flows[i]);
}

static void run(void)
{
	const uint64_t limit = now + 600ull * NS_PER_S;

	while (!over() && now < limit) {
		now += STEP_US * NS_PER_US;
		for (unsigned i = 0; i < WIRE; i++)
			if (wire[i].len && wire[i].at <= now)
				deliver(i);
		for (unsigned i = 0; i < FLOWS; i++) {
			client_timers(&flows[i]);
			client_pump(&flows[i]);
		}
		server_turn();
	}
}

static void judge(unsigned round)
{
	unsigned whole = 0, cut = 0;

	for (unsigned i = 0; i < FLOWS; i++) {
		const struct flow *f = &flows[i];
		if (f->ending == CLIENT_CLOSES || f->ending == SERVER_CLOSES) {
			whole += f->got == f->ask_len && f->rcv == f->want_len;
			cut += f->reset;
		}
	}
	ok(over(), "%s, round %u: everybody came to an end (%.1f s)", weather.name, round,
	   now / 1e9 - 50);
	is(whole, FLOWS / 2, "who was not to be reset got all and said all");
	is(cut, 0, "and was not");
	is(wrong_ask + wrong_answer, 0, "every byte once and in order");
	is(wrong_window, 0, "no byte beyond the client's window");
	is(malformed, 0, "every frame was well-formed");
	is(tcp_count(t), 0, "all slots are free");
	is(free_blocks(&pool.small), CONNS, "all small blocks are free");
	is(free_blocks(&pool.large), CONNS / 2, "all large blocks are free");
}

int main(void)
{
	static const struct weather kinds[] = {
		{ "fine", 0, 0, 0, 1460 },
		{ "loss 2 %", 2, 0, 0, 1460 },
		{ "doubled and overtaking", 0, 20, 40, 1460 },
		{ "storm", 10, 10, 60, 1460 },
		{ "storm, small segments", 8, 10, 30, 300 },
	};

	for (unsigned k = 0; k < array_size(kinds); k++)
		for (unsigned round = 0; round < 3; round++) {
			weather = kinds[k];
			seed = 0x9e3779b97f4a7c15 * (k * 16 + round + 1);
			setup();
			run();
			judge(round);
			printf("# retransmits %" PRIu64 ", probes %" PRIu64 ", linger %" PRIu64
			       "\n",
			       tcp_tally(t)->retransmits, tcp_tally(t)->probes,
			       tcp_tally(t)->linger_ended);
			free(t);
		}
	return done();
}
