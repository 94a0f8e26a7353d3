/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * buf.h - bytes that have to wait
 *
 * Place    Under worker (a request in pieces), tcp (an answer that is not yet
 *          acknowledged) and sock. Pure.
 * Model    A buf is a queue of bytes in one block of a pool; it has no block
 *          while it is empty, so an idle connection costs none. Blocks come in
 *          two sizes; a buf that outgrows the small one moves to a large one.
 * Owner    Whoever holds the struct buf. All blocks belong to the pool's memory.
 * Threads  One pool per thread.
 * Limits   As many small and large blocks as buf_pool_init was told; then
 *          buf_reserve says no.
 *
 *   block:  | dropped | bytes ... len | room |
 *           ^base     ^base+off              ^base+size
 */
#ifndef BUF_H
#define BUF_H

#include "base.h"
#include "limits.h"

struct buf {
	uint8_t *base; /* the block; NULL while empty */
	uint32_t off;  /* first byte that counts */
	uint32_t len;
};

/* Free blocks of one size, linked through their first bytes. */
struct buf_list {
	uint8_t *first;
	uint32_t count;
	uint32_t size;
	uint8_t *fresh, *end; /* never used yet: their pages are untouched */
};

struct buf_pool {
	struct buf_list small, large;
};

/* Bytes of memory for so many blocks; large_size is a multiple of 64. */
size_t buf_pool_footprint(unsigned small, unsigned large, unsigned large_size);
void buf_pool_init(struct buf_pool *p, void *memory, unsigned small, unsigned large,
		   unsigned large_size);

/* Room for n more bytes in one piece behind what is there: moves bytes to the
 * front or to a larger block if need be. NULL when no block can hold it. */
uint8_t *buf_reserve(struct buf_pool *p, struct buf *b, size_t n);

/* n bytes have been written to what buf_reserve gave. */
static inline void buf_commit(struct buf *b, size_t n)
{
	b->len += (uint32_t)n;
}

/* Append a copy; false when there is no room: nothing was appended. */
bool buf_append(struct buf_pool *p, struct buf *b, const void *bytes, size_t n);

/* The first n bytes are done with. The block goes back when none is left. */
void buf_drop(struct buf_pool *p, struct buf *b, size_t n);

/* Give the first n bytes of `from` and their block to `to`, which is empty: for
 * who can have no second block. Returns where `front` bytes before them are to be
 * written; then buf_commit(to, front + n). The rest of `from` moves to a new block.
 * NULL: none for the rest, or the block is too short; nothing has changed. */
uint8_t *buf_give(struct buf_pool *p, struct buf *from, size_t n, size_t front, struct buf *to);

static inline uint8_t *buf_bytes(const struct buf *b)
{
	return b->base + b->off;
}

static inline void buf_free(struct buf_pool *p, struct buf *b)
{
	buf_drop(p, b, b->len);
}

/* Could a buf that is refused room now be given it? */
static inline bool buf_pool_has_large(const struct buf_pool *p)
{
	return p->large.first || p->large.fresh < p->large.end;
}

/* The most that one buf can ever hold. */
static inline size_t buf_most(const struct buf_pool *p)
{
	return p->large.size;
}

#endif
