/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * pins.h - the maps by name in the BPF file system
 *
 * Place    steer.c pins the maps when they are loaded, and takes them from there when
 *          another binary goes on with them; tools find them there.
 * Model    A directory for each interface (and network namespace: stats_pin_dir), or
 *          --pin-dir. It outlives a crash, so whose it is stands in the map `mode`.
 *          What was there of the path before us stays at the end.
 * Owner    Memory of struct pins is the caller's; of conf too, which must stay.
 * Errors   0 or -errno, reported here, once, with a cure.
 */
#ifndef PINS_H
#define PINS_H

#include "base.h"
#include "conf.h"

struct bpf_object;

struct pins {
	const struct conf *conf;
	char dir[CONF_PATH];
	size_t keep; /* so many bytes of it were there before us */
};

/* Every map of the programs; each has one of xsks_map and frames_q. */
#define PIN_LIST(X) \
	X(config) \
	X(live) \
	X(mode) \
	X(counters) \
	X(stages) \
	X(lanes) \
	X(gauges) \
	X(rings) \
	X(conns) \
	X(summary) \
	X(trace) \
	X(xsks_map) \
	X(frames_q) \
	X(icmp_ring) \
	X(limits) \
	X(access) \
	X(sources) \
	X(source_conns) \
	X(flows) \
	X(syn_hints)
enum {
#define X(name) PIN_##name,
	PIN_LIST(X)
#undef X
		PINS,
};
extern const char *const pins_names[PINS];

/* Where they shall be, which must be in a BPF file system. */
int pins_choose(struct pins *p, const struct conf *conf);

/* The responder whose maps are there; 0: it does not run, or there is none. */
unsigned pins_owner(const struct pins *p);

/* In the place of what a crashed one left. */
int pins_put(const struct pins *p, const struct bpf_object *object);
void pins_remove(const struct pins *p);

/* One that is not there yet. */
int pins_add(const struct pins *p, const struct bpf_object *object, const char *name);
bool pins_has(const struct pins *p, const char *name);

/* A descriptor of one that is there. */
int pins_get(const struct pins *p, const char *name);

/* --stat-group. */
void pins_let_read(const struct pins *p);

#endif
