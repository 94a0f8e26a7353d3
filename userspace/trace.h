/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * trace.h - frames that go past the kernel, copied for who asks
 *
 * Place    One ring for each I/O thread, in the map `trace`: the thread puts
 *          (tracer.c), saker-stat trace takes. Pure.
 * Model    A lease: the reader writes what it wants, and until when; and renews
 *          that while it lives. Past that time the thread does nothing but look
 *          whether it is past, and a reader that died costs no more than that.
 *          Records go round a ring of bytes, in order, and across its end in two
 *          parts; head and tail count bytes and never wrap.
 * Owner    Bytes are copied in and out.
 * Threads  One puts, one takes, in processes that need not trust each other:
 *          neither believes a number of the other's before it has compared it.
 *
 *            I/O thread                        reader
 *            load until_ns  (relaxed)          store until_ns 0
 *            load run       (acquire, A)       write what is wanted
 *            read what is wanted               store run       (release, A)
 *                                              store until_ns  (release)
 *            load head      (acquire, B)       load tail       (acquire, C)
 *            write record                      read record
 *            store tail     (release, C)       store head      (release, B)
 *
 *          A: who sees the run sees what that reader wants; what is read while the
 *          next one writes carries the old run, by which the reader drops it. B: who
 *          sees the head may write where the record was. C: who sees the tail sees
 *          the record before it.
 * Limits   TRACE_BYTES; then trace_put says no, and it is counted.
 */
#ifndef TRACE_H
#define TRACE_H

#include "abi.h"
#include "base.h"

enum { TRACE_FRAME_MAX = FRAME_SIZE };
enum {
	TRACE_RECORD_MAX = sizeof(struct trace_record) + sizeof(struct trace_times) +
			   TRACE_FRAME_MAX
};

/* --- the I/O thread's side ------------------------------------------------- */

/* Does anybody want frames at this time? */
static inline bool trace_wanted(const struct trace_ring *r, uint64_t now_ns)
{
	return __atomic_load_n(&r->want.until_ns, __ATOMIC_RELAXED) > now_ns;
}

/* Copy what is wanted. */
void trace_look(const struct trace_ring *r, struct trace_want *want);

/* Is this Ethernet frame wanted? sent: by us, so that its destination is the client.
 * One whose headers cannot be read is wanted only by who wants all. */
bool trace_match(const struct trace_want *want, const uint8_t *frame, size_t len, bool sent);

struct trace_frame {
	const uint8_t *bytes;
	size_t len;
	bool sent;
	uint64_t stamp_ns;               /* received: XDP's; 0: none */
	uint64_t now_ns;                 /* sent: to the TX ring; received: the ring pop */
	const struct trace_times *times; /* of the answer that begins here, or NULL */
};

/* False when the ring is full: the frame is lost, and counted in the ring. */
bool trace_put(struct trace_ring *r, const struct trace_want *want, const struct trace_frame *f);

/* --- the reader's side ------------------------------------------------------ */

/* Start anew: drop what is there, and want this, from the first trace_renew on. The
 * run is chosen here. */
void trace_ask(struct trace_ring *r, const struct trace_want *want);
void trace_renew(struct trace_ring *r, uint64_t until_ns); /* 0: the end */

/* Is there a record for this reader? TRACE_BROKEN: something stands there that no
 * thread of this version puts; all that was there is dropped. */
enum trace_taken { TRACE_NOTHING, TRACE_ONE, TRACE_BROKEN };
struct trace_copy {
	struct trace_record record;
	struct trace_times times; /* if TRACE_ANSWER */
	uint8_t frame[TRACE_FRAME_MAX];
};
enum trace_taken trace_take(struct trace_ring *r, struct trace_copy *to);

#endif
