/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * logger: the real thread and real files. All that is put is written, in order; files
 * that are cut off, full, gone or never read; names that cannot be opened.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "accesslog.h"
#include "logger.h"
#include "tap.h"

static char dir[] = "/tmp/test-logger-XXXXXX";
static char path[64], said_path[64];
static struct logger l;
static const struct mode no_cpus; /* of others */

static char text[1 << 22];

static const char *read_all(const char *name)
{
	int fd = open(name, O_RDONLY);
	ssize_t n, len = 0;

	while (fd >= 0 && (n = read(fd, text + len, sizeof text - 1 - (size_t)len)) > 0)
		len += n;
	if (fd >= 0)
		close(fd);
	text[len] = '\0';
	return text;
}

/* What the logger says on stderr goes to a file. */
static int kept_stderr;

static void listen_to(void)
{
	int fd = open(said_path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);

	fflush(stderr);
	kept_stderr = dup(2);
	dup2(fd, 2);
	close(fd);
}

static const char *what_it_said(void)
{
	fflush(stderr);
	dup2(kept_stderr, 2);
	close(kept_stderr);
	return read_all(said_path);
}

static unsigned lines_of(const char *at)
{
	unsigned n = 0;

	for (; (at = strchr(at, '\n')); at++)
		n++;
	return n;
}

static bool put(struct spsc *ring, unsigned number)
{
	struct accesslog_record r = {
		.status = 200, .has_target = true, .n = number, .has_job = true
	};

	return spsc_put(ring, &r);
}

static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 2 * NS_PER_MS }, NULL);
}

static struct spsc *start(const char *name)
{
	struct spsc *ring;

	memset(&l, 0, sizeof l);
	must(!logger_open(&l, name));
	ring = logger_ring(&l);
	must(ring && !logger_start(&l, &no_cpus));
	return ring;
}

/* Do the lines of the text have the numbers from..from+count-1 in order? Each is copied:
 * sscanf takes the length of all that follows. */
static bool counts_up(const char *at, unsigned from, unsigned count)
{
	for (; count; count--, from++) {
		char line[ACCESSLOG_LINE + 1];
		unsigned n;
		const char *end = strchr(at, '\n');

		if (!end || (size_t)(end - at) >= sizeof line)
			return false;
		memcpy(line, at, (size_t)(end - at));
		line[end - at] = '\0';
		if (sscanf(line, "%*s [::]:0 GET \"\" 200 %u fnv1a32 ", &n) != 1 || n != from)
			return false;
		at = end + 1;
	}
	return !*at;
}

static void test_all_is_written(void)
{
	enum { COUNT = 30000 };
	struct spsc *ring = start(path);
	struct stat st;

	for (unsigned i = 0; i < COUNT; i++)
		while (!put(ring, i))
			nap();
	logger_stop(&l);
	ok(counts_up(read_all(path), 0, COUNT), "all lines, in order");
	ok(!stat(path, &st) && (st.st_mode & 07777) == (0640 & ~022),
	   "a file for us and our group");
	ring = start(path);
	put(ring, COUNT);
	logger_stop(&l);
	ok(counts_up(read_all(path), 0, COUNT + 1), "the next start appends");
}

static void wait_for_lines(const char *name, unsigned count)
{
	while (lines_of(read_all(name)) < count)
		nap();
}

static void test_cut_off(void)
{
	struct spsc *ring;

	unlink(path);
	ring = start(path);
	put(ring, 1);
	wait_for_lines(path, 1);
	must(!truncate(path, 0));
	put(ring, 2);
	wait_for_lines(path, 1);
	ok(counts_up(read_all(path), 2, 1), "a file cut off in place goes on at its beginning");
	unlink(path);
	put(ring, 3);
	logger_stop(&l);
	is_str(read_all(path), "", "a file that is removed does not come back");
	is(logger_unwritten(&l), 0, "(it was written to, nobody can see it)");
}

static void test_full(void)
{
	struct spsc *ring;
	const char *said;
	unsigned count = 0;

	listen_to();
	ring = start("/dev/full");
	for (; count < 3; count++) {
		put(ring, count);
		while (logger_unwritten(&l) <= count)
			nap();
	}
	logger_stop(&l);
	said = what_it_said();
	is(logger_unwritten(&l), 3, "lines for which the disk has no room are counted");
	ok(strstr(said, "/dev/full: No space left on device: lines are lost"), "it is said");
	ok(strstr(said, "/dev/full: 3 lines could not be written\n") && lines_of(said) == 2,
	   "once, and at the end how many: %u lines", lines_of(said));
}

static void test_pipes(void)
{
	/* By itself a pipe holds 16 pages, whose size depends on the kernel. */
	enum { PIPE_HOLDS = 1 << 16, COUNT = 3000 };
	char pipe_path[80];
	struct spsc *ring;
	unsigned before;
	int fd;

	snprintf(pipe_path, sizeof pipe_path, "%s/pipe", dir);
	must(!mkfifo(pipe_path, 0600));
	listen_to();
	memset(&l, 0, sizeof l);
	is(logger_open(&l, pipe_path), -ENXIO, "a pipe that nobody reads is refused");
	ok(strstr(what_it_said(), "start the reader first"), "with the cure");

	fd = open(pipe_path, O_RDONLY | O_NONBLOCK);
	must(fcntl(fd, F_SETPIPE_SZ, PIPE_HOLDS) == PIPE_HOLDS);
	listen_to();
	ring = start(pipe_path);
	for (unsigned i = 0; i < COUNT; i++)
		must(put(ring, i));
	logger_stop(&l);
	what_it_said();
	before = (unsigned)logger_unwritten(&l);
	ok(before > 0 && before < COUNT, "a reader who does not read keeps nobody for ever");
	ssize_t n, len = 0;
	while ((n = read(fd, text + len, sizeof text - 1 - (size_t)len)) > 0)
		len += n;
	text[len] = '\0';
	ok(counts_up(text, 0, COUNT - before), "what the pipe held are whole lines, in order");

	listen_to();
	ring = start(pipe_path);
	close(fd);
	put(ring, 7);
	logger_stop(&l);
	ok(strstr(what_it_said(), "Broken pipe"), "a reader who goes away is an error");
	is(logger_unwritten(&l), 1, "and no more than that");
}

static void refused(const char *name, int error, const char *cure)
{
	listen_to();
	memset(&l, 0, sizeof l);
	is(logger_open(&l, name), error, "%s is refused", name);
	ok(strstr(what_it_said(), cure), "with the cure: %s", cure);
	logger_stop(&l);
}

static void test_refused(void)
{
	char name[96];

	snprintf(name, sizeof name, "%s/none/log", dir);
	refused(name, -ENOENT, "mkdir -p");
	refused(dir, -EISDIR, "name a file in it");
	if (geteuid()) {
		snprintf(name, sizeof name, "/saker-log");
		refused(name, -EACCES, "choose a place");
	}
}

/* --- two threads that answer ------------------------------------------------------------ */

enum { EACH = 200000 };

struct producer {
	struct spsc *ring;
	unsigned from, lost;
	pthread_t thread;
};

static void *produce(void *arg)
{
	struct producer *p = arg;

	for (unsigned i = 0; i < EACH; i++)
		p->lost += !put(p->ring, p->from + i);
	return NULL;
}

static void test_two_rings(void)
{
	static struct producer p[2];
	unsigned count = 0, wrong = 0, last[2] = { 0, EACH - 1 };
	char line[ACCESSLOG_LINE + 1];
	FILE *f;

	unlink(path);
	memset(&l, 0, sizeof l);
	must(!logger_open(&l, path));
	p[0].ring = logger_ring(&l);
	p[1].ring = logger_ring(&l);
	p[0].from = 1;
	p[1].from = EACH + 1;
	must(!logger_start(&l, &no_cpus));
	for (int i = 0; i < 2; i++)
		must(!pthread_create(&p[i].thread, NULL, produce, &p[i]));
	for (int i = 0; i < 2; i++)
		pthread_join(p[i].thread, NULL);
	logger_stop(&l);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof line, f)) {
		unsigned n, who;

		must(sscanf(line, "%*s [::]:0 GET \"\" 200 %u fnv1a32 ", &n) == 1);
		who = n > EACH;
		wrong += n <= last[who];
		last[who] = n;
		count++;
	}
	fclose(f);
	is(count + p[0].lost + p[1].lost, 2 * EACH,
	   "two threads: what is not written was lost in a ring");
	is(wrong, 0, "lines of each are in order");
	ok(count >= 2 * LOG_RECORDS, "%u lines", count);
}

int main(void)
{
	must(mkdtemp(dir));
	umask(022);
	snprintf(path, sizeof path, "%s/log", dir);
	snprintf(said_path, sizeof said_path, "%s/said", dir);
	test_all_is_written();
	test_cut_off();
	test_full();
	test_pipes();
	test_refused();
	test_two_rings();
	char command[64];
	snprintf(command, sizeof command, "rm -rf %s", dir);
	must(!system(command));
	return done();
}
