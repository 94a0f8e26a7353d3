/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * count.h - did a counter move as the script says?
 *
 * Place    run.c asks for each "count" line.
 */
#ifndef COUNT_H
#define COUNT_H

#include "device.h"
#include "script.h"

/* Has e's counter moved by e's delta since `before`, and, if e says only, no
 * other counter of trouble? A live responder gets the device's patience. False:
 * why says what moved. */
bool count_moved(struct device *d, const struct event *e, const struct stats_block *before,
		 char *why, size_t room);

#endif
