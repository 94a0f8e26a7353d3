/* SPDX-License-Identifier: GPL-2.0-only */
#include "hop.h"

#include "spsc.h"

enum {
	SLOTS = LANES_MAX + LANE_EXPRESS,
	/* What may lie in the ring for one slot: the drop of a job that was done by
	 * then, the next job, and its drop. The job after that has to wait for a result,
	 * which the core gives after all three. */
	JOBS = 512,
	RESULTS = 256,
};
_Static_assert(JOBS >= 3 * SLOTS && RESULTS >= SLOTS, "neither ring can be full");
_Static_assert(SLOTS <= 256, "slots are bytes");

enum job_kind { JOB_PUT, JOB_DROP };

/* What crosses. */
struct job {
	uint64_t n, seed;
	uint8_t kind, slot, alg;
};

struct result {
	uint64_t hash, begun_ns, done_ns;
	uint8_t slot;
};

enum slot_state { SLOT_FREE, SLOT_SENT, SLOT_DROPPED };

/* The I/O thread's. */
struct near {
	unsigned lanes, busy, lengthy; /* as in lane.c, until the result is taken */
	bool unannounced;              /* something was sent since hop_must_wake */
	uint8_t free_slot[SLOTS];      /* SLOTS - busy of them */
	uint8_t state[SLOTS];
	bool is_lengthy[SLOTS];
	uint32_t tag[SLOTS];
};

/* The core's. */
struct far {
	struct lane *lane;
	unsigned fresh; /* accepted, and not yet begun; one slot may be there twice */
	uint8_t fresh_slot[JOBS];
	uint64_t begun_ns[SLOTS];
};

struct hop {
	struct spsc jobs, results;
	struct near near __attribute__((aligned(64)));
	struct far far __attribute__((aligned(64)));
	uint32_t asleep __attribute__((aligned(64)));
	/* written once each: built in, and measured */
	uint32_t measured __attribute__((aligned(64)));
	uint32_t pass_ps[2][LANE_ALGS][SLOTS + 1];
	struct job job_record[JOBS] __attribute__((aligned(64)));
	struct result result_record[RESULTS] __attribute__((aligned(64)));
};

/* --- making one -------------------------------------------------------------------------- */

static size_t lane_offset(void)
{
	return round_up(sizeof(struct hop), lane_align());
}

size_t hop_align(void)
{
	return max_u64(_Alignof(struct hop), lane_align());
}

size_t hop_footprint(void)
{
	return round_up(lane_offset() + lane_footprint(), hop_align());
}

static void write_table(struct hop *h, unsigned which)
{
	for (enum lane_alg alg = 0; alg < LANE_ALGS; alg++)
		for (unsigned k = 0; k <= SLOTS; k++)
			h->pass_ps[which][alg][k] = lane_pass_ps(h->far.lane, alg, k);
}

struct hop *hop_init(void *memory, unsigned lanes, uint32_t features)
{
	struct hop *h = memory;

	must((uintptr_t)memory % hop_align() == 0);
	memset(h, 0, sizeof *h);
	spsc_init(&h->jobs, h->job_record, JOBS, sizeof(struct job));
	spsc_init(&h->results, h->result_record, RESULTS, sizeof(struct result));
	h->near.lanes = lanes;
	for (unsigned i = 0; i < SLOTS; i++)
		h->near.free_slot[i] = (uint8_t)(SLOTS - 1 - i);
	h->far.lane = lane_init((uint8_t *)memory + lane_offset(), lanes, features);
	write_table(h, 0);
	return h;
}

/* --- the I/O thread's side ----------------------------------------------------------------- */

static void send(struct hop *h, const struct job *job)
{
	must(spsc_put(&h->jobs, job));
	h->near.unannounced = true;
}

/* The rule of lane_put. The core has at most as many jobs as have slots here, so
 * that its engine takes what is taken here. */
bool hop_put(struct hop *h, const struct lane_job *job)
{
	struct near *near = &h->near;
	bool lengthy = job->n > LANE_SHORT;
	uint8_t slot;

	must(job->alg < LANE_ALGS);
	if (near->busy == near->lanes + LANE_EXPRESS || (lengthy && near->lengthy == near->lanes))
		return false;
	near->lengthy += lengthy;
	slot = near->free_slot[SLOTS - 1 - near->busy++];
	near->state[slot] = SLOT_SENT;
	near->is_lengthy[slot] = lengthy;
	near->tag[slot] = job->tag;
	send(h, &(struct job){ .kind = JOB_PUT,
			       .slot = slot,
			       .alg = (uint8_t)job->alg,
			       .n = job->n,
			       .seed = job->seed });
	return true;
}

bool hop_drop(struct hop *h, uint32_t tag)
{
	for (unsigned slot = 0; slot < SLOTS; slot++) {
		if (h->near.state[slot] != SLOT_SENT || h->near.tag[slot] != tag)
			continue;
		h->near.state[slot] = SLOT_DROPPED;
		send(h, &(struct job){ .kind = JOB_DROP, .slot = (uint8_t)slot });
		return true;
	}
	return false;
}

bool hop_take(struct hop *h, struct hop_result *result)
{
	struct near *near = &h->near;
	struct result r;

	if (!spsc_take(&h->results, &r))
		return false;
	must(near->busy && near->state[r.slot] != SLOT_FREE);
	*result = (struct hop_result){ .tag = near->tag[r.slot] };
	result->dropped = near->state[r.slot] == SLOT_DROPPED;
	if (!result->dropped) {
		result->hash = r.hash;
		result->begun_ns = r.begun_ns;
		result->done_ns = r.done_ns;
	}
	near->state[r.slot] = SLOT_FREE;
	near->lengthy -= near->is_lengthy[r.slot];
	near->free_slot[SLOTS - near->busy--] = r.slot;
	return true;
}

unsigned hop_busy(const struct hop *h)
{
	return h->near.busy;
}

bool hop_must_wake(struct hop *h)
{
	if (!h->near.unannounced)
		return false;
	h->near.unannounced = false;
	return __atomic_exchange_n(&h->asleep, 0, __ATOMIC_ACQ_REL); /* B, C */
}

bool hop_measured(const struct hop *h)
{
	return __atomic_load_n(&h->measured, __ATOMIC_ACQUIRE); /* D */
}

const struct lane *hop_lane(const struct hop *h)
{
	return h->far.lane;
}

uint32_t hop_pass_ps(const struct hop *h, enum lane_alg alg, unsigned k)
{
	must(alg < LANE_ALGS && k <= SLOTS);
	return h->pass_ps[hop_measured(h)][alg][k];
}

/* --- the core's side ------------------------------------------------------------------------- */

static void give(struct hop *h, const struct result *r)
{
	must(spsc_put(&h->results, r));
}

bool hop_accept(struct hop *h, uint64_t *dropped)
{
	struct far *far = &h->far;
	unsigned taken = 0;
	struct job j;

	for (; taken < JOBS && spsc_take(&h->jobs, &j); taken++) {
		struct lane_job job = { .n = j.n, .seed = j.seed, .tag = j.slot, .alg = j.alg };

		if (j.kind == JOB_PUT) {
			must(lane_put(far->lane, &job));
			far->fresh_slot[far->fresh++] = j.slot;
		} else if (lane_drop(far->lane, j.slot)) {
			give(h, &(struct result){ .slot = j.slot });
			++*dropped;
		}
	}
	return taken;
}

uint64_t hop_step(struct hop *h, uint64_t budget_ps, uint64_t now_ns)
{
	struct far *far = &h->far;

	while (far->fresh)
		far->begun_ns[far->fresh_slot[--far->fresh]] = now_ns;
	return lane_running(far->lane) ? lane_step(far->lane, budget_ps) : 0;
}

unsigned hop_deliver(struct hop *h, uint64_t now_ns)
{
	struct lane_result r;
	unsigned n = 0;

	for (; lane_take(h->far.lane, &r); n++)
		give(h, &(struct result){ .hash = r.hash,
					  .begun_ns = h->far.begun_ns[r.tag],
					  .done_ns = now_ns,
					  .slot = (uint8_t)r.tag });
	return n;
}

bool hop_idle(const struct hop *h)
{
	return !lane_busy(h->far.lane);
}

bool hop_sample(struct hop *h)
{
	return lane_sample(h->far.lane);
}

void hop_sampled(struct hop *h, uint64_t ns)
{
	must(!h->measured);
	lane_sampled(h->far.lane, ns);
	if (!lane_calibrated(h->far.lane))
		return;
	write_table(h, 1);
	__atomic_store_n(&h->measured, 1, __ATOMIC_RELEASE); /* D */
}

bool hop_doze(struct hop *h)
{
	must(hop_idle(h));
	__atomic_exchange_n(&h->asleep, 1, __ATOMIC_ACQ_REL); /* B, C */
	return spsc_empty(&h->jobs);
}

/* --- both, and others ---------------------------------------------------------------------------- */

uint32_t *hop_word(struct hop *h)
{
	return &h->asleep;
}

void hop_rouse(struct hop *h)
{
	__atomic_exchange_n(&h->asleep, 0, __ATOMIC_ACQ_REL); /* B, C */
}
