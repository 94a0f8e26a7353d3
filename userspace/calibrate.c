/* SPDX-License-Identifier: GPL-2.0-only */
#include "calibrate.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cpu.h"
#include "table.h"

_Static_assert((int)ALG_fnv1a32 == LANE_FNV1A32 && (int)ALG_fnv1a64 == LANE_FNV1A64 &&
		       (int)ALG_mix64 == LANE_MIX64 && (int)ALGS == LANE_ALGS,
	       "one order of algorithms");

bool calibrate_sample(struct lane *l)
{
	uint64_t from_ns = cpu_now_ns();

	if (!lane_sample(l))
		return false;
	lane_sampled(l, cpu_now_ns() - from_ns);
	return true;
}

static void fill_choice(struct table_choice *to, const struct lane *l, enum lane_alg alg)
{
	for (unsigned k = 1; k <= LANES_MAX; k++) {
		to->pass_ps[k] = lane_pass_ps(l, alg, k);
		to->body[k] = (uint8_t)lane_choice(l, alg, k);
	}
}

void calibrate_table(struct lane_table *to, const struct lane *l, unsigned lanes, int cpu)
{
	struct lane_row row;
	unsigned i;

	memset(to, 0, sizeof *to);
	to->state = lane_calibrated(l) ? TABLE_measured : TABLE_built_in;
	to->cpu = cpu;
	to->lanes = lanes;
	for (i = 0; lane_row(l, i, &row); i++) {
		struct table_body *b = &to->body[i];

		snprintf(b->name, sizeof b->name, "%s", row.name);
		b->alg = (enum abi_alg)row.alg;
		b->lanes = row.lanes;
		b->pass_ps = row.pass_ps;
		b->builtin_ps = row.builtin_ps;
	}
	to->bodies = i;
	for (enum lane_alg alg = 0; alg < LANE_ALGS; alg++)
		fill_choice(&to->fnv1a32 + alg, l, alg);
}

int calibrate_print(int cpu, unsigned lanes)
{
	static struct lane_table table;
	cpu_set_t one;
	void *memory;
	struct lane *l;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof one, &one)) {
		fprintf(stderr, "saker: cannot run on CPU %d: %s\n", cpu, strerror(errno));
		return -errno;
	}
	memory = aligned_alloc(lane_align(), round_up(lane_footprint(), lane_align()));
	if (!memory) {
		fprintf(stderr, "saker: no memory\n");
		return -ENOMEM;
	}
	l = lane_init(memory, lanes, cpu_features());
	while (calibrate_sample(l))
		;
	calibrate_table(&table, l, lanes, cpu);
	table_print(stdout, &table);
	free(memory);
	return 0;
}
