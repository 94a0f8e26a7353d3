/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * image_rig.h - a worker with a bit of everything, and what one that was loaded must bear
 *
 * Place    Included by the test and the fuzzer of images only; everything is static.
 */
#ifndef IMAGE_RIG_H
#define IMAGE_RIG_H

#include "accesslog.h"
#include "image.h"
#include "reborn.h"
#include "tcp_private.h"
#include "worker_rig.h"

static void *memory;

/* The rig's worker, in memory that is ours to give up. */
static inline void begin_with(struct worker_params p)
{
	start_with(p);
	free(memory);
	memory = calloc(1, worker_footprint(&p) + 64);
	must(memory);
	w = worker_init((void *)round_up((uintptr_t)memory, 64), &p, now);
}

/* A bit of everything. */
static inline struct worker_params begin_rich(void)
{
	static _Alignas(64) uint8_t records[8 * sizeof(struct accesslog_record)];
	static struct spsc log;
	struct worker_params p = usual;
	uint32_t ack;

	p.max_conns = 6;
	p.max_socks = 10;
	p.max_body = 3000;
	p.lanes = 1;
	p.slice_us = 1;
	p.log = &log;
	spsc_init(&log, records, 8, sizeof records / 8);
	begin_with(p);
	ack = connect_port(1000);
	frame(1000, WIRE_ACK | WIRE_PSH, 1001, ack,
	      "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
	frame(1000, WIRE_ACK | WIRE_FIN, 1057, last.seq + pkt_span(&last), "");
	ack = connect_port(1001);
	frame(1001, WIRE_ACK, 1001, ack, GET(5));
	frame(1001, WIRE_ACK, 1101, ack, "past");
	frame(1001, WIRE_ACK | WIRE_FIN, 1201, ack, "two gaps");
	ack = connect_port(1002);
	frame(1002, WIRE_ACK, 1001, ack, GET(100000000));
	connect_port(1003);
	open_and_send("GET /he");
	open_and_send("POST /compute HTTP/1.1\r\nHost: a\r\nContent-Length: 2500\r\n\r\n{");
	open_and_send(
		"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe");
	open_and_send(GET(100000000));
	open_and_send(GET(99999));
	open_and_send("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
	open_and_send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
	open_and_send("OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
	turn();
	open_and_send(GET(99998));
	return p;
}

/* What the peer of a connection might say next: bytes in order or past a gap, to all that
 * was sent, or to what was already acknowledged. */
static inline void answer_conn(const struct conn *c, unsigned kind)
{
	struct pkt_seg s = {
		.flow = { .local_port = c->flow.remote_port, .remote_port = c->flow.local_port },
		.link.vlan = PKT_UNTAGGED,
		.seq = c->rcv_nxt + kind % 2,
		.ack = kind % 3 ? c->snd_max : c->snd_una,
		.flags = WIRE_ACK | (kind == 7 ? WIRE_FIN : 0),
		.window = 65535,
		.wscale = PKT_NO_SCALE,
		.has_ts = c->has_ts,
		.ts_val = c->ts_recent,
		.data = (const uint8_t *)GET(1),
		.len = sizeof GET(1) - 1,
	};
	uint8_t bytes[2048];

	memcpy(s.flow.local, c->flow.remote, 16);
	memcpy(s.flow.remote, c->flow.local, 16);
	worker_frame(w, bytes, pkt_emit(&s, bytes, sizeof bytes), &(struct steer_meta){ 0 }, now);
}

static inline void answer_all(unsigned kind)
{
	uint16_t id = WORKER_NONE;

	for (unsigned i = 0; i < w->p.max_conns; i++)
		if (w->tcp->conn[i].state != TCP_FREE)
			answer_conn(&w->tcp->conn[i], kind);
	while ((id = worker_sock_after(w, id)) != WORKER_NONE)
		if (!worker_closing(w, id) && !worker_eof_seen(w, id))
			send_bytes(id, GET(1), sizeof GET(1) - 1);
}

/* Whatever it is now: it must keep to itself. */
static inline void live_on(void)
{
	static const uint64_t steps_ns[] = { 0, 50 * NS_PER_US, 300 * NS_PER_MS, 5ull * NS_PER_S };
	uint8_t bytes[2048];
	bool answer;
	uint16_t id;

	worker_check(w);
	for (unsigned i = 0; i < 12; i++) {
		now += steps_ns[i % array_size(steps_ns)];
		worker_admit(w, now);
		worker_compute(w, now);
		worker_answer(w, now);
		for (unsigned k = 0; k < 100; k++)
			if (!worker_emit(w, bytes, sizeof bytes, now, &answer))
				break;
		while ((id = worker_ready(w)) != WORKER_NONE)
			worker_sent(w, id, worker_out(w, id)->len, now);
		answer_all(i);
		worker_check(w);
	}
	while ((id = worker_sock_after(w, WORKER_NONE)) != WORKER_NONE)
		worker_gone(w, id);
	worker_drain(w);
	worker_close_idle(w, now);
	worker_check(w);
}

#endif
