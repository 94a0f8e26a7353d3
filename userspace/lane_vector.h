/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * lane_vector.h - bodies of k vectors, for any instruction set
 *
 * Place    Each lane_<isa>.c of vectors says how wide one is (VECTOR_BYTES) and how
 *          its CPU multiplies, includes this, and names its bodies. Pure.
 * Model    A vector holds the hashes of as many jobs as fit, another one their
 *          counters; k such pairs make a body. The compiler knows k, so the loops
 *          over j go away and all stay in registers. One vector is bound by the
 *          latency of its multiply just as one chain is: the others fill the gaps,
 *          until the multiplier is never idle.
 */
#ifndef LANE_VECTOR_H
#define LANE_VECTOR_H

#include "lane_body.h"

#define VEC32 uint32_t __attribute__((vector_size(VECTOR_BYTES)))
#define VEC64 uint64_t __attribute__((vector_size(VECTOR_BYTES)))
#define VEC32_HALF uint32_t __attribute__((vector_size(VECTOR_BYTES / 2)))

/* A round, where the compiler knows how this CPU multiplies 32 bits. */
LANE_INLINE VEC32 round_fnv1a32(VEC32 h, VEC32 i)
{
	return (h ^ i) * UINT32_C(16777619);
}

/* A round by mul64(h, c), which whoever says this has. */
#define LANE_ROUND_MIX64 \
	LANE_INLINE VEC64 round_mix64(VEC64 h, VEC64 i) \
	{ \
		h ^= i; \
		h = mul64(h ^ h >> 30, UINT64_C(0xbf58476d1ce4e5b9)); \
		h = mul64(h ^ h >> 27, UINT64_C(0x94d049bb133111eb)); \
		return h ^ h >> 31; \
	}

/* n no-operations of 8 bytes. 0 is not even a barrier to the compiler. */
#define LANE_PACE_0
#define LANE_PACE_LFENCE __asm__ volatile("lfence" : : : "memory")
#define LANE_PACE_6 LANE_NOPS(6)
#define LANE_PACE_25 LANE_NOPS(25)
#define LANE_NOPS(n) __asm__ volatile(".rept " #n "\n\t.byte 0x0f,0x1f,0x84,0,0,0,0,0\n\t.endr")

/* name ## suffix: k vectors of `vec`, each of which takes round_name. `before` the first
 * pass, behind `each` vector and behind the `rest` of them there may be a LANE_PACE. */
#define LANE_BODY(name, suffix, vec, k, before, each, rest) \
	static void name##suffix(void *hash, void *number, uint64_t passes) \
	{ \
		vec *hs = hash, *is = number, h[k], i[k]; \
\
		LANE_EACH(j, k) { \
			h[j] = hs[j]; \
			i[j] = is[j]; \
		} \
		LANE_PACE_##before; \
		for (; passes; passes--) { \
			LANE_EACH(j, k) { \
				h[j] = round_##name(h[j], i[j]); \
				i[j] += 1; \
				LANE_PACE_##each; \
			} \
			LANE_PACE_##rest; \
		} \
		LANE_EACH(j, k) { \
			hs[j] = h[j]; \
			is[j] = i[j]; \
		} \
	}

#define LANE_VECTORS(name, vec, k) LANE_BODY(name, _##k, vec, k, 0, 0, 0)

/* The same, paced: no-operations keep the front end from running ahead and filling the
 * vector scheduler, which on Zen 5 makes operations of one cycle take two. It can begin 8
 * operations a cycle, 32 in the 4 of a round; two vectors use 7 of those and four 13.
 * Measured on an EPYC (Zen 5), a pass over a round of the plain loop:
 *
 *            vectors   unpaced   paced
 *                  1      1.25    1.00   25; 22 to 28 are as good
 *                  2      1.25    1.00   25; 22 to 26 are nearly
 *                  4      1.29    1.15   24, which must be spread; it is then bound
 *                                        by the front end: 37 operations, 4.6 cycles
 *
 * A backlog from before the loop would stay until its end (1.07 with one vector, 1.21
 * with two), hence the lfence. Three, six and eight vectors gain nothing steady. Jumps
 * to the next instruction, of which the front end follows two a cycle, pace one vector
 * or two as well (six a round), but not four. */
#define LANE_PACED(name, vec, k, each, rest) LANE_BODY(name, _##k##p, vec, k, LFENCE, each, rest)

/* k vectors of 64 bits a lane for jobs of 32: by low_mul(h, c), which whoever says this has,
 * the product of the lower halves. What that leaves in the upper half never comes down, nor
 * does the counter's carry. Half as many lanes, but on Intel's cores vpmulld takes 10 cycles
 * and vpmuludq 5: a pass over a round of the plain loop, measured on a Xeon (Sapphire Rapids):
 *
 *            lanes     8     16     24     32     40     48     64
 *          vpmulld   2.8    2.8    2.8    2.9    3.3    3.0    3.4
 *         vpmuludq   1.6    1.7    1.8    2.0    2.0    2.4    3.2
 */
#define LANE_WIDE(name, k) \
	static void name##_##k##w(void *hash, void *number, uint64_t passes) \
	{ \
		VEC32_HALF *hs = hash, *is = number; \
		VEC64 h[k], i[k]; \
\
		LANE_EACH(j, k) { \
			h[j] = __builtin_convertvector(hs[j], VEC64); \
			i[j] = __builtin_convertvector(is[j], VEC64); \
		} \
		for (; passes; passes--) { \
			LANE_EACH(j, k) { \
				h[j] = low_mul(h[j] ^ i[j], 16777619); \
				i[j] += 1; \
			} \
		} \
		LANE_EACH(j, k) { \
			hs[j] = __builtin_convertvector(h[j], VEC32_HALF); \
			is[j] = __builtin_convertvector(i[j], VEC32_HALF); \
		} \
	}

#endif
