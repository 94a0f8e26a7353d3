/* SPDX-License-Identifier: GPL-2.0-only */
#include "lane_body.h"

enum {
	SLOTS = LANES_MAX + LANE_EXPRESS,
	/* A wider body, or one further down the tables, must be better by so much of
	 * 64: samples are not more exact than that. */
	NOISE = 1,
};

enum slot_state { SLOT_FREE, SLOT_RUNNING, SLOT_DONE };

struct slot {
	uint64_t h, i, left; /* the hash, the next round's number, rounds to go */
	uint32_t tag;
	uint8_t alg, state;
};

/* A body that this CPU can run. */
struct row {
	const struct lane_body *body;
	uint32_t pass_ps; /* in effect */
	uint32_t best_ps; /* the fastest sample so far */
};

/* Hashes or counters of the group that is being advanced. */
union column {
	uint32_t u32[LANES_MAX];
	uint64_t u64[LANES_MAX];
};

struct lane {
	union column hash __attribute__((aligned(64))), round __attribute__((aligned(64)));
	unsigned lanes;
	unsigned busy, done, lengthy;           /* of the busy ones, the jobs that are not short */
	uint8_t done_slot[SLOTS];               /* in the order of their end */
	uint8_t free_slot[SLOTS];               /* SLOTS - busy of them */
	unsigned queued[LANE_ALGS];             /* running slots, by algorithm, */
	uint8_t queue[LANE_ALGS][SLOTS];        /* shortest first */
	uint32_t pass_ps[LANE_ALGS][SLOTS + 1]; /* of k jobs, in the best bodies */
	uint8_t choice[LANE_ALGS][SLOTS + 1];   /* the row of the narrowest of those */
	unsigned rows, sample;                  /* the next one; rows * LANE_SAMPLES: no more */
	struct row row[LANE_BODIES_MAX];
	struct slot slots[SLOTS];
};

_Static_assert(SLOTS <= 255, "slots are bytes");

static const struct alg {
	const char *name;
	uint64_t seed;
	unsigned bits;
} algs[LANE_ALGS] = {
	[LANE_FNV1A32] = { "fnv1a32", 2166136261, 32 },
	[LANE_FNV1A64] = { "fnv1a64", 0xcbf29ce484222325, 64 },
	[LANE_MIX64] = { "mix64", 0, 64 },
};

/* Cut a seed to the algorithm's width. */
static uint64_t seed_cut(enum lane_alg alg, uint64_t seed)
{
	return alg == LANE_FNV1A32 ? (uint32_t)seed : seed;
}

/* --- the table: which bodies, and what they take -------------------------------- */

static void rows_add(struct lane *l, const struct lane_body *body, uint32_t features)
{
	for (; body->name; body++) {
		if (body->needs & ~features)
			continue;
		must(l->rows < LANE_BODIES_MAX && body->lanes <= LANES_MAX);
		l->row[l->rows++] = (struct row){ .body = body, .pass_ps = body->pass_ps };
	}
}

/* The bodies that advance k jobs of one algorithm in the least time, one after
 * the other, the narrowest first: the best of each body and what is best for the jobs
 * that it leaves. So to follow the choices takes exactly what they add up to. */
static void choose(struct lane *l, enum lane_alg alg, unsigned k)
{
	uint32_t *pass_ps = l->pass_ps[alg];
	uint64_t best = UINT64_MAX;

	for (unsigned r = 0; r < l->rows; r++) {
		const struct lane_body *body = l->row[r].body;
		unsigned rest = k > body->lanes ? k - body->lanes : 0;
		uint64_t sum = l->row[r].pass_ps + (uint64_t)pass_ps[rest];

		if (body->alg != alg || sum + sum * NOISE / 64 >= best ||
		    (rest && l->row[l->choice[alg][rest]].body->lanes < body->lanes))
			continue;
		best = sum;
		pass_ps[k] = (uint32_t)sum;
		l->choice[alg][k] = (uint8_t)r;
	}
	must(best < UINT32_MAX);
}

static void choose_all(struct lane *l)
{
	for (enum lane_alg alg = 0; alg < LANE_ALGS; alg++)
		for (unsigned k = 1; k <= SLOTS; k++)
			choose(l, alg, k);
}

uint32_t lane_pass_ps(const struct lane *l, enum lane_alg alg, unsigned k)
{
	must(alg < LANE_ALGS && k <= SLOTS);
	return l->pass_ps[alg][k];
}

unsigned lane_choice(const struct lane *l, enum lane_alg alg, unsigned k)
{
	must(alg < LANE_ALGS && k >= 1 && k <= SLOTS);
	return l->choice[alg][k];
}

bool lane_row(const struct lane *l, unsigned i, struct lane_row *row)
{
	if (i >= l->rows)
		return false;
	*row = (struct lane_row){
		.name = l->row[i].body->name,
		.alg = l->row[i].body->alg,
		.lanes = l->row[i].body->lanes,
		.builtin_ps = l->row[i].body->pass_ps,
		.pass_ps = l->row[i].pass_ps,
	};
	return true;
}

/* --- calibration ------------------------------------------------------------------ */

/* All bodies in turn, and again: whatever slows the core for a while slows all. */
static struct row *sample_row(struct lane *l)
{
	return &l->row[l->sample % l->rows];
}

static uint64_t sample_passes(const struct lane_body *body)
{
	return LANE_SAMPLE_US * UINT64_C(1000000) / body->pass_ps;
}

bool lane_sample(struct lane *l)
{
	const struct lane_body *body;

	if (lane_calibrated(l))
		return false;
	body = sample_row(l)->body;
	body->run(&l->hash, &l->round, sample_passes(body));
	return true;
}

void lane_sampled(struct lane *l, uint64_t ns)
{
	struct row *row = sample_row(l);
	uint64_t ps = max_u64(ns * 1000 / sample_passes(row->body), 1);

	if (!row->best_ps || ps < row->best_ps)
		row->best_ps = (uint32_t)min_u64(ps, UINT32_MAX / SLOTS);
	if (++l->sample < l->rows * LANE_SAMPLES)
		return;
	for (unsigned r = 0; r < l->rows; r++)
		l->row[r].pass_ps = l->row[r].best_ps;
	choose_all(l);
}

bool lane_calibrated(const struct lane *l)
{
	return l->sample == l->rows * LANE_SAMPLES;
}

/* --- queues: the running slots of one algorithm -------------------------------------- */

/* Shortest first. A step leaves the order nearly as it was, so insertion is
 * one comparison a slot. */
static void queue_sort(struct lane *l, enum lane_alg alg)
{
	uint8_t *q = l->queue[alg];

	for (unsigned a = 1; a < l->queued[alg]; a++) {
		uint8_t slot = q[a];
		unsigned b = a;

		for (; b && l->slots[q[b - 1]].left > l->slots[slot].left; b--)
			q[b] = q[b - 1];
		q[b] = slot;
	}
}

/* Keep what still runs. */
static void queue_sweep(struct lane *l, enum lane_alg alg)
{
	uint8_t *q = l->queue[alg];
	unsigned kept = 0;

	for (unsigned a = 0; a < l->queued[alg]; a++)
		if (l->slots[q[a]].state == SLOT_RUNNING)
			q[kept++] = q[a];
	l->queued[alg] = kept;
}

/* The algorithm whose next job, behind those already advanced, is the shortest;
 * LANE_ALGS when there is none. */
static enum lane_alg queue_shortest(const struct lane *l, const unsigned *at)
{
	enum lane_alg best = LANE_ALGS;
	uint64_t least = 0;

	for (enum lane_alg alg = 0; alg < LANE_ALGS; alg++) {
		if (at[alg] == l->queued[alg])
			continue;
		uint64_t left = l->slots[l->queue[alg][at[alg]]].left;
		if (best == LANE_ALGS || left < least) {
			best = alg;
			least = left;
		}
	}
	return best;
}

/* --- groups: what one body advances ------------------------------------------------------ */

static void group_load(struct lane *l, enum lane_alg alg, const uint8_t *q, unsigned k)
{
	for (unsigned j = 0; j < k; j++) {
		const struct slot *s = &l->slots[q[j]];

		if (algs[alg].bits == 32) {
			l->hash.u32[j] = (uint32_t)s->h;
			l->round.u32[j] = (uint32_t)s->i;
		} else {
			l->hash.u64[j] = s->h;
			l->round.u64[j] = s->i;
		}
	}
}

static void group_store(struct lane *l, enum lane_alg alg, const uint8_t *q, unsigned k,
			uint64_t passes)
{
	for (unsigned j = 0; j < k; j++) {
		struct slot *s = &l->slots[q[j]];

		s->h = algs[alg].bits == 32 ? l->hash.u32[j] : l->hash.u64[j];
		s->i += passes;
		s->left -= passes;
	}
}

static void slot_done(struct lane *l, uint8_t slot)
{
	l->slots[slot].state = SLOT_DONE;
	l->done_slot[l->done++] = slot;
}

/* Advance the k slots of q, which are in order, for so long, by one pass at least;
 * who is ready leaves and the rest go on, in a narrower body if that is faster.
 * Returns the time used. */
static uint64_t group_run(struct lane *l, enum lane_alg alg, const struct row *row,
			  const uint8_t *q, unsigned k, uint64_t budget_ps)
{
	uint64_t used_ps = 0;

	while (k) {
		const struct row *narrow = &l->row[l->choice[alg][k]];
		uint64_t passes;

		if (narrow->body->lanes >= k)
			row = narrow;
		passes = (budget_ps - used_ps) / row->pass_ps;
		if (!used_ps)
			passes = max_u64(passes, 1);
		passes = min_u64(passes, l->slots[q[0]].left);
		if (!passes)
			break;
		group_load(l, alg, q, k);
		row->body->run(&l->hash, &l->round, passes);
		group_store(l, alg, q, k, passes);
		used_ps += passes * row->pass_ps;
		for (; k && !l->slots[q[0]].left; q++, k--)
			slot_done(l, q[0]);
		if (used_ps >= budget_ps)
			break;
	}
	return used_ps;
}

/* --- the engine ------------------------------------------------------------------------------ */

size_t lane_footprint(void)
{
	return sizeof(struct lane);
}

size_t lane_align(void)
{
	return _Alignof(struct lane);
}

struct lane *lane_init(void *memory, unsigned lanes, uint32_t features)
{
	struct lane *l = memory;

	must((uintptr_t)memory % _Alignof(struct lane) == 0);
	must(lanes >= 1 && lanes <= LANES_MAX);
	memset(l, 0, sizeof *l);
	l->lanes = lanes;
	for (unsigned i = 0; i < SLOTS; i++)
		l->free_slot[i] = (uint8_t)(SLOTS - 1 - i);
	rows_add(l, lane_scalar, features);
	rows_add(l, lane_sse41, features);
	rows_add(l, lane_avx2, features);
	rows_add(l, lane_avx512, features);
	rows_add(l, lane_neon, features);
	choose_all(l);
	return l;
}

bool lane_put(struct lane *l, const struct lane_job *job)
{
	bool lengthy = job->n > LANE_SHORT;
	uint8_t slot;

	must(job->alg < LANE_ALGS);
	if (l->busy == l->lanes + LANE_EXPRESS || (lengthy && l->lengthy == l->lanes))
		return false;
	l->lengthy += lengthy;
	slot = l->free_slot[SLOTS - 1 - l->busy++];
	l->slots[slot] = (struct slot){
		.h = seed_cut(job->alg, job->seed),
		.left = job->n,
		.tag = job->tag,
		.alg = (uint8_t)job->alg,
		.state = SLOT_RUNNING,
	};
	if (job->n)
		l->queue[job->alg][l->queued[job->alg]++] = slot;
	else
		slot_done(l, slot);
	return true;
}

uint64_t lane_step(struct lane *l, uint64_t budget_ps)
{
	uint64_t all_ps = 0, fair, bonus_ps, spent_ps = 0;
	unsigned at[LANE_ALGS] = { 0 }, done_before = l->done;
	enum lane_alg alg;

	for (alg = 0; alg < LANE_ALGS; alg++) {
		queue_sort(l, alg);
		all_ps += l->pass_ps[alg][l->queued[alg]];
	}
	if (!all_ps)
		return 0;
	fair = max_u64(budget_ps / 2 / all_ps, 1); /* passes */
	bonus_ps = budget_ps - min_u64(fair * all_ps, budget_ps);
	while ((alg = queue_shortest(l, at)) != LANE_ALGS) {
		unsigned jobs = l->queued[alg] - at[alg];
		const struct row *row = &l->row[l->choice[alg][jobs]];
		unsigned k = (unsigned)min_u64(jobs, row->body->lanes);
		uint64_t share_ps = fair * row->pass_ps + bonus_ps;
		uint64_t used_ps = group_run(l, alg, row, l->queue[alg] + at[alg], k, share_ps);

		bonus_ps = share_ps - min_u64(used_ps, share_ps);
		spent_ps += used_ps;
		at[alg] += k;
	}
	if (l->done != done_before)
		for (alg = 0; alg < LANE_ALGS; alg++)
			queue_sweep(l, alg);
	return spent_ps;
}

/* The slot of a job that has been taken or dropped. */
static void slot_release(struct lane *l, uint8_t slot)
{
	struct slot *s = &l->slots[slot];

	s->state = SLOT_FREE;
	l->lengthy -= s->i + s->left > LANE_SHORT;
	l->free_slot[SLOTS - l->busy--] = slot;
}

/* Take the i-th of the finished out of their line. */
static void done_remove(struct lane *l, unsigned i)
{
	l->done--;
	memmove(l->done_slot + i, l->done_slot + i + 1, l->done - i);
}

bool lane_take(struct lane *l, struct lane_result *result)
{
	uint8_t slot = l->done_slot[0];

	if (!l->done)
		return false;
	result->hash = l->slots[slot].h;
	result->tag = l->slots[slot].tag;
	done_remove(l, 0);
	slot_release(l, slot);
	return true;
}

bool lane_drop(struct lane *l, uint32_t tag)
{
	for (unsigned slot = 0; slot < SLOTS; slot++) {
		struct slot *s = &l->slots[slot];
		unsigned i = 0;

		if (s->state == SLOT_FREE || s->tag != tag)
			continue;
		if (s->state == SLOT_DONE) {
			while (l->done_slot[i] != slot)
				i++;
			done_remove(l, i);
		}
		slot_release(l, (uint8_t)slot);
		queue_sweep(l, s->alg);
		return true;
	}
	return false;
}

unsigned lane_running(const struct lane *l)
{
	return l->busy - l->done;
}

unsigned lane_busy(const struct lane *l)
{
	return l->busy;
}

/* --- one loop ----------------------------------------------------------------------------------- */

uint64_t lane_plain(enum lane_alg alg, uint64_t seed, uint64_t n)
{
	uint64_t h = seed_cut(alg, seed);

	must(alg < LANE_ALGS);
	if (alg == LANE_FNV1A32)
		for (uint64_t i = 0; i < n; i++)
			h = lane_round_fnv1a32((uint32_t)h, (uint32_t)i);
	else if (alg == LANE_FNV1A64)
		for (uint64_t i = 0; i < n; i++)
			h = lane_round_fnv1a64(h, i);
	else
		for (uint64_t i = 0; i < n; i++)
			h = lane_round_mix64(h, i);
	return h;
}

const char *lane_alg_name(enum lane_alg alg)
{
	must(alg < LANE_ALGS);
	return algs[alg].name;
}

uint64_t lane_alg_seed(enum lane_alg alg)
{
	must(alg < LANE_ALGS);
	return algs[alg].seed;
}

unsigned lane_alg_bits(enum lane_alg alg)
{
	must(alg < LANE_ALGS);
	return algs[alg].bits;
}
