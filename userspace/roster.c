/* SPDX-License-Identifier: GPL-2.0-only */
#include "roster.h"

enum {
	SLOTS = LANES_MAX + LANE_EXPRESS,
	CORES = 1 + CREW_MAX, /* core 0 is this one */
	/* Pace: PACE_TABLE when the table is right. */
	PACE_TABLE = 1024,
	/* A slow core, until the first slice has been seen. */
	PACE_FIRST = 2 * PACE_TABLE,
	PACE_MIN = PACE_TABLE / 16,
	PACE_MAX = PACE_TABLE * 64,
	/* Beside its rounds a step takes up to 0.2 us (64 jobs, Zen 5). One of less than
	 * this cannot tell that from a slow core. */
	STEP_LEAST_PS = 1000000,
	/* What held up a core may be over: with each job that goes elsewhere an idle one
	 * is so much nearer to its table again. A pace of 10 is forgotten after 200. */
	FORGET = 32,
	/* Of the time on a core, so much more for each job that is there. */
	EVEN = 512,
	/* Nor do jobs that are over in less. */
	JOB_LEAST_NS = 100 * NS_PER_US,
};

struct job {
	uint64_t n;
	uint64_t begun_ns;
	uint32_t table_ps; /* a round of everything there when it came */
	uint16_t id;
	uint8_t alg;
	bool used, dropped;
};

struct core {
	struct hop *hop; /* NULL: this core */
	/* in its lanes, or on the way there and back; and those that are not short */
	unsigned jobs, lengthy;
	unsigned of[LANE_ALGS];
	uint32_t pace; /* of whole jobs: with all that happens between the slices */
	uint8_t free[SLOTS];
	struct job job[SLOTS];
};

struct roster {
	struct lane *lane;
	unsigned lanes, cores, wanted;
	unsigned look;      /* the core whose results are taken next */
	uint32_t step_pace; /* of a step of this core */
	uint64_t spent_ps;  /* in the last step */
	/* the forecast: a heap, the lane that is free first on top */
	unsigned heaped;
	struct free_lane {
		uint64_t at_ns;
		uint8_t core;
	} heap[CORES * LANES_MAX];
	struct core core[CORES];
};

_Static_assert(CORES *SLOTS < ROSTER_NONE, "a handle is core and slot");

size_t roster_footprint(void)
{
	return round_up(sizeof(struct roster), lane_align()) + lane_footprint();
}

static void core_init(struct core *c, struct hop *hop)
{
	c->hop = hop;
	c->pace = PACE_TABLE;
	for (unsigned i = 0; i < SLOTS; i++)
		c->free[i] = (uint8_t)(SLOTS - 1 - i);
}

struct roster *roster_init(void *memory, unsigned lanes, uint32_t features)
{
	struct roster *r = memory;
	uint8_t *behind = (uint8_t *)memory + round_up(sizeof *r, lane_align());

	r->lane = lane_init(behind, lanes, features);
	r->lanes = lanes;
	r->cores = 1;
	r->step_pace = PACE_FIRST;
	core_init(&r->core[0], NULL);
	return r;
}

void roster_crew(struct roster *r, struct hop *const *hop, unsigned n)
{
	must(n >= 1 && n <= CREW_MAX && r->cores == 1);
	for (unsigned i = 0; i < n; i++)
		core_init(&r->core[1 + i], hop[i]);
	r->cores = 1 + n;
}

/* --- which core ------------------------------------------------------------------- */

static uint32_t pass_ps(const struct roster *r, const struct core *c, enum lane_alg alg, unsigned k)
{
	return c->hop ? hop_pass_ps(c->hop, alg, k) : lane_pass_ps(r->lane, alg, k);
}

/* What one round of everything there takes by the table, with one job more of this
 * algorithm; LANE_ALGS: with none. */
static uint64_t table_ps(const struct roster *r, const struct core *c, enum lane_alg more)
{
	uint64_t sum = 0;

	for (enum lane_alg alg = 0; alg < LANE_ALGS; alg++)
		sum += pass_ps(r, c, alg, c->of[alg] + (alg == more));
	return sum;
}

/* And by the clock. */
static uint64_t round_ps(const struct roster *r, const struct core *c, enum lane_alg more)
{
	return table_ps(r, c, more) * c->pace / PACE_TABLE;
}

/* The rule of lane_put. */
static bool has_lane(const struct roster *r, const struct core *c, uint64_t n)
{
	return c->jobs < r->lanes + LANE_EXPRESS && (n <= LANE_SHORT || c->lengthy < r->lanes);
}

static bool computes(const struct roster *r, unsigned core, uint64_t n)
{
	return core || r->cores == 1 || n <= ROSTER_OWN;
}

/* CORES when none has a lane. */
static unsigned choose(const struct roster *r, const struct lane_job *job)
{
	uint64_t best_ps = UINT64_MAX;
	unsigned best = CORES;

	for (unsigned i = 0; i < r->cores; i++) {
		const struct core *c = &r->core[i];
		uint64_t ps;

		if (!computes(r, i, job->n) || !has_lane(r, c, job->n))
			continue;
		/* the only one, or nearer than all others */
		if (r->cores == 1 || job->n <= ROSTER_OWN)
			return i;
		/* where equal, to the emptier: samples are not exact to a percent */
		ps = round_ps(r, c, job->alg) * (EVEN + c->jobs) / EVEN;
		if (ps < best_ps) {
			best_ps = ps;
			best = i;
		}
	}
	return best;
}

/* --- jobs --------------------------------------------------------------------------- */

/* A job went to core i. Who has none cannot show that he is no longer slow. */
static void forget_pace(struct roster *r, unsigned i)
{
	for (unsigned k = 0; k < r->cores; k++) {
		struct core *c = &r->core[k];

		if (k != i && !c->jobs && c->pace > PACE_TABLE)
			c->pace -= (c->pace - PACE_TABLE + FORGET - 1) / FORGET;
	}
}

uint16_t roster_put(struct roster *r, uint16_t id, const struct lane_job *job, uint64_t now_ns)
{
	unsigned i = choose(r, job);
	struct core *c = &r->core[i];
	struct lane_job own = *job;
	uint8_t slot;

	if (i == CORES)
		return ROSTER_NONE;
	slot = c->free[SLOTS - 1 - c->jobs];
	own.tag = slot;
	must(c->hop ? hop_put(c->hop, &own) : lane_put(r->lane, &own));
	c->jobs++;
	c->lengthy += job->n > LANE_SHORT;
	c->of[job->alg]++;
	c->job[slot] = (struct job){
		.n = job->n,
		.begun_ns = now_ns,
		.table_ps = (uint32_t)table_ps(r, c, LANE_ALGS),
		.id = id,
		.alg = (uint8_t)job->alg,
		.used = true,
	};
	r->wanted++;
	forget_pace(r, i);
	return (uint16_t)(i * SLOTS + slot);
}

static void release(struct core *c, unsigned slot)
{
	must(c->job[slot].used);
	c->job[slot].used = false;
	c->lengthy -= c->job[slot].n > LANE_SHORT;
	c->of[c->job[slot].alg]--;
	c->free[SLOTS - c->jobs--] = (uint8_t)slot;
}

/* How the job compared with what the table says of a core as busy as when it came or
 * when it went, whichever was more. */
static void follow_job(const struct roster *r, struct core *c, const struct job *job, uint64_t ns)
{
	uint64_t ps, expected_ns, pace;

	if (ns < JOB_LEAST_NS)
		return;
	ps = max_u64(job->table_ps, table_ps(r, c, LANE_ALGS));
	if (__builtin_mul_overflow(job->n, ps, &expected_ns))
		return;
	expected_ns /= 1000;
	if (expected_ns < JOB_LEAST_NS)
		return;
	pace = min_u64(max_u64(ns * PACE_TABLE / expected_ns, PACE_MIN), PACE_MAX);
	c->pace = (uint32_t)((7 * (uint64_t)c->pace + pace) / 8);
}

/* The next result of that core, wanted or not. */
static bool take(struct roster *r, struct core *c, struct hop_result *got, uint64_t now_ns)
{
	struct lane_result own;

	if (c->hop)
		return hop_take(c->hop, got);
	if (!lane_take(r->lane, &own))
		return false;
	*got = (struct hop_result){
		.tag = own.tag,
		.hash = own.hash,
		.begun_ns = c->job[own.tag].begun_ns,
		.done_ns = now_ns,
	};
	return true;
}

static bool take_wanted(struct roster *r, struct core *c, struct roster_result *result,
			uint64_t now_ns)
{
	struct hop_result got;

	while (take(r, c, &got, now_ns)) {
		struct job *job = &c->job[got.tag];
		bool wanted = !job->dropped;

		must(got.tag < SLOTS && (wanted || c->hop) && (!got.dropped || !wanted));
		if (wanted) {
			follow_job(r, c, job, got.done_ns - got.begun_ns);
			*result = (struct roster_result){
				.hash = got.hash,
				.begun_ns = got.begun_ns,
				.done_ns = got.done_ns,
				.id = job->id,
			};
			r->wanted--;
		}
		release(c, got.tag);
		if (wanted)
			return true;
	}
	return false;
}

bool roster_take(struct roster *r, struct roster_result *result, uint64_t now_ns)
{
	for (unsigned i = 0; i < r->cores; i++) {
		struct core *c = &r->core[r->look];

		if (c->jobs && take_wanted(r, c, result, now_ns))
			return true;
		r->look = (r->look + 1) % r->cores;
	}
	return false;
}

void roster_drop(struct roster *r, uint16_t handle)
{
	struct core *c = &r->core[handle / SLOTS];
	unsigned slot = handle % SLOTS;

	must(handle < CORES * SLOTS && c->job[slot].used && !c->job[slot].dropped);
	r->wanted--;
	if (c->hop) {
		c->job[slot].dropped = true;
		must(hop_drop(c->hop, slot));
	} else {
		must(lane_drop(r->lane, slot));
		release(c, slot);
	}
}

unsigned roster_jobs(const struct roster *r)
{
	return r->wanted;
}

bool roster_busy(const struct roster *r)
{
	for (unsigned i = 0; i < r->cores; i++)
		if (r->core[i].jobs)
			return true;
	return false;
}

/* --- this core ------------------------------------------------------------------------ */

uint64_t roster_step(struct roster *r, uint64_t slice_ns)
{
	r->spent_ps = 0;
	if (lane_running(r->lane))
		r->spent_ps = lane_step(r->lane, slice_ns * 1000 * PACE_TABLE / r->step_pace);
	return r->spent_ps * r->step_pace / PACE_TABLE / 1000;
}

/* Quickly up, slowly down, so that a slice is rather too short than too long. */
void roster_stepped(struct roster *r, uint64_t ns)
{
	uint64_t pace;

	if (!r->spent_ps)
		return;
	/* Whoever interrupted the step is not its cost: at most twice what was. */
	pace = min_u64(ns * 1000 * PACE_TABLE / r->spent_ps, 2 * (uint64_t)r->step_pace);
	if (r->spent_ps < STEP_LEAST_PS && pace > r->step_pace)
		return;
	pace = min_u64(max_u64(pace, PACE_MIN), PACE_MAX);
	r->step_pace = (uint32_t)(pace > r->step_pace ? (r->step_pace + pace) / 2 :
							(7 * (uint64_t)r->step_pace + pace) / 8);
}

struct lane *roster_lane(struct roster *r)
{
	return r->lane;
}

void roster_calibrated(struct roster *r)
{
	r->step_pace = PACE_TABLE;
	r->core[0].pace = PACE_TABLE;
}

/* --- the forecast ------------------------------------------------------------------------ */

static void sink(struct roster *r, unsigned i)
{
	struct free_lane *heap = r->heap, top = heap[i];
	unsigned child;

	while ((child = 2 * i + 1) < r->heaped) {
		if (child + 1 < r->heaped && heap[child + 1].at_ns < heap[child].at_ns)
			child++;
		if (heap[child].at_ns >= top.at_ns)
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = top;
}

/* What so many rounds take on that core, as busy as it is now. */
static uint64_t takes_ns(const struct roster *r, const struct core *c, uint64_t n)
{
	uint64_t ns;

	/* --max-n times a thousand lanes: beyond 64 bits it is for ever anyway */
	return __builtin_mul_overflow(n, round_ps(r, c, LANE_ALGS), &ns) ? UINT64_MAX / 4 :
									   ns / 1000;
}

static void forecast_core(struct roster *r, unsigned i, uint64_t now_ns)
{
	const struct core *c = &r->core[i];
	unsigned lanes = 0;

	for (unsigned slot = 0; slot < SLOTS && lanes < r->lanes; slot++) {
		const struct job *job = &c->job[slot];

		if (!job->used || job->n <= LANE_SHORT)
			continue;
		r->heap[r->heaped++] = (struct free_lane){
			.at_ns = job->dropped ?
					 now_ns :
					 max_u64(job->begun_ns + takes_ns(r, c, job->n), now_ns),
			.core = (uint8_t)i,
		};
		lanes++;
	}
	for (; lanes < r->lanes; lanes++)
		r->heap[r->heaped++] = (struct free_lane){ .at_ns = now_ns, .core = (uint8_t)i };
}

void roster_forecast(struct roster *r, uint64_t now_ns)
{
	r->heaped = 0;
	for (unsigned i = r->cores > 1; i < r->cores; i++)
		forecast_core(r, i, now_ns);
	for (unsigned i = r->heaped / 2; i--;)
		sink(r, i);
}

uint64_t roster_free_ns(const struct roster *r)
{
	return r->heap[0].at_ns;
}

void roster_queue(struct roster *r, uint64_t n)
{
	r->heap[0].at_ns += takes_ns(r, &r->core[r->heap[0].core], n);
	sink(r, 0);
}
