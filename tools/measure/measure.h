/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * measure.h - what the measures of the lab have in common
 *
 * Place    tools/measure/: one program a question, run by saker-lab (`measure`) or by hand.
 * Model    Each prints one JSON object: "tool", "version", "figures" with numbers (null:
 *          does not apply here), and what explains them. Nothing else goes to stdout.
 * Errors   One line on stderr with cause and cure. Exit status: 0 done; 1 cannot;
 *          2 usage; 3 done but invalid ("invalid" says why); 4 skipped ("skipped" says why).
 * Units    In the name of each figure.
 */
#ifndef MEASURE_H
#define MEASURE_H

#include <stddef.h>
#include <stdint.h>

enum { MEASURE_CANNOT = 1, MEASURE_USAGE = 2, MEASURE_INVALID = 3, MEASURE_SKIPPED = 4 };

/* Set by main before anything else. */
extern const char *measure_name;

/* "NAME: ..." on stderr. Gives back MEASURE_CANNOT. */
__attribute__((format(printf, 1, 2))) int measure_trouble(const char *format, ...);

/* The same, and ends the program with MEASURE_USAGE. */
__attribute__((format(printf, 1, 2))) _Noreturn void measure_usage(const char *format, ...);

/* A whole number of an option, or the program ends with MEASURE_USAGE. */
uint64_t measure_number(const char *option, const char *text, uint64_t least, uint64_t most);

uint64_t measure_now_ns(void); /* CLOCK_MONOTONIC */

/* This process runs on that CPU only; ends the program when it may not. */
void measure_pin(const char *option, int cpu);

/* {"tool":...,"version":... without the closing brace. */
void measure_head(void);

/* With its quotes. */
void measure_text(const char *text);

/* Sorts. Of an even number of values the mean of the two in the middle. */
double measure_median(double *values, unsigned count);

#endif
