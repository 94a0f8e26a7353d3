/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * steer.h - the program that steers and its maps, from load to detach
 *
 * Place    The starter opens it, attaches it when the socket rung listens, and
 *          puts AF_XDP sockets or ring buffers in. The worker maps the same maps (blocks.h).
 * Model    The same program for two hooks: XDP, and tc where there is no AF_XDP.
 *          open: refuse whom we cannot live with, load, map, pin.
 *          attach / detach: one BPF link, which is not pinned: the program goes
 *          when the starter does, even by SIGKILL. A mode that is refused can
 *          be followed by an attempt in the other, or at the other hook (change).
 *          At tc before Linux 6.6 it is a filter instead, which stays after a SIGKILL; it
 *          lets everything pass then, and the next open removes it.
 *          close: the reverse of all of it.
 *          Frames are steered only while live->ready is 1 and the heartbeat is
 *          fresh: attached alone it passes everything.
 * Owner    Memory of struct steer is the caller's; what it points to lives from
 *          open to close. What loading needed is freed before open returns.
 * Threads  open ... close: the starter. A child calls steer_leave.
 * Errors   0 or -errno, reported here, once, on stderr, with a cure.
 * Limits   QUEUES_MAX queues, ABI_CPUS_MAX CPUs.
 */
#ifndef STEER_H
#define STEER_H

#include "base.h"
#include "abi.h"
#include "blocks.h"
#include "conf.h"
#include "pins.h"
#include "ktcp.h"

enum steer_hook { STEER_XDP, STEER_TC };

struct steer {
	struct blocks b;    /* the starter's view of the maps */
	int map_fd[BLOCKS]; /* to hand over */

	/* of steer.c */
	const struct conf *conf; /* NULL: never opened */
	unsigned ifindex;
	struct ktcp kernel; /* with --steer=path */
	enum steer_hook hook;
	int prog_fd;   /* -1: none, as the next two */
	int inlets_fd; /* the map of sockets, or of ring buffers */
	int link_fd;
	bool filter; /* attached without a link */
	struct pins pins;
};

/* Load and pin everything for the interface in *conf, which must stay. mac is
 * the interface's. kernel: with --steer=path what ktcp_ask said. Nothing is attached yet,
 * live->ready is 0.
 * -EBUSY: another program or another responder has the interface.
 * -EAFNOSUPPORT: this kernel has no AF_XDP; -EPERM: may not.
 * After an error *s needs no steer_close. */
int steer_open(struct steer *s, const struct conf *conf, const uint8_t mac[6],
	       const struct ktcp *kernel, enum steer_hook hook);

/* What goes along to the binary that follows at an upgrade; the pins stay. */
struct steer_legacy {
	struct blocks_size size;
	enum steer_hook hook;
	int link_fd; /* -1: nothing is attached, or without a link */
	bool filter;
	uint32_t pin_keep;
	char pin_dir[CONF_PATH];
};
struct steer_legacy steer_bequeath(const struct steer *s);

/* In the place of steer_open: its maps, and its program until steer_renew. Takes the
 * link's descriptor. */
int steer_inherit(struct steer *s, const struct conf *conf, const struct ktcp *kernel,
		  const struct steer_legacy *from);

/* Load this build's program with the maps that are there, for this address, and put it on
 * the link, if there is one, in one step. After an error, which is reported, the one before
 * goes on. */
int steer_renew(struct steer *s, const uint8_t mac[6]);

/* The same for another device of the same name; nothing is attached. */
int steer_move(struct steer *s, unsigned ifindex, const uint8_t mac[6]);

/* The same for the other hook; nothing is attached. */
int steer_change(struct steer *s, const uint8_t mac[6], enum steer_hook hook);

/* At the hook that it was loaded for: XDP in native mode (driver) or generic mode (skb),
 * or tc. -EOPNOTSUPP, -EINVAL, -ERANGE: the driver does not take it like this; generic mode
 * may still do. */
int steer_attach(struct steer *s, enum abi_rung rung);
bool steer_attached(const struct steer *s);

/* Has somebody taken it off tc? */
bool steer_lost(const struct steer *s);

/* Frames of this RX queue go to this AF_XDP socket, which has its RX ring, or into this
 * ring buffer. The socket leaves the map when it is closed; of a ring buffer that must be
 * said: nobody writes into it any more when steer_no_inlet returns. */
int steer_inlet(struct steer *s, unsigned queue, int fd);
void steer_no_inlet(struct steer *s, unsigned queue);

/* What the kernel has counted of the program; 0 while kernel.bpf_stats_enabled is. */
struct summary_program steer_run(const struct steer *s);

/* Nothing is steered any more when it returns. Also when not attached. */
void steer_detach(struct steer *s);

/* Detach, unpin, unmap. */
void steer_close(struct steer *s);

/* For a child after fork: let go of descriptors and maps, so that the link dies with
 * the starter and not with the last child. */
void steer_leave(struct steer *s);

#endif
