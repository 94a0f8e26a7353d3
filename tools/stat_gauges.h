/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * stat_gauges.h - what there is now: connections, rings, and the card's own counters
 *
 * Model    The maps `gauges` and `rings`, which the I/O threads write each 50 ms;
 *          and beside them what the kernel counts for the interface, where this
 *          process is in the responder's network namespace (/proc/net/dev, which is
 *          the reader's, where /sys is whosever mounted it).
 * Limits   Says nothing of maps that cannot be read: the caller has said it.
 */
#ifndef STAT_GAUGES_H
#define STAT_GAUGES_H

#include "abi.h"

void gauges_text(const char *dir, const struct mode *mode);
/* "gauges":[...],"rings":[...],"nic":{...} */
void gauges_json(const char *dir, const struct mode *mode);

#endif
