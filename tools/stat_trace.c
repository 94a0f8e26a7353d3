/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * stat_trace.c - saker-stat trace
 *
 * Model    Ask each I/O thread for frames (trace.h), and each millisecond take what
 *          is there into the file (capture.h). What bounds the trace is checked on
 *          the way; then the lease ends at once.
 * Owner    One reader at a time: it holds a lock (flock) on the directory of pins,
 *          which the kernel takes back however it dies.
 * Units    ns of CLOCK_MONOTONIC.
 */
#include <argp.h>
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "capture.h"
#include "stat_text.h"
#include "stat_trace.h"
#include "stats.h"
#include "trace.h"

enum {
	LOOK_US = 1000,
	RENEW_MS = 100,
	LIVES_MS = 1000,  /* between two looks at the responder */
	SILENT_MS = 3000, /* without a turn: it has crashed, or hangs */
	PROGRESS_MS = 500,
	TAKE_MAX = 8192, /* of one ring in one look: it cannot hold so many */
	SECONDS_DEFAULT = 60,
	SIZE_DEFAULT = 64 << 20,
	ERROR_TEXT = 768,
};

struct args {
	const char *ifname, *pin_dir;
	const char *host; /* as it was given */
	struct trace_want want;
	uint64_t seconds; /* 0: no bound */
};

struct tracing {
	struct args args;
	char dir[512], interface[32];
	uint64_t responder_ns;     /* when it started: tells it from the next one */
	uint64_t turns, turned_ns; /* of its threads, and when that number last grew */
	struct trace_ring *ring;
	uint32_t rings;
	uint64_t lost_before[IO_THREADS_MAX];
	struct capture capture;
	bool progress;                            /* stderr is a terminal */
	uint64_t until_ns, lives_ns, progress_ns; /* when each was done last */
	uint64_t paused_ns;                       /* we did not look in time */
};

static volatile sig_atomic_t interrupted;

/* --- the responder ------------------------------------------------------------- */

static bool find_dir(struct tracing *t)
{
	const struct args *a = &t->args;
	int err = stats_where(t->dir, sizeof t->dir, a->ifname, a->pin_dir);
	return !err || capture_refuse("%s: %s", a->ifname, strerror(-err));
}

/* END_NOT: it is the one that it was, and turns. A heartbeat would not tell: a thread
 * whose card does not send any more gives none, and is worth a look. */
static enum ending responder_ends(struct tracing *t)
{
	static struct stats_report report;
	char error[ERROR_TEXT];
	if (stats_load(&report, t->dir, error, sizeof error) ||
	    report.mode.started_ns != t->responder_ns || report.mode.state == STATE_stopped)
		return END_STOPPED;
	if (report.counters.turns != t->turns) {
		t->turns = report.counters.turns;
		t->turned_ns = report.now_ns;
	}
	return report.now_ns - t->turned_ns > SILENT_MS * (uint64_t)NS_PER_MS ? END_SILENT :
										END_NOT;
}

static bool turns(struct tracing *t)
{
	uint64_t begun_ns = t->turned_ns;
	while (responder_ends(t) == END_NOT)
		if (t->turned_ns != begun_ns)
			return true;
		else
			usleep(LOOK_US);
	return capture_refuse("%s: the responder has ended, crashed, or hangs", t->dir);
}

/* Is there somebody who has frames to show? */
static bool find_responder(struct tracing *t)
{
	static struct stats_report report;
	char error[ERROR_TEXT];
	if (!find_dir(t))
		return false;
	if (stats_load(&report, t->dir, error, sizeof error))
		return capture_refuse("%s", error);
	if (report.mode.rung != RUNG_xdp_native && report.mode.rung != RUNG_xdp_generic &&
	    report.mode.rung != RUNG_packet)
		return capture_refuse("the rung is %s: the kernel has that traffic: "
				      "tcpdump -i %.*s tcp port %u",
				      stats_rung_name(report.mode.rung),
				      (int)sizeof report.mode.ifname, report.mode.ifname,
				      report.mode.port);
	snprintf(t->interface, sizeof t->interface, "%.*s", (int)sizeof report.mode.ifname,
		 report.mode.ifname);
	t->responder_ns = report.mode.started_ns;
	t->turns = report.counters.turns;
	t->turned_ns = report.now_ns;
	return turns(t);
}

static bool map_rings(struct tracing *t, int fd, const char *path)
{
	struct bpf_map_info info = { 0 };
	uint32_t length = sizeof info;
	if (bpf_obj_get_info_by_fd(fd, &info, &length) || info.type != BPF_MAP_TYPE_ARRAY ||
	    info.value_size != sizeof(struct trace_ring) || info.max_entries > IO_THREADS_MAX)
		return capture_refuse(
			"%s is not the map that this saker-stat knows: use the one that "
			"was built with the responder",
			path);
	t->rings = info.max_entries;
	t->ring = mmap(NULL, sizeof *t->ring * t->rings, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return t->ring != MAP_FAILED || capture_refuse("%s: %s", path, strerror(errno));
}

/* With write permission: the trace is asked for in the map. The lock stays as long as
 * the process. */
static bool open_rings(struct tracing *t)
{
	char path[sizeof t->dir + 16];
	int lock = open(t->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd;
	bool good;
	snprintf(path, sizeof path, "%s/trace", t->dir);
	fd = bpf_obj_get(path);
	if (fd < 0)
		return capture_refuse(
			"%s: %s%s", path, strerror(errno),
			errno == EACCES || errno == EPERM ?
				": run as root: a trace is asked for by writing into the map" :
				"");
	good = map_rings(t, fd, path);
	close(fd);
	if (good && lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		return capture_refuse("process %u traces this responder already: one at a time",
				      t->ring[0].want.pid);
	return good;
}

static uint64_t lost(const struct tracing *t)
{
	uint64_t sum = 0;
	for (uint32_t i = 0; i < t->rings; i++)
		sum += __atomic_load_n(&t->ring[i].lost, __ATOMIC_RELAXED) - t->lost_before[i];
	return sum;
}

static void show_progress(struct tracing *t, uint64_t now_ns)
{
	const struct capture *c = &t->capture;
	t->progress_ns = now_ns;
	fprintf(stderr, "\r%" PRIu64 " frames, %.1f MB, %" PRIu64 " lost, %.0f s ", c->frames,
		(double)c->bytes / 1e6, lost(t), (double)(now_ns - c->start_ns) / NS_PER_S);
}

static void take(struct tracing *t)
{
	static struct trace_copy copy;
	for (uint32_t i = 0; i < t->rings; i++) {
		enum trace_taken taken;
		unsigned n = 0;
		while ((taken = trace_take(&t->ring[i], &copy)) == TRACE_ONE && n++ < TAKE_MAX)
			if (!capture_hold(&t->capture, &copy))
				return;
		if (taken == TRACE_BROKEN) {
			capture_refuse("what stands in the ring of I/O thread %u makes no sense",
				       i);
			capture_ends(&t->capture, END_TROUBLE);
		}
	}
}

/* The filter in the words of tcpdump. */
static void filter_text(char *text, size_t size, const struct args *a)
{
	int n = 0;
	text[0] = '\0';
	if (a->host)
		n = snprintf(text, size, "%s %s", strchr(a->host, '/') ? "net" : "host", a->host);
	if (a->want.port)
		snprintf(text + n, size - (size_t)n, "%sport %u", n ? " and " : "", a->want.port);
}

/* --- the trace ---------------------------------------------------------------------------- */

static void renew(struct tracing *t, uint64_t now_ns)
{
	uint64_t lease_ns = TRACE_LEASE_MS * (uint64_t)NS_PER_MS;
	if (t->until_ns > now_ns + lease_ns - RENEW_MS * NS_PER_MS)
		return;
	if (t->until_ns && t->until_ns < now_ns)
		t->paused_ns += now_ns - t->until_ns;
	t->until_ns = now_ns + lease_ns;
	for (uint32_t i = 0; i < t->rings; i++)
		trace_renew(&t->ring[i], t->until_ns);
}

static void begin(struct tracing *t)
{
	char filter[128];
	uint64_t now_ns;
	t->args.want.pid = (uint32_t)getpid();
	t->progress = isatty(STDERR_FILENO);
	for (uint32_t i = 0; i < t->rings; i++) {
		trace_ask(&t->ring[i], &t->args.want);
		t->lost_before[i] = t->ring[i].lost;
	}
	filter_text(filter, sizeof filter, &t->args);
	now_ns = clock_ns(CLOCK_MONOTONIC);
	renew(t, now_ns);
	capture_begin(&t->capture, t->interface, filter, t->args.want.snap, now_ns,
		      clock_ns(CLOCK_REALTIME));
	t->lives_ns = now_ns;
	if (t->progress)
		show_progress(t, now_ns);
}

static void check_end(struct tracing *t, uint64_t now_ns)
{
	struct capture *c = &t->capture;
	if (interrupted)
		capture_ends(c, END_SIGNAL);
	if (t->args.seconds && now_ns - c->start_ns >= t->args.seconds * NS_PER_S)
		capture_ends(c, END_SECONDS);
	if (now_ns - t->lives_ns >= LIVES_MS * (uint64_t)NS_PER_MS) {
		t->lives_ns = now_ns;
		capture_ends(c, responder_ends(t));
	}
}

/* What is older than the look before has come by now, from every thread. */
static void look(struct tracing *t)
{
	struct timespec pause = { .tv_nsec = LOOK_US * NS_PER_US };
	uint64_t now_ns = t->capture.start_ns, before_ns;
	while (t->capture.end == END_NOT) {
		before_ns = now_ns;
		now_ns = clock_ns(CLOCK_MONOTONIC);
		renew(t, now_ns);
		take(t);
		capture_release(&t->capture, before_ns);
		check_end(t, now_ns);
		if (t->progress && now_ns - t->progress_ns >= PROGRESS_MS * NS_PER_MS)
			show_progress(t, now_ns);
		if (t->capture.end == END_NOT)
			nanosleep(&pause, NULL);
	}
}

/* Whatever ended it: nothing more is copied, and what was is written if it may be. */
static void finish(struct tracing *t)
{
	struct timespec pause = { .tv_nsec = LOOK_US * NS_PER_US };
	struct capture *c = &t->capture;
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	for (uint32_t i = 0; i < t->rings; i++)
		trace_renew(&t->ring[i], 0);
	nanosleep(&pause, NULL);
	if (c->end != END_TROUBLE)
		take(t);
	capture_release(c, UINT64_MAX);
	capture_end(c, lost(t), now_ns);
	fprintf(stderr,
		"%ssaker-stat: trace: %" PRIu64 " frames, %" PRIu64 " bytes, %" PRIu64
		" lost, %.1f s: %s\n",
		t->progress ? "\r" : "", c->frames, c->bytes, lost(t),
		(double)(now_ns - c->start_ns) / NS_PER_S, capture_ending(c));
	if (t->paused_ns)
		fprintf(stderr,
			"saker-stat: trace: nothing was traced for %.1f s of these: the output "
			"took no more\n",
			(double)t->paused_ns / NS_PER_S);
}

static void on_signal(int number)
{
	interrupted = number;
}

/* Writes go on after a signal, so that no block is cut; a second signal kills. */
static void catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal,
				    .sa_flags = SA_RESTART | (int)SA_RESETHAND };
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* --- options ---------------------------------------------------------------------------------- */

enum {
	OPTION_PIN_DIR = 256,
	OPTION_HOST,
	OPTION_PORT,
	OPTION_SNAP,
	OPTION_COUNT,
	OPTION_SIZE,
	OPTION_SECONDS,
};

static const struct argp_option options[] = {
	{ "interface", 'i', "IFACE", 0, "of the responder on IFACE", 0 },
	{ "pin-dir", OPTION_PIN_DIR, "DIR", 0,
	  "of the one with maps in DIR (default: that of IFACE under " STATS_ROOT ")", 0 },
	{ "write", 'w', "FILE", 0, "to FILE, readable by its owner alone; -: standard output", 0 },
	{ "host", OPTION_HOST, "ADDR[/LEN]", 0, "frames of these clients only", 0 },
	{ "port", OPTION_PORT, "N", 0, "frames with this TCP port at either end only", 0 },
	{ "snap", OPTION_SNAP, "N", 0, "the first N bytes of each frame (default: all)", 0 },
	{ "count", OPTION_COUNT, "N", 0, "end after N frames (default: no bound)", 0 },
	{ "size", OPTION_SIZE, "BYTES", 0,
	  "end before FILE is longer; k, M, G: times 1024 (default: 64M; 0: no bound)", 0 },
	{ "seconds", OPTION_SECONDS, "S", 0, "end after S seconds (default: 60; 0: no bound)", 0 },
	{ 0 },
};

static uint64_t number(const char *option, const char *value, uint64_t least, uint64_t most,
		       const char *units, struct argp_state *state)
{
	char *end;
	errno = 0;
	unsigned long long n = strtoull(value, &end, 10);
	const char *unit = *end ? strchr(units, *end) : NULL;
	uint64_t scale = unit ? 1ull << (10 * (unit - units + 1)) : 1;
	if (*value < '0' || *value > '9' || errno || end[unit ? 1 : 0] || n > most / scale ||
	    n < least)
		argp_error(state, "--%s=%s: wanted a whole number, %" PRIu64 " ... %" PRIu64,
			   option, value, least, most);
	return n * scale;
}

static void parse_host(struct args *a, const char *value, struct argp_state *state)
{
	struct trace_want *want = &a->want;
	char address[64];
	const char *slash = strchr(value, '/');
	size_t n = slash ? (size_t)(slash - value) : strlen(value);
	snprintf(address, sizeof address, "%.*s", (int)n, value);
	memset(want->addr, 0, 10);
	memset(want->addr + 10, 0xff, 2);
	bool ip4 = inet_pton(AF_INET, address, want->addr + 12) == 1;
	if (!ip4 && inet_pton(AF_INET6, address, want->addr) != 1)
		argp_error(state, "--host=%s: wanted an IPv4 or IPv6 address, and perhaps /LEN",
			   value);
	uint16_t bits = ip4 ? 32 : 128;
	if (slash)
		bits = (uint16_t)number("host", slash + 1, 1, bits, "", state);
	want->prefix = (uint16_t)((ip4 ? 96 : 0) + bits);
	a->host = value;
}

static error_t option_parse(int key, char *value, struct argp_state *state)
{
	struct tracing *t = state->input;
	struct args *a = &t->args;
	struct capture *c = &t->capture;
	/* clang-format off */
	switch (key) {
	case 'i':
		if (!*value || *value == '.' || strchr(value, '/'))
			argp_error(state, "-i %s: not the name of an interface", value);
		a->ifname = value;
		break;
	case 'w': c->path = value; break;
	case OPTION_PIN_DIR: a->pin_dir = value; break;
	case OPTION_HOST: parse_host(a, value, state); break;
	case OPTION_PORT: a->want.port = (uint16_t)number("port", value, 1, 65535, "", state); break;
	case OPTION_SNAP: a->want.snap = (uint32_t)number("snap", value, 1, 65535, "", state); break;
	case OPTION_COUNT: c->count = number("count", value, 1, INT64_MAX, "", state); break;
	case OPTION_SIZE: c->size = number("size", value, 0, INT64_MAX, "kMG", state); break;
	case OPTION_SECONDS: a->seconds = number("seconds", value, 0, 1000000000, "", state); break;
	case ARGP_KEY_ARG: argp_error(state, "%s: not an option", value); break;
	case ARGP_KEY_END:
		if (!c->path || !(a->ifname || a->pin_dir))
			argp_error(state, "wanted: -i IFACE -w FILE");
		break;
	default: return ARGP_ERR_UNKNOWN;
	}
	/* clang-format on */
	return 0;
}

int stat_trace(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = option_parse,
		.doc = "Write the frames that a saker(8) receives and sends past the kernel, where "
		       "tcpdump(8) does not see them, as pcapng, with the stage times of each "
		       "answer as a comment. Needs root; one at a time.",
	};
	static struct tracing t = { .args.seconds = SECONDS_DEFAULT, .capture.size = SIZE_DEFAULT };
	argv[0] = "saker-stat trace";
	argp_parse(&argp, argc, argv, 0, NULL, &t);
	if (!find_responder(&t) || !open_rings(&t) || !capture_open(&t.capture))
		return 1;
	catch_signals();
	begin(&t);
	look(&t);
	finish(&t);
	return t.capture.end == END_TROUBLE || t.capture.end == END_SILENT;
}
