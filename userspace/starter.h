/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * starter.h - up in order, down in reverse
 *
 * Place    main calls it once. It owns what needs privilege: listener, BPF
 *          objects, AF_XDP sockets, pins; the I/O thread gets the rings.
 * Model    1 listen, 2 start the I/O thread (the port answers from here on),
 *          3 load, 4 the best rung that proves itself, 5 ready; then once a
 *          second the summary, until a signal or --for; drain; 5 ... 1 undone.
 *          Today starter and worker are threads of one process; everything that
 *          both touch is in shared mappings or handed over once (iothread.h),
 *          so that the worker can become a child.
 * Errors   One line on stderr each, with a cure.
 */
#ifndef STARTER_H
#define STARTER_H

#include "conf.h"

/* Run until the end; the exit status of main. exec_ns: when main began. */
int starter_run(const struct conf *conf, uint64_t exec_ns);

#endif
