/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bench_lane - what the lane bodies, the engine and its slices reach on this machine
 *
 * Model    Three tables, or with --json a line a row:
 *          bodies   each body on its own: what a pass takes, how much more work a
 *                   second than the plain loop, how near the multiplier's limit.
 *          engine   after calibration, k equal jobs from put to the last take, with
 *                   the features of this CPU and with fewer.
 *          slices   how long lane_step took over what it was given, by this thread's
 *                   clock and by the wall's (who else ran shows in the second only).
 *          Each figure of the first two is the median of pairs with the plain loop,
 *          one after the other; bars are issue figures, said to hold or not.
 * Units    Nanoseconds of this thread's time, unless the name says otherwise. A cycle is one of a chain of
 *          dependent additions.
 */
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

#include "lane_body.h"

enum {
	PAIRS = 5,
	LONE_PAIRS = 15,
	BODY_NS = 2 * NS_PER_MS, /* one run of a body */
	BUDGET_PS = SLICE_US * 1000000,
	SLICES = 5000,
	EMPTY_JOBS = 1000000,
};

static bool json;
static double cycle_ns;

_Noreturn void base_panic(const char *what, const char *file, int line);
_Noreturn void base_panic(const char *what, const char *file, int line)
{
	fprintf(stderr, "bench_lane: broken invariant at %s:%d: %s\n", file, line, what);
	abort();
}

/* --- clocks and medians ---------------------------------------------------------- */

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* This thread's time: the machine may be shared. */
static uint64_t now_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static uint64_t wall_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The value below which share of v lie; sorts it. */
static double quantile(double *v, unsigned n, double share)
{
	qsort(v, n, sizeof *v, by_value);
	return v[(unsigned)(share * (n - 1) + 0.5)];
}

static double median(double *v, unsigned n)
{
	return quantile(v, n, 0.5);
}

/* A chain of register additions: a cycle each on every CPU of interest. */
static double cycle_measure(void)
{
	enum { TRIES = 30, ROUNDS = 20000, ADDS = 16 };
	double best = 1e9;

	for (int t = 0; t < TRIES; t++) {
		uint64_t start = now_ns(), x = 0, one = 1;

		for (int i = 0; i < ROUNDS; i++) {
#ifdef __x86_64__
			__asm__ volatile(".rept 16\n\tadd %1, %0\n\t.endr" : "+r"(x) : "r"(one));
#elif defined __aarch64__
			__asm__ volatile(".rept 16\n\tadd %0, %0, %1\n\t.endr"
					 : "+r"(x)
					 : "r"(one));
#endif
		}
		double ns = (double)(now_ns() - start) / (ROUNDS * ADDS);
		best = ns < best ? ns : best;
	}
	return best;
}

/* --- the machine --------------------------------------------------------------------- */

/* What multiplies a cycle can begin: of one 32-bit or 64-bit register, of one vector. */
static const struct limit {
	const char *cpu;
	double word32, word64, vector;
	const char *source;
} limits[] = {
	{ "Zen 5", 3, 3, 2,
	  "measured on an EPYC (Zen 5): independent chains of imul, vpmulld, vpmullq, vpmuludq" },
	{ "Cortex-A76", 1, 1.0 / 3, 0.5, "LLVM's Neoverse N1 model: MUL W, MUL X, MUL v.4s" },
	{ "unknown", 0, 0, 0, "none: no share is shown" },
};

static const struct limit *machine_limit(const char *part)
{
#ifdef __x86_64__
	unsigned a, b, c, d;

	(void)part;
	if (__get_cpuid(0, &a, &b, &c, &d) && b == signature_AMD_ebx &&
	    __get_cpuid(1, &a, &b, &c, &d) && (a >> 8 & 15) + (a >> 20 & 255) == 0x1a)
		return &limits[0];
	return &limits[2];
#else
	/* MIDR part numbers of Cortex-A76 and Neoverse N1 */
	return strstr(part, "0xd0b") || strstr(part, "0xd0c") ? &limits[1] : &limits[2];
#endif
}

/* The value of the first such line of /proc/cpuinfo. */
static void machine_read(const char *key, char *value, size_t size)
{
	FILE *f = fopen("/proc/cpuinfo", "r");
	char line[256];

	snprintf(value, size, "unknown");
	while (f && fgets(line, sizeof line, f))
		if (!strncmp(line, key, strlen(key)) && strchr(line, ':')) {
			snprintf(value, size, "%s", strchr(line, ':') + 2);
			value[strcspn(value, "\n")] = '\0';
			break;
		}
	if (f)
		fclose(f);
}

static uint32_t machine_has(void)
{
	uint32_t has = 0;

#ifdef __x86_64__
	__builtin_cpu_init();
	has |= __builtin_cpu_supports("sse4.1") ? LANE_CPU_SSE41 : 0;
	has |= __builtin_cpu_supports("avx2") ? LANE_CPU_AVX2 : 0;
	has |= __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") ?
		       LANE_CPU_AVX512 :
		       0;
#elif defined __aarch64__
	has |= LANE_CPU_NEON;
#endif
	return has;
}

/* --- bodies ----------------------------------------------------------------------------- */

/* Rounds a cycle when the multiplier is never idle. */
static double body_limit(const struct limit *limit, const struct lane_body *b)
{
	/* multiplies a round: scalar and AVX-512; of 64 bits by AVX2 */
	static const double native[] = { 1, 1, 2 }, halves[] = { 1, 2, 6 };
	double word = b->alg == LANE_FNV1A32 ? limit->word32 : limit->word64;
	double bits = lane_alg_bits(b->alg);

	if (b->name[strlen(b->name) - 1] == 'w') /* 64 bits a lane, one multiply each */
		return limit->vector * (b->needs == LANE_CPU_AVX2 ? 256 : 512) / 64;
	switch (b->needs) {
	case 0:
		return word / native[b->alg];
	case LANE_CPU_SSE41:
		return limit->vector * 128 / bits / halves[b->alg];
	case LANE_CPU_AVX2:
		return limit->vector * 256 / bits / halves[b->alg];
	case LANE_CPU_AVX512:
		return limit->vector * 512 / bits / native[b->alg];
	default: /* NEON; mixed with scalar: both */
		return limit->vector * 128 / bits + (strchr(b->name, 's') ? word : 0);
	}
}

static uint64_t plain_ns(enum lane_alg alg, uint64_t n, uint64_t *hash)
{
	uint64_t start = now_ns();

	*hash = lane_plain(alg, lane_alg_seed(alg), n);
	return now_ns() - start;
}

/* Median ns a pass, and the median of its ratio to a round of the plain loop. */
static double body_pass(const struct lane_body *b, double *ratio)
{
	static uint64_t column[2][LANES_MAX] __attribute__((aligned(64)));
	uint64_t passes = BODY_NS * UINT64_C(1000) / b->pass_ps, sum;
	double pass[PAIRS], ratios[PAIRS];

	for (int p = 0; p < PAIRS; p++) {
		double plain = (double)plain_ns(b->alg, passes, &sum);
		uint64_t start = now_ns();

		b->run(column[0], column[1], passes);
		pass[p] = (double)(now_ns() - start);
		ratios[p] = pass[p] / plain;
		pass[p] /= (double)passes;
	}
	*ratio = median(ratios, PAIRS);
	return median(pass, PAIRS);
}

static void body_bench(const struct limit *limit, const struct lane_body *b)
{
	double ratio, pass = body_pass(b, &ratio), most = body_limit(limit, b);
	double share = most ? b->lanes / (pass / cycle_ns) / most : 0;

	if (json)
		printf("{\"bench\":\"lane\",\"table\":\"body\",\"alg\":\"%s\",\"body\":\"%s\","
		       "\"lanes\":%u,\"pass_ns\":%.3f,\"round_ns\":%.4f,\"pass_ratio\":%.3f,"
		       "\"speedup\":%.2f,\"limit_share\":%.3f}\n",
		       lane_alg_name(b->alg), b->name, b->lanes, pass, pass / b->lanes, ratio,
		       b->lanes / ratio, share);
	else
		printf("%-8s %-10s %5u %9.3f %9.4f %8.2f %8.1fx %7.0f %%\n", lane_alg_name(b->alg),
		       b->name, b->lanes, pass, pass / b->lanes, ratio, b->lanes / ratio,
		       100 * share);
}

static void bodies_bench(const struct limit *limit, uint32_t has)
{
	static const struct lane_body *const tables[] = { lane_scalar, lane_sse41, lane_avx2,
							  lane_avx512, lane_neon };

	if (!json)
		printf("\n%-8s %-10s %5s %9s %9s %8s %9s %9s\n", "", "body", "lanes", "ns/pass",
		       "ns/round", "ratio", "speed-up", "of limit");
	for (enum lane_alg alg = 0; alg < LANE_ALGS; alg++)
		for (unsigned t = 0; t < array_size(tables); t++)
			for (const struct lane_body *b = tables[t]; b->name; b++)
				if (b->alg == alg && !(b->needs & ~has))
					body_bench(limit, b);
}

/* --- the engine --------------------------------------------------------------------------- */

static struct lane *engine(uint32_t features)
{
	static void *memory;
	struct lane *l;

	if (!memory)
		memory = aligned_alloc(lane_align(), round_up(lane_footprint(), lane_align()));
	must(memory);
	l = lane_init(memory, LANES_MAX, features);
	/* As the responder does it: the clock that costs no system call. */
	for (uint64_t start = wall_ns(); lane_sample(l); start = wall_ns())
		lane_sampled(l, wall_ns() - start);
	return l;
}

/* k equal jobs from put to the last take; every result is compared. */
static uint64_t engine_ns(struct lane *l, enum lane_alg alg, unsigned k, uint64_t n, uint64_t hash)
{
	struct lane_job job = { .n = n, .seed = lane_alg_seed(alg), .alg = alg };
	struct lane_result result;
	uint64_t start = now_ns();

	for (job.tag = 0; job.tag < k; job.tag++)
		must(lane_put(l, &job));
	while (lane_busy(l)) {
		lane_step(l, BUDGET_PS);
		while (lane_take(l, &result))
			must(result.hash == hash);
	}
	return now_ns() - start;
}

/* A figure that the design asks for, and whether it was reached. */
static void bar(const char *what, double got, double want, bool at_most)
{
	bool holds = at_most ? got <= want : got >= want;

	if (json)
		printf("{\"bench\":\"lane\",\"table\":\"bar\",\"bar\":\"%s\",\"got\":%.3f,"
		       "\"want\":%.3f,\"holds\":%s}\n",
		       what, got, want, holds ? "true" : "false");
	else
		printf("  %s: %.3f, %s %.2f: %s\n", what, got, at_most ? "at most" : "at least",
		       want, holds ? "holds" : "MISSED");
}

static double jobs_bench(struct lane *l, const char *cpu, enum lane_alg alg, unsigned k, int pairs)
{
	double all[LONE_PAIRS], ratio[LONE_PAIRS];
	struct lane_row row;
	uint64_t hash;

	for (int p = 0; p < pairs; p++) {
		double plain = (double)plain_ns(alg, N_DEFAULT, &hash);

		all[p] = (double)engine_ns(l, alg, k, N_DEFAULT, hash);
		ratio[p] = all[p] / plain;
	}
	double ms = median(all, (unsigned)pairs) / NS_PER_MS, r = median(ratio, (unsigned)pairs);
	must(lane_row(l, lane_choice(l, alg, k), &row));
	if (json)
		printf("{\"bench\":\"lane\",\"table\":\"engine\",\"cpu\":\"%s\",\"alg\":\"%s\","
		       "\"k\":%u,\"body\":\"%s\",\"n\":%d,\"ms\":%.3f,\"ratio\":%.4f,"
		       "\"speedup\":%.2f}\n",
		       cpu, lane_alg_name(alg), k, row.name, N_DEFAULT, ms, r, k / r);
	else
		printf("%-8s %-8s %5u  %-10s %9.2f %9.3f %8.1fx\n", cpu, lane_alg_name(alg), k,
		       row.name, ms, r, k / r);
	return r;
}

/* With the features of a CPU that has no more than these. */
static void engine_bench(const char *cpu, uint32_t features, enum lane_alg algs)
{
	static const unsigned jobs[] = { 1, 2, 4, 8, 16, 32, 64, 128 };
	struct lane *l = engine(features);
	double ratio[LANES_MAX + 1] = { 0 };

	for (enum lane_alg alg = 0; alg < algs; alg++)
		for (unsigned j = 0; j < array_size(jobs); j++) {
			unsigned k = jobs[j];
			int pairs = alg == LANE_MIX64 ? 3 : k == 1 ? LONE_PAIRS : PAIRS;
			double r = jobs_bench(l, cpu, alg, k, pairs);

			if (alg == LANE_FNV1A32)
				ratio[k] = r;
		}
	bar("lone job of fnv1a32, ratio", ratio[1], 1.03, true);
	if (features & LANE_CPU_AVX512) {
		bar("64 jobs of fnv1a32 on AVX-512, speed-up", 64 / ratio[64], 40, false);
	} else if (features & LANE_CPU_AVX2) {
		bar("8 jobs of fnv1a32 on AVX2, ratio", ratio[8], 1.15, true);
		bar("32 jobs of fnv1a32 on AVX2, speed-up", 32 / ratio[32], 25, false);
		bar("64 jobs of fnv1a32 on AVX2, speed-up", 64 / ratio[64], 25, false);
	}
}

static void engines_bench(uint32_t has)
{
	if (!json)
		printf("\n%-8s %-8s %5s  %-10s %9s %9s %9s\n", "cpu", "jobs of", "10M", "narrowest",
		       "ms", "ratio", "speed-up");
	engine_bench("this", has, LANE_ALGS);
	if (has & LANE_CPU_AVX512)
		engine_bench("avx2", LANE_CPU_SSE41 | LANE_CPU_AVX2, LANE_ALGS);
	if (has & LANE_CPU_AVX2)
		engine_bench("sse4.1", LANE_CPU_SSE41, LANE_FNV1A32 + 1);
	engine_bench("scalar", 0, LANE_FNV1A32 + 1);
}

/* --- slices ------------------------------------------------------------------------------------ */

static uint64_t random_next(void)
{
	static uint64_t x = 0x9e3779b97f4a7c15;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x >> 11;
}

/* 100 ... 10M rounds, as often of one order of magnitude as of another. */
static uint64_t random_n(void)
{
	uint64_t most = 1000;

	for (unsigned d = random_next() % 5; d; d--)
		most *= 10;
	return 100 + random_next() % most;
}

/* Keep `jobs` going: of one algorithm and without end, or of all and any length. */
static void slice_fill(struct lane *l, unsigned jobs, bool mixed)
{
	struct lane_job job = { .n = UINT64_MAX, .alg = LANE_FNV1A32 };

	while (lane_busy(l) < jobs) {
		if (mixed) {
			job.n = random_n();
			job.alg = random_next() % LANE_ALGS;
		}
		job.tag = (uint32_t)random_next();
		must(lane_put(l, &job));
	}
}

/* What a slice spends its time on. */
struct mix {
	const char *name;
	unsigned jobs; /* 0: no engine, but the plain loop for as long */
	bool mixed, leave;
};

static void slice_run(struct lane *l, const struct mix *mix, double *own, double *wall)
{
	struct lane_result result;
	uint64_t hash;

	if (mix->jobs)
		slice_fill(l, mix->leave ? 1 + random_next() % mix->jobs : mix->jobs, mix->mixed);
	uint64_t w = wall_ns(), o = now_ns();
	if (mix->jobs)
		lane_step(l, BUDGET_PS);
	else
		plain_ns(LANE_FNV1A32, BUDGET_PS / lane_pass_ps(l, LANE_FNV1A32, 1), &hash);
	*own = (double)(now_ns() - o) / (SLICE_US * NS_PER_US);
	*wall = (double)(wall_ns() - w) / (SLICE_US * NS_PER_US);
	while (lane_take(l, &result))
		;
}

/* Returns the p99 of the slices' own time. */
static double slice_bench(uint32_t has, const struct mix *mix, double noise)
{
	static double own[SLICES], wall[SLICES];
	struct lane *l = engine(has);

	for (unsigned s = 0; s < SLICES; s++)
		slice_run(l, mix, &own[s], &wall[s]);
	double p50 = median(own, SLICES), p99 = quantile(own, SLICES, 0.99);
	double wall99 = quantile(wall, SLICES, 0.99), most = wall[SLICES - 1];
	if (json)
		printf("{\"bench\":\"lane\",\"table\":\"slice\",\"mix\":\"%s\",\"slice_us\":%d,"
		       "\"own_p50\":%.3f,\"own_p99\":%.3f,\"wall_p99\":%.3f,\"wall_max\":%.3f}\n",
		       mix->name, SLICE_US, p50, p99, wall99, most);
	else
		printf("%-34s %8.3f %8.3f %9.3f %9.3f\n", mix->name, p50, p99, wall99, most);
	if (mix->jobs) {
		bar("own p99 over the budget", p99, 1.2, true);
		bar("own p99 over that of the plain loop", p99 / noise, 1.2, true);
	}
	return p99;
}

static void slices_bench(uint32_t has)
{
	static const struct mix mixes[] = {
		{ "the plain loop: the noise here", 0, false, false },
		{ "1 job", 1, false, false },
		{ "64 equal", 64, false, false },
		{ "64 of any algorithm and length", 64, true, false },
		{ "128 of any", LANES_MAX, true, false },
		{ "1 to 64, which join and leave", 64, true, true },
	};

	if (!json)
		printf("\n%-34s %8s %8s %9s %9s\n", "slices of 50 us, over that", "own p50",
		       "own p99", "wall p99", "wall max");
	double noise = slice_bench(has, &mixes[0], 1);
	for (unsigned m = 1; m < array_size(mixes); m++)
		slice_bench(has, &mixes[m], noise);
}

/* A job of no rounds from put to take. */
static void empty_bench(struct lane *l)
{
	struct lane_job job = { .n = 0, .alg = LANE_FNV1A32 };
	struct lane_result result;
	uint64_t start = now_ns();

	for (job.tag = 0; job.tag < EMPTY_JOBS; job.tag++) {
		must(lane_put(l, &job));
		lane_step(l, BUDGET_PS);
		must(lane_take(l, &result) && result.tag == job.tag);
	}
	double ns = (double)(now_ns() - start) / EMPTY_JOBS;
	printf(json ? "{\"bench\":\"lane\",\"empty_job_ns\":%.1f}\n" :
		      "\na job of no rounds, from put to take: %.1f ns\n",
	       ns);
}

/* One CPU throughout: this one. */
static void pin(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	sched_setaffinity(0, sizeof set, &set);
}

int main(int argc, char **argv)
{
	char cpu[128], part[128];
	uint32_t has = machine_has();

	json = argc > 1 && !strcmp(argv[1], "--json");
	pin();
	machine_read("model name", cpu, sizeof cpu);
	machine_read("CPU part", part, sizeof part);
	const struct limit *limit = machine_limit(part);
	cycle_ns = cycle_measure();
	printf(json ? "{\"bench\":\"lane\",\"cpu\":\"%s\",\"core\":\"%s\",\"cycle_ns\":%.4f,"
		      "\"limit\":{\"mul32\":%.2f,\"mul64\":%.2f,\"vector\":%.2f,\"source\":\"%s\"}}"
		      "\n" :
		      "%s (%s), a cycle is %.4f ns\n"
		      "multiplies a cycle: %.2f of 32 bits, %.2f of 64, %.2f of a vector; %s\n",
	       cpu, limit->cpu, cycle_ns, limit->word32, limit->word64, limit->vector,
	       limit->source);
	bodies_bench(limit, has);
	engines_bench(has);
	slices_bench(has);
	empty_bench(engine(has));
	return 0;
}
