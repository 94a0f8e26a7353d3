/* SPDX-License-Identifier: GPL-2.0-only */
/* Joules: areas that are known, cut anywhere, and what is refused. */
#include <math.h>
#include <unistd.h>
#include "probe_energy.h"
#include "tap.h"

static char path[] = "/tmp/test_probe_energy.XXXXXX";
static struct energy e;
static char error[256];

static bool load(const char *text, uint64_t from, uint64_t to)
{
	FILE *file = fopen(path, "we");

	if (!file || fputs(text, file) < 0 || fclose(file)) {
		printf("Bail out! %s cannot be written\n", path);
		exit(1);
	}
	return energy_of(&e, path, from, to, error, sizeof error);
}

#define is_near(got, want, name) ok(fabs((got) - (want)) < 1e-9, name " (%.9f)", (double)(got))

static const char both[] = "# a head\nunix_ns,s,watts,power_w\n"
			   "1000000000,0,1,\n2000000000,1,1,5\n3000000000,2,3,7\n4000000000,3,3,\n";
static const char rails[] = "unix_ns,s,watts\n"
			    "1000000000,0,1\n2000000000,1,\n3000000000,2,3\n4000000000,3,3\n";

int main(void)
{
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	ok(load(both, 0, 0), "a meter, and rails");
	is_str(e.source, "power_w", "the meter comes first");
	is_near(e.joules, 6, "5 to 7 W in a second");
	is(e.readings, 2, "of two readings: empty cells are none");
	ok(load(rails, 0, 0), "rails only, one reading missing");
	is_str(e.source, "watts", "the rails");
	is_near(e.joules, 7, "a line over the gap");
	is(e.longest_gap, 2 * NS_PER_S, "which is told");
	ok(load(rails, 1500000000, 3500000000), "cut between readings");
	is_near(e.joules, (1.5 + 3) / 2 * 1.5 + 1.5, "the pieces");
	ok(load(rails, 1200000000, 1400000000), "a stretch between two readings");
	is_near(e.joules, 1.3 * 0.2, "the piece");
	is(e.readings, 0, "none within");
	ok(load(rails, 500000000, 5000000000), "a little beyond on both sides");
	is_near(e.joules, 0.5 + 7 + 3, "the readings at the edges stand");
	ok(!load(rails, 1, 7000000000) && strstr(error, "do not reach"), "too far beyond");
	ok(!load(rails, 3000000000, 2000000000) && strstr(error, "not later"),
	   "the wrong way round");
	ok(!load(rails, 3000000000, 3000000000), "no stretch at all");
	ok(!load("unix_ns,watts\n1000000000,1\n", 0, 0) && strstr(error, "fewer than two"),
	   "one reading");
	ok(!load("unix_ns,load1\n1000000000,1\n2000000000,1\n", 0, 0), "no power at all");
	ok(!load("unix_ns,watts\n2000000000,1\n1000000000,1\n", 0, 0) &&
		   strstr(error, "do not grow"),
	   "times that go back");
	ok(!load("unix_ns,watts\n1000000000,1\n4000000000,1\n", 0, 0) && strstr(error, "pause"),
	   "a pause of 3 s");
	ok(!energy_of(&e, "/no/such/file", 0, 0, error, sizeof error) &&
		   strstr(error, "No such file"),
	   "no file");
	unlink(path);
	return done();
}
