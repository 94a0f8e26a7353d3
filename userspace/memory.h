/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * memory.h - --memory, on this machine and with these settings
 *
 * Place    main calls memory_fit when the settings are complete, before anybody sees them.
 * Model    It asks the machine for what budget.h must know (page, CPUs, queues), and lays
 *          what fits into the settings. The same machine, interface and settings give the
 *          same sizes, so an upgrade finds its tables as they were.
 * Errors   What does not fit: one line on stderr with the least that would, and exit with
 *          EXIT_USAGE.
 */
#ifndef MEMORY_H
#define MEMORY_H

#include "conf.h"

/* Without --memory nothing changes. */
void memory_fit(struct conf *conf);

/* What came of it: for the configuration file that --check shows, as comments, and for
 * who starts it. */
void memory_print(const struct conf *conf);
void memory_say(const struct conf *conf);

#endif
