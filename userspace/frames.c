/* SPDX-License-Identifier: GPL-2.0-only */
/* frames.c - what frames bring, and who steers them must know; worker.h has the story */
#include "worker_private.h"

static const uint8_t pkt_counter[] = {
#define X(name) [PKT_##name] = STATS_pkt_##name,
	PKT_LIST(X)
#undef X
};

static const uint8_t tcp_counter[] = {
#define X(name) [TCP_##name] = STATS_tcp_##name,
	TCP_LIST(X)
#undef X
};

void frames_room(struct worker *w, uint16_t id)
{
	tcp_room(w->tcp, id, (uint32_t)(buf_most(&w->pool) - w->session[id].in.len));
}

/* XDP's stamp, of another core's clock; 0 when it cannot be of this frame. */
static uint64_t believable(struct worker *w, uint64_t stamp_ns, uint64_t now_ns)
{
	if (likely(stamp_ns <= now_ns && (!stamp_ns || now_ns - stamp_ns < HIST_LIMIT_NS)))
		return stamp_ns;
	count(w, STATS_clock_backwards);
	return 0;
}

/* Hand bytes and FIN to the session, and tell tcp how many were taken. False:
 * not all. */
static bool hand_up(struct worker *w, const struct tcp_event *ev, uint64_t stamp_ns,
		    uint64_t now_ns)
{
	struct session *s = &w->session[ev->slot];
	uint32_t n = 0;

	if (ev->len) {
		fetch_ahead(s, sizeof *s);
		s->stamp_ns = believable(w, stamp_ns, now_ns);
		s->pop_ns = now_ns;
		n = session_bytes(w, ev->slot, (uint8_t *)ev->data, ev->len, now_ns);
		s->bytes_in += n;
	}
	if (tcp_took(w->tcp, ev, n, now_ns))
		session_end(w, ev->slot);
	else if (ev->fin && n == ev->len)
		session_eof(w, ev->slot, now_ns);
	return n == ev->len;
}

/* What a segment brings, and what stands behind it, if it fills a gap. False:
 * not all of the segment was taken. */
static bool deliver(struct worker *w, struct tcp_event *ev, uint64_t stamp_ns, uint64_t now_ns)
{
	uint16_t id = ev->slot;
	bool taken = hand_up(w, ev, stamp_ns, now_ns);

	while (tcp_more(w->tcp, id, ev))
		hand_up(w, ev, stamp_ns, now_ns);
	if (w->session[id].phase != PHASE_FREE)
		frames_room(w, id);
	return taken;
}

/* The table is full: of those at hand, who was closed by us and does not go gives its
 * place, else who asks for nothing and has been silent longest; so that neither can shut
 * everybody out. */
static bool evict_idle(struct worker *w, uint64_t now_ns)
{
	uint16_t longest = WORKER_NONE;
	uint64_t idle_ns = w->p.idle_timeout_ms * (uint64_t)NS_PER_MS;
	uint64_t first_ns = now_ns + idle_ns - EVICT_IDLE_MS * (uint64_t)NS_PER_MS;

	for (unsigned i = 0; i < EVICT_LOOK; i++) {
		uint16_t id = w->hand = (uint16_t)((w->hand + 1u) % w->p.max_conns);

		if (w->session[id].phase == PHASE_CLOSING && !w->out[id].len) {
			longest = id;
			break;
		}
		if (session_is_idle(w, id) && !w->out[id].len && w->wheel.entry[id].at < first_ns) {
			first_ns = w->wheel.entry[id].at;
			longest = id;
		}
	}
	if (longest == WORKER_NONE)
		return false;
	if (w->session[longest].phase != PHASE_CLOSING) /* its end has a name already */
		count(w, STATS_http_idle_evicted);
	tcp_abort(w->tcp, longest);
	session_end(w, longest);
	return true;
}

static struct tcp_hint hint_of(const struct steer_meta *meta)
{
	return (struct tcp_hint){
		.opens = meta->flags & STEER_META_ADOPT,
		.early = meta->flags & STEER_META_EARLY,
		.sack_ok = meta->flags & STEER_META_SACK,
		.scale = meta->scale == STEER_NO_SCALE ? PKT_NO_SCALE : meta->scale,
		.mss = meta->mss,
	};
}

/* A segment to tcp, and the places of connections that it costs to others. */
static enum tcp_verdict take_segment(struct worker *w, const struct pkt_seg *seg,
				     const struct steer_meta *meta, uint64_t now_ns,
				     struct tcp_event *ev)
{
	struct tcp_hint hint = hint_of(meta);
	enum tcp_verdict verdict;
	uint16_t id;

	if (hint.opens && (id = tcp_replaced(w->tcp, seg, &hint)) != TCP_NONE)
		session_end(w, id);
	verdict = tcp_input(w->tcp, seg, &hint, now_ns, ev);
	if (likely(verdict != TCP_table_full))
		return verdict;
	if (evict_idle(w, now_ns))
		verdict = tcp_input(w->tcp, seg, &hint, now_ns, ev);
	if (verdict == TCP_table_full && w->p.paths)
		tcp_turn_away(w->tcp, seg); /* it would come again, and again to us */
	return verdict;
}

void worker_frame(struct worker *w, uint8_t *frame, size_t len, const struct steer_meta *meta,
		  uint64_t now_ns)
{
	enum tcp_verdict verdict;
	enum pkt_verdict parsed;
	struct tcp_event ev;
	struct pkt_seg seg;

	parsed = pkt_parse(frame, len, &seg);
	count(w, pkt_counter[parsed]);
	if (parsed > PKT_bad_option)
		return;
	verdict = take_segment(w, &seg, meta, now_ns, &ev);
	if (ev.opened) {
		session_open(w, ev.slot, now_ns);
		if (unlikely(w->note))
			note_peer(w, ev.slot, seg.flow.remote, seg.flow.remote_port);
	}
	if (ev.rtt_ns)
		record(w, STAGE_rtt, 0, ev.rtt_ns);
	if (ev.gone)
		session_end(w, ev.slot);
	else if ((ev.len || ev.fin) && !deliver(w, &ev, meta->stamp_ns, now_ns))
		verdict = TCP_no_buffer;
	count(w, tcp_counter[verdict]);
}

/* --- what routers say ------------------------------------------------------------- */

static struct pkt_flow flow_of(const struct icmp_event *e)
{
	struct pkt_flow flow = { .remote_port = e->remote_port, .local_port = e->local_port };

	memcpy(flow.remote, e->remote, sizeof flow.remote);
	memcpy(flow.local, e->local, sizeof flow.local);
	return flow;
}

bool worker_owns(struct worker *w, const struct icmp_event *e)
{
	struct pkt_flow flow = flow_of(e);

	return tcp_owns(w->tcp, &flow);
}

void worker_mtu(struct worker *w, const struct icmp_event *e, uint64_t now_ns)
{
	struct pkt_flow flow = flow_of(e);

	tcp_mtu(w->tcp, &flow, e->seq, e->mtu, now_ns);
}

/* --- what the steering must know ---------------------------------------------------- */

bool worker_flow(struct worker *w, uint64_t now_ns, struct flow_note *note)
{
	static const uint8_t state[] = {
		[TCP_FLOW_GONE] = FLOW_none,
		[TCP_FLOW_OPEN] = FLOW_ours,
		[TCP_FLOW_CLOSING] = FLOW_closing,
	};
	struct tcp_note n;

	if (!tcp_note(w->tcp, now_ns, &n))
		return false;
	*note = (struct flow_note){
		.key = { .remote_port = n.flow.remote_port, .local_port = n.flow.local_port },
		.was = state[n.was],
		.now = state[n.now],
	};
	memcpy(note->key.remote, n.flow.remote, sizeof note->key.remote);
	memcpy(note->key.local, n.flow.local, sizeof note->key.local);
	return true;
}

bool worker_knows(struct worker *w, const struct steer_flow_key *key)
{
	struct pkt_flow flow = { .remote_port = key->remote_port, .local_port = key->local_port };

	memcpy(flow.remote, key->remote, sizeof flow.remote);
	memcpy(flow.local, key->local, sizeof flow.local);
	return tcp_knows(w->tcp, &flow);
}
