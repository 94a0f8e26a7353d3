/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * jail.h - what the worker gives up before it meets clients
 *
 * Place    In the worker, on its first thread, in this order:
 *
 *            starter  getpid() into want.parent, fork, by its first thread
 *            worker   jail_enter     while it is the only thread
 *                     its threads    I/O threads, crew, logger
 *                     jail_lock      when all of them exist, and none will follow
 *
 *          Whatever a thread opens by itself, it opens before jail_lock: epoll,
 *          eventfd, log. Later descriptors come from the starter by SCM_RIGHTS.
 * Model    enter: memory may be locked without limit (where the starter may grant
 *          that); one heap for all threads; no capability in any set; user and group
 *          of `want`, for good, and no other group; no new privileges by execve; no
 *          core dump, no ptrace by others of the same user; it dies with its starter.
 *          lock: system calls of tools/jail_filter.c and no others, for all threads.
 *          Another one kills the process with SIGSYS, and the kernel's log has its
 *          number (journalctl -k -g type=1326).
 * Threads  Linux keeps user, capabilities and no_new_privs for each thread; new ones
 *          inherit them. Therefore enter comes before the threads. It does not wait
 *          for the filter, so that the first answer does not either: with threads
 *          made, the list needs no clone.
 * Errors   0 or -errno, reported here, once, on stderr, with a cure. The worker must
 *          end then: half a jail is none.
 * Limits   Without CAP_SETPCAP (not started as root) the bounding set stays as it
 *          was. No execve can reach it: no_new_privs.
 *          The starter needs CAP_SETUID and CAP_SETGID, and CAP_KILL, or the kernel
 *          may not send the worker the signal that makes it die with its starter:
 *          the permission is that of the one who died. It counts as dead when the
 *          thread that forked ends, not when it executes another binary.
 *          A worker without CAP_BPF may use map entries since Linux 5.19; before
 *          that only where sysctl kernel.unprivileged_bpf_disabled is 0.
 *          The list is made for one process: LeakSanitizer forks and traces, so a
 *          sanitized build has no filter and stays traceable; jail_filters says so.
 */
#ifndef JAIL_H
#define JAIL_H

#include <sys/types.h>
#include "base.h"

struct jail_want {
	uid_t uid; /* with keep_user: neither is looked at */
	gid_t gid;
	bool keep_user; /* conf->user.keep */
	pid_t parent;   /* the starter */
};

int jail_enter(const struct jail_want *want);
int jail_lock(void);

/* Has this build the filter? */
bool jail_filters(void);

#endif
