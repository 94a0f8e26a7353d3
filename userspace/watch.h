/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * watch.h - does the ring still move, and if not, what is tried next
 *
 * Place    The I/O thread feeds a watch for each of its rings every 50 ms, does what it
 *          can do itself (kick, refill) and asks the starter for the rest. Pure.
 * Model    Each part has something that must move (progress) while something else says
 *          that it should (demand). Silence without demand is no fault, so an idle
 *          system is never touched.
 *
 *            part          progress             demand
 *            rx_ring       frames received      frames that XDP redirected
 *            fill          frames received      frames the kernel lost for want of an entry
 *            completions   completions          frames in flight
 *            nic_tx        the card's count     completions
 *
 *          A part that stands still is helped in steps, the next one when the last did
 *          not help in time; progress ends it at any step:
 *
 *            rx_ring, fill   refill --> rebind --> rung
 *            completions     kick   --> rebind --> rung
 *            nic_tx          kick   --> rung
 *
 *          Past the first step the ring is stuck: new connections go to the kernel. If
 *          the same part stands still again soon after, what helped last did not, and
 *          the step after it comes first. When nothing helped, and the starter has not
 *          given other rings, it begins again after a while: the fault may be over.
 *          A look that comes late (the process was stopped) proves nothing, and
 *          its time does not count. Nor does time without carrier: hold.
 * Threads  One.
 * Limits   With several queues rx_ring is that of all: XDP does not count by queue. So it
 *          names a fault of all of them; one alone shows as fill, or not at all. fill is
 *          for copy mode: a zero-copy driver looks at an empty fill ring as a matter of
 *          course, and asks by a flag to be woken, which ring_rx heeds each turn.
 * Units    ns of one clock; counters of any start, differences count.
 */
#ifndef WATCH_H
#define WATCH_H

#include "base.h"
#include "limits.h"

#define WATCH_LIST(X) \
	X(rx_ring, "XDP redirects frames, and none comes out of the RX ring") \
	X(fill, "the kernel finds no frame to receive into") \
	X(completions, "frames are given to the card, and none comes back") \
	X(nic_tx, "frames are said to be sent, and the card counts none")
enum watch_part {
#define X(name, cause) WATCH_##name,
	WATCH_LIST(X)
#undef X
		WATCH_PARTS,
};

enum watch_remedy {
	WATCH_NOTHING,
	WATCH_KICK,   /* ring_kick */
	WATCH_REFILL, /* ring_refill */
	WATCH_REBIND, /* the starter: close these rings, open and give them anew */
	WATCH_RUNG,   /* the starter: the next rung below; after it the sockets */
};

struct watch_reading {
	uint64_t now_ns;
	bool hold;                     /* no carrier, or set down */
	uint64_t redirected, received; /* of all queues; received: also what the rings lost */
	uint64_t ring_received;        /* of this one */
	uint64_t fill_lacked;          /* this one: rx_fill_empty, in copy mode */
	uint64_t completed, in_flight; /* this one */
	/* What the card says it has sent, and when it was asked. 0: not known, or it does
	 * not count zero-copy frames. */
	uint64_t nic_sent, nic_ns;
};

struct watch {
	struct watch_mark {
		uint64_t progress, demand; /* when it moved last */
		uint64_t since_ns;         /* since when there is demand */
	} mark[WATCH_PARTS];
	uint64_t look_ns;
	bool stalled;
	enum watch_part part;      /* that stands still, or did last */
	unsigned step;             /* of its ladder, counted from 0 */
	uint64_t step_ns, well_ns; /* when it was tried; when all was well again */
};

/* For new rings too. */
void watch_init(struct watch *w);

/* What to do now, once; mostly nothing. */
enum watch_remedy watch_look(struct watch *w, const struct watch_reading *r);

/* Is the ring of no use at present? */
static inline bool watch_stuck(const struct watch *w)
{
	return w->stalled && w->step;
}

/* What the starter is asked for, until the rings move or others are given:
 * WATCH_REBIND, WATCH_RUNG, or WATCH_NOTHING. */
enum watch_remedy watch_ask(const struct watch *w);

/* The same in a word, with the part and the queue; the larger, the worse. 0: nothing. */
#define WATCH_ASKED(remedy, part, queue) \
	((remedy) ? (unsigned)(remedy) << 16 | (unsigned)(part) << 8 | (queue) : 0u)
static inline enum watch_remedy watch_asked_remedy(unsigned asked)
{
	return asked >> 16;
}
static inline enum watch_part watch_asked_part(unsigned asked)
{
	return asked >> 8 & 0xff;
}
static inline unsigned watch_asked_queue(unsigned asked)
{
	return asked & 0xff;
}

const char *watch_part_name(enum watch_part part);
const char *watch_part_cause(enum watch_part part);

#endif
