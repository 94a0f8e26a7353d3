/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The whole worker, between two clients with handshakes of their own and the
 * frames that it sends. The input is a script of steps, one byte each with what
 * belongs to it: a segment with bytes of the input as data, in order or not,
 * an ACK of what was seen or not, a FIN, a RST, time. Invariants: worker_check
 * after each step; frames are valid and go to a client; a RST is not answered by
 * one; no more is acknowledged than was sent, nor named in SACK blocks; the access log
 * has a line of printable ASCII for each request that is counted. Behind some steps
 * another worker goes on from an image of this one. Each input is played twice: on a port
 * of ours, and on one that is shared with the kernel, where the steering (toy_kernel.h)
 * must be right about each flow after each step.
 */
#include "accesslog.h"
#include "pkt.h"
#include "reborn.h"
#include "spsc.h"
#include "tap.h"
#include "toy_kernel.h"
#include "wire.h"
#include "worker.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CLIENTS = 2, CONNS = 3, STEPS_MAX = 200, RECORDS = 64, REBORN = 0x80 };

struct client {
	bool open;
	uint32_t snd_nxt, snd_max, rcv_nxt, ts_recent;
};

static struct {
	struct worker *worker;
	void *memory;
	bool shared; /* the port */
	struct stats_block stats;
	struct stage_block stages;
	uint64_t now_ns;
	struct client client[CLIENTS];
	bool said_rst;
	struct spsc log;
	uint8_t records[RECORDS * sizeof(struct accesslog_record)] __attribute__((aligned(64)));
	uint64_t lines;
} rig;

static void start(bool shared)
{
	struct worker_params p = {
		.max_conns = CONNS,
		.mtu = 1500,
		.max_n = 1000,
		.max_body = 2000,
		.cache = 2,
		.lanes = LANES_DEFAULT,
		.slice_us = 5,
		.max_wait_ms = 10,
		.header_timeout_ms = 1000,
		.body_timeout_ms = 1000,
		.idle_timeout_ms = 5000,
		.stats = &rig.stats,
		.stages = &rig.stages,
		.log = &rig.log,
		.paths = shared ? 2 : 0,
		.path = { "/compute", "/echo" },
		.path_keepalive = true,
		.kernel_scale = TOY_KERNEL_SCALE,
	};

	free(rig.memory);
	memset(&rig, 0, sizeof rig);
	rig.memory = calloc(1, worker_footprint(&p) + 64);
	must(rig.memory);
	rig.shared = shared;
	toy_flows = toy_hints = toy_opens = 0;
	toy_ring_loss = 5;
	rig.now_ns = NS_PER_S;
	spsc_init(&rig.log, rig.records, RECORDS, sizeof(struct accesslog_record));
	rig.worker = worker_init((void *)round_up((uintptr_t)rig.memory, 64), &p, rig.now_ns);
}

static void heard(const uint8_t *frame, size_t len)
{
	struct pkt_seg s;
	struct client *c;

	must(pkt_parse(frame, len, &s) == PKT_ok);
	must(s.flow.local_port >= 1000 && s.flow.local_port < 1000 + CLIENTS);
	must(!(rig.said_rst && s.flags & WIRE_RST));
	must(!s.has_ts || rig.shared);
	c = &rig.client[s.flow.local_port - 1000];
	if (s.flags & WIRE_RST)
		c->open = false;
	else if (s.flags & WIRE_SYN)
		c->rcv_nxt = s.seq + 1;
	else
		must(!(s.flags & WIRE_ACK) || seq_le(s.ack, c->snd_max));
	for (unsigned i = 0; i < s.sack_count; i++)
		must(seq_lt(s.sack[i].left, s.sack[i].right) &&
		     seq_le(s.sack[i].right, c->snd_max));
	if (s.has_ts)
		c->ts_recent = s.ts_val;
	if (s.seq == c->rcv_nxt && !(s.flags & WIRE_SYN))
		c->rcv_nxt += pkt_span(&s);
}

static void toy_kernel_send(const struct pkt_seg *s)
{
	uint8_t frame[2048];

	heard(frame, pkt_emit(s, frame, sizeof frame));
}

static void read_log(void)
{
	uint64_t requests = rig.stats.http_aborted;
	struct accesslog_record r;
	char line[ACCESSLOG_LINE];

	while (spsc_take(&rig.log, &r)) {
		size_t len = accesslog_line(&r, 0, line);

		must(len <= sizeof line && line[len - 1] == '\n');
		for (size_t i = 0; i + 1 < len; i++)
			must(line[i] >= ' ' && line[i] <= '~');
		must(r.port >= 1000 && r.port < 1000 + CLIENTS);
		rig.lines++;
	}
	for (unsigned i = STATS_http_ok; i <= STATS_http_h2_preface; i++)
		requests += ((const uint64_t *)&rig.stats)[i];
	must(rig.lines + rig.stats.http_log_lost == requests);
}

static void turn(void)
{
	uint8_t frame[2048];
	bool answer;
	size_t len;

	worker_admit(rig.worker, rig.now_ns);
	worker_compute(rig.worker, rig.now_ns);
	worker_answer(rig.worker, rig.now_ns);
	toy_flows_hear(rig.worker, rig.now_ns);
	while ((len = worker_emit(rig.worker, frame, sizeof frame, rig.now_ns, &answer)))
		heard(frame, len);
	read_log();
	worker_check(rig.worker);
	if (rig.shared)
		toy_flows_check(rig.worker, CONNS);
}

static void say(unsigned who, uint8_t flags, uint32_t seq, uint32_t ack, const uint8_t *data,
		size_t len, uint16_t window)
{
	/* local is who sends: here the client */
	struct pkt_seg s = {
		.flow = { .local_port = (uint16_t)(1000 + who), .remote_port = 8080 },
		.link.vlan = PKT_UNTAGGED,
		.seq = seq,
		.ack = ack,
		.flags = flags,
		.data = data,
		.len = (uint32_t)len,
		.window = window,
		.wscale = PKT_NO_SCALE,
		.mss = flags & WIRE_SYN ? 1460 : 0,
		.sack_ok = flags & WIRE_SYN && who,
		.has_ts = rig.shared && who,
		.ts_val = (uint32_t)(rig.now_ns / NS_PER_MS),
		.ts_ecr = rig.client[who].ts_recent,
	};
	struct client *c = &rig.client[who];
	struct steer_meta meta = { 0 };
	uint8_t frame[2048];
	size_t size;

	memcpy(s.flow.local, (uint8_t[16]){ [10] = 255, 255, 10, 0, 0, 1 }, 16);
	memcpy(s.flow.remote, (uint8_t[16]){ [10] = 255, 255, 10, 0, 0, 2 }, 16);
	if (seq_lt(c->snd_max, seq + pkt_span(&s)))
		c->snd_max = seq + pkt_span(&s);
	size = pkt_emit(&s, frame, sizeof frame);
	if (!rig.shared || toy_kernel_passes(frame, size, rig.now_ns, &meta))
		worker_frame(rig.worker, frame, size, &meta, rig.now_ns);
	turn();
}

static void connect_client(unsigned who)
{
	struct client *c = &rig.client[who];

	c->snd_max += 100000;
	c->snd_nxt = c->snd_max;
	say(who, WIRE_SYN, c->snd_nxt++, 0, NULL, 0, 65535);
	say(who, WIRE_ACK, c->snd_nxt, c->rcv_nxt, NULL, 0, 65535);
	c->open = true;
}

static void step(uint8_t what, uint8_t arg, const uint8_t *data, size_t len)
{
	unsigned who = what & 1;
	struct client *c = &rig.client[who];
	uint8_t flags = WIRE_ACK | (arg & 1 ? WIRE_FIN : 0);
	uint32_t seq;

	if (!c->open)
		connect_client(who);
	seq = c->snd_nxt;
	switch (what >> 1 & 7) {
	case 0: /* anywhere near the window */
		seq += (uint32_t)((int8_t)arg * 37);
		say(who, WIRE_ACK | WIRE_PSH, seq, c->rcv_nxt, data, len, 65535);
		break;
	case 1: /* an ACK that may be old or impossible, a window that may be shut */
		say(who, flags, seq, c->rcv_nxt - (uint32_t)((int8_t)arg * 53), NULL, 0,
		    (uint16_t)(arg * 11));
		break;
	case 2:
		rig.said_rst = true;
		say(who, WIRE_RST, seq + (arg & 3), 0, NULL, 0, 0);
		rig.said_rst = false;
		c->open = arg & 3;
		break;
	case 3:
		rig.now_ns += (uint64_t)arg * arg * NS_PER_MS;
		turn();
		break;
	default:
		say(who, flags, seq, c->rcv_nxt, data, len, 65535);
		c->snd_nxt += (uint32_t)len + (flags & WIRE_FIN);
	}
}

static void play(const uint8_t *data, size_t size, bool shared)
{
	start(shared);
	for (unsigned i = 0; size >= 3 && i < STEPS_MAX; i++) {
		size_t len = min_u64(data[2], size - 3);

		step(data[0], data[1], data + 3, len);
		if (data[0] & REBORN)
			rig.worker = reborn(rig.worker, &rig.memory, rig.now_ns);
		data += 3 + len;
		size -= 3 + len;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	play(data, size, false);
	play(data, size, true);
	return 0;
}
