/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * lane_body.h - the loops themselves, one table for each instruction set
 *
 * Place    lane.c chooses among them; each lane_<isa>.c holds the bodies of one
 *          instruction set. Nobody else includes this. Pure.
 * Model    A body advances a fixed number of lanes of one algorithm side by side,
 *          one round each per pass. Lanes that are not in use are advanced too:
 *          they cost nothing, and what is in them is not looked at.
 *
 *            hash    [ h0 | h1 | h2 | ... ]   one element a lane
 *            round   [ i0 | i1 | i2 | ... ]   the next round's number, its own
 *
 * Units    pass_ps is picoseconds a pass: at first a guess, which says what is
 *          faster than what; lane.c measures.
 */
#ifndef LANE_BODY_H
#define LANE_BODY_H

#include "lane.h"

struct lane_body {
	const char *name; /* "avx2x4": 4 vectors; "scalar3": 3 chains */
	enum lane_alg alg;
	unsigned lanes;
	uint32_t needs;   /* bits of enum lane_cpu, all of which the CPU must have */
	uint32_t pass_ps; /* built in, see above */
	/* hash and round have `lanes` elements, at a multiple of 64: uint32_t for
	 * LANE_FNV1A32, uint64_t for the others. passes may be 0. */
	void (*run)(void *hash, void *round, uint64_t passes);
};

/* Each ends with a body that has no name. On another architecture than its own
 * it is empty. */
extern const struct lane_body lane_scalar[], lane_sse41[], lane_avx2[], lane_avx512[], lane_neon[];

#define LANE_INLINE static inline __attribute__((always_inline))

/* for (j = 0; j < k; j++), unrolled: gcc does it at -O2 when it is asked to, clang
 * of its own. */
#ifdef __clang__
#define LANE_EACH(j, k) for (int j = 0; j < (k); j++)
#else
#define LANE_EACH(j, k) _Pragma("GCC unroll 8") for (int j = 0; j < (k); j++)
#endif

/* One round of each algorithm: the reference that all bodies follow. */
LANE_INLINE uint32_t lane_round_fnv1a32(uint32_t h, uint32_t i)
{
	return (h ^ i) * UINT32_C(16777619);
}

LANE_INLINE uint64_t lane_round_fnv1a64(uint64_t h, uint64_t i)
{
	return (h ^ i) * UINT64_C(1099511628211);
}

LANE_INLINE uint64_t lane_round_mix64(uint64_t h, uint64_t i)
{
	h ^= i;
	h = (h ^ h >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	h = (h ^ h >> 27) * UINT64_C(0x94d049bb133111eb);
	return h ^ h >> 31;
}

#endif
