/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tap.h - tests that speak TAP (testanything.org), for `prove` and for people
 *
 * Model    ok() and is_*() print one line each, with the place when they fail;
 *          skip() says what was not tested and why; done() prints the plan and
 *          gives the exit status of main.
 * Threads  One.
 */
#ifndef TAP_H
#define TAP_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int tap_count, tap_failed;

_Noreturn void base_panic(const char *what, const char *file, int line);
_Noreturn void base_panic(const char *what, const char *file, int line)
{
	printf("Bail out! broken invariant at %s:%d: %s\n", file, line, what);
	fflush(stdout);
	abort();
}

__attribute__((format(printf, 3, 4))) static inline bool tap_ok(bool good, const char *place,
								const char *format, ...)
{
	char name[256];
	va_list args;
	va_start(args, format);
	vsnprintf(name, sizeof name, format, args);
	va_end(args);
	tap_count++;
	printf("%sok %d - %s\n", good ? "" : "not ", tap_count, name);
	if (!good) {
		tap_failed++;
		printf("#   at %s\n", place);
	}
	return good;
}

#define TAP_STR_(x) #x
#define TAP_STR(x) TAP_STR_(x)
#define TAP_HERE __FILE__ ":" TAP_STR(__LINE__)

/* ok(condition, "name %d", ...) */
#define ok(cond, ...) tap_ok((cond), TAP_HERE, __VA_ARGS__)

/* is(got, wanted, "name"): unsigned numbers, both shown on failure */
#define is(got, want, ...) \
	({ \
		uint64_t tap_got = (uint64_t)(got), tap_want = (uint64_t)(want); \
		bool tap_good = tap_ok(tap_got == tap_want, TAP_HERE, __VA_ARGS__); \
		if (!tap_good) \
			printf("#   got %" PRIu64 " (0x%" PRIx64 "), wanted %" PRIu64 \
			       " (0x%" PRIx64 ")\n", \
			       tap_got, tap_got, tap_want, tap_want); \
		tap_good; \
	})

#define is_str(got, want, ...) \
	({ \
		const char *tap_got = (got), *tap_want = (want); \
		bool tap_good = tap_ok(!strcmp(tap_got, tap_want), TAP_HERE, __VA_ARGS__); \
		if (!tap_good) \
			printf("#   got    '%s'\n#   wanted '%s'\n", tap_got, tap_want); \
		tap_good; \
	})

static inline void skip(const char *name, const char *why)
{
	printf("ok %d - %s # SKIP %s\n", ++tap_count, name, why);
}

static inline int done(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed ? 1 : 0;
}

#endif
