/* SPDX-License-Identifier: GPL-2.0-only */
/* A meter's file by each of the names that meters' programs give, and what lies between. */
#include <math.h>
#include <unistd.h>
#include "probe_power.h"
#include "tap.h"

static char path[] = "/tmp/test_probe_power.XXXXXX";
static struct power w;
static char error[256];

static bool load(const char *text)
{
	FILE *file = fopen(path, "we");

	if (!file || fputs(text, file) < 0 || fclose(file)) {
		printf("Bail out! %s cannot be written\n", path);
		exit(1);
	}
	power_free(&w);
	return power_load(&w, path, error, sizeof error);
}

#define is_near(got, want, name) ok(fabs((got) - (want)) < 1e-6, name " (%.9f)", (double)(got))

enum { T = 1764600000 };
#define AT(s) ((uint64_t)((int64_t)T * NS_PER_S + (int64_t)((s)*1e9)))

static void names(void)
{
	ok(load("time,watts\n1764600000,5\n"), "seconds, watts");
	is(w.list[0].unix_ns, AT(0), "the time");
	ok(load("\xef\xbb\xbf\"Timestamp (ms)\",\"Power (mW)\"\r\n1764600000500,5250\r\n"),
	   "milliseconds, milliwatts, quotes, a byte order mark, CR");
	is(w.list[0].unix_ns, AT(0.5), "the time");
	is_near(w.list[0].watts, 5.25, "the power");
	ok(load("unix_ns\tVoltage(V)\tCurrent(A)\n1764600000123456789\t5.1\t2\n"),
	   "tabs, volts, amps");
	is(w.list[0].unix_ns, 1764600000123456789, "all digits of the nanoseconds");
	is_near(w.list[0].watts, 10.2, "the product");
	ok(load("# made by x\n\nTime[us];Vbus;Ibus [mA]\n1764600000000000;5,05;1500\n"),
	   "comments, semicolons, a decimal comma, microseconds");
	is_near(w.list[0].watts, 7.575, "the product");
	is(w.list[0].unix_ns, AT(0), "the time");
	ok(load("temp,power_w,timestamp\n20,4,1764600000\n"),
	   "columns in any order, others between");
	ok(load("date,voltage,current,power\n2025-12-01T14:40:00.250Z,5,1,4.9\n"),
	   "a date, and both");
	is(w.list[0].unix_ns, AT(0.25), "UTC");
	is_near(w.list[0].watts, 4.9, "the power that was measured comes first");
	ok(load("date;W\n2025-12-01 14:40:00;3\n"), "this machine's zone");
	is(w.list[0].unix_ns % 900000000000, AT(0) % 900000000000,
	   "is whole quarters of an hour off");
}

static void refusals(void)
{
	ok(!load("seconds,volts\n1764600000,5\n") && strstr(error, "no column for the power"),
	   "volts alone");
	ok(!load("watts\n5\n") && strstr(error, "no column for the time"), "no time");
	ok(!load("time,watts\n0.5,5\n1.0,5\n") && strstr(error, "since 1970"),
	   "times since the meter's start cannot be joined");
	ok(!load("time,watts\n") && strstr(error, "no rows"), "no rows");
	ok(!load("") && strstr(error, "empty"), "empty");
	ok(!power_load(&w, "/no/such/file", error, sizeof error) && strstr(error, "No such file"),
	   "no file");
	ok(load("time,watts\n1764600000,5\n1764600001,error\nx,4\n1764600002\n1764600003,6\n"),
	   "rows that are broken");
	is(w.count, 2, "are passed over");
}

static void between(void)
{
	ok(load("time,watts\n1764600002,6\n1764600000,2\n1764600001,4\n1764600009,9\n"),
	   "readings in no order");
	is_near(power_at(&w, AT(0)), 2.0, "at a reading");
	is_near(power_at(&w, AT(0.25)), 2.5, "between two");
	is_near(power_at(&w, AT(2)), 6.0, "at the last before a pause");
	ok(isnan(power_at(&w, AT(2.5))), "a pause of 7 s");
	is_near(power_at(&w, AT(9)), 9.0, "at the last");
	ok(isnan(power_at(&w, AT(-0.1))), "before the first");
	ok(isnan(power_at(&w, AT(9.1))), "behind the last");
}

int main(void)
{
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	names();
	refusals();
	between();
	power_free(&w);
	unlink(path);
	return done();
}
