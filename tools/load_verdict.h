/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * load_verdict.h - whether a run may be believed, and if not, why
 *
 * Place    Asked once the run is over; the reports print it, and main exits by it. Pure.
 * Model    A run is invalid where this program would show its own doing instead of the
 *          server's: it sent late (lag), it did not look (gaps), it could not offer the
 *          rate; or where the sample does not carry what was asked for.
 */
#ifndef LOAD_VERDICT_H
#define LOAD_VERDICT_H

#include "load_record.h"

enum { LOAD_REASONS_MAX = 8 };

struct load_verdict {
	unsigned reasons;
	char reason[LOAD_REASONS_MAX][LOAD_WHY];
};

void load_verdict_reach(struct load_verdict *v, const struct load_plan *plan,
			const struct load_record *r);

/* Only what is this program's own doing: its lag, and when it did not look. */
void load_verdict_own(struct load_verdict *v, const struct load_plan *plan,
		      const struct load_record *r);

__attribute__((format(printf, 2, 3))) void load_verdict_add(struct load_verdict *v,
							    const char *format, ...);

/* "p99.9" */
const char *load_percentile_text(char text[16], uint32_t ppm);

#endif
