/* SPDX-License-Identifier: GPL-2.0-only */
/* stat_lanes.h - `saker-stat lanes`; argv[0] is its own name. The exit status. */
#ifndef STAT_LANES_H
#define STAT_LANES_H

int stat_lanes(int argc, char **argv);

#endif
