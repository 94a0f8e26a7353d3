/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "calibrate.h"
#include "cpu.h"
#include "image.h"
#include "say.h"
#include "stats.h"
#include "threads.h"

int threads_open(struct threads *th, const struct conf *conf, const struct listeners *l,
		 bool stand_in)
{
	int error = 0;

	th->conf = conf;
	th->stand_in = stand_in;
	th->count = stand_in ? 1 : conf_io_threads(conf);
	for (unsigned t = 0; t < th->count && !error; t++) {
		struct thread *one = &th->one[t];

		error = sock_open(&one->sock, conf, l->fd + t * l->each,
				  stand_in ? l->count : l->each, one->sock_fd, one->sock_events);
		th->opened += !error;
	}
	return error;
}

static struct worker_params params_of(const struct conf *c, const struct nic *nic)
{
	struct worker_params p = {
		.max_conns = c->max_conns,
		.max_socks = SOCKS_DEFAULT,
		.timewait = c->timewait,
		.mtu = nic->mtu,
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
		.paths = c->steer == STEER_path ? c->paths : 0,
		.path_keepalive = c->path_keepalive,
	};

	memcpy(p.path, c->path, sizeof p.path);
	return p;
}

static int make_worker(const struct threads *th, struct thread *one, struct worker_params p)
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
	return 0;
}

/* Compute cores are shared out side by side: thread t has those from first_core(t)
 * to first_core(t + 1). A thread without any computes by itself. */
static unsigned first_core(const struct threads *th, unsigned t)
{
	return th->stand_in ? 0 : t * th->conf->compute_cpus / th->count;
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

static void set_up(struct threads *th, unsigned t, const struct mode *mode)
{
	struct thread *one = &th->one[t];

	one->io.conf = th->conf;
	one->io.number = th->stand_in ? STEER_STAND_IN : t;
	one->io.cpu = th->stand_in ? -1 : mode->io_cpu[t];
	one->io.all = th->all;
	one->io.of = th->count;
	one->io.sock = &one->sock;
	one->io.crew = &one->crew;
	one->io.log = t ? NULL : th->log;
	one->io.now = (struct bypass){ .stats = &one->early_stats,
				       .stages = &one->early_stages,
				       .flows.fd = -1 };
	one->early_mode = *mode;
	th->all[t] = &one->io;
}

int threads_prepare(struct threads *th, const struct mode *mode, const struct nic *nic,
		    const struct ktcp *kernel, const uint8_t secret[16])
{
	struct worker_params p = params_of(th->conf, nic);
	int error = 0;

	p.kernel_scale = kernel->scale;

	memcpy(p.secret, secret, sizeof p.secret);
	for (unsigned t = 0; t < th->count && !error; t++) {
		set_up(th, t, mode);
		error = make_worker(th, &th->one[t], p);
	}
	return error;
}

int threads_run(struct threads *th, const char *text)
{
	int error = 0;

	for (unsigned t = 0; t < th->count && !error; t++) {
		worker_set_mode(th->one[t].io.worker, text);
		early_metrics(th, &th->one[t]);
		error = make_crew(th, t);
	}
	/* Each one looks at all. */
	for (unsigned t = 0; t < th->count && !error; t++) {
		error = iothread_start(&th->one[t].io);
		th->running += !error;
	}
	return error;
}

/* --- to another process, and from one --------------------------------------------------- */

int threads_save(struct threads *th, struct handover *to, size_t room)
{
	uint64_t now_ns = cpu_now_ns();

	for (unsigned t = 0; t < th->count; t++) {
		struct iothread *io = &th->one[t].io;

		flows_tell(&io->now.flows, io->worker, now_ns);
		to->len[t] = worker_save(io->worker, handover_image(to, t, room), room, now_ns);
		if (!to->len[t])
			return -ENOSPC;
	}
	return 0;
}

int threads_load(struct threads *th, struct handover *from, size_t room)
{
	uint64_t now_ns = cpu_now_ns();

	for (unsigned t = 0; t < th->count; t++) {
		enum image_fault why = IMAGE_short;

		if (from->len[t] <= room)
			why = worker_load(th->one[t].io.worker, handover_image(from, t, room),
					  from->len[t], now_ns);
		if (why != IMAGE_none)
			return refuse(th->conf, -EINVAL, "the state of the worker before: %s",
				      image_fault_text(why));
	}
	return 0;
}

size_t threads_room(const struct conf *conf, const struct nic *nic)
{
	struct worker_params p = params_of(conf, nic);

	/* What is written is what lies there, with a few words around each record. */
	return 2 * worker_footprint(&p) + (1u << 20);
}

/* What stays the same whatever rings there are. */
static struct bypass share_of(struct threads *th, unsigned t)
{
	struct blocks *from = th->blocks;
	const struct blocks_size *size = &from->size;
	unsigned stage = th->stand_in ? size->io_threads : t;
	struct bypass b = {
		.live = &from->live->io[th->one[t].io.number],
		.mode = from->mode,
		.stats = &from->counters[th->stand_in ? blocks_stand_in(size) : t],
		.stages = &from->stages[stage],
		.gauges = &from->gauges[stage],
		.queues = from->rings,
		.conns = th->stand_in ? NULL : from->conns + (size_t)t * size->conns_each,
		.icmp = t || th->stand_in ? NULL : &from->icmp,
		.heard = t || th->stand_in ? &th->one[t].heard : NULL,
		.tell = t + 1 < th->count ? &th->one[t + 1].heard : NULL,
		.metrics = source_of(th, from->mode),
		.hearts = from->live,
		.flows = { .fd = -1, .thread = t, .threads = th->count },
	};

	if (!th->stand_in && th->conf->steer == STEER_path)
		b.flows.fd = from->flows_fd;

	if (!th->stand_in)
		sources_init(&b.sources, from->limits, from->source_conns_fd, t,
			     th->conf->max_conns);
	if (!th->stand_in)
		tracer_init(&b.tracer, from->trace[t], from->trace_fd, t);
	b.metrics.counters = from->counters;
	b.metrics.counter_blocks = size->counters;
	b.metrics.stages = from->stages;
	b.metrics.stage_blocks = blocks_stages(size);
	return b;
}

void threads_maps(struct threads *th, struct blocks *blocks)
{
	th->blocks = blocks;
	for (unsigned t = 0; t < th->count; t++) {
		spsc_init(&th->one[t].heard, th->one[t].heard_record, RELAY_RECORDS,
			  sizeof(struct icmp_event));
		th->one[t].bypass[0] = th->one[t].bypass[1] = share_of(th, t);
	}
}

/* Each takes one within a turn, unless its process stands still. */
static int await_taken(const struct threads *th)
{
	struct timespec pause = { .tv_nsec = 50 * NS_PER_US };
	uint64_t end_ns = cpu_now_ns() + GIVE_MS * (uint64_t)NS_PER_MS;

	for (unsigned t = 0; t < th->count; t++) {
		const struct thread *one = &th->one[t];

		while (!iothread_took(&one->io, &one->bypass[one->given & 1])) {
			if (cpu_now_ns() > end_ns)
				return -ETIMEDOUT;
			nanosleep(&pause, NULL);
		}
	}
	return 0;
}

int threads_gates(struct threads *th, struct gate *gate, unsigned gates, const char *text)
{
	for (unsigned t = 0, first = 0; t < th->count; t++) {
		struct thread *one = &th->one[t];
		struct bypass *b = &one->bypass[++one->given & 1];

		b->gate = gate + first;
		b->gates = gate_share(gates, th->count, t);
		first += b->gates;
		b->text = text;
		iothread_give(&one->io, b);
	}
	return th->running ? await_taken(th) : 0;
}

int threads_took(const struct threads *th)
{
	return await_taken(th);
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

void threads_publish(struct threads *th)
{
	struct blocks *to = th->blocks;

	for (unsigned t = 0; t < th->count && !th->stand_in && to; t++) {
		struct thread *one = &th->one[t];
		unsigned block = th->count + first_core(th, t);

		publish_table(th, &to->lanes[t], t, one->io.cpu, worker_lane(one->io.worker),
			      iothread_calibrated(&one->io));
		crew_publish(&one->crew, &to->counters[block]);
		for (unsigned k = 0; k < one->crew.count; k++) {
			bool measured = hop_measured(one->crew.hop[k]);

			/* What is built in is the same for all, and here nobody writes it
			 * now: the first time is before threads_calibrate. */
			publish_table(th, &to->lanes[block + k], block + k,
				      th->conf->compute_cpu[first_core(th, t) + k],
				      measured ? hop_lane(one->crew.hop[k]) :
						 worker_lane(one->io.worker),
				      measured);
		}
	}
}

void threads_mtu(struct threads *th, unsigned mtu)
{
	for (unsigned t = 0; t < th->count; t++)
		iothread_mtu(&th->one[t].io, mtu);
}

unsigned threads_asked(const struct threads *th)
{
	unsigned worst = 0;

	for (unsigned t = 0; t < th->count; t++)
		worst = (unsigned)max_u64(worst, iothread_asked(&th->one[t].io));
	return worst;
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
	while (th->opened)
		sock_close(&th->one[--th->opened].sock);
	for (unsigned t = 0; t < th->count; t++)
		crew_stop(&th->one[t].crew);
	for (unsigned t = 0; t < th->count; t++)
		sources_fini(&th->one[t].bypass[0].sources);
	for (unsigned t = 0; t < th->count; t++)
		if (th->one[t].io.worker)
			cpu_pages_free(th->one[t].io.worker, th->one[t].worker_len);
}
