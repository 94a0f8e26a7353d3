/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * guard.h - limits and prefixes from the settings, and who has connections open
 *
 * Place    steer.c writes the settings into the maps before the program is attached;
 *          afterwards saker-ctl and bpftool do. I/O threads count connections.
 *          bpf/guard.h is what acts on it.
 * Threads  A key of source_conns has its I/O thread in it: one writer each.
 * Errors   0 or -errno, not reported here.
 */
#ifndef GUARD_H
#define GUARD_H

#include "base.h"
#include "abi.h"
#include "conf.h"

/* What *conf asks for, into the maps limits and access. */
int guard_set(const struct conf *conf, int limits_fd, int access_fd);

/* A client's connection over frames has opened, or ended; source_conns. Two system
 * calls, so only while limits.conns is not 0, or was: an end that was not begun is
 * left out. remote: IPv4 as ::ffff:a.b.c.d. */
int guard_opened(int fd, unsigned thread, const uint8_t remote[16]);
int guard_ended(int fd, unsigned thread, const uint8_t remote[16]);

/* Nobody has any: before a worker begins. */
int guard_forget(int fd);

#endif
