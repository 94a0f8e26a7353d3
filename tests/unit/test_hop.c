/* SPDX-License-Identifier: GPL-2.0-only */
/* hop: both sides by one thread in virtual time; one result for every job. */
#include "tap.h"

#include "hop.h"

enum {
	ALL = LANES_MAX + LANE_EXPRESS,
	LONG = 1000000,
	SLICE_PS = 50000000,
	EVENTS = 100000,
};

static struct hop *hop_fresh(unsigned lanes)
{
	static void *memory;

	if (!memory)
		memory = aligned_alloc(hop_align(), hop_footprint());
	must(memory);
	memset(memory, 0xa5, hop_footprint());
	return hop_init(memory, lanes, 0);
}

static struct lane_job job_of(uint64_t n, uint32_t tag)
{
	return (struct lane_job){ .n = n, .seed = 7, .tag = tag, .alg = LANE_FNV1A32 };
}

static bool put(struct hop *h, uint64_t n, uint32_t tag)
{
	struct lane_job job = job_of(n, tag);

	return hop_put(h, &job);
}

/* A turn of the core; the jobs that it cut short. */
static unsigned turn(struct hop *h, uint64_t budget_ps, uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t dropped = 0;

	hop_accept(h, &dropped);
	hop_step(h, budget_ps, begin_ns);
	hop_deliver(h, end_ns);
	return (unsigned)dropped;
}

static unsigned take_all(struct hop *h, unsigned *dropped)
{
	struct hop_result r;
	unsigned n = 0;

	*dropped = 0;
	for (; hop_take(h, &r); n++)
		*dropped += r.dropped;
	return n;
}

/* --- one job ----------------------------------------------------------------- */

static void test_one(void)
{
	struct hop *h = hop_fresh(1);
	struct hop_result r;
	uint64_t none = 0;

	ok(!hop_accept(h, &none) && hop_idle(h), "nothing to do at first");
	ok(!hop_take(h, &r), "nothing to take");
	is(hop_step(h, SLICE_PS, 1), 0, "nothing to step");
	ok(put(h, 1000, 77), "a job is sent");
	is(hop_busy(h), 1, "and busy");
	ok(hop_idle(h), "the core does not have it yet");
	ok(hop_accept(h, &none) && !hop_idle(h), "now it has");
	ok(hop_step(h, SLICE_PS, 100) > 0, "it takes time");
	is(hop_deliver(h, 200), 1, "and is handed back");
	ok(hop_idle(h), "the core is idle again");
	is(hop_busy(h), 1, "busy until it is taken");
	ok(hop_take(h, &r), "taken");
	is(r.hash, lane_plain(LANE_FNV1A32, 7, 1000), "the hash");
	is(r.tag, 77, "the tag");
	ok(!r.dropped && r.begun_ns == 100 && r.done_ns == 200, "the times are the core's");
	ok(!hop_take(h, &r) && !hop_busy(h), "once only");
	is(none, 0, "nothing was dropped");
}

/* begun_ns is of the turn that accepted, through many slices. */
static void test_times(void)
{
	struct hop *h = hop_fresh(2);
	struct hop_result r;
	uint64_t now_ns = 1000;

	must(put(h, LONG, 1));
	turn(h, SLICE_PS, now_ns, now_ns + 50);
	must(put(h, 0, 2));
	turn(h, SLICE_PS, 2000, 2050);
	ok(hop_take(h, &r) && r.tag == 2 && r.begun_ns == 2000 && r.done_ns == 2050,
	   "a job of no rounds passes a long one, within a turn");
	ok(!hop_take(h, &r), "the long one runs");
	for (now_ns = 3000; !hop_idle(h); now_ns += 50)
		turn(h, SLICE_PS, now_ns, now_ns + 50);
	ok(hop_take(h, &r) && r.tag == 1, "until it is done");
	is(r.begun_ns, 1000, "it began with its first slice");
	is(r.done_ns, now_ns, "and was done after the last");
}

/* --- order and bounds ----------------------------------------------------------- */

static void test_order(void)
{
	struct hop *h = hop_fresh(LANES_MAX);
	struct hop_result r;
	unsigned wrong = 0;

	for (uint32_t tag = 0; tag < LANES_MAX; tag++)
		must(put(h, 0, 1000 + tag));
	turn(h, 0, 1, 2);
	for (uint32_t tag = 0; tag < LANES_MAX; tag++)
		wrong += !hop_take(h, &r) || r.tag != 1000 + tag;
	is(wrong, 0, "equal jobs come back in the order they were sent");
}

static void test_bounds(unsigned lanes)
{
	struct hop *h = hop_fresh(lanes);
	unsigned dropped, sent = 0;
	struct hop_result r;

	while (put(h, LONG, sent))
		sent++;
	is(sent, lanes, "%u lanes: as many long jobs", lanes);
	while (put(h, LANE_SHORT, sent))
		sent++;
	is(sent, lanes + LANE_EXPRESS, "%u lanes: and express lanes for short ones", lanes);
	turn(h, 0, 1, 2);
	ok(!put(h, 1, sent), "%u lanes: full although the core has emptied the ring", lanes);
	while (!hop_idle(h))
		turn(h, SLICE_PS, 3, 4);
	ok(!put(h, 1, sent), "%u lanes: full until a result is taken", lanes);
	must(hop_take(h, &r));
	ok(put(h, 1, sent++), "%u lanes: then there is room for one", lanes);
	turn(h, SLICE_PS, 5, 6);
	is(take_all(h, &dropped), sent - 1, "%u lanes: a result for every job", lanes);
	ok(!dropped && !hop_busy(h), "%u lanes: none was dropped", lanes);
}

/* The ring of jobs at its fullest: for every slot the drop of a job that is done,
 * the next job, its drop. */
static void test_most(void)
{
	struct hop *h = hop_fresh(LANES_MAX);
	unsigned dropped, drops = 0;

	for (uint32_t tag = 0; tag < ALL; tag++)
		must(put(h, 0, tag));
	turn(h, 0, 1, 2);
	for (uint32_t tag = 0; tag < ALL; tag++)
		drops += hop_drop(h, tag);
	is(take_all(h, &dropped), ALL, "every job is done");
	is(dropped, ALL, "but was dropped before it was taken");
	for (uint32_t tag = 0; tag < ALL; tag++)
		must(put(h, 1, tag));
	for (uint32_t tag = 0; tag < ALL; tag++)
		drops += hop_drop(h, tag);
	is(drops, 2 * ALL, "each can be dropped");
	is(turn(h, 0, 3, 4), ALL, "of %d records that cross, a third has something to cut short",
	   3 * ALL);
	is(take_all(h, &dropped), ALL, "and one result for each job still");
	is(dropped, ALL, "dropped");
	is(hop_busy(h), 0, "all lanes are free");
}

/* --- drops -------------------------------------------------------------------------- */

static void drop_one(const char *when, uint64_t n, unsigned turns, bool cut)
{
	struct hop *h = hop_fresh(4);
	unsigned dropped, cuts = 0;
	struct hop_result r;

	must(put(h, n, 5) && put(h, n, 6));
	for (unsigned t = 0; t < turns; t++)
		turn(h, SLICE_PS, 1, 2);
	ok(hop_drop(h, 5), "%s: drop", when);
	ok(!hop_drop(h, 5), "%s: once", when);
	ok(!hop_drop(h, 99), "%s: nobody else", when);
	ok(put(h, n, 5), "%s: the tag may be used again", when);
	do
		cuts += turn(h, SLICE_PS, 10, 20);
	while (!hop_idle(h));
	is(cuts, cut, "%s: the core %s", when, cut ? "gives it up" : "was done with it");
	for (unsigned i = 0, fives = 0; hop_take(h, &r); i++) {
		if (r.tag == 5 && !fives++)
			ok(r.dropped && !r.hash && !r.begun_ns && !r.done_ns,
			   "%s: the first of the tag says dropped, and nothing else", when);
		else
			ok(!r.dropped && r.hash == lane_plain(LANE_FNV1A32, 7, n),
			   "%s: others are done (%u)", when, r.tag);
	}
	is(take_all(h, &dropped) + hop_busy(h), 0, "%s: three results for three jobs", when);
}

static void test_drops(void)
{
	drop_one("in the ring", LONG, 0, true);
	drop_one("in the ring, of no rounds", 0, 0, true);
	drop_one("running", LONG, 1, true);
	drop_one("done, not taken", 100, 1, false);
}

/* --- anything at all ------------------------------------------------------------------ */

static uint64_t random_next(void)
{
	static uint64_t x = 0x9e3779b97f4a7c15;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x >> 11;
}

/* What we know of a tag: its job in flight, and results still owed for dropped ones. */
static struct {
	struct lane_job job;
	bool flies;
	unsigned owed;
} known[2 * ALL];

/* Of one tag, results come in the order of its jobs: first those dropped. */
static bool is_right(const struct hop_result *r)
{
	if (r->tag >= array_size(known))
		return false;
	if (r->dropped)
		return known[r->tag].owed-- > 0;
	if (!known[r->tag].flies)
		return false;
	known[r->tag].flies = false;
	return r->hash == lane_plain(known[r->tag].job.alg, known[r->tag].job.seed,
				     known[r->tag].job.n) &&
	       r->begun_ns && r->begun_ns <= r->done_ns;
}

static void test_random(unsigned lanes)
{
	struct hop *h = hop_fresh(lanes);
	unsigned sent = 0, refused = 0, drops = 0, results = 0, wrong = 0, cut = 0;
	struct hop_result r;
	uint64_t now_ns = 1;

	memset(known, 0, sizeof known);
	for (unsigned event = 0; event < EVENTS || (hop_busy(h) && event < 2 * EVENTS); event++) {
		uint32_t tag = (uint32_t)(random_next() % array_size(known));
		unsigned what = (unsigned)(random_next() % 8);

		now_ns++;
		if (what >= 5 && event / 1000 % 2 && random_next() % 32)
			continue; /* every other thousand both sides look seldom: rings fill */
		if (event < EVENTS && what < 4 && !known[tag].flies) {
			struct lane_job job = { .n = random_next() % 500,
						.seed = random_next(),
						.tag = tag,
						.alg = (enum lane_alg)(random_next() % LANE_ALGS) };

			if (random_next() % 16 == 0)
				job.n += LANE_SHORT;
			if (!hop_put(h, &job)) {
				refused++;
				continue;
			}
			known[tag].job = job;
			known[tag].flies = true;
			sent++;
		} else if (what < 5) {
			bool flew = known[tag].flies;

			wrong += hop_drop(h, tag) != flew;
			known[tag].flies = false;
			known[tag].owed += flew;
			drops += flew;
		} else if (what < 7) {
			cut += turn(h, random_next() % 1000000, now_ns, now_ns + 1);
		} else {
			for (; hop_take(h, &r); results++)
				wrong += !is_right(&r);
		}
	}
	is(results, sent, "%u lanes: one result for each of many jobs", lanes);
	is(wrong, 0, "%u lanes: the right one", lanes);
	ok(refused && cut && cut < drops, "%u lanes: full at times, drops in time and too late",
	   lanes);
	printf("# %u sent, %u refused, %u dropped, %u of them cut short\n", sent, refused, drops,
	       cut);
}

/* --- sleep ------------------------------------------------------------------------------ */

static void test_sleep(void)
{
	struct hop *h = hop_fresh(2);
	uint64_t none = 0;

	ok(!hop_must_wake(h), "awake: nobody to wake");
	must(put(h, 0, 1));
	ok(!hop_must_wake(h), "a job for a core that is awake needs no call");
	ok(!hop_doze(h), "the core does not sleep while there is one");
	hop_rouse(h);
	turn(h, 0, 1, 2);
	ok(hop_doze(h) && *hop_word(h) == 1, "without a job it does");
	ok(!hop_must_wake(h), "nothing was sent: let it sleep");
	must(put(h, 0, 2));
	ok(hop_must_wake(h), "a job: wake it");
	is(*hop_word(h), 0, "and it does not fall asleep any more");
	ok(!hop_must_wake(h), "once");
	must(put(h, 0, 3));
	ok(!hop_must_wake(h), "on its way up it needs no second call");
	hop_rouse(h);
	ok(hop_accept(h, &none), "it finds them");
	hop_deliver(h, 3);
	ok(hop_doze(h), "asleep again");
	hop_rouse(h);
	is(*hop_word(h), 0, "whoever rouses it has the word at 0: the futex does not wait");
	hop_doze(h);
	must(hop_drop(h, 3));
	ok(hop_must_wake(h), "a drop wakes too");
}

/* One producer and one core, each of which has two steps on the other's way; in every
 * order of the four either the core stays up or it is woken. */
static void test_orders(void)
{
	static const char *const orders[] = { "pwde", "pdwe", "pdew", "dpwe", "dpew", "depw" };

	for (unsigned i = 0; i < array_size(orders); i++) {
		struct hop *h = hop_fresh(1);
		bool sleeps = false, asked = false, may = false;

		for (const char *step = orders[i]; *step; step++)
			if (*step == 'p') {
				must(put(h, 0, 1));
			} else if (*step == 'w') {
				asked = hop_must_wake(h);
				sleeps = sleeps && !asked; /* the futex wakes who waits there */
			} else if (*step == 'd') {
				may = hop_doze(h);
			} else {
				sleeps = may && *hop_word(h) == 1; /* the futex looks again */
			}
		ok(!sleeps, "put, wake, doze, enter as %s: the core does not sleep over a job",
		   orders[i]);
	}
}

/* --- the table ----------------------------------------------------------------------------- */

static unsigned differing(const struct hop *h, const struct lane *l)
{
	unsigned n = 0;

	for (enum lane_alg alg = 0; alg < LANE_ALGS; alg++)
		for (unsigned k = 0; k <= ALL; k++)
			n += hop_pass_ps(h, alg, k) != lane_pass_ps(l, alg, k);
	return n;
}

static void test_table(void)
{
	struct hop *h = hop_fresh(LANES_MAX);
	struct lane *l = aligned_alloc(lane_align(), round_up(lane_footprint(), lane_align()));
	unsigned early = 0;

	must(l);
	lane_init(l, LANES_MAX, 0);
	ok(!hop_measured(h), "not measured at first");
	is(differing(h, l), 0, "the table is the built-in one of these features");
	while (hop_sample(h)) {
		early += hop_measured(h);
		lane_sample(l);
		hop_sampled(h, 123456);
		lane_sampled(l, 123456);
	}
	is(early, 0, "until the last sample");
	ok(hop_measured(h), "then it is");
	is(differing(h, l), 0, "what was measured is published");
	ok(hop_pass_ps(h, LANE_FNV1A32, 1) > 10000, "and is not the built-in one");
	free(l);
}

int main(void)
{
	test_one();
	test_times();
	test_order();
	test_bounds(1);
	test_bounds(LANES_DEFAULT);
	test_bounds(LANES_MAX);
	test_most();
	test_drops();
	test_random(1);
	test_random(20);
	test_random(LANES_MAX);
	test_sleep();
	test_orders();
	test_table();
	return done();
}
