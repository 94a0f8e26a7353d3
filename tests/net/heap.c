/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * heap.c - count calls of the allocator, for tests/net/heap.sh
 *
 * Place    A library that LD_PRELOAD puts before the C library's malloc.
 * Model    One 64-bit counter in the file HEAP_COUNT, mapped shared: all threads,
 *          and processes that are forked, add to it; the test reads the file.
 *          free is not counted: what was never taken cannot be given back.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t n);
void *__libc_memalign(size_t align, size_t n);

static uint64_t early;
static uint64_t *calls = &early;

static void called(void)
{
	__atomic_fetch_add(calls, 1, __ATOMIC_RELAXED);
}

void *malloc(size_t n)
{
	called();
	return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	called();
	return __libc_calloc(n, size);
}

void *realloc(void *old, size_t n)
{
	called();
	return __libc_realloc(old, n);
}

void *aligned_alloc(size_t align, size_t n)
{
	called();
	return __libc_memalign(align, n);
}

int posix_memalign(void **to, size_t align, size_t n)
{
	called();
	*to = __libc_memalign(align, n);
	return *to ? 0 : -1;
}

__attribute__((constructor)) static void start(void)
{
	const char *path = getenv("HEAP_COUNT");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *page;

	if (fd < 0 || ftruncate(fd, sizeof *calls))
		return;
	page = mmap(NULL, sizeof *calls, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (page == MAP_FAILED)
		return;
	calls = page;
	__atomic_fetch_add(calls, early, __ATOMIC_RELAXED);
}
