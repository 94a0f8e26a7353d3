/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdatomic.h>
#include <time.h>
#include "iothread_private.h"

/* What the maps show is at most this old; a look costs some system calls. */
enum { HOUSE_NS = 50 * NS_PER_MS };

/* Counters go on where those of the rings before, and of a worker before, ended. */
static void publish_rings(const struct iothread *io, uint64_t now_ns)
{
	struct ring_lost lost = io->lost_before;

	for (unsigned q = 0; q < io->now.gates; q++) {
		const struct gate *g = &io->now.gate[q];
		struct ring_block *to = &io->now.queues[gate_queue(g)];

		gate_check(g);
		gate_gauge(g, to, now_ns);
		lost.ring_full += to->rx_ring_full;
		lost.dropped += to->rx_dropped;
		lost.tx_invalid += to->tx_invalid;
	}
	io->now.stats->rx_ring_full = lost.ring_full;
	io->now.stats->rx_dropped = lost.dropped;
	io->now.stats->tx_invalid = lost.tx_invalid;
}

/* What the counters have. */
static struct ring_lost counted(const struct stats_block *stats)
{
	return (struct ring_lost){ stats->rx_ring_full, stats->rx_dropped, stats->tx_invalid };
}

/* Less what they have of these very sockets, which an upgrade takes over from another
 * process: the kernel goes on counting for them. */
void house_count_from(struct iothread *io, const struct bypass *b)
{
	io->lost_before = counted(b->stats);
	for (unsigned q = 0; q < b->gates; q++) {
		const struct ring_block *told = &b->queues[gate_queue(&b->gate[q])];

		io->lost_before.ring_full -= told->rx_ring_full;
		io->lost_before.dropped -= told->rx_dropped;
		io->lost_before.tx_invalid -= told->tx_invalid;
	}
}

void house_count_on(struct iothread *io, uint64_t now_ns)
{
	publish_rings(io, now_ns);
	io->lost_before = counted(io->now.stats);
}

void house_publish(struct iothread *io, uint64_t now_ns)
{
	worker_publish(io->worker);
	if (io->now.gauges)
		worker_gauge(io->worker, io->now.gauges, now_ns);
	conns_publish(&io->conns, io->worker, now_ns);
	publish_rings(io, now_ns);
	if (io->log) {
		uint64_t unwritten = logger_unwritten(io->log);

		io->now.stats->http_log_unwritten += unwritten - io->log_unwritten;
		io->log_unwritten = unwritten;
	}
}

/* Each thread writes the mode, and none after a look at what is no longer so: the
 * next look is the same for all. */
static void publish_tx(struct iothread *io)
{
	enum abi_proof tx = PROOF_proven;

	for (unsigned t = 0; t < io->of; t++)
		if (atomic_load_explicit(&io->all[t]->tx_stuck, memory_order_relaxed)) /* E */
			tx = PROOF_unproven;
	if (__atomic_load_n(&io->now.mode->tx, __ATOMIC_RELAXED) != tx)
		__atomic_store_n(&io->now.mode->tx, tx, __ATOMIC_RELAXED);
}

/* What XDP has redirected, and what has become of it: of all queues, since XDP does not
 * count by queue. */
static void read_all(const struct iothread *io, struct watch_reading *r)
{
	const struct metrics_source *all = &io->now.metrics;

	for (uint32_t b = 0; b < all->counter_blocks; b++) {
		const struct stats_block *s = &all->counters[b];

		r->redirected += s->xdp_redirected;
		r->received += s->rx_frames + s->rx_ring_full + s->rx_dropped + s->rx_abandoned;
	}
}

static void read_gate(const struct iothread *io, const struct gate *gate, struct watch_reading *r)
{
	const struct ring_block *queue = &io->now.queues[gate_queue(gate)];
	const struct steer_live *live = io->now.hearts;

	r->hold = __atomic_load_n(&live->held, __ATOMIC_RELAXED);
	r->ring_received = gate_received(gate);
	/* a zero-copy driver looks at an empty fill ring as a matter of course */
	r->fill_lacked = gate_zero_copy(gate) ? 0 : queue->rx_fill_empty;
	r->completed = r->in_flight = r->nic_sent = r->nic_ns = 0;
	if (gate != &io->now.gate[0]) /* sends nothing */
		return;
	r->completed = io->now.stats->tx_completed;
	r->in_flight = gate_in_flight(gate);
	if (gate_zero_copy(gate)) /* not every driver counts these frames as sent */
		return;
	r->nic_ns = __atomic_load_n(&live->nic_ns, __ATOMIC_ACQUIRE);
	r->nic_sent = __atomic_load_n(&live->nic_sent, __ATOMIC_RELAXED);
}

/* What we can do ourselves; the rest is asked of the starter. */
static void help(struct iothread *io, struct gate *gate, enum watch_remedy remedy)
{
	struct stats_block *stats = io->now.stats;

	switch (remedy) {
	case WATCH_NOTHING:
		break;
	case WATCH_KICK:
		stats->watch_kicks++;
		gate_kick(gate);
		break;
	case WATCH_REFILL:
		stats->watch_refills++;
		gate_refill(gate);
		break;
	case WATCH_REBIND:
		stats->watch_rebinds++;
		break;
	case WATCH_RUNG:
		stats->watch_rungs++;
		break;
	}
}

/* A ring that stands still is no way to answer: without our heartbeat new connections go
 * to the kernel, until it moves again. */
static void watch_rings(struct iothread *io, uint64_t now_ns)
{
	struct watch_reading reading = { .now_ns = now_ns };
	bool stuck = false, tx_stuck = false;
	unsigned asked = 0;

	read_all(io, &reading);
	for (unsigned q = 0; q < io->now.gates; q++) {
		struct watch *w = &io->watch[q];
		unsigned ask;

		read_gate(io, &io->now.gate[q], &reading);
		help(io, &io->now.gate[q], watch_look(w, &reading));
		stuck |= watch_stuck(w);
		tx_stuck |= watch_stuck(w) && w->part >= WATCH_completions;
		ask = WATCH_ASKED(watch_ask(w), w->part, gate_queue(&io->now.gate[q]));
		asked = ask > asked ? ask : asked;
	}
	atomic_store_explicit(&io->asked, asked, memory_order_relaxed); /* E */
	if (stuck != iothread_stuck(io)) {
		io->now.stats->tx_stalls += tx_stuck;
		if (stuck && !tx_stuck) /* until the next frame comes */
			__atomic_store_n(&io->now.mode->rx, PROOF_unproven, __ATOMIC_RELAXED);
		atomic_store_explicit(&io->stuck, stuck, memory_order_relaxed); /* E */
	}
	atomic_store_explicit(&io->tx_stuck, tx_stuck, memory_order_relaxed); /* E */
	publish_tx(io);
}

static void follow_mtu(struct iothread *io)
{
	unsigned mtu = atomic_load_explicit(&io->mtu, memory_order_relaxed);

	if (mtu == io->mtu_taken)
		return;
	io->mtu_taken = mtu;
	worker_set_mtu(io->worker, mtu);
}

void house_keep(struct iothread *io, uint64_t now_ns)
{
	struct timespec wall;

	if (now_ns - io->house_ns < HOUSE_NS)
		return;
	io->house_ns = now_ns;
	clock_gettime(CLOCK_REALTIME_COARSE, &wall);
	worker_set_date(io->worker, (uint64_t)wall.tv_sec);
	follow_mtu(io);
	house_publish(io, now_ns);
	if (io->now.gates) {
		watch_rings(io, now_ns);
		tracer_rest(&io->now.tracer, now_ns);
	}
	flows_sweep(&io->now.flows, io->worker, now_ns);
	if (io->drain_ns && now_ns - io->drain_ns > DRAIN_IDLE_MS * (uint64_t)NS_PER_MS) {
		io->drain_ns = 0;
		worker_close_idle(io->worker, now_ns);
	}
	if (io->draining && !worker_live(io->worker))
		atomic_store_explicit(&io->drained, 1, memory_order_release); /* D */
}
