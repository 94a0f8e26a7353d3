/* SPDX-License-Identifier: GPL-2.0-only */
/* lane bodies: each one that this CPU can run against the plain rounds, alone and as
 * the only one that the engine uses. */
#include "lane_rig.h"

#include "lane_body.h"

enum { TRIALS = 300, EVENTS = 4000, GUARD = 0x5a };

#ifdef __x86_64__
enum { X86 = true, ARM64 = false };
#elif defined __aarch64__
enum { X86 = false, ARM64 = true };
#else
enum { X86 = false, ARM64 = false };
#endif

static const struct table {
	const char *isa;
	const struct lane_body *bodies;
	uint32_t needs;
	bool ours; /* this architecture's: it must not be empty */
} tables[] = {
	{ "scalar", lane_scalar, 0, true },
	{ "sse41", lane_sse41, LANE_CPU_SSE41, X86 },
	{ "avx2", lane_avx2, LANE_CPU_AVX2, X86 },
	{ "avx512", lane_avx512, LANE_CPU_AVX512, X86 },
	{ "neon", lane_neon, LANE_CPU_NEON, ARM64 },
};

/* A column of hashes or of rounds, and what lies behind it. */
union column {
	uint32_t u32[LANES_MAX + 16];
	uint64_t u64[LANES_MAX + 16];
} __attribute__((aligned(64)));

static uint64_t column_get(const union column *c, enum lane_alg alg, unsigned j)
{
	return lane_alg_bits(alg) == 32 ? c->u32[j] : c->u64[j];
}

static void column_set(union column *c, enum lane_alg alg, unsigned j, uint64_t v)
{
	if (lane_alg_bits(alg) == 32)
		c->u32[j] = (uint32_t)v;
	else
		c->u64[j] = v;
}

/* Is what follows so many lanes as it was? */
static bool column_guarded(const union column *c, enum lane_alg alg, unsigned lanes)
{
	const unsigned char *bytes = (const unsigned char *)c;

	for (size_t b = lanes * lane_alg_bits(alg) / 8; b < sizeof *c; b++)
		if (bytes[b] != GUARD)
			return false;
	return true;
}

/* Any round, and often one from which a 32-bit counter, or a 64-bit one, overflows. */
static uint64_t random_start(void)
{
	static const uint64_t near[] = { 0, UINT64_C(1) << 32, 0 };
	uint64_t at = near[random_next() % array_size(near)] - random_next() % 400;

	return random_next() % 2 ? at : random_next() << 32 ^ random_next();
}

static uint64_t random_passes(void)
{
	static const uint64_t some[] = { 0, 1, 2, 3, 7, 64 };

	return random_next() % 4 ? some[random_next() % array_size(some)] : random_next() % 400;
}

static uint64_t round_plain(enum lane_alg alg, uint64_t h, uint64_t i)
{
	if (alg == LANE_FNV1A32)
		return lane_round_fnv1a32((uint32_t)h, (uint32_t)i);
	return alg == LANE_FNV1A64 ? lane_round_fnv1a64(h, i) : lane_round_mix64(h, i);
}

/* One run from random hashes and rounds. Counts the lanes that come out wrong. */
static unsigned trial(const struct lane_body *b)
{
	union column hash, number, hash_before, number_before;
	uint64_t passes = random_passes();
	unsigned wrong = 0;

	memset(&hash, GUARD, sizeof hash);
	memset(&number, GUARD, sizeof number);
	for (unsigned j = 0; j < b->lanes; j++) {
		column_set(&hash, b->alg, j, random_next() << 32 ^ random_next());
		column_set(&number, b->alg, j, random_start());
	}
	hash_before = hash;
	number_before = number;
	b->run(&hash, &number, passes);
	for (unsigned j = 0; j < b->lanes; j++) {
		uint64_t h = column_get(&hash_before, b->alg, j);
		uint64_t i = column_get(&number_before, b->alg, j);

		for (uint64_t p = 0; p < passes; p++)
			h = round_plain(b->alg, h, i++);
		column_set(&number_before, b->alg, j, i);
		wrong += h != column_get(&hash, b->alg, j) ||
			 column_get(&number, b->alg, j) != column_get(&number_before, b->alg, j);
	}
	return wrong + !column_guarded(&hash, b->alg, b->lanes) +
	       !column_guarded(&number, b->alg, b->lanes);
}

static void test_alone(const struct lane_body *b)
{
	unsigned wrong = 0;

	for (int t = 0; t < TRIALS; t++)
		wrong += trial(b);
	is(wrong, 0, "%s %s: every lane as the plain loop, and nothing behind them",
	   lane_alg_name(b->alg), b->name);
}

/* A calibration that makes all bodies slow but this one. */
static struct lane *lane_of(const struct lane_body *b, unsigned lanes)
{
	struct lane *l = lane_fresh(lanes, b->needs);
	uint32_t ps[LANE_BODIES_MAX];
	struct lane_row row;
	unsigned ours = 0;

	for (unsigned r = 0; lane_row(l, r, &row); r++) {
		bool is_it = row.alg == b->alg && !strcmp(row.name, b->name);

		ps[r] = is_it ? 1000 : 1000000;
		ours = is_it ? r : ours;
	}
	calibrate(l, ps);
	for (unsigned k = 1; k <= LANES_MAX + LANE_EXPRESS; k++)
		must(lane_choice(l, b->alg, k) == ours);
	return l;
}

static void test_engine(const struct lane_body *b)
{
	struct crowd c = { .most = random_next() % 2 ? LANES_MAX : LANES_DEFAULT, .only = b->alg };

	random_events(lane_of(b, c.most), &c, EVENTS);
	ok(!(c.bad_put + c.bad_step + c.bad_take + c.bad_drop + c.miscounted) &&
		   c.results > EVENTS / 20,
	   "%s %s: alone in the engine, %u results of up to %u jobs at once", lane_alg_name(b->alg),
	   b->name, c.results, c.fullest);
}

int main(void)
{
	uint32_t has = cpu_has();

	for (unsigned t = 0; t < array_size(tables); t++) {
		const struct lane_body *b = tables[t].bodies;

		if (!b->name && !tables[t].ours)
			continue;
		ok(b->name, "%s: there are bodies", tables[t].isa);
		if (tables[t].needs & ~has) {
			skip(tables[t].isa, "this CPU has not its instructions");
			continue;
		}
		for (; b->name; b++) {
			test_alone(b);
			test_engine(b);
		}
	}
	return done();
}
