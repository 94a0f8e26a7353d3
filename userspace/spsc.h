/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * spsc.h - records from one thread to one other, in order, without a lock
 *
 * Place    Between I/O threads, and between an I/O thread and a core of the crew.
 *          Pure: the order of memory is the compiler's builtins'.
 * Model    A ring of fixed size. head counts what was taken, tail what was put;
 *          both only grow, and wrap. Each side keeps a copy of the other's count,
 *          and reads the shared one only when the copy says full or empty: then a
 *          stream of records moves few cache lines.
 * Owner    Records are copied in and out; the ring lives in the caller's memory.
 * Threads  One puts, one takes:
 *
 *            producer                          consumer
 *            load head    (acquire, B)         load tail    (acquire, A)
 *            write record                      read record
 *            store tail   (release, A)         store head   (release, B)
 *
 *          A: who sees the tail sees the record before it. B: who sees the head
 *          may write where the record was.
 * Limits   A power of two of records; then spsc_put says no.
 */
#ifndef SPSC_H
#define SPSC_H

#include "base.h"

struct spsc {
	struct {
		uint32_t tail;      /* written by the producer */
		uint32_t head_seen; /* its copy */
	} producer __attribute__((aligned(64)));
	struct {
		uint32_t head; /* written by the consumer */
		uint32_t tail_seen;
	} consumer __attribute__((aligned(64)));
	/* never written again after spsc_init */
	uint8_t *records __attribute__((aligned(64)));
	uint32_t count, size;
};

/* Bytes for the records of a ring; aligned to 64. */
size_t spsc_footprint(uint32_t count, uint32_t size);

/* count: a power of two; size: bytes of a record. */
void spsc_init(struct spsc *q, void *records, uint32_t count, uint32_t size);

/* For the producer: would spsc_put say no? */
bool spsc_full(struct spsc *q);

/* False when the ring is full. */
bool spsc_put(struct spsc *q, const void *record);

/* False when it is empty. */
bool spsc_take(struct spsc *q, void *record);

/* For the consumer: is there nothing? */
bool spsc_empty(const struct spsc *q);

#endif
