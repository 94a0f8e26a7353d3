/* SPDX-License-Identifier: GPL-2.0-only */
#include "sources.h"

#include <stdlib.h>
#include <string.h>
#include "guard.h"

static const uint8_t none[16];

bool sources_init(struct sources *s, const struct limits *limits, int fd, unsigned thread,
		  unsigned slots)
{
	*s = (struct sources){ .fd = fd, .thread = thread, .slots = slots };
	s->peer = calloc(slots, sizeof *s->peer);
	if (s->peer)
		s->limits = limits;
	return s->peer;
}

void sources_fini(struct sources *s)
{
	free(s->peer);
	*s = (struct sources){ .fd = -1 };
}

/* The map has room for a source for each slot, so it is never full. */
static void look(struct sources *s, const struct worker *w, uint16_t id)
{
	uint8_t *counted = s->peer[id];
	struct conn_entry e;

	worker_describe(w, id, &e);
	if (e.state == CONN_free)
		memset(e.remote, 0, sizeof e.remote);
	if (!memcmp(counted, e.remote, sizeof e.remote))
		return;
	if (memcmp(counted, none, sizeof none))
		guard_ended(s->fd, s->thread, counted);
	memcpy(counted, e.remote, sizeof e.remote);
	if (memcmp(counted, none, sizeof none) && guard_opened(s->fd, s->thread, counted))
		memset(counted, 0, sizeof none);
}

static void forget(struct sources *s)
{
	for (unsigned id = 0; id < s->slots; id++) {
		if (memcmp(s->peer[id], none, sizeof none))
			guard_ended(s->fd, s->thread, s->peer[id]);
		memset(s->peer[id], 0, sizeof none);
	}
}

void sources_update(struct sources *s, struct worker *w)
{
	bool wanted = __atomic_load_n(&s->limits->conns, __ATOMIC_RELAXED);
	uint16_t id;

	if (wanted && !s->counts)
		for (unsigned slot = 0; slot < s->slots; slot++)
			look(s, w, (uint16_t)slot);
	if (!wanted)
		forget(s);
	s->counts = wanted;
	while (worker_moved(w, &id) && wanted)
		look(s, w, id);
}
