/* SPDX-License-Identifier: GPL-2.0-only */
/* buf: against plain queues of bytes; every block comes home. */
#include "tap.h"

#include "buf.h"

enum { SMALL = 6, LARGE = 3, LARGE_SIZE = 4096, BUFS = 8, STEPS = 100000 };

static struct buf_pool pool;
static uint8_t *memory; /* from the heap, so that ASan guards its end */

static uint64_t random_next(void)
{
	static uint64_t x = 0x853c49e6748fea9b;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x >> 11;
}

static void fresh(void)
{
	free(memory);
	memory = malloc(buf_pool_footprint(SMALL, LARGE, LARGE_SIZE));
	must(memory);
	buf_pool_init(&pool, memory, SMALL, LARGE, LARGE_SIZE);
}

static unsigned free_blocks(const struct buf_list *l)
{
	unsigned n = (unsigned)((size_t)(l->end - l->fresh) / l->size);
	uint8_t *at = l->first, *next;

	for (; at && n <= l->count; n++, at = next)
		memcpy(&next, at, sizeof next);
	return n;
}

static void is_home(const char *when)
{
	is(free_blocks(&pool.small), SMALL, "%s: all small blocks are free", when);
	is(free_blocks(&pool.large), LARGE, "%s: all large blocks are free", when);
}

/* --- growth and refusal ------------------------------------------------------ */

static void test_growth(void)
{
	static uint8_t bytes[LARGE_SIZE];
	struct buf b = { 0 };

	fresh();
	for (unsigned i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)(i * 7);
	ok(!b.base, "a new buf has no block");
	ok(buf_append(&pool, &b, bytes, 10), "ten bytes");
	is(free_blocks(&pool.small), SMALL - 1, "took a small block");
	ok(buf_append(&pool, &b, bytes + 10, BUF_SMALL - 10), "filled to the brim");
	is(free_blocks(&pool.large), LARGE, "still in the small block");
	buf_drop(&pool, &b, 100);
	ok(buf_append(&pool, &b, bytes + BUF_SMALL, 100), "room at the front is used");
	is(free_blocks(&pool.large), LARGE, "still in the small block");
	ok(buf_append(&pool, &b, bytes + BUF_SMALL + 100, 1), "one byte more");
	is(free_blocks(&pool.small), SMALL, "moved: small block is free again");
	is(free_blocks(&pool.large), LARGE - 1, "moved: large block taken");
	is(b.len, BUF_SMALL + 1, "length survived the move");
	ok(!memcmp(buf_bytes(&b), bytes + 100, b.len), "bytes survived the move");
	ok(!buf_append(&pool, &b, bytes, LARGE_SIZE), "more than a large block holds: refused");
	is(b.len, BUF_SMALL + 1, "and nothing was appended");
	ok(!memcmp(buf_bytes(&b), bytes + 100, b.len), "nor changed");
	ok(buf_append(&pool, &b, bytes, LARGE_SIZE - b.len), "exactly full");
	ok(!buf_reserve(&pool, &b, 1), "then no byte more");
	buf_free(&pool, &b);
	ok(!b.base, "freed: no block");
	is_home("growth");
}

static void test_exhaustion(void)
{
	struct buf b[SMALL + LARGE + 1] = { 0 };
	uint8_t *first;

	fresh();
	for (unsigned i = 0; i < SMALL + LARGE; i++)
		ok(buf_append(&pool, &b[i], "x", 1), "buf %u of %u gets a block", i, SMALL + LARGE);
	ok(!buf_append(&pool, &b[SMALL + LARGE], "x", 1), "then there is none");
	ok(!b[SMALL + LARGE].base, "and the refused buf has none");
	first = b[0].base;
	buf_drop(&pool, &b[0], 1);
	ok(buf_append(&pool, &b[SMALL + LARGE], "y", 1), "a freed block serves the next");
	ok(b[SMALL + LARGE].base == first, "the very same");
	ok(buf_reserve(&pool, &b[1], BUF_SMALL - 1) != NULL, "a small block's rest needs no other");
	ok(!buf_reserve(&pool, &b[1], BUF_SMALL), "growth needs one, and there is none");
	is(*buf_bytes(&b[1]), 'x', "the refused growth left its bytes alone");
	for (unsigned i = 0; i <= SMALL + LARGE; i++)
		buf_free(&pool, &b[i]);
	is_home("exhaustion");
}

static void test_reserve_unused(void)
{
	struct buf b = { 0 };

	fresh();
	ok(buf_reserve(&pool, &b, 5) != NULL, "reserve");
	buf_drop(&pool, &b, 0);
	ok(!b.base, "reserved, not used, dropped: no block");
	is_home("unused reserve");
}

static void test_untouched(void)
{
	struct buf b = { 0 };
	unsigned touched = 0;

	fresh();
	memset(memory, 0xa5, buf_pool_footprint(SMALL, LARGE, LARGE_SIZE));
	buf_pool_init(&pool, memory, SMALL, LARGE, LARGE_SIZE);
	for (unsigned i = 0; i < 100; i++) {
		buf_append(&pool, &b, "abc", 3);
		buf_free(&pool, &b);
	}
	for (size_t i = BUF_SMALL; i < buf_pool_footprint(SMALL, LARGE, LARGE_SIZE); i++)
		touched += memory[i] != 0xa5;
	is(touched, 0, "one buf after another: only the first block was ever touched");
}

/* --- a long random run --------------------------------------------------------- */

struct queue {
	uint8_t bytes[LARGE_SIZE];
	size_t len;
};

static struct buf bufs[BUFS];
static struct queue queues[BUFS];
static unsigned refused, wrong;

static void step_append(unsigned i, size_t n)
{
	static uint8_t stamp;
	struct queue *q = &queues[i];
	uint8_t *to = buf_reserve(&pool, &bufs[i], n);

	if (!to) {
		refused++;
		return;
	}
	wrong += q->len + n > LARGE_SIZE;
	for (size_t k = 0; k < n; k++)
		q->bytes[q->len++] = to[k] = stamp++;
	buf_commit(&bufs[i], n);
}

static void step_drop(unsigned i, size_t n)
{
	struct queue *q = &queues[i];

	n = min_u64(n, q->len);
	buf_drop(&pool, &bufs[i], n);
	q->len -= n;
	memmove(q->bytes, q->bytes + n, q->len);
}

static void compare(unsigned i)
{
	const struct queue *q = &queues[i];

	wrong += bufs[i].len != q->len || !bufs[i].base != !q->len;
	wrong += q->len && memcmp(buf_bytes(&bufs[i]), q->bytes, q->len);
}

static void test_random(void)
{
	unsigned used;

	fresh();
	for (unsigned step = 0; step < STEPS; step++) {
		unsigned i = random_next() % BUFS;
		size_t n = 1 + random_next() % (random_next() % 8 ? 300 : LARGE_SIZE + 50);
		if (random_next() % 2)
			step_append(i, n);
		else
			step_drop(i, n);
		compare(i);
	}
	is(wrong, 0, "random run: every queue as the model has it, no block while empty");
	ok(refused > 0 && refused < STEPS / 4, "of %u steps %u were refused", STEPS, refused);
	used = SMALL + LARGE - free_blocks(&pool.small) - free_blocks(&pool.large);
	for (unsigned i = 0; i < BUFS; i++) {
		used -= bufs[i].base != NULL;
		buf_free(&pool, &bufs[i]);
	}
	is(used, 0, "as many blocks in use as bufs with bytes");
	is_home("random run");
}

/* --- a block changes hands ------------------------------------------------------- */

static void test_give(void)
{
	struct buf from = { 0 }, to = { 0 };
	uint8_t bytes[LARGE_SIZE], *at;

	fresh();
	for (unsigned i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)(i * 7);
	buf_append(&pool, &from, bytes, 3000);
	buf_reserve(&pool, &to, 10);
	at = buf_give(&pool, &from, 2500, 100, &to);
	ok(at == buf_bytes(&to) && !to.len, "the place in front is told, nothing is in it yet");
	buf_commit(&to, 2600);
	ok(!memcmp(at + 100, bytes, 2500), "the bytes are behind it");
	ok(from.len == 500 && !memcmp(buf_bytes(&from), bytes + 2500, 500), "the rest stays");
	buf_free(&pool, &to);

	buf_append(&pool, &from, bytes, 1000);
	buf_drop(&pool, &from, 500);
	at = buf_give(&pool, &from, 1000, 100, &to);
	ok(at && !memcmp(at + 100, bytes, 1000) && !from.base,
	   "without a rest, bytes need not move");
	is(to.off, 400, "where there is room before them");
	buf_commit(&to, 1100);
	buf_free(&pool, &to);
	is_home("given away");
}

static void test_give_refused(void)
{
	struct buf from = { 0 }, to = { 0 }, other[SMALL + LARGE] = { 0 };
	uint8_t bytes[LARGE_SIZE] = { 1, 2, 3 };
	unsigned taken = 0;

	fresh();
	buf_append(&pool, &from, bytes, LARGE_SIZE);
	ok(!buf_give(&pool, &from, LARGE_SIZE, 1, &to), "no room in front: refused");
	while (taken < SMALL + LARGE && buf_append(&pool, &other[taken], bytes, 1))
		taken++;
	ok(!buf_give(&pool, &from, 2000, 50, &to), "no block for the rest: refused");
	ok(from.len == LARGE_SIZE && !memcmp(buf_bytes(&from), bytes, LARGE_SIZE) && !to.base,
	   "and nothing has changed");
	for (unsigned i = 0; i < taken; i++)
		buf_free(&pool, &other[i]);
	buf_free(&pool, &from);
	is_home("refused");
}

int main(void)
{
	test_growth();
	test_exhaustion();
	test_reserve_unused();
	test_untouched();
	test_random();
	test_give();
	test_give_refused();
	free(memory);
	return done();
}
