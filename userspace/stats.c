/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <linux/magic.h>
#include "stats.h"
#include "hist.h"

_Static_assert(sizeof(struct stage_block) >= STAGES * sizeof(struct hist), "stats_stage");

const struct stats_text stats_counters[STATS_COUNT] = {
#define X(name, help) { #name, help },
	STATS_LIST(X)
#undef X
};

const struct stats_text stats_stages[STAGES] = {
#define X(name, help) { #name, help },
	STAGE_LIST(X)
#undef X
};

/* --- words ---------------------------------------------------------------- */

static const char *word(const char *const *words, size_t count, uint32_t value)
{
	return value < count && words[value] ? words[value] : "unknown";
}

const char *stats_rung_name(enum abi_rung rung)
{
	static const char *const words[] = {
		[RUNG_none] = "none",
		[RUNG_socket] = "socket",
		[RUNG_packet] = "packet",
		[RUNG_xdp_generic] = "xdp-generic",
		[RUNG_xdp_native] = "xdp-native",
	};
	return word(words, array_size(words), rung);
}

const char *stats_copy_name(enum abi_copy copy)
{
	static const char *const words[] = {
		[COPY_none] = "none",
		[COPY_copy] = "copy",
		[COPY_zero_copy] = "zero-copy",
	};
	return word(words, array_size(words), copy);
}

#define X(name) #name,
const char *stats_state_name(enum abi_state state)
{
	static const char *const words[] = { STATE_LIST(X) };
	return word(words, array_size(words), state);
}

const char *stats_proof_name(enum abi_proof proof)
{
	static const char *const words[] = { PROOF_LIST(X) };
	return word(words, array_size(words), proof);
}
#undef X

void stats_mode_text(char *text, size_t size, const struct mode *mode)
{
	bool copies = mode->copy != COPY_none;
	char cpus[STATS_CPUS_TEXT];
	int n = snprintf(text, size, "%s%s%s, %.*s:%u", stats_rung_name(mode->rung),
			 copies ? ", " : "", copies ? stats_copy_name(mode->copy) : "",
			 (int)sizeof mode->ifname, mode->ifname, mode->port);
	if (n > 0 && (size_t)n < size && mode->io_threads > 1)
		snprintf(text + n, size - (size_t)n, ", CPUs %s",
			 stats_cpus_text(cpus, mode->io_cpu, stats_io_threads(mode)));
}

const char *stats_cpus_text(char text[STATS_CPUS_TEXT], const int32_t *cpus, uint32_t count)
{
	int n = 0;
	text[0] = '\0';
	for (uint32_t i = 0; i < count && n >= 0 && n < STATS_CPUS_TEXT; i++)
		n += snprintf(text + n, STATS_CPUS_TEXT - (size_t)n, i ? ",%d" : "%d", cpus[i]);
	return text;
}

/* --- where ---------------------------------------------------------------- */

int stats_pin_dir(char *dir, size_t size, const char *ifname)
{
	/* This setting exists in the initial namespace only (net/core/sysctl_net_core.c),
	 * and anybody may look. /proc/1/ns/net is another process's: it takes
	 * CAP_SYS_PTRACE, and in a container it is the container's own. */
	bool initial = !access("/proc/sys/net/core/dev_weight", F_OK);
	int length = snprintf(dir, size, STATS_ROOT "/%s", ifname);
	if (!initial && length >= 0 && (size_t)length < size) {
		struct stat ns;
		if (stat("/proc/self/ns/net", &ns))
			return -errno;
		length += snprintf(dir + length, size - (size_t)length, "@%lu",
				   (unsigned long)ns.st_ino);
	}
	if (length < 0 || (size_t)length >= size)
		return -ENAMETOOLONG;
	for (char *c = dir + sizeof STATS_ROOT; *c; c++)
		if (*c == '.')
			*c = ':';
	return 0;
}

int stats_where(char *dir, size_t size, const char *ifname, const char *pin_dir)
{
	int length;

	if (!pin_dir && !strchr(ifname, '@'))
		return stats_pin_dir(dir, size, ifname);
	length = pin_dir ? snprintf(dir, size, "%s", pin_dir) :
			   snprintf(dir, size, STATS_ROOT "/%s", ifname);
	return (size_t)length < size ? 0 : -ENAMETOOLONG;
}

/* --- sums ----------------------------------------------------------------- */

void stats_sum(struct stats_block *out, const struct stats_block *blocks, uint32_t count)
{
	uint64_t *sum = (uint64_t *)out;
	memset(out, 0, sizeof *out);
	for (uint32_t b = 0; b < count; b++) {
		const uint64_t *words = (const uint64_t *)&blocks[b];
		for (uint32_t i = 0; i < STATS_COUNT; i++)
			sum[i] += __atomic_load_n(&words[i], __ATOMIC_RELAXED);
	}
}

uint64_t stats_requests(const struct stats_block *sum)
{
	uint64_t requests = 0;
	for (uint32_t i = STATS_ANSWERS_FIRST; i <= STATS_ANSWERS_LAST; i++)
		requests += stats_value(sum, i);
	return requests;
}

/* --- the summary ----------------------------------------------------------- */

static struct summary_stage *span_stage(struct summary_span *span, uint32_t stage)
{
	return &span->steer + stage;
}

static void busy_summarize(struct summary *out, struct stats_before *before,
			   const struct stats_view *view)
{
	for (uint32_t t = 0; t < stats_io_threads(view->mode); t++) {
		uint64_t busy_ns = __atomic_load_n(&view->counters[t].busy_ns, __ATOMIC_RELAXED);
		out->start.busy_ns[t] = busy_ns;
		out->last.busy_ns[t] = busy_ns - before->busy_ns[t];
		before->busy_ns[t] = busy_ns;
	}
}

/* Word by word, and none that is so already: most buckets stay empty for ever, and their
 * pages untouched. */
static void remember(struct hist *before, const struct hist *now)
{
	uint64_t *to = (uint64_t *)before;
	const uint64_t *from = (const uint64_t *)now;

	for (size_t i = 0; i < sizeof *now / sizeof *from; i++)
		if (to[i] != from[i])
			to[i] = from[i];
}

static void stage_summarize(struct summary *out, struct stats_before *before,
			    const struct stats_view *view, uint32_t stage)
{
	struct hist one, now = { 0 };
	for (uint32_t b = 0; b < view->stage_blocks; b++) {
		hist_read(&one, (const struct hist *)&view->stages[b] + stage);
		hist_merge(&now, &one);
	}
	hist_summarize(span_stage(&out->start, stage), &now);
	hist_sub(&one, &now, stats_stage(&before->stages, stage));
	hist_summarize(span_stage(&out->last, stage), &one);
	remember(stats_stage(&before->stages, stage), &now);
}

void stats_summarize(struct summary *out, struct stats_before *before,
		     const struct stats_view *view, uint64_t now_ns)
{
	struct summary next = { 0 };
	struct stats_block sum;

	if (!before->at_ns)
		before->at_ns = view->mode->started_ns;
	stats_mode_text(next.mode, sizeof next.mode, view->mode);
	next.program = view->program;
	stats_sum(&sum, view->counters, view->counter_blocks);
	next.start.seconds_ns = now_ns - view->mode->started_ns;
	next.start.requests = stats_requests(&sum);
	next.last.seconds_ns = now_ns - before->at_ns;
	next.last.requests = next.start.requests - before->requests;
	before->at_ns = now_ns;
	before->requests = next.start.requests;
	busy_summarize(&next, before, view);
	for (uint32_t i = 0; i < STAGES; i++)
		stage_summarize(&next, before, view, i);
	/* In one piece, so that a reader seldom meets half of it. */
	*out = next;
}

/* --- the reader ------------------------------------------------------------ */

struct reader {
	const char *dir;
	char *error;
	size_t size;
};

static int refuse(const struct reader *r, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int refuse(const struct reader *r, int err, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(r->error, r->size, format, args);
	va_end(args);
	return err;
}

static int refuse_open(const struct reader *r, const char *path, int err)
{
	struct statfs fs;
	switch (err) {
	case -ENOENT:
		if (statfs(STATS_BPFFS, &fs) || fs.f_type != BPF_FS_MAGIC)
			return refuse(r, err,
				      "no bpf file system on " STATS_BPFFS
				      " here (ip netns exec hides it: use nsenter --net=...; "
				      "else: mount -t bpf bpf " STATS_BPFFS ")");
		return refuse(r, err, "%s does not exist", path);
	case -EACCES:
	case -EPERM:
		return refuse(r, err,
			      "%s: %s: run as root, or let your group read it (saker-stat(8))",
			      path, strerror(-err));
	default:
		return refuse(r, err, "%s: %s", path, strerror(-err));
	}
}

/* A read-only descriptor of a pinned map that is what abi.h says it is. */
static int map_open(const struct reader *r, const char *name, size_t value_size, uint32_t *entries)
{
	LIBBPF_OPTS(bpf_obj_get_opts, opts, .file_flags = BPF_F_RDONLY);
	struct bpf_map_info info = { 0 };
	uint32_t length = sizeof info;
	char path[512];
	if ((size_t)snprintf(path, sizeof path, "%s/%s", r->dir, name) >= sizeof path)
		return refuse(r, -ENAMETOOLONG, "%s: path too long", r->dir);

	int fd = bpf_obj_get_opts(path, &opts);
	if (fd < 0)
		return refuse_open(r, path, -errno);
	/* A pin may be of a program or a link, whose info has no such fields. */
	char proc[64], line[64] = "";
	snprintf(proc, sizeof proc, "/proc/self/fd/%d", fd);
	ssize_t got = readlink(proc, line, sizeof line - 1);
	int err = bpf_obj_get_info_by_fd(fd, &info, &length) ? -errno : 0;
	if (err)
		refuse(r, err, "%s: %s", path, strerror(-err));
	else if (got < 0 || !strstr(line, "bpf-map") || info.type != BPF_MAP_TYPE_ARRAY ||
		 info.key_size != sizeof(uint32_t))
		err = refuse(r, -EINVAL, "%s is not an array map of saker's", path);
	else if (info.value_size != value_size)
		err = refuse(r, -EPROTO,
			     "%s has values of %u bytes, this %s knows %zu: "
			     "use the one that was built with the responder",
			     path, info.value_size, program_invocation_short_name, value_size);
	if (err) {
		close(fd);
		return err;
	}
	*entries = info.max_entries;
	return fd;
}

static int map_lookup(const struct reader *r, const char *name, int fd, uint32_t key, void *value)
{
	if (!bpf_map_lookup_elem(fd, &key, value))
		return 0;
	int err = -errno;
	return refuse(r, err, "%s/%s, entry %u: %s", r->dir, name, key, strerror(-err));
}

static int map_load_one(const struct reader *r, const char *name, void *value, size_t size)
{
	uint32_t entries;
	int fd = map_open(r, name, size, &entries);
	if (fd < 0)
		return fd;
	int err = map_lookup(r, name, fd, 0, value);
	close(fd);
	return err;
}

static int counters_load(const struct reader *r, struct stats_report *out)
{
	uint32_t threads = stats_io_threads(&out->mode) + stats_compute_cores(&out->mode);
	struct stats_block pair[2] = { 0 };
	uint32_t entries;
	int err = 0, fd = map_open(r, "counters", sizeof *pair, &entries);
	if (fd < 0)
		return fd;
	for (uint32_t i = 0; i < entries && !err; i++) {
		err = map_lookup(r, "counters", fd, i, &pair[1]);
		if (i < threads)
			out->busy_ns[i] = pair[1].busy_ns;
		stats_sum(&out->counters, pair, 2);
		pair[0] = out->counters;
	}
	close(fd);
	return err;
}

static int stages_load(const struct reader *r, struct stage_block *out)
{
	struct stage_block block;
	struct hist one;
	uint32_t entries;
	int err = 0, fd = map_open(r, "stages", sizeof block, &entries);
	if (fd < 0)
		return fd;
	memset(out, 0, sizeof *out);
	for (uint32_t i = 0; i < entries && !err; i++) {
		err = map_lookup(r, "stages", fd, i, &block);
		for (uint32_t s = 0; s < STAGES && !err; s++) {
			hist_read(&one, stats_stage(&block, s));
			hist_merge(stats_stage(out, s), &one);
		}
	}
	close(fd);
	return err;
}

int stats_load_lanes(struct lane_table *out, uint32_t most, const char *dir, char *error,
		     size_t size)
{
	struct reader r = { .dir = dir, .error = error, .size = size };
	uint32_t entries, i = 0;
	int err = 0, fd = map_open(&r, "lanes", sizeof *out, &entries);

	if (fd < 0)
		return fd;
	for (; i < entries && i < most && !err; i++)
		err = map_lookup(&r, "lanes", fd, i, &out[i]);
	close(fd);
	return err ? err : (int)i;
}

int stats_load(struct stats_report *out, const char *dir, char *error, size_t size)
{
	struct reader r = { .dir = dir, .error = error, .size = size };
	struct timespec now;
	int err = map_load_one(&r, "mode", &out->mode, sizeof out->mode);
	if (err)
		return err;
	if (!out->mode.version)
		return refuse(&r, -EAGAIN, "%s is not filled in yet: the responder is starting",
			      dir);
	if (out->mode.version != ABI_VERSION)
		return refuse(&r, -EPROTO,
			      "%s has maps of version %u, this %s knows %u: "
			      "use the one that was built with the responder",
			      dir, out->mode.version, program_invocation_short_name, ABI_VERSION);
	if ((err = map_load_one(&r, "live", &out->live, sizeof out->live)) ||
	    (err = map_load_one(&r, "summary", &out->summary, sizeof out->summary)) ||
	    (err = counters_load(&r, out)) || (err = stages_load(&r, &out->stages)))
		return err;
	clock_gettime(CLOCK_MONOTONIC, &now);
	out->now_ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
	return 0;
}

int stats_map_open(const char *dir, const char *name, size_t value_size, uint32_t *entries,
		   char *error, size_t size)
{
	struct reader r = { .dir = dir, .error = error, .size = size };
	return map_open(&r, name, value_size, entries);
}
