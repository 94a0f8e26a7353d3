/* SPDX-License-Identifier: GPL-2.0-only */
/* roster: which core gets a job, what becomes of it, and how good the forecast is; in
 * virtual time, with this core and with a crew of two. */
#include "tap.h"

#include "roster.h"

enum { LANES = 8, CORES = 2, SLICE_NS = 50 * NS_PER_US };

static struct roster *r;
static struct hop *hop[CORES];
static uint64_t now;

static void *fresh(size_t size, size_t align)
{
	void *memory = aligned_alloc(align, round_up(size, align));

	must(memory);
	memset(memory, 0, size);
	return memory;
}

/* Without features the bodies are scalar, and their built-in table is known. */
static void start(unsigned crew)
{
	free(r);
	r = roster_init(fresh(roster_footprint(), 64), LANES, 0);
	roster_calibrated(r);
	for (unsigned i = 0; i < crew; i++) {
		free(hop[i]);
		hop[i] = hop_init(fresh(hop_footprint(), hop_align()), LANES, 0);
	}
	if (crew)
		roster_crew(r, hop, crew);
	now = NS_PER_S;
}

static uint16_t put_alg(uint16_t id, enum lane_alg alg, uint64_t n)
{
	struct lane_job job = { .n = n, .seed = id, .alg = alg };

	return roster_put(r, id, &job, now);
}

static uint16_t put(uint16_t id, uint64_t n)
{
	return put_alg(id, LANE_FNV1A32, n);
}

/* A slice everywhere; the clock goes as the table says, or `slow` times as long. No
 * step says how long it took: it would be as long as was thought. */
static void slice(unsigned crew, unsigned slow)
{
	uint64_t dropped = 0;

	if (crew)
		for (unsigned i = 0; i < crew; i++) {
			hop_accept(hop[i], &dropped);
			hop_step(hop[i], SLICE_NS * UINT64_C(1000) / slow, now);
			hop_deliver(hop[i], now + SLICE_NS);
		}
	roster_step(r, SLICE_NS / slow);
	now += SLICE_NS;
}

/* --- this core alone --------------------------------------------------------------- */

static void test_own(void)
{
	struct roster_result got;
	uint16_t handle;

	start(0);
	ok(!roster_busy(r) && !roster_jobs(r), "nothing at first");
	ok(!roster_take(r, &got, now), "and nothing to take");
	handle = put(7, 1000);
	ok(handle != ROSTER_NONE, "a job is taken");
	ok(roster_busy(r) && roster_jobs(r) == 1, "and counted");
	ok(roster_step(r, SLICE_NS) > 0, "this core computes");
	ok(roster_take(r, &got, now + 5), "it ends");
	ok(got.id == 7 && got.hash == lane_plain(LANE_FNV1A32, 7, 1000), "with its id and hash");
	ok(got.begun_ns == now && got.done_ns == now + 5, "and its times");
	ok(!roster_busy(r), "then nothing is in flight");

	handle = put(8, 1000000);
	roster_drop(r, handle);
	ok(!roster_busy(r) && !roster_take(r, &got, now), "a dropped job is gone at once");
	is(roster_step(r, SLICE_NS), 0, "and computed no more");
}

static void test_own_full(void)
{
	unsigned taken = 0;
	uint16_t last = 0;

	start(0);
	for (uint16_t id = 0; id < LANES; id++)
		taken += (last = put(id, 1000000)) != ROSTER_NONE;
	is(taken, LANES, "as many jobs as lanes");
	is(put(99, 1000000), ROSTER_NONE, "and no more");
	ok(put(100, LANE_SHORT) != ROSTER_NONE, "but a short one");
	roster_drop(r, last);
	ok(put(101, 1000000) != ROSTER_NONE, "which takes no lane from a long one");
	for (uint16_t id = 200; id < 200 + LANE_EXPRESS; id++)
		taken += put(id, 10) != ROSTER_NONE;
	is(taken, LANES + LANE_EXPRESS - 1, "%d short ones find a lane", LANE_EXPRESS);
	is(put(300, 10), ROSTER_NONE, "until these are taken too");
}

/* --- a crew -------------------------------------------------------------------------- */

static unsigned on(unsigned core)
{
	return hop_busy(hop[core]);
}

static void test_crew(void)
{
	struct roster_result got;
	unsigned right = 0, results = 0;
	uint16_t handle;

	start(CORES);
	put(1, 100000);
	put(2, 100000);
	ok(on(0) == 1 && on(1) == 1, "two jobs go to two cores");
	put_alg(3, LANE_MIX64, 100000);
	ok(on(0) + on(1) == 3, "a third to one of them");
	is(roster_step(r, SLICE_NS), 0, "none to this core");
	put(4, ROSTER_OWN);
	is(on(0) + on(1), 3, "but what is shorter than the way");
	ok(roster_step(r, SLICE_NS) > 0 && roster_take(r, &got, now) && got.id == 4,
	   "is computed here");
	for (unsigned turns = 0; turns < 100; turns++) {
		slice(CORES, 1);
		while (roster_take(r, &got, now)) {
			enum lane_alg alg = got.id == 3 ? LANE_MIX64 : LANE_FNV1A32;

			results++;
			right += got.hash == lane_plain(alg, got.id, 100000) &&
				 got.begun_ns < got.done_ns && got.done_ns <= now;
		}
	}
	ok(results == 3 && right == 3, "all results come, once, right, with the core's times");
	ok(!roster_busy(r), "then nothing is in flight");

	handle = put(5, 100000000);
	slice(CORES, 1);
	roster_drop(r, handle);
	ok(!roster_jobs(r) && roster_busy(r), "a dropped job is waited for, not wanted");
	slice(CORES, 1);
	ok(!roster_take(r, &got, now), "it gives no result");
	ok(!roster_busy(r), "its lane is free within a slice");
}

/* Six cores' worth of scalar chains: mix64 takes three times as long. */
static void test_soonest(void)
{
	start(CORES);
	for (uint16_t id = 0; id < 4; id++)
		put_alg(id, LANE_MIX64, 1000000);
	ok(on(0) == 2 && on(1) == 2, "four jobs of mix64, two to each core");
	start(CORES);
	put_alg(1, LANE_MIX64, 1000000);
	for (uint16_t id = 2; id < 6; id++)
		put(id, 1000000);
	ok((on(0) == 1 && on(1) == 4) || (on(0) == 4 && on(1) == 1),
	   "four of fnv1a32 go where no mix64 slows them down");
}

static void test_crew_full(void)
{
	unsigned taken = 0;

	start(CORES);
	for (uint16_t id = 0; id < 100; id++)
		taken += put(id, 1000000) != ROSTER_NONE;
	is(taken, CORES * LANES, "as many jobs as all lanes together");
	for (uint16_t id = 100; id < 200; id++)
		taken += put(id, LANE_SHORT) != ROSTER_NONE;
	is(taken, CORES * (LANES + LANE_EXPRESS), "and as many short ones as there are for them");
}

/* --- the forecast ------------------------------------------------------------------------ */

/* 8 lanes of fnv1a32 are two bodies of four scalar chains. */
static uint64_t round_ps(void)
{
	return lane_pass_ps(roster_lane(r), LANE_FNV1A32, LANES);
}

static void test_forecast(void)
{
	uint64_t n = 1000000, one;

	start(0);
	roster_forecast(r, now);
	is(roster_free_ns(r), now, "an idle core has a lane now");
	for (uint16_t id = 0; id < LANES; id++)
		put(id, n * (1 + id));
	one = n * round_ps() / 1000;
	roster_forecast(r, now);
	is(roster_free_ns(r) - now, one, "a busy one when the shortest job is done");
	roster_queue(r, n * 10);
	is(roster_free_ns(r) - now, 2 * one, "the next when the second is");
	roster_queue(r, n / 2);
	is(roster_free_ns(r) - now, 2 * one + one / 2, "or who waited, if that is sooner");
	for (int i = 0; i < 1000; i++)
		roster_queue(r, UINT64_MAX / 2);
	ok(roster_free_ns(r) > now + UINT64_MAX / 8, "for ever is for ever");
	roster_forecast(r, now + one / 2);
	is(roster_free_ns(r) - now, one, "later the same, nobody waiting");
	roster_forecast(r, now + 2 * one);
	is(roster_free_ns(r) - now, 2 * one, "never in the past");
}

/* Serve jobs of n rounds as they find lanes, until `jobs` have begun, and when each did. */
static void serve(unsigned crew, unsigned slow, uint64_t n, unsigned jobs, uint64_t *begun)
{
	struct roster_result got;
	uint16_t next = 0;

	while (next < jobs) {
		while (next < jobs && put(next, n) != ROSTER_NONE)
			begun[next++] = now;
		slice(crew, slow);
		while (roster_take(r, &got, now))
			;
	}
}

/* Jobs of equal length, in all lanes and waiting: each forecast against when it really
 * begins. The core is `slow` times as slow as its table. The policy favours the oldest
 * (lane.h): with two bodies some begin after two thirds of the time, others a sixth late. */
static bool forecast_holds(unsigned crew, unsigned slow)
{
	enum { WAITING = 40, N = 2000000, LEARN = 200 };
	uint64_t forecast[WAITING], begun[LEARN + LANES * CORES], from;
	unsigned lanes = LANES * (crew ? crew : 1), held = 0;

	start(crew);
	serve(crew, slow, N / 10, LEARN, begun); /* let it see how slow it is */
	while (roster_busy(r))
		serve(crew, slow, 0, 1, begun);
	for (unsigned i = 0; i < lanes; i++)
		must(put(0, N) != ROSTER_NONE);
	from = now;
	roster_forecast(r, now);
	for (unsigned i = 0; i < WAITING; i++) {
		forecast[i] = roster_free_ns(r) - from;
		roster_queue(r, N);
	}
	serve(crew, slow, N, WAITING, begun);
	for (unsigned i = 0; i < WAITING; i++)
		held += (begun[i] - from) * 5 <= forecast[i] * 6 &&
			(begun[i] - from) * 2 >= forecast[i];
	return held == WAITING;
}

static void test_forecast_holds(void)
{
	ok(forecast_holds(0, 1), "40 who wait: each begins when it was forecast");
	ok(forecast_holds(0, 3), "on a core of a third of the table's speed, too");
	ok(forecast_holds(CORES, 1), "with a crew");
	ok(forecast_holds(CORES, 3), "with a slow crew");
}

/* --- what was slow for a while -------------------------------------------------------------- */

/* Rounds of a lone job in so much time. */
static uint64_t rounds_in(uint64_t ns)
{
	return ns * 1000 / lane_pass_ps(roster_lane(r), LANE_FNV1A32, 1);
}

/* A step of 5 us on a job of so many rounds, which takes ns by the clock. True: it was
 * done. */
static bool short_step(uint64_t n, uint64_t ns)
{
	struct roster_result got;
	uint16_t handle = put(0, n);

	roster_step(r, 5 * NS_PER_US);
	roster_stepped(r, ns);
	if (roster_take(r, &got, now))
		return true;
	roster_drop(r, handle);
	return false;
}

static void test_step_pace(void)
{
	uint64_t n;

	start(0);
	n = rounds_in(4800);
	ok(short_step(n, 5000), "a slice of 5 us has its rounds");
	for (int i = 0; i < 20; i++)
		short_step(n, NS_PER_MS);
	ok(!short_step(n / 4, NS_PER_MS), "far less on a core that others take");
	for (int i = 0; i < 100; i++)
		short_step(rounds_in(100), 100);
	ok(short_step(n, 5000), "and as many again when they are gone");
}

/* Two jobs at once, to their ends; true: on both cores. Only core 0 runs in between for
 * so many slices. */
static bool pair_parted(unsigned slices)
{
	struct roster_result got;
	bool parted;

	put(1, 200000);
	put(2, 200000);
	parted = on(0) == 1;
	slice(CORES, 1);
	while (slices--)
		slice(1, 1);
	while (roster_busy(r)) {
		slice(CORES, 1);
		while (roster_take(r, &got, now))
			;
	}
	return parted;
}

static void test_core_pace(void)
{
	unsigned pairs = 1;

	start(CORES);
	ok(pair_parted(2000), "two jobs on two cores, of which others take one for 100 ms");
	ok(!pair_parted(0), "that one is left alone then");
	while (pairs < 1000 && !pair_parted(0))
		pairs++;
	ok(pairs > 5 && pairs < 200, "not for ever (%u pairs)", pairs);
}

int main(void)
{
	test_own();
	test_own_full();
	test_crew();
	test_soonest();
	test_crew_full();
	test_forecast();
	test_forecast_holds();
	test_step_pace();
	test_core_pace();
	free(r);
	for (unsigned i = 0; i < CORES; i++)
		free(hop[i]);
	return done();
}
