/* SPDX-License-Identifier: GPL-2.0-only */
/* load_search.c - short runs, each judged; load_search.h has the story */
#include <math.h>
#include "load_search.h"
#include "load_verdict.h"
#include "stat_text.h"

static const char own_lag[] = "the generator was late itself";
static const double step_warm_s = 0.5;
static const double spare_share = 1.05; /* samples over those that are needed */

/* Why it does not hold; NULL: it does. */
static const char *judge(const struct load_plan *plan, const struct load_record *r,
			 uint64_t *value_ns)
{
	*value_ns = load_hist_carries(&r->latency, plan->find_ppm) ?
			    load_hist_percentile(&r->latency, plan->find_ppm) :
			    LOAD_NONE;
	if (load_record_failures(r) > r->outcome[LOAD_timeouts])
		return "some failed";
	if (r->outcome[LOAD_refused])
		return "some were refused";
	if (r->outcome[LOAD_timeouts] || (double)r->sent_in_time < 0.99 * (double)r->due)
		return "not all were answered in time";
	if (*value_ns == LOAD_NONE)
		return "not enough samples";
	if (*value_ns < plan->find_ns)
		return NULL;
	return load_hist_percentile(&r->lag, plan->find_ppm) > *value_ns / 2 ? own_lag : "latency";
}

double load_search_least(const struct load_plan *plan)
{
	return (double)load_hist_needed(plan->find_ppm) * spare_share / LOAD_STEP_S;
}

static double step_seconds(const struct load_plan *plan, double rate)
{
	double needed = (double)load_hist_needed(plan->find_ppm) / rate * spare_share;

	return fmin(fmax(plan->seconds, needed), LOAD_STEP_S);
}

static void show(const struct load_plan *plan, const struct load_find *f)
{
	const struct load_step_made *s = &f->step[f->steps - 1];
	char text[STAT_TEXT], percentile[16];

	if (plan->quiet)
		return;
	fprintf(stderr, "%12.1f/s  %s %s  %s%s\n", s->rate,
		load_percentile_text(percentile, plan->find_ppm),
		s->value_ns == LOAD_NONE ? "-" : time_text(text, s->value_ns),
		s->holds ? "holds" : "does not hold: ", s->why);
}

void load_search(struct load_find *f, struct load_pool *p, struct load_record *other,
		 struct load_record **best, double *rate)
{
	const struct load_plan *plan = p->plan;
	/* What comes later than that is above the limit anyhow. */
	uint64_t drain = min_u64(plan->timeout_ns, 4 * plan->find_ns + 100 * NS_PER_MS);
	struct load_record *spare = other;
	double next;

	*best = NULL;
	while ((next = load_find_next(f)) > 0) {
		uint64_t value;
		load_run(p, next, f->steps ? fmin(plan->warm, step_warm_s) : plan->warm,
			 step_seconds(plan, next), drain);
		const char *why = judge(plan, p->record, &value);
		load_find_tell(f, value, !why, why ? why : "");
		show(plan, f);
		if (why)
			continue;
		struct load_record *held = p->record;
		p->record = *best ? *best : spare;
		p->record->floor = held->floor;
		*best = held;
		*rate = next;
	}
	if (!*best) {
		*best = p->record;
		*rate = f->step[f->steps - 1].rate;
	}
}

bool load_search_own_limit(const struct load_find *f)
{
	const struct load_step_made *least = NULL;

	for (unsigned i = 0; i < f->steps; i++)
		if (!f->step[i].holds && (!least || f->step[i].rate < least->rate))
			least = &f->step[i];
	return least && least->why == own_lag;
}
