/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * first.h - the parts of measure-first
 *
 * Place    first.c is the command and the order of things; first_server.c starts and ends
 *          the servers and hears what they say; first_ask.c asks them.
 * Threads  One: a thread of its own for their words would take CPU from the asking.
 * Limits   FIRST_SERVERS servers, FIRST_WORDS words a command, FIRST_SAID bytes kept of
 *          what they say (the log has all).
 */
#ifndef FIRST_H
#define FIRST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include "measure.h"

enum { FIRST_SERVERS = 64, FIRST_WORDS = 128, FIRST_SAID = 8192 };

struct server {
	char address[64], port[8];
	struct sockaddr_storage to;
	socklen_t to_len;
	pid_t pid;
	uint64_t started_ns, answered_ns, attempts;
	int fd;           /* of the attempt in progress, or -1 */
	bool sent;        /* it has the request */
	uint64_t open_ns; /* when the attempt began */
	char status[16];  /* of its last answer that was not 200 over HTTP/1.1 */
};

/* What the servers had cost when all had answered. */
struct cost {
	uint64_t majflt, minflt, read_bytes;
};

struct first {
	/* As asked for. */
	int cpu, server_cpu;
	bool bypass;
	const char *from, *bypass_from, *log, *path, *after;
	unsigned count, pause_us, n_words;
	uint64_t timeout_ns;
	char **words; /* ADDRESS PORT COMMAND... */
	/* As it came. */
	struct server servers[FIRST_SERVERS];
	struct cost cost;
	uint64_t ready_ns, bypass_answered_ns;
	bool realtime, ended;         /* ended: one of the commands did, early */
	int pipe[2], log_fd, home_fd; /* home_fd: the namespace of the servers */
	char said[FIRST_SAID];        /* what they said; once ready, that line alone */
	size_t said_len;
	char *after_text; /* of run_after, or NULL */
};

/* --- first_server.c: 0, or a status after words on stderr --- */
int servers_prepare(struct first *f);
int servers_start(struct first *f);
void servers_end(struct first *f);

/* Takes in what they have said; notes the time of `saker: ready`. Waits up to wait_ms. */
void servers_hear(struct first *f, int wait_ms);

/* Has one ended, or --timeout gone by? */
bool servers_hopeless(struct first *f);

/* Of them and all their descendants. */
void cost_of(struct first *f);
int run_after(struct first *f);

/* --- first_ask.c --- */

/* Sockets are of that network namespace from now on; NULL: of the servers' again. Of this
 * process: a child that is forked now starts there. 0, or a status after words on stderr. */
int ask_go(struct first *f, const char *netns);

/* False: not in time. */
bool ask_once(struct first *f, struct server *s, int wait_ms);
bool ask_all(struct first *f);
bool await_ready(struct first *f);
bool ask_from(struct first *f);

#endif
