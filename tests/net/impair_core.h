/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * impair_core.h - a bad network, one direction of it, from a seed
 *
 * Place    The relay between two namespaces (impair.c) and whole workers in
 *          virtual time (test_worker_sim.c) put frames in and take them out. No
 *          system call, no clock.
 * Model    What happens to a frame follows from the seed, the direction and the
 *          frame's number, by one draw for each question: an impairment that is
 *          turned on changes no draw of another. In this order:
 *
 *            mtu        longer than that, as IP counts: lost
 *            burst=P/Q  Gilbert-Elliott: P of the frames in the good state are the
 *                       first of a burst, Q of those in it the first behind it, so
 *                       a burst is 1/Q frames long in the mean; all of it is lost
 *            loss       lost, each for itself
 *            delay      later by that, and by up to `jitter` more, each for itself:
 *                       so jitter reorders, as a network of several paths does
 *            reorder    held back until `by` frames that came later have left, at
 *                       most for `hold` (nothing may come)
 *            duplicate  a second copy, with a jitter of its own
 *            corrupt    one bit behind the Ethernet header is flipped, in one copy
 *
 * Owner    Frames are copied in and out.
 * Limits   IMPAIR_QUEUE frames wait at once; beyond, they are counted and lost.
 * Units    Shares are of 1; time is ns, handed in.
 */
#ifndef IMPAIR_CORE_H
#define IMPAIR_CORE_H

#include <stdio.h>
#include <stdlib.h>
#include "base.h"
#include "wire.h"

enum {
	IMPAIR_FRAME = 1600, /* longer than any frame of MTU 1500 with a tag */
	IMPAIR_QUEUE = 4096, /* 40 ms of delay at 100,000 frames a second */
};

/* seen + duplicated = the four kinds of lost + sent, when the queue is empty. */
#define IMPAIR_LIST(X) \
	X(seen) \
	X(too_long) \
	X(lost_in_burst) \
	X(lost) \
	X(overflow) \
	X(delayed) \
	X(held) \
	X(overtaken) \
	X(duplicated) \
	X(corrupted) \
	X(sent)

struct impair_count {
#define X(name) uint64_t name;
	IMPAIR_LIST(X)
#undef X
};

struct impair_kind {
	double loss, burst, leave, reorder, duplicate, corrupt;
	uint64_t delay_ns, jitter_ns, hold_ns;
	unsigned by, mtu; /* mtu 0: no limit */
};

struct impair_frame {
	uint64_t at_ns;  /* leaves then */
	uint64_t number; /* of its coming */
	unsigned wait;   /* so many of those behind it leave before it; 0: not held */
	uint16_t next;   /* by at_ns; or the free list */
	uint16_t len;
	uint8_t bytes[IMPAIR_FRAME];
};

struct impair {
	struct impair_kind kind;
	struct impair_count count;
	uint64_t seed;
	bool in_burst;
	unsigned held; /* in the queue */
	uint16_t first, free;
	struct impair_frame frame[IMPAIR_QUEUE];
};

enum { IMPAIR_NONE = 0xffff };

enum impair_question {
	DRAW_BURST,
	DRAW_LOSS,
	DRAW_JITTER,
	DRAW_REORDER,
	DRAW_DUPLICATE,
	DRAW_COPY_JITTER,
	DRAW_CORRUPT,
	DRAW_BIT,
	DRAWS
};

/* Steele, Lea, Flood 2014: the output function of SplitMix64. */
static inline uint64_t impair_mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

static inline uint64_t impair_draw(const struct impair *d, enum impair_question what)
{
	return impair_mix(d->seed + (d->count.seen * DRAWS + what) * 0x9e3779b97f4a7c15);
}

static inline bool impair_chance(const struct impair *d, enum impair_question what, double share)
{
	return (double)(impair_draw(d, what) >> 11) < share * (double)(1ull << 53);
}

static inline void impair_init(struct impair *d, const struct impair_kind *kind, uint64_t seed,
			       unsigned direction)
{
	memset(&d->count, 0, sizeof d->count);
	d->kind = *kind;
	d->seed = impair_mix(2 * seed + direction + 1);
	d->in_burst = false;
	d->held = 0;
	d->first = IMPAIR_NONE;
	for (unsigned i = 0; i < IMPAIR_QUEUE; i++)
		d->frame[i].next = (uint16_t)(i + 1 < IMPAIR_QUEUE ? i + 1 : IMPAIR_NONE);
	d->free = 0;
}

/* --- in --------------------------------------------------------------------------- */

/* Behind all that leave at the same time or before. */
static inline struct impair_frame *impair_queue(struct impair *d, const uint8_t *bytes, size_t len,
						uint64_t at_ns)
{
	uint16_t *link = &d->first, id = d->free;
	struct impair_frame *f;

	if (id == IMPAIR_NONE || len > IMPAIR_FRAME) {
		d->count.overflow++;
		return NULL;
	}
	f = &d->frame[id];
	d->free = f->next;
	while (*link != IMPAIR_NONE && d->frame[*link].at_ns <= at_ns)
		link = &d->frame[*link].next;
	f->next = *link;
	*link = id;
	f->at_ns = at_ns;
	f->number = d->count.seen;
	f->wait = 0;
	f->len = (uint16_t)len;
	memcpy(f->bytes, bytes, len);
	return f;
}

static inline uint64_t impair_jitter(const struct impair *d, enum impair_question what)
{
	return d->kind.jitter_ns ? impair_draw(d, what) % (d->kind.jitter_ns + 1) : 0;
}

/* Does the frame end here? Counted. */
static inline bool impair_loses(struct impair *d, size_t len)
{
	const struct impair_kind *k = &d->kind;

	if (impair_chance(d, DRAW_BURST, d->in_burst ? k->leave : k->burst))
		d->in_burst = !d->in_burst;
	if (k->mtu && len > WIRE_ETH_LEN + k->mtu)
		return ++d->count.too_long;
	if (d->in_burst)
		return ++d->count.lost_in_burst;
	if (impair_chance(d, DRAW_LOSS, k->loss))
		return ++d->count.lost;
	return false;
}

static inline void impair_put(struct impair *d, const uint8_t *bytes, size_t len, uint64_t now_ns)
{
	const struct impair_kind *k = &d->kind;
	uint64_t later_ns = k->delay_ns + impair_jitter(d, DRAW_JITTER);
	struct impair_frame *f;
	bool hold;

	d->count.seen++;
	if (impair_loses(d, len))
		return;
	hold = impair_chance(d, DRAW_REORDER, k->reorder);
	f = impair_queue(d, bytes, len, now_ns + later_ns + (hold ? k->hold_ns : 0));
	d->count.delayed += f && later_ns;
	if (f && hold) {
		f->wait = k->by;
		d->count.held++;
		d->held++;
	}
	if (f && len > WIRE_ETH_LEN && impair_chance(d, DRAW_CORRUPT, k->corrupt)) {
		uint64_t bit = impair_draw(d, DRAW_BIT) % ((len - WIRE_ETH_LEN) * 8);
		f->bytes[WIRE_ETH_LEN + bit / 8] ^= (uint8_t)(1 << bit % 8);
		d->count.corrupted++;
	}
	if (impair_chance(d, DRAW_DUPLICATE, k->duplicate)) {
		d->count.duplicated++;
		impair_queue(d, bytes, len,
			     now_ns + k->delay_ns + impair_jitter(d, DRAW_COPY_JITTER));
	}
}

/* --- out -------------------------------------------------------------------------- */

/* Of the held ones that came before it, this one has overtaken each once more. */
static inline void impair_overtake(struct impair *d, uint64_t number, uint64_t now_ns)
{
	uint16_t ripe = IMPAIR_NONE, *ripe_end = &ripe, *link = &d->first;

	while (d->held && *link != IMPAIR_NONE) {
		struct impair_frame *f = &d->frame[*link];
		if (!f->wait || f->number >= number || --f->wait) {
			link = &f->next;
			continue;
		}
		d->held--;
		d->count.overtaken++;
		f->at_ns = now_ns;
		*ripe_end = *link;
		*link = f->next;
		ripe_end = &f->next;
	}
	*ripe_end = d->first;
	d->first = ripe;
}

/* When the next frame leaves; UINT64_MAX: none waits. */
static inline uint64_t impair_next(const struct impair *d)
{
	return d->first == IMPAIR_NONE ? UINT64_MAX : d->frame[d->first].at_ns;
}

/* The next frame that is due, or 0. */
static inline size_t impair_take(struct impair *d, uint8_t bytes[IMPAIR_FRAME], uint64_t now_ns)
{
	uint16_t id = d->first;
	struct impair_frame *f;

	if (impair_next(d) > now_ns)
		return 0;
	f = &d->frame[id];
	d->first = f->next;
	d->held -= f->wait > 0; /* its time is up */
	memcpy(bytes, f->bytes, f->len);
	f->next = d->free;
	d->free = id;
	d->count.sent++;
	impair_overtake(d, f->number, now_ns);
	return f->len;
}

/* --- options ------------------------------------------------------------------------ */

#define IMPAIR_HELP \
	"  loss=P        P percent lost, each for itself\n" \
	"  burst=P/Q     P percent begin a burst of losses, Q percent end it (Gilbert-Elliott)\n" \
	"  delay=MS      all later by MS milliseconds\n" \
	"  jitter=MS     and by up to MS more, each for itself (so some overtake)\n" \
	"  reorder=P     P percent held back until later ones have left\n" \
	"  by=K          so many later ones (1)\n" \
	"  hold=MS       but not longer (2)\n" \
	"  duplicate=P   P percent come twice\n" \
	"  corrupt=P     P percent with one bit flipped behind the Ethernet header\n" \
	"  mtu=N         IP packets of more than N bytes are lost\n"

static inline bool impair_option(struct impair_kind *k, const char *name, double v, double second)
{
	const struct {
		const char *name;
		double *share;
		uint64_t *ns;
		unsigned *number;
	} options[] = {
		{ "loss", .share = &k->loss },       { "burst", .share = &k->burst },
		{ "reorder", .share = &k->reorder }, { "duplicate", .share = &k->duplicate },
		{ "corrupt", .share = &k->corrupt }, { "delay", .ns = &k->delay_ns },
		{ "jitter", .ns = &k->jitter_ns },   { "hold", .ns = &k->hold_ns },
		{ "by", .number = &k->by },          { "mtu", .number = &k->mtu },
	};

	for (unsigned i = 0; i < array_size(options); i++) {
		if (__builtin_strcmp(options[i].name, name))
			continue;
		if (!(v >= 0) || (options[i].share ? v > 100 : v > 65535))
			return false;
		if (options[i].share == &k->burst)
			k->leave = second / 100;
		else if (second)
			return false;
		if (options[i].share)
			*options[i].share = v / 100;
		else if (options[i].ns)
			*options[i].ns = (uint64_t)(v * NS_PER_MS);
		else
			*options[i].number = (unsigned)v;
		return k->burst == 0 || (k->leave > 0 && k->leave <= 1);
	}
	return false;
}

/* A list like "loss=2,reorder=25,by=1" on top of what *k has. False: no such list. */
static inline bool impair_parse(struct impair_kind *k, const char *list)
{
	while (*list) {
		char name[16];
		double first, second = 0;
		int used = 0;

		if (sscanf(list, "%15[a-z]=%lf%n/%lf%n", name, &first, &used, &second, &used) < 2)
			return false;
		list += used;
		if ((*list && *list++ != ',') || !impair_option(k, name, first, second))
			return false;
	}
	return true;
}

static const struct impair_kind impair_fine = { .by = 1, .hold_ns = 2 * NS_PER_MS };

#endif
