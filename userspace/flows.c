/* SPDX-License-Identifier: GPL-2.0-only */
#include <bpf/bpf.h>
#include <errno.h>
#include "flows.h"

/* was none: whatever state it is in. */
static void change(int fd, const struct flow_note *note)
{
	struct steer_flow flow;

	if (bpf_map_lookup_elem(fd, &note->key, &flow) ||
	    (note->was != FLOW_none && flow.state != note->was))
		return;
	flow.state = note->now;
	if (note->now == FLOW_none)
		bpf_map_delete_elem(fd, &note->key);
	else
		bpf_map_update_elem(fd, &note->key, &flow, BPF_EXIST);
}

void flows_tell(const struct flows *f, struct worker *w, uint64_t now_ns)
{
	struct flow_note note;

	while (f->fd >= 0 && worker_flow(w, now_ns, &note))
		change(f->fd, &note);
}

/* The entry behind f->at; false: there is none, and the next look begins anew. A key
 * that is gone begins anew too: then some are seen twice. */
static bool next(struct flows *f, struct steer_flow *flow)
{
	f->begun = !bpf_map_get_next_key(f->fd, f->begun ? &f->at : NULL, &f->at);
	return f->begun && !bpf_map_lookup_elem(f->fd, &f->at, flow);
}

void flows_sweep(struct flows *f, struct worker *w, uint64_t now_ns)
{
	struct steer_flow flow;

	for (unsigned i = 0; f->fd >= 0 && i < FLOWS_SWEEP && next(f, &flow); i++)
		if (flow.queue % f->threads == f->thread &&
		    (int64_t)(now_ns - flow.since_ns) > FLOWS_OLD_MS * (int64_t)NS_PER_MS &&
		    !worker_knows(w, &f->at))
			bpf_map_delete_elem(f->fd, &f->at);
}

int flows_clear(int fd)
{
	struct steer_flow_key key;
	int n = 0;

	while (!bpf_map_get_next_key(fd, NULL, &key)) {
		if (bpf_map_delete_elem(fd, &key) && errno != ENOENT)
			return -errno;
		n++;
	}
	return errno == ENOENT ? n : -errno;
}
