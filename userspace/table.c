/* SPDX-License-Identifier: GPL-2.0-only */
#include "table.h"

#include "base.h"

static const char *const alg_names[ALGS] = {
#define X(name) [ALG_##name] = #name,
	ALG_LIST(X)
#undef X
};

static const char *const state_names[] = {
#define X(name) [TABLE_##name] = #name,
	TABLE_LIST(X)
#undef X
};

static const struct table_choice *choice_of(const struct lane_table *t, enum abi_alg alg)
{
	return (const struct table_choice *)&t->fnv1a32 + alg;
}

static uint32_t bodies_of(const struct lane_table *t)
{
	return (uint32_t)min_u64(t->bodies, LANE_BODIES_MAX);
}

static uint32_t jobs_of(const struct lane_table *t)
{
	return (uint32_t)min_u64(t->lanes, LANES_MAX);
}

/* --- text --------------------------------------------------------------------- */

static void print_bodies(FILE *to, const struct lane_table *t, enum abi_alg alg)
{
	double one = choice_of(t, alg)->pass_ps[1];

	fprintf(to, "%-10s %10s %12s %16s %8s\n", alg_names[alg], "lanes", "ns a pass",
		"ns a round", "work");
	for (uint32_t i = 0; i < bodies_of(t); i++) {
		const struct table_body *b = &t->body[i];

		if (b->alg == alg && b->lanes)
			fprintf(to, "  %-8.12s %10u %12.3f %16.4f %8.1f\n", b->name, b->lanes,
				b->pass_ps / 1e3, b->pass_ps / 1e3 / b->lanes,
				one * b->lanes / b->pass_ps);
	}
}

/* The bodies that advance k jobs: "avx2x1 avx512x4", and how often where more than once. */
static void print_parts(FILE *to, const struct lane_table *t, const struct table_choice *c,
			uint32_t k)
{
	while (k) {
		uint32_t body = c->body[k], times = 0;
		const struct table_body *b = &t->body[min_u64(body, LANE_BODIES_MAX - 1)];

		for (; k && c->body[k] == body && b->lanes; times++)
			k -= (uint32_t)min_u64(k, b->lanes);
		if (!times)
			return; /* not our table */
		fprintf(to, " %.12s", b->name);
		if (times > 1)
			fprintf(to, "*%u", times);
	}
}

static void print_choices(FILE *to, const struct lane_table *t, enum abi_alg alg)
{
	const struct table_choice *c = choice_of(t, alg);
	double one = c->pass_ps[1];

	fprintf(to, "  %-8s %10s %12s %16s %8s  in\n", "", "jobs", "ns a pass", "ns a round",
		"work");
	for (uint32_t k = 1; k <= jobs_of(t);
	     k = k < jobs_of(t) ? (uint32_t)min_u64(2 * k, jobs_of(t)) : k + 1) {
		fprintf(to, "  %-8s %10u %12.3f %16.4f %8.1f ", "", k, c->pass_ps[k] / 1e3,
			c->pass_ps[k] / 1e3 / k, one * k / c->pass_ps[k]);
		print_parts(to, t, c, k);
		fputc('\n', to);
	}
}

void table_print(FILE *to, const struct lane_table *t)
{
	fprintf(to, "CPU %d, %u lanes, table %s\n", t->cpu, t->lanes,
		t->state < array_size(state_names) ? state_names[t->state] : "?");
	for (enum abi_alg alg = 0; alg < ALGS; alg++) {
		print_bodies(to, t, alg);
		print_choices(to, t, alg);
	}
}

/* --- JSON --------------------------------------------------------------------- */

static void print_choice_json(FILE *to, const struct lane_table *t, enum abi_alg alg)
{
	const struct table_choice *c = choice_of(t, alg);

	fprintf(to, ",\"%s\":[", alg_names[alg]);
	for (uint32_t k = 1; k <= jobs_of(t); k++)
		fprintf(to, "%s{\"jobs\":%u,\"pass_ps\":%u,\"body\":\"%.12s\"}", k > 1 ? "," : "",
			k, c->pass_ps[k], t->body[min_u64(c->body[k], LANE_BODIES_MAX - 1)].name);
	fputc(']', to);
}

void table_print_json(FILE *to, const struct lane_table *t)
{
	fprintf(to, "{\"cpu\":%d,\"lanes\":%u,\"state\":\"%s\",\"body\":[", t->cpu, t->lanes,
		t->state < array_size(state_names) ? state_names[t->state] : "?");
	for (uint32_t i = 0; i < bodies_of(t); i++) {
		const struct table_body *b = &t->body[i];

		fprintf(to,
			"%s{\"name\":\"%.12s\",\"alg\":\"%s\",\"lanes\":%u,\"pass_ps\":%u,"
			"\"builtin_ps\":%u}",
			i ? "," : "", b->name, b->alg < ALGS ? alg_names[b->alg] : "?", b->lanes,
			b->pass_ps, b->builtin_ps);
	}
	fputc(']', to);
	for (enum abi_alg alg = 0; alg < ALGS; alg++)
		print_choice_json(to, t, alg);
	fputc('}', to);
}
