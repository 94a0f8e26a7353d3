/* SPDX-License-Identifier: GPL-2.0-only */
#include "worker_private.h"

void worker_gauge(const struct worker *w, struct gauge_block *out, uint64_t now_ns)
{
	*out = (struct gauge_block){
		.at_ns = now_ns,
		.conns = tcp_count(w->tcp),
		.sockets = w->socks,
		.requests = w->requests,
	};
}

uint16_t worker_after(const struct worker *w, uint16_t id)
{
	if (++id < w->conn_top)
		return id;
	if (id < w->p.max_conns)
		id = (uint16_t)w->p.max_conns;
	return id < w->sock_top ? id : 0;
}

static enum abi_doing doing(const struct worker *w, uint16_t id)
{
	const struct session *s = &w->session[id];

	switch (s->phase) {
	case PHASE_HEAD:
		if (!session_is_idle(w, id))
			return DOING_head;
		return w->out[id].len ? DOING_answering : DOING_idle;
	case PHASE_BODY:
		return DOING_body;
	case PHASE_WAIT:
		return DOING_waits;
	case PHASE_LANE:
		return DOING_lane;
	case PHASE_ANSWER:
	case PHASE_ECHO:
		return DOING_answering;
	case PHASE_CLOSING:
		return DOING_closing;
	default:
		return DOING_nothing;
	}
}

_Static_assert(CONN_free == (int)TCP_FREE && CONN_established == (int)TCP_ESTABLISHED &&
		       CONN_close_wait == (int)TCP_CLOSE_WAIT &&
		       CONN_fin_wait_1 == (int)TCP_FIN_WAIT_1 &&
		       CONN_fin_wait_2 == (int)TCP_FIN_WAIT_2 && CONN_closing == (int)TCP_CLOSING &&
		       CONN_last_ack == (int)TCP_LAST_ACK,
	       "the same order");

static void describe_frames(const struct worker *w, uint16_t id, struct conn_entry *out)
{
	struct tcp_view v;

	tcp_describe(w->tcp, id, &v);
	out->state = (enum abi_conn)v.state;
	memcpy(out->remote, v.flow->remote, sizeof out->remote);
	out->remote_port = v.flow->remote_port;
	out->local_port = v.flow->local_port;
	out->mss = v.mss;
	out->cwnd = v.cwnd;
	out->window = v.window;
	out->srtt_us = v.srtt_us;
	out->rto_us = v.rto_us;
	out->retransmits = v.retransmits;
	out->unsent = v.unsent;
	out->unacked = v.unacked;
}

static void describe_socket(const struct worker *w, uint16_t id, struct conn_entry *out)
{
	const struct peer *peer = &w->peer[id - w->p.max_conns];

	out->state = CONN_socket;
	memcpy(out->remote, peer->address, sizeof out->remote);
	out->remote_port = peer->port;
	out->unsent = w->out[id].len;
}

bool worker_moved(struct worker *w, uint16_t *id)
{
	*id = line_take(w, LINE_MOVED);
	return *id != WORKER_NONE;
}

void worker_describe(const struct worker *w, uint16_t id, struct conn_entry *out)
{
	const struct session *s = &w->session[id];

	*out = (struct conn_entry){ .doing = doing(w, id) };
	if (out->doing == DOING_nothing)
		return;
	out->opened_ns = s->opened_ns;
	out->requests = s->requests;
	out->bytes_in = s->bytes_in;
	out->bytes_out = s->bytes_out;
	if (is_sock(w, id))
		describe_socket(w, id, out);
	else
		describe_frames(w, id, out);
}
