/* SPDX-License-Identifier: GPL-2.0-only */
/* budget: that it adds up what is laid out, fits what it may size, and says what costs most */
#include "tap.h"

#include "abi.h"
#include "accesslog.h"
#include "budget.h"
#include "limits.h"
#include "worker.h"

enum { MIB = 1024 * 1024 };

static const struct budget_shape usual = {
	.page = 4096,
	.cpus = 4,
	.queues = 1,
	.io_threads = 1,
	.max_conns = CONNS_DEFAULT,
	.timewait = TIMEWAIT_MAX,
	.max_body = HTTP_BODY_DEFAULT,
};

static uint64_t part_of(struct budget_shape s, enum budget_part p)
{
	uint64_t part[BUDGET_PARTS];

	budget_forecast(&s, part);
	return part[p];
}

static void adds_up(void)
{
	struct budget_shape s = usual;
	struct worker_params p = { .max_conns = s.max_conns,
				   .max_socks = SOCKS_DEFAULT,
				   .mtu = 1500,
				   .max_body = s.max_body,
				   .lanes = LANES_DEFAULT };
	uint64_t part[BUDGET_PARTS], sum = 0, whole = budget_forecast(&s, part);

	for (unsigned i = 0; i < BUDGET_PARTS; i++)
		sum += part[i];
	is(whole, sum, "the forecast is the sum of its parts");
	is(part[BUDGET_conns], round_up(worker_footprint(&p), s.page),
	   "connections: what worker_footprint says of the default table");
	is(part[BUDGET_frames], MIB + 5 * 4096, "frames: UMEM, and rings of five pages");
	is(part[BUDGET_cache] + part[BUDGET_log] + part[BUDGET_cores], 0,
	   "nothing for what is not there");
	s.queues = 0;
	is(part_of(s, BUDGET_frames), 0, "without AF_XDP there are no frames");
	s.queues = 4;
	is(part_of(s, BUDGET_frames), 4 * part[BUDGET_frames], "each queue has its own");
	s.packet = true;
	is(part_of(s, BUDGET_frames),
	   4 * (FRAMES_RING_BYTES + 2 * 4096 + BATCH_MAX * FRAME_SIZE) +
		   PACKET_TX * (FRAME_SIZE + 128),
	   "on rung packet a ring and a batch for each, and what is under way");
	s.packet = false;
	s.log_lines = LOG_RECORDS;
	is(part_of(s, BUDGET_log), LOG_RECORDS * sizeof(struct accesslog_record) + LOG_BATCH,
	   "the log: its ring, and a batch");
	p.log = &(struct spsc){ .count = 0 };
	is(part_of(s, BUDGET_conns), round_up(worker_footprint(&p), s.page),
	   "and a note of each connection");
	s.cache = 100000;
	ok(part_of(s, BUDGET_cache) >= UINT64_C(100000) * 52, "the cache: 52 bytes an entry");
}

/* Each of these is more than the usual. */
static void grows(void)
{
	static const struct {
		const char *what;
		size_t at;
		uint32_t to;
	} more[] = {
#define MORE(field, to) { #field, offsetof(struct budget_shape, field), to }
		MORE(page, 16384),
		MORE(cpus, 64),
		MORE(queues, 2),
		MORE(io_threads, 2),
		MORE(compute_cores, 1),
		MORE(max_conns, CONNS_DEFAULT + 64),
		MORE(timewait, 2 * TIMEWAIT_MAX),
		MORE(log_lines, 512),
		MORE(cache, 1000),
		MORE(max_body, 65536),
#undef MORE
	};
	uint64_t whole = budget_forecast(&usual, NULL);

	for (unsigned i = 0; i < array_size(more); i++) {
		struct budget_shape s = usual;

		memcpy((char *)&s + more[i].at, &more[i].to, sizeof more[i].to);
		ok(budget_forecast(&s, NULL) > whole, "more %s: more memory", more[i].what);
	}
	for (uint32_t page = 4096, pages = 0; page <= 65536; page *= 4, pages++) {
		struct budget_shape s = usual;

		s.page = page;
		is(part_of(s, BUDGET_maps) % page, 0, "pages of %u: maps are whole ones", page);
	}
}

/* The most that fits: one connection more does not. */
static void fits(uint64_t bytes)
{
	struct budget_shape s = usual, more;

	ok(budget_fit(&s, false, bytes), "%" PRIu64 " KiB: there is room", bytes / 1024);
	ok(budget_forecast(&s, NULL) <= bytes, "%" PRIu64 " KiB: it is kept", bytes / 1024);
	more = s;
	more.max_conns++;
	if (more.timewait < TIMEWAIT_MAX && more.max_conns * 4 > more.timewait)
		more.timewait *= 2; /* in proportion */
	ok(s.max_conns == CONNS_MAX || budget_forecast(&more, NULL) > bytes,
	   "%" PRIu64 " KiB: %u connections are the most", bytes / 1024, s.max_conns);
	ok(s.timewait >= BUDGET_TIMEWAIT_MIN && s.timewait <= TIMEWAIT_MAX &&
		   !(s.timewait & (s.timewait - 1)),
	   "%" PRIu64 " KiB: %u TIME-WAIT records", bytes / 1024, s.timewait);
}

static void the_least(void)
{
	struct budget_shape s = usual;
	uint64_t least;

	ok(!budget_fit(&s, false, 1), "a byte is too little");
	is(s.max_conns, BUDGET_CONNS_MIN, "then the shape has the least: connections");
	is(s.timewait, BUDGET_TIMEWAIT_MIN, "and records");
	least = budget_forecast(&s, NULL);
	s = usual;
	ok(!budget_fit(&s, false, least - 1), "a byte less than its forecast does not fit");
	ok(budget_fit(&s, false, least), "its forecast does");
	is(s.max_conns, BUDGET_CONNS_MIN, "and leaves nothing over");
}

static void what_is_given_stays(void)
{
	struct budget_shape s = usual;
	uint64_t whole, least;

	s.log_lines = LOG_RECORDS;
	whole = budget_forecast(&s, NULL);
	ok(budget_fit(&s, true, whole), "the usual shape fits its forecast");
	is(s.timewait, TIMEWAIT_MAX, "with all its records");
	is(s.log_lines, LOG_RECORDS, "and the log's");
	ok(budget_fit(&s, true, whole - 1), "a byte less");
	is(s.max_conns, CONNS_DEFAULT, "connections that are given stay");
	ok(s.timewait < TIMEWAIT_MAX && s.log_lines < LOG_RECORDS, "the others shrink");
	ok(!budget_fit(&s, true, 1), "a byte is too little");
	is(s.max_conns, CONNS_DEFAULT, "the least has them, too");
	least = budget_forecast(&s, NULL);
	ok(least < whole, "and is less than the usual");
	s.max_conns = 2 * CONNS_DEFAULT;
	ok(budget_fit(&s, true, 2 * whole), "there is room for more");
	is(s.timewait, TIMEWAIT_MAX, "nothing grows beyond its default but connections");
	is(s.log_lines, LOG_RECORDS, "nor does the log");
}

static void dearest(struct budget_shape s, enum budget_option wanted, const char *name)
{
	uint64_t bytes;

	is(budget_dearest(&s, &bytes), wanted, "what costs most: %s", name);
	ok(bytes && bytes < budget_forecast(&s, NULL), "%s: it is a part of it", name);
}

static void what_costs_most(void)
{
	struct budget_shape s = usual;

	dearest(s, BUDGET_OPTION_max_conns, "connections, as usual");
	s.max_conns = BUDGET_CONNS_MIN;
	dearest(s, BUDGET_OPTION_max_body, "bodies, when there are few");
	s.queues = 8;
	dearest(s, BUDGET_OPTION_queues, "queues, when there are eight");
	s.io_threads = 8;
	dearest(s, BUDGET_OPTION_io_cpu, "threads, when there are as many");
	s.log_lines = LOG_RECORDS;
	s.io_threads = s.queues = 1;
	dearest(s, BUDGET_OPTION_access_log, "the log, for one thread");
	s.cache = 100000;
	dearest(s, BUDGET_OPTION_cache, "a large cache");
	s.cache = s.log_lines = s.max_body = 0;
	s.compute_cores = CREW_MAX;
	dearest(s, BUDGET_OPTION_compute_cpus, "sixteen compute CPUs");
}

int main(void)
{
	adds_up();
	grows();
	the_least();
	for (unsigned mib = 6; mib <= 1024; mib *= 2)
		fits((uint64_t)mib * MIB);
	fits(5000 * 1024);
	what_is_given_stays();
	what_costs_most();
	return done();
}
