/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * stat_text.h - times for people and from the clocks, pieces of JSON
 *
 * Place    All parts of saker-stat and saker-ctl; stat.h has it in it.
 */
#ifndef STAT_TEXT_H
#define STAT_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include "abi.h"

enum { STAT_TEXT = 32 };

/* Three figures and a unit: 812 ns, 12.3 us, 4.56 ms, 137 s. */
const char *time_text(char text[STAT_TEXT], uint64_t ns);
const char *uptime_text(char text[STAT_TEXT], uint64_t ns);

uint64_t clock_ns(clockid_t id);

/* "NAME":"TEXT", of which at most size bytes; text may hold any byte. */
void json_string(const char *name, const char *text, size_t size);

/* "limits":{...} */
void json_limits(const struct limits *l);

#endif
