/* SPDX-License-Identifier: GPL-2.0-only */
#include "crew.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "cpu.h"

/* The counters that a core has. */
static const enum stats_index counters[] = {
	STATS_turns,        STATS_busy_turns,  STATS_busy_ns,     STATS_crew_done,
	STATS_crew_dropped, STATS_crew_slices, STATS_crew_sleeps,
};

struct core {
	/* not written while the thread runs */
	struct hop *hop;
	pthread_t thread;
	int cpu;
	uint64_t slice_ps, spin_ns;
	/* by crew_publish: as far as the blocks say */
	uint64_t told[array_size(counters)];
	/* by crew_stop */
	uint32_t stop __attribute__((aligned(64)));
	/* by the thread */
	struct stats_block stats __attribute__((aligned(64)));
};

static size_t hop_offset(void)
{
	return round_up(sizeof(struct core), hop_align());
}

static size_t stride(void)
{
	return hop_offset() + hop_footprint();
}

static struct core *core_at(const struct crew *c, unsigned i)
{
	return (struct core *)(c->memory + i * stride());
}

/* The shared form, which finds the sleeper by page: the memory stays the same for a
 * process that is forked later (cpu_pages), and the private form, which finds it by
 * the process, would not. */
static void futex_wait(uint32_t *word, uint32_t while_it_is)
{
	syscall(SYS_futex, word, FUTEX_WAIT, while_it_is, NULL, NULL, 0);
}

static void futex_wake(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* --- the core's thread ------------------------------------------------------------- */

/* crew_publish reads meanwhile. */
static void count(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

static bool stopped(const struct core *core)
{
	return __atomic_load_n(&core->stop, __ATOMIC_RELAXED);
}

static void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("isb" ::: "memory"); /* yield does nothing where no thread shares a core */
#endif
}

/* Jobs, a slice, results; the time of its end. *busy: there was something to do. */
static uint64_t turn(struct core *core, uint64_t now_ns, bool *busy)
{
	uint64_t from_ns = now_ns, dropped = 0;
	bool news = hop_accept(core->hop, &dropped);

	count(&core->stats.turns, 1);
	*busy = news || !hop_idle(core->hop);
	if (!*busy)
		return cpu_now_ns();
	if (news)
		from_ns = cpu_now_ns(); /* no job begins before it was sent */
	if (hop_step(core->hop, core->slice_ps, from_ns))
		count(&core->stats.crew_slices, 1);
	now_ns = cpu_now_ns();
	count(&core->stats.crew_done, hop_deliver(core->hop, now_ns));
	count(&core->stats.crew_dropped, dropped);
	count(&core->stats.busy_turns, 1);
	count(&core->stats.busy_ns, now_ns - from_ns);
	return now_ns;
}

static void doze(struct core *core)
{
	if (hop_doze(core->hop) && !stopped(core)) {
		count(&core->stats.crew_sleeps, 1);
		futex_wait(hop_word(core->hop), 1);
	}
	hop_rouse(core->hop);
}

static void *run(void *arg)
{
	struct core *core = arg;
	uint64_t now_ns = cpu_now_ns(), idle_ns = now_ns; /* since when there is nothing to do */
	bool busy;

	while (!stopped(core)) {
		now_ns = turn(core, now_ns, &busy);
		if (busy) {
			idle_ns = now_ns;
		} else if (hop_sample(core->hop)) {
			idle_ns = cpu_now_ns();
			hop_sampled(core->hop, idle_ns - now_ns);
			now_ns = idle_ns;
		} else if (now_ns - idle_ns < core->spin_ns) {
			relax();
		} else {
			doze(core);
			idle_ns = now_ns = cpu_now_ns();
		}
	}
	return NULL;
}

/* --- the others' side ---------------------------------------------------------------- */

static int core_start(struct core *core, const struct crew_params *p, int cpu)
{
	char name[16];
	pthread_attr_t attr;
	cpu_set_t cpus;
	int error;

	core->cpu = cpu;
	core->slice_ps = p->slice_us * UINT64_C(1000000);
	core->spin_ns = (uint64_t)p->spin_us * NS_PER_US;
	core->hop = hop_init((uint8_t *)core + hop_offset(), p->lanes, p->features);
	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	pthread_attr_init(&attr);
	pthread_attr_setaffinity_np(&attr, sizeof cpus, &cpus);
	error = pthread_create(&core->thread, &attr, run, core);
	pthread_attr_destroy(&attr);
	if (error) {
		fprintf(stderr, "saker: cannot start a compute thread on CPU %d: %s\n", cpu,
			strerror(error));
		return -error;
	}
	snprintf(name, sizeof name, "saker-cpu%d", cpu);
	pthread_setname_np(core->thread, name);
	return 0;
}

int crew_start(struct crew *c, const struct crew_params *p)
{
	must(p->count <= CREW_MAX);
	*c = (struct crew){ .length = p->count * stride() };
	if (!p->count)
		return 0;
	c->memory = cpu_pages(c->length, &c->locked);
	if (!c->memory) {
		int err = -errno;

		fprintf(stderr, "saker: no memory for %u compute threads: %s\n", p->count,
			strerror(-err));
		return err;
	}
	for (; c->count < p->count; c->count++) {
		struct core *core = core_at(c, c->count);
		int err = core_start(core, p, p->cpus[c->count]);

		if (err) {
			crew_stop(c);
			return err;
		}
		c->hop[c->count] = core->hop;
	}
	return 0;
}

void crew_wake(struct crew *c, struct stats_block *stats)
{
	for (unsigned i = 0; i < c->count; i++) {
		if (likely(!hop_must_wake(c->hop[i])))
			continue;
		futex_wake(hop_word(c->hop[i]));
		stats->crew_wakes++;
	}
}

void crew_publish(struct crew *c, struct stats_block *blocks)
{
	for (unsigned i = 0; i < c->count; i++) {
		const uint64_t *from = (const uint64_t *)&core_at(c, i)->stats;
		uint64_t *to = (uint64_t *)&blocks[i];

		for (unsigned k = 0; k < array_size(counters); k++) {
			uint64_t now = __atomic_load_n(&from[counters[k]], __ATOMIC_RELAXED);

			to[counters[k]] += now - core_at(c, i)->told[k];
			core_at(c, i)->told[k] = now;
		}
	}
}

void crew_stop(struct crew *c)
{
	for (unsigned i = 0; i < c->count; i++) {
		struct core *core = core_at(c, i);

		__atomic_store_n(&core->stop, 1, __ATOMIC_RELAXED);
		hop_rouse(core->hop);
		futex_wake(hop_word(core->hop));
	}
	for (unsigned i = 0; i < c->count; i++)
		pthread_join(core_at(c, i)->thread, NULL);
	if (c->memory)
		cpu_pages_free(c->memory, c->length);
	*c = (struct crew){ 0 };
}
