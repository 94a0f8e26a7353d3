/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * base.h - the few words that every module speaks
 *
 * Place    Included by all of userspace/; sees nothing itself. Pure.
 * Model    Asserts, limits of two numbers, big-endian bytes, and the order of
 *          TCP sequence numbers. What is used by one module only is not here.
 */
#ifndef BASE_H
#define BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The only library functions the pure middle may call: the compiler itself
 * calls them for struct copies, so every freestanding system has them. */
void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int byte, size_t n);
int memcmp(const void *a, const void *b, size_t n);

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define array_size(a) (sizeof(a) / sizeof((a)[0]))

/* Report a broken invariant and stop. Each program brings its own: the
 * responder's is in main.c, the tests' in tap.h. */
_Noreturn void base_panic(const char *what, const char *file, int line);

/* For errors of the programmer, in every build. The world's errors are
 * -errno, a packet's errors are verdicts. */
#define must(cond) \
	do { \
		if (unlikely(!(cond))) \
			base_panic(#cond, __FILE__, __LINE__); \
	} while (0)

/* For checks too dear for the path: only where BASE_DEBUG is set (SAN builds). */
#ifdef BASE_DEBUG
#define must_debug(cond) must(cond)
#else
#define must_debug(cond) ((void)sizeof(cond))
#endif

/* Of every CPU that this is built for. */
enum { CACHE_LINE = 64 };

/* These bytes are written soon: have their cache lines fetched all at once, not one
 * behind the other as they are come to. Inlined early, since gcc 12 drops calls of what
 * has no effect but this; so must be who does nothing else. */
#define FETCH_INLINE static inline __attribute__((always_inline))
FETCH_INLINE void fetch_ahead(const void *at, size_t n)
{
	for (size_t i = 0; i < n; i += CACHE_LINE)
		__builtin_prefetch((const char *)at + i, 1);
}

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Round up to a multiple of a power of two. */
static inline size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) & ~(to - 1);
}

/* Big-endian numbers at any address. */
static inline uint16_t be16(const void *at)
{
	uint16_t v;
	memcpy(&v, at, sizeof v);
	return __builtin_bswap16(v);
}

static inline uint32_t be32(const void *at)
{
	uint32_t v;
	memcpy(&v, at, sizeof v);
	return __builtin_bswap32(v);
}

static inline void put_be16(void *at, uint16_t v)
{
	v = __builtin_bswap16(v);
	memcpy(at, &v, sizeof v);
}

static inline void put_be32(void *at, uint32_t v)
{
	v = __builtin_bswap32(v);
	memcpy(at, &v, sizeof v);
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "be16 and its kin swap");

/* Sequence numbers, RFC 9293 3.4: the order of two numbers less than 2^31 apart. */
static inline bool seq_lt(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

static inline bool seq_le(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) <= 0;
}

static inline bool seq_gt(uint32_t a, uint32_t b)
{
	return seq_lt(b, a);
}

static inline bool seq_ge(uint32_t a, uint32_t b)
{
	return seq_le(b, a);
}

/* Time is a count of nanoseconds on CLOCK_MONOTONIC, handed in by the caller. */
enum { NS_PER_US = 1000, NS_PER_MS = 1000000, NS_PER_S = 1000000000 };

#endif
