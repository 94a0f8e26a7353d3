/* SPDX-License-Identifier: GPL-2.0-only */
#include "wheel.h"

static uint64_t tick_of(uint64_t ns)
{
	return (ns + (1u << WHEEL_TICK_BITS) - 1) >> WHEEL_TICK_BITS;
}

void wheel_init(struct wheel *w, struct wheel_entry *entries, uint64_t now_ns)
{
	*w = (struct wheel){ .entry = entries, .tick = now_ns >> WHEEL_TICK_BITS };
}

static void unlink_entry(struct wheel *w, struct wheel_entry *e)
{
	if (e->prev)
		w->entry[e->prev - 1].next = e->next;
	else
		w->slot[e->slot - 1] = e->next;
	if (e->next)
		w->entry[e->next - 1].prev = e->prev;
	e->slot = 0;
}

/* In the slot of its deadline, or of the last tick of this round. */
static void link_entry(struct wheel *w, uint16_t id)
{
	struct wheel_entry *e = &w->entry[id];
	uint64_t tick = max_u64(tick_of(e->at), w->tick + 1);
	unsigned slot = min_u64(tick, w->tick + WHEEL_SLOTS - 1) % WHEEL_SLOTS;

	e->slot = (uint16_t)(slot + 1);
	e->prev = 0;
	e->next = w->slot[slot];
	if (e->next)
		w->entry[e->next - 1].prev = (uint16_t)(id + 1);
	w->slot[slot] = (uint16_t)(id + 1);
}

/* Ticks from now until the slot is emptied. */
static uint64_t slot_tick(const struct wheel *w, const struct wheel_entry *e)
{
	return w->tick + 1 +
	       (e->slot - 1u + WHEEL_SLOTS - (w->tick + 1) % WHEEL_SLOTS) % WHEEL_SLOTS;
}

void wheel_set(struct wheel *w, uint16_t id, uint64_t at_ns)
{
	struct wheel_entry *e = &w->entry[id];

	e->at = at_ns;
	if (!at_ns || (e->slot && slot_tick(w, e) <= tick_of(at_ns)))
		return;
	if (e->slot)
		unlink_entry(w, e);
	link_entry(w, id);
}

uint16_t wheel_due(struct wheel *w, uint64_t now_ns)
{
	uint64_t tick = now_ns >> WHEEL_TICK_BITS;

	while (w->tick < tick) {
		unsigned slot = (w->tick + 1) % WHEEL_SLOTS;
		uint16_t first = w->slot[slot];

		if (first) {
			uint16_t id = (uint16_t)(first - 1);
			struct wheel_entry *e = &w->entry[id];

			unlink_entry(w, e);
			if (e->at && e->at <= now_ns) {
				e->at = 0;
				return id;
			}
			if (e->at)
				link_entry(w, id);
			continue;
		}
		w->tick++;
	}
	return WHEEL_NONE;
}
