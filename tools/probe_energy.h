/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * probe_energy.h - joules from a file that saker-probe wrote
 *
 * Model    power_w (a meter at the supply) if it has values, else watts (the PMIC's
 *          rails: without the losses of the converters and what hangs on 5 V). The
 *          area under straight lines between readings; a stretch that begins or ends
 *          between two readings cuts that line.
 * Limits   A stretch may begin before the first reading, or end behind the last, by no
 *          more than the longest pause between two; that reading stands for it. Pauses
 *          of more than ENERGY_GAP_NS are refused: nobody knows what was in them.
 * Units    ns since 1970, J, W.
 */
#ifndef PROBE_ENERGY_H
#define PROBE_ENERGY_H

#include <stdio.h>
#include "base.h"

/* At 1 Hz, the slowest rate, one reading may be missing. */
#define ENERGY_GAP_NS (2500ull * NS_PER_MS)

struct energy {
	const char *source; /* "power_w" or "watts" */
	uint64_t from, to;
	uint64_t readings;    /* within */
	uint64_t longest_gap; /* between two of them, ns */
	double joules;
};

/* from, to 0: the first and the last reading. False: error says why. */
bool energy_of(struct energy *e, const char *path, uint64_t from, uint64_t to, char *error,
	       size_t size);

/* requests 0: not told. */
void energy_json(const struct energy *e, uint64_t requests, FILE *out);

#endif
