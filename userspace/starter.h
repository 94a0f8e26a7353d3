/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * starter.h - up in order, down in reverse
 *
 * Place    main calls it once. It owns what needs privilege: listeners, BPF
 *          objects, AF_XDP sockets, pins. Who serves is a child (child.h).
 * Model    1 listen, 2 fork the worker (the port answers from here on), 3 load,
 *          4 the best rung that proves itself, 5 hand maps and rings to the worker:
 *          ready. Then it sleeps until there is something to do:
 *
 *            each second            the summary
 *            a worker that died     its books are closed; another one, with fresh rings
 *            that dies young        the same, after a pause that grows
 *            that stands still      for --stall-ms, by its heartbeat: a stand-in answers
 *            SIGUSR2                the binary that has our name now takes everything over
 *            a signal, or --for     drain; 5 ... 1 undone; a second signal: at once
 *
 *          A worker that was only stopped finds its connections as they were.
 * Errors   One line on stderr each, with a cure.
 */
#ifndef STARTER_H
#define STARTER_H

#include "conf.h"

/* Run until the end; the exit status of main. argv: for the binary that follows at an
 * upgrade; exec_ns: when main began. */
int starter_run(const struct conf *conf, char **argv, uint64_t exec_ns);

#endif
