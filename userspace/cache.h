/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cache.h - results that were computed before (--cache)
 *
 * Place    session asks before a request goes to a lane, and tells it each
 *          result. Off by default: a compute service is measured by its work.
 *          Pure.
 * Model    A table of ENTRIES results, by algorithm, rounds and seed; the one that
 *          was used least recently gives way. What is there is right for ever.
 * Owner    One piece of memory that the caller brings.
 * Threads  One cache per worker.
 * Limits   1 ... CACHE_MAX entries. Chains are keyed by the secret: no client
 *          can choose values that meet in one.
 */
#ifndef CACHE_H
#define CACHE_H

#include "base.h"
#include "limits.h"

struct cache_key {
	uint64_t n, seed;
	uint64_t alg; /* as wide as the others: no gaps, it is hashed as it stands */
};

struct cache;

size_t cache_footprint(unsigned entries);
/* Build a cache in zeroed memory, aligned to 64. */
struct cache *cache_init(void *memory, unsigned entries, const uint8_t secret[16]);

/* Is there a result? It is now the most recently used one. */
bool cache_get(struct cache *c, const struct cache_key *key, uint64_t *hash);
/* Keep a result, as the most recently used one. */
void cache_put(struct cache *c, const struct cache_key *key, uint64_t hash);

/* Panics when an invariant is broken: list and chains hold the same entries.
 * For tests. */
void cache_check(const struct cache *c);

#endif
