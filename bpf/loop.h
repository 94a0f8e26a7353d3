/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * loop.h - bpf_loop, on kernels that look at its body once
 *
 * Place    segment.h, hint.h, line.h: each has a loop whose state lies on the stack.
 * Model    Up to Linux 6.6 the verifier follows the body once, from the state that it
 *          finds, as if it were called no further time; what cannot be reached so, it
 *          removes. So nothing in a state may have a value that the verifier knows: each
 *          begins as it should, with loop_zero() added, which is 0 and which the verifier
 *          does not know. Then one turn stands for every turn. Newer kernels, which follow
 *          all turns, see sooner that there is nothing new.
 */
#ifndef LOOP_H
#define LOOP_H

#include "abi.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct steer_config);
} config SEC(".maps");

/* The word in the map that nobody writes; `conf`, which is frozen, would be known. */
static __always_inline __u32 loop_zero(void)
{
	__u32 key = 0;
	const struct steer_config *c = bpf_map_lookup_elem(&config, &key);
	return c ? c->zero : 0;
}

#endif
