/* SPDX-License-Identifier: GPL-2.0-only */
#include "watch.h"

enum { STEPS = 3 };

static const struct ladder {
	enum watch_remedy step[STEPS]; /* the rest: WATCH_NOTHING */
	unsigned still_ms;             /* so long without progress, in spite of demand */
	unsigned step_ms;              /* for the first remedy to show */
	unsigned least;                /* demand */
} ladder[WATCH_PARTS] = {
	[WATCH_rx_ring] = { { WATCH_REFILL, WATCH_REBIND, WATCH_RUNG },
			    WATCH_STILL_MS,
			    WATCH_STEP_MS,
			    WATCH_LEAST },
	[WATCH_fill] = { { WATCH_REFILL, WATCH_REBIND, WATCH_RUNG },
			 WATCH_STILL_MS,
			 WATCH_STEP_MS,
			 WATCH_LEAST },
	[WATCH_completions] = { { WATCH_KICK, WATCH_REBIND, WATCH_RUNG },
				WATCH_STILL_MS,
				WATCH_STEP_MS,
				1 },
	[WATCH_nic_tx] = { { WATCH_KICK, WATCH_RUNG },
			   WATCH_NIC_STILL_MS,
			   WATCH_NIC_STEP_MS,
			   WATCH_LEAST },
};

const char *watch_part_name(enum watch_part part)
{
	static const char *const name[] = {
#define X(word, cause) [WATCH_##word] = #word,
		WATCH_LIST(X)
#undef X
	};

	return part < WATCH_PARTS ? name[part] : "unknown";
}

const char *watch_part_cause(enum watch_part part)
{
	static const char *const cause_of[] = {
#define X(word, cause) [WATCH_##word] = cause,
		WATCH_LIST(X)
#undef X
	};

	return part < WATCH_PARTS ? cause_of[part] : "unknown";
}

void watch_init(struct watch *w)
{
	*w = (struct watch){ .look_ns = 0 };
}

/* --- what moves ------------------------------------------------------------------------ */

struct motion {
	uint64_t progress, demand;
	uint64_t at_ns;
};

static struct motion motion_of(const struct watch_reading *r, enum watch_part part)
{
	switch (part) {
	case WATCH_rx_ring:
		return (struct motion){ r->received, r->redirected, r->now_ns };
	case WATCH_fill:
		return (struct motion){ r->ring_received, r->fill_lacked, r->now_ns };
	case WATCH_completions: /* none in flight: no demand; what there is counts as new */
		return (struct motion){ r->completed, r->completed + r->in_flight, r->now_ns };
	case WATCH_nic_tx: /* by the clock of its readings: without new ones nothing is known */
		return (struct motion){ r->nic_sent, r->nic_sent ? r->completed : 0, r->nic_ns };
	case WATCH_PARTS:
		break;
	}
	return (struct motion){ 0 };
}

static void mark(struct watch_mark *to, const struct motion *m)
{
	*to = (struct watch_mark){ m->progress, m->demand, m->at_ns };
}

/* Completions: those in flight are wanted, whenever they were sent. */
static uint64_t wanted(const struct watch_mark *k, const struct motion *m, enum watch_part part)
{
	return part == WATCH_completions ? m->demand - m->progress : m->demand - k->demand;
}

/* Keep the mark; true if the part stands still. */
static bool stands_still(struct watch *w, const struct watch_reading *r, enum watch_part part)
{
	struct motion m = motion_of(r, part);
	struct watch_mark *k = &w->mark[part];

	if (m.progress != k->progress || !wanted(k, &m, part)) {
		mark(k, &m);
		return false;
	}
	return wanted(k, &m, part) >= ladder[part].least &&
	       m.at_ns - k->since_ns >= ladder[part].still_ms * (uint64_t)NS_PER_MS;
}

static void mark_all(struct watch *w, const struct watch_reading *r)
{
	for (enum watch_part part = 0; part < WATCH_PARTS; part++) {
		struct motion m = motion_of(r, part);

		mark(&w->mark[part], &m);
	}
}

/* --- what is tried ------------------------------------------------------------------------ */

static enum watch_remedy step_of(enum watch_part part, unsigned step)
{
	return step < STEPS ? ladder[part].step[step] : WATCH_NOTHING;
}

static unsigned patience_ms(enum watch_part part, enum watch_remedy tried)
{
	return tried == WATCH_REBIND ? WATCH_REBIND_MS :
	       tried == WATCH_RUNG   ? WATCH_RETRY_MS :
				       ladder[part].step_ms;
}

/* Of the last trouble: if it was this part, and not long ago, the step after. */
static unsigned first_step(const struct watch *w, enum watch_part part, uint64_t now_ns)
{
	if (!w->well_ns || part != w->part ||
	    now_ns - w->well_ns > WATCH_RELAPSE_MS * (uint64_t)NS_PER_MS)
		return 0;
	return step_of(part, w->step + 1) ? w->step + 1 : w->step;
}

static enum watch_remedy begin(struct watch *w, enum watch_part part, uint64_t now_ns)
{
	w->step = first_step(w, part, now_ns);
	w->stalled = true;
	w->part = part;
	w->step_ns = now_ns;
	return step_of(part, w->step);
}

static void end(struct watch *w, uint64_t now_ns)
{
	w->stalled = false;
	w->well_ns = now_ns;
}

static enum watch_remedy go_on(struct watch *w, const struct watch_reading *r)
{
	enum watch_remedy tried = step_of(w->part, w->step);

	if (r->now_ns - w->step_ns < patience_ms(w->part, tried) * (uint64_t)NS_PER_MS)
		return WATCH_NOTHING;
	if (!step_of(w->part, w->step + 1)) { /* at the end of the ladder: perhaps it is over */
		end(w, r->now_ns);
		mark_all(w, r);
		return WATCH_NOTHING;
	}
	w->step++;
	w->step_ns = r->now_ns;
	return step_of(w->part, w->step);
}

enum watch_remedy watch_look(struct watch *w, const struct watch_reading *r)
{
	uint64_t gap_ns = r->now_ns - w->look_ns;
	bool still[WATCH_PARTS];

	w->look_ns = r->now_ns;
	if (r->hold || gap_ns > WATCH_GAP_MS * (uint64_t)NS_PER_MS) {
		if (r->hold)
			w->stalled = false;
		w->step_ns = r->now_ns;
		mark_all(w, r);
		return WATCH_NOTHING;
	}
	for (enum watch_part part = 0; part < WATCH_PARTS; part++)
		still[part] = stands_still(w, r, part);
	if (w->stalled) {
		if (still[w->part])
			return go_on(w, r);
		end(w, r->now_ns);
		return WATCH_NOTHING;
	}
	for (enum watch_part part = 0; part < WATCH_PARTS; part++)
		if (still[part])
			return begin(w, part, r->now_ns);
	return WATCH_NOTHING;
}

enum watch_remedy watch_ask(const struct watch *w)
{
	enum watch_remedy asked = w->stalled ? step_of(w->part, w->step) : WATCH_NOTHING;

	return asked >= WATCH_REBIND ? asked : WATCH_NOTHING;
}
