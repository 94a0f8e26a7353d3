/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * load_report.h - what is printed and written, all of it after the run
 *
 * Place    saker-load.c, once. docs/saker-load.1 has the schema.
 * Units    JSON: ns. Text: scaled. CSV: ns. hgrm: ms, as HdrHistogram has it.
 * Errors   The writers return false with errno set.
 */
#ifndef LOAD_REPORT_H
#define LOAD_REPORT_H

#include "load_find.h"
#include "load_verdict.h"

struct load_result {
	const struct load_plan *plan;
	const struct load_record *record;
	const struct load_verdict *verdict;
	const struct load_find *find; /* NULL: no --find-max */
	double rate;                  /* at which the record was made */
};

void load_text_write(FILE *to, const struct load_result *result);
void load_json_write(FILE *to, const struct load_result *result);
void load_hgrm_write(FILE *to, const struct load_result *result);
void load_series_write(FILE *to, const struct load_result *result);

const char *load_mode_name(enum load_mode mode);

#endif
