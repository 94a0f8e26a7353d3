/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "probe_costs.h"
#include "ring.h"
#include "spsc.h"

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* --- samples ----------------------------------------------------------------------------- */

struct cost {
	const char *name;
	char why[128]; /* empty: measured */
	double sample[COSTS_SAMPLES];
	unsigned count;
};

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Until there are enough, or the time is over. */
static bool more(struct cost *c, uint64_t began)
{
	return c->count < COSTS_SAMPLES && !*c->why && now_ns() - began < COSTS_NS;
}

static void finish(struct cost *c)
{
	if (!*c->why && c->count < COSTS_ENOUGH)
		snprintf(c->why, sizeof c->why, "%u samples in 1.5 s: too few for a p99", c->count);
	qsort(c->sample, c->count, sizeof *c->sample, by_size);
}

/* --- on one core ----------------------------------------------------------------------------- */

enum { BATCH = 32, TRIPS = 8 };

static void null_syscall(struct cost *c)
{
	for (uint64_t began = now_ns(); more(c, began);) {
		uint64_t from = now_ns();

		for (unsigned i = 0; i < BATCH; i++)
			syscall(SYS_getppid);
		c->sample[c->count++] = (double)(now_ns() - from) / BATCH;
	}
}

static void clock_read(struct cost *c)
{
	for (uint64_t began = now_ns(); more(c, began);) {
		uint64_t from = now_ns();

		for (unsigned i = 0; i < BATCH; i++)
			(void)now_ns();
		c->sample[c->count++] = (double)(now_ns() - from) / BATCH;
	}
}

/* --- from core to core ----------------------------------------------------------------------- */

struct echo {
	struct spsc there, back;
	int cpu;
	bool stop, pinned;
};

static bool pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((unsigned)cpu, &set);
	return !pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

static void *echo(void *arg)
{
	struct echo *e = arg;
	uint64_t record;

	__atomic_store_n(&e->pinned, pin(e->cpu), __ATOMIC_RELEASE);
	while (!__atomic_load_n(&e->stop, __ATOMIC_RELAXED))
		if (spsc_take(&e->there, &record))
			spsc_put(&e->back, &record);
	return NULL;
}

/* False: no answer within the time. */
static bool round_trip(struct echo *e, uint64_t began)
{
	uint64_t record = 1;

	if (!spsc_put(&e->there, &record))
		return false;
	while (!spsc_take(&e->back, &record))
		if (unlikely(now_ns() - began > COSTS_NS))
			return false;
	return true;
}

static void trips(struct cost *c, struct echo *e)
{
	uint64_t began = now_ns();

	while (!__atomic_load_n(&e->pinned, __ATOMIC_ACQUIRE) && now_ns() - began < COSTS_NS)
		sched_yield();
	while (more(c, began)) {
		uint64_t from = now_ns();

		for (unsigned i = 0; i < TRIPS; i++)
			if (!round_trip(e, began))
				return;
		c->sample[c->count++] = (double)(now_ns() - from) / (2 * TRIPS);
	}
}

static void hop(struct cost *c, const int cpu[2])
{
	static uint8_t records[2][4 * sizeof(uint64_t)] __attribute__((aligned(64)));
	static struct echo e;
	pthread_t thread;

	if (cpu[0] == cpu[1]) {
		snprintf(c->why, sizeof c->why, "there is only one CPU to use");
		return;
	}
	e.cpu = cpu[1];
	spsc_init(&e.there, records[0], 4, sizeof(uint64_t));
	spsc_init(&e.back, records[1], 4, sizeof(uint64_t));
	if (!pin(cpu[0]) || pthread_create(&thread, NULL, echo, &e)) {
		snprintf(c->why, sizeof c->why, "cannot run on CPU %d: taskset -p shows which",
			 cpu[0]);
		return;
	}
	trips(c, &e);
	__atomic_store_n(&e.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	if (!e.pinned)
		snprintf(c->why, sizeof c->why, "cannot run on CPU %d: taskset -p shows which",
			 cpu[1]);
}

/* --- to the wire --------------------------------------------------------------------------------- */

/* To ourselves, of a type that nobody takes (IEEE: local experiments). */
static bool frame_for(const char *iface, uint8_t frame[60])
{
	struct ifreq request = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(request.ifr_name, sizeof request.ifr_name, "%s", iface);
	bool good = fd >= 0 && !ioctl(fd, SIOCGIFHWADDR, &request);
	if (fd >= 0)
		close(fd);
	memset(frame, 0, 60);
	memcpy(frame, request.ifr_hwaddr.sa_data, 6);
	memcpy(frame + 6, request.ifr_hwaddr.sa_data, 6);
	put_be16(frame + 12, 0x88b5);
	return good;
}

static void kicks(struct cost *c, struct ring *r, const uint8_t frame[60])
{
	uint64_t done[RING_COMP], began = now_ns();
	uint16_t slot;

	while (more(c, began)) {
		uint8_t *to = ring_reserve(r, &slot);

		if (!to) {
			snprintf(c->why, sizeof c->why,
				 "the driver does not complete what is sent");
			return;
		}
		memcpy(to, frame, 60);
		ring_commit(r, slot, 60, 0);
		uint64_t from = now_ns();
		ring_tx(r);
		c->sample[c->count++] = (double)(now_ns() - from);
		while (r->in_flight && now_ns() - from < 10 * NS_PER_MS)
			ring_reap(r, done);
	}
}

static void tx_kick(struct cost *c, const char *iface)
{
	static struct stats_block stats;
	static struct ring ring;
	uint8_t frame[60];

	if (!iface) {
		snprintf(c->why, sizeof c->why, "no --iface");
		return;
	}
	struct ring_options o = {
		.ifname = iface, .ifindex = if_nametoindex(iface), .tx = true, .quiet = true
	};
	if (!o.ifindex || !frame_for(iface, frame)) {
		snprintf(c->why, sizeof c->why, "no interface %s", iface);
		return;
	}
	int error = ring_open(&ring, &o);
	if (error) {
		snprintf(c->why, sizeof c->why, "AF_XDP socket on queue 0 of %s: %s", iface,
			 error == -EPERM        ? "not permitted: be root" :
			 error == -EAFNOSUPPORT ? "a kernel without CONFIG_XDP_SOCKETS" :
			 error == -EBUSY        ? "another program has it (ss --xdp)" :
						  strerror(-error));
		return;
	}
	ring.stats = &stats;
	kicks(c, &ring, frame);
	ring_close(&ring);
}

/* --- all of them ----------------------------------------------------------------------------------- */

static void choose(int cpu[2], const int asked[2])
{
	cpu_set_t set;

	CPU_ZERO(&set);
	sched_getaffinity(0, sizeof set, &set);
	memcpy(cpu, asked, 2 * sizeof *cpu);
	for (int i = 0; asked[0] < 0 && i < CPU_SETSIZE; i++)
		if (CPU_ISSET((unsigned)i, &set)) {
			cpu[0] = cpu[0] < 0 ? i : cpu[0];
			cpu[1] = i;
		}
}

static void show(const struct cost *c, FILE *out)
{
	fprintf(out, "\"%s\":", c->name);
	if (*c->why)
		fputs("null", out);
	else
		fprintf(out, "{\"p50\":%.1f,\"p99\":%.1f,\"samples\":%u}", c->sample[c->count / 2],
			c->sample[c->count - 1 - c->count / 100], c->count);
	putc(',', out);
}

static void show_why(const struct cost *list, unsigned count, FILE *out)
{
	bool any = false;

	fputs("\"why\":{", out);
	for (unsigned i = 0; i < count; i++)
		if (*list[i].why) {
			fprintf(out, "%s\"%s\":\"%s\"", any ? "," : "", list[i].name, list[i].why);
			any = true;
		}
	fputs("}}\n", out);
}

void costs_json(const int asked[2], const char *iface, FILE *out)
{
	static struct cost list[] = {
		{ .name = "syscall" }, { .name = "clock" }, { .name = "hop" }, { .name = "tx_kick" }
	};
	int cpu[2];

	choose(cpu, asked);
	pin(cpu[0]);
	null_syscall(&list[0]);
	clock_read(&list[1]);
	hop(&list[2], cpu);
	tx_kick(&list[3], iface);
	for (unsigned i = 0; i < array_size(list); i++)
		finish(&list[i]);
	fprintf(out, "{\"tool\":\"saker-probe\",\"version\":\"" VERSION "\",\"cpus\":[%d,%d],",
		cpu[0], cpu[1]);
	for (unsigned i = 0; i < array_size(list); i++)
		show(&list[i], out);
	show_why(list, array_size(list), out);
}
