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

/* name ## suffix: k vectors of `vec`, each of which takes round_name. */
#define LANE_BODY(name, suffix, vec, k, pace) \
	static void name##suffix(void *hash, void *number, uint64_t passes) \
	{ \
		vec *hs = hash, *is = number, h[k], i[k]; \
\
		LANE_EACH(j, k) { \
			h[j] = hs[j]; \
			i[j] = is[j]; \
		} \
		for (; passes; passes--) { \
			LANE_EACH(j, k) { \
				h[j] = round_##name(h[j], i[j]); \
				i[j] += 1; \
			} \
			pace; \
		} \
		LANE_EACH(j, k) { \
			hs[j] = h[j]; \
			is[j] = i[j]; \
		} \
	}

#define LANE_VECTORS(name, vec, k) LANE_BODY(name, _##k, vec, k, )

/* The same, paced: no-operations of 8 bytes keep the front end from running ahead
 * and filling the vector scheduler, which on Zen 5 makes operations of one cycle
 * take two. The 4 cycles of a round have room for 32 operations; two vectors use 7 of
 * them, and 25 fill the rest. Measured on an EPYC (Zen 5), a pass over a round of the
 * plain loop: unpaced 1.25, with 22 to 26 of them 1.00 to 1.04, with 25 always 1.00.
 * Three vectors and more gain nothing. */
#define LANE_PACED(name, vec, k) \
	LANE_BODY(name, _##k##p, vec, k, \
		  __asm__ volatile(".rept 25\n\t.byte 0x0f,0x1f,0x84,0,0,0,0,0\n\t.endr"))

#endif
