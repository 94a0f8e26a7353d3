/* SPDX-License-Identifier: GPL-2.0-only */
#include "spsc.h"

size_t spsc_footprint(uint32_t count, uint32_t size)
{
	return round_up((size_t)count * size, 64);
}

void spsc_init(struct spsc *q, void *records, uint32_t count, uint32_t size)
{
	must(count && !(count & (count - 1)));
	memset(q, 0, sizeof *q);
	q->records = records;
	q->count = count;
	q->size = size;
}

static uint8_t *record_at(const struct spsc *q, uint32_t at)
{
	return q->records + (size_t)(at & (q->count - 1)) * q->size;
}

bool spsc_full(struct spsc *q)
{
	if (q->producer.tail - q->producer.head_seen == q->count)
		q->producer.head_seen = __atomic_load_n(&q->consumer.head,
							__ATOMIC_ACQUIRE); /* B */
	return q->producer.tail - q->producer.head_seen == q->count;
}

bool spsc_put(struct spsc *q, const void *record)
{
	uint32_t tail = q->producer.tail;

	if (spsc_full(q))
		return false;
	memcpy(record_at(q, tail), record, q->size);
	__atomic_store_n(&q->producer.tail, tail + 1, __ATOMIC_RELEASE); /* A */
	return true;
}

bool spsc_take(struct spsc *q, void *record)
{
	uint32_t head = q->consumer.head;

	if (head == q->consumer.tail_seen) {
		q->consumer.tail_seen = __atomic_load_n(&q->producer.tail,
							__ATOMIC_ACQUIRE); /* A */
		if (head == q->consumer.tail_seen)
			return false;
	}
	memcpy(record, record_at(q, head), q->size);
	__atomic_store_n(&q->consumer.head, head + 1, __ATOMIC_RELEASE); /* B */
	return true;
}

bool spsc_empty(const struct spsc *q)
{
	return __atomic_load_n(&q->producer.tail, __ATOMIC_RELAXED) == q->consumer.head;
}
