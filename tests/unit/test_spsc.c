/* SPDX-License-Identifier: GPL-2.0-only */
/* spsc: full, empty, wrap, and a million records between two threads. */
#include "tap.h"

#include <pthread.h>
#include <sched.h>

#include "spsc.h"

enum { SMALL = 4, MANY = 1000000 };

struct record {
	uint64_t number;
	uint64_t twice;
	uint32_t thrice; /* no multiple of eight: records do not share words */
};

static struct spsc q;
static uint8_t memory[64 * sizeof(struct record)] __attribute__((aligned(64)));

static struct record record_of(uint64_t number)
{
	return (struct record){ number, 2 * number, (uint32_t)(3 * number) };
}

static bool is_record(const struct record *r, uint64_t number)
{
	return r->number == number && r->twice == 2 * number && r->thrice == (uint32_t)(3 * number);
}

static void test_bounds(void)
{
	struct record r;

	is(spsc_footprint(SMALL, sizeof r), round_up(SMALL * sizeof r, 64), "footprint");
	spsc_init(&q, memory, SMALL, sizeof r);
	ok(spsc_empty(&q), "empty at first");
	ok(!spsc_take(&q, &r), "nothing to take");
	for (uint64_t i = 0; i < SMALL; i++) {
		r = record_of(i);
		ok(spsc_put(&q, &r), "put %" PRIu64, i);
	}
	ok(spsc_full(&q) && !spsc_put(&q, &r), "full");
	ok(spsc_take(&q, &r) && is_record(&r, 0), "the first comes first");
	r = record_of(SMALL);
	ok(!spsc_full(&q) && spsc_put(&q, &r), "room for one");
	ok(!spsc_put(&q, &r), "and no more");
	for (uint64_t i = 1; i <= SMALL; i++)
		ok(spsc_take(&q, &r) && is_record(&r, i), "then %" PRIu64, i);
	ok(!spsc_take(&q, &r) && spsc_empty(&q), "empty again");
}

/* The counts are of 32 bits: start them just before they wrap. */
static void test_wrap(void)
{
	uint64_t wrong = 0;
	struct record r;

	spsc_init(&q, memory, SMALL, sizeof r);
	q.producer.tail = q.producer.head_seen = q.consumer.head = q.consumer.tail_seen =
		UINT32_MAX - 5;
	for (uint64_t i = 0; i < 20; i++) {
		for (uint64_t k = 0; k < SMALL; k++) {
			r = record_of(i * SMALL + k);
			wrong += !spsc_put(&q, &r);
		}
		wrong += spsc_put(&q, &r);
		for (uint64_t k = 0; k < SMALL; k++)
			wrong += !spsc_take(&q, &r) || !is_record(&r, i * SMALL + k);
		wrong += spsc_take(&q, &r);
	}
	is(wrong, 0, "full and empty across the wrap");
}

static void *produce(void *arg)
{
	(void)arg;
	for (uint64_t i = 0; i < MANY; i++) {
		struct record r = record_of(i);

		while (!spsc_put(&q, &r))
			sched_yield();
	}
	return NULL;
}

static void test_threads(void)
{
	uint64_t wrong = 0;
	pthread_t thread;
	struct record r;

	spsc_init(&q, memory, 64, sizeof r);
	must(!pthread_create(&thread, NULL, produce, NULL));
	for (uint64_t i = 0; i < MANY; i++) {
		while (!spsc_take(&q, &r))
			sched_yield();
		wrong += !is_record(&r, i);
	}
	pthread_join(thread, NULL);
	is(wrong, 0, "%d records from one thread to another, in order", MANY);
	ok(spsc_empty(&q), "and none left over");
}

int main(void)
{
	test_bounds();
	test_wrap();
	test_threads();
	return done();
}
