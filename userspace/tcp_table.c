/* SPDX-License-Identifier: GPL-2.0-only */
#include "tcp_private.h"

/* --- memory -------------------------------------------------------------------- */

static uint32_t bucket_count(unsigned max_conns)
{
	uint32_t n = 64;

	while (n < max_conns)
		n *= 2;
	return n;
}

/* The parts of a table, one behind the other, each on a cache line of its own. */
struct layout {
	size_t conn, bucket, entries, timewait, early, tw_flow, note, end;
};

static unsigned timewaits(const struct tcp_params *p)
{
	return p->timewait ?: TIMEWAIT_MAX;
}

static struct layout layout_of(const struct tcp_params *p)
{
	unsigned records = timewaits(p) + 1;
	struct layout l;

	l.conn = round_up(sizeof(struct tcp), 64);
	l.bucket = l.conn + round_up(p->max_conns * sizeof(struct conn), 64);
	l.entries = l.bucket + round_up(bucket_count(p->max_conns) * sizeof(uint16_t), 64);
	l.timewait = l.entries + round_up(p->max_conns * sizeof(struct wheel_entry), 64);
	l.early = l.timewait + round_up(records * sizeof(struct timewait), 64);
	l.tw_flow = l.early + EARLY_MAX * sizeof(struct early);
	l.note = l.tw_flow + (p->adopts ? records * sizeof(struct timewait_flow) : 0);
	l.end = l.note + (p->adopts ? FLOW_NOTES * sizeof(struct tcp_note) : 0);
	return l;
}

size_t tcp_footprint(const struct tcp_params *p)
{
	return layout_of(p).end;
}

struct tcp *tcp_init(void *memory, const struct tcp_params *p, uint64_t now_ns)
{
	struct layout l = layout_of(p);
	struct tcp *t = memory;
	uint8_t *base = memory;

	must(p->max_conns > 0 && p->max_conns <= CONNS_MAX);
	must(!(p->timewait & (p->timewait - 1)) && timewaits(p) >= TIMEWAIT_WAYS);
	t->p = *p;
	t->p.timewait = timewaits(p);
	memcpy(&t->key, p->secret, sizeof t->key);
	t->conn = (struct conn *)(base + l.conn);
	t->bucket = (uint16_t *)(base + l.bucket);
	t->entries = (struct wheel_entry *)(base + l.entries);
	t->timewait = (struct timewait *)(base + l.timewait);
	t->early = (struct early *)(base + l.early);
	t->tw_flow = p->adopts ? (struct timewait_flow *)(base + l.tw_flow) : NULL;
	t->note = p->adopts ? (struct tcp_note *)(base + l.note) : NULL;
	t->owes_first = TCP_NONE;
	t->bucket_mask = bucket_count(p->max_conns) - 1;
	memset(t->bucket, 0xff, (t->bucket_mask + 1) * sizeof(uint16_t));
	t->due_first = t->due_last = TCP_NONE;
	t->free = TCP_NONE;
	wheel_init(&t->wheel, t->entries, now_ns);
	return t;
}

/* --- lookup ---------------------------------------------------------------------- */

uint64_t tcp_hash(const struct tcp *t, const struct pkt_flow *f)
{
	return siphash(&t->key, f, sizeof *f);
}

static bool same_flow(const struct pkt_flow *a, const struct pkt_flow *b)
{
	return !memcmp(a, b, sizeof *a);
}

struct conn *tcp_find(struct tcp *t, const struct pkt_flow *f, uint64_t hash)
{
	uint16_t i = t->bucket[hash & t->bucket_mask];

	while (i != TCP_NONE && !same_flow(&t->conn[i].flow, f))
		i = t->conn[i].hash_next;
	return i == TCP_NONE ? NULL : &t->conn[i];
}

/* A freed slot may still stand on the due list; it keeps its place there. */
static void reset_slot(struct conn *c)
{
	uint16_t due_next = c->due_next;
	bool queued = c->queued;

	memset(c, 0, sizeof *c);
	c->due_next = due_next;
	c->queued = queued;
}

/* The slot cannot be used: its flow has a note to come. */
static void hold_slot(struct conn *c)
{
	struct conn kept = *c;

	reset_slot(c);
	c->flow = kept.flow;
	c->told = kept.told;
	c->owes = true;
	c->owes_next = kept.owes_next;
	c->unsaid = kept.unsaid;
}

/* Slots that were in use first, so that a table takes memory by the most connections that
 * there were at once. */
static uint16_t take_slot(struct tcp *t)
{
	uint16_t i = t->free;

	if (i != TCP_NONE)
		t->free = t->conn[i].hash_next;
	else if (t->fresh < t->p.max_conns)
		i = t->fresh++;
	return i;
}

struct conn *tcp_new(struct tcp *t, const struct pkt_flow *f, uint64_t hash)
{
	uint16_t *bucket = &t->bucket[hash & t->bucket_mask], i = take_slot(t);
	struct conn *c;

	if (i == TCP_NONE)
		return NULL;
	c = &t->conn[i];
	reset_slot(c);
	c->flow = *f;
	c->hash_next = *bucket;
	*bucket = i;
	t->count++;
	return c;
}

void tcp_free(struct tcp *t, struct conn *c)
{
	uint16_t slot = tcp_slot(t, c);
	uint16_t *link = &t->bucket[tcp_hash(t, &c->flow) & t->bucket_mask];

	while (*link != slot)
		link = &t->conn[*link].hash_next;
	*link = c->hash_next;
	buf_free(t->p.pool, &t->p.out[slot]);
	reasm_free(t, c);
	wheel_set(&t->wheel, slot, 0);
	t->count--;
	if (unlikely(!adopt_gone(t, c))) {
		hold_slot(c);
		return;
	}
	reset_slot(c);
	c->hash_next = t->free;
	t->free = slot;
}

/* --- due, deadlines --------------------------------------------------------------- */

void tcp_mark(struct tcp *t, struct conn *c, unsigned due)
{
	uint16_t slot = tcp_slot(t, c);

	c->due |= (uint8_t)due;
	if (c->queued)
		return;
	c->queued = true;
	c->due_next = TCP_NONE;
	if (t->due_first == TCP_NONE)
		t->due_first = slot;
	else
		t->conn[t->due_last].due_next = slot;
	t->due_last = slot;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return !a || (b && b < a) ? b : a;
}

void tcp_arm(struct tcp *t, struct conn *c)
{
	wheel_set(&t->wheel, tcp_slot(t, c),
		  earlier(earlier(c->at_rtx_ns, c->at_ack_ns), c->at_end_ns));
}

uint16_t tcp_tick(struct tcp *t, uint64_t now_ns)
{
	uint16_t slot;

	while ((slot = wheel_due(&t->wheel, now_ns)) != WHEEL_NONE) {
		struct conn *c = &t->conn[slot];

		if (c->at_end_ns && c->at_end_ns <= now_ns) {
			t->tally.linger_ended++;
			tcp_free(t, c);
			return slot;
		}
		if (c->at_ack_ns && c->at_ack_ns <= now_ns) {
			c->at_ack_ns = 0;
			tcp_mark(t, c, DUE_ACK);
		}
		if (c->at_rtx_ns && c->at_rtx_ns <= now_ns && !tcp_timeout(t, c, now_ns)) {
			t->tally.timed_out++;
			tcp_free(t, c);
			return slot;
		}
		tcp_arm(t, c);
	}
	return TCP_NONE;
}

/* --- TIME-WAIT --------------------------------------------------------------------- */

static struct timewait *timewait_set(struct tcp *t, uint64_t hash)
{
	/* Other bits than the bucket's, so that the two tables do not fill alike. */
	return &t->timewait[((hash >> 20) & (t->p.timewait / TIMEWAIT_WAYS - 1)) * TIMEWAIT_WAYS];
}

struct timewait *timewait_find(struct tcp *t, uint64_t hash, uint64_t now_ns)
{
	struct timewait *w = timewait_set(t, hash);

	for (int i = 0; i < TIMEWAIT_WAYS; i++)
		if (w[i].key == hash && w[i].until_ns > now_ns)
			return &w[i];
	return NULL;
}

struct timewait *timewait_oldest(struct tcp *t, uint64_t hash)
{
	struct timewait *w = timewait_set(t, hash), *oldest = w;

	for (int i = 1; i < TIMEWAIT_WAYS; i++)
		if (w[i].until_ns < oldest->until_ns)
			oldest = &w[i];
	return oldest;
}

struct timewait *timewait_enter(struct tcp *t, struct conn *c, uint64_t now_ns)
{
	uint64_t hash = tcp_hash(t, &c->flow);
	struct timewait *oldest = timewait_oldest(t, hash);

	if (oldest->until_ns > now_ns)
		t->tally.timewait_evicted++;
	if (c->adopted && !adopt_timewait(t, c, oldest))
		oldest = &t->timewait[t->p.timewait];
	*oldest = (struct timewait){
		.key = hash,
		.until_ns = now_ns + TCP_TIMEWAIT_MS * (uint64_t)NS_PER_MS,
		.snd_nxt = c->snd_nxt,
		.rcv_nxt = c->rcv_nxt,
		.ts_recent = c->ts_recent,
		.has_ts = c->has_ts,
	};
	t->tally.closed++;
	tcp_free(t, c);
	return oldest;
}

void timewait_forget(struct tcp *t, uint64_t hash)
{
	struct timewait *w = timewait_set(t, hash);

	for (int i = 0; i < TIMEWAIT_WAYS; i++)
		if (w[i].key == hash)
			w[i].key = w[i].until_ns = 0;
}

/* --- early segments ------------------------------------------------------------------ */

static struct early *early_set(const struct tcp *t, uint64_t hash)
{
	return &t->early[(hash >> 8) % (EARLY_MAX / EARLY_WAYS) * EARLY_WAYS];
}

static uint32_t early_left_ms(const struct early *e, uint64_t now_ns)
{
	uint32_t left = e->until_ms - (uint32_t)(now_ns / NS_PER_MS);

	return e->tag && left <= TCP_EARLY_MS ? left : 0;
}

/* Its own place, or that of the one which ends first. */
static struct early *early_room(const struct tcp *t, uint64_t hash, uint64_t now_ns)
{
	struct early *e = early_set(t, hash), *room = e;

	for (int i = 0; i < EARLY_WAYS; i++) {
		if (e[i].tag == (uint32_t)(hash >> 32))
			return &e[i];
		if (early_left_ms(&e[i], now_ns) < early_left_ms(room, now_ns))
			room = &e[i];
	}
	return room;
}

void early_note(struct tcp *t, uint64_t hash, uint32_t isn, uint64_t now_ns)
{
	*early_room(t, hash, now_ns) = (struct early){
		.tag = (uint32_t)(hash >> 32),
		.until_ms = (uint32_t)(now_ns / NS_PER_MS) + TCP_EARLY_MS,
		.isn = isn,
	};
}

bool early_find(const struct tcp *t, uint64_t hash, uint64_t now_ns, uint32_t *isn)
{
	const struct early *e = early_set(t, hash);

	for (int i = 0; i < EARLY_WAYS; i++)
		if (e[i].tag == (uint32_t)(hash >> 32) && early_left_ms(&e[i], now_ns)) {
			*isn = e[i].isn;
			return true;
		}
	return false;
}

void early_forget(struct tcp *t, uint64_t hash)
{
	struct early *e = early_set(t, hash);

	for (int i = 0; i < EARLY_WAYS; i++)
		if (e[i].tag == (uint32_t)(hash >> 32))
			e[i].tag = 0;
}

/* --- looking in ---------------------------------------------------------------------- */

struct pkt_seg *tcp_stub(struct tcp *t)
{
	if (t->stub_count == STUBS_MAX) {
		t->tally.stub_lost++;
		return NULL;
	}
	return &t->stub[(t->stub_head + t->stub_count++) % STUBS_MAX];
}

void tcp_describe(const struct tcp *t, uint16_t slot, struct tcp_view *v)
{
	const struct conn *c = &t->conn[slot];
	uint32_t len = t->p.out[slot].len;
	/* our FIN has a number, and no byte */
	uint32_t unacked = (uint32_t)min_u64(c->snd_max - c->snd_una, len);

	*v = (struct tcp_view){
		.flow = &c->flow,
		.state = c->state,
		.mss = c->mss,
		.cwnd = c->cwnd,
		.window = c->snd_wnd,
		.srtt_us = c->srtt_us,
		.rto_us = (uint32_t)(tcp_backed_off(c) / NS_PER_US),
		.retransmits = c->retransmits,
		.unsent = len - unacked,
		.unacked = unacked,
	};
}

enum tcp_state tcp_state(const struct tcp *t, uint16_t slot)
{
	return t->conn[slot].state;
}

unsigned tcp_top(const struct tcp *t)
{
	return t->fresh;
}

unsigned tcp_count(const struct tcp *t)
{
	return t->count;
}

const struct tcp_tally *tcp_tally(const struct tcp *t)
{
	return &t->tally;
}

const char *tcp_state_name(enum tcp_state s)
{
	static const char *const name[] = {
#define X(word) #word,
		TCP_STATE_LIST(X)
#undef X
	};

	return name[s];
}

const char *tcp_verdict_name(enum tcp_verdict v)
{
	static const char *const name[] = {
#define X(word) #word,
		TCP_LIST(X)
#undef X
	};

	return name[v];
}

static void check_conn(const struct tcp *t, const struct conn *c)
{
	const struct buf *out = &t->p.out[tcp_slot(t, c)];

	must(c->state != TCP_FREE);
	must(seq_le(c->snd_una, c->snd_nxt) && seq_le(c->snd_nxt, c->snd_max));
	must(c->snd_max - c->snd_una <= out->len + 1);
	must(seq_le(c->rcv_nxt, c->rcv_adv));
	must(!c->due || c->queued);
	must(c->snd_una == c->snd_max || c->at_rtx_ns);
	if (c->reasm)
		reasm_check(t, c);
}

void tcp_check(const struct tcp *t)
{
	unsigned live = 0, idle = 0, due = 0, reasms = 0;

	for (uint32_t b = 0; b <= t->bucket_mask; b++)
		for (uint16_t i = t->bucket[b]; i != TCP_NONE; i = t->conn[i].hash_next, live++) {
			check_conn(t, &t->conn[i]);
			reasms += t->conn[i].reasm != NULL;
		}
	must(reasms == t->reasms);
	for (uint16_t i = t->free; i != TCP_NONE; i = t->conn[i].hash_next, idle++)
		must(t->conn[i].state == TCP_FREE && !t->p.out[i].base);
	must(live == t->count && live + idle + t->held == t->fresh && t->fresh <= t->p.max_conns);
	for (uint16_t i = t->due_first; i != TCP_NONE; i = t->conn[i].due_next, due++)
		must(t->conn[i].queued && due < t->p.max_conns);
	adopt_check(t);
}
