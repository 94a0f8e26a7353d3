/* SPDX-License-Identifier: GPL-2.0-only */
/* Rows as they are written: once, in two parts, and without the columns of the absent. */
#include <unistd.h>
#include "probe_rows.h"
#include "tap.h"

static struct probe p;
static struct rows r;
static char text[4096];

static void nothing(void *state, double *cell)
{
	(void)state;
	(void)cell;
}

static const char *written(void)
{
	rewind(r.out);
	text[fread(text, 1, sizeof text - 1, r.out)] = '\0';
	return strchr(text, '\n') + 1; /* behind the version */
}

static void sources(void)
{
	p = (struct probe){ .root = "", .hz = 10 };
	probe_source(&p, nothing, NULL, "heat");
	probe_column(&p, 2, "temp_c");
	probe_absent(&p, "fan", "a fan", "no %s", "fan");
	probe_remark(probe_source(&p, nothing, NULL, "pid %d", 7), "the first %d", 3);
	probe_column(&p, 0, "rss_kb");
	probe_column(&p, 0, "minflt");
	probe_source(&p, nothing, NULL, "power");
	probe_column(&p, 4, "power_w");
}

static void row(uint64_t ns, double heat, double rss, double faults, double watts)
{
	double *cell = rows_add(&r, ns);

	cell[0] = heat;
	cell[1] = rss;
	cell[2] = faults;
	*rows_cell(&r, r.held - 1, "power_w") = watts;
}

#define HEAD "# source heat: ok\n# source fan: absent: no fan\n# source pid 7: ok: the first 3\n"

int main(void)
{
	sources();
	rows_init(&r, &p, tmpfile(), 0);
	is(r.room, (32 << 20) / (5 * 8), "as many rows as 32 MiB hold");
	rows_init(&r, &p, tmpfile(), 2);
	is(r.room, 2, "or as were wanted");

	row(1764600000000000123, 58.956, 4128, 12345678901, 5.1);
	rows_add(&r, 1764600000100000123);
	is(r.held, 2, "two rows");
	rows_write(&r, "# a note\n");
	is(r.held, 0, "are held no more");
	row(1764600000200000123, NAN, 0, 1e15, 0);
	rows_write(&r, "# another\n");
	is_str(written(),
	       HEAD "# source power: ok\n# a note\n"
		    "unix_ns,s,temp_c,rss_kb,minflt,power_w\n"
		    "1764600000000000123,0.000000,58.96,4128,12345678901,5.1000\n"
		    "1764600000100000123,0.100000,,,,\n"
		    "1764600000200000123,0.200000,,0,1000000000000000,0.0000\n"
		    "# another\n",
	       "in two parts: one head, s goes on, later notes follow");

	ok(!rows_cell(&r, 0, "fan_rpm"), "the absent have no cell");
	p.source[3].absent = true;
	rows_init(&r, &p, tmpfile(), 1);
	row(5, 1, 2, 3, 4);
	rows_write(&r, "");
	is_str(written(),
	       HEAD "# source power: absent\n"
		    "unix_ns,s,temp_c,rss_kb,minflt\n5,0.000000,1.00,2,3\n",
	       "who turned out to be absent at the end is left out");
	return done();
}
