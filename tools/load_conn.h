/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * load_conn.h - the connections, and one request at a time on each
 *
 * Place    load_run.c says what to ask and when; what became of it goes to the record.
 * Model    A connection is on exactly one list: `down`, to be made again at since_ns;
 *          `busy`, opening or with a request under way, in the order of starting, so
 *          that the first is the first to time out; `idle`, free, the longest first.
 *          Kept alive, a connection that ends is made again before it is idle; with
 *          --new each request makes its own, and idle means: none is open.
 * Owner    The pool is the caller's; plan, schedule and record must outlive it.
 *
 *            down --retry--> busy(opening) --> idle --ask--> busy(sent) --answer--> idle
 *              ^________________|________________|_______________|   the connection ended
 *      --new:                  idle --ask--> busy(opening) --> busy(sent) --answer--> idle
 */
#ifndef LOAD_CONN_H
#define LOAD_CONN_H

#include <time.h>
#include "load_answer.h"
#include "load_record.h"

enum {
	LOAD_INPUT = 65536,
	LOAD_EVENTS = 16,   /* looked at in one go; in between, what is due is sent */
	LOAD_RETRY_MS = 20, /* until a connection that was refused is tried again */
};

struct load_conn {
	struct load_conn *before, *after;
	int fd;       /* -1: none */
	uint8_t list; /* enum of load_conn.c */
	bool opening, asked, measured, served;
	unsigned kind;
	size_t out; /* bytes of the request that are sent */
	uint64_t due_ns, sent_ns;
	uint64_t since_ns; /* busy, opening: began; idle: is free; down: to be tried again */
	struct load_answer answer;
};

struct load_list {
	struct load_conn *first, *last;
};

struct load_pool {
	const struct load_plan *plan;
	struct load_record *record;
	int epoll;
	struct load_conn *conn;
	struct load_list idle, busy, down;
	unsigned open, asked, idles;
	uint64_t begin_ns;  /* of the run: a connection is not free before */
	int connect_error;  /* the last, for the message that nobody is there */
	bool connect_fails; /* so it was with the last that was tried */
	char input[LOAD_INPUT];
};

/* False, said on stderr: no memory, no descriptors, or nobody to connect to. */
bool load_pool_open(struct load_pool *p, const struct load_plan *plan, struct load_record *r);
void load_pool_close(struct load_pool *p);

/* Send a request on the connection that is free the longest; there must be one. due_ns 0:
 * closed loop, due when it is sent. */
void load_conn_ask(struct load_pool *p, unsigned kind, uint64_t due_ns, bool measured);

/* What epoll said of it. Returns the time of the last look at the clock. */
uint64_t load_conn_event(struct load_pool *p, struct load_conn *c, uint32_t events);

/* Give up what has been under way too long, and try again what is down. */
void load_pool_tend(struct load_pool *p, uint64_t now_ns);

/* When there is something to tend; UINT64_MAX: nothing. */
uint64_t load_pool_next_ns(const struct load_pool *p);

/* The run is over: what is still under way is a time-out. */
void load_pool_abandon(struct load_pool *p, uint64_t now_ns);

static inline uint64_t load_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

#endif
