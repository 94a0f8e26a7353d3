/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Figures as lines of text: a head, then for each instance its name, the run, the
 * stretch of time, and each counter, stage and bucket that is not 0. Names that a
 * later version added are skipped.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include "stat.h"

#define HEAD "saker-stat snapshot 1"

void snapshot_write(FILE *file, const struct figures *f, bool first)
{
	if (first)
		fprintf(file, HEAD "\n");
	fprintf(file, "figures %s\nrun %u %" PRIu64 "\nspan %" PRIu64 " %" PRIu64 "\n", f->name,
		f->pid, f->started_ns, f->from_ns, f->to_ns);
	for (uint32_t i = 0; i < STATS_COUNT; i++)
		if (stats_value(&f->counters, i))
			fprintf(file, "counter %s %" PRIu64 "\n", stats_counters[i].name,
				stats_value(&f->counters, i));
	for (uint32_t i = 0; i < array_size(f->busy_ns); i++)
		if (f->busy_ns[i])
			fprintf(file, "busy %u %" PRIu64 "\n", i, f->busy_ns[i]);
	for (uint32_t i = 0; i < STAGES; i++) {
		const struct hist *h = (const struct hist *)&f->stages + i;
		fprintf(file, "stage %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
			stats_stages[i].name, h->count, h->sum_ns, h->max_ns, h->over);
		for (uint32_t b = 0; b < HIST_BUCKETS; b++)
			if (h->bucket[b])
				fprintf(file, "bucket %u %" PRIu64 "\n", b, h->bucket[b]);
	}
	fprintf(file, "end\n");
}

/* --- reading ------------------------------------------------------------------------ */

static bool refuse(char *error, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static bool refuse(char *error, size_t size, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(error, size, format, args);
	va_end(args);
	return false;
}

static uint32_t text_index(const struct stats_text *texts, uint32_t count, const char *name)
{
	uint32_t i = 0;
	while (i < count && strcmp(texts[i].name, name))
		i++;
	return i;
}

/* Where buckets go; NULL: a stage that we do not know. */
struct place {
	struct hist *stage;
	uint64_t missing; /* values that were announced and have no bucket yet */
};

/* One line; false: it makes no sense. */
static bool take_line(struct figures *f, struct place *at, const char *line)
{
	static struct hist nowhere;
	char name[64];
	uint64_t n[4];
	uint32_t bucket;
	if (sscanf(line, "run %" SCNu32 " %" SCNu64, &f->pid, &f->started_ns) == 2 ||
	    sscanf(line, "span %" SCNu64 " %" SCNu64, &f->from_ns, &f->to_ns) == 2)
		return true;
	if (sscanf(line, "counter %63s %" SCNu64, name, &n[0]) == 2) {
		uint32_t i = text_index(stats_counters, STATS_COUNT, name);
		if (i < STATS_COUNT)
			((uint64_t *)&f->counters)[i] = n[0];
		return true;
	}
	if (sscanf(line, "busy %" SCNu32 " %" SCNu64, &bucket, &n[0]) == 2) {
		if (bucket < array_size(f->busy_ns))
			f->busy_ns[bucket] = n[0];
		return true;
	}
	if (sscanf(line, "stage %63s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, name, &n[0],
		   &n[1], &n[2], &n[3]) == 5) {
		uint32_t i = text_index(stats_stages, STAGES, name);
		bool whole = !at->missing;
		at->stage = i < STAGES ? stats_stage(&f->stages, i) : &nowhere;
		*at->stage = (struct hist){ n[0], n[1], n[2], n[3], { 0 } };
		at->missing = n[0];
		return whole;
	}
	if (sscanf(line, "bucket %" SCNu32 " %" SCNu64, &bucket, &n[0]) != 2 || !at->stage ||
	    bucket >= HIST_BUCKETS || n[0] > at->missing)
		return false;
	at->stage->bucket[bucket] = n[0];
	at->missing -= n[0];
	return true;
}

/* The figures behind a line "figures NAME", to their end. */
static bool take_figures(struct figures *f, FILE *file)
{
	struct place at = { NULL, 0 };
	char line[512];
	while (fgets(line, sizeof line, file)) {
		if (!strcmp(line, "end\n"))
			return !at.missing && f->from_ns <= f->to_ns;
		if (!take_line(f, &at, line))
			return false;
	}
	return false;
}

static bool find(struct figures *out, FILE *file, const char *path, const char *name, bool any,
		 char *error, size_t size)
{
	static struct figures one;
	char line[512] = "";
	uint32_t count = 0;
	if (!fgets(line, sizeof line, file) || strcmp(line, HEAD "\n"))
		return refuse(error, size, "%s is no snapshot of this version: --save makes one",
			      path);
	while (fgets(line, sizeof line, file)) {
		memset(&one, 0, sizeof one);
		if (sscanf(line, "figures %255[^\n]", one.name) != 1 || !take_figures(&one, file))
			return refuse(error, size, "%s is damaged", path);
		count++;
		if (count == 1 || !strcmp(one.name, name))
			*out = one;
		if (!strcmp(one.name, name))
			return true;
	}
	if (count == 1 && any)
		return true;
	return refuse(error, size, "%s has no figures of %s", path, name);
}

bool snapshot_read(struct figures *out, const char *path, const char *name, bool any, char *error,
		   size_t size)
{
	FILE *file = fopen(path, "re");
	if (!file)
		return refuse(error, size, "%s: %s", path, strerror(errno));
	bool good = find(out, file, path, name, any, error, size);
	fclose(file);
	return good;
}
