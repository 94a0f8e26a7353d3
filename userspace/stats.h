/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * stats.h - names, sums and the summary of what the maps hold
 *
 * Place    The starter computes the summary with it each second; the tools
 *          read pinned maps with it. Edge; needs libbpf, not the skeleton.
 * Model    abi.h says what is in the maps. Here are the words for it, where it
 *          is pinned, the sum over writers, and a reader that believes a map
 *          only after it has checked type, size and version.
 * Owner    Blocks in maps are their writers'; all here only reads them. Only
 *          the summary is written here, by whoever calls stats_summarize.
 * Threads  Sums and summaries may be taken while writers write. A struct
 *          stats_before belongs to one caller.
 * Units    ns of CLOCK_MONOTONIC.
 */
#ifndef STATS_H
#define STATS_H

#include "base.h"
#include "abi.h"

/* --- words ---------------------------------------------------------------- */
struct stats_text {
	const char *name, *help;
};
extern const struct stats_text stats_counters[STATS_COUNT];
extern const struct stats_text stats_stages[STAGES];

/* "unknown" for a number that has no word: maps may come from anywhere. */
const char *stats_rung_name(enum abi_rung rung);
const char *stats_copy_name(enum abi_copy copy);
const char *stats_state_name(enum abi_state state);
const char *stats_proof_name(enum abi_proof proof);

/* "xdp-native, copy, eth0:8080": the mode really in effect, in a line; with several
 * I/O threads ", CPUs 2,3" behind it. */
void stats_mode_text(char *text, size_t size, const struct mode *mode);

/* "2,3,4" */
enum { STATS_CPUS_TEXT = 16 * 5 };
_Static_assert(STATS_CPUS_TEXT >= IO_THREADS_MAX * 5 && STATS_CPUS_TEXT >= CREW_MAX * 5,
	       "four digits and a comma each");
const char *stats_cpus_text(char text[STATS_CPUS_TEXT], const int32_t *cpus, uint32_t count);

/* --- where ---------------------------------------------------------------- */
#define STATS_BPFFS "/sys/fs/bpf"
#define STATS_ROOT STATS_BPFFS "/saker"

/* The directory of an interface's maps: STATS_ROOT/IFNAME, and @INODE after it
 * outside the initial network namespace, where the same name may stand for many
 * interfaces. A dot (eth0.100) becomes a colon: bpffs keeps dots for itself and
 * no interface name has a colon. 0, or -errno. */
int stats_pin_dir(char *dir, size_t size, const char *ifname);

/* Where a tool shall look: in pin_dir, if it is given, else for ifname, which may be a
 * name from STATS_ROOT, namespace and all. 0, or -errno. */
int stats_where(char *dir, size_t size, const char *ifname, const char *pin_dir);

/* --- sums ----------------------------------------------------------------- */
static inline uint64_t stats_value(const struct stats_block *block, uint32_t index)
{
	return ((const uint64_t *)block)[index];
}

static inline struct hist *stats_stage(struct stage_block *block, uint32_t stage)
{
	return (struct hist *)block + stage;
}

/* How many of each there are; never more than abi.h has room for. */
static inline uint32_t stats_io_threads(const struct mode *mode)
{
	return (uint32_t)min_u64(mode->io_threads, IO_THREADS_MAX);
}

static inline uint32_t stats_compute_cores(const struct mode *mode)
{
	return (uint32_t)min_u64(mode->compute_cores, CREW_MAX);
}

/* The sum over all writers. */
void stats_sum(struct stats_block *out, const struct stats_block *blocks, uint32_t count);

/* Requests that were answered, whatever the answer: these stand together in
 * STATS_LIST, from 200 to 505. */
enum { STATS_ANSWERS_FIRST = STATS_http_ok, STATS_ANSWERS_LAST = STATS_http_h2_preface };
uint64_t stats_requests(const struct stats_block *sum);

/* --- the summary ----------------------------------------------------------- */
/* What the writers write, as the starter has it mapped. */
struct stats_view {
	const struct mode *mode;
	const struct stats_block *counters;
	uint32_t counter_blocks;
	const struct stage_block *stages;
	uint32_t stage_blocks;
	struct summary_program program;
};

/* The state of a second ago. Zeroed before the first call. 148 KB. */
struct stats_before {
	uint64_t at_ns;
	uint64_t requests;
	uint64_t busy_ns[IO_THREADS_MAX];
	struct stage_block stages;
};

/* Bring the summary up to date and remember the state for the next call. The
 * first span starts at mode->started_ns. Takes about 0.2 ms. */
void stats_summarize(struct summary *out, struct stats_before *before,
		     const struct stats_view *view, uint64_t now_ns);

/* --- the reader ------------------------------------------------------------ */
struct stats_report {
	uint64_t now_ns; /* when it was read */
	struct mode mode;
	struct steer_live live;
	struct stats_block counters;                 /* sum over writers */
	uint64_t busy_ns[IO_THREADS_MAX + CREW_MAX]; /* of them, I/O threads first */
	struct stage_block stages;
	struct summary summary;
};

/* Read all that is pinned in dir, by read-only descriptors and lookups; nothing
 * is written or mapped. Works on what a crashed responder left. 0, or -errno
 * with the reason and the cure in error (one line without its end). */
int stats_load(struct stats_report *out, const char *dir, char *error, size_t size);

/* The tables of its cores, at most so many: how many there are. -errno as above. */
int stats_load_lanes(struct lane_table *out, uint32_t most, const char *dir, char *error,
		     size_t size);
/* For a map that is not in the report: a read-only descriptor of the one that is pinned
 * in dir by that name, if it is what abi.h says; how many entries it has. Errors as
 * above. */
int stats_map_open(const char *dir, const char *name, size_t value_size, uint32_t *entries,
		   char *error, size_t size);

#endif
