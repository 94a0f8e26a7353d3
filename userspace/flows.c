/* SPDX-License-Identifier: GPL-2.0-only */
#include <bpf/bpf.h>
#include <errno.h>
#include "flows.h"

/* 1: it is there, and it is the one that the note is about. */
static int look(int fd, const struct steer_flow_key *key, uint64_t noted_ns,
		struct steer_flow *flow)
{
	if (bpf_map_lookup_elem(fd, key, flow))
		return errno == ENOENT ? 0 : -errno;
	return flow->since_ns <= noted_ns;
}

int flows_closing(int fd, const struct steer_flow_key *key, uint64_t noted_ns)
{
	struct steer_flow flow;
	int there = look(fd, key, noted_ns, &flow);

	if (there <= 0)
		return there;
	flow.state = FLOW_closing;
	if (bpf_map_update_elem(fd, key, &flow, BPF_EXIST) && errno != ENOENT)
		return -errno;
	return 0;
}

int flows_gone(int fd, const struct steer_flow_key *key, uint64_t noted_ns)
{
	struct steer_flow flow;
	int there = look(fd, key, noted_ns, &flow);

	if (there <= 0)
		return there;
	if (bpf_map_delete_elem(fd, key) && errno != ENOENT)
		return -errno;
	return 0;
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
