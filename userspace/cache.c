/* SPDX-License-Identifier: GPL-2.0-only */
#include "cache.h"
#include "siphash.h"

#define NONE UINT32_MAX

struct entry {
	struct cache_key key;
	uint64_t hash;
	uint32_t chain; /* the next one of its bucket */
	uint32_t newer, older;
};

struct cache {
	struct siphash_key secret;
	struct entry *entry;
	uint32_t *bucket;
	uint32_t bucket_mask;
	uint32_t entries;
	uint32_t used; /* the first ones */
	uint32_t newest, oldest;
};

/* --- memory -------------------------------------------------------------------- */

static uint32_t bucket_count(unsigned entries)
{
	uint32_t n = 1;

	while (n < entries)
		n *= 2;
	return n;
}

static size_t bucket_offset(unsigned entries)
{
	return round_up(sizeof(struct cache), 64) + round_up(entries * sizeof(struct entry), 64);
}

size_t cache_footprint(unsigned entries)
{
	return bucket_offset(entries) + bucket_count(entries) * sizeof(uint32_t);
}

struct cache *cache_init(void *memory, unsigned entries, const uint8_t secret[16])
{
	struct cache *c = memory;
	uint8_t *base = memory;

	must(entries >= 1 && entries <= CACHE_MAX);
	memcpy(&c->secret, secret, sizeof c->secret);
	c->entry = (struct entry *)(base + round_up(sizeof *c, 64));
	c->bucket = (uint32_t *)(base + bucket_offset(entries));
	c->bucket_mask = bucket_count(entries) - 1;
	c->entries = entries;
	c->newest = c->oldest = NONE;
	memset(c->bucket, 0xff, (c->bucket_mask + 1) * sizeof(uint32_t));
	return c;
}

/* --- from the newest to the oldest ------------------------------------------------ */

static void list_put(struct cache *c, uint32_t i)
{
	struct entry *e = &c->entry[i];

	e->newer = NONE;
	e->older = c->newest;
	if (c->newest == NONE)
		c->oldest = i;
	else
		c->entry[c->newest].newer = i;
	c->newest = i;
}

static void list_take(struct cache *c, uint32_t i)
{
	const struct entry *e = &c->entry[i];

	if (e->newer == NONE)
		c->newest = e->older;
	else
		c->entry[e->newer].older = e->older;
	if (e->older == NONE)
		c->oldest = e->newer;
	else
		c->entry[e->older].newer = e->newer;
}

/* --- by key ------------------------------------------------------------------------ */

static uint32_t *bucket_of(const struct cache *c, const struct cache_key *key)
{
	return &c->bucket[siphash(&c->secret, key, sizeof *key) & c->bucket_mask];
}

static uint32_t find(const struct cache *c, const struct cache_key *key)
{
	uint32_t i = *bucket_of(c, key);

	while (i != NONE && memcmp(&c->entry[i].key, key, sizeof *key))
		i = c->entry[i].chain;
	return i;
}

/* Room for one more: one never used, or the oldest's. */
static uint32_t make_room(struct cache *c)
{
	uint32_t i = c->oldest, *link;

	if (c->used < c->entries)
		return c->used++;
	link = bucket_of(c, &c->entry[i].key);
	while (*link != i)
		link = &c->entry[*link].chain;
	*link = c->entry[i].chain;
	list_take(c, i);
	return i;
}

bool cache_get(struct cache *c, const struct cache_key *key, uint64_t *hash)
{
	uint32_t i = find(c, key);

	if (i == NONE)
		return false;
	list_take(c, i);
	list_put(c, i);
	*hash = c->entry[i].hash;
	return true;
}

void cache_put(struct cache *c, const struct cache_key *key, uint64_t hash)
{
	uint32_t i = find(c, key), *bucket;

	if (i != NONE) {
		list_take(c, i);
	} else {
		i = make_room(c);
		bucket = bucket_of(c, key);
		c->entry[i] = (struct entry){ .key = *key, .chain = *bucket };
		*bucket = i;
	}
	c->entry[i].hash = hash;
	list_put(c, i);
}

void cache_check(const struct cache *c)
{
	uint32_t listed = 0, chained = 0, newer = NONE;

	for (uint32_t i = c->newest; i != NONE; newer = i, i = c->entry[i].older) {
		must(c->entry[i].newer == newer && listed++ < c->used);
		must(find(c, &c->entry[i].key) == i);
	}
	must(newer == c->oldest && listed == c->used);
	for (uint32_t b = 0; b <= c->bucket_mask; b++)
		for (uint32_t i = c->bucket[b]; i != NONE; i = c->entry[i].chain)
			must(chained++ < c->used);
	must(chained == c->used);
}
