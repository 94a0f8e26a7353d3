/* SPDX-License-Identifier: GPL-2.0-only */
#include "lane_body.h"

#ifdef __ARM_NEON
#include <arm_neon.h>
#define VECTOR_BYTES 16
#include "lane_vector.h"

/* 32 bits: mul v.4s, 2 lanes a cycle on Cortex-A76. There is no 64-bit multiply: it is
 * put together of halves. */

/* sum + the low halves' products with c, 64 bits each */
LANE_INLINE VEC64 low_mla(VEC64 sum, VEC64 h, uint32_t c)
{
	return (VEC64)vmlal_u32((uint64x2_t)sum, vmovn_u64((uint64x2_t)h), vdup_n_u32(c));
}

/* sum + the high halves times c, where they are */
LANE_INLINE VEC64 high_mla(VEC64 sum, VEC64 h, uint32_t c)
{
	uint32x4_t cs = vreinterpretq_u32_u64(vdupq_n_u64((uint64_t)c << 32));

	return (VEC64)vmlaq_u32((uint32x4_t)sum, (uint32x4_t)h, cs);
}

/* The prime is 2^40 + 0x1b3. */
LANE_INLINE VEC64 round_fnv1a64(VEC64 h, VEC64 i)
{
	h ^= i;
	return low_mla(high_mla(h << 40, h, 0x1b3), h, 0x1b3);
}

LANE_INLINE VEC64 mul64(VEC64 h, uint64_t c)
{
	VEC64 swapped = (VEC64)vrev64q_u32((uint32x4_t)h);
	VEC64 low = (VEC64)vmull_u32(vmovn_u64((uint64x2_t)h), vdup_n_u32((uint32_t)c));

	return high_mla(high_mla(low, h, (uint32_t)c), swapped, (uint32_t)(c >> 32));
}

LANE_ROUND_MIX64

LANE_VECTORS(fnv1a32, VEC32, 1)
LANE_VECTORS(fnv1a32, VEC32, 2)
LANE_VECTORS(fnv1a32, VEC32, 3)
LANE_VECTORS(fnv1a32, VEC32, 4)
LANE_VECTORS(fnv1a64, VEC64, 4)

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
static __attribute__((noinline)) void mixed_run(uint32_t *hash, uint32_t *number, uint64_t passes)
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

/* k vectors and s chains of 64 bits. */
#define LANE_MIXED(name, k, s) \
	static void name##_mixed(void *hash, void *number, uint64_t passes) \
	{ \
		VEC64 *hs = hash, *is = number, h[k], i[k]; \
		uint64_t *gs = (uint64_t *)hash + 2 * k, *ns = (uint64_t *)number + 2 * k; \
		uint64_t g[s], n[s]; \
\
		LANE_EACH(j, k) { \
			h[j] = hs[j]; \
			i[j] = is[j]; \
		} \
		LANE_EACH(j, s) { \
			g[j] = gs[j]; \
			n[j] = ns[j]; \
		} \
		for (; passes; passes--) { \
			LANE_EACH(j, k) { \
				h[j] = round_##name(h[j], i[j]); \
				i[j] += 1; \
			} \
			LANE_EACH(j, s) \
				g[j] = lane_round_##name(g[j], n[j]++); \
		} \
		LANE_EACH(j, k) { \
			hs[j] = h[j]; \
			is[j] = i[j]; \
		} \
		LANE_EACH(j, s) { \
			gs[j] = g[j]; \
			ns[j] = n[j]; \
		} \
	}
LANE_MIXED(fnv1a64, 4, 6)
LANE_MIXED(mix64, 4, 6)
#endif

/* Guesses: a Cortex-A76 of 2.4 GHz, as its model has it (docs/mca-cortex-a76.txt). */
const struct lane_body lane_neon[] = {
#ifdef __ARM_NEON
	{ "neonx1", LANE_FNV1A32, 4, LANE_CPU_NEON, 2920, fnv1a32_1 },
	{ "neonx2", LANE_FNV1A32, 8, LANE_CPU_NEON, 2930, fnv1a32_2 },
	{ "neonx3", LANE_FNV1A32, 12, LANE_CPU_NEON, 3130, fnv1a32_3 },
	{ "neonx4", LANE_FNV1A32, 16, LANE_CPU_NEON, 3340, fnv1a32_4 },
	{ "neonx4s8", LANE_FNV1A32, 24, LANE_CPU_NEON, 3540, fnv1a32_mixed },
	{ "neonx4", LANE_FNV1A64, 8, LANE_CPU_NEON, 7500, fnv1a64_4 },
	{ "neonx4s6", LANE_FNV1A64, 14, LANE_CPU_NEON, 7600, fnv1a64_mixed },
	{ "neonx4s6", LANE_MIX64, 14, LANE_CPU_NEON, 25400, mix64_mixed },
#endif
	{ 0 },
};
