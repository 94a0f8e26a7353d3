/* SPDX-License-Identifier: GPL-2.0-only */
#include "lane_body.h"

/* K chains side by side. With k known to the compiler the loops over j go away, and
 * hashes and counters stay in registers; x86-64 has them for six chains. */
#define CHAINS(name, type, k) \
	static void name##_##k(void *hash, void *number, uint64_t passes) \
	{ \
		type *hs = hash, *is = number, h[k], i[k]; \
\
		LANE_EACH(j, k) { \
			h[j] = hs[j]; \
			i[j] = is[j]; \
		} \
		for (; passes; passes--) \
			LANE_EACH(j, k) \
				h[j] = lane_round_##name(h[j], i[j]++); \
		LANE_EACH(j, k) { \
			hs[j] = h[j]; \
			is[j] = i[j]; \
		} \
	}
#define BODIES(k) \
	CHAINS(fnv1a32, uint32_t, k) CHAINS(fnv1a64, uint64_t, k) CHAINS(mix64, uint64_t, k)
BODIES(1)
BODIES(2)
BODIES(3)
BODIES(4)
BODIES(6)

/* On a core of 4 GHz whose multiply takes 3 cycles; on a Cortex-A76 of 2.4 GHz, as its
 * model has it (docs/mca-cortex-a76.txt). */
#ifdef __aarch64__
#define GUESS(other, a76) (a76)
#else
#define GUESS(other, a76) (other)
#endif

const struct lane_body lane_scalar[] = {
	{ "scalar1", LANE_FNV1A32, 1, 0, GUESS(1000, 1250), fnv1a32_1 },
	{ "scalar2", LANE_FNV1A32, 2, 0, GUESS(1000, 1300), fnv1a32_2 },
	{ "scalar3", LANE_FNV1A32, 3, 0, GUESS(1020, 1390), fnv1a32_3 },
	{ "scalar4", LANE_FNV1A32, 4, 0, GUESS(1060, 1810), fnv1a32_4 },
	{ "scalar6", LANE_FNV1A32, 6, 0, GUESS(1500, 2640), fnv1a32_6 },
	{ "scalar1", LANE_FNV1A64, 1, 0, GUESS(1000, 2080), fnv1a64_1 },
	{ "scalar2", LANE_FNV1A64, 2, 0, GUESS(1000, 2500), fnv1a64_2 },
	{ "scalar3", LANE_FNV1A64, 3, 0, GUESS(1020, 3750), fnv1a64_3 },
	{ "scalar4", LANE_FNV1A64, 4, 0, GUESS(1060, 5000), fnv1a64_4 },
	{ "scalar6", LANE_FNV1A64, 6, 0, GUESS(1500, 7500), fnv1a64_6 },
	{ "scalar1", LANE_MIX64, 1, 0, GUESS(3100, 5000), mix64_1 },
	{ "scalar2", LANE_MIX64, 2, 0, GUESS(3100, 5420), mix64_2 },
	{ "scalar3", LANE_MIX64, 3, 0, GUESS(3120, 7500), mix64_3 },
	{ "scalar4", LANE_MIX64, 4, 0, GUESS(3300, 10000), mix64_4 },
	{ "scalar6", LANE_MIX64, 6, 0, GUESS(3900, 15000), mix64_6 },
	{ 0 },
};
