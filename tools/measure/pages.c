// SPDX-License-Identifier: GPL-2.0-only
/*
 * pages.c - measure-pages: memory that is there before the first packet, by kind of page
 *
 * Place    The `pages` experiment. What a responder does before it serves (map, advise,
 *          touch, lock, register as UMEM), by itself and phase by phase.
 * Model    Each round maps anew, in a process of its own that has done nothing before. The
 *          figures are medians of the rounds. `walk_ns` is one dependent load at a random
 *          place of it: what the kind of page is worth afterwards.
 * Owner    Huge pages that are missing are reserved for the time of the run, and given
 *          back at its end, also after SIGINT and SIGTERM (not after SIGKILL).
 * Limits   base, thp, huge: pages of the kernel's ordinary size; what the kernel makes of
 *          MADV_HUGEPAGE; MAP_HUGETLB of the default size. A kind that is not to be had
 *          is skipped with the reason, and never another kind in its place.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_xdp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "measure.h"

enum { OPT_KIND = 256, OPT_KIB, OPT_ROUNDS, OPT_CPU, OPT_ROOT };
enum { ROUNDS_MOST = 100, STEPS = 200000, CHUNK = 4096 };
enum kind { KIND_base, KIND_thp, KIND_huge };

/* The order is that of doing it; _us, and walk in ns. */
#define PHASES(X) \
	X(mmap_us) \
	X(madvise_us) \
	X(prefault_us) \
	X(mlock_us) X(register_us) X(total_us) X(munmap_us) X(walk_ns) X(minflt) X(huge_kib)

enum phase {
#define X(name) PHASE_##name,
	PHASES(X)
#undef X
		PHASE_COUNT
};

static const char *const phase_names[] = {
#define X(name) #name,
	PHASES(X)
#undef X
};

/* What a round tells its parent. A phase that was refused is negative: -errno. */
struct round {
	double value[PHASE_COUNT];
};

struct pages {
	enum kind kind;
	size_t length, mapped; /* mapped: in whole huge pages, where it shall have them */
	size_t huge;           /* bytes of one; base: 0 */
	unsigned rounds;
	int cpu;
	const char *root; /* in front of /proc and /sys: tests */
};

static const struct argp_option options[] = {
	{ "kind", OPT_KIND, "KIND", 0, "base, thp or huge (base)", 0 },
	{ "kib", OPT_KIB, "N", 0, "Of so much memory (1024, the UMEM by default)", 0 },
	{ "rounds", OPT_ROUNDS, "N", 0, "Median of so many (7)", 0 },
	{ "cpu", OPT_CPU, "N", 0, "On this CPU", 0 },
	{ "root", OPT_ROOT, "FOLDER", 0, "Look for /proc and /sys under it (tests)", 0 },
	{ 0 }
};

static const char *const kind_names[] = { "base", "thp", "huge" };

static enum kind kind_of(const char *text)
{
	for (enum kind k = KIND_base; k <= KIND_huge; k++)
		if (!strcmp(text, kind_names[k]))
			return k;
	measure_usage("--kind: '%s' is none of base, thp, huge", text);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct pages *p = state->input;

	switch (key) {
	case OPT_KIND:
		p->kind = kind_of(arg);
		break;
	case OPT_KIB:
		p->length = (size_t)measure_number("--kib", arg, 64, 64 << 20) * 1024;
		break;
	case OPT_ROUNDS:
		p->rounds = (unsigned)measure_number("--rounds", arg, 1, ROUNDS_MOST);
		break;
	case OPT_CPU:
		p->cpu = (int)measure_number("--cpu", arg, 0, 4095);
		break;
	case OPT_ROOT:
		p->root = arg;
		break;
	case ARGP_KEY_ARG:
		measure_usage("what is '%s'? There are options only", arg);
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	options, parse, NULL, "Time mapping, touching and locking memory.", NULL, NULL, NULL
};

/* --- what the kernel has --------------------------------------------------------------- */

static FILE *open_under(const struct pages *p, const char *name, const char *mode)
{
	char path[4096];

	snprintf(path, sizeof path, "%s%s", p->root, name);
	return fopen(path, mode);
}

/* A number behind KEY in /proc/meminfo, /proc/self/smaps_rollup ...; 0: not there. */
static unsigned long long number_in(const struct pages *p, const char *name, const char *key)
{
	char line[256];
	unsigned long long value = 0;
	FILE *file = open_under(p, name, "re");

	while (file && fgets(line, sizeof line, file))
		if (!strncmp(line, key, strlen(key))) {
			value = strtoull(line + strlen(key), NULL, 10);
			break;
		}
	if (file)
		fclose(file);
	return value;
}

static int skipped(const char *format, ...)
{
	char why[256];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof why, format, args);
	va_end(args);
	measure_head();
	fputs(",\"figures\":{},\"skipped\":", stdout);
	measure_text(why);
	puts("}");
	return MEASURE_SKIPPED;
}

/* --- huge pages, lent and given back ------------------------------------------------------ */

static const char reserve_name[] = "/proc/sys/vm/nr_hugepages";
static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
	stopped = number;
}

static bool reserve_set(const struct pages *p, unsigned long long count)
{
	FILE *file = open_under(p, reserve_name, "we");
	bool good = file && fprintf(file, "%llu\n", count) > 0;

	if (file && fclose(file))
		good = false;
	return good;
}

/* While a UMEM of them is unpinned, HugePages_Rsvd is -1 for a moment (Linux 6.18). */
static unsigned long long idle_huge(const struct pages *p)
{
	unsigned long long spare = number_in(p, "/proc/meminfo", "HugePages_Free:");
	unsigned long long promised = number_in(p, "/proc/meminfo", "HugePages_Rsvd:");

	return promised <= spare ? spare - promised : spare;
}

/* The kernel unpins a UMEM later, in a thread of its own: the next round, and who gives
 * the pages back, wait for that. */
static bool idle_again(const struct pages *p)
{
	struct timespec ms = { .tv_nsec = 1000000 };

	if (p->kind != KIND_huge)
		return true;
	for (int tries = 0; tries < 3000; tries++) {
		if (idle_huge(p) >= p->mapped / p->huge)
			return true;
		nanosleep(&ms, NULL);
	}
	return false;
}

/* 0; or MEASURE_SKIPPED, said. *before is what must be put back. */
static int reserve(const struct pages *p, unsigned long long *before, bool *changed)
{
	unsigned long long idle = idle_huge(p), wanted = p->mapped / p->huge;

	*before = number_in(p, "/proc/meminfo", "HugePages_Total:");
	if (idle >= wanted)
		return 0;
	*changed = reserve_set(p, *before + wanted - idle);
	if (!*changed)
		return skipped("%llu huge pages of %zu KiB wanted, %llu are free, and %s is not "
			       "ours to change: run as root",
			       wanted, p->huge / 1024, idle, reserve_name);
	idle = idle_huge(p);
	return idle >= wanted ? 0 :
				skipped("%llu huge pages of %zu KiB wanted, the kernel finds %llu: "
					"memory is in pieces; reserve them at boot (hugepages=)",
					wanted, p->huge / 1024, idle);
}

static int give_back(const struct pages *p, unsigned long long before, bool used)
{
	if (used)
		idle_again(p);
	if (reserve_set(p, before) && number_in(p, "/proc/meminfo", "HugePages_Total:") == before)
		return 0;
	return measure_trouble("%s is not what it was: write %llu to it", reserve_name, before);
}

static bool thp_off(const struct pages *p)
{
	char line[128] = "";
	FILE *file = open_under(p, "/sys/kernel/mm/transparent_hugepage/enabled", "re");

	if (file && !fgets(line, sizeof line, file))
		*line = '\0';
	if (file)
		fclose(file);
	return !*line || strstr(line, "[never]");
}

/* The size of a huge page, and what is mapped then. 0; or MEASURE_SKIPPED, said. */
static int sizes(struct pages *p)
{
	FILE *file = open_under(p, "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "re");
	unsigned long long thp = 0;

	if (file) {
		if (fscanf(file, "%llu", &thp) != 1)
			thp = 0;
		fclose(file);
	}
	p->mapped = p->length;
	if (p->kind == KIND_base)
		return 0;
	p->huge = p->kind == KIND_thp ? thp : number_in(p, "/proc/meminfo", "Hugepagesize:") * 1024;
	if (p->kind == KIND_thp && (thp_off(p) || !thp))
		return skipped("transparent huge pages are off: /sys/kernel/mm/"
			       "transparent_hugepage/enabled says never, or is not there");
	if (!p->huge)
		return skipped("this kernel has no hugetlbfs: huge pages are not to be had");
	p->mapped = (p->length + p->huge - 1) / p->huge * p->huge;
	return 0;
}

/* --- a round -------------------------------------------------------------------------------- */

/* One dependent load after the other, a cache line each, all over it. */
static double walk(const uint8_t *memory, size_t length)
{
	size_t lines = length / 64, at = 0;
	uint64_t seed = 88172645463325252u, start = measure_now_ns();

	for (unsigned i = 0; i < STEPS; i++) {
		seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
		at = (seed + *(const volatile uint8_t *)(memory + at * 64)) % lines;
	}
	return (double)(measure_now_ns() - start) / STEPS;
}

static double since_us(uint64_t *start)
{
	uint64_t now = measure_now_ns();
	double took = (double)(now - *start) / 1e3;

	*start = now;
	return took;
}

/* As AF_XDP takes it: the kernel pins each page. Negative: refused. */
static double umem_us(void *memory, size_t length, uint64_t *start)
{
	struct xdp_umem_reg reg = { .addr = (uintptr_t)memory, .len = length, .chunk_size = CHUNK };
	int fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	bool good = fd >= 0 && !setsockopt(fd, SOL_XDP, XDP_UMEM_REG, &reg, sizeof reg);
	double took = good ? since_us(start) : -errno;

	if (fd >= 0)
		close(fd); /* unpins */
	*start = measure_now_ns();
	return took;
}

static int take(const struct pages *p, struct round *r)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | (p->kind == KIND_huge ? MAP_HUGETLB : 0);
	int advice = p->kind == KIND_thp ? MADV_HUGEPAGE : MADV_NOHUGEPAGE;
	size_t slack = p->kind == KIND_thp ? p->huge : 0; /* to begin where a huge page can */
	double *v = r->value;
	struct rusage before, after;
	uint64_t start, begin;

	getrusage(RUSAGE_SELF, &before);
	begin = start = measure_now_ns();
	uint8_t *mapping = mmap(NULL, p->mapped + slack, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (mapping == MAP_FAILED)
		return errno;
	uint8_t *memory = mapping + (slack ? slack - (uintptr_t)mapping % slack : 0);
	v[PHASE_mmap_us] = since_us(&start);
	if (p->kind != KIND_huge && madvise(memory, p->mapped, advice) && p->kind == KIND_thp)
		return errno;
	v[PHASE_madvise_us] = since_us(&start);
	for (size_t i = 0; i < p->length; i += CHUNK)
		*(volatile uint8_t *)(memory + i) = 1;
	v[PHASE_prefault_us] = since_us(&start);
	v[PHASE_mlock_us] = mlock(memory, p->mapped) ? -errno : since_us(&start);
	v[PHASE_total_us] = (double)(measure_now_ns() - begin) / 1e3;
	getrusage(RUSAGE_SELF, &after);
	v[PHASE_minflt] = (double)(after.ru_minflt - before.ru_minflt);
	v[PHASE_huge_kib] = (double)(number_in(p, "/proc/self/smaps_rollup", "AnonHugePages:") +
				     number_in(p, "/proc/self/smaps_rollup", "Private_Hugetlb:"));
	start = measure_now_ns();
	v[PHASE_register_us] = umem_us(memory, p->length, &start);
	if (v[PHASE_register_us] > 0)
		v[PHASE_total_us] += v[PHASE_register_us];
	v[PHASE_walk_ns] = walk(memory, p->length);
	start = measure_now_ns();
	munmap(mapping, p->mapped + slack);
	v[PHASE_munmap_us] = since_us(&start);
	return 0;
}

/* In a process of its own. 0, or an errno of it. */
static int round_of(const struct pages *p, struct round *shared)
{
	int status;
	pid_t child = fork();

	if (!child)
		_exit(take(p, shared));
	if (child < 0)
		return errno;
	while (waitpid(child, &status, 0) != child)
		if (stopped)
			kill(child, SIGKILL);
	return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

/* --- all of them ------------------------------------------------------------------------------ */

static void report(const struct pages *p, const struct round *rounds)
{
	double values[ROUNDS_MOST];
	const char *refused = NULL;

	measure_head();
	fputs(",\"figures\":{", stdout);
	for (enum phase phase = 0; phase < PHASE_COUNT; phase++) {
		for (unsigned i = 0; i < p->rounds; i++)
			values[i] = rounds[i].value[phase];
		double median = measure_median(values, p->rounds);
		printf("%s\"%s\":", phase ? "," : "", phase_names[phase]);
		if (values[0] >= 0)
			printf("%.3f", median);
		else
			fputs("null", stdout);
		if (values[0] < 0)
			refused = phase == PHASE_mlock_us ?
					  "mlock: raise RLIMIT_MEMLOCK" :
					  "XDP_UMEM_REG: needs AF_XDP and CAP_NET_RAW";
	}
	printf("},\"kind\":\"%s\",\"kib\":%zu,\"rounds\":%u,\"page_size\":%ld,\"refused\":",
	       kind_names[p->kind], p->length / 1024, p->rounds, sysconf(_SC_PAGESIZE));
	if (refused)
		measure_text(refused);
	else
		fputs("null", stdout);
	puts("}");
}

static int rounds_of(const struct pages *p)
{
	struct round *rounds = mmap(NULL, sizeof *rounds * p->rounds, PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (rounds == MAP_FAILED)
		return measure_trouble("no memory");
	for (unsigned i = 0; i < p->rounds && !stopped; i++) {
		int error = round_of(p, rounds + i);
		if (error && !stopped)
			return measure_trouble("%zu KiB in %s pages: %s: ask for less (--kib)",
					       p->length / 1024, kind_names[p->kind],
					       strerror(error));
		if (!idle_again(p))
			return measure_trouble("a UMEM keeps its huge pages: try again later");
	}
	if (stopped)
		return measure_trouble("stopped by a signal");
	for (unsigned i = 0; i < p->rounds; i++)
		if (p->kind != KIND_base &&
		    rounds[i].value[PHASE_huge_kib] < (double)p->length / 1024)
			return skipped("round %u: the kernel gave %.0f of %zu KiB as huge pages",
				       i + 1, rounds[i].value[PHASE_huge_kib], p->length / 1024);
	report(p, rounds);
	return 0;
}

int main(int argc, char **argv)
{
	struct pages p = { .length = 1 << 20, .rounds = 7, .cpu = -1, .root = "" };
	struct sigaction action = { .sa_handler = on_signal };
	unsigned long long before = 0;
	bool changed = false;
	int status;

	measure_name = "measure-pages";
	argp_parse(&argp, argc, argv, 0, NULL, &p);
	measure_pin("--cpu", p.cpu);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	status = sizes(&p);
	if (!status && p.kind == KIND_huge)
		status = reserve(&p, &before, &changed);
	bool used = !status;
	if (used)
		status = rounds_of(&p);
	if (changed && give_back(&p, before, used))
		return MEASURE_CANNOT;
	return status;
}
