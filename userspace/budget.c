/* SPDX-License-Identifier: GPL-2.0-only */
#include "budget.h"

#include "abi.h"
#include "accesslog.h"
#include "hop.h"
#include "limits.h"
#include "spsc.h"
#include "worker.h"

static uint64_t pages(const struct budget_shape *s, uint64_t bytes)
{
	return round_up(bytes, s->page);
}

/* --- what is laid out here --------------------------------------------------------- */

static struct worker_params params_of(const struct budget_shape *s)
{
	static struct spsc some_log;

	return (struct worker_params){
		.max_conns = s->max_conns,
		.max_socks = SOCKS_DEFAULT,
		.timewait = s->timewait,
		.mtu = 1500,
		.max_body = s->max_body,
		.cache = s->cache,
		.lanes = LANES_DEFAULT,
		.paths = s->by_path,
		.log = s->log_lines ? &some_log : NULL,
	};
}

/* A worker for each I/O thread, all of it touched. */
static uint64_t workers(const struct budget_shape *s)
{
	struct worker_params p = params_of(s);

	return s->io_threads * pages(s, worker_footprint(&p));
}

/* Rung packet: a ring of the kernel's for each queue with a batch beside it, and frames
 * under way for each thread (packet_memory.h). */
static uint64_t packets(const struct budget_shape *s)
{
	uint64_t queue = pages(s, FRAMES_RING_BYTES) + 2 * s->page + BATCH_MAX * FRAME_SIZE;

	return s->queues * queue + s->io_threads * PACKET_TX * (FRAME_SIZE + 128);
}

/* UMEM, and the four rings, which the kernel maps by whole pages. */
static uint64_t frames(const struct budget_shape *s)
{
	static const uint32_t ring[] = { RING_FILL * 8, RING_COMP * 8, RING_RX * 16, RING_TX * 16 };
	uint64_t one = pages(s, (uint64_t)RING_FRAMES * FRAME_SIZE);

	if (s->packet)
		return packets(s);
	for (unsigned i = 0; i < array_size(ring); i++)
		one += pages(s, ring[i] + BUDGET_RING_HEAD);
	return s->queues * one;
}

/* Those that both processes map, so each is counted once: blocks.c. */
static uint64_t maps(const struct budget_shape *s)
{
	uint64_t threads = s->io_threads, counters = threads + s->compute_cores + s->cpus + 2;

	return pages(s, sizeof(struct steer_live)) + pages(s, sizeof(struct mode)) +
	       pages(s, counters * sizeof(struct stats_block)) +
	       pages(s, (threads + 1) * sizeof(struct stage_block)) +
	       pages(s, (threads + s->compute_cores) * sizeof(struct lane_table)) +
	       pages(s, (threads + 1) * sizeof(struct gauge_block)) +
	       pages(s, QUEUES_MAX * sizeof(struct ring_block)) +
	       pages(s, threads * (s->max_conns + SOCKS_DEFAULT) * sizeof(struct conn_entry)) +
	       pages(s, sizeof(struct summary)) + pages(s, sizeof(struct limits)) +
	       threads * s->page /* the first of each trace */ + ICMP_RING_BYTES + 2 * s->page;
}

static uint64_t log_of(const struct budget_shape *s)
{
	size_t ring = spsc_footprint(s->log_lines, sizeof(struct accesslog_record));

	return s->log_lines ? s->io_threads * pages(s, ring) + LOG_BATCH : 0;
}

static uint64_t cores(const struct budget_shape *s)
{
	return s->compute_cores * (hop_footprint() + BUDGET_THREAD);
}

/* Larger pages: a mapping of a few kB takes a whole one. */
static uint64_t processes(const struct budget_shape *s)
{
	uint64_t larger = s->page > BUDGET_PAGE ? s->page - BUDGET_PAGE : 0;

	return BUDGET_PROCESSES + sizeof(struct stage_block) + s->io_threads * BUDGET_THREAD +
	       BUDGET_MAPPINGS * larger / 2;
}

uint64_t budget_forecast(const struct budget_shape *s, uint64_t part[BUDGET_PARTS])
{
	uint64_t each[BUDGET_PARTS], sum = 0;
	struct budget_shape plain = *s;

	plain.cache = 0;
	each[BUDGET_processes] = processes(s);
	each[BUDGET_frames] = frames(s);
	each[BUDGET_maps] = maps(s);
	each[BUDGET_conns] = workers(&plain);
	each[BUDGET_cache] = workers(s) - workers(&plain);
	each[BUDGET_log] = log_of(s);
	each[BUDGET_cores] = cores(s);
	for (unsigned i = 0; i < BUDGET_PARTS; i++) {
		sum += each[i];
		if (part)
			part[i] = each[i];
	}
	return sum;
}

/* --- what fits ----------------------------------------------------------------------- */

/* A power of two in proportion to n, as the default is to CONNS_DEFAULT. */
static unsigned in_proportion(unsigned n, unsigned usual, unsigned least)
{
	unsigned size = usual;

	while (size / 2 >= least && size / 2 >= (uint64_t)n * usual / CONNS_DEFAULT)
		size /= 2;
	return size;
}

static struct budget_shape sized(const struct budget_shape *of, bool conns_fixed, unsigned n)
{
	struct budget_shape s = *of;

	if (!conns_fixed)
		s.max_conns = n;
	s.timewait = in_proportion(n, TIMEWAIT_MAX, BUDGET_TIMEWAIT_MIN);
	if (s.log_lines)
		s.log_lines = in_proportion(n, LOG_RECORDS, BUDGET_LOG_MIN);
	return s;
}

bool budget_fit(struct budget_shape *s, bool conns_fixed, uint64_t bytes)
{
	unsigned fits = BUDGET_CONNS_MIN, over = (conns_fixed ? CONNS_DEFAULT : CONNS_MAX) + 1;
	struct budget_shape best = sized(s, conns_fixed, fits), next;
	bool any = budget_forecast(&best, NULL) <= bytes;

	while (any && over - fits > 1) {
		unsigned middle = fits + (over - fits) / 2;

		next = sized(s, conns_fixed, middle);
		if (budget_forecast(&next, NULL) <= bytes) {
			fits = middle;
			best = next;
		} else {
			over = middle;
		}
	}
	*s = best;
	return any;
}

/* --- what costs most ------------------------------------------------------------------ */

static struct budget_shape without(const struct budget_shape *of, enum budget_option o)
{
	struct budget_shape s = *of;

	switch (o) {
	case BUDGET_OPTION_max_conns:
		s.max_conns = (unsigned)min_u64(s.max_conns, BUDGET_CONNS_MIN);
		break;
	case BUDGET_OPTION_max_body:
		s.max_body = 0;
		break;
	case BUDGET_OPTION_cache:
		s.cache = 0;
		break;
	case BUDGET_OPTION_access_log:
		s.log_lines = 0;
		break;
	case BUDGET_OPTION_io_cpu:
		s.io_threads = 1;
		break;
	case BUDGET_OPTION_compute_cpus:
		s.compute_cores = 0;
		break;
	case BUDGET_OPTION_queues:
		s.queues = (unsigned)min_u64(s.queues, 1);
		break;
	default:
		must(!"an option without its case");
	}
	return s;
}

enum budget_option budget_dearest(const struct budget_shape *s, uint64_t *bytes)
{
	uint64_t whole = budget_forecast(s, NULL);
	enum budget_option dearest = 0;

	*bytes = 0;
	for (unsigned o = 0; o < BUDGET_OPTIONS; o++) {
		struct budget_shape less = without(s, (enum budget_option)o);
		uint64_t saved = whole - budget_forecast(&less, NULL);

		if (saved > *bytes) {
			*bytes = saved;
			dearest = (enum budget_option)o;
		}
	}
	return dearest;
}
