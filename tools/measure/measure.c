// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "measure.h"

const char *measure_name;

int measure_trouble(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", measure_name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return MEASURE_CANNOT;
}

void measure_usage(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", measure_name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "; %s --help\n", measure_name);
	exit(MEASURE_USAGE);
}

uint64_t measure_number(const char *option, const char *text, uint64_t least, uint64_t most)
{
	char *end;

	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || value < least || value > most)
		measure_usage("%s: '%s' is not a whole number from %llu to %llu", option, text,
			      (unsigned long long)least, (unsigned long long)most);
	return value;
}

uint64_t measure_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void measure_pin(const char *option, int cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof set, &set))
		exit(measure_trouble("%s=%d: %s: name a CPU that is on and that this process may "
				     "use (nproc, taskset -p $$)",
				     option, cpu, strerror(errno)));
}

void measure_head(void)
{
	printf("{\"tool\":\"%s\",\"version\":", measure_name);
	measure_text(VERSION);
}

void measure_text(const char *text)
{
	putchar('"');
	for (const unsigned char *p = (const unsigned char *)text; *p; p++)
		if (*p == '"' || *p == '\\')
			printf("\\%c", *p);
		else if (*p < 0x20 || *p >= 0x7f) /* whatever the encoding was: JSON all the same */
			printf("\\u%04x", *p);
		else
			putchar(*p);
	putchar('"');
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double measure_median(double *values, unsigned count)
{
	qsort(values, count, sizeof *values, by_value);
	return (values[(count - 1) / 2] + values[count / 2]) / 2;
}
