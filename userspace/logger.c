/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "accesslog.h"
#include "cpu.h"
#include "logger.h"

/* A pipe takes so much or nothing, and never a part of it (pipe(7), PIPE_BUF). */
enum { PIPE_PIECE = 4096, END_MS = 1000 };
_Static_assert((int)ACCESSLOG_LINE <= PIPE_PIECE && PIPE_PIECE <= (int)LOG_BATCH, "a line fits");

/* --- opening ------------------------------------------------------------------------ */

static int refuse(const char *path, int err)
{
	fprintf(stderr, "saker: --access-log=%s: %s%s\n", path, strerror(err),
		err == ENOENT                 ? ": the directory must be there: mkdir -p it" :
		err == EACCES || err == EROFS ? ": choose a place where this user may write, such "
						"as /var/log/saker/" :
		err == EISDIR                 ? ": name a file in it" :
		err == ENXIO ? ": nobody reads this pipe yet: start the reader first" :
			       "");
	return -err;
}

int logger_open(struct logger *l, const char *path)
{
	bool is_stdout = !strcmp(path, "-");
	struct stat st;

	/* A pipe without a reader is refused (ENXIO), not waited for. */
	l->fd = is_stdout ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0) :
			    open(path,
				 O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
				 0640);
	if (l->fd < 0 || fstat(l->fd, &st))
		return refuse(path, errno);
	l->name = path;
	l->is_file = S_ISREG(st.st_mode);
	return 0;
}

static uint32_t lines_of(const struct logger *l)
{
	return l->lines ?: LOG_RECORDS;
}

struct spsc *logger_ring(struct logger *l)
{
	size_t size = sizeof(struct accesslog_record);
	bool locked;
	void *records = cpu_pages(spsc_footprint(lines_of(l), size), &locked);

	must(l->rings < IO_THREADS_MAX && !l->running);
	if (!records)
		return NULL;
	l->records[l->rings] = records;
	spsc_init(&l->ring[l->rings], records, lines_of(l), (uint32_t)size);
	return &l->ring[l->rings++];
}

/* --- the writer ---------------------------------------------------------------------- */

static bool is_over(const struct logger *l)
{
	return l->stop_ns && cpu_now_ns() > l->stop_ns;
}

static unsigned count_lines(const char *at, size_t len)
{
	unsigned lines = 0;

	for (size_t i = 0; i < len; i++)
		lines += at[i] == '\n';
	return lines;
}

static void give_up(struct logger *l, const char *at, size_t len, int err)
{
	unsigned lines = count_lines(at, len);

	atomic_fetch_add_explicit(&l->unwritten, lines, memory_order_relaxed);
	if (!l->told)
		fprintf(stderr,
			"saker: --access-log=%s: %s: lines are lost until it can be written "
			"(http_log_unwritten counts them)\n",
			l->name, strerror(err));
	l->told = true;
}

/* Wait until a piece can be written, unless the end is near. */
static bool can_write(struct logger *l)
{
	struct pollfd p = { .fd = l->fd, .events = POLLOUT };

	while (!l->is_file && poll(&p, 1, 100) == 0) {
		if (atomic_load_explicit(&l->stop, memory_order_acquire) && !l->stop_ns) /* A */
			l->stop_ns = cpu_now_ns() + END_MS * (uint64_t)NS_PER_MS;
		if (is_over(l))
			return false;
	}
	return true;
}

/* The most that may be written at once: whole lines, as many as a pipe takes. */
static size_t piece_of(const struct logger *l, const char *at, size_t len)
{
	if (l->is_file || len <= PIPE_PIECE)
		return len;
	len = PIPE_PIECE;
	while (len && at[len - 1] != '\n')
		len--;
	return len ? len : PIPE_PIECE;
}

/* All of it, or what cannot be written is counted. */
static void write_lines(struct logger *l, const char *at, size_t len)
{
	while (len) {
		ssize_t n = can_write(l) ? write(l->fd, at, piece_of(l, at, len)) : -1;

		if (n < 0 && !is_over(l) && (errno == EINTR || (errno == EAGAIN && !l->is_file)))
			continue;
		if (n < 0) {
			give_up(l, at, len, is_over(l) ? ETIMEDOUT : errno);
			return;
		}
		at += n;
		len -= (size_t)n;
		l->torn = n ? at[-1] != '\n' : l->torn;
	}
}

/* Nanoseconds from CLOCK_MONOTONIC's zero back to 1970's: anew each time, since the
 * wall clock is set and slewed. */
static uint64_t epoch_now_ns(void)
{
	struct timespec wall;

	clock_gettime(CLOCK_REALTIME, &wall);
	return (uint64_t)wall.tv_sec * NS_PER_S + (uint64_t)wall.tv_nsec - cpu_now_ns();
}

/* What is in the rings, up to a batch. False: nothing was there. */
static bool write_batch(struct logger *l)
{
	uint64_t epoch_ns = epoch_now_ns();
	struct accesslog_record r;
	size_t len = 0;

	/* Behind a line that was cut off by a full disk the next one starts anew. */
	if (l->torn)
		l->batch[len++] = '\n';
	for (unsigned i = 0; i < l->rings; i++)
		while (len + ACCESSLOG_LINE <= LOG_BATCH && spsc_take(&l->ring[i], &r))
			len += accesslog_line(&r, epoch_ns, l->batch + len);
	if (len <= l->torn)
		return false;
	write_lines(l, l->batch, len);
	return true;
}

static void *run(void *arg)
{
	struct timespec pause = { .tv_nsec = LOG_PAUSE_MS * NS_PER_MS };
	struct logger *l = arg;

	while (!atomic_load_explicit(&l->stop, memory_order_acquire)) /* A */
		if (!write_batch(l))
			nanosleep(&pause, NULL);
	if (!l->stop_ns)
		l->stop_ns = cpu_now_ns() + END_MS * (uint64_t)NS_PER_MS;
	while (write_batch(l))
		;
	return NULL;
}

/* --- the starter's side ----------------------------------------------------------------- */

/* Where the process may run, without the CPUs of the others; all, if none is left. */
static void choose_cpus(cpu_set_t *cpus, const struct mode *m)
{
	cpu_set_t all;

	sched_getaffinity(0, sizeof all, &all);
	*cpus = all;
	for (unsigned t = 0; t < m->io_threads; t++)
		CPU_CLR(m->io_cpu[t], cpus);
	for (unsigned k = 0; k < m->compute_cores; k++)
		CPU_CLR(m->compute_cpu[k], cpus);
	if (!CPU_COUNT(cpus))
		*cpus = all;
}

int logger_start(struct logger *l, const struct mode *cpus)
{
	sigset_t pipe_only, before;
	pthread_attr_t attr;
	cpu_set_t set;
	int error;

	choose_cpus(&set, cpus);
	pthread_attr_init(&attr);
	pthread_attr_setaffinity_np(&attr, sizeof set, &set);
	/* A pipe whose reader is gone is an error like others: the thread inherits this. */
	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
	error = pthread_create(&l->thread, &attr, run, l);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (error) {
		fprintf(stderr, "saker: --access-log=%s: cannot start its thread: %s\n", l->name,
			strerror(error));
		return -error;
	}
	pthread_setname_np(l->thread, "saker-log");
	l->running = true;
	return 0;
}

uint64_t logger_unwritten(const struct logger *l)
{
	return atomic_load_explicit(&l->unwritten, memory_order_relaxed);
}

void logger_stop(struct logger *l)
{
	uint64_t unwritten;

	if (l->running) {
		atomic_store_explicit(&l->stop, 1, memory_order_release); /* A */
		pthread_join(l->thread, NULL);
	}
	unwritten = logger_unwritten(l);
	if (unwritten)
		fprintf(stderr, "saker: --access-log=%s: %llu lines could not be written\n",
			l->name, (unsigned long long)unwritten);
	while (l->rings) {
		l->rings--;
		cpu_pages_free(l->records[l->rings],
			       spsc_footprint(lines_of(l), sizeof(struct accesslog_record)));
	}
	if (l->name)
		close(l->fd);
	l->name = NULL;
	l->running = false;
}
