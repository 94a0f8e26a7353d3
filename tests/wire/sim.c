/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sim.c - the worker in virtual time: no root, no NIC, no clock
 *
 * Model    A turn is what iothread's is: a frame, admit, compute, answer, emit
 *          until nothing is due. Time stands still but for wait(): 50 us a turn
 *          while there is work, 1 ms while there is none. Every turn ends with
 *          worker_check; on the device that is reborn another worker goes on from there, by
 *          an image.
 */
#include <stdlib.h>
#include <string.h>
#include "device.h"
#include "reborn.h"
#include "worker_defaults.h"

/* STEER_NS: a stamp as XDP gives one, so that answers are as long as on the wire. */
enum { QUEUE = 64, BUSY_NS = 50 * NS_PER_US, IDLE_NS = NS_PER_MS, STEER_NS = NS_PER_US };

static struct {
	struct worker *worker;
	void *memory;
	struct stats_block stats;
	struct stage_block stages;
	uint64_t now_ns;
	struct {
		uint8_t bytes[FRAME_MOST];
		size_t len;
		uint64_t at_ns;
	} queue[QUEUE];
	unsigned first, queued;
} sim;

/* Replaced after each turn in which a frame came or went, and sometimes in between. A job of
 * ten million rounds is begun anew each time: it needs some peace. */
static bool is_mortal;
enum { QUIET_TURNS = 1009 };

/* True: something was. */
static bool emit(void)
{
	uint8_t frame[FRAME_MOST];
	bool answer;
	size_t len;

	while ((len = worker_emit(sim.worker, frame, FRAME_ROOM, sim.now_ns, &answer))) {
		unsigned at = (sim.first + sim.queued) % QUEUE;

		must(sim.queued < QUEUE);
		memcpy(sim.queue[at].bytes, frame, len);
		sim.queue[at].len = len;
		sim.queue[at].at_ns = sim.now_ns;
		sim.queued++;
	}
	return sim.queued;
}

static void turn(uint8_t *frame, size_t len)
{
	static unsigned quiet;
	bool event = frame;

	if (frame)
		worker_frame(sim.worker, frame, len,
			     &(struct steer_meta){ .stamp_ns = sim.now_ns - STEER_NS }, sim.now_ns);
	worker_admit(sim.worker, sim.now_ns);
	worker_compute(sim.worker, sim.now_ns);
	worker_answer(sim.worker, sim.now_ns);
	event |= emit();
	worker_publish(sim.worker);
	worker_check(sim.worker);
	if (is_mortal && (event || ++quiet % QUIET_TURNS == 0))
		sim.worker = reborn(sim.worker, &sim.memory, sim.now_ns);
}

static bool sim_open(struct device *d, const struct script *s, const char **why)
{
	struct worker_params p = worker_defaults;
	size_t size;

	(void)d;
	/* Few, so that the checks after each turn look at all of them. */
	p.max_conns = s->max_conns ? s->max_conns : 8;
	memcpy(p.secret, "a secret of 16 B", sizeof p.secret);
	p.stats = &sim.stats;
	p.stages = &sim.stages;
	size = round_up(worker_footprint(&p), 64);
	memset(&sim, 0, sizeof sim);
	sim.memory = aligned_alloc(64, size);
	if (!sim.memory) {
		*why = "no memory";
		return false;
	}
	memset(sim.memory, 0, size);
	/* The start of a cookie's epoch, so that their ages are what scripts say. */
	sim.now_ns = 1000ull * TCP_COOKIE_EPOCH_MS * NS_PER_MS;
	sim.worker = worker_init(sim.memory, &p, sim.now_ns);
	worker_set_date(sim.worker, 784111777); /* RFC 9110's own example */
	worker_set_mode(sim.worker, "simulation");
	return true;
}

/* The worker may write into the frame, and must not read behind it: so it gets
 * a block of just its size, which ASan guards. */
static void sim_send(struct device *d, const uint8_t *frame, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);

	(void)d;
	must(copy);
	memcpy(copy, frame, len);
	turn(copy, len);
	free(copy);
}

static size_t sim_receive(struct device *d, uint8_t frame[FRAME_MOST], uint64_t *at_ns)
{
	size_t len;

	(void)d;
	if (!sim.queued)
		return 0;
	len = sim.queue[sim.first].len;
	memcpy(frame, sim.queue[sim.first].bytes, len);
	*at_ns = sim.queue[sim.first].at_ns;
	sim.first = (sim.first + 1) % QUEUE;
	sim.queued--;
	return len;
}

static uint64_t sim_wait(struct device *d, uint64_t until_ns)
{
	(void)d;
	while (sim.now_ns < until_ns && !sim.queued) {
		uint64_t step = worker_busy(sim.worker) ? BUSY_NS : IDLE_NS;

		sim.now_ns = min_u64(sim.now_ns + step, until_ns);
		turn(NULL, 0);
	}
	return sim.now_ns;
}

static void sim_count(struct device *d, struct stats_block *sum)
{
	(void)d;
	*sum = sim.stats;
}

static const char *sim_close(struct device *d)
{
	unsigned live = worker_live(sim.worker);

	(void)d;
	free(sim.memory);
	sim.memory = NULL;
	return live ? "a connection is left after RST" : NULL;
}

struct device *sim_device(bool is_reborn)
{
	static struct device device = {
		.name = "sim",
		.kind = ON_SIM,
		.ends = {
			.client_mac = { 0x02, 0, 0, 0, 0, 0x63 },
			.server_mac = { 0x02, 0, 0, 0, 0, 0x01 },
			/* RFC 5737, RFC 3849: for documentation */
			.client_ip4 = { 192, 0, 2, 99 },
			.server_ip4 = { 192, 0, 2, 1 },
			.client_ip6 = { 0x20, 0x01, 0x0d, 0xb8, [15] = 0x99 },
			.server_ip6 = { 0x20, 0x01, 0x0d, 0xb8, [15] = 0x01 },
			.server_port = 8080,
		},
		.early_percent = 1,
		/* a tick of the wheel (4.2 ms) and a turn */
		.late_ns = (1u << 22) + 2 * IDLE_NS,
		.quiet_ns = 10 * NS_PER_MS,
		.open = sim_open,
		.send = sim_send,
		.receive = sim_receive,
		.wait = sim_wait,
		.count = sim_count,
		.close = sim_close,
	};

	is_mortal = is_reborn;
	return &device;
}
