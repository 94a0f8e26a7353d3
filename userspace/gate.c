/* SPDX-License-Identifier: GPL-2.0-only */
#include "gate.h"

int gate_open(struct gate *g, const struct gate_options *o)
{
	struct ring_options ring = {
		.ifname = o->ifname,
		.ifindex = o->ifindex,
		.queue = o->queue,
		.tx = o->tx,
		.zero_copy = o->zero_copy,
	};
	struct packet_options packet = {
		.ifname = o->ifname,
		.ifindex = o->ifindex,
		.queue = o->queue,
		.tx = o->tx,
	};

	g->kind = o->kind;
	return o->kind == GATE_ring ? ring_open(&g->ring, &ring) : packet_open(&g->packet, &packet);
}

void gate_close(struct gate *g)
{
	if (g->kind == GATE_ring)
		ring_close(&g->ring);
	else
		packet_close(&g->packet);
}

int gate_inlet(const struct gate *g)
{
	return g->kind == GATE_ring ? g->ring.fd : g->packet.frames_fd;
}

int gate_test_send(struct gate *g, const void *frame, size_t len, unsigned timeout_ms)
{
	return g->kind == GATE_ring ? ring_test_send(&g->ring, frame, len, timeout_ms) :
				      packet_test_send(&g->packet, frame, len, timeout_ms);
}

/* --- from process to process ----------------------------------------------------------- */

void gate_fds(struct gate_gift *gift, int *fd[GATE_FDS])
{
	bool ring = gift->kind == GATE_ring;

	fd[0] = ring ? &gift->ring.fd : &gift->packet.fd;
	fd[1] = ring ? &gift->ring.umem_fd : &gift->packet.frames_fd;
}

struct gate_gift gate_give(const struct gate *g)
{
	struct gate_gift gift = { .kind = g->kind };

	if (g->kind == GATE_ring)
		gift.ring = ring_give(&g->ring);
	else
		gift.packet = packet_give(&g->packet);
	return gift;
}

void gate_hold(struct gate *g, const struct gate_gift *gift)
{
	g->kind = gift->kind;
	if (g->kind == GATE_ring)
		ring_hold(&g->ring, &gift->ring);
	else
		packet_hold(&g->packet, &gift->packet);
}

int gate_adopt(struct gate *g, const struct gate_gift *gift, const struct gate_state *state)
{
	g->kind = gift->kind;
	return g->kind == GATE_ring ?
		       ring_adopt(&g->ring, &gift->ring, state ? &state->ring : NULL) :
		       packet_adopt(&g->packet, &gift->packet);
}

bool gate_save(struct gate *g, struct gate_state *state)
{
	state->kind = g->kind;
	return g->kind == GATE_ring ? ring_save(&g->ring, &state->ring) : packet_save(&g->packet);
}

/* --- now and then --------------------------------------------------------------------- */

void gate_count_in(struct gate *g, struct stats_block *stats)
{
	if (g->kind == GATE_ring)
		g->ring.stats = stats;
	else
		g->packet.stats = stats;
}

void gate_check(const struct gate *g)
{
	if (g->kind == GATE_ring)
		ring_check(&g->ring);
	else
		packet_check(&g->packet);
}

void gate_gauge(const struct gate *g, struct ring_block *out, uint64_t now_ns)
{
	if (g->kind == GATE_ring)
		ring_gauge(&g->ring, out, now_ns);
	else
		packet_gauge(&g->packet, out, now_ns);
}

void gate_kick(struct gate *g)
{
	if (g->kind == GATE_ring)
		ring_kick(&g->ring);
	else
		packet_tx(&g->packet);
}

unsigned gate_refill(struct gate *g)
{
	return g->kind == GATE_ring ? ring_refill(&g->ring) : 0;
}
