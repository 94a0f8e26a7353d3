/* SPDX-License-Identifier: GPL-2.0-only */
/* jobs.c - a request from when it is recognised to its result; roster.h has the lanes */
#include "worker_private.h"

/* --- admission --------------------------------------------------------------------- */

/* Only now is the time known when it was recognised. */
static void stamp_parsed(struct worker *w, struct session *s, uint64_t now_ns)
{
	s->parsed_ns = now_ns;
	if (s->req_stamp_ns)
		record(w, STAGE_steer, s->req_stamp_ns, s->req_pop_ns);
	record(w, STAGE_parse, s->req_pop_ns, now_ns);
}

static bool to_lane(struct worker *w, uint16_t id, uint64_t now_ns)
{
	struct session *s = &w->session[id];
	struct lane_job job = { .n = s->ask.n, .seed = s->ask.seed, .alg = s->ask.alg };

	s->job = roster_put(w->roster, id, &job, now_ns);
	if (s->job == ROSTER_NONE)
		return false;
	s->phase = PHASE_LANE;
	w->waiting--;
	return true;
}

static uint64_t max_wait_ns(const struct worker *w)
{
	return w->p.max_wait_ms * (uint64_t)NS_PER_MS;
}

static void turn_away(struct worker *w, uint16_t id, uint64_t wait_ns, uint64_t now_ns)
{
	w->waiting--;
	answer_busy(w, id, wait_ns, now_ns);
}

/* The head of the line, as long as there are lanes. Nobody waits longer than was
 * promised, should the forecast have been wrong. */
static void admit_line(struct worker *w, enum session_line which, uint64_t now_ns)
{
	uint16_t id;

	while ((id = w->line[which].first) != WORKER_NONE) {
		uint64_t waited_ns = now_ns - w->session[id].parsed_ns;

		if (!to_lane(w, id, now_ns)) {
			if (waited_ns <= max_wait_ns(w))
				return;
			count(w, STATS_http_busy_late);
			turn_away(w, id, waited_ns, now_ns);
		}
		line_take(w, which);
	}
}

/* How long those who come now will wait: the roster looks at its lanes again, when
 * it has not done so lately, and at those who wait already. */
static uint64_t forecast_wait_ns(struct worker *w, uint64_t now_ns)
{
	uint16_t id;

	if (now_ns - w->forecast_ns > FORECAST_US * NS_PER_US) {
		w->forecast_ns = now_ns;
		roster_forecast(w->roster, now_ns);
		for (id = w->line[LINE_LONG].first; id != WORKER_NONE;
		     id = w->session[id].next[LINE_LONG])
			roster_queue(w->roster, w->session[id].ask.n);
	}
	return max_u64(roster_free_ns(w->roster), now_ns) - now_ns;
}

/* No lane: wait, if it is not for too long. A short job waits for one of the lanes
 * that only short ones take, and which are soon free. */
static void wait_or_busy(struct worker *w, uint16_t id, uint64_t now_ns)
{
	bool is_short = w->session[id].ask.n <= LANE_SHORT;
	uint64_t wait_ns = is_short ? 0 : forecast_wait_ns(w, now_ns);

	if (wait_ns > max_wait_ns(w) || w->waiting > WAITING_MAX) {
		turn_away(w, id, wait_ns, now_ns);
		return;
	}
	if (!is_short)
		roster_queue(w->roster, w->session[id].ask.n);
	line_put(w, is_short ? LINE_SHORT : LINE_LONG, id);
}

static void admit_new(struct worker *w, uint64_t now_ns)
{
	uint16_t id;

	while ((id = line_take(w, LINE_NEW)) != WORKER_NONE) {
		struct session *s = &w->session[id];
		bool is_short = s->ask.n <= LANE_SHORT;

		stamp_parsed(w, s, now_ns);
		/* not before those who wait already */
		if (w->line[is_short ? LINE_SHORT : LINE_LONG].first != WORKER_NONE ||
		    !to_lane(w, id, now_ns))
			wait_or_busy(w, id, now_ns);
		else if (!is_short && w->forecast_ns)
			roster_queue(w->roster, s->ask.n); /* so one lane less is free */
	}
}

void jobs_admit(struct worker *w, uint64_t now_ns)
{
	admit_line(w, LINE_LONG, now_ns);
	admit_line(w, LINE_SHORT, now_ns);
	admit_new(w, now_ns);
}

/* --- slices and results ---------------------------------------------------------------- */

void jobs_step(struct worker *w, uint64_t now_ns)
{
	w->compute_ns = now_ns;
	w->slice_ns = roster_step(w->roster, w->p.slice_us * (uint64_t)NS_PER_US);
}

/* A slice's own length, or, when others took the core from it, what they took: a
 * body takes as long as it takes, so an eighth more is not its own. */
static void record_slice(struct worker *w, uint64_t now_ns)
{
	uint64_t ns = now_ns - w->compute_ns;

	if (!w->slice_ns || now_ns <= w->compute_ns)
		return;
	roster_stepped(w->roster, ns);
	if (ns > w->slice_ns + w->slice_ns / 8 + SLICE_NOISE_NS)
		record(w, STAGE_stolen, w->slice_ns, ns);
	else
		record(w, STAGE_slice, 0, ns);
}

bool jobs_take(struct worker *w, uint64_t now_ns)
{
	struct roster_result r;
	bool any = false;

	record_slice(w, now_ns);
	while (roster_take(w->roster, &r, now_ns)) {
		struct session *s = &w->session[r.id];

		any = true;
		must(s->phase == PHASE_LANE);
		s->hash = r.hash;
		record(w, STAGE_wait, s->parsed_ns, r.begun_ns);
		record(w, STAGE_compute, r.begun_ns, r.done_ns);
		/* another core's clock may be behind ours */
		s->lane_ns = max_u64(r.begun_ns, s->parsed_ns);
		s->result_ns = max_u64(r.done_ns, s->lane_ns);
		answer_result(w, r.id, now_ns);
	}
	return any;
}
