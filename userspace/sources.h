/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sources.h - how many connections each source has open, for --limit-conns
 *
 * Place    The I/O thread, each turn, for the map source_conns; the XDP program reads
 *          it at a SYN. bpf/guard.h.
 * Model    The worker says which slots have moved; the slot's peer is held against the
 *          one that was counted for it. While there is no limit nothing is counted;
 *          when one is set, all slots are looked at once.
 * Owner    What was counted is remembered here, 16 bytes a slot, touched by use only.
 * Threads  The limit may change at any time; the rest is the I/O thread's.
 */
#ifndef SOURCES_H
#define SOURCES_H

#include "abi.h"
#include "base.h"
#include "worker.h"

struct sources {
	const struct limits *limits; /* NULL: nothing is counted here */
	int fd;
	unsigned thread, slots;
	uint8_t (*peer)[16]; /* that are counted; zeros: none */
	bool counts;
};

/* False: no memory, nothing will be counted. fd stays the caller's. */
bool sources_init(struct sources *s, const struct limits *limits, int fd, unsigned thread,
		  unsigned slots);
void sources_fini(struct sources *s);

void sources_update(struct sources *s, struct worker *w);

static inline void sources_turn(struct sources *s, struct worker *w)
{
	if (unlikely(s->limits &&
		     (s->counts || __atomic_load_n(&s->limits->conns, __ATOMIC_RELAXED))))
		sources_update(s, w);
}

#endif
