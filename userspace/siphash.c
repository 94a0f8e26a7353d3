/* SPDX-License-Identifier: GPL-2.0-only */
#include "siphash.h"

struct state {
	uint64_t v0, v1, v2, v3;
};

static inline uint64_t rotate(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

static inline void mix(struct state *s)
{
	s->v0 += s->v1;
	s->v2 += s->v3;
	s->v1 = rotate(s->v1, 13) ^ s->v0;
	s->v3 = rotate(s->v3, 16) ^ s->v2;
	s->v0 = rotate(s->v0, 32);
	s->v2 += s->v1;
	s->v0 += s->v3;
	s->v1 = rotate(s->v1, 17) ^ s->v2;
	s->v3 = rotate(s->v3, 21) ^ s->v0;
	s->v2 = rotate(s->v2, 32);
}

static inline void absorb(struct state *s, uint64_t word)
{
	s->v3 ^= word;
	mix(s);
	mix(s);
	s->v0 ^= word;
}

uint64_t siphash(const struct siphash_key *key, const void *bytes, size_t len)
{
	/* The constants spell "somepseudorandomlygeneratedbytes" (the paper). */
	struct state s = {
		key->k0 ^ 0x736f6d6570736575,
		key->k1 ^ 0x646f72616e646f6d,
		key->k0 ^ 0x6c7967656e657261,
		key->k1 ^ 0x7465646279746573,
	};
	const uint8_t *at = bytes;
	uint64_t word, last = (uint64_t)len << 56;
	size_t left = len;

	for (; left >= 8; left -= 8, at += 8) {
		memcpy(&word, at, 8);
		absorb(&s, word);
	}
	for (size_t i = 0; i < left; i++)
		last |= (uint64_t)at[i] << (8 * i);
	absorb(&s, last);
	s.v2 ^= 0xff;
	for (int i = 0; i < 4; i++)
		mix(&s);
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}
