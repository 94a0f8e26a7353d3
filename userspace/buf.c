/* SPDX-License-Identifier: GPL-2.0-only */
#include "buf.h"

size_t buf_pool_footprint(unsigned small, unsigned large, unsigned large_size)
{
	return (size_t)small * BUF_SMALL + (size_t)large * large_size;
}

static void list_init(struct buf_list *l, uint8_t *memory, unsigned count, unsigned size)
{
	*l = (struct buf_list){
		.count = count,
		.size = size,
		.fresh = memory,
		.end = memory + (size_t)count * size,
	};
}

void buf_pool_init(struct buf_pool *p, void *memory, unsigned small, unsigned large,
		   unsigned large_size)
{
	list_init(&p->small, memory, small, BUF_SMALL);
	list_init(&p->large, p->small.end, large, large_size);
}

/* Used blocks first, so that memory is touched only up to the high-water mark. */
static uint8_t *list_take(struct buf_list *l)
{
	uint8_t *block = l->first;

	if (block) {
		memcpy(&l->first, block, sizeof l->first);
	} else if (l->fresh < l->end) {
		block = l->fresh;
		l->fresh += l->size;
	}
	return block;
}

static void list_put(struct buf_list *l, uint8_t *block)
{
	memcpy(block, &l->first, sizeof l->first);
	l->first = block;
}

/* Small blocks lie before large ones. */
static struct buf_list *list_of(struct buf_pool *p, const uint8_t *block)
{
	return block < p->small.end ? &p->small : &p->large;
}

static uint8_t *grow(struct buf_pool *p, struct buf *b, size_t n)
{
	struct buf_list *l = n <= p->small.size ? &p->small : &p->large;
	uint8_t *block;

	if (n > l->size)
		return NULL;
	block = list_take(l);
	if (!block && l == &p->small)
		block = list_take(&p->large);
	if (!block)
		return NULL;
	if (b->base) {
		memcpy(block, buf_bytes(b), b->len);
		list_put(list_of(p, b->base), b->base);
	}
	b->base = block;
	b->off = 0;
	return block + b->len;
}

uint8_t *buf_reserve(struct buf_pool *p, struct buf *b, size_t n)
{
	size_t size = b->base ? list_of(p, b->base)->size : 0;

	if (b->off + b->len + n <= size)
		return buf_bytes(b) + b->len;
	if (b->len + n > size)
		return grow(p, b, b->len + n);
	memmove(b->base, buf_bytes(b), b->len);
	b->off = 0;
	return b->base + b->len;
}

bool buf_append(struct buf_pool *p, struct buf *b, const void *bytes, size_t n)
{
	uint8_t *to = buf_reserve(p, b, n);

	if (!to)
		return false;
	memcpy(to, bytes, n);
	buf_commit(b, n);
	return true;
}

uint8_t *buf_give(struct buf_pool *p, struct buf *from, size_t n, size_t front, struct buf *to)
{
	struct buf rest = { .base = NULL };
	uint8_t *block = from->base;
	size_t off = max_u64(from->off, front);

	must(n && n <= from->len && !to->len);
	if (front + n > list_of(p, block)->size)
		return NULL;
	if (n < from->len && !buf_append(p, &rest, buf_bytes(from) + n, from->len - n))
		return NULL;
	memmove(block + off, buf_bytes(from), n);
	buf_free(p, to); /* it may have a block, for nothing */
	*to = (struct buf){ .base = block, .off = (uint32_t)(off - front) };
	*from = rest;
	return buf_bytes(to);
}

void buf_drop(struct buf_pool *p, struct buf *b, size_t n)
{
	must(n <= b->len);
	b->off += (uint32_t)n;
	b->len -= (uint32_t)n;
	if (b->len || !b->base)
		return;
	list_put(list_of(p, b->base), b->base);
	*b = (struct buf){ .base = NULL };
}
