/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * probe_power.h - what a meter at the supply has written
 *
 * Place    saker-probe joins it to its rows when it writes them: until then the meter's
 *          own program fills the file.
 * Model    Column names are taken as the meters' programs have them: time, timestamp,
 *          unix_ns, "Time (ms)"; power, watts, "Power(W)", mW; or volts and amps. Times
 *          are since 1970 in s, ms, us or ns, told by their size, or a date
 *          2026-12-01 14:51:24.5, UTC with a Z behind it, else this machine's zone.
 *          Between two readings the power is a straight line.
 * Limits   Readings more than POWER_GAP_NS apart have nothing between them.
 * Errors   Told in words, for the header.
 */
#ifndef PROBE_POWER_H
#define PROBE_POWER_H

#include "base.h"

/* Meters write 1 to 100 readings a second. */
#define POWER_GAP_NS (3ull * NS_PER_S)

struct power {
	struct reading {
		uint64_t unix_ns;
		double watts;
	} * list; /* by time */
	size_t count;
};

/* False: error says why. */
bool power_load(struct power *w, const char *path, char *error, size_t size);
void power_free(struct power *w);

/* At that time; NAN: the meter was silent. */
double power_at(const struct power *w, uint64_t unix_ns);

/* A cell as a time since 1970; 0: it is none. */
uint64_t power_time(const char *cell);

#endif
