/* SPDX-License-Identifier: GPL-2.0-only */
#include "lane.h"

struct slot {
	uint64_t h, i, left; /* the hash, the next round's number, rounds to go */
	uint32_t tag;
	enum lane_alg alg;
};

struct lane {
	uint64_t free, done; /* a bit for each slot; in neither: running */
	unsigned busy;
	unsigned queued[LANE_ALGS];
	uint8_t queue[LANE_ALGS][LANES]; /* running slots, by algorithm */
	struct slot slots[LANES];
} __attribute__((aligned(64)));

_Static_assert(LANES >= 1 && LANES <= 64, "a bit for each slot");
_Static_assert(LANE_SCALAR == 4, "chains_advance has four chains");

static const struct alg {
	const char *name;
	uint64_t seed;
	unsigned bits, cost;
} algs[LANE_ALGS] = {
	[LANE_FNV1A32] = { "fnv1a32", 2166136261, 32, 1 },
	[LANE_FNV1A64] = { "fnv1a64", 0xcbf29ce484222325, 64, 1 },
	[LANE_MIX64] = { "mix64", 0, 64, LANE_MIX64_COST },
};

/* --- the loops ------------------------------------------------------------ */

#define ALWAYS_INLINE inline __attribute__((always_inline))

static ALWAYS_INLINE uint64_t round_fnv1a32(uint64_t h, uint64_t i)
{
	return ((uint32_t)h ^ (uint32_t)i) * UINT32_C(16777619);
}

static ALWAYS_INLINE uint64_t round_fnv1a64(uint64_t h, uint64_t i)
{
	return (h ^ i) * UINT64_C(1099511628211);
}

static ALWAYS_INLINE uint64_t round_mix64(uint64_t h, uint64_t i)
{
	h ^= i;
	h = (h ^ h >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	h = (h ^ h >> 27) * UINT64_C(0x94d049bb133111eb);
	return h ^ h >> 31;
}

static ALWAYS_INLINE uint64_t round_of(enum lane_alg alg, uint64_t h, uint64_t i)
{
	return alg == LANE_FNV1A32 ? round_fnv1a32(h, i) :
	       alg == LANE_FNV1A64 ? round_fnv1a64(h, i) :
				     round_mix64(h, i);
}

/* Cut a seed to the algorithm's width. */
static uint64_t seed_cut(enum lane_alg alg, uint64_t seed)
{
	return alg == LANE_FNV1A32 ? (uint32_t)seed : seed;
}

/* K slots side by side, one round each per pass. With k and alg known to the
 * compiler the ifs go away, and hashes and counters stay in registers. */
static ALWAYS_INLINE void chains_advance(enum lane_alg alg, unsigned k, struct slot *const *s,
					 uint64_t passes)
{
	uint64_t h0 = s[0]->h, h1 = 0, h2 = 0, h3 = 0;
	uint64_t i0 = s[0]->i, i1 = 0, i2 = 0, i3 = 0;

	if (k > 1) {
		h1 = s[1]->h;
		i1 = s[1]->i;
	}
	if (k > 2) {
		h2 = s[2]->h;
		i2 = s[2]->i;
	}
	if (k > 3) {
		h3 = s[3]->h;
		i3 = s[3]->i;
	}

	for (uint64_t p = 0; p < passes; p++) {
		h0 = round_of(alg, h0, i0++);
		if (k > 1)
			h1 = round_of(alg, h1, i1++);
		if (k > 2)
			h2 = round_of(alg, h2, i2++);
		if (k > 3)
			h3 = round_of(alg, h3, i3++);
	}

	s[0]->h = h0;
	if (k > 1)
		s[1]->h = h1;
	if (k > 2)
		s[2]->h = h2;
	if (k > 3)
		s[3]->h = h3;
	for (unsigned j = 0; j < k; j++) {
		s[j]->i += passes;
		s[j]->left -= passes;
	}
}

#define CHAINS(alg, k) ((alg)*LANE_SCALAR + (k)-1)

/* Not inlined: among lane_step's own variables the chains would spill. */
static __attribute__((noinline)) void chains_run(enum lane_alg alg, unsigned k,
						 struct slot *const *s, uint64_t passes)
{
	switch (CHAINS(alg, k)) {
#define BODY(alg, k) \
	case CHAINS(alg, k): \
		chains_advance(alg, k, s, passes); \
		break;
#define BODIES(alg) BODY(alg, 1) BODY(alg, 2) BODY(alg, 3) BODY(alg, 4)
		BODIES(LANE_FNV1A32)
		BODIES(LANE_FNV1A64)
		BODIES(LANE_MIX64)
#undef BODIES
#undef BODY
	}
}

static ALWAYS_INLINE uint64_t plain(enum lane_alg alg, uint64_t h, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		h = round_of(alg, h, i);
	return h;
}

uint64_t lane_plain(enum lane_alg alg, uint64_t seed, uint64_t n)
{
	must(alg < LANE_ALGS);
	seed = seed_cut(alg, seed);
	switch (alg) {
	case LANE_FNV1A32:
		return plain(LANE_FNV1A32, seed, n);
	case LANE_FNV1A64:
		return plain(LANE_FNV1A64, seed, n);
	default:
		return plain(LANE_MIX64, seed, n);
	}
}

/* --- queues: the running slots of one algorithm ---------------------------- */

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
		if (!((l->free | l->done) >> q[a] & 1))
			q[kept++] = q[a];
	l->queued[alg] = kept;
}

static unsigned groups_of(unsigned jobs)
{
	return (jobs + LANE_SCALAR - 1) / LANE_SCALAR;
}

/* The algorithm whose next job, behind those already advanced, is the shortest. */
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

/* Advance the k slots of q, which are in order, by at most so many passes; who
 * is ready leaves and the rest go on. Returns the passes used. */
static uint64_t group_run(struct lane *l, enum lane_alg alg, const uint8_t *q, unsigned k,
			  uint64_t passes)
{
	struct slot *group[LANE_SCALAR], **s = group;
	uint64_t used = 0;

	for (unsigned j = 0; j < k; j++)
		group[j] = &l->slots[q[j]];
	while (k && used < passes) {
		uint64_t run = min_u64(passes - used, s[0]->left);

		chains_run(alg, k, s, run);
		used += run;
		for (; k && !s[0]->left; s++, k--)
			l->done |= UINT64_C(1) << (s[0] - l->slots);
	}
	return used;
}

/* --- the engine ------------------------------------------------------------- */

size_t lane_footprint(void)
{
	return sizeof(struct lane);
}

size_t lane_align(void)
{
	return _Alignof(struct lane);
}

struct lane *lane_init(void *memory)
{
	struct lane *l = memory;

	must((uintptr_t)memory % _Alignof(struct lane) == 0);
	memset(l, 0, sizeof *l);
	l->free = ~UINT64_C(0) >> (64 - LANES);
	return l;
}

bool lane_put(struct lane *l, const struct lane_job *job)
{
	must(job->alg < LANE_ALGS);
	if (!l->free)
		return false;

	unsigned slot = (unsigned)__builtin_ctzll(l->free);
	l->slots[slot] = (struct slot){
		.h = seed_cut(job->alg, job->seed),
		.left = job->n,
		.tag = job->tag,
		.alg = job->alg,
	};
	l->free &= l->free - 1;
	l->busy++;
	if (job->n)
		l->queue[job->alg][l->queued[job->alg]++] = (uint8_t)slot;
	else
		l->done |= UINT64_C(1) << slot;
	return true;
}

uint64_t lane_step(struct lane *l, uint64_t rounds)
{
	uint64_t bonus = rounds / 2, fair = rounds - bonus, spent = 0, done_before = l->done;
	unsigned at[LANE_ALGS] = { 0 }, groups = 0;

	for (enum lane_alg alg = 0; alg < LANE_ALGS; alg++) {
		queue_sort(l, alg);
		groups += groups_of(l->queued[alg]);
	}
	for (; groups; groups--) {
		enum lane_alg alg = queue_shortest(l, at);
		unsigned jobs = l->queued[alg] - at[alg];
		/* Six jobs are 3 + 3, not 4 + 2: a Cortex-A76 runs 3 at full speed. */
		unsigned k = (jobs + groups_of(jobs) - 1) / groups_of(jobs);
		uint64_t share = (fair + groups - 1) / groups;
		uint64_t passes = max_u64((share + bonus) / algs[alg].cost, 1);
		uint64_t used = group_run(l, alg, l->queue[alg] + at[alg], k, passes);

		fair -= share;
		bonus = (passes - used) * algs[alg].cost;
		spent += used * algs[alg].cost;
		at[alg] += k;
	}
	if (l->done != done_before)
		for (enum lane_alg alg = 0; alg < LANE_ALGS; alg++)
			queue_sweep(l, alg);
	return spent;
}

/* The slot of a job that has been taken or dropped. */
static void slot_release(struct lane *l, unsigned slot)
{
	l->done &= ~(UINT64_C(1) << slot);
	l->free |= UINT64_C(1) << slot;
	l->busy--;
}

bool lane_take(struct lane *l, struct lane_result *result)
{
	if (!l->done)
		return false;

	unsigned slot = (unsigned)__builtin_ctzll(l->done);
	result->hash = l->slots[slot].h;
	result->tag = l->slots[slot].tag;
	slot_release(l, slot);
	return true;
}

bool lane_drop(struct lane *l, uint32_t tag)
{
	for (unsigned slot = 0; slot < LANES; slot++) {
		if (l->free >> slot & 1 || l->slots[slot].tag != tag)
			continue;
		slot_release(l, slot);
		queue_sweep(l, l->slots[slot].alg);
		return true;
	}
	return false;
}

unsigned lane_running(const struct lane *l)
{
	unsigned running = 0;

	for (enum lane_alg alg = 0; alg < LANE_ALGS; alg++)
		running += l->queued[alg];
	return running;
}

unsigned lane_busy(const struct lane *l)
{
	return l->busy;
}

/* --- what is known of an algorithm ------------------------------------------ */

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
