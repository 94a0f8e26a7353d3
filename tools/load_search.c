/* SPDX-License-Identifier: GPL-2.0-only */
/* load_search.c - short runs, each judged; load_search.h has the story */
#include <math.h>
#include "load_search.h"
#include "stat_text.h"

static const char own_lag[] = "the generator was late itself";
static const char some_failed[] = "some failed";
/* Of a step that fails while the generator was late: a neighbour's hiccup seldom comes
 * twice, and a generator at its end is late each time. */
enum { TRIES = 2 };
static const double step_warm_s = 0.5;
static const double spare_share = 1.05; /* samples over those that are needed */

/* Why it does not hold; NULL: it does. */
static const char *judge(const struct load_plan *plan, const struct load_record *r,
			 uint64_t value_ns)
{
	if (r->outcome[LOAD_wrong])
		return "wrong hashes";
	if (load_record_failures(r) > r->outcome[LOAD_timeouts])
		return some_failed;
	if (r->outcome[LOAD_refused])
		return "some were refused";
	if (r->outcome[LOAD_timeouts] || r->outcome[LOAD_unsent] ||
	    (double)r->sent_in_time < 0.99 * (double)r->due)
		return "not all were answered in time";
	if (value_ns == LOAD_NONE)
		return "not enough samples";
	return value_ns < plan->find_ns ? NULL : "latency";
}

/* Would a plain run be invalid, or lag make up the percentile that is asked for? */
static bool was_late(const struct load_plan *plan, const struct load_record *r, uint64_t value_ns)
{
	static struct load_verdict v;

	load_verdict_own(&v, plan, r);
	return v.reasons || (value_ns != LOAD_NONE &&
			     load_hist_percentile(&r->lag, plan->find_ppm) > value_ns / 2);
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

static void show(const struct load_plan *plan, double rate, const struct load_step_made *s,
		 const char *more)
{
	char text[STAT_TEXT], percentile[16];

	if (plan->quiet)
		return;
	fprintf(stderr, "%12.1f/s  %s %s  %s%s%s\n", rate,
		load_percentile_text(percentile, plan->find_ppm),
		s->value_ns == LOAD_NONE ? "-" : time_text(text, s->value_ns),
		s->holds ? "holds" : "does not hold: ", s->why, more);
}

static struct load_step_made try_step(struct load_pool *p, double rate, double warm)
{
	const struct load_plan *plan = p->plan;
	const struct load_record *r = p->record;
	/* What comes later than that is above the limit anyhow. */
	uint64_t drain = min_u64(plan->timeout_ns, 4 * plan->find_ns + 100 * NS_PER_MS);
	struct load_step_made s = { .value_ns = LOAD_NONE };

	load_run(p, rate, warm, step_seconds(plan, rate), drain);
	if (load_hist_carries(&r->latency, plan->find_ppm))
		s.value_ns = load_hist_percentile(&r->latency, plan->find_ppm);
	const char *why = judge(plan, r, s.value_ns);
	s.holds = !why;
	s.why = why ? why : "";
	s.late = was_late(plan, r, s.value_ns);
	s.failures = load_record_failures(r);
	s.wrong = r->outcome[LOAD_wrong];
	/* Being late makes answers late, and crowds; it breaks none. */
	if (why && s.late && !s.wrong && why != some_failed)
		s.why = own_lag;
	return s;
}

static struct load_step_made make_step(struct load_pool *p, double rate, double warm)
{
	for (unsigned tries = 1;; tries++) {
		struct load_step_made s = try_step(p, rate, warm);
		bool again = s.why == own_lag && tries < TRIES;
		s.tries = tries;
		show(p->plan, rate, &s, again ? ": once more" : "");
		if (!again)
			return s;
	}
}

void load_search(struct load_find *f, struct load_pool *p, struct load_record *other,
		 struct load_record **best, double *rate)
{
	const struct load_plan *plan = p->plan;
	struct load_record *spare = other;
	double next;

	*best = NULL;
	while ((next = load_find_next(f)) > 0) {
		struct load_step_made s = make_step(
			p, next, f->steps ? fmin(plan->warm, step_warm_s) : plan->warm);
		load_find_tell(f, &s);
		if (!s.holds)
			continue;
		struct load_record *held = p->record;
		p->record = *best ? *best : spare;
		p->record->floor = held->floor;
		*best = held;
		*rate = next;
	}
	if (!*best || f->broken) {
		*best = p->record;
		*rate = f->step[f->steps - 1].rate;
	}
}

static void judge_bound(struct load_verdict *v, const struct load_find *f)
{
	const struct load_step_made *failed = load_find_failed(f);

	if (!failed || !failed->late)
		return;
	if (failed->why == own_lag)
		load_verdict_add(v,
				 "--find-max: the search ended at what this generator can, not the "
				 "server: --cpu=N --spin, or more of them");
	else
		load_verdict_add(
			v,
			"--find-max: the step of %.0f/s, which bounds the search, would be "
			"invalid as a run: the generator was late itself",
			failed->rate);
}

void load_search_judge(struct load_verdict *v, const struct load_find *f, const char *condition)
{
	const struct load_step_made *held = load_find_held(f);

	if (f->broken)
		load_verdict_add(v, "--find-max: wrong hashes at %.0f/s ended the search",
				 f->step[f->steps - 1].rate);
	else if (!held)
		load_verdict_add(v, "--find-max: at no rate did %s hold", condition);
	else if (held->late && !v->reasons)
		load_verdict_add(v,
				 "--find-max: the step of %.0f/s, which is the answer, would be "
				 "invalid as a run: the generator was late itself",
				 held->rate);
	if (!f->broken)
		judge_bound(v, f);
}
