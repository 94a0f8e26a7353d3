/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sim.c - the worker in virtual time: no root, no NIC, no clock
 *
 * Model    A turn is what iothread's is: a frame, admit, compute, answer, emit
 *          until nothing is due. Time stands still but for wait(): 50 us a turn
 *          while there is work, 1 ms while there is none. Every turn ends with
 *          worker_check; on the device that is reborn another worker goes on from there, by
 *          an image. With paths the steering is a toy: what it has not as ours is the
 *          kernel's, and never comes here.
 */
#include <stdlib.h>
#include <string.h>
#include "device.h"
#include "reborn.h"
#include "toy_flows.h"
#include "worker_defaults.h"

/* STEER_NS: a stamp as XDP gives one, so that answers are as long as on the wire. */
enum { QUEUE = 64, BUSY_NS = 50 * NS_PER_US, IDLE_NS = NS_PER_MS, STEER_NS = NS_PER_US };

static struct {
	struct worker *worker;
	unsigned conns;
	bool paths;
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

static void turn(uint8_t *frame, size_t len, const struct steer_meta *meta)
{
	static unsigned quiet;
	bool event = frame;

	if (frame)
		worker_frame(sim.worker, frame, len, meta, sim.now_ns);
	worker_admit(sim.worker, sim.now_ns);
	worker_compute(sim.worker, sim.now_ns);
	worker_answer(sim.worker, sim.now_ns);
	toy_flows_hear(sim.worker, sim.now_ns);
	event |= emit();
	worker_publish(sim.worker);
	worker_check(sim.worker);
	if (is_mortal && (event || ++quiet % QUIET_TURNS == 0))
		sim.worker = reborn(sim.worker, &sim.memory, sim.now_ns);
	if (sim.paths)
		toy_flows_check(sim.worker, sim.conns);
}

/* What XDP would do: false when the frame is the kernel's. */
static bool steer(const uint8_t *frame, size_t len, const struct told *told,
		  struct steer_meta *meta)
{
	struct steer_flow_key key;
	enum flow_state state;
	struct pkt_seg seg;
	bool syn;

	*meta = (struct steer_meta){ .stamp_ns = sim.now_ns - STEER_NS };
	if (!sim.paths || pkt_parse(frame, len, &seg) > PKT_bad_option)
		return true;
	key = toy_flow_key(&seg.flow);
	if (told && told->adopt) {
		toy_flow_open(&key, seg.seq);
		meta->flags = STEER_META_ADOPT | STEER_META_EARLY;
		meta->flags |= told->sack_ok ? STEER_META_SACK : 0;
		meta->mss = told->mss;
		meta->scale = told->scale;
	} else if (told && (told->ours || told->early)) {
		toy_flow_set(&key, FLOW_ours)->lost = told->early;
		meta->flags = told->early ? STEER_META_EARLY : 0;
	}
	syn = (seg.flags & (WIRE_SYN | WIRE_ACK)) == WIRE_SYN;
	state = toy_flow_state(&key);
	return state == FLOW_ours || (state == FLOW_closing && !syn);
}

static bool sim_open(struct device *d, const struct script *s, const char **why)
{
	struct worker_params p = worker_defaults;
	size_t size;

	(void)d;
	/* Few, so that the checks after each turn look at all of them. */
	p.max_conns = s->max_conns ? s->max_conns : 8;
	p.paths = s->paths;
	for (unsigned i = 0; i < s->paths; i++)
		strcpy(p.path[i], s->path[i]);
	p.path_keepalive = s->path_keepalive;
	p.kernel_scale = (uint8_t)s->kernel_scale;
	memcpy(p.secret, "a secret of 16 B", sizeof p.secret);
	p.stats = &sim.stats;
	p.stages = &sim.stages;
	size = round_up(worker_footprint(&p), 64);
	memset(&sim, 0, sizeof sim);
	sim.conns = p.max_conns;
	sim.paths = p.paths;
	toy_flows = 0;
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
static void sim_send(struct device *d, const uint8_t *frame, size_t len, const struct told *told)
{
	uint8_t *copy = malloc(len ? len : 1);
	struct steer_meta meta;

	(void)d;
	must(copy);
	memcpy(copy, frame, len);
	if (steer(frame, len, told, &meta))
		turn(copy, len, &meta);
	else
		turn(NULL, 0, NULL);
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
		turn(NULL, 0, NULL);
	}
	return sim.now_ns;
}

static void sim_count(struct device *d, struct stats_block *sum)
{
	(void)d;
	*sum = sim.stats;
}

/* TIME-WAIT ends, and what is told of it has been told. */
static bool forgets_flows(void)
{
	enum { STEP_NS = 5 * NS_PER_MS };
	unsigned lost = 0;

	for (uint64_t ms = 0; ms < TCP_TIMEWAIT_MS + 5u * TIMEWAIT_MAX / TIMEWAIT_SWEEP; ms += 5) {
		sim.now_ns += STEP_NS;
		turn(NULL, 0, NULL);
	}
	for (unsigned i = 0; i < toy_flows; i++)
		lost += toy_flow[i].lost;
	return toy_flows == lost;
}

static const char *sim_close(struct device *d)
{
	unsigned live = worker_live(sim.worker);
	bool leaks = !live && sim.paths && !forgets_flows();

	(void)d;
	free(sim.memory);
	sim.memory = NULL;
	return live ? "a connection is left after RST" : leaks ? "a flow is left" : NULL;
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
