/* SPDX-License-Identifier: GPL-2.0-only */
/* cache: against a plain list in the order of use. */
#include "cache.h"
#include "tap.h"

enum { MOST = 100, STEPS = 20000 };

static const uint8_t secret[16] = "a secret of 16 B";

/* The model: newest first. */
static struct {
	struct cache_key key;
	uint64_t hash;
} model[MOST + 1];
static unsigned model_len;

static uint64_t random_next(void)
{
	static uint64_t x = 0x853c49e6748fea9b;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x >> 11;
}

static unsigned model_find(const struct cache_key *key)
{
	unsigned i = 0;

	while (i < model_len && memcmp(&model[i].key, key, sizeof *key))
		i++;
	return i;
}

/* Entry i is used: to the front, with this hash. */
static void model_use(unsigned i, const struct cache_key *key, uint64_t hash)
{
	memmove(model + 1, model, i * sizeof *model);
	model[0].key = *key;
	model[0].hash = hash;
}

static bool step(struct cache *c, unsigned entries, unsigned keys)
{
	struct cache_key key = { random_next() % keys, random_next() % 2, random_next() % 2 };
	unsigned i = model_find(&key);
	uint64_t hash = random_next(), got = 0;

	if (random_next() % 2) {
		bool hit = cache_get(c, &key, &got);
		if (hit != (i < model_len) || (hit && got != model[i].hash))
			return false;
		if (hit)
			model_use(i, &key, got);
		return true;
	}
	cache_put(c, &key, hash);
	if (i == model_len && model_len < entries)
		model_len++;
	else if (i == model_len)
		i--; /* the oldest gives way */
	model_use(i, &key, hash);
	return true;
}

static void test_model(unsigned entries, unsigned keys)
{
	size_t size = round_up(cache_footprint(entries), 64);
	void *memory = memset(aligned_alloc(64, size), 0, size);
	struct cache *c = cache_init(memory, entries, secret);
	unsigned n = 0;

	model_len = 0;
	for (; n < STEPS && step(c, entries, keys); n++)
		cache_check(c);
	is(n, STEPS, "%u entries, %u keys: as the model", entries, keys * 4);
	free(memory);
}

static void test_empty(void)
{
	size_t size = round_up(cache_footprint(CACHE_MAX), 64);
	void *memory = calloc(1, size);
	struct cache *c = cache_init(memory, CACHE_MAX, secret);
	struct cache_key key = { 0, 0, 0 };
	uint64_t hash = 5;

	ok(!cache_get(c, &key, &hash), "an empty cache has not even the zero key");
	is(hash, 5, "and leaves the hash alone");
	ok(size >> 20 == 52, "the largest takes 52 MiB (%zu)", size);
	free(memory);
}

int main(void)
{
	test_empty();
	test_model(1, 2);
	test_model(2, 2);
	test_model(3, 1);
	test_model(16, 5);
	test_model(MOST, 50);
	return done();
}
