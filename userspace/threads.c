/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include "calibrate.h"
#include "cpu.h"
#include "stats.h"
#include "threads.h"

int threads_listen(struct threads *th, const struct conf *conf)
{
	int error = 0;

	th->conf = conf;
	th->idle_fd = -1;
	th->count = conf_io_threads(conf);
	for (unsigned t = 0; t < th->count && !error; t++) {
		struct sock_share share = { .number = t, .of = th->count };
		struct thread *one = &th->one[t];

		error = sock_open(&one->sock, conf, &share, one->sock_fd, one->sock_events);
		th->listening += !error;
	}
	return error;
}

static struct worker_params params_of(const struct conf *c, const struct nic *nic)
{
	return (struct worker_params){
		.max_conns = c->max_conns,
		.max_socks = SOCKS_DEFAULT,
		.mss4 = (uint16_t)(min_u64(nic->mtu, 1500) - 40),
		.mss6 = (uint16_t)(min_u64(nic->mtu, 1500) - 60),
		.max_n = c->max_n,
		.max_body = c->max_body,
		.cache = c->cache,
		.lanes = c->lanes,
		.features = cpu_features(),
		.slice_us = c->slice_us,
		.max_wait_ms = c->max_wait_ms,
		.header_timeout_ms = c->header_timeout_ms,
		.body_timeout_ms = c->body_timeout_ms,
		.idle_timeout_ms = c->idle_timeout_ms,
	};
}

static int make_worker(const struct threads *th, struct thread *one, struct worker_params p,
		       const char *text)
{
	bool locked;
	void *memory;

	p.stats = &one->early_stats;
	p.stages = &one->early_stages;
	if (th->log && !(p.log = logger_ring(th->log))) {
		int error = -errno;

		fprintf(stderr, "saker: %s: no memory for the access log: %s\n", th->conf->ifname,
			strerror(-error));
		return error;
	}
	one->worker_len = worker_footprint(&p);
	memory = cpu_pages(one->worker_len, &locked);
	if (!memory) {
		int error = -errno;

		fprintf(stderr,
			"saker: %s: no memory for %u connections (%zu bytes): %s; choose fewer "
			"with --max-conns\n",
			th->conf->ifname, p.max_conns, one->worker_len, strerror(-error));
		return error;
	}
	one->io.worker = worker_init(memory, &p, cpu_now_ns());
	worker_set_mode(one->io.worker, text);
	return 0;
}

/* Compute cores are shared out side by side: thread t has those from first_core(t)
 * to first_core(t + 1). A thread without any computes by itself. */
static unsigned first_core(const struct threads *th, unsigned t)
{
	return t * th->conf->compute_cpus / th->count;
}

/* A compute core that sleeps shall be up quickly. */
static void idle_lightly(struct threads *th)
{
	if (!th->conf->compute_cpus)
		return;
	th->idle_fd = cpu_idle_lightly();
	if (th->idle_fd < 0)
		fprintf(stderr,
			"saker: %s: compute CPUs may sleep deeply, and be slow to wake: "
			"/dev/cpu_dma_latency: %s\n",
			th->conf->ifname, strerror(-th->idle_fd));
}

static int make_crew(struct threads *th, unsigned t)
{
	const struct conf *c = th->conf;
	struct thread *one = &th->one[t];
	struct crew_params p = {
		.cpus = c->compute_cpu + first_core(th, t),
		.count = first_core(th, t + 1) - first_core(th, t),
		.lanes = c->lanes,
		.features = cpu_features(),
		.slice_us = c->slice_us,
		.spin_us = c->spin_us,
	};
	int error = crew_start(&one->crew, &p);

	if (!error && p.count)
		worker_crew(one->io.worker, one->crew.hop, p.count);
	return error;
}

static struct metrics_source source_of(const struct threads *th, const struct mode *mode)
{
	return (struct metrics_source){
		.name = th->conf->ifname,
		.rung = stats_rung_name(mode->rung),
		.copy = stats_copy_name(mode->copy),
		.mode = mode,
	};
}

/* Of what there is before the maps are. */
static void early_metrics(const struct threads *th, struct thread *one)
{
	struct metrics_source source = source_of(th, &one->early_mode);

	source.counters = &one->early_stats;
	source.stages = &one->early_stages;
	source.counter_blocks = source.stage_blocks = 1;
	worker_set_metrics(one->io.worker, &source, NULL);
}

int threads_start(struct threads *th, const struct mode *mode, const struct nic *nic,
		  const char *text)
{
	struct worker_params p = params_of(th->conf, nic);
	int error = 0;

	idle_lightly(th);
	if (getrandom(p.secret, sizeof p.secret, 0) != sizeof p.secret) {
		fprintf(stderr, "saker: %s: no random numbers for the secret: %s\n",
			th->conf->ifname, strerror(errno));
		return -EAGAIN;
	}
	for (unsigned t = 0; t < th->count && !error; t++) {
		struct thread *one = &th->one[t];

		one->io.conf = th->conf;
		one->io.number = t;
		one->io.cpu = mode->io_cpu[t];
		one->io.all = th->all;
		one->io.sock = &one->sock;
		one->io.crew = &one->crew;
		one->io.log = t ? NULL : th->log;
		one->io.now = (struct bypass){ .stats = &one->early_stats,
					       .stages = &one->early_stages };
		one->early_mode = *mode;
		th->all[t] = &one->io;
		error = make_worker(th, one, p, text);
		if (error)
			break;
		early_metrics(th, one);
		error = make_crew(th, t);
	}
	/* Each one looks at all. */
	for (unsigned t = 0; t < th->count && !error; t++) {
		error = iothread_start(&th->one[t].io);
		th->running += !error;
	}
	return error;
}

void threads_give(struct threads *th, struct steer *steer, const char *text)
{
	for (unsigned t = 1; t < th->count; t++)
		spsc_init(&th->one[t].heard, th->one[t].heard_record, RELAY_RECORDS,
			  sizeof(struct icmp_event));
	for (unsigned t = 0; t < th->count; t++) {
		struct bypass *b = &th->one[t].bypass;

		b->live = &steer->live->io[t];
		b->mode = steer->mode;
		b->stats = &steer->counters[t];
		b->stages = &steer->stages[t];
		b->gauges = &steer->gauges[t];
		b->queues = steer->rings;
		b->conns = steer->conns + (size_t)t * steer->conns_each;
		b->icmp = t ? NULL : &steer->icmp;
		b->heard = t ? &th->one[t].heard : NULL;
		b->tell = t + 1 < th->count ? &th->one[t + 1].heard : NULL;
		tracer_init(&b->tracer, steer->trace[t], steer->trace_fd, t);
		b->text = text;
		b->metrics = source_of(th, steer->mode);
		b->metrics.counters = steer->counters;
		b->metrics.counter_blocks = steer->counter_blocks;
		b->metrics.stages = steer->stages;
		b->metrics.stage_blocks = steer->stage_blocks;
		b->hearts = steer->live;
		iothread_give(&th->one[t].io, b);
	}
}

void threads_calibrate(struct threads *th)
{
	for (unsigned t = 0; t < th->count; t++)
		iothread_calibrate(&th->one[t].io);
}

/* A table, when it is the first of that core, and when it is a measured one. */
static void publish_table(struct threads *th, struct lane_table *to, unsigned block, int cpu,
			  const struct lane *lane, bool measured)
{
	if (to->state != TABLE_none && th->measured[block] == measured)
		return;
	th->measured[block] = measured;
	calibrate_table(to, lane, th->conf->lanes, cpu);
	to->state = measured ? TABLE_measured : TABLE_built_in;
}

void threads_publish(struct threads *th, struct steer *steer)
{
	for (unsigned t = 0; t < th->count; t++) {
		struct thread *one = &th->one[t];
		unsigned block = th->count + first_core(th, t);

		publish_table(th, &steer->lanes[t], t, one->io.cpu, worker_lane(one->io.worker),
			      iothread_calibrated(&one->io));
		crew_publish(&one->crew, &steer->counters[block]);
		for (unsigned k = 0; k < one->crew.count; k++) {
			bool measured = hop_measured(one->crew.hop[k]);

			/* What is built in is the same for all, and here nobody writes it
			 * now: the first time is before threads_calibrate. */
			publish_table(th, &steer->lanes[block + k], block + k,
				      th->conf->compute_cpu[first_core(th, t) + k],
				      measured ? hop_lane(one->crew.hop[k]) :
						 worker_lane(one->io.worker),
				      measured);
		}
	}
}

void threads_drain(struct threads *th)
{
	for (unsigned t = 0; t < th->count; t++)
		iothread_drain(&th->one[t].io);
}

bool threads_drained(struct threads *th)
{
	for (unsigned t = 0; t < th->count; t++)
		if (!iothread_drained(&th->one[t].io))
			return false;
	return true;
}

void threads_stop(struct threads *th)
{
	while (th->running)
		iothread_stop(&th->one[--th->running].io);
}

void threads_close(struct threads *th)
{
	while (th->listening)
		sock_close(&th->one[--th->listening].sock);
	for (unsigned t = 0; t < th->count; t++)
		crew_stop(&th->one[t].crew);
	if (th->idle_fd >= 0)
		close(th->idle_fd);
	th->idle_fd = -1;
	for (unsigned t = 0; t < th->count; t++)
		if (th->one[t].io.worker)
			cpu_pages_free(th->one[t].io.worker, th->one[t].worker_len);
}
