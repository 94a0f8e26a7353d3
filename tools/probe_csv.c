/* SPDX-License-Identifier: GPL-2.0-only */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "probe_csv.h"

static char *trim(char *cell)
{
	char *end;

	while (isspace((unsigned char)*cell) || *cell == '"')
		cell++;
	end = cell + strlen(cell);
	while (end > cell && (isspace((unsigned char)end[-1]) || end[-1] == '"'))
		*--end = '\0';
	return cell;
}

static void cut(struct csv *c)
{
	char *at = c->line;

	c->cells = 0;
	while (at && c->cells < CSV_CELLS) {
		char *end = strchr(at, c->separator);

		if (end)
			*end = '\0';
		c->cell[c->cells++] = trim(at);
		at = end ? end + 1 : NULL;
	}
}

bool csv_row(struct csv *c)
{
	while (getline(&c->line, &c->size, c->file) > 0) {
		size_t skip = strspn(c->line, " \t\r\n");

		if (!c->line[skip] || c->line[skip] == '#')
			continue;
		if (!c->separator)
			c->separator = strchr(c->line, ';')  ? ';' :
				       strchr(c->line, '\t') ? '\t' :
							       ',';
		cut(c);
		return true;
	}
	return false;
}

bool csv_open(struct csv *c, const char *path)
{
	*c = (struct csv){ .file = fopen(path, "re") };
	if (!c->file)
		return false;
	errno = 0;
	if (csv_row(c)) {
		if (!strncmp(c->cell[0], "\xef\xbb\xbf",
			     3)) /* UTF-8's mark, of some spreadsheets */
			c->cell[0] = trim(c->cell[0] + 3);
		return true;
	}
	int error = errno;
	csv_close(c);
	errno = error;
	return false;
}

void csv_close(struct csv *c)
{
	if (c->file)
		fclose(c->file);
	free(c->line);
	c->file = NULL;
	c->line = NULL;
}

double csv_number(const struct csv *c, unsigned cell)
{
	char *comma, *end;

	if (cell >= c->cells || !*c->cell[cell])
		return NAN;
	if (c->separator == ';' && (comma = strchr(c->cell[cell], ',')) != NULL)
		*comma = '.';
	double value = strtod(c->cell[cell], &end);
	return *end ? NAN : value;
}
