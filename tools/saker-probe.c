/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * saker-probe.c - what the machine does while something is measured on it
 *
 * Place    For people and for saker-lab; docs/saker-probe.8 has each column, and what a
 *          sample costs. probe.h has the parts.
 * Model    Find the sources; then at each tick of an absolute timer read all that are
 *          here into a row; write the rows at the end, or at SIGTERM or SIGINT. A tick
 *          that passed while the last sample was being taken is left out, and counted.
 *          --costs and --energy are two other programs under the same name: neither
 *          samples.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include "probe.h"
#include "probe_costs.h"
#include "probe_energy.h"
#include "probe_power.h"
#include "probe_rows.h"

/* Below what is measured; above a core's idle work, or a busy core would let it starve. */
enum { PROBE_NICE = 5 };

struct args {
	struct probe probe;
	double seconds; /* 0: until a signal */
	int cpu;        /* -1: not given */
	const char *out;
	bool list;
	bool costs;
	int cpus[2];
	const char *energy;
	uint64_t from, to, requests;
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* --- samples --------------------------------------------------------------------------------- */

static void find_sources(struct probe *p)
{
	probe_sysfs(p);
	probe_vcio(p);
	probe_proc(p);
	probe_task(p);
	probe_perf(p);
	probe_pmic(p);
	if (p->power) {
		probe_source(p, NULL, NULL, "power");
		probe_column(p, 4, "power_w");
	} else {
		probe_absent(p, "power", "--power=FILE, written by a meter's program",
			     "no meter's file was named");
	}
}

static void sample(const struct probe *p, double *cell)
{
	for (unsigned i = 0; i < p->sources; i++) {
		const struct source *s = &p->source[i];

		if (!s->absent && s->read)
			s->read(s->state, cell + s->first);
	}
}

/* False: a signal came first. */
static bool wait_until(uint64_t due, const sigset_t *signals)
{
	for (;;) {
		uint64_t now = clock_ns(CLOCK_MONOTONIC), rest = due > now ? due - now : 0;
		struct timespec pause = { (time_t)(rest / NS_PER_S), (long)(rest % NS_PER_S) };

		if (sigtimedwait(signals, NULL, &pause) > 0)
			return false;
		if (errno == EAGAIN)
			return true;
	}
}

/* The meter's file is whole only now. */
static void join_power(struct probe *p, struct rows *r)
{
	struct source *s = &p->source[p->sources - 1];
	struct power w;

	if (!p->power || s->absent)
		return;
	if (!power_load(&w, p->power, s->why, sizeof s->why)) {
		s->absent = !r->headed; /* else it has a column */
		fprintf(stderr, "saker-probe: --power=%s\n", s->why);
		return;
	}
	size_t met = 0;
	for (size_t i = 0; i < r->held; i++) {
		double watts = power_at(&w, r->unix_ns[i]);

		*rows_cell(r, i, "power_w") = watts;
		met += !isnan(watts);
	}
	probe_remark(s, "%s: %zu readings, %zu of %zu rows between two of them", p->power, w.count,
		     met, r->held);
	power_free(&w);
}

struct run {
	uint64_t rows, left_out;
	uint64_t began;   /* monotonic */
	int64_t stepped;  /* how far the wall clock was set meanwhile */
	uint64_t cost_ns; /* CPU time of the samples */
};

static void write_rows(struct probe *p, struct rows *r, const struct run *run)
{
	char notes[512];
	int used = snprintf(notes, sizeof notes,
			    "# rows %" PRIu64 ", left out %" PRIu64
			    " (late), CPU time of a sample %.0f us\n",
			    run->rows, run->left_out,
			    run->rows ? (double)run->cost_ns / (double)run->rows / 1e3 : 0);

	if (run->stepped > NS_PER_MS * 10 || run->stepped < NS_PER_MS * -10)
		snprintf(notes + used, sizeof notes - (size_t)used,
			 "# the wall clock was set by %.3f s meanwhile: unix_ns goes on from the "
			 "first row's\n",
			 (double)run->stepped * 1e-9);
	join_power(p, r);
	rows_write(r, notes);
}

static void one_row(struct probe *p, struct rows *r, struct run *run, uint64_t offset)
{
	if (r->held == r->room) {
		fprintf(stderr,
			"saker-probe: %zu rows are held, as many as fit in %d MiB: writing them "
			"now, while it runs\n",
			r->held, PROBE_BYTES >> 20);
		write_rows(p, r, run);
	}
	uint64_t from = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	sample(p, rows_add(r, clock_ns(CLOCK_MONOTONIC) + offset));
	run->cost_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - from;
	run->rows++;
}

static void go_round(struct probe *p, struct rows *r, const struct args *args,
		     const sigset_t *signals)
{
	uint64_t period = NS_PER_S / p->hz;
	uint64_t offset = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
	struct run run = { .began = clock_ns(CLOCK_MONOTONIC) + period };
	/* Half a period on, so that rounding cannot lose the last row. */
	uint64_t end = args->seconds > 0 ?
			       run.began + (uint64_t)(args->seconds * NS_PER_S) + period / 2 :
			       UINT64_MAX;

	for (uint64_t due = run.began; due < end; due += period) {
		bool signalled = !wait_until(due, signals);

		one_row(p, r, &run, offset);
		if (signalled)
			break;
		/* Late by less than a period is late; by more, a tick is lost. */
		for (; due + 2 * period <= clock_ns(CLOCK_MONOTONIC); due += period)
			run.left_out++;
	}
	run.stepped = (int64_t)(clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC) - offset);
	write_rows(p, r, &run);
}

/* Fewer CPUs than there are: who started us has placed us, as taskset does. */
static bool placed(void)
{
	cpu_set_t set;

	return !sched_getaffinity(0, sizeof set, &set) &&
	       CPU_COUNT(&set) < sysconf(_SC_NPROCESSORS_ONLN);
}

/* Away from what is measured: CPU 0 has the system's work anyway. */
static void step_aside(int cpu)
{
	cpu_set_t set;

	setpriority(PRIO_PROCESS, 0, PROBE_NICE);
	if (cpu < 0 && placed())
		return;
	cpu = cpu < 0 ? 0 : cpu;
	CPU_ZERO(&set);
	CPU_SET((unsigned)cpu, &set);
	if (sched_setaffinity(0, sizeof set, &set))
		fprintf(stderr, "saker-probe: CPU %d: %s: it runs where the kernel puts it\n", cpu,
			strerror(errno));
}

static int measure(struct args *args)
{
	FILE *out = args->out ? fopen(args->out, "we") : stdout;
	static struct rows rows;
	sigset_t signals;

	if (!out) {
		fprintf(stderr, "saker-probe: --out=%s: %s\n", args->out, strerror(errno));
		return 1;
	}
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	step_aside(args->cpu);
	find_sources(&args->probe);
	rows_init(&rows, &args->probe, out,
		  args->seconds > 0 ? (uint64_t)(args->seconds * args->probe.hz) + 2 : 0);
	go_round(&args->probe, &rows, args, &signals);
	if (ferror(out) || (args->out && fclose(out))) {
		fprintf(stderr, "saker-probe: cannot write%s%s: %s\n", args->out ? " " : "",
			args->out ? args->out : "", strerror(errno));
		return 1;
	}
	return 0;
}

/* --- the other things that it does --------------------------------------------------------------- */

static int list_sources(struct probe *p)
{
	find_sources(p);
	for (unsigned i = 0; i < p->sources; i++) {
		const struct source *s = &p->source[i];

		printf("%-16s %-7s", s->name, s->absent ? "absent" : "ok");
		if (s->absent)
			printf(" %s%s%s\n", s->why, s->cure ? "; cure: " : "",
			       s->cure ? s->cure : "");
		else
			printf(" %u column%s: %s%s%s%s\n", s->count, s->count == 1 ? "" : "s",
			       p->column[s->first].name, s->count > 1 ? " ..." : "",
			       *s->why ? "; " : "", s->why);
	}
	return 0;
}

static int energy(const struct args *args)
{
	struct energy e;
	char error[256];

	if (!energy_of(&e, args->energy, args->from, args->to, error, sizeof error)) {
		fprintf(stderr, "saker-probe: --energy=%s\n", error);
		return 1;
	}
	energy_json(&e, args->requests, stdout);
	return 0;
}

/* --- options ----------------------------------------------------------------------------------------- */

const char *argp_program_version = "saker-probe " VERSION;

enum {
	OPTION_HZ = 256,
	OPTION_SECONDS,
	OPTION_PID,
	OPTION_IFACE,
	OPTION_POWER,
	OPTION_OUT,
	OPTION_CPU,
	OPTION_NO_PERF,
	OPTION_ROOT,
	OPTION_LIST,
	OPTION_COSTS,
	OPTION_CPUS,
	OPTION_ENERGY,
	OPTION_FROM,
	OPTION_TO,
	OPTION_REQUESTS,
};

static const struct argp_option options[] = {
	{ .doc = "Sample:", .group = 1 },
	{ "hz", OPTION_HZ, "N", 0, "samples a second, 1 to 50 (10)", 1 },
	{ "seconds", OPTION_SECONDS, "S", 0, "end after S seconds (at SIGTERM or SIGINT)", 1 },
	{ "pid", OPTION_PID, "PID", 0, "and this process; may be given again", 1 },
	{ "iface", OPTION_IFACE, "IFACE", 0, "and the counters of this interface", 1 },
	{ "power", OPTION_POWER, "FILE", 0, "join what a meter's program writes, as CSV", 1 },
	{ "out", OPTION_OUT, "FILE", 0, "write there (standard output)", 1 },
	{ "cpu", OPTION_CPU, "N", 0, "run on this CPU (0, or where taskset put it)", 1 },
	{ "no-perf", OPTION_NO_PERF, NULL, 0, "no events: to read them interrupts each core", 1 },
	{ "root", OPTION_ROOT, "DIR", 0, "read all files below DIR, for tests", 1 },

	{ .doc = "Instead:", .group = 2 },
	{ "list", OPTION_LIST, NULL, 0, "show the sources, and what is in the way of others", 2 },
	{ "costs", OPTION_COSTS, NULL, 0, "measure a system call, a clock read ... as JSON", 2 },
	{ "cpus", OPTION_CPUS, "A,B", 0, "between which cores (the first and the last)", 2 },
	{ "energy", OPTION_ENERGY, "FILE", 0, "joules of a file that was written before, as JSON",
	  2 },
	{ "from", OPTION_FROM, "NS", 0, "from that unix_ns on (the first reading)", 2 },
	{ "to", OPTION_TO, "NS", 0, "to that unix_ns (the last reading)", 2 },
	{ "requests", OPTION_REQUESTS, "N", 0, "that were answered meanwhile", 2 },
	{ 0 },
};

static uint64_t whole(const char *name, const char *value, uint64_t low, uint64_t high,
		      struct argp_state *state)
{
	char *end;

	errno = 0;
	unsigned long long n = strtoull(value, &end, 10);
	if (*value < '0' || *value > '9' || *end || errno || n < low || n > high)
		argp_error(state, "--%s=%s: wanted a whole number, %" PRIu64 " ... %" PRIu64, name,
			   value, low, high);
	return n;
}

static double seconds(const char *value, struct argp_state *state)
{
	char *end;
	double s = strtod(value, &end);

	if (end == value || *end || !(s >= 0.02 && s <= 1e6))
		argp_error(state, "--seconds=%s: wanted seconds, 0.02 ... 1000000", value);
	return s;
}

static void add_pid(struct probe *p, const char *value, struct argp_state *state)
{
	int pid = (int)whole("pid", value, 1, 1u << 30, state);

	for (unsigned i = 0; i < p->pids; i++)
		if (p->pid[i] == pid)
			return;
	if (p->pids == PROBE_PIDS)
		argp_error(state, "--pid=%s: there may be %d", value, PROBE_PIDS);
	p->pid[p->pids++] = pid;
}

static void two_cpus(int cpus[2], const char *value, struct argp_state *state)
{
	int used = 0;

	if (sscanf(value, "%d,%d%n", &cpus[0], &cpus[1], &used) != 2 || value[used] ||
	    cpus[0] < 0 || cpus[1] < 0 || cpus[0] >= CPU_SETSIZE || cpus[1] >= CPU_SETSIZE)
		argp_error(state, "--cpus=%s: wanted two CPUs, like 0,1", value);
}

static void check_together(const struct args *args, struct argp_state *state)
{
	if (args->list + args->costs + !!args->energy > 1)
		argp_error(state, "one of --list, --costs and --energy");
	if ((args->from || args->to || args->requests) && !args->energy)
		argp_error(state, "--from, --to and --requests go with --energy");
	if (args->cpus[0] >= 0 && !args->costs)
		argp_error(state, "--cpus goes with --costs");
}

static error_t option_parse(int key, char *value, struct argp_state *state)
{
	struct args *args = state->input;
	/* clang-format off */
	switch (key) {
	case OPTION_HZ: args->probe.hz = (unsigned)whole("hz", value, 1, 50, state); break;
	case OPTION_SECONDS: args->seconds = seconds(value, state); break;
	case OPTION_PID: add_pid(&args->probe, value, state); break;
	case OPTION_IFACE: args->probe.iface = value; break;
	case OPTION_POWER: args->probe.power = value; break;
	case OPTION_OUT: args->out = value; break;
	case OPTION_CPU: args->cpu = (int)whole("cpu", value, 0, CPU_SETSIZE - 1, state); break;
	case OPTION_NO_PERF: args->probe.no_perf = true; break;
	case OPTION_ROOT: args->probe.root = value; break;
	case OPTION_LIST: args->list = true; break;
	case OPTION_COSTS: args->costs = true; break;
	case OPTION_CPUS: two_cpus(args->cpus, value, state); break;
	case OPTION_ENERGY: args->energy = value; break;
	case OPTION_FROM: args->from = whole("from", value, 1, UINT64_MAX, state); break;
	case OPTION_TO: args->to = whole("to", value, 1, UINT64_MAX, state); break;
	case OPTION_REQUESTS: args->requests = whole("requests", value, 1, 1ull << 53, state); break;
	case ARGP_KEY_ARG: argp_error(state, "%s: not an option", value); break;
	case ARGP_KEY_END: check_together(args, state); break;
	default: return ARGP_ERR_UNKNOWN;
	}
	/* clang-format on */
	return 0;
}

_Noreturn void base_panic(const char *what, const char *file, int line)
{
	fprintf(stderr, "saker-probe: broken invariant at %s:%d: %s\n", file, line, what);
	abort();
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = option_parse,
		.doc = "Sample temperature, clocks, power, cores, a process and an interface into "
		       "a "
		       "CSV file, away from the cores that are measured. What the machine does not "
		       "have is named in the file's head.",
	};
	static struct args args = { .probe = { .root = "", .hz = 10 },
				    .cpu = -1,
				    .cpus = { -1, -1 } };
	int status = 0;

	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, &args);
	if (args.energy)
		status = energy(&args);
	else if (args.costs)
		costs_json(args.cpus, args.probe.iface, stdout);
	else
		return args.list ? list_sources(&args.probe) : measure(&args);
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "saker-probe: cannot write: %s\n", strerror(errno));
		return 1;
	}
	return status;
}
