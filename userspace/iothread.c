/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "calibrate.h"
#include "cpu.h"
#include "hist.h"
#include "iothread_private.h"

enum {
	/* XDP reads the heartbeat for every frame: writing it each turn would move
	 * its cache line to and fro. 1 ms is far below --stall-ms (50 at least). */
	HEARTBEAT_NS = NS_PER_MS,
	/* A look at the kernel's sockets costs about 0.3 us; without connections
	 * there it is only for a newcomer, who can wait a little. */
	SOCK_IDLE_NS = 100 * NS_PER_US,
	SOCK_BUSY_NS = 10 * NS_PER_US,
	/* Only the socket rung sleeps; its timers are seconds, but the heartbeat
	 * must show that it lives. */
	SLEEP_MS = 20,
};
/* Connections that we have closed live on in the kernel until their last bytes
 * are acknowledged (Linux tcp_fin_timeout: 60 s). */
static const uint64_t KERNEL_FREE_NS = 60ull * NS_PER_S;

/* --- what the starter gives ------------------------------------------------------- */

/* The kernel deals connections out among the threads' sockets without regard to the
 * queue that their frames come by; and a stand-in may have served while we stood still:
 * its word counts for as long as its last connections may live on. */
static bool kernel_has_some(const struct iothread *io, uint64_t now_ns)
{
	uint64_t beat = __atomic_load_n(&io->now.hearts->io[STEER_STAND_IN].heartbeat_ns,
					__ATOMIC_RELAXED);

	for (unsigned t = 0; t < io->of; t++)
		if (sock_count(io->all[t]->sock))
			return true;
	return beat & STEER_KERNEL_FLOWS && (int64_t)(now_ns - beat) < (int64_t)KERNEL_FREE_NS;
}

/* Tell XDP that we live, and, in the same word, whether the kernel may hold
 * connections on the port: then it must look before it redirects. After a stall
 * that was longer than XDP tolerates SYNs have gone to the kernel. */
static void beat(struct iothread *io, uint64_t now_ns)
{
	struct steer_beat *live = io->now.live;
	uint64_t gap = now_ns - io->heartbeat_ns;
	bool flows;

	if (!live || gap < HEARTBEAT_NS || iothread_stuck(io))
		return;
	if (kernel_has_some(io, now_ns) || gap > io->conf->stall_ms * (uint64_t)NS_PER_MS / 2)
		io->kernel_free_ns = 0;
	else if (!io->kernel_free_ns)
		io->kernel_free_ns = now_ns;
	io->heartbeat_ns = now_ns;
	flows = !io->kernel_free_ns || now_ns - io->kernel_free_ns < KERNEL_FREE_NS;
	__atomic_store_n(&live->heartbeat_ns,
			 (now_ns & ~(uint64_t)STEER_KERNEL_FLOWS) |
				 (flows ? STEER_KERNEL_FLOWS : 0),
			 __ATOMIC_RELAXED);
}

/* The maps, the first time. */
static void take_maps(struct iothread *io, const struct bypass *b)
{
	io->now = *b;
	worker_set_blocks(io->worker, b->stats, b->stages);
	worker_set_metrics(io->worker, &b->metrics, b->hearts);
	io->conns = (struct conns){ .entry = b->conns, .port = io->conf->port };
	house_count_from(io, b);
	io->heartbeat_ns = 0;
}

static void take_gates(struct iothread *io, const struct bypass *b)
{
	house_count_on(io, cpu_now_ns());
	io->now.gate = b->gate;
	io->now.gates = b->gates;
	io->now.text = b->text;
}

static void take_bypass(struct iothread *io)
{
	struct bypass *b = atomic_load_explicit(&io->bypass, memory_order_acquire); /* A */
	struct bypass *before = atomic_load_explicit(&io->taken, memory_order_relaxed);

	if (likely(b == before))
		return;
	if (before)
		take_gates(io, b);
	else
		take_maps(io, b);
	worker_set_mode(io->worker, b->text);
	for (unsigned i = 0; i < b->gates; i++) {
		gate_count_in(&b->gate[i], b->stats);
		watch_init(&io->watch[i]);
	}
	atomic_store_explicit(&io->stuck, 0, memory_order_relaxed); /* E */
	atomic_store_explicit(&io->tx_stuck, 0, memory_order_relaxed);
	atomic_store_explicit(&io->asked, 0, memory_order_relaxed);
	io->turn_ns = 0;
	beat(io, cpu_now_ns());
	atomic_store_explicit(&io->taken, b, memory_order_release); /* B */
}

/* --- the turn ------------------------------------------------------------------------ */

/* For saker-stat trace, before the worker may write into the frames. */
static void trace_received(struct iothread *io, const struct ring_frame *batch, unsigned n,
			   uint64_t now_ns)
{
	tracer_begin(&io->now.tracer);
	for (unsigned i = 0; i < n; i++)
		tracer_received(&io->now.tracer, io->now.stats, &batch[i], now_ns);
}

/* Frames in; true if there were any. The clock is read after the pop, so that
 * no frame is younger than the time that it is given. */
static bool receive(struct iothread *io)
{
	struct ring_frame batch[BATCH_MAX];
	uint64_t now_ns;
	bool any = false;

	for (unsigned q = 0; q < io->now.gates; q++) {
		struct gate *g = &io->now.gate[q];
		unsigned n = gate_rx(g, batch);

		if (!n)
			continue;
		any = true;
		now_ns = cpu_now_ns();
		if (unlikely(tracer_wanted(&io->now.tracer, now_ns)))
			trace_received(io, batch, n, now_ns);
		for (unsigned i = 0; i < n; i++) {
			if (i + 1 < n)
				__builtin_prefetch(batch[i + 1].data);
			worker_frame(io->worker, batch[i].data, batch[i].len, &batch[i].meta,
				     now_ns);
		}
		gate_done(g, batch, n);
	}
	/* Whichever thread is first; the others then find it so. */
	if (unlikely(any && __atomic_load_n(&io->now.mode->rx, __ATOMIC_RELAXED) != PROOF_proven))
		__atomic_store_n(&io->now.mode->rx, PROOF_proven, __ATOMIC_RELAXED);
	return any;
}

/* Has a router said something, to thread 0 or to the thread before this one? */
static inline bool routers_spoke(const struct iothread *io)
{
	return likely(io->now.icmp) ? icmp_pending(io->now.icmp) : !spsc_empty(io->now.heard);
}

static bool next_word(struct iothread *io, struct icmp_event *e)
{
	if (io->now.tell && spsc_full(io->now.tell))
		return false;
	return io->now.icmp ? icmp_take(io->now.icmp, e) : spsc_take(io->now.heard, e);
}

/* What routers said of the path; true if they did. No more than a batch a turn:
 * whoever floods us with it must not stop the rings. */
static bool hear_routers(struct iothread *io)
{
	struct icmp_event e;
	unsigned n = 0;

	while (n < BATCH_MAX && next_word(io, &e)) {
		if (io->now.tell && !worker_owns(io->worker, &e))
			must(spsc_put(io->now.tell, &e));
		else
			worker_mtu(io->worker, &e, cpu_now_ns());
		n++;
	}
	return n;
}

static void trace_sent(struct iothread *io, const uint8_t *frame, size_t len, bool answer,
		       uint64_t now_ns)
{
	struct trace_times times;

	if (answer)
		worker_times(io->worker, now_ns, &times);
	tracer_sent(&io->now.tracer, io->now.stats, frame, len, answer ? &times : NULL, now_ns);
}

/* Due segments out, by the first gate. */
static void transmit(struct iothread *io)
{
	struct gate *g = &io->now.gate[0];
	uint64_t sent_ns[RING_COMP], now_ns = cpu_now_ns();
	unsigned timed = gate_reap(g, sent_ns);
	bool traced = tracer_wanted(&io->now.tracer, now_ns);

	for (unsigned i = 0; i < timed; i++)
		hist_record(&io->now.stages->sent, now_ns - sent_ns[i]);
	if (unlikely(traced))
		tracer_begin(&io->now.tracer);
	while (worker_due(io->worker)) {
		uint16_t frame;
		uint8_t *to = gate_reserve(g, &frame);
		bool answer;
		size_t len;

		if (!to) {
			io->now.stats->tx_no_frame++;
			break;
		}
		len = worker_emit(io->worker, to, FRAME_SIZE, now_ns, &answer);
		if (!len) {
			gate_cancel(g, frame);
			break;
		}
		if (unlikely(traced))
			trace_sent(io, to, len, answer, now_ns);
		gate_commit(g, frame, len, answer ? now_ns : 0);
	}
	gate_tx(g);
}

static void count_turn(struct iothread *io, uint64_t from_ns, bool busy)
{
	struct stats_block *stats = io->now.stats;

	stats->turns++;
	if (!busy)
		return;
	stats->busy_turns++;
	stats->busy_ns += cpu_now_ns() - from_ns;
}

/* Are there samples left to take? */
static bool measuring(struct iothread *io)
{
	return atomic_load_explicit(&io->calibrate, memory_order_relaxed) &&
	       !atomic_load_explicit(&io->calibrated, memory_order_relaxed);
}

/* In a turn without work: somebody who comes just now waits for LANE_SAMPLE_US. */
static void measure(struct iothread *io)
{
	if (calibrate_sample(worker_lane(io->worker)))
		return;
	worker_calibrated(io->worker);
	atomic_store_explicit(&io->calibrated, 1, memory_order_release); /* F */
}

/* Jobs to lanes, a slice for those of this core, and what is done. What is due already
 * leaves first: it would wait for the slice. True if there was anything to do. */
static bool compute(struct iothread *io, bool busy, uint64_t now_ns)
{
	worker_admit(io->worker, busy ? cpu_now_ns() : now_ns);
	crew_wake(io->crew, io->now.stats);
	if (!worker_busy(io->worker) && !worker_awaits(io->worker))
		return false;
	if (io->now.gates && worker_due(io->worker)) {
		flows_tell(&io->now.flows, io->worker, now_ns);
		transmit(io);
	}
	busy = worker_busy(io->worker);
	worker_compute(io->worker, cpu_now_ns());
	return worker_answer(io->worker, cpu_now_ns()) || busy;
}

/* Spinning: every gate, every turn. */
static void turn_gates(struct iothread *io)
{
	uint64_t now_ns = cpu_now_ns();
	bool busy = receive(io);

	if (unlikely(routers_spoke(io)))
		busy |= hear_routers(io);
	if (io->turn_ns)
		hist_record(&io->now.stages->turn_gap, now_ns - io->turn_ns);
	io->turn_ns = now_ns;
	if (now_ns - io->sock_ns > (io->sock->count ? SOCK_BUSY_NS : SOCK_IDLE_NS)) {
		io->sock_ns = now_ns;
		busy |= sock_poll(io->sock, io->worker, io->now.stats, 0);
	}
	sources_turn(&io->now.sources, io->worker);
	busy |= compute(io, busy || worker_busy(io->worker), now_ns);
	flows_tell(&io->now.flows, io->worker, now_ns);
	if (worker_due(io->worker) || gate_in_flight(&io->now.gate[0]))
		transmit(io);
	sock_flush(io->sock, io->worker, io->now.stats);
	beat(io, now_ns);
	house_keep(io, now_ns);
	count_turn(io, now_ns, busy);
	if (unlikely(!busy && measuring(io)))
		measure(io);
}

/* Waiting: the kernel wakes us. */
static void turn_sockets(struct iothread *io)
{
	bool restless = worker_busy(io->worker) || worker_awaits(io->worker) || measuring(io);
	bool busy = sock_poll(io->sock, io->worker, io->now.stats, restless ? 0 : SLEEP_MS);
	uint64_t now_ns = cpu_now_ns();

	sources_turn(&io->now.sources, io->worker);
	busy |= compute(io, busy, now_ns);
	flows_tell(&io->now.flows, io->worker, now_ns);
	sock_flush(io->sock, io->worker, io->now.stats);
	beat(io, now_ns);
	house_keep(io, now_ns);
	count_turn(io, now_ns, busy);
	if (unlikely(!busy && measuring(io)))
		measure(io);
}

static void start_drain(struct iothread *io)
{
	io->draining = true;
	io->drain_ns = cpu_now_ns();
	sock_stop(io->sock);
	worker_drain(io->worker);
}

static void *run(void *arg)
{
	struct iothread *io = arg;
	int stop;

	while ((stop = atomic_load_explicit(&io->stop, memory_order_acquire)) != IO_STOP) { /* C */
		take_bypass(io);
		if (stop == IO_DRAIN && !io->draining)
			start_drain(io);
		if (io->now.gates)
			turn_gates(io);
		else
			turn_sockets(io);
	}
	house_publish(io, cpu_now_ns());
	tracer_rest(&io->now.tracer, UINT64_MAX);
	return NULL;
}

/* --- the starter's side ------------------------------------------------------------------ */

int iothread_start(struct iothread *io)
{
	char name[32] = "saker-io"; /* the kernel takes 15 characters */
	pthread_attr_t attr;
	cpu_set_t cpus;
	int error;

	if (io->number == STEER_STAND_IN)
		snprintf(name, sizeof name, "saker-stand-in");
	else if (io->number)
		snprintf(name, sizeof name, "saker-io-%u", io->number);
	pthread_attr_init(&attr);
	if (io->cpu >= 0) {
		CPU_ZERO(&cpus);
		CPU_SET(io->cpu, &cpus);
		pthread_attr_setaffinity_np(&attr, sizeof cpus, &cpus);
	}
	error = pthread_create(&io->thread, &attr, run, io);
	pthread_attr_destroy(&attr);
	if (error)
		fprintf(stderr, "saker: cannot start the I/O thread on CPU %d: %s\n", io->cpu,
			strerror(error));
	else
		pthread_setname_np(io->thread, name);
	return -error;
}

void iothread_give(struct iothread *io, struct bypass *bypass)
{
	atomic_store_explicit(&io->bypass, bypass, memory_order_release); /* A */
	sock_wake(io->sock);
}

bool iothread_took(const struct iothread *io, const struct bypass *bypass)
{
	return atomic_load_explicit(&io->taken, memory_order_acquire) == bypass; /* B */
}

void iothread_calibrate(struct iothread *io)
{
	atomic_store_explicit(&io->calibrate, 1, memory_order_relaxed);
	sock_wake(io->sock);
}

bool iothread_calibrated(struct iothread *io)
{
	return atomic_load_explicit(&io->calibrated, memory_order_acquire); /* F */
}

void iothread_mtu(struct iothread *io, unsigned mtu)
{
	atomic_store_explicit(&io->mtu, mtu, memory_order_relaxed);
}

void iothread_drain(struct iothread *io)
{
	atomic_store_explicit(&io->stop, IO_DRAIN, memory_order_release); /* C */
	sock_wake(io->sock);
}

bool iothread_drained(struct iothread *io)
{
	return atomic_load_explicit(&io->drained, memory_order_acquire); /* D */
}

bool iothread_stuck(const struct iothread *io)
{
	return atomic_load_explicit(&io->stuck, memory_order_relaxed); /* E */
}

unsigned iothread_asked(const struct iothread *io)
{
	return (unsigned)atomic_load_explicit(&io->asked, memory_order_relaxed); /* E */
}

void iothread_stop(struct iothread *io)
{
	atomic_store_explicit(&io->stop, IO_STOP, memory_order_release); /* C */
	sock_wake(io->sock);
	pthread_join(io->thread, NULL);
}
