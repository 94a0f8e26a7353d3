/* SPDX-License-Identifier: GPL-2.0-only */
#include "conns.h"

#ifdef HIST_OFF /* make bench B=stats */
enum { CONNS_OFF = true };
#else
enum { CONNS_OFF = false };
#endif

/* The rest of an entry is copied as words: a reader on another core sees each of
 * them whole, and seq tells it of a mixture. */
static void write_entry(struct conn_entry *to, const struct conn_entry *from)
{
	const uint64_t *words = (const uint64_t *)from;
	uint64_t first = words[0];
	uint32_t seq = to->seq + 1;

	__atomic_store_n(&to->seq, seq, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE); /* A */
	__atomic_store_n((uint32_t *)to + 1, (uint32_t)(first >> 32), __ATOMIC_RELAXED);
	for (size_t i = 1; i < sizeof *to / 8; i++)
		__atomic_store_n((uint64_t *)to + i, words[i], __ATOMIC_RELAXED);
	__atomic_store_n(&to->seq, seq + 1, __ATOMIC_RELEASE); /* B */
}
_Static_assert(offsetof(struct conn_entry, seq) == 0 && sizeof(struct conn_entry) % 8 == 0,
	       "seq is the first half of the first word");

static void publish_one(const struct conns *c, const struct worker *w, uint16_t id, uint64_t now_ns)
{
	struct conn_entry *to = &c->entry[id], e;

	worker_describe(w, id, &e);
	if (e.state == CONN_free && to->state == CONN_free)
		return;
	e.seen_ns = now_ns;
	if (e.state == CONN_socket)
		e.local_port = c->port;
	write_entry(to, &e);
}

void conns_publish(struct conns *c, const struct worker *w, uint64_t now_ns)
{
	uint16_t first = c->hand;

	if (!c->entry || CONNS_OFF)
		return;
	for (unsigned i = 0; i < CONNS_SHOWN; i++) {
		publish_one(c, w, c->hand, now_ns);
		c->hand = worker_after(w, c->hand);
		if (c->hand == first)
			return;
	}
}
