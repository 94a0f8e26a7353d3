/* SPDX-License-Identifier: GPL-2.0-only */
/* load_run.c - the loop; load_run.h has the story */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
#include "load_run.h"

/* How long before a request is due the sleep ends. Timers of virtual machines were seen
 * 50 us late at p99; what is more than this shows as lag. */
static const uint64_t early_ns = 60 * NS_PER_US;
/* Shorter looks away are not worth a record. */
static const uint64_t gap_min_ns = 10 * NS_PER_US;

/* The longest sleep: who is stopped in it for longer than that notices it. */
static const uint64_t nap_ns = 20 * NS_PER_MS;

struct run {
	struct load_pool *pool;
	struct load_record *record;
	struct load_schedule schedule;
	uint64_t begin_ns, start_ns, end_ns; /* of the warm-up; of what is measured; of it all */
	uint64_t due_ns;                     /* of the next request */
	uint64_t look_ns;                    /* when we looked, or meant to wake */
	bool over;                           /* what is due now stays unsent */
	bool progress;
	uint64_t progress_ns;
};

void load_run_floor(struct load_record *r, double seconds)
{
	uint64_t last = load_now(), end = last + (uint64_t)(seconds * NS_PER_S);

	load_hist_clear(&r->floor);
	while (last < end) {
		uint64_t now = load_now();
		load_hist_record(&r->floor, now - last);
		last = now;
	}
}

/* --- what is due -------------------------------------------------------------------- */

static void set_due(struct run *run)
{
	uint64_t at = run->schedule.due_ns;

	run->due_ns = at == UINT64_MAX ? UINT64_MAX : run->begin_ns + at;
}

static bool all_sent(const struct run *run, uint64_t now_ns)
{
	return run->over ||
	       (run->schedule.mode == LOAD_CLOSED ? now_ns : run->due_ns) >= run->end_ns;
}

static void ask_one(struct run *run, uint64_t due_ns)
{
	const struct load_plan *plan = run->pool->plan;
	unsigned kind = load_schedule_pick(&run->schedule, plan->weights, plan->kinds);
	/* A closed loop's is due now: measured if the warm-up is over. */
	bool measured = (due_ns ? due_ns : load_now()) >= run->start_ns;

	load_schedule_take(&run->schedule);
	set_due(run);
	run->record->due += measured && due_ns;
	load_conn_ask(run->pool, kind, due_ns, measured);
}

/* All that is due by now_ns, as long as a connection is free. */
static inline void ask_due(struct run *run, uint64_t now_ns)
{
	if (run->schedule.mode == LOAD_CLOSED) {
		/* One that fails at once is free at once: it has its turn next time. */
		struct load_conn *last = run->pool->idle.last;
		while (run->pool->idle.first && now_ns < run->end_ns) {
			struct load_conn *c = run->pool->idle.first;
			ask_one(run, 0);
			if (c == last)
				break;
		}
		return;
	}
	while (!all_sent(run, now_ns) && run->due_ns <= now_ns && run->pool->idle.first)
		ask_one(run, run->due_ns);
}

/* Those that were due, and for which no connection was free until the end of all. Where
 * none was left at all, that is the server's doing. */
static void count_unsent(struct run *run, uint64_t now_ns)
{
	const struct load_pool *p = run->pool;
	bool alone = !p->asked && !p->idle.first && p->connect_fails;
	char what[96];

	snprintf(what, sizeof what, "never sent: all connections had ended: %s",
		 strerror(p->connect_error));
	while (run->schedule.mode != LOAD_CLOSED && run->due_ns < run->end_ns) {
		if (run->due_ns >= run->start_ns) {
			run->record->due++;
			if (alone)
				load_record_failed(run->record, LOAD_errors, run->due_ns, now_ns,
						   what);
			else
				load_record_unsent(run->record);
		}
		load_schedule_take(&run->schedule);
		set_due(run);
	}
}

/* --- looking ------------------------------------------------------------------------ */

static void note_gap(struct run *run, uint64_t now_ns)
{
	if (now_ns > run->look_ns + gap_min_ns && run->look_ns >= run->start_ns &&
	    run->look_ns < run->end_ns)
		load_hist_record(&run->record->gap, now_ns - run->look_ns);
	run->look_ns = now_ns;
}

/* When to wake at the latest. */
static uint64_t wake_ns(const struct run *run)
{
	uint64_t at = min_u64(load_pool_next_ns(run->pool), run->record->second_end_ns);

	if (run->look_ns < run->begin_ns)
		at = min_u64(at, run->begin_ns);
	if (run->pool->idle.first && !all_sent(run, run->look_ns))
		at = min_u64(at, run->due_ns > early_ns ? run->due_ns - early_ns : 0);
	return at;
}

static int look(struct run *run, struct epoll_event *event, uint64_t now_ns)
{
	uint64_t wake = run->pool->plan->spin ? 0 : min_u64(wake_ns(run), now_ns + nap_ns);

	if (wake <= now_ns)
		return epoll_wait(run->pool->epoll, event, LOAD_EVENTS, 0);
	struct timespec t = { (time_t)((wake - now_ns) / NS_PER_S),
			      (long)((wake - now_ns) % NS_PER_S) };
	int n = epoll_pwait2(run->pool->epoll, event, LOAD_EVENTS, &t, NULL);
	/* Asleep is not away; only what is slept over is. */
	run->look_ns = min_u64(load_now(), wake);
	return n;
}

static void show_progress(struct run *run, uint64_t now_ns)
{
	const struct load_record *r = run->record;
	double s = (double)(int64_t)(now_ns - run->start_ns) / NS_PER_S;

	if (!run->progress || now_ns < run->progress_ns)
		return;
	run->progress_ns = now_ns + NS_PER_S;
	if (s < 0)
		fprintf(stderr, "\r\033[Kwarming up");
	else
		fprintf(stderr, "\r\033[K%.0f s: %llu ok, %llu refused, %llu failed", s,
			(unsigned long long)r->outcome[LOAD_ok],
			(unsigned long long)r->outcome[LOAD_refused],
			(unsigned long long)load_record_failures(r));
}

static void begin(struct run *run, struct load_pool *p, double rate, double warm, double seconds)
{
	const struct load_plan *plan = p->plan;

	*run = (struct run){ .pool = p, .record = p->record };
	load_schedule_init(&run->schedule, plan->mode, rate, plan->burst, plan->seed);
	run->begin_ns = p->begin_ns = load_now() + NS_PER_MS;
	run->start_ns = run->begin_ns + (uint64_t)(warm * NS_PER_S);
	run->end_ns = run->start_ns + (uint64_t)(seconds * NS_PER_S);
	run->look_ns = load_now();
	run->progress = !plan->quiet && isatty(STDERR_FILENO);
	set_due(run);
	load_record_start(p->record, run->start_ns, run->end_ns);
}

void load_run(struct load_pool *p, double rate, double warm, double seconds, uint64_t drain_ns)
{
	const struct load_plan *plan = p->plan;
	struct epoll_event event[LOAD_EVENTS];
	struct run run;
	uint64_t now;

	begin(&run, p, rate, warm, seconds);
	for (now = load_now(); now < run.end_ns + 2 * drain_ns; now = load_now()) {
		/* From here on what is under way has as long, and nothing more is sent. */
		run.over = now >= run.end_ns + drain_ns;
		if (all_sent(&run, now) && !p->asked)
			break;
		note_gap(&run, now);
		if (now >= run.begin_ns)
			ask_due(&run, now);
		int n = look(&run, event, now);
		for (int i = 0; i < n; i++) {
			now = load_conn_event(p, event[i].data.ptr, event[i].events);
			/* In a closed loop all that were answered ask together: it is cheaper
			 * for both ends, and nothing is due before. */
			if (now >= run.begin_ns && plan->mode != LOAD_CLOSED)
				ask_due(&run, now);
		}
		load_pool_tend(p, now);
		load_record_tick(p->record, now);
		show_progress(&run, now);
	}
	count_unsent(&run, now);
	load_pool_abandon(p, now);
	load_record_finish(p->record);
	if (run.progress)
		fprintf(stderr, "\r\033[K");
}
