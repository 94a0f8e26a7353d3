/* SPDX-License-Identifier: GPL-2.0-only */
#include "lane_body.h"

#ifdef __SSE4_1__
#define VECTOR_BYTES 16
#include "lane_vector.h"

/* pmulld. No bodies of 64 bits: two lanes of fnv1a64 take seven operations, mix64
 * eighteen, which is no less than the scalar multiplier needs for them. */

LANE_VECTORS(fnv1a32, VEC32, 1)
LANE_VECTORS(fnv1a32, VEC32, 2)
LANE_VECTORS(fnv1a32, VEC32, 3)
LANE_VECTORS(fnv1a32, VEC32, 4)
LANE_VECTORS(fnv1a32, VEC32, 6)
#endif

const struct lane_body lane_sse41[] = {
#ifdef __SSE4_1__
	{ "sse41x1", LANE_FNV1A32, 4, LANE_CPU_SSE41, 1250, fnv1a32_1 },
	{ "sse41x2", LANE_FNV1A32, 8, LANE_CPU_SSE41, 1260, fnv1a32_2 },
	{ "sse41x3", LANE_FNV1A32, 12, LANE_CPU_SSE41, 1270, fnv1a32_3 },
	{ "sse41x4", LANE_FNV1A32, 16, LANE_CPU_SSE41, 1310, fnv1a32_4 },
	{ "sse41x6", LANE_FNV1A32, 24, LANE_CPU_SSE41, 1400, fnv1a32_6 },
#endif
	{ 0 },
};
