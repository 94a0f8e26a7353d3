/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * calibrate.h - measure the bodies of a core, and write the table down
 *
 * Place    The I/O thread takes one sample a turn, when nobody is served; the starter
 *          writes the table into the map; saker --calibrate does both at once.
 * Units    A sample is about LANE_SAMPLE_US.
 */
#ifndef CALIBRATE_H
#define CALIBRATE_H

#include "abi.h"
#include "base.h"
#include "lane.h"

/* One sample more. False when there is none left: the engine has its own table. */
bool calibrate_sample(struct lane *l);

/* The engine's table, as it is. */
void calibrate_table(struct lane_table *to, const struct lane *l, unsigned lanes, int cpu);

/* Measure on that CPU, all at once, and print the table on stdout. 0 or -errno,
 * reported. */
int calibrate_print(int cpu, unsigned lanes);

#endif
