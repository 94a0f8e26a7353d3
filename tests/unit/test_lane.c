/* SPDX-License-Identifier: GPL-2.0-only */
/* lane: the published values, the engine against the plain loop, its policy, and what
 * calibration makes of its table. */
#include "lane_rig.h"

enum {
	TEST_SLICE_PS = 40000000, /* 40 us */
	TEST_EVENTS = 60000,
};

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
static void test_engine(uint32_t features)
{
	struct lane *l = lane_fresh(LANES_DEFAULT, features);
	struct lane_result result;
	uint64_t hash[array_size(rows)][array_size(columns)] = { 0 };

	for (unsigned r = 0; r < array_size(rows); r++)
		for (unsigned c = 0; c < array_size(columns); c++) {
			struct lane_job job = job_of(columns[c].alg, rows[r].n, r << 8 | c);

			job.seed = columns[c].seed;
			must(lane_put(l, &job));
		}
	while (lane_busy(l)) {
		lane_step(l, TEST_SLICE_PS);
		while (lane_take(l, &result))
			hash[result.tag >> 8][result.tag & 255] = result.hash;
	}
	for (unsigned r = 0; r < array_size(rows); r++)
		for (unsigned c = 0; c < array_size(columns); c++)
			is(hash[r][c], rows[r].hash[c], "engine %x %s seed %" PRIx64 " n %" PRIu64,
			   features, lane_alg_name(columns[c].alg), columns[c].seed, rows[r].n);
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

static void test_full(unsigned lanes)
{
	struct lane *l = lane_fresh(lanes, cpu_has());
	struct lane_result result;
	struct lane_job job = job_of(LANE_FNV1A32, LANE_SHORT + 1, 0);

	ok(!lane_take(l, &result), "%u lanes: nothing to take from a fresh engine", lanes);
	is(lane_step(l, 100000), 0, "%u lanes: a step of a fresh engine costs nothing", lanes);
	for (; job.tag < lanes; job.tag++)
		must(lane_put(l, &job));
	ok(!lane_put(l, &job), "%u lanes: put is refused when all are running", lanes);
	while (lane_running(l))
		lane_step(l, UINT64_MAX);
	is(lane_busy(l), lanes, "%u lanes: all done: all busy until taken", lanes);
	ok(!lane_put(l, &job), "%u lanes: put is refused while results wait", lanes);
	ok(lane_take(l, &result), "%u lanes: take one", lanes);
	ok(lane_put(l, &job), "%u lanes: then put has a lane", lanes);
	ok(!lane_put(l, &job), "%u lanes: and only one", lanes);
}

static void test_express(unsigned lanes)
{
	struct lane *l = lane_fresh(lanes, cpu_has());
	struct lane_result result = { 0 };
	struct lane_job job = job_of(LANE_MIX64, UINT64_MAX, 0);
	unsigned extra = 0;

	for (; job.tag < lanes; job.tag++)
		must(lane_put(l, &job));
	job.n = LANE_SHORT + 1;
	ok(!lane_put(l, &job), "%u lanes: no express lane for a round too many", lanes);
	for (job.n = LANE_SHORT; lane_put(l, &job); job.tag++)
		extra++;
	is(extra, LANE_EXPRESS, "%u lanes: short jobs have more", lanes);
	job.n = 0;
	ok(!lane_put(l, &job), "%u lanes: and then none", lanes);
	for (unsigned step = 0; step < 100 * LANE_EXPRESS && !lane_take(l, &result); step++)
		lane_step(l, TEST_SLICE_PS);
	ok(result.tag >= lanes, "%u lanes: the short end beside endless jobs", lanes);
	job.n = LANE_SHORT + 1;
	ok(!lane_put(l, &job), "%u lanes: a long job gets no express lane that is free", lanes);
	job.n = LANE_SHORT;
	ok(lane_put(l, &job), "%u lanes: a short one does", lanes);
	must(lane_drop(l, 0));
	job.n = UINT64_MAX;
	ok(lane_put(l, &job), "%u lanes: nor do short ones keep a long one out", lanes);
}

static void test_drop(void)
{
	struct lane *l = lane_fresh(LANES_DEFAULT, cpu_has());
	struct lane_result result;
	struct lane_job job = job_of(LANE_MIX64, 1000, 0);

	for (; job.tag < LANES_DEFAULT; job.tag++)
		must(lane_put(l, &job));
	lane_step(l, 0);
	ok(!lane_drop(l, LANES_DEFAULT), "drop of an unknown tag says no");
	ok(lane_drop(l, 17), "drop of a running job");
	ok(!lane_drop(l, 17), "it is gone");
	is(lane_running(l), LANES_DEFAULT - 1, "one less is running");
	job = job_of(LANE_FNV1A32, 0, 1000);
	ok(lane_put(l, &job), "its lane is free at once");
	ok(lane_drop(l, 1000), "drop of a job that is done");
	ok(!lane_take(l, &result), "no result of it");
	is(lane_busy(l), LANES_DEFAULT - 1, "its lane is free too");
	job.n = 10;
	ok(lane_put(l, &job) && lane_drop(l, 1000) && lane_put(l, &job),
	   "put, drop, put before any step");
	while (lane_running(l))
		lane_step(l, TEST_SLICE_PS);
	is(take_all(l), LANES_DEFAULT, "all others end");
}

static void test_empty(void)
{
	struct lane *l = lane_fresh(LANES_DEFAULT, cpu_has());
	struct lane_result result = { 0 };
	struct lane_job job = { .n = 0, .seed = 0x1234567890, .tag = 7, .alg = LANE_FNV1A32 };

	must(lane_put(l, &job));
	is(lane_running(l), 0, "a job of no rounds does not run");
	is(lane_step(l, 1000000), 0, "and costs nothing");
	ok(lane_take(l, &result), "and is done");
	is(result.tag, 7, "tag of a job of no rounds");
	is(result.hash, 0x34567890, "a seed is cut to the algorithm's width");
	is(lane_plain(LANE_FNV1A32, 0x1234567890, 0), 0x34567890, "by the plain loop too");
}

/* --- budgets ------------------------------------------------------------------ */

/* What a step of so many passes' time spends on equal jobs, in passes of them all. */
static double spend(uint32_t features, enum lane_alg alg, unsigned jobs, uint64_t n, double passes)
{
	struct lane *l = lane_fresh(LANES_MAX, features);
	double pass_ps = lane_pass_ps(l, alg, jobs);

	for (uint32_t tag = 0; tag < jobs; tag++) {
		struct lane_job job = job_of(alg, n, tag);

		must(lane_put(l, &job));
	}
	return (double)lane_step(l, (uint64_t)(passes * pass_ps)) / pass_ps;
}

static void test_spent(uint32_t features)
{
	static const unsigned jobs[] = { 1, 2, 4, 5, 8, 9, 33, 64, 70, 128 };

	for (enum lane_alg alg = 0; alg < LANE_ALGS; alg++)
		for (unsigned j = 0; j < array_size(jobs); j++) {
			unsigned k = jobs[j];
			double ends = spend(features, alg, k, 100, 1000);
			double runs = spend(features, alg, k, UINT64_MAX, 1000);

			ok(ends == 100, "%x %s: %u jobs of 100 rounds cost 100 passes: %.3f",
			   features, lane_alg_name(alg), k, ends);
			ok(runs > 998 && runs <= 1000,
			   "%x %s: %u endless jobs cost what they were given: %.3f", features,
			   lane_alg_name(alg), k, runs);
		}
}

static void test_passed_on(void)
{
	struct lane *l = lane_fresh(LANES_DEFAULT, 0);
	struct lane_job brief = job_of(LANE_FNV1A32, 10, 0);
	struct lane_job endless = job_of(LANE_MIX64, UINT64_MAX, 1);

	must(lane_put(l, &brief) && lane_put(l, &endless));
	ok(lane_step(l, 9000000) > 9000000 - lane_pass_ps(l, LANE_MIX64, 1),
	   "what a short job leaves goes to others");
}

/* With the smallest budgets each job advances by a round a step at least, and the
 * shorter end before the longer. */
static void test_smallest(uint64_t budget_ps)
{
	struct lane *l = lane_fresh(LANES_DEFAULT, cpu_has());
	struct lane_result result;
	uint32_t late = 0, last[LANE_ALGS] = { 0 }, disorder = 0, taken = 0;

	for (uint32_t n = 1; n <= LANES_DEFAULT; n++) {
		struct lane_job job = job_of(n % LANE_ALGS, n, n);

		must(lane_put(l, &job));
	}
	for (uint32_t step = 1; step <= LANES_DEFAULT; step++) {
		lane_step(l, budget_ps);
		for (; lane_take(l, &result); taken++) {
			disorder += result.tag < last[result.tag % LANE_ALGS];
			last[result.tag % LANE_ALGS] = result.tag;
		}
		late += taken < step;
	}
	ok(!late && !disorder && taken == LANES_DEFAULT,
	   "budget %" PRIu64 ": a round each at least, the shorter first", budget_ps);
}

static void test_bound(unsigned lanes, uint32_t features)
{
	struct lane *l = lane_fresh(lanes, features);
	unsigned over = 0, under = 0;
	uint64_t pass_ps = 0;

	for (uint32_t n = 0; n < lanes; n++) {
		struct lane_job job = job_of(n * 7 % LANE_ALGS, UINT64_MAX - n, n);

		must(lane_put(l, &job));
	}
	for (enum lane_alg alg = 0; alg < LANE_ALGS; alg++)
		pass_ps += lane_pass_ps(l, alg, (lanes + LANE_ALGS - 1) / LANE_ALGS);
	for (uint64_t us = 0; us < 200; us++) {
		uint64_t budget_ps = us * 500000 + random_next() % 500000;
		uint64_t spent_ps = lane_step(l, budget_ps);

		over += spent_ps > budget_ps + pass_ps;
		under += spent_ps + pass_ps < budget_ps;
	}
	is(over, 0, "%u lanes, %x: no step overruns its budget by more than a pass", lanes,
	   features);
	is(under, 0, "%u lanes, %x: no step leaves its budget unused while jobs run", lanes,
	   features);
}

/* --- policy ----------------------------------------------------------------------- */

static void test_short_first(void)
{
	struct lane *l = lane_fresh(LANES_DEFAULT, cpu_has());
	struct lane_result result = { 0 };
	struct lane_job job = job_of(LANE_FNV1A32, 1000000000, 0);

	for (; job.tag < LANES_DEFAULT - 1; job.tag++) {
		job.alg = job.tag % LANE_ALGS;
		must(lane_put(l, &job));
	}
	lane_step(l, TEST_SLICE_PS);
	job = job_of(LANE_MIX64, 2000, 99);
	must(lane_put(l, &job));
	lane_step(l, TEST_SLICE_PS);
	ok(lane_take(l, &result) && result.tag == 99, "a short job does not wait behind 63 long");
}

static void test_arrival(void)
{
	enum { JOBS = 12 };
	struct lane *l = lane_fresh(LANES_DEFAULT, 0);
	struct lane_result result;
	struct lane_job job = job_of(LANE_FNV1A64, 3000, 0);
	uint32_t next = 0, wrong = 0;

	for (; job.tag < JOBS; job.tag++) {
		must(lane_put(l, &job));
		lane_step(l, 100000);
	}
	for (; lane_busy(l); lane_step(l, 100000))
		for (; lane_take(l, &result); next++)
			wrong += result.tag != next;
	ok(!wrong && next == JOBS, "equal jobs end in the order of their arrival");
}

/* Long jobs end although short ones fill all other lanes again and again. */
static void test_no_starvation(void)
{
	enum { LONGS = 3, ROUNDS = 20000 };
	struct lane *l = lane_fresh(LANES_DEFAULT, cpu_has());
	struct lane_result result;
	uint64_t step_ps = 20 * pass_of_all(l), steps = 0;
	uint32_t tag = 0;
	unsigned ended = 0;

	for (; tag < LONGS; tag++) {
		struct lane_job job = job_of(tag % LANE_ALGS, ROUNDS, tag);

		must(lane_put(l, &job));
	}
	for (; ended < LONGS && steps < 100000; steps++) {
		struct lane_job job = job_of(tag % LANE_ALGS, 1000 + tag % 100, tag);

		for (; lane_put(l, &job); job = job_of(tag % LANE_ALGS, 1000 + tag % 100, tag))
			tag++;
		lane_step(l, step_ps);
		while (lane_take(l, &result))
			ended += result.tag < LONGS;
	}
	/* Half the budget, evenly, is 10 rounds a step or more. */
	ok(ended == LONGS && steps <= ROUNDS / 10 + 1,
	   "long jobs get their share: %" PRIu64 " steps, at most %d", steps, ROUNDS / 10 + 1);
}

/* --- calibration ---------------------------------------------------------------- */

static unsigned row_named(const struct lane *l, enum lane_alg alg, const char *name)
{
	struct lane_row row;
	unsigned r = 0;

	for (; lane_row(l, r, &row); r++)
		if (row.alg == alg && !strcmp(row.name, name))
			break;
	must(row.name);
	return r;
}

static void builtin_of(const struct lane *l, uint32_t *ps)
{
	struct lane_row row;

	for (unsigned r = 0; lane_row(l, r, &row); r++)
		ps[r] = row.builtin_ps;
}

/* The time that row says, give or take what a sample's whole passes and nanoseconds hide. */
static bool row_takes(const struct lane *l, unsigned r, uint32_t ps)
{
	struct lane_row row;

	must(lane_row(l, r, &row));
	return row.pass_ps + ps / 256 >= ps && row.pass_ps <= ps + ps / 256;
}

static void test_calibrate(void)
{
	struct lane *l = lane_fresh(LANES_DEFAULT, 0);
	unsigned two = row_named(l, LANE_FNV1A32, "scalar2");
	unsigned three = row_named(l, LANE_FNV1A32, "scalar3");
	unsigned four = row_named(l, LANE_FNV1A32, "scalar4");
	unsigned six = row_named(l, LANE_FNV1A32, "scalar6");
	uint32_t ps[LANE_BODIES_MAX], before = lane_pass_ps(l, LANE_FNV1A32, 4);

	builtin_of(l, ps);
	is(lane_choice(l, LANE_FNV1A32, 4), four, "four jobs run in the body of four");
	ps[three] = ps[four] = ps[six] = 10000;
	must(lane_sample(l));
	lane_sampled(l, NS_PER_S);
	is(lane_pass_ps(l, LANE_FNV1A32, 4), before, "a first sample changes nothing");
	ok(!lane_calibrated(l), "nor is it all");
	l = lane_fresh(LANES_DEFAULT, 0);
	is(calibrate(l, ps), rows_of(l) * LANE_SAMPLES, "so many samples of each body");
	ok(lane_calibrated(l) && !lane_sample(l), "then there is no more to measure");
	ok(row_takes(l, four, 10000) && row_takes(l, two, ps[two]), "rows are as measured");
	is(lane_choice(l, LANE_FNV1A32, 4), two, "a body that is slow is not used");
	is(lane_choice(l, LANE_FNV1A32, 3), row_named(l, LANE_FNV1A32, "scalar1"),
	   "three jobs: the narrowest of two and one");
	is(lane_pass_ps(l, LANE_FNV1A32, 4), 2 * lane_pass_ps(l, LANE_FNV1A32, 2),
	   "four jobs take twice what two do");
}

static void test_noise(void)
{
	struct lane *l = lane_fresh(LANES_DEFAULT, 0);
	unsigned one = row_named(l, LANE_MIX64, "scalar1");
	unsigned two = row_named(l, LANE_MIX64, "scalar2");
	uint32_t ps[LANE_BODIES_MAX];

	builtin_of(l, ps);
	ps[two] = ps[one] - ps[one] / 100;
	calibrate(l, ps);
	is(lane_choice(l, LANE_MIX64, 1), one, "a body wider but better by 1/100 is not used");
	ps[two] = ps[one] - ps[one] / 40;
	l = lane_fresh(LANES_DEFAULT, 0);
	calibrate(l, ps);
	is(lane_choice(l, LANE_MIX64, 1), two, "by 1/40 it is");
	is(lane_pass_ps(l, LANE_MIX64, 1), lane_pass_ps(l, LANE_MIX64, 2), "one takes as two");
}

/* Of a body's samples the fastest counts. */
static void test_interrupted(void)
{
	struct lane *l = lane_fresh(LANES_DEFAULT, 0);
	unsigned bodies = rows_of(l), spoilt = 0;
	struct lane_row row;

	for (unsigned s = 0; lane_sample(l); s++) {
		bool good = s / bodies == s % bodies % LANE_SAMPLES;

		lane_sampled(l, good ? LANE_SAMPLE_US * NS_PER_US : NS_PER_MS);
	}
	for (unsigned r = 0; r < bodies; r++) {
		must(lane_row(l, r, &row));
		spoilt += !row_takes(l, r, row.builtin_ps);
	}
	is(spoilt, 0, "six samples of seven may be spoilt");
}

/* The narrowest body first, then those of the rest: what they take together. */
static uint64_t walk_ps(const struct lane *l, enum lane_alg alg, unsigned k)
{
	uint64_t ps = 0;

	while (k) {
		struct lane_row row;

		must(lane_row(l, lane_choice(l, alg, k), &row));
		ps += row.pass_ps;
		k -= row.lanes < k ? row.lanes : k;
	}
	return ps;
}

/* Of any table: the plan's sums are what its bodies take. The features are those of
 * all CPUs of this architecture: nothing is run. */
static void test_sums(void)
{
	struct lane *l = lane_fresh(LANES_DEFAULT, UINT32_MAX);
	unsigned wrong = 0, falling = 0;

	for (enum lane_alg alg = 0; alg < LANE_ALGS; alg++)
		for (unsigned k = 1; k <= LANES_MAX + LANE_EXPRESS; k++) {
			wrong += walk_ps(l, alg, k) != lane_pass_ps(l, alg, k);
			falling += lane_pass_ps(l, alg, k) + lane_pass_ps(l, alg, k) / 32 <
				   lane_pass_ps(l, alg, k - 1);
		}
	is(wrong, 0, "a plan takes what its bodies take");
	is(falling, 0, "more jobs take no less");
	is(lane_pass_ps(l, LANE_FNV1A32, 0), 0, "no job takes nothing");
}

/* Jobs come and go between the samples. */
static void test_meanwhile(void)
{
	struct lane *l = lane_fresh(LANES_DEFAULT, cpu_has());
	struct crowd c = { .most = LANES_DEFAULT, .only = LANE_ALGS };

	while (lane_sample(l)) {
		lane_sampled(l, LANE_SAMPLE_US * NS_PER_US / 2 + random_next() % 10000);
		random_events(l, &c, 20);
	}
	random_events(l, &c, 2000);
	ok(!(c.bad_put + c.bad_step + c.bad_take + c.bad_drop + c.miscounted) && c.results > 100,
	   "calibration between steps: %u results, all right", c.results);
}

/* --- everything at random -------------------------------------------------------- */

static void test_random(unsigned lanes, uint32_t features)
{
	struct crowd c = { .most = lanes, .only = LANE_ALGS };

	random_events(lane_fresh(lanes, features), &c, TEST_EVENTS);
	is(c.bad_put, 0, "random: put says yes as long as there is a lane");
	is(c.bad_step, 0, "random: steps keep to their budgets");
	is(c.bad_take, 0, "random: results are the plain loop's, each once");
	is(c.bad_drop, 0, "random: drop finds the job once");
	is(c.miscounted, 0, "random: the counts agree");
	ok(c.results > TEST_EVENTS / 20 && c.fullest > lanes,
	   "random: %u results, up to %u jobs at once in %u lanes, %x", c.results, c.fullest, lanes,
	   features);
}

int main(void)
{
	uint32_t has = cpu_has();

	test_algs();
	test_plain();
	test_engine(0);
	if (has)
		test_engine(has);
	test_full(1);
	test_full(LANES_DEFAULT);
	test_full(LANES_MAX);
	test_express(1);
	test_express(LANES_DEFAULT);
	test_express(LANES_MAX);
	test_drop();
	test_empty();
	test_spent(0);
	if (has)
		test_spent(has);
	test_passed_on();
	test_smallest(0);
	test_smallest(1);
	test_bound(LANES_DEFAULT, 0);
	test_bound(LANES_MAX, has);
	test_short_first();
	test_arrival();
	test_no_starvation();
	test_calibrate();
	test_noise();
	test_interrupted();
	test_sums();
	test_meanwhile();
	test_random(1, has);
	test_random(LANES_DEFAULT, 0);
	test_random(LANES_MAX, has);
	return done();
}
