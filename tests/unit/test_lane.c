/* SPDX-License-Identifier: GPL-2.0-only */
/* lane: the published values, and the engine against the plain loop. */
#include "tap.h"

#include "lane.h"

enum {
	TEST_SLICE = 40000,
	TEST_EVENTS = 60000,
	OVERRUN = LANES * LANE_MIX64_COST, /* what lane_step's comment allows */
};

static struct lane *lane_fresh(void)
{
	static void *memory;

	if (!memory)
		memory = aligned_alloc(lane_align(), round_up(lane_footprint(), lane_align()));
	must(memory);
	memset(memory, 0xa5, lane_footprint());
	return lane_init(memory);
}

static uint64_t random_next(void)
{
	static uint64_t x = 0x9e3779b97f4a7c15;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x >> 11;
}

static struct lane_job job_of(enum lane_alg alg, uint64_t n, uint32_t tag)
{
	return (struct lane_job){ .n = n, .seed = lane_alg_seed(alg), .tag = tag, .alg = alg };
}

static unsigned take_all(struct lane *l)
{
	struct lane_result result;
	unsigned taken = 0;

	while (lane_take(l, &result))
		taken++;
	return taken;
}

/* --- the table of the design ------------------------------------------------ */

static const struct {
	enum lane_alg alg;
	uint64_t seed;
} columns[] = {
	{ LANE_FNV1A32, 2166136261 }, { LANE_FNV1A32, 0 },
	{ LANE_FNV1A32, 42 },         { LANE_FNV1A64, 0xcbf29ce484222325 },
	{ LANE_FNV1A64, 42 },         { LANE_MIX64, 0 },
	{ LANE_MIX64, 42 },
};

static const struct {
	uint64_t n, hash[array_size(columns)];
} rows[] = {
	{ 0,
	  { 0x811c9dc5, 0x00000000, 0x0000002a, 0xcbf29ce484222325, 0x000000000000002a,
	    0x0000000000000000, 0x000000000000002a } },
	{ 1,
	  { 0x050c5d1f, 0x00000000, 0x2a00421e, 0xaf63bd4c8601b7df, 0x00002a000000475e,
	    0x0000000000000000, 0xa759ea27d4727622 } },
	{ 2,
	  { 0x1076963a, 0x01000193, 0x3d6816cd, 0x08328707b4eb6e3a, 0x008ebd000079466d,
	    0x5692161d100b05e5, 0x901883d2427428f4 } },
	{ 10,
	  { 0x2f854072, 0xf80553b3, 0xac7f2ff5, 0x9800d3c0ce314572, 0x3f03021d1dfab795,
	    0x28e0e425509d0323, 0x890f5c9f1d9b0661 } },
	{ 1000,
	  { 0xa06ae7fd, 0x4b267f30, 0xe0d6c7e2, 0x988cc5afd8cb65dd, 0xba9736e0fa008962,
	    0xa5ee824984afd4a2, 0x48fc1df56a949038 } },
	{ 10000000,
	  { 0x25be6645, 0x69468700, 0x941ac92a, 0x044ce90fd6730ea5, 0x0c86c7ff84a6002a,
	    0x4ab85bb247e2591e, 0x395cca9dc55bb625 } },
};

static void test_plain(void)
{
	for (unsigned r = 0; r < array_size(rows); r++)
		for (unsigned c = 0; c < array_size(columns); c++)
			is(lane_plain(columns[c].alg, columns[c].seed, rows[r].n), rows[r].hash[c],
			   "plain %s seed %" PRIx64 " n %" PRIu64, lane_alg_name(columns[c].alg),
			   columns[c].seed, rows[r].n);
}

/* All values at once through the engine, in slices: 42 jobs of all lengths. */
static void test_engine(void)
{
	struct lane *l = lane_fresh();
	struct lane_result result;
	uint64_t hash[array_size(rows)][array_size(columns)] = { 0 };

	for (unsigned r = 0; r < array_size(rows); r++)
		for (unsigned c = 0; c < array_size(columns); c++) {
			struct lane_job job = job_of(columns[c].alg, rows[r].n, r << 8 | c);

			job.seed = columns[c].seed;
			must(lane_put(l, &job));
		}
	while (lane_busy(l)) {
		lane_step(l, TEST_SLICE);
		while (lane_take(l, &result))
			hash[result.tag >> 8][result.tag & 255] = result.hash;
	}
	for (unsigned r = 0; r < array_size(rows); r++)
		for (unsigned c = 0; c < array_size(columns); c++)
			is(hash[r][c], rows[r].hash[c], "engine %s seed %" PRIx64 " n %" PRIu64,
			   lane_alg_name(columns[c].alg), columns[c].seed, rows[r].n);
}

static void test_algs(void)
{
	is_str(lane_alg_name(LANE_FNV1A32), "fnv1a32", "name of fnv1a32");
	is_str(lane_alg_name(LANE_FNV1A64), "fnv1a64", "name of fnv1a64");
	is_str(lane_alg_name(LANE_MIX64), "mix64", "name of mix64");
	is(lane_alg_seed(LANE_FNV1A32), 2166136261, "default seed of fnv1a32");
	is(lane_alg_seed(LANE_FNV1A64), 0xcbf29ce484222325, "default seed of fnv1a64");
	is(lane_alg_seed(LANE_MIX64), 0, "default seed of mix64");
	is(lane_alg_bits(LANE_FNV1A32), 32, "width of fnv1a32");
	is(lane_alg_bits(LANE_FNV1A64), 64, "width of fnv1a64");
	is(lane_alg_bits(LANE_MIX64), 64, "width of mix64");
}

/* --- lanes: full, dropped, counted -------------------------------------------- */

static void test_full(void)
{
	struct lane *l = lane_fresh();
	struct lane_result result;
	struct lane_job job = job_of(LANE_FNV1A32, 5, 0);

	ok(!lane_take(l, &result), "nothing to take from a fresh engine");
	is(lane_step(l, 100), 0, "a step of a fresh engine costs nothing");
	for (job.tag = 0; job.tag < LANES; job.tag++)
		must(lane_put(l, &job));
	ok(!lane_put(l, &job), "put is refused when all lanes are running");
	lane_step(l, 1000);
	is(lane_running(l), 0, "all done: none running");
	is(lane_busy(l), LANES, "all done: all busy until taken");
	ok(!lane_put(l, &job), "put is refused while results wait");
	ok(lane_take(l, &result), "take one");
	ok(lane_put(l, &job), "then put has a lane");
	ok(!lane_put(l, &job), "and only one");
}

static void test_drop(void)
{
	struct lane *l = lane_fresh();
	struct lane_result result;
	struct lane_job job = job_of(LANE_MIX64, 1000, 0);

	for (job.tag = 0; job.tag < LANES; job.tag++)
		must(lane_put(l, &job));
	lane_step(l, 0);
	ok(!lane_drop(l, LANES), "drop of an unknown tag says no");
	ok(lane_drop(l, 17), "drop of a running job");
	ok(!lane_drop(l, 17), "it is gone");
	is(lane_running(l), LANES - 1, "one less is running");
	job = job_of(LANE_FNV1A32, 0, 1000);
	ok(lane_put(l, &job), "its lane is free at once");
	ok(lane_drop(l, 1000), "drop of a job that is done");
	ok(!lane_take(l, &result), "no result of it");
	is(lane_busy(l), LANES - 1, "its lane is free too");
	job.n = 10;
	ok(lane_put(l, &job) && lane_drop(l, 1000) && lane_put(l, &job),
	   "put, drop, put before any step");
	while (lane_running(l))
		lane_step(l, TEST_SLICE);
	is(take_all(l), LANES, "all others end");
}

static void test_empty(void)
{
	struct lane *l = lane_fresh();
	struct lane_result result = { 0 };
	struct lane_job job = { .n = 0, .seed = 0x1234567890, .tag = 7, .alg = LANE_FNV1A32 };

	must(lane_put(l, &job));
	is(lane_running(l), 0, "a job of no rounds does not run");
	is(lane_step(l, 1000), 0, "and costs nothing");
	ok(lane_take(l, &result), "and is done");
	is(result.tag, 7, "tag of a job of no rounds");
	is(result.hash, 0x34567890, "a seed is cut to the algorithm's width");
	is(lane_plain(LANE_FNV1A32, 0x1234567890, 0), 0x34567890, "by the plain loop too");
}

/* --- budgets ------------------------------------------------------------------ */

static uint64_t spend(enum lane_alg alg, unsigned jobs, uint64_t n, uint64_t rounds)
{
	struct lane *l = lane_fresh();
	struct lane_job job = job_of(alg, n, 0);

	for (; job.tag < jobs; job.tag++)
		must(lane_put(l, &job));
	return lane_step(l, rounds);
}

static void test_spent(void)
{
	is(spend(LANE_FNV1A32, 1, 100, 1000), 100, "a lone job costs its rounds");
	is(spend(LANE_FNV1A32, 1, 5000, 1000), 1000, "or the budget");
	is(spend(LANE_FNV1A64, LANE_SCALAR, 100, 1000), 100, "four jobs cost as one");
	is(spend(LANE_FNV1A64, 2 * LANE_SCALAR, 100, 1000), 200, "eight as two");
	is(spend(LANE_FNV1A64, 2 * LANE_SCALAR, 5000, 1000), 1000, "or the budget");
	is(spend(LANE_MIX64, 1, 100, 1000), 100 * LANE_MIX64_COST, "mix64 costs more");
	is(spend(LANE_FNV1A32, LANES, 3, UINT64_MAX), 3 * LANES / LANE_SCALAR,
	   "the largest budget costs what there is");
	is(spend(LANE_FNV1A32, 1, UINT64_MAX, 1000), 1000, "the longest job advances");
}

static void test_passed_on(void)
{
	struct lane *l = lane_fresh();
	struct lane_job brief = job_of(LANE_FNV1A32, 10, 0);
	struct lane_job endless = job_of(LANE_MIX64, UINT64_MAX, 1);

	must(lane_put(l, &brief) && lane_put(l, &endless));
	ok(lane_step(l, 9000) > 9000 - LANE_MIX64_COST, "what a short job leaves goes to others");
}

/* With the smallest budgets each job advances by exactly one round a step, so
 * the job of n rounds is done after n steps. */
static void test_smallest(uint64_t rounds)
{
	struct lane *l = lane_fresh();
	struct lane_result result;
	unsigned wrong = 0, taken = 0;

	for (uint32_t n = 1; n <= LANES; n++) {
		struct lane_job job = job_of(n % LANE_ALGS, n, n);

		must(lane_put(l, &job));
	}
	for (uint32_t step = 1; step <= LANES; step++) {
		lane_step(l, rounds);
		for (; lane_take(l, &result); taken++)
			wrong += result.tag != step;
	}
	ok(!wrong && taken == LANES, "budget %" PRIu64 ": one round each, done in order", rounds);
}

static void test_bound(void)
{
	struct lane *l = lane_fresh();
	unsigned over = 0, under = 0;

	for (uint32_t n = 0; n < LANES; n++) {
		struct lane_job job = job_of(n * 7 % LANE_ALGS, UINT64_MAX - n, n);

		must(lane_put(l, &job));
	}
	for (uint64_t rounds = 0; rounds < 3000; rounds++) {
		uint64_t spent = lane_step(l, rounds);

		over += spent > rounds + OVERRUN;
		under += spent + OVERRUN < rounds;
	}
	is(over, 0, "no step overruns its budget by more than stated");
	is(under, 0, "no step leaves its budget unused while jobs run");
}

static void test_short_first(void)
{
	struct lane *l = lane_fresh();
	struct lane_result result = { 0 };
	struct lane_job job = job_of(LANE_FNV1A32, 1000000000, 0);

	for (; job.tag < LANES - 1; job.tag++) {
		job.alg = job.tag % LANE_ALGS;
		must(lane_put(l, &job));
	}
	lane_step(l, TEST_SLICE);
	job = job_of(LANE_MIX64, 5000, 99);
	must(lane_put(l, &job));
	lane_step(l, TEST_SLICE);
	ok(lane_take(l, &result) && result.tag == 99, "a short job does not wait behind 63 long");
}

static void test_arrival(void)
{
	struct lane *l = lane_fresh();
	struct lane_result result;
	struct lane_job job = job_of(LANE_FNV1A64, 3000, 0);
	uint32_t next = 0, wrong = 0;

	for (; job.tag < 3 * LANE_SCALAR; job.tag++) {
		must(lane_put(l, &job));
		lane_step(l, 100);
	}
	for (; lane_busy(l); lane_step(l, 100))
		for (; lane_take(l, &result); next++)
			wrong += result.tag != next;
	ok(!wrong && next == 3 * LANE_SCALAR, "equal jobs end in the order of their arrival");
}

/* Long jobs end although short ones fill all other lanes again and again. */
static void test_no_starvation(void)
{
	enum { LONGS = 3, ROUNDS = 20000, STEP = 3600 };
	struct lane *l = lane_fresh();
	struct lane_result result;
	uint32_t tag = 0;
	unsigned ended = 0, steps = 0;

	for (; tag < LONGS; tag++) {
		struct lane_job job = job_of(tag % LANE_ALGS, ROUNDS, tag);

		must(lane_put(l, &job));
	}
	for (; ended < LONGS && steps < 100000; steps++) {
		struct lane_job job = job_of(tag % LANE_ALGS, 1000 + tag % 100, tag);

		for (; lane_put(l, &job); job = job_of(tag % LANE_ALGS, 1000 + tag % 100, tag))
			tag++;
		lane_step(l, STEP);
		while (lane_take(l, &result))
			ended += result.tag < LONGS;
	}
	/* Half the budget, evenly over at most 18 groups, is 100 rounds a step;
	 * a third of that in passes of mix64. */
	uint64_t worst = ROUNDS / (STEP / 2 / 18 / LANE_MIX64_COST) + 1;
	ok(ended == LONGS && steps <= worst,
	   "long jobs get their share: %u steps, at most %" PRIu64, steps, worst);
}

/* --- everything at random -------------------------------------------------------- */

static struct lane_job live[LANES];
static unsigned n_live;

static unsigned live_find(uint32_t tag)
{
	unsigned j = 0;

	while (j < n_live && live[j].tag != tag)
		j++;
	return j;
}

static uint64_t random_rounds(void)
{
	static const uint64_t below[] = { 1, 2, 5, 100, 1000, 10000 };

	return random_next() % below[random_next() % array_size(below)];
}

/* These four return false when the engine's answer is not what live[] says. */
static bool random_put(struct lane *l, uint32_t *tag)
{
	struct lane_job job = {
		.n = random_rounds(),
		.seed = random_next() << 32 ^ random_next(),
		.tag = (*tag += 0x9e3779b9),
		.alg = random_next() % LANE_ALGS,
	};
	bool good = lane_put(l, &job) == (n_live < LANES);

	if (n_live < LANES)
		live[n_live++] = job;
	return good;
}

static bool random_take(struct lane *l, unsigned *results)
{
	struct lane_result result;

	for (unsigned most = random_next() % LANES; most && lane_take(l, &result); most--) {
		unsigned j = live_find(result.tag);

		if (j == n_live || result.hash != lane_plain(live[j].alg, live[j].seed, live[j].n))
			return false;
		live[j] = live[--n_live];
		++*results;
	}
	return true;
}

static bool random_drop(struct lane *l)
{
	if (!n_live)
		return !lane_drop(l, 1);

	unsigned j = random_next() % n_live;
	bool good = lane_drop(l, live[j].tag) && !lane_drop(l, live[j].tag);

	live[j] = live[--n_live];
	return good;
}

static bool random_step(struct lane *l)
{
	static const uint64_t below[] = { 1, 10, 1000, 20000 };
	uint64_t rounds = random_next() % below[random_next() % array_size(below)];

	return lane_step(l, rounds) <= rounds + OVERRUN;
}

static void test_random(void)
{
	struct lane *l = lane_fresh();
	uint32_t tag = 0;
	unsigned bad[4] = { 0 }, miscounted = 0, results = 0, fullest = 0;

	for (unsigned e = 0; e < TEST_EVENTS; e++) {
		/* By turns more jobs come than go, and the other way round. */
		unsigned dice = random_next() % 16, puts = e & 2048 ? 10 : 5;

		if (dice < puts)
			bad[0] += !random_put(l, &tag);
		else if (dice < 12)
			bad[1] += !random_step(l);
		else if (dice < 15)
			bad[2] += !random_take(l, &results);
		else
			bad[3] += !random_drop(l);
		miscounted += lane_busy(l) != n_live || lane_running(l) > n_live;
		fullest = n_live > fullest ? n_live : fullest;
	}
	is(bad[0], 0, "random: put says yes as long as there is a lane");
	is(bad[1], 0, "random: steps keep to their budgets");
	is(bad[2], 0, "random: results are the plain loop's, each once");
	is(bad[3], 0, "random: drop finds the job once");
	is(miscounted, 0, "random: the counts agree");
	ok(results > TEST_EVENTS / 20 && fullest == LANES,
	   "random: %u results, up to %u jobs at once", results, fullest);
}

int main(void)
{
	test_algs();
	test_plain();
	test_engine();
	test_full();
	test_drop();
	test_empty();
	test_spent();
	test_passed_on();
	test_smallest(0);
	test_smallest(1);
	test_bound();
	test_short_first();
	test_arrival();
	test_no_starvation();
	test_random();
	return done();
}
