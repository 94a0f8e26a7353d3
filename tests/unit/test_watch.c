/* SPDX-License-Identifier: GPL-2.0-only */
/* The watchdog in virtual time: a look every 50 ms, at counters that move or do not. */
#include "watch.h"
#include "tap.h"

enum { LOOK_MS = 50 };

static struct watch w;
static struct watch_reading r;
static unsigned did[WATCH_RUNG + 1];     /* how often each remedy came */
static uint64_t when_ms[WATCH_RUNG + 1]; /* and when it came last */

/* What the traffic does between two looks. */
static struct {
	unsigned frames;        /* that XDP redirects */
	bool rx, fill, tx, nic; /* what works */
	bool asked;             /* the card, by the starter, once a second */
	uint64_t nic_sent;
	unsigned sends; /* frames that are given to the card */
} world;

static void start(void)
{
	watch_init(&w);
	memset(did, 0, sizeof did);
	memset(when_ms, 0, sizeof when_ms);
	world.frames = world.sends = 2;
	world.rx = world.fill = world.tx = world.nic = world.asked = true;
	world.nic_sent = 3000;
	r = (struct watch_reading){ .now_ns = 1000 * (uint64_t)NS_PER_S,
				    .redirected = 500,
				    .received = 470, /* some were lost long ago */
				    .completed = 1000 };
}

static uint64_t ms(void)
{
	return r.now_ns / NS_PER_MS;
}

static void turn(unsigned after_ms)
{
	enum watch_remedy remedy;

	r.now_ns += after_ms * (uint64_t)NS_PER_MS;
	r.redirected += world.frames;
	if (world.rx)
		r.received += world.frames; /* or are counted as lost: no fill entry */
	if (world.rx && world.fill)
		r.ring_received += world.frames;
	if (world.rx && !world.fill)
		r.fill_lacked += world.frames;
	r.in_flight += world.sends;
	if (world.tx) {
		r.completed += r.in_flight;
		world.nic_sent += world.nic ? r.in_flight : 0;
		r.in_flight = 0;
	}
	if (world.asked && r.now_ns - r.nic_ns >= NS_PER_S) {
		r.nic_ns = r.now_ns;
		r.nic_sent = world.nic_sent;
	}
	remedy = watch_look(&w, &r);
	did[remedy]++;
	when_ms[remedy] = ms();
}

static void run(unsigned for_ms)
{
	for (unsigned i = 0; i < for_ms / LOOK_MS; i++)
		turn(LOOK_MS);
}

static unsigned remedies(void)
{
	return did[WATCH_KICK] + did[WATCH_REFILL] + did[WATCH_REBIND] + did[WATCH_RUNG];
}

/* --- no false alarm -------------------------------------------------------------------- */

static void test_healthy(void)
{
	start();
	run(60000);
	is(remedies(), 0, "a minute of traffic: nothing is done");

	start();
	run(1000);
	world.frames = world.sends = 0;
	run(600000);
	is(remedies(), 0, "ten minutes of silence: nothing is done");
	world.frames = world.sends = 1;
	turn(LOOK_MS);
	run(1000);
	is(remedies(), 0, "nor when traffic comes again");

	start();
	world.rx = false;
	world.frames = 1;
	turn(LOOK_MS), turn(LOOK_MS);
	world.frames = 0;
	run(60000);
	is(remedies(), 0, "two frames that nobody counts, then silence: no fault");

	start();
	run(1000);
	world.tx = world.rx = false;
	turn(3000);
	world.tx = world.rx = true;
	run(1000);
	is(remedies(), 0, "stopped for 3 s, and in order again: the time does not count");
	world.tx = false;
	for (int i = 0; i < 10; i++)
		turn(WATCH_GAP_MS + 1);
	is(remedies(), 0, "a thread that runs now and then cannot judge");

	start();
	world.tx = false;
	r.hold = true;
	run(60000);
	is(remedies(), 0, "no carrier: what is not sent is no fault");
	r.hold = false;
	world.tx = true;
	run(1000);
	is(remedies(), 0, "nor when it is back");

	start();
	world.nic = false;
	world.nic_sent = 0;
	run(60000);
	is(remedies(), 0, "a card that has never counted is not believed");

	start();
	run(5000);
	world.nic = world.asked = false;
	run(60000);
	is(remedies(), 0, "a starter that no longer asks the card gives no alarm");

	/* The driver reads its card every 2 s. */
	start();
	for (int i = 0; i < 1200; i++) {
		world.nic = i % 40 == 0;
		turn(LOOK_MS);
	}
	is(remedies(), 0, "a card that counts every 2 s is no fault");
}

/* --- each part, the whole ladder --------------------------------------------------------- */

static void test_ladder(enum watch_part part, bool *works, enum watch_remedy first,
			unsigned still_ms)
{
	const char *name = watch_part_name(part);
	uint64_t broke_ms;

	start();
	run(5000);
	broke_ms = ms();
	*works = false;
	run(still_ms - 2 * LOOK_MS);
	is(remedies(), 0, "%s stands still: patience first", name);
	run((part == WATCH_nic_tx ? 1000 + WATCH_NIC_STEP_MS : WATCH_STEP_MS) + 5 * LOOK_MS);
	is(did[first], 1, "%s: %s, once", name, first == WATCH_KICK ? "kick" : "refill");
	is(w.part, part, "it is named");
	ok(*watch_part_cause(part), "and explained: %s", watch_part_cause(part));
	ok(when_ms[first] - broke_ms <= still_ms + 1100, "in time");
	ok(watch_stuck(&w), "which does not help: stuck");
	if (part != WATCH_nic_tx) {
		is(did[WATCH_REBIND], 1, "the starter is asked for other rings, once");
		is(when_ms[WATCH_REBIND] - when_ms[first], WATCH_STEP_MS, "after the step's time");
		is(watch_ask(&w), WATCH_REBIND, "which can be read");
		run(WATCH_REBIND_MS);
		is(when_ms[WATCH_RUNG] - when_ms[WATCH_REBIND], WATCH_REBIND_MS,
		   "he does not: the next rung");
	}
	is(did[WATCH_RUNG], 1, "the starter is asked for the next rung, once");
	is(watch_ask(&w), WATCH_RUNG, "which can be read");
	run(WATCH_RETRY_MS - 2000);
	is(remedies(), part == WATCH_nic_tx ? 2 : 3, "and that is all");
	*works = true;
	run(part == WATCH_nic_tx ? 1000 : 2 * LOOK_MS);
	ok(!watch_stuck(&w) && !watch_ask(&w), "%s moves again: over", name);
	did[first] = 0;
	run(60000);
	is(did[first], 0, "for good");
}

/* It recovers while a step is tried. */
static void test_recovery(enum watch_part part, bool *works)
{
	const char *name = watch_part_name(part);
	unsigned tried;

	for (enum watch_remedy at = WATCH_KICK; at <= WATCH_RUNG; at++) {
		start();
		run(5000);
		*works = false;
		for (int i = 0; i < 1000 && !did[at]; i++)
			turn(LOOK_MS);
		if (!did[at])
			continue; /* not on its ladder */
		tried = remedies();
		*works = true;
		run(2000);
		ok(!w.stalled && !watch_stuck(&w), "%s: remedy %d helps", name, at);
		is(remedies(), tried, "and neither it nor another is tried then");
	}
}

static void test_relapse(void)
{
	start();
	run(1000);
	world.tx = false;
	run(WATCH_STILL_MS + 2 * LOOK_MS);
	is(did[WATCH_KICK], 1, "a kick");
	world.tx = true;
	run(5000);
	ok(!w.stalled, "helps");
	world.tx = false;
	run(WATCH_STILL_MS + 2 * LOOK_MS);
	is(did[WATCH_KICK], 1, "soon after: it did not, no kick");
	is(did[WATCH_REBIND], 1, "but the step after it");
	world.tx = true;
	run(5000);
	world.tx = false;
	run(WATCH_STILL_MS + 2 * LOOK_MS);
	is(did[WATCH_RUNG], 1, "and again: the one after that");
	world.tx = true;
	run(5000);
	world.tx = false;
	run(WATCH_STILL_MS + 2 * LOOK_MS);
	is(did[WATCH_RUNG], 2, "there is none after the last");
	world.tx = true;
	run(WATCH_RELAPSE_MS + 1000);
	world.tx = false;
	run(WATCH_STILL_MS + 2 * LOOK_MS);
	is(did[WATCH_KICK], 2, "long after: from the beginning");
	world.tx = true;
	run(5000);
	world.rx = false;
	run(WATCH_STILL_MS + 3 * LOOK_MS);
	is(did[WATCH_REFILL], 1, "another part: from its beginning");
	is(watch_ask(&w), WATCH_NOTHING, "nobody is asked yet");
	watch_init(&w);
	ok(!watch_stuck(&w), "new rings: nothing is known of the old ones");
}

static void test_hold(void)
{
	start();
	run(1000);
	world.tx = false;
	run(2000);
	ok(watch_stuck(&w), "stuck");
	r.hold = true;
	turn(LOOK_MS);
	ok(!watch_stuck(&w) && !watch_ask(&w), "the cable is out: that is why, nobody is asked");
	r.hold = false;
	run(WATCH_STILL_MS + LOOK_MS);
	ok(w.stalled, "the cable is back, and still nothing moves: from there on");
}

static void test_retry(void)
{
	start();
	run(1000);
	world.tx = false;
	run(20000);
	ok(did[WATCH_RUNG] >= 2 && did[WATCH_RUNG] <= 3, "nobody acts: asked again, seldom (%u)",
	   did[WATCH_RUNG]);
	is(did[WATCH_KICK], 1, "without what did not help");
	is(did[WATCH_REBIND], 1, "at all");
}

int main(void)
{
	test_healthy();
	test_ladder(WATCH_rx_ring, &world.rx, WATCH_REFILL, WATCH_STILL_MS);
	test_ladder(WATCH_fill, &world.fill, WATCH_REFILL, WATCH_STILL_MS);
	test_ladder(WATCH_completions, &world.tx, WATCH_KICK, WATCH_STILL_MS);
	test_ladder(WATCH_nic_tx, &world.nic, WATCH_KICK, WATCH_NIC_STILL_MS);
	test_recovery(WATCH_rx_ring, &world.rx);
	test_recovery(WATCH_fill, &world.fill);
	test_recovery(WATCH_completions, &world.tx);
	test_recovery(WATCH_nic_tx, &world.nic);
	test_relapse();
	test_hold();
	test_retry();
	return done();
}
