/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * child.h - the starter's hold on a process that serves
 *
 * Place    Between the starter and server.h, which is what runs in the child.
 * Model    start forks; say and hear go over the talk (talk.h); what the child tells is
 *          noted here, and whoever needs it waits for it, never longer than a deadline.
 * Owner    The process, until it has been reaped.
 * Errors   0 or -errno; a failed fork is reported.
 */
#ifndef CHILD_H
#define CHILD_H

#include <sys/types.h>
#include "blocks.h"
#include "rungs.h"
#include "server.h"

struct child {
	pid_t pid; /* 0: there is none */
	int talk_fd;
	uint64_t born_ns;
	bool drained, draining;
	unsigned up, taken; /* times that it told so */
	unsigned asked;     /* what it wants done (watch.h); 0: nothing */
};

/* In the child leave(arg) is called first: it lets go of what a child must not hold. */
int child_start(struct child *c, struct server_want *want, void (*leave)(void *), void *arg);

/* Read what it has told; -EPIPE: it is going. */
int child_hear(struct child *c);

int child_await_up(struct child *c);
/* Maps, then gates as often as there are others; r NULL or without gates: none. They
 * wait until it has taken them. resume: the gates are in use, by a worker that departed. */
int child_give_maps(struct child *c, const struct blocks_size *size, const int fd[BLOCKS]);
int child_give_gates(struct child *c, const struct rungs *r, bool resume, const char *text);

/* One worker leaves its connections in the file, the other goes on from there; then give
 * it the rings. After an error the old one is gone all the same if *parted says so. */
int child_inherit(struct child *heir, struct child *old, int handover_fd, bool *parted);

void child_steady(struct child *c);
void child_mtu(struct child *c, unsigned mtu);
void child_drain(struct child *c);

/* No status of waitpid's: it is there still, and we have no CAP_KILL. In a container it ends
 * with us. */
enum { CHILD_LEFT = -1 };

/* Close the talk: it stops, joins its threads and exits; killed after ms. Reaped; what
 * waitpid said of it, 0 if there was none, or CHILD_LEFT. */
int child_end(struct child *c, unsigned ms);

/* Wait for the end of a process of ours; killed after ms. What waitpid said of it, or
 * CHILD_LEFT. */
int child_reap(pid_t pid, unsigned ms);

/* Has it exited? Then it is reaped, and *status is what waitpid says. */
bool child_gone(struct child *c, int *status);

/* "exit status 1", "signal KILL" */
enum { CHILD_TEXT = 80 };
const char *child_status_text(char text[CHILD_TEXT], int status);

#endif
