/* SPDX-License-Identifier: GPL-2.0-only */
#include "lane_body.h"

#ifdef __ARM_NEON
#define VECTOR_BYTES 16
#include "lane_vector.h"

/* mul v.4s: 2 lanes a cycle on Cortex-A76. There is no 64-bit multiply, and to put
 * one together of umull takes a pair of lanes 9 operations on two pipes: 2.25 cycles
 * a round at best, after 12 of latency, where two scalar chains take 3 without. */
LANE_INLINE VEC32 round_fnv1a32(VEC32 h, VEC32 i)
{
	return (h ^ i) * UINT32_C(16777619);
}

LANE_VECTORS(fnv1a32, VEC32, 1)
LANE_VECTORS(fnv1a32, VEC32, 2)
LANE_VECTORS(fnv1a32, VEC32, 3)
LANE_VECTORS(fnv1a32, VEC32, 4)

enum { VECTORS = 4, PAIRS = 4, SCALAR = 4 * VECTORS }; /* of the mixed body */

/* Two scalar chains: both counters share a register, so that one addition counts for
 * both. The exclusive-or shifts the upper one down for nothing, if it is said so. */
struct pair {
	uint32_t a, b;
	uint64_t i;
};

LANE_INLINE void pair_round(struct pair *p, uint32_t prime)
{
	p->a = (p->a ^ (uint32_t)p->i) * prime;
	__asm__("eor %x0, %x0, %x1, lsr #32" : "+r"(p->b) : "r"(p->i));
	p->b *= prime;
	p->i += UINT64_C(0x100000001);
}

/* 4 vectors and 4 pairs. The scalar multiplier takes one a cycle beside. */
static void mixed_run(uint32_t *hash, uint32_t *number, uint64_t passes)
{
	VEC32 *hs = (VEC32 *)hash, *is = (VEC32 *)number, h[VECTORS], i[VECTORS];
	struct pair p[PAIRS];
	uint32_t prime = 16777619;

	/* Or gcc moves it out of a vector in each pass. */
	__asm__("" : "+r"(prime));
	hash += SCALAR;
	number += SCALAR;
	LANE_EACH(j, VECTORS) {
		h[j] = hs[j];
		i[j] = is[j];
	}
	LANE_EACH(j, PAIRS) {
		p[j].a = hash[2 * j];
		p[j].b = hash[2 * j + 1];
		p[j].i = number[2 * j] | (uint64_t)number[2 * j + 1] << 32;
	}
	for (uint64_t n = passes; n; n--) {
		LANE_EACH(j, VECTORS) {
			h[j] = round_fnv1a32(h[j], i[j]);
			i[j] += 1;
		}
		LANE_EACH(j, PAIRS)
			pair_round(&p[j], prime);
	}
	LANE_EACH(j, VECTORS) {
		hs[j] = h[j];
		is[j] = i[j];
	}
	LANE_EACH(j, PAIRS) {
		hash[2 * j] = p[j].a;
		hash[2 * j + 1] = p[j].b;
		number[2 * j] += (uint32_t)passes;
		number[2 * j + 1] += (uint32_t)passes;
	}
}

/* In parts, so that no lower counter of a pair overflows into the upper one before
 * the part's last round. */
static void fnv1a32_mixed(void *hash, void *number, uint64_t passes)
{
	const uint32_t *lower = (uint32_t *)number + SCALAR;

	while (passes) {
		uint64_t part = passes;

		for (int j = 0; j < PAIRS; j++)
			part = min_u64(part, (UINT64_C(1) << 32) - lower[2 * j]);
		mixed_run(hash, number, part);
		passes -= part;
	}
}
#endif

const struct lane_body lane_neon[] = {
#ifdef __ARM_NEON
	{ "neonx1", LANE_FNV1A32, 4, LANE_CPU_NEON, 2920, fnv1a32_1 },
	{ "neonx2", LANE_FNV1A32, 8, LANE_CPU_NEON, 2930, fnv1a32_2 },
	{ "neonx3", LANE_FNV1A32, 12, LANE_CPU_NEON, 2940, fnv1a32_3 },
	{ "neonx4", LANE_FNV1A32, 16, LANE_CPU_NEON, 3340, fnv1a32_4 },
	{ "neonx4s8", LANE_FNV1A32, 24, LANE_CPU_NEON, 3540, fnv1a32_mixed },
#endif
	{ 0 },
};
