/* SPDX-License-Identifier: GPL-2.0-only */
/* The worker with a crew of two, whose cores are turned here, in virtual time. */
#include "worker_rig.h"

enum { CORES = 2, LANES = 4 };

static struct hop *hop[CORES];
static int64_t behind; /* the cores' clock */

static void start_lanes(void)
{
	struct worker_params p = usual;

	p.lanes = LANES;
	start_with(p);
}

static void hire_crew(void)
{
	for (unsigned i = 0; i < CORES; i++) {
		free(hop[i]);
		hop[i] = aligned_alloc(hop_align(), round_up(hop_footprint(), hop_align()));
		must(hop[i]);
		hop_init(hop[i], LANES, 0);
	}
	worker_crew(w, hop, CORES);
	behind = 0;
}

static void start_crew(void)
{
	start_lanes();
	hire_crew();
}

/* A turn of everybody. */
static void turn_crew(void)
{
	uint64_t dropped = 0, theirs = now - (uint64_t)behind;

	turn();
	for (unsigned i = 0; i < CORES; i++) {
		hop_accept(hop[i], &dropped);
		hop_step(hop[i], 50 * NS_PER_US * UINT64_C(1000), theirs);
		hop_deliver(hop[i], theirs + 50 * NS_PER_US);
	}
}

static unsigned in_flight(void)
{
	return hop_busy(hop[0]) + hop_busy(hop[1]);
}

static void test_answers(void)
{
	char expected[64];
	uint16_t id[6];
	unsigned right = 0;

	start_crew();
	for (unsigned i = 0; i < 6; i++)
		id[i] = open_and_send(GET(100000));
	turn_crew();
	is(in_flight(), 6, "six requests are with the crew");
	is(lane_busy(worker_lane(w)), 0, "none with us");
	ok(!worker_busy(w) && worker_awaits(w), "we look for the results");
	for (int i = 0; i < 10; i++)
		turn_crew();
	snprintf(expected, sizeof expected, "\"hash\":\"0x%08x\"",
		 (unsigned)lane_plain(LANE_FNV1A32, lane_alg_seed(LANE_FNV1A32), 100000));
	for (unsigned i = 0; i < 6; i++)
		right += says(heard(id[i]), expected);
	is(right, 6, "all are answered, right");
	is(stages.compute.count, 6, "their times are recorded");
	ok(stages.compute.max_ns >= 100000 && stages.compute.max_ns < 10 * 100000,
	   "as the cores measured them");
	ok(!worker_awaits(w), "and we are done");
	is(stats.clock_backwards, 0, "no clock went backwards");

	id[0] = open_and_send(GET(5));
	turn_crew();
	ok(says(heard(id[0]), "200 OK"), "a tiny job is done here, in one turn");
	is(in_flight(), 0, "it never left");
}

/* Another process has another crew, which has it all to do. */
static void test_image(void)
{
	static uint8_t image[100000];
	uint16_t id[CORES * LANES + 1];
	unsigned right = 0;
	char expected[64];
	size_t len;

	start_crew();
	for (unsigned i = 0; i <= CORES * LANES; i++)
		id[i] = open_and_send(GET(100000));
	turn_crew();
	is(in_flight(), CORES * LANES, "every lane of the crew has a job");
	len = worker_save(w, image, sizeof image, now);
	start_lanes();
	is(worker_load(w, image, len, now), IMAGE_none, "the worker goes on elsewhere");
	hire_crew();
	turn_crew();
	is(in_flight(), CORES * LANES, "every lane of another crew has one");
	is(lane_busy(worker_lane(w)), 0, "and none is done by us");
	for (int i = 0; i < 30; i++)
		turn_crew();
	snprintf(expected, sizeof expected, "\"hash\":\"0x%08x\"",
		 (unsigned)lane_plain(LANE_FNV1A32, lane_alg_seed(LANE_FNV1A32), 100000));
	for (unsigned i = 0; i <= CORES * LANES; i++)
		right += says(heard(id[i]), expected);
	is(right, CORES * LANES + 1, "all are answered, right, once, and so is who waited");
}

static void test_gone(void)
{
	uint16_t id, next;

	start_crew();
	id = open_and_send(GET(100000000));
	turn_crew();
	worker_gone(w, id);
	worker_check(w);
	is(stats.http_aborted, 1, "a client goes away");
	next = open_and_send(GET(1000));
	must(next == id);
	turn_crew();
	turn_crew();
	turn_crew();
	is(in_flight(), 0, "its job is dropped on the core");
	ok(says(heard(next), "\"n\":1000,"), "who has its place gets its own answer");
	is(stats.http_ok, 1, "and only that");
}

static void test_full(void)
{
	uint16_t id[CORES * LANES], waits, refused;

	start_crew();
	for (unsigned i = 0; i < CORES * LANES; i++)
		id[i] = open_and_send(GET(100000000));
	turn_crew();
	is(in_flight(), CORES * LANES, "all lanes of all cores");
	waits = open_and_send(GET(100000000));
	refused = open_and_send(GET(100000000));
	turn_crew();
	ok(says(heard(waits), "503 ") && says(heard(refused), "503 "),
	   "in 100 ms no lane would be free: 100M rounds take 106");
	worker_gone(w, id[3]);
	waits = open_and_send(GET(20000));
	for (int i = 0; i < 10; i++)
		turn_crew();
	ok(says(heard(waits), "200 OK"), "one that is left is given away, within slices");
}

static void test_waits(void)
{
	uint16_t waits;

	start_crew();
	for (unsigned i = 0; i < CORES * LANES; i++)
		open_and_send(GET(50000000));
	turn_crew();
	waits = open_and_send(GET(20000));
	ok(worker_busy(w), "a new request is work");
	turn_crew();
	is(worker_out(w, waits)->len, 0, "it waits for a lane of the crew");
	ok(!worker_busy(w) && worker_awaits(w), "which is no work of ours");
}

static void test_clock(void)
{
	const char *text;
	uint16_t id;

	start_crew();
	behind = NS_PER_MS;
	id = open_and_send(GET(1000));
	turn_crew();
	turn_crew();
	text = heard(id);
	ok(says(text, "200 OK") && says(text, "wait;dur=0.000"),
	   "a core whose clock is behind ours: no absurd times");
	ok(stats.clock_backwards > 0, "but counted");
	ok(stages.wait.max_ns < NS_PER_S && stages.compute.max_ns < NS_PER_S, "nor recorded");
}

int main(void)
{
	test_answers();
	test_image();
	test_gone();
	test_full();
	test_waits();
	test_clock();
	for (unsigned i = 0; i < CORES; i++)
		free(hop[i]);
	return done();
}
