/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * crew: real threads. Random jobs and drops, every result against the plain loop;
 * cores that sleep between jobs; an end in the middle of work.
 */
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#include "cpu.h"
#include "crew.h"
#include "tap.h"

enum {
	TAGS = 2 * (LANES_MAX + LANE_EXPRESS),
	CORES = 2,
	PUTS = 20000, /* on each core */
	NAPS = 300,
	ENDS = 100,
};

static int cpus[CORES]; /* the first and the last that we may use; maybe one twice */
static struct stats_block mine;
static struct stats_block blocks[CORES]; /* of the crew that was started last */

static uint64_t random_next(void)
{
	static uint64_t x = 0x9e3779b97f4a7c15;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x >> 11;
}

static void start(struct crew *c, unsigned count, unsigned lanes, uint32_t spin_us)
{
	memset(&mine, 0, sizeof mine);
	memset(blocks, 0, sizeof blocks);
	must(!crew_start(c, &(struct crew_params){ .cpus = cpus,
						   .count = count,
						   .lanes = lanes,
						   .features = cpu_features(),
						   .slice_us = 50,
						   .spin_us = spin_us }));
}

static void pause_us(unsigned us)
{
	nanosleep(&(struct timespec){ .tv_nsec = us * NS_PER_US }, NULL);
}

/* What the cores count. */
static struct stats_block sum(struct crew *c)
{
	struct stats_block all = { 0 };

	crew_publish(c, blocks);
	for (unsigned i = 0; i < c->count; i++) {
		all.crew_done += blocks[i].crew_done;
		all.crew_dropped += blocks[i].crew_dropped;
		all.crew_slices += blocks[i].crew_slices;
		all.crew_sleeps += blocks[i].crew_sleeps;
		all.turns += blocks[i].turns;
		all.busy_turns += blocks[i].busy_turns;
		all.busy_ns += blocks[i].busy_ns;
	}
	return all;
}

/* --- random work ------------------------------------------------------------------- */

/* What we know of a tag: its job in flight on a core, and results still owed by each
 * core for those dropped. */
struct known {
	struct lane_job job;
	uint64_t sent_ns;
	int core; /* -1: none */
	unsigned owed[CORES];
};

static bool is_right(struct known *k, const struct hop_result *r, int core)
{
	if (r->dropped)
		return k->owed[core]-- > 0;
	if (k->core != core)
		return false;
	k->core = -1;
	return r->hash == lane_plain(k->job.alg, k->job.seed, k->job.n) &&
	       r->begun_ns >= k->sent_ns && r->done_ns >= r->begun_ns && r->done_ns <= cpu_now_ns();
}

static struct lane_job random_job(uint32_t tag)
{
	return (struct lane_job){
		.n = random_next() % (random_next() % 64 ? 1000 : 3 * LANE_SHORT),
		.seed = random_next(),
		.tag = tag,
		.alg = (enum lane_alg)(random_next() % LANE_ALGS),
	};
}

static void test_random(unsigned count, unsigned lanes, uint32_t spin_us)
{
	static struct known known[TAGS];
	unsigned sent = 0, drops = 0, results = 0, wrong = 0, busy = 0;
	struct stats_block counted;
	struct hop_result r;
	struct crew c;

	for (unsigned i = 0; i < TAGS; i++)
		known[i] = (struct known){ .core = -1 };
	start(&c, count, lanes, spin_us);
	while (sent < PUTS * count || busy) {
		uint32_t tag = (uint32_t)(random_next() % TAGS);
		struct known *k = &known[tag];
		int core = (int)(random_next() % count);

		if (k->core >= 0 && random_next() % 8 == 0) {
			wrong += !hop_drop(c.hop[k->core], tag);
			k->owed[k->core]++;
			k->core = -1;
			drops++;
		} else if (k->core < 0 && sent < PUTS * count) {
			k->job = random_job(tag);
			k->sent_ns = cpu_now_ns();
			if (hop_put(c.hop[core], &k->job)) {
				k->core = core;
				busy = ++sent;
			}
		}
		if (random_next() % 4)
			continue;
		crew_wake(&c, &mine);
		busy = 0;
		for (core = 0; core < (int)count; core++) {
			for (; hop_take(c.hop[core], &r); results++)
				wrong += r.tag >= TAGS || !is_right(&known[r.tag], &r, core);
			busy += hop_busy(c.hop[core]);
		}
		if (busy >= lanes)
			sched_yield();
	}
	counted = sum(&c);
	crew_stop(&c);
	is(results, sent, "%u cores, %u lanes, spin %u us: one result for each of %u jobs", count,
	   lanes, spin_us, sent);
	is(wrong, 0, "the right one, in time, from the right core");
	ok(drops && counted.crew_dropped <= drops, "%u drops, of which %" PRIu64 " were in time",
	   drops, counted.crew_dropped);
	is(counted.crew_done + counted.crew_dropped, sent, "the cores count the same");
	ok(counted.crew_slices && counted.busy_turns >= counted.crew_slices &&
		   counted.turns >= counted.busy_turns && counted.busy_ns,
	   "and their turns");
}

/* --- sleep ----------------------------------------------------------------------------- */

/* Jobs with pauses in which the cores fall asleep, some of them just then. */
static void test_naps(unsigned count, uint32_t spin_us)
{
	unsigned wrong = 0;
	uint64_t sleeps;
	struct crew c;

	start(&c, count, 4, spin_us);
	while (!hop_measured(c.hop[0]))
		pause_us(100);
	for (uint32_t nap = 0; nap < NAPS; nap++) {
		struct hop *h = c.hop[nap % count];
		struct lane_job job = { .n = 10, .seed = nap, .tag = nap };
		struct hop_result r;

		must(hop_put(h, &job));
		crew_wake(&c, &mine);
		while (!hop_take(h, &r))
			sched_yield();
		wrong += r.tag != nap || r.hash != lane_plain(job.alg, nap, 10);
		if (nap % 4 == 0)
			pause_us(spin_us + (unsigned)(random_next() % 100));
	}
	sleeps = sum(&c).crew_sleeps;
	crew_stop(&c);
	is(wrong, 0, "%u cores, spin %u us: every job wakes who sleeps", count, spin_us);
	ok(sleeps > 0 && mine.crew_wakes > 0 && mine.crew_wakes <= NAPS,
	   "they slept (%" PRIu64 " times), and were woken (%" PRIu64 ")", sleeps, mine.crew_wakes);
}

/* The table, while the core makes it. */
static void test_table(void)
{
	unsigned wrong = 0;
	struct crew c;

	start(&c, 1, LANES_MAX, 0);
	for (bool measured = false; !measured;) {
		measured = hop_measured(c.hop[0]);
		for (enum lane_alg alg = 0; alg < LANE_ALGS; alg++)
			for (unsigned k = 1; k <= LANES_MAX + LANE_EXPRESS; k++)
				wrong += !hop_pass_ps(c.hop[0], alg, k);
	}
	is(wrong, 0, "an idle core measures, and the table is whole at any time");
	crew_stop(&c);
}

/* An hour of spinning: no sleep, no wake. */
static void test_spin(void)
{
	struct crew c;

	start(&c, 1, 4, 3600 * (uint32_t)1000000);
	for (uint32_t tag = 0; tag < NAPS; tag++) {
		struct hop_result r;

		must(hop_put(c.hop[0], &(struct lane_job){ .tag = tag }));
		crew_wake(&c, &mine);
		while (!hop_take(c.hop[0], &r))
			sched_yield();
	}
	is(sum(&c).crew_sleeps, 0, "a core that may spin for long does not sleep");
	is(mine.crew_wakes, 0, "and is not woken");
	crew_stop(&c);
}

/* --- start and end ----------------------------------------------------------------------- */

static unsigned threads_of(const char *name)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;
	unsigned n = 0;

	must(tasks);
	while ((task = readdir(tasks))) {
		char path[300], text[32];
		FILE *file;

		snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
		file = fopen(path, "r");
		if (!file)
			continue;
		n += fgets(text, sizeof text, file) && !strncmp(text, name, strlen(name));
		fclose(file);
	}
	closedir(tasks);
	return n;
}

/* A thread that was joined may be seen for a moment more. */
static bool all_gone(void)
{
	for (unsigned i = 0; i < 1000 && threads_of("saker-cpu"); i++)
		pause_us(1000);
	return !threads_of("saker-cpu");
}

static void test_end(void)
{
	struct lane_job job = { .n = UINT64_C(1) << 40, .tag = 1 };
	struct crew c;

	start(&c, CORES, 4, 50);
	is(threads_of("saker-cpu"), CORES, "a thread for each core, with its name");
	for (unsigned i = 0; i < CORES; i++)
		must(hop_put(c.hop[i], &job));
	crew_wake(&c, &mine);
	while (sum(&c).crew_slices < 10)
		pause_us(100);
	crew_stop(&c);
	ok(all_gone(), "they stop in the middle of work");
	is(c.count, 0, "and the crew is empty");

	for (unsigned i = 0; i < ENDS; i++) {
		start(&c, 1, 4, 0);
		while (i % 4 && !hop_measured(c.hop[0]))
			pause_us(100);
		if (i % 2)
			pause_us((unsigned)(random_next() % 100));
		crew_stop(&c);
	}
	ok(true, "they stop before they have begun, when they sleep, and just before they sleep");
	ok(!crew_start(&c, &(struct crew_params){ 0 }), "a crew of nobody");
	crew_wake(&c, &mine);
	crew_stop(&c);
}

static void test_refused(void)
{
	int wanted[] = { cpus[0], CPU_SETSIZE - 1 };
	struct crew c;

	if (cpu_allowed(wanted[1])) {
		skip("a CPU that is not there", "this machine has it");
		return;
	}
	is(-crew_start(&c, &(struct crew_params){ .cpus = wanted, .count = 2, .lanes = 4 }), EINVAL,
	   "a CPU that is not there");
	ok(all_gone(), "then none of the others is left");
	crew_stop(&c);
}

int main(void)
{
	cpu_set_t set;

	alarm(300); /* a wake that is lost would wait for ever */
	must(!sched_getaffinity(0, sizeof set, &set));
	for (int cpu = CPU_SETSIZE; cpu--;)
		if (CPU_ISSET(cpu, &set))
			cpus[0] = cpu;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set))
			cpus[1] = cpu;
	if (cpus[0] == cpus[1])
		skip("two cores", "one CPU: both threads share it");
	test_random(1, 8, 50);
	test_random(2, LANES_MAX, 50);
	test_random(2, 16, 0);
	test_naps(1, 0);
	test_naps(2, 50);
	test_table();
	test_spin();
	test_end();
	test_refused();
	return done();
}
