/* SPDX-License-Identifier: GPL-2.0-only */
/* wheel: against a plain array of deadlines, in virtual time. */
#include "tap.h"

#include "wheel.h"

enum { IDS = 300, STEPS = 200000 };

static const uint64_t tick = 1ull << WHEEL_TICK_BITS;
static struct wheel wheel;
static struct wheel_entry entries[WHEEL_NONE];
static uint64_t model[WHEEL_NONE];  /* deadline of each id, 0: none */
static uint64_t set_ns[WHEEL_NONE]; /* when it was set: one in the past is due from then */

static uint64_t random_next(void)
{
	static uint64_t x = 0x2545f4914f6cdd1d;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x >> 11;
}

static void fresh(uint64_t now)
{
	memset(entries, 0, sizeof entries);
	memset(model, 0, sizeof model);
	wheel_init(&wheel, entries, now);
}

static void set(unsigned id, uint64_t at, uint64_t now)
{
	wheel_set(&wheel, (uint16_t)id, at);
	model[id] = at;
	set_ns[id] = now;
}

struct score {
	unsigned fired, early, unknown, late;
};

/* Take all that is due, then look for what should have been. */
static void drain(struct score *s, uint64_t now, unsigned ids)
{
	uint16_t id;

	while ((id = wheel_due(&wheel, now)) != WHEEL_NONE) {
		s->fired++;
		s->unknown += !model[id];
		s->early += model[id] > now;
		model[id] = 0;
	}
	for (unsigned i = 0; i < ids; i++)
		s->late += model[i] && max_u64(model[i], set_ns[i]) + tick <= now;
}

/* Mostly near deadlines, some beyond a revolution, some already past. */
static uint64_t random_deadline(uint64_t now)
{
	switch (random_next() % 8) {
	case 0:
		return now + random_next() % (5 * WHEEL_SLOTS * tick);
	case 1:
		return now - random_next() % (3 * tick);
	case 2:
		return 0;
	default:
		return now + random_next() % (100 * tick);
	}
}

static void test_random(void)
{
	uint64_t now = 1000 * tick + 17, revolution = WHEEL_SLOTS * tick;
	struct score s = { 0 };

	fresh(now);
	for (unsigned i = 0; i < STEPS; i++) {
		uint64_t r = random_next();
		if (r % 4) {
			set((unsigned)(r >> 8) % IDS, random_deadline(now), now);
			continue;
		}
		now += r % 1000 ? random_next() % (2 * tick) : random_next() % (3 * revolution);
		drain(&s, now, IDS);
	}
	now += 10 * revolution;
	drain(&s, now, IDS);
	ok(s.fired > 10000, "random sets, moves, clears: %u deadlines were met", s.fired);
	is(s.early, 0, "none early");
	is(s.late, 0, "none more than a tick late");
	is(s.unknown, 0, "none that was not set, none twice");
}

static void test_precise(void)
{
	static const struct {
		const char *name;
		uint64_t first, second; /* set, then moved; in ticks after now */
	} cases[] = {
		{ "next tick", 1, 0 },
		{ "last slot of the revolution", WHEEL_SLOTS - 1, 0 },
		{ "a whole revolution", WHEEL_SLOTS, 0 },
		{ "three revolutions and a bit", 3 * WHEEL_SLOTS + 7, 0 },
		{ "moved back", 3, 900 },
		{ "moved forward", 900, 3 },
	};

	for (unsigned i = 0; i < array_size(cases); i++) {
		uint64_t now = 12345 * tick + 99, at = now + cases[i].first * tick;
		struct score s = { 0 };
		fresh(now);
		set(7, at, now);
		if (cases[i].second)
			set(7, at = now + cases[i].second * tick, now);
		for (; now < at; now += tick / 3)
			drain(&s, now, 8);
		is(s.fired, 0, "%s: not before its time", cases[i].name);
		drain(&s, at + tick, 8);
		is(s.fired, 1, "%s: a tick later it was met", cases[i].name);
	}
}

static void test_edges(void)
{
	uint64_t now = 5 * tick, hour = 3600ull * NS_PER_S;
	struct score s = { 0 };

	fresh(now);
	set(0, now + tick, now);
	set(WHEEL_NONE - 1, now + tick, now);
	drain(&s, now + 3 * tick, WHEEL_NONE);
	is(s.fired, 2, "the lowest and the highest id");

	set(3, now + 10 * tick, now);
	set(3, 0, now);
	drain(&s, now + hour, 4);
	is(s.fired, 2, "a cleared deadline is not met, not even after an hour's jump");

	now += hour;
	for (unsigned i = 0; i < IDS; i++)
		set(i, now + tick, now);
	for (unsigned i = 0; i < IDS; i += 2)
		set(i, 0, now);
	s.fired = 0;
	drain(&s, now + hour, IDS);
	is(s.fired, IDS / 2, "many in one slot, half of them cleared");
	is(s.early + s.late + s.unknown, 0, "and none wrong");
}

int main(void)
{
	test_precise();
	test_edges();
	test_random();
	return done();
}
