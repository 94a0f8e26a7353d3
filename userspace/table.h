/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * table.h - what each body of a core takes, for people and for jq
 *
 * Place    saker --calibrate prints it, saker-stat lanes reads it from the map.
 * Units    ns in text, picoseconds in JSON. `work`: rounds in the time of one round of
 *          the lone chain of the same algorithm.
 */
#ifndef TABLE_H
#define TABLE_H

#include <stdio.h>
#include "abi.h"

void table_print(FILE *to, const struct lane_table *t);
/* One JSON object, without a newline. */
void table_print_json(FILE *to, const struct lane_table *t);

#endif
