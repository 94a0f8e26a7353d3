/* SPDX-License-Identifier: GPL-2.0-only */
#include "lane_body.h"

#if defined __AVX512F__ && defined __AVX512DQ__
#define VECTOR_BYTES 64
#include <immintrin.h>
#include "lane_vector.h"

/* vpmulld, vpmullq */
LANE_INLINE VEC64 round_fnv1a64(VEC64 h, VEC64 i)
{
	return (h ^ i) * UINT64_C(1099511628211);
}

LANE_INLINE VEC64 mul64(VEC64 h, uint64_t c)
{
	return h * c;
}

LANE_ROUND_MIX64

/* vpmuludq */
LANE_INLINE VEC64 low_mul(VEC64 h, uint32_t c)
{
	return (VEC64)_mm512_mul_epu32((__m512i)h, _mm512_set1_epi64(c));
}

#define WIDTHS(name, vec) \
	LANE_VECTORS(name, vec, 1) \
	LANE_VECTORS(name, vec, 2) \
	LANE_VECTORS(name, vec, 3) \
	LANE_VECTORS(name, vec, 4) \
	LANE_VECTORS(name, vec, 6) \
	LANE_VECTORS(name, vec, 8)
WIDTHS(fnv1a32, VEC32)
WIDTHS(fnv1a64, VEC64)
WIDTHS(mix64, VEC64)
LANE_PACED(fnv1a32, VEC32, 1, 25, 0)
LANE_PACED(fnv1a32, VEC32, 2, 0, 25)
LANE_PACED(fnv1a32, VEC32, 4, 6, 0)
LANE_PACED(fnv1a64, VEC64, 1, 25, 0)
LANE_PACED(fnv1a64, VEC64, 2, 0, 25)
LANE_PACED(fnv1a64, VEC64, 4, 6, 0)
LANE_WIDE(fnv1a32, 4)
LANE_WIDE(fnv1a32, 5)
LANE_WIDE(fnv1a32, 6)
LANE_WIDE(fnv1a32, 8)
#endif

const struct lane_body lane_avx512[] = {
#if defined __AVX512F__ && defined __AVX512DQ__
	{ "avx512x1", LANE_FNV1A32, 16, LANE_CPU_AVX512, 1250, fnv1a32_1 },
	{ "avx512x2", LANE_FNV1A32, 32, LANE_CPU_AVX512, 1260, fnv1a32_2 },
	{ "avx512x3", LANE_FNV1A32, 48, LANE_CPU_AVX512, 1270, fnv1a32_3 },
	{ "avx512x4", LANE_FNV1A32, 64, LANE_CPU_AVX512, 1310, fnv1a32_4 },
	{ "avx512x6", LANE_FNV1A32, 96, LANE_CPU_AVX512, 1400, fnv1a32_6 },
	{ "avx512x8", LANE_FNV1A32, 128, LANE_CPU_AVX512, 1500, fnv1a32_8 },
	/* Slower as far as is known: only where it was measured are they chosen. */
	{ "avx512x1p", LANE_FNV1A32, 16, LANE_CPU_AVX512, 2000, fnv1a32_1p },
	{ "avx512x2p", LANE_FNV1A32, 32, LANE_CPU_AVX512, 2000, fnv1a32_2p },
	{ "avx512x4p", LANE_FNV1A32, 64, LANE_CPU_AVX512, 2000, fnv1a32_4p },
	{ "avx512x4w", LANE_FNV1A32, 32, LANE_CPU_AVX512, 2000, fnv1a32_4w },
	{ "avx512x5w", LANE_FNV1A32, 40, LANE_CPU_AVX512, 2000, fnv1a32_5w },
	{ "avx512x6w", LANE_FNV1A32, 48, LANE_CPU_AVX512, 2000, fnv1a32_6w },
	{ "avx512x8w", LANE_FNV1A32, 64, LANE_CPU_AVX512, 2000, fnv1a32_8w },
	{ "avx512x1", LANE_FNV1A64, 8, LANE_CPU_AVX512, 1250, fnv1a64_1 },
	{ "avx512x2", LANE_FNV1A64, 16, LANE_CPU_AVX512, 1260, fnv1a64_2 },
	{ "avx512x3", LANE_FNV1A64, 24, LANE_CPU_AVX512, 1270, fnv1a64_3 },
	{ "avx512x4", LANE_FNV1A64, 32, LANE_CPU_AVX512, 1310, fnv1a64_4 },
	{ "avx512x6", LANE_FNV1A64, 48, LANE_CPU_AVX512, 1400, fnv1a64_6 },
	{ "avx512x8", LANE_FNV1A64, 64, LANE_CPU_AVX512, 1500, fnv1a64_8 },
	{ "avx512x1p", LANE_FNV1A64, 8, LANE_CPU_AVX512, 2000, fnv1a64_1p },
	{ "avx512x2p", LANE_FNV1A64, 16, LANE_CPU_AVX512, 2000, fnv1a64_2p },
	{ "avx512x4p", LANE_FNV1A64, 32, LANE_CPU_AVX512, 2000, fnv1a64_4p },
	{ "avx512x1", LANE_MIX64, 8, LANE_CPU_AVX512, 5000, mix64_1 },
	{ "avx512x2", LANE_MIX64, 16, LANE_CPU_AVX512, 5150, mix64_2 },
	{ "avx512x3", LANE_MIX64, 24, LANE_CPU_AVX512, 5200, mix64_3 },
	{ "avx512x4", LANE_MIX64, 32, LANE_CPU_AVX512, 5250, mix64_4 },
	{ "avx512x6", LANE_MIX64, 48, LANE_CPU_AVX512, 5700, mix64_6 },
	{ "avx512x8", LANE_MIX64, 64, LANE_CPU_AVX512, 6300, mix64_8 },
#endif
	{ 0 },
};
