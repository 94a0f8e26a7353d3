/* SPDX-License-Identifier: GPL-2.0-only */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "probe_rows.h"

void rows_init(struct rows *r, const struct probe *p, FILE *out, uint64_t wanted)
{
	size_t row = p->columns * sizeof *r->cell + sizeof *r->unix_ns;

	*r = (struct rows){ .p = p, .out = out, .columns = p->columns };
	r->room = PROBE_BYTES / row;
	if (wanted && wanted < r->room)
		r->room = wanted;
	r->unix_ns = probe_memory(r->room * sizeof *r->unix_ns);
	r->cell = probe_memory((r->room * r->columns + 1) * sizeof *r->cell);
}

double *rows_add(struct rows *r, uint64_t unix_ns)
{
	must(r->held < r->room);
	double *cell = &r->cell[r->held * r->columns];

	for (unsigned i = 0; i < r->columns; i++)
		cell[i] = NAN;
	if (!r->first_ns)
		r->first_ns = unix_ns;
	r->unix_ns[r->held++] = unix_ns;
	return cell;
}

double *rows_cell(struct rows *r, size_t row, const char *column)
{
	for (unsigned i = 0; i < r->columns; i++)
		if (!strcmp(r->p->column[i].name, column))
			return &r->cell[row * r->columns + i];
	return NULL;
}

/* --- writing ------------------------------------------------------------------------------- */

static void write_head(const struct rows *r, const char *notes)
{
	const struct probe *p = r->p;

	fprintf(r->out, "# saker-probe " VERSION ", %u Hz\n", p->hz);
	for (unsigned i = 0; i < p->sources; i++) {
		const struct source *s = &p->source[i];

		fprintf(r->out, "# source %s: %s%s%s\n", s->name, s->absent ? "absent" : "ok",
			*s->why ? ": " : "", s->why);
	}
	fputs(notes, r->out);
	fputs("unix_ns,s", r->out);
	for (unsigned i = 0; i < p->sources; i++)
		for (unsigned c = 0; !p->source[i].absent && c < p->source[i].count; c++)
			fprintf(r->out, ",%s", p->column[p->source[i].first + c].name);
	putc('\n', r->out);
}

static void write_cells(const struct rows *r, const struct source *s, const double *cell)
{
	for (unsigned c = s->first; c < s->first + s->count; c++) {
		putc(',', r->out);
		if (!isnan(cell[c]))
			fprintf(r->out, "%.*f", r->p->column[c].decimals, cell[c]);
	}
}

void rows_write(struct rows *r, const char *notes)
{
	bool headed = r->headed;

	if (!headed)
		write_head(r, notes);
	r->headed = true;
	for (size_t row = 0; row < r->held; row++) {
		fprintf(r->out, "%" PRIu64 ",%.6f", r->unix_ns[row],
			(double)(r->unix_ns[row] - r->first_ns) * 1e-9);
		for (unsigned i = 0; i < r->p->sources; i++)
			if (!r->p->source[i].absent)
				write_cells(r, &r->p->source[i], &r->cell[row * r->columns]);
		putc('\n', r->out);
	}
	if (headed)
		fputs(notes, r->out);
	fflush(r->out);
	r->held = 0;
}
