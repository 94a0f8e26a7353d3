/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * toy_flows.h - the steering's memory of flows, with --steer=path, as a plain list
 *
 * Place    Tests that turn a worker without XDP: what would pass XDP is judged by it,
 *          and after each turn it must be right about every connection.
 * Model    toy_flows_hear takes the worker's notes as the edge does; toy_flows_check
 *          panics when the list and the worker differ: a connection that the list has
 *          not, or in another state, or a flow that nobody knows.
 * Threads  One; everything is a global.
 */
#ifndef TOY_FLOWS_H
#define TOY_FLOWS_H

#include "pkt.h"
#include "wire.h"
#include "worker.h"

enum { TOY_FLOWS = 256 };

static struct toy_flow {
	struct steer_flow_key key;
	enum flow_state state;
	uint32_t first_seq;
	uint64_t since_ns;
	bool lost; /* no segment that opens it has reached the worker */
} toy_flow[TOY_FLOWS];
static unsigned toy_flows;

static inline struct steer_flow_key toy_flow_key(const struct pkt_flow *flow)
{
	struct steer_flow_key key = { .remote_port = flow->remote_port,
				      .local_port = flow->local_port };

	memcpy(key.remote, flow->remote, sizeof key.remote);
	memcpy(key.local, flow->local, sizeof key.local);
	return key;
}

static inline struct toy_flow *toy_flow_of(const struct steer_flow_key *key)
{
	for (unsigned i = 0; i < toy_flows; i++)
		if (!memcmp(&toy_flow[i].key, key, sizeof *key))
			return &toy_flow[i];
	return NULL;
}

static inline enum flow_state toy_flow_state(const struct steer_flow_key *key)
{
	const struct toy_flow *f = toy_flow_of(key);

	return f ? f->state : FLOW_none;
}

static inline struct toy_flow *toy_flow_set(const struct steer_flow_key *key, enum flow_state state)
{
	struct toy_flow *f = toy_flow_of(key);

	if (state == FLOW_none) {
		if (f)
			*f = toy_flow[--toy_flows];
		return NULL;
	}
	if (!f) {
		must(toy_flows < TOY_FLOWS);
		f = &toy_flow[toy_flows++];
		*f = (struct toy_flow){ .key = *key };
	}
	f->state = state;
	return f;
}

/* A segment with a valid cookie. The first one may come again; what is closing gives way. */
static inline struct toy_flow *toy_flow_open(const struct steer_flow_key *key, uint32_t seq)
{
	struct toy_flow *f = toy_flow_of(key);

	if (!f || (f->state == FLOW_closing && f->first_seq != seq)) {
		f = toy_flow_set(key, FLOW_ours);
		f->first_seq = seq;
	}
	f->lost = false;
	return f;
}

/* All that the worker has to say. */
static inline void toy_flows_hear(struct worker *w, uint64_t now_ns)
{
	struct flow_note n;

	while (worker_flow(w, now_ns, &n)) {
		must(n.now == FLOW_none || (n.was == FLOW_ours && n.now == FLOW_closing));
		if (n.was == FLOW_none || toy_flow_state(&n.key) == n.was)
			toy_flow_set(&n.key, n.now);
	}
}

/* The server has one address of each family. */
static inline const struct toy_flow *toy_flow_at(const struct conn_entry *c)
{
	for (unsigned i = 0; i < toy_flows; i++)
		if (!memcmp(toy_flow[i].key.remote, c->remote, sizeof c->remote) &&
		    toy_flow[i].key.remote_port == c->remote_port &&
		    toy_flow[i].key.local_port == c->local_port)
			return &toy_flow[i];
	return NULL;
}

/* Behind toy_flows_hear; conns: places over frames. */
static inline void toy_flows_check(struct worker *w, unsigned conns)
{
	for (uint16_t id = 0; id < conns; id++) {
		const struct toy_flow *f;
		struct conn_entry c;

		worker_describe(w, id, &c);
		if (c.state == CONN_free)
			continue;
		f = toy_flow_at(&c);
		must(f); /* lost: of the next connection, of which the worker has not heard */
		must(f->lost ||
		     f->state == (c.state >= CONN_fin_wait_1 ? FLOW_closing : FLOW_ours));
	}
	for (unsigned i = 0; i < toy_flows; i++)
		must(toy_flow[i].lost || worker_knows(w, &toy_flow[i].key));
}

#endif
