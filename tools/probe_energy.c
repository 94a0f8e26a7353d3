/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "probe_csv.h"
#include "probe_energy.h"

struct reading {
	uint64_t ns;
	double watts;
};

struct curve {
	struct reading *list;
	size_t count, room;
	uint64_t longest_gap;
};

static int column_of(const struct csv *c, const char *name)
{
	for (unsigned i = 0; i < c->cells; i++)
		if (!strcmp(c->cell[i], name))
			return (int)i;
	return -1;
}

/* False: no memory, or the times do not grow. */
static bool add(struct curve *v, struct reading r)
{
	if (v->count && r.ns <= v->list[v->count - 1].ns)
		return false;
	if (v->count == v->room) {
		v->room = v->room ? 2 * v->room : 1024;
		struct reading *list = realloc(v->list, v->room * sizeof *list);

		if (!list)
			return false;
		v->list = list;
	}
	if (v->count)
		v->longest_gap = max_u64(v->longest_gap, r.ns - v->list[v->count - 1].ns);
	v->list[v->count++] = r;
	return true;
}

/* NULL, or what is wrong. */
static const char *read_column(struct curve *v, const char *path, const char *name)
{
	const char *why = NULL;
	struct csv c;

	if (!csv_open(&c, path))
		return errno ? strerror(errno) : "empty";
	int time = column_of(&c, "unix_ns"), column = column_of(&c, name);
	if (time < 0)
		why = "no column unix_ns: not written by saker-probe";
	while (!why && column >= 0 && csv_row(&c)) {
		struct reading r = { 0, csv_number(&c, (unsigned)column) };

		if ((unsigned)time < c.cells)
			r.ns = strtoull(c.cell[time], NULL, 10);
		if (!isnan(r.watts) && !add(v, r))
			why = "the times do not grow from row to row";
	}
	csv_close(&c);
	return why;
}

static double watts_at(const struct reading *a, const struct reading *b, uint64_t ns)
{
	return a->watts + (b->watts - a->watts) * (double)(ns - a->ns) / (double)(b->ns - a->ns);
}

/* What lies between two readings and within the stretch. */
static double piece(const struct reading *a, const struct reading *b, uint64_t from, uint64_t to)
{
	uint64_t low = max_u64(a->ns, from), high = min_u64(b->ns, to);

	if (low >= high)
		return 0;
	return (watts_at(a, b, low) + watts_at(a, b, high)) / 2 * (double)(high - low) * 1e-9;
}

/* At the edges the reading next to them stands. */
static double edges(const struct curve *v, uint64_t from, uint64_t to)
{
	const struct reading *first = &v->list[0], *last = &v->list[v->count - 1];
	double joules = 0;

	if (from < first->ns)
		joules += (double)(min_u64(first->ns, to) - from) * 1e-9 * first->watts;
	if (to > last->ns)
		joules += (double)(to - max_u64(last->ns, from)) * 1e-9 * last->watts;
	return joules;
}

static const char *check(const struct curve *v, uint64_t from, uint64_t to)
{
	if (v->count < 2)
		return "fewer than two readings of power_w or watts";
	const struct reading *first = &v->list[0], *last = &v->list[v->count - 1];
	if (from >= to)
		return "--to is not later than --from";
	if (from + v->longest_gap < first->ns || to > last->ns + v->longest_gap)
		return "the readings do not reach as far as --from and --to";
	for (size_t i = 1; i < v->count; i++)
		if (v->list[i].ns - v->list[i - 1].ns > ENERGY_GAP_NS && v->list[i].ns > from &&
		    v->list[i - 1].ns < to)
			return "the readings pause for more than 2.5 s";
	return NULL;
}

static void sum_up(struct energy *e, const struct curve *v)
{
	e->joules = edges(v, e->from, e->to);
	for (size_t i = 0; i < v->count; i++) {
		e->readings += v->list[i].ns >= e->from && v->list[i].ns <= e->to;
		if (!i)
			continue;
		e->joules += piece(&v->list[i - 1], &v->list[i], e->from, e->to);
		if (v->list[i].ns > e->from && v->list[i - 1].ns < e->to)
			e->longest_gap = max_u64(e->longest_gap, v->list[i].ns - v->list[i - 1].ns);
	}
}

bool energy_of(struct energy *e, const char *path, uint64_t from, uint64_t to, char *error,
	       size_t size)
{
	struct curve v = { 0 };
	const char *why = NULL;

	*e = (struct energy){ .source = "power_w" };
	why = read_column(&v, path, e->source);
	if (!why && !v.count) {
		e->source = "watts";
		why = read_column(&v, path, e->source);
	}
	if (!why && v.count) {
		e->from = from ? from : v.list[0].ns;
		e->to = to ? to : v.list[v.count - 1].ns;
	}
	why = why ? why : check(&v, e->from, e->to);
	if (why)
		snprintf(error, size, "%s: %s", path, why);
	else
		sum_up(e, &v);
	free(v.list);
	return !why;
}

void energy_json(const struct energy *e, uint64_t requests, FILE *out)
{
	double seconds = (double)(e->to - e->from) * 1e-9;

	fprintf(out,
		"{\"tool\":\"saker-probe\",\"version\":\"" VERSION "\",\"source\":\"%s\","
		"\"from_unix_ns\":%" PRIu64 ",\"to_unix_ns\":%" PRIu64 ",\"seconds\":%.6f,"
		"\"readings\":%" PRIu64 ",\"longest_gap_ns\":%" PRIu64 ",\"joules\":%.6f,"
		"\"mean_watts\":%.6f",
		e->source, e->from, e->to, seconds, e->readings, e->longest_gap, e->joules,
		e->joules / seconds);
	if (requests && e->joules > 0)
		fprintf(out,
			",\"requests\":%" PRIu64 ",\"joules_per_request\":%.9f,"
			"\"requests_per_s_per_watt\":%.6f}\n",
			requests, e->joules / (double)requests, (double)requests / e->joules);
	else
		fprintf(out, ",\"requests\":null,\"joules_per_request\":null,"
			     "\"requests_per_s_per_watt\":null}\n");
}
