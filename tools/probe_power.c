/* SPDX-License-Identifier: GPL-2.0-only */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "probe_csv.h"
#include "probe_power.h"

/* --- names ------------------------------------------------------------------------------- */

/* "Power (mW)" becomes word "power" and unit "mw"; "volts" a word alone. */
static void take_apart(const char *name, char word[32], char unit[16])
{
	size_t w = 0, u = 0;
	bool in_unit = false;

	for (; *name; name++) {
		char c = (char)tolower((unsigned char)*name);

		if (strchr("([", c))
			in_unit = true;
		else if (!in_unit && isalnum((unsigned char)c) && w < 31)
			word[w++] = c;
		else if (in_unit && isalnum((unsigned char)c) && u < 15)
			unit[u++] = c;
	}
	word[w] = unit[u] = '\0';
}

static bool one_of(const char *word, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(word, *list))
			return true;
	return false;
}

static const char *const time_words[] = { "time",        "timestamp",  "unixns",  "unix",
					  "unixtime",    "epoch",      "date",    "datetime",
					  "ts",          "timens",     "timems",  "times",
					  "unixms",      "unixs",      "seconds", "timestampms",
					  "timestampns", "timestamps", NULL };
static const char *const watt_words[] = { "power", "watt", "watts", "w", "powerw", "p", NULL };
static const char *const milliwatt_words[] = { "mw", "powermw", "milliwatt", "milliwatts", NULL };
static const char *const volt_words[] = { "volt",     "volts", "voltage", "v",
					  "voltagev", "vbus",  "u",       NULL };
static const char *const millivolt_words[] = { "mv", "voltagemv", "millivolts", NULL };
static const char *const amp_words[] = { "amp",      "amps", "ampere", "current", "a",
					 "currenta", "ibus", "i",      NULL };
static const char *const milliamp_words[] = { "ma", "currentma", "milliamps", NULL };

struct columns {
	int time, watts, volts, amps; /* -1: none */
	double watts_scale, volts_scale, amps_scale;
};

/* The first column that is called so; then its scale. */
static void take(int *column, double *scale, int i, const char *const *words,
		 const char *const *milli, const char *word, const char *unit)
{
	bool thousandth = one_of(word, milli) || *unit == 'm';

	if (*column < 0 && (one_of(word, words) || one_of(word, milli))) {
		*column = i;
		*scale = thousandth ? 1e-3 : 1;
	}
}

static struct columns find_columns(const struct csv *c)
{
	struct columns at = { -1, -1, -1, -1, 1, 1, 1 };
	char word[32], unit[16];

	for (int i = 0; i < (int)c->cells; i++) {
		take_apart(c->cell[i], word, unit);
		if (at.time < 0 && one_of(word, time_words))
			at.time = i;
		take(&at.watts, &at.watts_scale, i, watt_words, milliwatt_words, word, unit);
		take(&at.volts, &at.volts_scale, i, volt_words, millivolt_words, word, unit);
		take(&at.amps, &at.amps_scale, i, amp_words, milliamp_words, word, unit);
	}
	return at;
}

/* --- times --------------------------------------------------------------------------------- */

/* A whole number of this size is of this unit: 1973 ... 5138 in each, so none overlap. */
static uint64_t of_size(double value, double unit_per_s)
{
	if (value < 1e8 * unit_per_s || value >= 1e11 * unit_per_s)
		return 0;
	return (uint64_t)(value * (1e9 / unit_per_s));
}

static uint64_t of_date(const char *cell)
{
	struct tm tm = { .tm_isdst = -1 };
	double fraction = 0;
	int used = 0;

	if (sscanf(cell, "%4d-%2d-%2d%*1[T ]%2d:%2d:%2d%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
		   &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &used) != 6)
		return 0;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	cell += used;
	if (*cell == '.' || *cell == ',') {
		double tenth = 0.1;

		for (cell++; isdigit((unsigned char)*cell); cell++, tenth /= 10)
			fraction += (*cell - '0') * tenth;
	}
	time_t s = *cell == 'Z' ? timegm(&tm) : mktime(&tm);
	return s < 0 ? 0 : (uint64_t)s * NS_PER_S + (uint64_t)(fraction * 1e9);
}

uint64_t power_time(const char *cell)
{
	char *end;
	double value = strtod(cell, &end);

	if (*end || end == cell)
		return of_date(cell);
	if (value >= 1e17) /* too fine for a double */
		return strtoull(cell, NULL, 10);
	uint64_t ns = of_size(value, 1);
	ns = ns ? ns : of_size(value, 1e3);
	return ns ? ns : of_size(value, 1e6);
}

/* --- readings --------------------------------------------------------------------------------- */

static double watts_of(const struct csv *c, const struct columns *at)
{
	if (at->watts >= 0)
		return csv_number(c, (unsigned)at->watts) * at->watts_scale;
	return csv_number(c, (unsigned)at->volts) * at->volts_scale *
	       csv_number(c, (unsigned)at->amps) * at->amps_scale;
}

static bool add(struct power *w, size_t *room, struct reading r)
{
	if (w->count == *room) {
		size_t more = *room ? 2 * *room : 1024;
		struct reading *list = realloc(w->list, more * sizeof *list);

		if (!list)
			return false;
		w->list = list;
		*room = more;
	}
	w->list[w->count++] = r;
	return true;
}

static int by_time(const void *a, const void *b)
{
	uint64_t x = ((const struct reading *)a)->unix_ns, y = ((const struct reading *)b)->unix_ns;

	return x < y ? -1 : x > y;
}

static const char *read_all(struct power *w, struct csv *c)
{
	struct columns at = find_columns(c);
	size_t room = 0, odd = 0;

	if (at.time < 0)
		return "no column for the time (time, timestamp, unix_ns ...)";
	if (at.watts < 0 && (at.volts < 0 || at.amps < 0))
		return "no column for the power (power, watts ...), nor volts and amps";
	while (csv_row(c)) {
		struct reading r = { 0, watts_of(c, &at) };

		if ((unsigned)at.time < c->cells)
			r.unix_ns = power_time(c->cell[at.time]);
		if (!r.unix_ns || isnan(r.watts))
			odd++;
		else if (!add(w, &room, r))
			return "no memory";
	}
	if (!w->count)
		return odd ? "no row with a time since 1970 and a power" : "no rows";
	qsort(w->list, w->count, sizeof *w->list, by_time);
	return NULL;
}

bool power_load(struct power *w, const char *path, char *error, size_t size)
{
	struct csv c;

	*w = (struct power){ 0 };
	if (!csv_open(&c, path)) {
		snprintf(error, size, "%s: %s", path, errno ? strerror(errno) : "empty");
		return false;
	}
	const char *why = read_all(w, &c);
	csv_close(&c);
	if (!why)
		return true;
	snprintf(error, size, "%s: %s", path, why);
	power_free(w);
	return false;
}

void power_free(struct power *w)
{
	free(w->list);
	*w = (struct power){ 0 };
}

double power_at(const struct power *w, uint64_t unix_ns)
{
	size_t low = 0, high = w->count; /* the first that is later */

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (w->list[middle].unix_ns <= unix_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NAN;
	const struct reading *a = &w->list[low - 1], *b = &w->list[low];
	if (a->unix_ns == unix_ns)
		return a->watts;
	if (low == w->count || b->unix_ns - a->unix_ns > POWER_GAP_NS)
		return NAN;
	return a->watts + (b->watts - a->watts) * (double)(unix_ns - a->unix_ns) /
				  (double)(b->unix_ns - a->unix_ns);
}
