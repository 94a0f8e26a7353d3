/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events that the kernel counts: software's, which every machine has, so that the way of
 * a count is walked where the CPU has no counters; and refusals.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "probe_perf.h"
#include "tap.h"

static const struct perf_event task_clock = { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, true };
static const struct perf_event faults = { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, false };
static const struct perf_event minor = { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, false };
static const struct perf_event unknown = { PERF_TYPE_SOFTWARE, 99, false };

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* 64 of any size. */
static void touch_pages(void)
{
	volatile char *pages = mmap(NULL, 64 * 65536, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		return;
	madvise((void *)pages, 64 * 65536, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < 64; i++)
		pages[i * 65536] = 1;
	munmap((void *)pages, 64 * 65536);
}

int main(void)
{
	struct perf_target t = { .tid = getpid(), .cpu = -1 };
	int error = perf_add(&t, 1, &task_clock);

	if (error == -EACCES || error == -EPERM || error == -ENOSYS) {
		skip("perf events", strerror(-error));
		return done();
	}
	is(-error, 0, "a thread's clock");
	t.groups = 0;
	close(t.group[0].fd);
	t.group[0].count = 0;
	is(-perf_add(&t, 3, &faults), 0, "page faults");
	is(-perf_add(&t, 0, &minor), 0, "and a second event");
	is(t.groups, 1, "in one group: one read has both");
	int refused = perf_add(&t, 2, &unknown);
	ok(refused < 0, "an event that no kernel has is refused (%s)", strerror(-refused));
	is(t.group[0].count, 2, "and leaves the group alone");
	is(-perf_add(&t, 1, &task_clock), 0, "the clock");
	is(t.groups, 2, "alone");

	ok(perf_read(&t), "a first look");
	uint64_t from = cpu_ns(); /* what the look takes is before it */
	double first = t.sum[1], before = t.sum[3], minors = t.sum[0];
	touch_pages();
	while (cpu_ns() - from < 20 * NS_PER_MS)
		;
	ok(perf_read(&t), "a second look");
	ok(t.sum[1] - first >= 19e6, "20 ms of work are seen as such (%.0f ns)", t.sum[1] - first);
	ok(t.sum[3] - before >= 64, "and 64 pages touched (%.0f)", t.sum[3] - before);
	ok(t.sum[0] - minors == t.sum[3] - before, "all of them minor");
	is(t.sum[2], 0, "what was refused stays 0");

	struct perf_target nobody = { .tid = 1 << 29, .cpu = -1 };
	is(-perf_add(&nobody, 0, &task_clock), ESRCH, "a thread that there is not");
	is(nobody.groups, 0, "has no group");
	return done();
}
