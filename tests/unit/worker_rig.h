/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * worker_rig.h - a worker in virtual time, for the unit tests of worker, session and answer
 *
 * Place    Included by tests only; everything is static.
 * Model    Clients of kernel sockets need no frames: open_and_send, heard. One
 *          client over frames: connect_port, frame, and `last` that came out.
 */
#ifndef WORKER_RIG_H
#define WORKER_RIG_H

#include "pkt.h"
#include "tap.h"
#include "wire.h"
#include "worker.h"

enum { CONNS = 4, SOCKS = 200, LARGE = BUF_LARGE_MIN };

static struct stats_block stats;
static struct stage_block stages;
static struct worker *w;
static uint64_t now;
/* Of the frames that come: XDP's stamp, 0 for none, and the client's window. */
static uint64_t stamp_ns;
static uint16_t window;

static const struct worker_params usual = {
	.max_conns = CONNS,
	.max_socks = SOCKS,
	.mtu = 1500,
	.max_n = N_MAX_DEFAULT,
	.max_body = 16384,
	.lanes = LANES_DEFAULT,
	.slice_us = 50,
	.max_wait_ms = 100,
	.header_timeout_ms = 1000,
	.body_timeout_ms = 2000,
	.idle_timeout_ms = 5000,
	.stats = &stats,
	.stages = &stages,
};

static inline void start_with(struct worker_params p)
{
	static void *memory;

	free(memory);
	memory = calloc(1, worker_footprint(&p) + 64); /* pages come as they are touched */
	memset(&stats, 0, sizeof stats);
	memset(&stages, 0, sizeof stages);
	stamp_ns = 0;
	window = 65535;
	now = NS_PER_S;
	w = worker_init((void *)round_up((uintptr_t)memory, 64), &p, now);
}

static inline void start(void)
{
	start_with(usual);
}

static inline void turn(void)
{
	worker_admit(w, now);
	worker_compute(w, now);
	now += 50 * NS_PER_US;
	worker_answer(w, now);
	worker_check(w);
}

static inline void pass_ms(unsigned ms)
{
	for (unsigned i = 0; i < ms; i += 5) {
		now += 5 * NS_PER_MS;
		turn();
	}
}

/* False: there was no room for all of it. */
static inline bool send_bytes(uint16_t id, const char *bytes, size_t len)
{
	while (len) {
		size_t room, n;
		uint8_t *to = worker_room(w, id, &room);

		if (!to)
			return false;
		n = len < room ? len : room;
		memcpy(to, bytes, n);
		worker_read(w, id, n, now);
		bytes += n;
		len -= n;
	}
	return true;
}

static inline uint16_t open_and_send(const char *text)
{
	uint16_t id = worker_open(w, now);

	send_bytes(id, text, strlen(text));
	return id;
}

/* What was answered so far, as a string; it counts as sent. */
static inline const char *heard(uint16_t id)
{
	static char text[20000];
	const struct buf *out = worker_out(w, id);
	size_t n = out->len;

	memcpy(text, n ? buf_bytes(out) : (const uint8_t *)"", n);
	text[n] = '\0';
	worker_sent(w, id, n, now);
	return text;
}

static inline bool says(const char *text, const char *part)
{
	return strstr(text, part) != NULL;
}

#define GET(n) "GET /compute?n=" #n " HTTP/1.1\r\nHost: a\r\n\r\n"

/* --- over frames --------------------------------------------------------------------- */

static struct pkt_seg last; /* that came out */

static uint8_t frame_bytes[2048]; /* `last` points into it */

/* Time goes by, and what is due comes out. */
static inline void emit_after(uint64_t ns)
{
	bool answer;
	size_t len;

	now += ns;
	turn();
	while ((len = worker_emit(w, frame_bytes, sizeof frame_bytes, now, &answer)))
		must(pkt_parse(frame_bytes, len, &last) == PKT_ok);
	worker_check(w);
}

static inline void frame(uint16_t port, uint8_t flags, uint32_t seq, uint32_t ack, const char *data)
{
	struct pkt_seg s = {
		.flow = { .local_port = port, .remote_port = 8080 }, /* seen from the client */
		.link.vlan = PKT_UNTAGGED,
		.seq = seq,
		.ack = ack,
		.flags = flags,
		.window = window,
		.wscale = PKT_NO_SCALE,
		.mss = flags & WIRE_SYN ? 1460 : 0,
		.data = (const uint8_t *)data,
		.len = (uint32_t)strlen(data),
	};

	memcpy(s.flow.local, (uint8_t[16]){ [10] = 255, 255, 10, 0, 0, 1 }, 16);
	memcpy(s.flow.remote, (uint8_t[16]){ [10] = 255, 255, 10, 0, 0, 2 }, 16);
	worker_frame(w, frame_bytes, pkt_emit(&s, frame_bytes, sizeof frame_bytes),
		     &(struct steer_meta){ .stamp_ns = stamp_ns }, now);
	emit_after(0);
}

static inline uint32_t connect_port(uint16_t port)
{
	uint32_t iss;

	frame(port, WIRE_SYN, 1000, 0, "");
	iss = last.seq;
	frame(port, WIRE_ACK, 1001, iss + 1, "");
	return iss + 1;
}

#endif
