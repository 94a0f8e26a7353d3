/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * wheel.h - one deadline for each of many things
 *
 * Place    tcp has one for its connections, worker one for its sessions. Pure.
 * Model    A ring of slots, one for each tick (Varghese, Lauck 1987, scheme 4);
 *          an entry lies in the slot of its deadline, or of an earlier tick
 *          when the deadline was moved back since: then it is laid on when its
 *          slot comes round. So moving a deadline back, which every segment
 *          does, is one store.
 * Owner    The caller brings the entries, one for each id, zeroed.
 * Limits   Ids are 16-bit numbers below WHEEL_NONE.
 * Units    ns. A deadline is met up to one tick (4.2 ms) late, never early.
 */
#ifndef WHEEL_H
#define WHEEL_H

#include "base.h"

enum { WHEEL_NONE = 0xffff, WHEEL_SLOTS = 512, WHEEL_TICK_BITS = 22 };

struct wheel_entry {
	uint64_t at;         /* deadline; 0: none */
	uint16_t next, prev; /* ids + 1 in the slot's list; 0: end */
	uint16_t slot;       /* where it lies, + 1; 0: nowhere */
};

struct wheel {
	struct wheel_entry *entry;
	uint64_t tick;              /* the last tick whose slot was emptied */
	uint16_t slot[WHEEL_SLOTS]; /* id + 1 of the first entry */
};

void wheel_init(struct wheel *w, struct wheel_entry *entries, uint64_t now_ns);

/* Set, move or (at 0) clear the deadline of an id. */
void wheel_set(struct wheel *w, uint16_t id, uint64_t at_ns);

/* An id whose deadline has passed (it is cleared), or WHEEL_NONE. Call until
 * it says WHEEL_NONE. */
uint16_t wheel_due(struct wheel *w, uint64_t now_ns);

#endif
