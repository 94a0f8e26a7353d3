/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * say.h - one line on stderr an event
 *
 * Place    Edge and spine.
 * Model    What happened: "saker: eth0: ...", silent with -q. What is wrong: the same,
 *          always, with the cure behind the cause.
 */
#ifndef SAY_H
#define SAY_H

#include "conf.h"

__attribute__((format(printf, 2, 3))) void say(const struct conf *conf, const char *format, ...);

/* Returns the error, for `return refuse(...)`. */
__attribute__((format(printf, 3, 4))) int refuse(const struct conf *conf, int error,
						 const char *format, ...);

#endif
