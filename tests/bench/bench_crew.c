/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bench_crew - what it takes to have a compute core do a job, and to wake one
 *
 * Model    The producer sits on the first CPU that we may use, the core on the last.
 *          hop      a job of no rounds, sent and taken, while the core spins
 *          halted   from the producer's clock before it sends to the core's when it
 *                   begins; asleep for PAUSE_US before, on a CPU that halted
 *          wake     the same as saker has it (cpu_idle_lightly): the CPU polls, and to
 *                   wake it is a write to memory
 *          futex    the same between two bare threads: what a wake costs here at all
 *          call     and the part of it that the system call takes, on the producer
 *          work     JOBS jobs of ROUNDS rounds through the crew, in turn with the same
 *                   lanes alone on that CPU; the medians of PAIRS. By the clock, and
 *                   by the CPU time of the thread that computes, which others who use
 *                   the machine do not change.
 *          JSON on stdout, a line each; a table on stderr.
 * Units    ns.
 */
#include <inttypes.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cpu.h"
#include "crew.h"

enum {
	HOPS = 200000,
	WAKES = 2000,
	PAUSE_US = 300, /* enough to fall asleep, and for the CPU to halt */
	JOBS = 64,
	ROUNDS = N_DEFAULT,
	PAIRS = 5,
	SLICE = SLICE_US,
	LONG_US = 1000000, /* of spinning: for ever, here */
	TARGET_NS = 10000, /* of a wake, at the median */
};

_Noreturn void base_panic(const char *what, const char *file, int line);
_Noreturn void base_panic(const char *what, const char *file, int line)
{
	fprintf(stderr, "bench_crew: broken invariant at %s:%d: %s\n", file, line, what);
	abort();
}

static int near_cpu, far_cpu;
static struct stats_block stats;
static uint64_t samples[HOPS];

static void pin(pthread_t thread, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	must(!pthread_setaffinity_np(thread, sizeof set, &set));
}

static void spin_until(uint64_t end_ns)
{
	while (cpu_now_ns() < end_ns)
		;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct spread {
	uint64_t least, p50, p99;
};

static struct spread spread_of(unsigned n)
{
	qsort(samples, n, sizeof *samples, by_value);
	return (struct spread){ samples[0], samples[n / 2], samples[n * 99 / 100] };
}

static void report(const char *name, unsigned n, struct spread s, const char *what)
{
	printf("{\"bench\":\"crew\",\"part\":\"%s\",\"samples\":%u,\"min_ns\":%" PRIu64
	       ",\"p50_ns\":%" PRIu64 ",\"p99_ns\":%" PRIu64 "}\n",
	       name, n, s.least, s.p50, s.p99);
	fflush(stdout);
	fprintf(stderr, "%-8s %9.2f %9.2f %9.2f   %s\n", name, (double)s.least / 1e3,
		(double)s.p50 / 1e3, (double)s.p99 / 1e3, what);
}

static void start(struct crew *c, uint32_t spin_us)
{
	must(!crew_start(c, &(struct crew_params){ .cpus = &far_cpu,
						   .count = 1,
						   .lanes = JOBS,
						   .features = cpu_features(),
						   .slice_us = SLICE,
						   .spin_us = spin_us }));
	while (!hop_measured(c->hop[0]))
		usleep(1000);
}

/* One job there and back. */
static struct hop_result trip(struct crew *c, uint64_t n)
{
	struct lane_job job = { .n = n };
	struct hop_result r;

	must(hop_put(c->hop[0], &job));
	crew_wake(c, &stats);
	while (!hop_take(c->hop[0], &r))
		;
	return r;
}

static void hop_bench(void)
{
	struct crew c;

	start(&c, LONG_US);
	for (unsigned i = 0; i < HOPS; i++) {
		uint64_t from_ns = cpu_now_ns();

		trip(&c, 0);
		samples[i] = cpu_now_ns() - from_ns;
	}
	crew_stop(&c);
	report("hop", HOPS, spread_of(HOPS), "a job of no rounds there and back, the core spins");
}

/* --- waking ------------------------------------------------------------------------ */

static struct spread wake_bench(void)
{
	uint64_t woken = stats.crew_wakes;
	struct crew c;

	start(&c, 0);
	for (unsigned i = 0; i < WAKES; i++) {
		uint64_t from_ns;

		spin_until(cpu_now_ns() + PAUSE_US * NS_PER_US);
		from_ns = cpu_now_ns();
		samples[i] = trip(&c, 0).begun_ns - from_ns;
	}
	crew_stop(&c);
	must(stats.crew_wakes - woken == WAKES);
	return spread_of(WAKES);
}

static uint32_t word, rounds_seen;
static uint64_t up_ns;

static void *bare_sleeper(void *arg)
{
	for (uint32_t seen = 0; seen < WAKES; seen++) {
		while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) == seen)
			syscall(SYS_futex, &word, FUTEX_WAIT, seen, NULL, NULL, 0);
		up_ns = cpu_now_ns();
		__atomic_store_n(&rounds_seen, seen + 1, __ATOMIC_RELEASE);
	}
	return arg;
}

static void futex_bench(struct spread *wake, struct spread *call)
{
	static uint64_t calls[WAKES];
	pthread_t thread;

	must(!pthread_create(&thread, NULL, bare_sleeper, NULL));
	pin(thread, far_cpu);
	for (uint32_t i = 0; i < WAKES; i++) {
		uint64_t from_ns;

		spin_until(cpu_now_ns() + PAUSE_US * NS_PER_US);
		from_ns = cpu_now_ns();
		__atomic_store_n(&word, i + 1, __ATOMIC_RELEASE);
		syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0);
		calls[i] = cpu_now_ns() - from_ns;
		while (__atomic_load_n(&rounds_seen, __ATOMIC_ACQUIRE) <= i)
			;
		samples[i] = up_ns - from_ns;
	}
	pthread_join(thread, NULL);
	*wake = spread_of(WAKES);
	memcpy(samples, calls, sizeof calls);
	*call = spread_of(WAKES);
}

static void wakes(void)
{
	struct spread halted = wake_bench(), wake, bare, call;
	int fd;

	report("halted", WAKES, halted, "from sleep, where CPUs may idle as deeply as they like");
	fd = cpu_idle_lightly();
	if (fd < 0)
		fprintf(stderr, "         CPUs cannot be kept from that: %s\n", strerror(-fd));
	wake = wake_bench();
	report("wake", WAKES, wake, "from sleep, as saker has it, until the core begins");
	futex_bench(&bare, &call);
	report("futex", WAKES, bare, "two bare threads, the same way");
	report("call", WAKES, call, "of that, the producer's system call");
	if (fd >= 0)
		close(fd);
	printf("{\"bench\":\"crew\",\"part\":\"target\",\"wake_target_ns\":%d,\"met\":%s,"
	       "\"wake_over_futex\":%.3f}\n",
	       TARGET_NS, wake.p50 <= TARGET_NS ? "true" : "false",
	       (double)wake.p50 / (double)bare.p50);
	fprintf(stderr,
		"         target of a wake: %d us at the median, %s; %.2f times a bare one\n",
		TARGET_NS / NS_PER_US, wake.p50 <= TARGET_NS ? "met" : "missed",
		(double)wake.p50 / (double)bare.p50);
}

/* --- work ---------------------------------------------------------------------------- */

struct span {
	uint64_t wall_ns, cpu_ns;
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* The CPU time of all threads but this one. */
static uint64_t others_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID) - clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static struct span crew_work(uint64_t hash)
{
	struct lane_job job = { .n = ROUNDS, .seed = lane_alg_seed(LANE_FNV1A32) };
	struct hop_result r;
	struct span from;
	struct crew c;

	start(&c, LONG_US);
	from = (struct span){ cpu_now_ns(), others_ns() };
	for (job.tag = 0; job.tag < JOBS; job.tag++)
		must(hop_put(c.hop[0], &job));
	crew_wake(&c, &stats);
	while (hop_busy(c.hop[0]))
		if (hop_take(c.hop[0], &r))
			must(r.hash == hash);
	from = (struct span){ cpu_now_ns() - from.wall_ns, others_ns() - from.cpu_ns };
	crew_stop(&c);
	return from;
}

static struct span lane_work(uint64_t hash)
{
	struct lane_job job = { .n = ROUNDS, .seed = lane_alg_seed(LANE_FNV1A32) };
	struct lane *l = aligned_alloc(lane_align(), round_up(lane_footprint(), lane_align()));
	struct lane_result r;
	struct span from;

	must(l);
	lane_init(l, JOBS, cpu_features());
	pin(pthread_self(), far_cpu);
	for (uint64_t from_ns = cpu_now_ns(); lane_sample(l); from_ns = cpu_now_ns())
		lane_sampled(l, cpu_now_ns() - from_ns);
	from = (struct span){ cpu_now_ns(), clock_ns(CLOCK_THREAD_CPUTIME_ID) };
	for (job.tag = 0; job.tag < JOBS; job.tag++)
		must(lane_put(l, &job));
	while (lane_busy(l)) {
		lane_step(l, SLICE * UINT64_C(1000000));
		while (lane_take(l, &r))
			must(r.hash == hash);
	}
	from = (struct span){ cpu_now_ns() - from.wall_ns,
			      clock_ns(CLOCK_THREAD_CPUTIME_ID) - from.cpu_ns };
	pin(pthread_self(), near_cpu);
	free(l);
	return from;
}

static double median(double *v)
{
	qsort(v, PAIRS, sizeof *v, by_size);
	return v[PAIRS / 2];
}

static void work_bench(void)
{
	uint64_t hash = lane_plain(LANE_FNV1A32, lane_alg_seed(LANE_FNV1A32), ROUNDS);
	double ms[PAIRS], wall[PAIRS], cpu[PAIRS], ms_mid, wall_mid, cpu_mid;

	for (int p = 0; p < PAIRS; p++) {
		struct span crew = crew_work(hash), lanes = lane_work(hash);

		ms[p] = (double)crew.wall_ns / NS_PER_MS;
		wall[p] = (double)lanes.wall_ns / (double)crew.wall_ns;
		cpu[p] = (double)lanes.cpu_ns / (double)crew.cpu_ns;
	}
	ms_mid = median(ms);
	wall_mid = median(wall);
	cpu_mid = median(cpu);
	printf("{\"bench\":\"crew\",\"part\":\"work\",\"alg\":\"fnv1a32\",\"jobs\":%d,\"n\":%d,"
	       "\"crew_ms\":%.2f,\"throughput_ratio\":%.4f,\"cpu_time_ratio\":%.4f}\n",
	       JOBS, ROUNDS, ms_mid, wall_mid, cpu_mid);
	fprintf(stderr,
		"work     %d jobs of %d rounds, fnv1a32: %.1f ms; of the throughput of the lanes "
		"alone"
		"\n         %.1f %% by the clock, %.1f %% by the CPU time\n",
		JOBS, ROUNDS, ms_mid, 100 * wall_mid, 100 * cpu_mid);
}

int main(void)
{
	cpu_set_t set;

	must(!sched_getaffinity(0, sizeof set, &set));
	if (CPU_COUNT(&set) < 2) {
		fprintf(stderr, "bench_crew: needs two CPUs: one sends, one computes\n");
		return 1;
	}
	for (near_cpu = 0; !CPU_ISSET(near_cpu, &set);)
		near_cpu++;
	for (far_cpu = CPU_SETSIZE - 1; !CPU_ISSET(far_cpu, &set);)
		far_cpu--;
	pin(pthread_self(), near_cpu);
	fprintf(stderr, "producer on CPU %d, compute core on CPU %d\n", near_cpu, far_cpu);
	fprintf(stderr, "us             min    median       p99\n");
	hop_bench();
	wakes();
	work_bench();
	return 0;
}
