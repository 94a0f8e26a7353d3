// SPDX-License-Identifier: GPL-2.0-only
/*
 * media.c - measure-media: what a start from the medium is made of
 *
 * Place    tools/lab/measure_media.py puts it beside a start of a server, and fits a model.
 * Model    `evict FILE...` takes files out of the page cache and looks whether they are
 *          out: mincore(2) of a mapping that nobody has touched. `read FOLDER` measures
 *          the medium that the folder is on, past the page cache (O_DIRECT): a scratch
 *          file from its begin to its end, and single blocks of it at random.
 * Limits   A file that a running process has mapped stays. What the medium caches itself (a
 *          controller, a host under a virtual machine) is not seen and not emptied.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "measure.h"

enum { OPT_MIB = 256, OPT_READS, OPT_BLOCK, OPT_SEED };

enum {
	READS_MOST = 100000,
	SEQUENTIAL = 1 << 20, /* bytes at once: more than any readahead window */
	ALIGNMENT = 16384,    /* of O_DIRECT; a page of the Pi's kernel, and a multiple of 4096 */
};

struct media {
	uint64_t mib, reads, block, seed;
	char **words;
	unsigned n_words;
};

static const struct argp_option options[] = {
	{ "mib", OPT_MIB, "N", 0, "read: MiB of the scratch file (16)", 0 },
	{ "reads", OPT_READS, "N", 0, "read: blocks at random (400)", 0 },
	{ "block", OPT_BLOCK, "BYTES", 0, "read: of such a block (16384)", 0 },
	{ "seed", OPT_SEED, "N", 0, "read: which blocks (1)", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct media *m = state->input;

	switch (key) {
	case OPT_MIB:
		m->mib = measure_number("--mib", arg, 1, 4096);
		break;
	case OPT_READS:
		m->reads = measure_number("--reads", arg, 1, READS_MOST);
		break;
	case OPT_BLOCK:
		m->block = measure_number("--block", arg, 4096, SEQUENTIAL);
		if (m->block % 4096)
			measure_usage("--block: %s is no multiple of 4096", arg);
		break;
	case OPT_SEED:
		m->seed = measure_number("--seed", arg, 0, UINT64_MAX);
		break;
	case ARGP_KEY_ARGS:
		m->words = state->argv + state->next;
		m->n_words = (unsigned)(state->argc - state->next);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = { options,
				  parse,
				  "evict FILE...\nread FOLDER",
				  "Empty the page cache of files; measure a medium.",
				  NULL,
				  NULL,
				  NULL };

/* --- evict ---------------------------------------------------------------------------- */

/* Pages of the file in the page cache, or -1 with errno. */
static long resident(int fd, size_t length)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (length + page - 1) / page;
	unsigned char *in = malloc(pages);
	void *map = mmap(NULL, length, PROT_READ, MAP_SHARED, fd, 0);
	long count = -1;

	if (in && map != MAP_FAILED && !mincore(map, length, in)) {
		count = 0;
		for (size_t i = 0; i < pages; i++)
			count += in[i] & 1;
	}
	if (map != MAP_FAILED)
		munmap(map, length);
	free(in);
	return count;
}

struct evicted {
	size_t bytes;
	long before;
};

/* Dirty pages stay: they are written first. */
static int evict(const char *path, struct evicted *out)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st))
		return measure_trouble("%s: %s: name files that can be read", path,
				       strerror(errno));
	if (!S_ISREG(st.st_mode) || !st.st_size) {
		close(fd);
		return measure_trouble("%s is no file, or empty: name one with something in it",
				       path);
	}
	size_t length = (size_t)st.st_size;
	long before = resident(fd, length);
	int error = fdatasync(fd) ? errno : posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	long after = resident(fd, length);
	close(fd);
	if (error || before < 0 || after < 0)
		return measure_trouble("%s: %s", path, strerror(error ? error : errno));
	if (after)
		return measure_trouble(
			"%s: %ld pages stay in the page cache: a running process has "
			"it mapped, or its file system is memory: take a copy on the "
			"medium that is meant",
			path, after);
	*out = (struct evicted){ .bytes = length, .before = before };
	return 0;
}

static int evict_all(const struct media *m)
{
	struct evicted *out = calloc(m->n_words, sizeof *out);

	if (m->n_words < 2)
		measure_usage("evict: which files?");
	for (unsigned i = 1; i < m->n_words; i++)
		if (!out || evict(m->words[i], out + i))
			return MEASURE_CANNOT;
	measure_head();
	fputs(",\"figures\":{},\"evicted\":[", stdout);
	for (unsigned i = 1; i < m->n_words; i++) {
		printf("%s{\"path\":", i > 1 ? "," : "");
		measure_text(m->words[i]);
		printf(",\"bytes\":%zu,\"resident_before\":%ld,\"resident_after\":0}", out[i].bytes,
		       out[i].before);
	}
	puts("]}");
	free(out);
	return 0;
}

/* --- read ------------------------------------------------------------------------------- */

/* No zeros: a medium may compress, or leave them out. */
static void fill(uint64_t *words, size_t bytes, uint64_t *seed)
{
	for (size_t i = 0; i < bytes / sizeof *words; i++) {
		*seed ^= *seed << 13, *seed ^= *seed >> 7, *seed ^= *seed << 17;
		words[i] = *seed;
	}
}

/* A file that has no name any more, written to the medium; or -1 with errno. */
static int scratch(const struct media *m, uint64_t *buffer, uint64_t *seed)
{
	char path[4096];

	snprintf(path, sizeof path, "%s/.measure-media-XXXXXX", m->words[1]);
	int fd = mkostemp(path, O_CLOEXEC | O_DIRECT);
	if (fd < 0)
		return -1;
	unlink(path);
	for (uint64_t i = 0; i < m->mib; i++) {
		fill(buffer, SEQUENTIAL, seed);
		if (write(fd, buffer, SEQUENTIAL) != SEQUENTIAL) {
			close(fd);
			return -1;
		}
	}
	if (!fsync(fd))
		return fd;
	close(fd);
	return -1;
}

static bool sequential(const struct media *m, int fd, void *buffer, double *bytes_per_s)
{
	uint64_t start = measure_now_ns();

	for (uint64_t i = 0; i < m->mib; i++)
		if (pread(fd, buffer, SEQUENTIAL, (off_t)(i * SEQUENTIAL)) != SEQUENTIAL)
			return false;
	*bytes_per_s = (double)m->mib * SEQUENTIAL * 1e9 / (double)(measure_now_ns() - start);
	return true;
}

static bool at_random(const struct media *m, int fd, void *buffer, uint64_t *seed, double *us)
{
	uint64_t blocks = m->mib * SEQUENTIAL / m->block, which;

	for (uint64_t i = 0; i < m->reads; i++) {
		fill(&which, sizeof which, seed);
		*seed = which;
		uint64_t start = measure_now_ns();
		if (pread(fd, buffer, m->block, (off_t)(which % blocks * m->block)) !=
		    (ssize_t)m->block)
			return false;
		us[i] = (double)(measure_now_ns() - start) / 1e3;
	}
	return true;
}

static void read_report(const struct media *m, double bytes_per_s, double *us)
{
	double sum = 0, p50 = measure_median(us, (unsigned)m->reads);
	double transfer_us = (double)m->block / bytes_per_s * 1e6;

	for (uint64_t i = 0; i < m->reads; i++)
		sum += us[i];
	measure_head();
	printf(",\"figures\":{\"seq_mb_sec\":%.3f,\"random_p50_us\":%.3f,\"random_mean_us\":%.3f,"
	       "\"random_max_us\":%.3f,\"latency_us\":%.3f}",
	       bytes_per_s / 1e6, p50, sum / (double)m->reads, us[m->reads - 1],
	       p50 > transfer_us ? p50 - transfer_us : 0);
	printf(",\"mib\":%llu,\"reads\":%llu,\"block\":%llu,\"folder\":",
	       (unsigned long long)m->mib, (unsigned long long)m->reads,
	       (unsigned long long)m->block);
	measure_text(m->words[1]);
	puts("}");
}

static int read_medium(const struct media *m)
{
	uint64_t seed = m->seed * 2 + 1; /* never zero */
	double bytes_per_s = 0, *us = calloc(m->reads, sizeof *us);
	uint64_t *buffer = aligned_alloc(ALIGNMENT, SEQUENTIAL);

	if (m->n_words != 2)
		measure_usage("read: which folder?");
	if (!us || !buffer)
		return measure_trouble("no memory");
	int fd = scratch(m, buffer, &seed);
	if (fd < 0)
		return measure_trouble(
			"%s: %s: wanted a folder that can be written, with %llu MiB free, "
			"on a file system with O_DIRECT",
			m->words[1], strerror(errno), (unsigned long long)m->mib);
	bool good = sequential(m, fd, buffer, &bytes_per_s) && at_random(m, fd, buffer, &seed, us);
	int error = errno;
	close(fd);
	if (good)
		read_report(m, bytes_per_s, us);
	free(us);
	free(buffer);
	return good ? 0 :
		      measure_trouble("%s: reading past the page cache: %s", m->words[1],
				      strerror(error));
}

int main(int argc, char **argv)
{
	struct media m = { .mib = 16, .reads = 400, .block = 16384, .seed = 1 };

	measure_name = "measure-media";
	argp_parse(&argp, argc, argv, 0, NULL, &m);
	if (m.n_words && !strcmp(m.words[0], "evict"))
		return evict_all(&m);
	if (m.n_words && !strcmp(m.words[0], "read"))
		return read_medium(&m);
	measure_usage("wanted: evict FILE... | read FOLDER");
}
