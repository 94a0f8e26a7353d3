/* SPDX-License-Identifier: GPL-2.0-only */
#include <bpf/bpf.h>
#include <errno.h>
#include "flows.h"

int flows_change(const struct flows *f, const struct steer_flow_key *key, enum flow_state was,
		 enum flow_state now)
{
	struct steer_flow flow;
	int error;

	if (bpf_map_lookup_elem(f->fd, key, &flow))
		return errno == ENOENT ? 0 : -errno;
	if (was != FLOW_none && flow.state != was)
		return 0;
	flow.state = now;
	error = now == FLOW_none ? bpf_map_delete_elem(f->fd, key) :
				   bpf_map_update_elem(f->fd, key, &flow, BPF_EXIST);
	return error && errno != ENOENT ? -errno : 0;
}

/* The entry behind f->at; false: there is none, and the next look begins anew. A key
 * that is gone begins anew too: then some are seen twice. */
static bool next(struct flows *f, struct steer_flow *flow)
{
	f->begun = !bpf_map_get_next_key(f->fd, f->begun ? &f->at : NULL, &f->at);
	return f->begun && !bpf_map_lookup_elem(f->fd, &f->at, flow);
}

void flows_sweep(struct flows *f, bool (*knows)(void *worker, const struct steer_flow_key *key),
		 void *worker, uint64_t now_ns)
{
	struct steer_flow flow;

	for (unsigned i = 0; i < FLOWS_SWEEP && next(f, &flow); i++)
		if (flow.queue % f->threads == f->thread &&
		    (int64_t)(now_ns - flow.since_ns) > FLOWS_OLD_MS * (int64_t)NS_PER_MS &&
		    !knows(worker, &f->at))
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
