/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * stat_trace.h - saker-stat trace: the frames of the bypass, as pcapng
 *
 * Place    saker-stat.c calls it when its first word is "trace".
 * Errors   Said on stderr; the return value is the exit status.
 */
#ifndef STAT_TRACE_H
#define STAT_TRACE_H

/* argv[0] is "trace". */
int stat_trace(int argc, char **argv);

#endif
