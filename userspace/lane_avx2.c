/* SPDX-License-Identifier: GPL-2.0-only */
#include "lane_body.h"

#ifdef __AVX2__
#include <immintrin.h>
#define VECTOR_BYTES 32
#include "lane_vector.h"

/* There is no 64-bit multiply: it is put together of halves. */

/* The low halves' products with c, 64 bits each. */
LANE_INLINE VEC64 low_mul(VEC64 h, uint32_t c)
{
	return (VEC64)_mm256_mul_epu32((__m256i)h, _mm256_set1_epi64x(c));
}

/* The high halves times c, where they are; 0 in the low halves. */
LANE_INLINE VEC64 high_mul(VEC64 h, uint32_t c)
{
	__m256i cs = _mm256_set1_epi64x((long long)((uint64_t)c << 32));

	return (VEC64)_mm256_mullo_epi32((__m256i)h, cs);
}

/* The prime is 2^40 + 0x1b3. */
LANE_INLINE VEC64 round_fnv1a64(VEC64 h, VEC64 i)
{
	h ^= i;
	return (h << 40) + (low_mul(h, 0x1b3) + high_mul(h, 0x1b3));
}

LANE_INLINE VEC64 mul64(VEC64 h, uint64_t c)
{
	return low_mul(h, (uint32_t)c) + high_mul(h, (uint32_t)c) +
	       high_mul(h << 32, (uint32_t)(c >> 32));
}

LANE_ROUND_MIX64

LANE_VECTORS(fnv1a32, VEC32, 1)
LANE_VECTORS(fnv1a32, VEC32, 2)
LANE_VECTORS(fnv1a32, VEC32, 3)
LANE_VECTORS(fnv1a32, VEC32, 4)
LANE_VECTORS(fnv1a32, VEC32, 6)
LANE_PACED(fnv1a32, VEC32, 1, 25, 0)
LANE_PACED(fnv1a32, VEC32, 2, 0, 25)
LANE_PACED(fnv1a32, VEC32, 4, 6, 0)
LANE_WIDE(fnv1a32, 2)
LANE_WIDE(fnv1a32, 4)
LANE_WIDE(fnv1a32, 6)
LANE_VECTORS(fnv1a64, VEC64, 2)
LANE_VECTORS(fnv1a64, VEC64, 3)
LANE_VECTORS(fnv1a64, VEC64, 4)
LANE_VECTORS(fnv1a64, VEC64, 5)
LANE_VECTORS(mix64, VEC64, 3)
LANE_VECTORS(mix64, VEC64, 4)
LANE_VECTORS(mix64, VEC64, 5)
LANE_VECTORS(mix64, VEC64, 6)
#endif

const struct lane_body lane_avx2[] = {
#ifdef __AVX2__
	{ "avx2x1", LANE_FNV1A32, 8, LANE_CPU_AVX2, 1250, fnv1a32_1 },
	{ "avx2x2", LANE_FNV1A32, 16, LANE_CPU_AVX2, 1260, fnv1a32_2 },
	{ "avx2x3", LANE_FNV1A32, 24, LANE_CPU_AVX2, 1270, fnv1a32_3 },
	{ "avx2x4", LANE_FNV1A32, 32, LANE_CPU_AVX2, 1310, fnv1a32_4 },
	{ "avx2x6", LANE_FNV1A32, 48, LANE_CPU_AVX2, 1400, fnv1a32_6 },
	/* Slower as far as is known: only where it was measured are they chosen. */
	{ "avx2x1p", LANE_FNV1A32, 8, LANE_CPU_AVX2, 2000, fnv1a32_1p },
	{ "avx2x2p", LANE_FNV1A32, 16, LANE_CPU_AVX2, 2000, fnv1a32_2p },
	{ "avx2x4p", LANE_FNV1A32, 32, LANE_CPU_AVX2, 2000, fnv1a32_4p },
	{ "avx2x2w", LANE_FNV1A32, 8, LANE_CPU_AVX2, 2000, fnv1a32_2w },
	{ "avx2x4w", LANE_FNV1A32, 16, LANE_CPU_AVX2, 2000, fnv1a32_4w },
	{ "avx2x6w", LANE_FNV1A32, 24, LANE_CPU_AVX2, 2000, fnv1a32_6w },
	{ "avx2x2", LANE_FNV1A64, 8, LANE_CPU_AVX2, 2300, fnv1a64_2 },
	{ "avx2x3", LANE_FNV1A64, 12, LANE_CPU_AVX2, 2450, fnv1a64_3 },
	{ "avx2x4", LANE_FNV1A64, 16, LANE_CPU_AVX2, 2600, fnv1a64_4 },
	{ "avx2x5", LANE_FNV1A64, 20, LANE_CPU_AVX2, 2600, fnv1a64_5 },
	{ "avx2x3", LANE_MIX64, 12, LANE_CPU_AVX2, 7800, mix64_3 },
	{ "avx2x4", LANE_MIX64, 16, LANE_CPU_AVX2, 9500, mix64_4 },
	{ "avx2x5", LANE_MIX64, 20, LANE_CPU_AVX2, 9500, mix64_5 },
	{ "avx2x6", LANE_MIX64, 24, LANE_CPU_AVX2, 10500, mix64_6 },
#endif
	{ 0 },
};
