/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The bad network itself: that it does what its options say, no more, and the
 * same again from the same seed. Frames carry their number behind the header.
 */
#include "net/impair_core.h"
#include "tap.h"

enum { FRAMES = 20000, LEN = 100, GAP_NS = 10 * NS_PER_US };

struct arrival {
	uint32_t number;
	uint64_t at_ns;
};

static struct impair line;
static struct arrival got[2 * FRAMES];
static unsigned got_count;
static unsigned bits_in_header, bits_behind;

static void start(const char *list, uint64_t seed, unsigned direction)
{
	struct impair_kind kind = impair_fine;

	must(impair_parse(&kind, list));
	impair_init(&line, &kind, seed, direction);
	got_count = bits_in_header = bits_behind = 0;
}

static void put(uint32_t number, size_t len, uint64_t now_ns)
{
	uint8_t frame[IMPAIR_FRAME] = { 0 };

	put_be32(frame + WIRE_ETH_LEN, number);
	impair_put(&line, frame, len, now_ns);
}

static void take_all(uint64_t now_ns)
{
	uint8_t frame[IMPAIR_FRAME];
	size_t len;

	while ((len = impair_take(&line, frame, now_ns))) {
		got[got_count++] = (struct arrival){ .number = be32(frame + WIRE_ETH_LEN),
						     .at_ns = now_ns };
		for (size_t i = 0; i < len; i++)
			*(i < WIRE_ETH_LEN ?
				  &bits_in_header :
				  &bits_behind) += (unsigned)__builtin_popcount(frame[i]);
	}
}

/* A frame each GAP_NS, in at its time and out as soon as it is due. */
static void run(unsigned frames)
{
	uint64_t now_ns = 0, due_ns;

	for (uint32_t i = 0; i < frames; i++) {
		now_ns = (uint64_t)i * GAP_NS;
		while ((due_ns = impair_next(&line)) < now_ns)
			take_all(due_ns);
		put(i, LEN, now_ns);
		take_all(now_ns);
	}
	while ((due_ns = impair_next(&line)) != UINT64_MAX)
		take_all(max_u64(due_ns, now_ns));
}

static bool near(double value, double wanted, double by)
{
	return value > wanted - by && value < wanted + by;
}

static void test_fine(void)
{
	unsigned wrong = 0;

	start("", 1, 0);
	run(FRAMES);
	for (uint32_t i = 0; i < got_count; i++)
		wrong += got[i].number != i || got[i].at_ns != (uint64_t)i * GAP_NS;
	is(got_count, FRAMES, "without an impairment all arrive");
	is(wrong, 0, "at once and in order");
	is(line.count.sent, line.count.seen, "and are counted so");
}

static void test_loss(void)
{
	unsigned bursts = 0, last = 0;

	start("loss=10", 1, 0);
	run(FRAMES);
	/* standard deviation: sqrt(20000 x 0.1 x 0.9) = 42 */
	ok(near((double)line.count.lost, FRAMES / 10.0, 250), "a tenth is lost");
	is(got_count + line.count.lost, FRAMES, "and the others arrive");
	start("loss=100", 1, 0);
	run(100);
	is(got_count, 0, "all means all");

	start("burst=1/25", 1, 0);
	run(FRAMES);
	for (unsigned i = 0; i < got_count; i++) {
		bursts += got[i].number > last + 1;
		last = got[i].number;
	}
	/* some 190 bursts, of a length whose deviation is 3.5: 0.25 for their mean */
	ok(near((double)line.count.lost_in_burst / bursts, 4, 1.2), "a burst is four frames long");
	ok(near(bursts, FRAMES * 0.01 / (1 + 0.01 / 0.25), 70), "and one frame in 100 begins one");
}

static void test_delay(void)
{
	unsigned early = 0, late = 0, overtaken = 0;
	uint64_t took_ns;

	start("delay=5,jitter=2", 1, 0);
	run(FRAMES);
	for (unsigned i = 0; i < got_count; i++) {
		took_ns = got[i].at_ns - (uint64_t)got[i].number * GAP_NS;
		early += took_ns < 5 * NS_PER_MS;
		late += took_ns > 7 * NS_PER_MS;
		overtaken += i && got[i].number < got[i - 1].number;
	}
	is(got_count, FRAMES, "delayed frames arrive");
	is(early + late, 0, "neither too early nor too late");
	ok(overtaken > FRAMES / 4, "jitter reorders");
	is(line.count.delayed, FRAMES, "and all were delayed");
}

/* A held frame comes right behind the one that overtook it last. */
static void test_reorder(unsigned by)
{
	unsigned misplaced = 0, moved = 0, in_front;
	char list[32];

	snprintf(list, sizeof list, "reorder=5,by=%u,hold=10", by);
	start(list, 1, 0);
	run(FRAMES);
	for (unsigned i = 0; i < got_count; i++) {
		in_front = 0; /* of those that arrived before it, how many came after it? */
		for (unsigned k = i > 100 ? i - 100 : 0; k < i; k++)
			in_front += got[k].number > got[i].number;
		moved += in_front > 0;
		/* one that is held itself, behind this one, overtakes nobody by that */
		misplaced += in_front && in_front != by && got[i].number + by + 1 < FRAMES;
	}
	ok(near((double)line.count.overtaken, FRAMES / 20.0, 200), "one in 20 is held back");
	is(got_count, FRAMES, "and none is lost");
	ok(moved >= line.count.overtaken, "each was overtaken");
	is(misplaced, 0, "by %u later ones, neither fewer nor more", by);
}

static void test_hold(void)
{
	start("reorder=100,hold=3", 1, 0);
	put(0, LEN, 1000);
	take_all(1000 + 3 * NS_PER_MS - 1);
	is(got_count, 0, "who waits to be overtaken waits");
	is(impair_next(&line), 1000 + 3 * NS_PER_MS, "until the hold ends");
	take_all(1000 + 3 * NS_PER_MS);
	is(got_count, 1, "and goes then");
	is(line.count.overtaken, 0, "not overtaken");
	is(line.held, 0, "and no longer held");
}

static void test_copies(void)
{
	start("duplicate=100", 1, 0);
	run(1000);
	is(got_count, 2000, "each came twice");
	is(line.count.seen + line.count.duplicated, line.count.sent, "and is counted twice");

	start("corrupt=100", 1, 0);
	for (unsigned i = 0; i < 1000; i++)
		put(0, LEN, 0);
	take_all(0);
	is(bits_behind, 1000, "one bit of each is flipped");
	is(bits_in_header, 0, "none in the Ethernet header");
}

static void test_limits(void)
{
	start("mtu=1500", 1, 0);
	put(0, WIRE_ETH_LEN + 1500, 0);
	is(line.count.too_long, 0, "1500 bytes of IP fit an MTU of 1500");
	put(0, WIRE_ETH_LEN + 1501, 0);
	is(line.count.too_long, 1, "one more does not");

	start("delay=1", 1, 0);
	for (unsigned i = 0; i <= IMPAIR_QUEUE; i++)
		put(i, LEN, 0);
	is(line.count.overflow, 1, "who finds the queue full is lost, and counted");
	take_all(NS_PER_MS);
	is(got_count, IMPAIR_QUEUE, "the others are not");
}

/* Numbers of the frames that arrive, as one number. */
static uint64_t fate(const char *list, uint64_t seed, unsigned direction)
{
	uint64_t sum = 0;

	start(list, seed, direction);
	run(2000);
	for (unsigned i = 0; i < got_count; i++)
		sum = impair_mix(sum ^ got[i].number ^ got[i].at_ns << 20);
	return sum;
}

static void test_seed(void)
{
	static const char all[] = "loss=2,burst=1/30,delay=1,jitter=1,reorder=10,duplicate=5";
	uint64_t lost;

	ok(fate(all, 1, 0) == fate(all, 1, 0), "the same seed, the same fate");
	ok(fate(all, 1, 0) != fate(all, 2, 0), "another seed, another fate");
	ok(fate(all, 1, 0) != fate(all, 1, 1), "and another in the other direction");
	fate("loss=2", 1, 0);
	lost = line.count.lost;
	fate("loss=2,reorder=30,duplicate=20,corrupt=3", 1, 0);
	is(line.count.lost, lost, "what else is turned on does not change who is lost");
}

static void test_options(void)
{
	static const char *const bad[] = {
		"loss",      "loss=",     "loss=x",  "loss=101",    "loss=-1",     "loss=nan",
		"lost=1",    "loss=1/2",  "burst=1", "burst=1/0",   "burst=1/200", "loss=1;by=1",
		"delay=1ms", "mtu=70000", "=1",      "loss=1,,by=1"
	};
	struct impair_kind kind;

	for (unsigned i = 0; i < array_size(bad); i++) {
		kind = impair_fine;
		ok(!impair_parse(&kind, bad[i]), "refused: %s", bad[i]);
	}
	kind = impair_fine;
	ok(impair_parse(&kind, "loss=0.5,burst=1/40,delay=2.5,by=3,mtu=576"), "taken: a good list");
	ok(near(kind.loss, 0.005, 1e-9) && near(kind.burst, 0.01, 1e-9) &&
		   near(kind.leave, 0.4, 1e-9) && kind.delay_ns == 2500000 && kind.by == 3 &&
		   kind.mtu == 576,
	   "with these values");
}

int main(void)
{
	test_fine();
	test_loss();
	test_delay();
	test_reorder(1);
	test_reorder(4);
	test_hold();
	test_copies();
	test_limits();
	test_seed();
	test_options();
	return done();
}
