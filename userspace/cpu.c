/* SPDX-License-Identifier: GPL-2.0-only */
#include "cpu.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "lane.h"

#define CPU_DIR "/sys/devices/system/cpu/"

/* A kernel list: "2-3,5\n"; empty for isolated on most machines. */
static void listed_set(cpu_set_t *set, const char *path)
{
	char text[1024];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	CPU_ZERO(set);
	for (char *at = text, *end;; at = end + 1) {
		long from = strtol(at, &end, 10), to = from;
		if (end == at)
			break;
		if (*end == '-')
			to = strtol(end + 1, &end, 10);
		for (long cpu = from; cpu >= 0 && cpu <= to && cpu < CPU_SETSIZE; cpu++)
			CPU_SET(cpu, set);
		if (*end != ',')
			break;
	}
}

static int allowed_set(cpu_set_t *set)
{
	CPU_ZERO(set);
	return sched_getaffinity(0, sizeof *set, set) ? -errno : 0;
}

static bool is_listed(int cpu, const char *path)
{
	cpu_set_t set;

	listed_set(&set, path);
	return cpu >= 0 && cpu < CPU_SETSIZE && CPU_ISSET(cpu, &set);
}

int cpu_choose(const int *but, unsigned count)
{
	cpu_set_t alone, allowed;
	int last = -ENODEV;
	int err = allowed_set(&allowed);

	if (err)
		return err;
	for (unsigned i = 0; i < count; i++)
		CPU_CLR(but[i], &allowed);
	listed_set(&alone, CPU_DIR "isolated");
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &allowed))
			continue;
		if (CPU_ISSET(cpu, &alone))
			return cpu;
		last = cpu;
	}
	return last;
}

bool cpu_isolated(int cpu)
{
	return is_listed(cpu, CPU_DIR "isolated");
}

bool cpu_online(int cpu)
{
	return is_listed(cpu, CPU_DIR "online");
}

bool cpu_allowed(int cpu)
{
	cpu_set_t set;

	return !allowed_set(&set) && cpu >= 0 && cpu < CPU_SETSIZE && CPU_ISSET(cpu, &set);
}

#if defined(__x86_64__)
uint32_t cpu_features(void)
{
	uint32_t features = 0;

	if (__builtin_cpu_supports("sse4.1"))
		features |= LANE_CPU_SSE41;
	if (__builtin_cpu_supports("avx2"))
		features |= LANE_CPU_AVX2;
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
		features |= LANE_CPU_AVX512;
	return features;
}
#elif defined(__aarch64__)
uint32_t cpu_features(void)
{
	return LANE_CPU_NEON; /* a part of the architecture */
}
#else
uint32_t cpu_features(void)
{
	return 0;
}
#endif

int cpu_idle_lightly(void)
{
	int fd = open("/dev/cpu_dma_latency", O_WRONLY | O_CLOEXEC);
	int32_t us = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, &us, sizeof us) != sizeof us) {
		int error = -errno;

		close(fd);
		return error;
	}
	return fd;
}

static size_t whole_pages(size_t length)
{
	return round_up(length, (size_t)sysconf(_SC_PAGESIZE));
}

void *cpu_pages(size_t length, bool *locked)
{
	size_t whole = whole_pages(length);
	void *pages = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		return NULL;
	/* ONFAULT: a table for 60,000 connections takes no memory before they come. */
	*locked = !mlock2(pages, whole, MLOCK_ONFAULT);
	return pages;
}

void cpu_pages_free(void *pages, size_t length)
{
	munmap(pages, whole_pages(length));
}

uint64_t cpu_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}
