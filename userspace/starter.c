/* SPDX-License-Identifier: GPL-2.0-only */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "cpu.h"
#include "logger.h"
#include "nic.h"
#include "ring.h"
#include "starter.h"
#include "stats.h"
#include "steer.h"
#include "threads.h"

/* Everything that outlives a function; zeroed pages, most of them never touched. */
struct starter {
	const struct conf *conf;
	struct nic nic;
	struct threads threads;
	struct logger log;
	bool maps; /* steer is open */
	struct steer steer;
	struct ring ring[QUEUES_MAX];
	unsigned rings;
	struct mode mode; /* what the map will say */
	/* the mode in a line: before the bypass, for the I/O threads; and when it is there.
	 * Not written to once it is handed over. */
	char first_text[ABI_MODE_TEXT], mode_text[ABI_MODE_TEXT];
	struct stats_before before;
	bool told_stuck[IO_THREADS_MAX];
};

static void say(const struct starter *st, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static int refuse(const struct starter *st, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void say(const struct starter *st, const char *format, ...)
{
	va_list args;

	if (st->conf->quiet)
		return;
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

static int refuse(const struct starter *st, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "saker: %s: ", st->conf->ifname);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return -EINVAL;
}

/* --- 1, 2: the socket rung ------------------------------------------------------------ */

static int check_cpu(const struct starter *st, const char *option, int cpu)
{
	if (cpu_allowed(cpu))
		return 0;
	if (!cpu_online(cpu))
		return refuse(st, "--%s=%d: no such CPU is online (see lscpu -e)", option, cpu);
	return refuse(st, "--%s=%d: this process may not run there (see taskset -p %d)", option,
		      cpu, (int)getpid());
}

/* Where the threads shall run: into the mode. */
static int choose_cpus(struct starter *st)
{
	const struct conf *c = st->conf;
	struct mode *m = &st->mode;
	int error = 0;

	memset(m->io_cpu, 0xff, sizeof m->io_cpu);
	memset(m->compute_cpu, 0xff, sizeof m->compute_cpu);
	m->io_threads = conf_io_threads(c);
	m->compute_cores = c->compute_cpus;
	memcpy(m->io_cpu, c->io_cpu, c->io_cpus * sizeof *c->io_cpu);
	memcpy(m->compute_cpu, c->compute_cpu, c->compute_cpus * sizeof *c->compute_cpu);
	if (!c->io_cpus)
		m->io_cpu[0] = cpu_choose(c->compute_cpu, c->compute_cpus);
	if (m->io_cpu[0] < 0)
		return refuse(st, "no CPU for the I/O thread: %s; name one with --io-cpu",
			      strerror(-m->io_cpu[0]));
	for (unsigned t = 0; t < m->io_threads && !error; t++)
		error = check_cpu(st, "io-cpu", m->io_cpu[t]);
	for (unsigned k = 0; k < m->compute_cores && !error; k++)
		error = check_cpu(st, "compute-cpus", m->compute_cpu[k]);
	return error;
}

/* Whoever shares such a CPU interrupts the thread. */
static void look_for_others(struct starter *st)
{
	int32_t shared[IO_THREADS_MAX];
	char text[STATS_CPUS_TEXT];
	uint32_t count = 0;

	for (unsigned t = 0; t < st->mode.io_threads; t++) {
		int cpu = st->mode.io_cpu[t];

		if (cpu_isolated(cpu))
			st->mode.io_isolated |= 1u << t;
		else
			shared[count++] = cpu;
	}
	stats_cpus_text(text, shared, count);
	if (count)
		say(st,
		    "saker: CPU%s %s %s not isolated: others interrupt %s (kernel option "
		    "isolcpus=%s)",
		    count > 1 ? "s" : "", text, count > 1 ? "are" : "is", count > 1 ? "them" : "it",
		    text);
}

/* The mode before the bypass: the kernel's sockets serve. */
static void first_mode(struct starter *st, uint64_t exec_ns)
{
	struct mode *m = &st->mode;

	m->version = ABI_VERSION;
	m->pid = (uint32_t)getpid();
	m->state = STATE_starting;
	m->rung = RUNG_socket;
	m->port = st->conf->port;
	m->lanes = st->conf->lanes;
	m->max_conns = st->conf->max_conns;
	m->started_ns = exec_ns;
	snprintf(m->ifname, sizeof m->ifname, "%s", st->conf->ifname);
	snprintf(m->program, sizeof m->program, "%.*s", (int)sizeof m->program - 1, VERSION);
	stats_mode_text(st->first_text, sizeof st->first_text, m);
}

static int start_sockets(struct starter *st, uint64_t exec_ns)
{
	int error = threads_listen(&st->threads, st->conf);

	if (!error)
		error = choose_cpus(st);
	if (!error) {
		look_for_others(st);
		first_mode(st, exec_ns);
		error = threads_start(&st->threads, &st->mode, &st->nic, st->first_text);
	}
	if (!error && st->threads.log)
		error = logger_start(&st->log, &st->mode);
	st->mode.listening_ns = cpu_now_ns();
	if (error) {
		threads_stop(&st->threads);
		logger_stop(&st->log);
		threads_close(&st->threads);
	}
	return error;
}

/* --- 3, 4: the bypass ------------------------------------------------------------------- */

/* The interface as XDP and AF_XDP need it. */
static int check_nic(const struct starter *st)
{
	const char *ifname = st->conf->ifname;

	if (!st->nic.up)
		return refuse(st, "the interface is down: ip link set dev %s up", ifname);
	if (st->nic.mtu > FRAME_ROOM - 18) /* Ethernet header and one tag */
		return refuse(st,
			      "MTU %u is above %d, a frame would not fit its chunk: "
			      "ip link set dev %s mtu 1500",
			      st->nic.mtu, FRAME_ROOM - 18, ifname);
	if (st->nic.mtu < 576) /* RFC 791: what every host takes */
		return refuse(st,
			      "MTU %u is below 576, an answer would go in crumbs: "
			      "ip link set dev %s mtu 1500",
			      st->nic.mtu, ifname);
	if (st->nic.rx_queues > QUEUES_MAX)
		return refuse(st, "%u RX queues, sockets for %d: ethtool -L %s combined %d",
			      st->nic.rx_queues, QUEUES_MAX, ifname, QUEUES_MAX);
	return 0;
}

/* A queue each at least: a thread without one would only spin. */
static int check_queues(const struct starter *st)
{
	unsigned threads = st->threads.count, queues = st->nic.rx_queues;

	if (threads <= queues)
		return 0;
	refuse(st,
	       "%u I/O threads and %u RX queue%s: ethtool -L %s combined %u, or at most %u CPU%s "
	       "in --io-cpu, or --io=socket",
	       threads, queues, queues == 1 ? "" : "s", st->conf->ifname, threads, queues,
	       queues == 1 ? "" : "s");
	return -EBUSY;
}

static void close_rings(struct starter *st)
{
	for (unsigned t = 0; t < st->threads.count; t++)
		st->threads.one[t].bypass.rings = 0;
	while (st->rings)
		ring_close(&st->ring[--st->rings]);
}

static int open_ring(struct starter *st, unsigned queue, bool tx, bool zero_copy)
{
	struct ring_options o = {
		.ifname = st->conf->ifname,
		.ifindex = st->conf->ifindex,
		.queue = queue,
		.tx = tx,
		.zero_copy = zero_copy,
	};
	struct ring *r = &st->ring[st->rings];
	int error = ring_open(r, &o);

	if (error)
		return error;
	st->rings++;
	return steer_socket(&st->steer, queue, r->fd);
}

/* A socket for each RX queue, side by side those of a thread; it sends on its first. */
static int open_rings(struct starter *st, bool zero_copy)
{
	unsigned threads = st->threads.count;
	int error = 0;

	for (unsigned t = 0; t < threads; t++) {
		struct bypass *b = &st->threads.one[t].bypass;

		b->ring = &st->ring[st->rings];
		for (unsigned q = t; q < st->nic.rx_queues && !error; q += threads) {
			error = open_ring(st, q, q == t, zero_copy);
			b->rings += !error;
		}
	}
	return error;
}

static int prove_send(struct starter *st)
{
	uint8_t frame[NIC_PROBE_LEN];
	size_t len = nic_probe(&st->nic, frame);
	int error = 0;

	for (unsigned t = 0; t < st->threads.count && !error; t++)
		error = ring_test_send(st->threads.one[t].bypass.ring, frame, len, TEST_SEND_MS);
	if (error)
		say(st, "saker: %s: a test frame was not sent within %d ms", st->conf->ifname,
		    TEST_SEND_MS);
	return error;
}

struct attempt {
	enum conf_io io;
	enum abi_rung rung;
	bool native, zero_copy;
};

static int try_rung(struct starter *st, const struct attempt *a)
{
	/* zero-copy and copy share one attachment */
	int error = st->steer.link_fd < 0 ? steer_attach(&st->steer, a->native) : 0;

	if (!error)
		error = open_rings(st, a->zero_copy);
	if (!error)
		error = prove_send(st);
	if (!error) {
		st->mode.rung = a->rung;
		st->mode.copy = a->zero_copy ? COPY_zero_copy : COPY_copy;
		st->mode.tx = PROOF_proven;
		st->mode.queues = st->rings;
		return 0;
	}
	close_rings(st);
	return error;
}

/* The first rung that proves itself, of those that --io allows. */
static int climb(struct starter *st)
{
	static const struct attempt ladder[] = {
		{ CONF_IO_XDP_NATIVE, RUNG_xdp_native, true, true },
		{ CONF_IO_XDP_NATIVE, RUNG_xdp_native, true, false },
		{ CONF_IO_XDP_GENERIC, RUNG_xdp_generic, false, false },
	};
	int error = -EOPNOTSUPP;

	for (unsigned i = 0; i < array_size(ladder) && error; i++) {
		if (st->conf->io != CONF_IO_AUTO && st->conf->io != ladder[i].io)
			continue;
		error = try_rung(st, &ladder[i]);
		if (error == -EBUSY || error == -EPERM)
			break; /* another rung would fare no better */
		if (error &&
		    (i + 1 == array_size(ladder) || ladder[i + 1].native != ladder[i].native))
			steer_detach(&st->steer);
	}
	return error;
}

/* May the user be served by less than was tried? Only where the machine cannot
 * do better; not where something is in the way that he can remove. */
static bool may_fall_back(const struct starter *st, int error)
{
	if (st->conf->io != CONF_IO_AUTO)
		return false;
	return st->maps ? error != -EBUSY && error != -EPERM : error == -EAFNOSUPPORT;
}

static int start_maps(struct starter *st)
{
	int error = steer_open(&st->steer, st->conf, st->nic.mac);

	if (error)
		return error;
	st->maps = true;
	*st->steer.mode = st->mode;
	return 0;
}

static int start_bypass(struct starter *st)
{
	int error;

	if (st->conf->io == CONF_IO_SOCKET) {
		if (start_maps(st))
			say(st, "saker: %s: no maps: saker-stat and bpftool have nothing to show",
			    st->conf->ifname);
		return 0;
	}
	error = check_nic(st);
	if (error)
		return error;
	error = start_maps(st);
	if (!error)
		error = check_queues(st);
	if (!error)
		error = climb(st);
	if (error && !may_fall_back(st, error))
		return error;
	if (error)
		say(st, "saker: %s: no XDP rung works here (%s): the socket rung serves",
		    st->conf->ifname, strerror(-error));
	return 0;
}

/* --- 5: ready ------------------------------------------------------------------------------ */

static void hand_over(struct starter *st)
{
	st->mode.state = STATE_ready;
	if (st->rings)
		st->mode.ready_ns = cpu_now_ns();
	stats_mode_text(st->mode_text, sizeof st->mode_text, &st->mode);
	*st->steer.mode = st->mode;
	threads_give(&st->threads, &st->steer, st->mode_text);
	threads_publish(&st->threads, &st->steer);
	if (!st->rings)
		return;
	/* Each thread turns its rings and its heartbeat beats: now steer. */
	__atomic_store_n(&st->steer.live->ready, 1, __ATOMIC_RELEASE);
	st->mode.ready_ns = st->steer.mode->ready_ns = cpu_now_ns();
}

/* "I/O CPU 2 (isolated)", "I/O CPUs 2,3, compute CPU 4" */
static void cpus_text(char *text, size_t size, const struct mode *m)
{
	bool isolated = m->io_isolated == (1u << m->io_threads) - 1;
	char cpus[STATS_CPUS_TEXT];
	int n = snprintf(text, size, "I/O CPU%s %s%s", m->io_threads > 1 ? "s" : "",
			 stats_cpus_text(cpus, m->io_cpu, m->io_threads),
			 isolated ? " (isolated)" : "");

	if (m->compute_cores)
		snprintf(text + n, size - (size_t)n, ", compute CPU%s %s",
			 m->compute_cores > 1 ? "s" : "",
			 stats_cpus_text(cpus, m->compute_cpu, m->compute_cores));
}

static void say_ready(const struct starter *st)
{
	char address[INET6_ADDRSTRLEN] = "*", cpus[2 * STATS_CPUS_TEXT + 64];

	if (st->conf->addr_count)
		inet_ntop(AF_INET6, st->conf->addr[0], address, sizeof address);
	else if (st->nic.has_ip4)
		inet_ntop(AF_INET, st->nic.ip4, address, sizeof address);
	cpus_text(cpus, sizeof cpus, &st->mode);
	say(st, "saker: ready: %s %s port %u, rung %s, %s, %u queue%s, %s, exec to ready %.1f ms",
	    st->conf->ifname, address, st->conf->port, stats_rung_name(st->mode.rung),
	    stats_copy_name(st->mode.copy), st->mode.queues, st->mode.queues == 1 ? "" : "s", cpus,
	    (double)(cpu_now_ns() - st->mode.started_ns) / NS_PER_MS);
}

/* --- running, and the end -------------------------------------------------------------------- */

static void summarize(struct starter *st)
{
	struct stats_view view = {
		.mode = st->steer.mode,
		.counters = st->steer.counters,
		.counter_blocks = st->threads.count,
		.stages = st->steer.stages,
		.stage_blocks = st->threads.count,
	};

	if (!st->maps)
		return;
	view.program = steer_run(&st->steer);
	stats_summarize(st->steer.summary, &st->before, &view, cpu_now_ns());
	threads_publish(&st->threads, &st->steer);
}

/* The I/O thread notices; here it is told, once per change. */
static void report_tx(struct starter *st, unsigned t)
{
	bool stuck = iothread_stuck(&st->threads.one[t].io);
	char which[32] = "";

	if (stuck == st->told_stuck[t])
		return;
	st->told_stuck[t] = stuck;
	if (st->threads.count > 1)
		snprintf(which, sizeof which, "I/O CPU %d: ", st->mode.io_cpu[t]);
	if (stuck)
		say(st,
		    "saker: %s: %snothing was sent for %d ms: new connections go to the kernel "
		    "(a driver that hangs: ip link set dev %s down, then up)",
		    st->conf->ifname, which, TX_STALL_MS, st->conf->ifname);
	else
		say(st, "saker: %s: %sframes are sent again: the bypass serves", st->conf->ifname,
		    which);
}

static void serve(struct starter *st, const sigset_t *signals)
{
	struct timespec second = { .tv_sec = 1 };
	uint64_t end_ns = cpu_now_ns() + st->conf->for_s * (uint64_t)NS_PER_S;
	int sig;

	do {
		summarize(st);
		for (unsigned t = 0; t < st->threads.count; t++)
			report_tx(st, t);
		sig = sigtimedwait(signals, NULL, &second);
	} while (sig < 0 && (!st->conf->for_s || cpu_now_ns() < end_ns));
	say(st, "saker: %s: stopping (%s)", st->conf->ifname,
	    sig < 0 ? "--for is over" : sigabbrev_np(sig));
}

static void set_state(struct starter *st, enum abi_state state)
{
	if (st->maps)
		st->steer.mode->state = state;
}

static void stop(struct starter *st)
{
	struct timespec pause = { .tv_nsec = 5 * NS_PER_MS };
	uint64_t end_ns = cpu_now_ns() + st->conf->drain_s * (uint64_t)NS_PER_S;

	set_state(st, STATE_draining);
	threads_drain(&st->threads);
	while (!threads_drained(&st->threads) && cpu_now_ns() < end_ns)
		nanosleep(&pause, NULL);
}

static void undo(struct starter *st)
{
	if (st->maps) {
		__atomic_store_n(&st->steer.live->ready, 0, __ATOMIC_RELEASE);
		steer_detach(&st->steer);
	}
	threads_stop(&st->threads);
	logger_stop(&st->log);
	summarize(st);
	set_state(st, STATE_stopped);
	close_rings(st);
	if (st->maps)
		steer_close(&st->steer);
	threads_close(&st->threads);
}

/* Before there is anybody whom it would tell of. */
static int open_log(struct starter *st)
{
	if (!*st->conf->access_log)
		return 0;
	st->threads.log = &st->log;
	return logger_open(&st->log, st->conf->access_log);
}

static int run(struct starter *st, uint64_t exec_ns)
{
	sigset_t signals;
	int error;

	/* Before the thread exists, so that it inherits the mask. */
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	error = nic_ask(&st->nic, st->conf->ifname);
	if (!error)
		error = open_log(st);
	if (!error)
		error = start_sockets(st, exec_ns);
	if (error)
		return 1;
	error = start_bypass(st);
	if (!error) {
		if (st->maps)
			hand_over(st);
		threads_calibrate(&st->threads);
		say_ready(st);
		serve(st, &signals);
		stop(st);
	}
	undo(st);
	return error ? 1 : 0;
}

int starter_run(const struct conf *conf, uint64_t exec_ns)
{
	bool locked;
	struct starter *st = cpu_pages(sizeof *st, &locked);
	int status;

	if (!st) {
		fprintf(stderr, "saker: no memory: %s\n", strerror(errno));
		return 1;
	}
	st->conf = conf;
	status = run(st, exec_ns);
	cpu_pages_free(st, sizeof *st);
	return status;
}
