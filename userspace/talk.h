/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * talk.h - what the starter and its children say to each other
 *
 * Place    A socket pair for each child, made before the fork; it lives through an
 *          exec of the starter.
 * Model    Datagrams that arrive whole and in order (SOCK_SEQPACKET): a word, a few
 *          numbers, descriptors. The starter says, the child tells.
 * Owner    Descriptors that were received are the receiver's, close-on-exec.
 * Errors   0 or -errno, not reported. talk_hear: -EAGAIN, nothing within the time;
 *          -EPIPE, the other end has gone.
 * Limits   TALK_BYTES a datagram; TALK_FDS descriptors (the kernel's SCM_MAX_FD is 253).
 */
#ifndef TALK_H
#define TALK_H

#include "abi.h"
#include "base.h"
#include "gate.h"

#define TALK_LIST(X) \
	/* the starter says */ \
	X(maps)   /* struct blocks_size, the descriptors in the order of enum block */ \
	X(gates)  /* struct talk_gates, two descriptors a gate; none: give yours up */ \
	X(steady) /* the start is over: measure your cores */ \
	X(drain)  /* no new connections, finish, then tell drained */ \
	X(mtu)    /* number: the interface's from now on */ \
	X(depart) /* stop as you are; one descriptor: where to leave the state (handover.h) */ \
	X(heir)   /* the same descriptor: go on from there */ \
	/* the child tells */ \
	X(up)      /* the port is answered */ \
	X(taken)   /* maps or gates, or they were given up */ \
	X(drained) /* all connections are over */ \
	X(ask)     /* number: what it cannot do itself (WATCH_ASKED), once; 0: no more */ \
	/* the departing one tells */ \
	X(left)   /* number: 0, all is in the handover; or an errno */ \
	X(socks)  /* struct talk_socks, their descriptors: the starter passes them on */ \
	X(parted) /* that was all, it ends */
enum talk_word {
#define X(name) TALK_##name,
	TALK_LIST(X)
#undef X
};

enum { TALK_BYTES = 4096, TALK_FDS = 64 };

struct talk {
	uint32_t word;
	uint32_t number;
	uint32_t len; /* of bytes */
	uint32_t fds;
	uint8_t bytes[TALK_BYTES] __attribute__((aligned(8)));
	int fd[TALK_FDS];
};

struct talk_gates {
	uint32_t gates;
	uint32_t resume;          /* their state is in the handover; else they are fresh */
	char text[ABI_MODE_TEXT]; /* the mode with them, for /healthz */
	struct gate_gift gift[QUEUES_MAX];
};
_Static_assert(sizeof(struct talk_gates) <= TALK_BYTES && GATE_FDS * QUEUES_MAX <= TALK_FDS,
	       "it fits");

/* Connections of the kernel's, by their ids in the worker of a thread. */
struct talk_socks {
	uint32_t thread;
	uint16_t id[TALK_FDS];
};

/* A pair of ends, close-on-exec. */
int talk_pair(int end[2]);

/* Waits a second for a receiver that is slow to read. */
int talk_say(int fd, const struct talk *t);
/* A word and a number alone. */
int talk_word(int fd, enum talk_word word, uint32_t number);
/* Wait timeout_ms for a datagram; 0 only looks. */
int talk_hear(int fd, struct talk *t, int timeout_ms);

const char *talk_name(uint32_t word);

#endif
