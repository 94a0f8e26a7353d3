/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * run.h - play a script on a device
 *
 * Place    Between script.h and device.h. wire.c calls it for each script.
 * Model    Sends what the script sends, compares what comes with what it
 *          expects, at its time. After the last line nothing more may come;
 *          then every connection is reset and nothing of it may be left.
 * Limits   RUN_QUEUE frames may have come and not been expected yet.
 */
#ifndef RUN_H
#define RUN_H

#include "device.h"
#include "script.h"

enum { RUN_QUEUE = 64, RUN_STREAM = 1 << 16, RUN_REPORT = 1 << 15 };

/* The line being played, for whoever has to say where it all ended. */
extern volatile unsigned run_line;

/* Play s from client port `port` on. False: report says why, with all that was
 * sent and received, as text lines. */
bool run_script(struct device *d, const struct script *s, uint16_t port, char report[RUN_REPORT]);

#endif
