/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdlib.h>
#include "metrics.h"
#include "stat.h"

static struct metrics_source source_of(const struct instance *in)
{
	const struct stats_report *r = &in->report;
	return (struct metrics_source){
		.name = in->name,
		.rung = stats_rung_name(r->mode.rung),
		.copy = stats_copy_name(r->mode.copy),
		.mode = &r->mode,
		.now_ns = r->now_ns,
		.heartbeat_ns = instance_heartbeat(in),
		.counters = &r->counters,
		.counter_blocks = 1,
		.busy_ns = r->busy_ns,
		.stages = &r->stages,
		.stage_blocks = 1,
	};
}

void prometheus_show(const struct set *set)
{
	struct metrics_source *sources = calloc(set->count, sizeof *sources);
	struct metrics m;
	char text[16 * METRICS_LINE];
	uint32_t count = 0;
	size_t length;
	for (uint32_t i = 0; sources && i < set->count; i++)
		if (!set->list[i]->err)
			sources[count++] = source_of(set->list[i]);
	metrics_begin(&m, sources, count);
	while ((length = metrics_write(&m, text, sizeof text)))
		fwrite(text, 1, length, stdout);
	free(sources);
}
