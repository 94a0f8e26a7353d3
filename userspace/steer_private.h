/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * steer_private.h - what steer*.c have in common
 *
 * Model    A file a noun: steer (from open to close), steer_load (the object that is
 *          loaded, and its sizes), steer_hook (on the interface, and off).
 */
#ifndef STEER_PRIVATE_H
#define STEER_PRIVATE_H

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "steer.h"

/* --- steer_load.c --- */
struct steer_bpf;
struct steer_tc_bpf;

/* One of two skeletons, whose maps have the same names. */
struct steer_object {
	struct bpf_object *obj;
	struct bpf_program *program;
	struct steer_config *told; /* frozen at the load */
	struct steer_bpf *xdp;
	struct steer_tc_bpf *tc;
};

int steer_object_open(struct steer_object *o, const struct steer *s, enum steer_hook hook);
void steer_object_close(struct steer_object *o);
/* With maps of its own, cut to *size. */
int steer_object_load(struct steer_object *o, const struct steer *s, const uint8_t mac[6],
		      struct blocks_size *size);
/* With those that are pinned; the map `config` stays as it is until it is told. */
int steer_object_reload(struct steer_object *o, const struct steer *s, const uint8_t mac[6]);
/* What it was told, for all to see. */
int steer_object_say(const struct steer_object *o);
/* A copy of a descriptor of it; -1: no more of them, or no such map. */
int steer_object_map(const struct steer_object *o, const char *name);
int steer_object_program(const struct steer_object *o);

/* Of the hook: sockets, or ring buffers, by queues. */
const char *steer_inlets_name(enum steer_hook hook);

/* --- steer_hook.c --- */
/* Nobody there with whom we cannot live. 0, or -EBUSY, reported. */
int steer_check_alone(const struct steer *s);
/* This program in the place of the one that is attached, in one step. */
int steer_replace(struct steer *s, int prog_fd);

#endif
