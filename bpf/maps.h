/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * maps.h - the maps that belong to no single part of bpf/: the table in abi.h
 *
 * Place    steer.bpf.c and steer_tc.bpf.c: both have all of them, also those that only
 *          user space writes, so that a responder shows the same on every rung.
 */
#ifndef MAPS_H
#define MAPS_H

#include "abi.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct steer_live);
} live SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct mode);
} mode SEC(".maps");

/* The loader cuts this and the next two down to the threads, cores and CPUs there are. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, ABI_BLOCKS_MAX);
	__type(key, __u32);
	__type(value, struct stats_block);
} counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, IO_THREADS_MAX + 1);
	__type(key, __u32);
	__type(value, struct stage_block);
} stages SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, IO_THREADS_MAX + CREW_MAX);
	__type(key, __u32);
	__type(value, struct lane_table);
} lanes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, IO_THREADS_MAX + 1);
	__type(key, __u32);
	__type(value, struct gauge_block);
} gauges SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, QUEUES_MAX);
	__type(key, __u32);
	__type(value, struct ring_block);
} rings SEC(".maps");

/* As long as the loader says. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, CONNS_DEFAULT + SOCKS_DEFAULT);
	__type(key, __u32);
	__type(value, struct conn_entry);
} conns SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct summary);
} summary SEC(".maps");

/* Cut down to the threads, too. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, IO_THREADS_MAX);
	__type(key, __u32);
	__type(value, struct trace_ring);
} trace SEC(".maps");

/* Records of struct icmp_event. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, ICMP_RING_BYTES);
} icmp_ring SEC(".maps");

#endif
