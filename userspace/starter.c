/* SPDX-License-Identifier: GPL-2.0-only */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include "cpu.h"
#include "iothread.h"
#include "nic.h"
#include "ring.h"
#include "sock.h"
#include "starter.h"
#include "stats.h"
#include "steer.h"
#include "worker.h"

/* Everything that outlives a function; zeroed pages, most of them never touched. */
struct starter {
	const struct conf *conf;
	struct nic nic;
	bool locked;
	size_t worker_len;
	struct sock sock;
	int sock_fd[SOCKS_DEFAULT];
	uint32_t sock_events[SOCKS_DEFAULT];
	struct iothread io;
	bool maps; /* steer is open */
	struct steer steer;
	struct ring ring[QUEUES_MAX];
	unsigned rings;
	struct bypass bypass;
	struct mode mode;    /* what the map will say */
	char first_text[64]; /* the mode in a line: before the bypass, for the I/O thread */
	char mode_text[64];  /* and when it is there; not written to once it is handed over */
	struct stats_before before;
	/* where the I/O thread counts until the maps are there */
	struct stats_block early_stats;
	struct stage_block early_stages;
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

static struct worker_params worker_params_of(struct starter *st)
{
	const struct conf *c = st->conf;
	struct worker_params p = {
		.max_conns = c->max_conns,
		.max_socks = SOCKS_DEFAULT,
		.mss4 = (uint16_t)(min_u64(st->nic.mtu, 1500) - 40),
		.mss6 = (uint16_t)(min_u64(st->nic.mtu, 1500) - 60),
		.max_n = c->max_n,
		.max_body = c->max_body,
		.cache = c->cache,
		.lanes = LANES_DEFAULT,
		.slice_us = c->slice_us,
		.max_wait_ms = c->max_wait_ms,
		.header_timeout_ms = c->header_timeout_ms,
		.body_timeout_ms = c->body_timeout_ms,
		.idle_timeout_ms = c->idle_timeout_ms,
		.stats = &st->early_stats,
		.stages = &st->early_stages,
	};

	return p;
}

static int make_worker(struct starter *st)
{
	struct worker_params p = worker_params_of(st);
	void *memory;

	if (getrandom(p.secret, sizeof p.secret, 0) != sizeof p.secret)
		return refuse(st, "no random numbers for the secret: %s", strerror(errno));
	st->worker_len = worker_footprint(&p);
	memory = cpu_pages(st->worker_len, &st->locked);
	if (!memory)
		return refuse(st,
			      "no memory for %u connections (%zu bytes): %s; choose fewer with "
			      "--max-conns",
			      p.max_conns, st->worker_len, strerror(errno));
	st->io.worker = worker_init(memory, &p, cpu_now_ns());
	worker_set_mode(st->io.worker, st->first_text);
	return 0;
}

/* The mode before the bypass: the kernel's sockets serve. */
static void first_mode(struct starter *st, uint64_t exec_ns, int cpu)
{
	st->mode = (struct mode){
		.version = ABI_VERSION,
		.pid = (uint32_t)getpid(),
		.state = STATE_starting,
		.rung = RUNG_socket,
		.port = st->conf->port,
		.io_cpu = cpu,
		.io_cpu_isolated = cpu_isolated(cpu),
		.max_conns = st->conf->max_conns,
		.started_ns = exec_ns,
	};
	snprintf(st->mode.ifname, sizeof st->mode.ifname, "%s", st->conf->ifname);
	snprintf(st->mode.program, sizeof st->mode.program, "%s", VERSION);
	stats_mode_text(st->first_text, sizeof st->first_text, &st->mode);
}

static int choose_cpu(struct starter *st, int *cpu)
{
	bool isolated;

	*cpu = st->conf->io_cpus ? st->conf->io_cpu[0] : cpu_choose(&isolated);
	if (*cpu < 0)
		return refuse(st, "no CPU that this process may use: %s", strerror(-*cpu));
	if (!cpu_allowed(*cpu))
		return refuse(st, "--io-cpu=%d: this process may not run there (see taskset -p %d)",
			      *cpu, (int)getpid());
	if (!cpu_isolated(*cpu))
		say(st,
		    "saker: CPU %d is not isolated: others interrupt it (kernel option "
		    "isolcpus=%d)",
		    *cpu, *cpu);
	return 0;
}

static int start_sockets(struct starter *st, uint64_t exec_ns)
{
	int cpu, error = sock_open(&st->sock, st->conf, st->sock_fd, st->sock_events);

	if (error)
		return error;
	error = choose_cpu(st, &cpu);
	if (!error)
		first_mode(st, exec_ns, cpu);
	if (!error)
		error = make_worker(st);
	if (!error) {
		st->io.conf = st->conf;
		st->io.cpu = cpu;
		st->io.sock = &st->sock;
		st->io.now = (struct bypass){ .stats = &st->early_stats,
					      .stages = &st->early_stages };
		error = iothread_start(&st->io);
	}
	st->mode.listening_ns = cpu_now_ns();
	if (error)
		sock_close(&st->sock);
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

static void close_rings(struct starter *st)
{
	while (st->rings)
		ring_close(&st->ring[--st->rings]);
}

/* A socket for each RX queue; only the first one sends. */
static int open_rings(struct starter *st, bool zero_copy)
{
	for (unsigned q = 0; q < st->nic.rx_queues; q++) {
		struct ring_options o = {
			.ifname = st->conf->ifname,
			.ifindex = st->conf->ifindex,
			.queue = q,
			.tx = q == 0,
			.zero_copy = zero_copy,
		};
		int error = ring_open(&st->ring[q], &o);

		if (error)
			return error;
		st->rings++;
		error = steer_socket(&st->steer, q, st->ring[q].fd);
		if (error)
			return error;
	}
	return 0;
}

static int prove_send(struct starter *st)
{
	uint8_t frame[NIC_PROBE_LEN];
	size_t len = nic_probe(&st->nic, frame);
	int error = ring_test_send(&st->ring[0], frame, len, TEST_SEND_MS);

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
	st->bypass = (struct bypass){
		.ring = st->ring,
		.rings = st->rings,
		.live = st->steer.live,
		.mode = st->steer.mode,
		.stats = st->steer.counters,
		.stages = st->steer.stages,
		.icmp = &st->steer.icmp,
		.text = st->mode_text,
	};
	st->mode.state = STATE_ready;
	if (st->rings)
		st->mode.ready_ns = cpu_now_ns();
	stats_mode_text(st->mode_text, sizeof st->mode_text, &st->mode);
	*st->steer.mode = st->mode;
	iothread_give(&st->io, &st->bypass);
	if (!st->rings)
		return;
	/* The thread turns the rings and its heartbeat beats: now steer. */
	__atomic_store_n(&st->steer.live->ready, 1, __ATOMIC_RELEASE);
	st->mode.ready_ns = st->steer.mode->ready_ns = cpu_now_ns();
}

static void say_ready(const struct starter *st)
{
	char address[INET6_ADDRSTRLEN] = "*";

	if (st->conf->addr_count)
		inet_ntop(AF_INET6, st->conf->addr[0], address, sizeof address);
	else if (st->nic.has_ip4)
		inet_ntop(AF_INET, st->nic.ip4, address, sizeof address);
	say(st,
	    "saker: ready: %s %s port %u, rung %s, %s, %u queue%s, I/O CPU %d%s, exec to ready "
	    "%.1f ms",
	    st->conf->ifname, address, st->conf->port, stats_rung_name(st->mode.rung),
	    stats_copy_name(st->mode.copy), st->mode.queues, st->mode.queues == 1 ? "" : "s",
	    st->mode.io_cpu, st->mode.io_cpu_isolated ? " (isolated)" : "",
	    (double)(cpu_now_ns() - st->mode.started_ns) / NS_PER_MS);
}

/* --- running, and the end -------------------------------------------------------------------- */

static void summarize(struct starter *st)
{
	struct stats_view view = {
		.mode = st->steer.mode,
		.counters = st->steer.counters,
		.counter_blocks = ABI_THREADS,
		.stages = st->steer.stages,
		.stage_blocks = ABI_THREADS,
	};

	if (st->maps)
		stats_summarize(st->steer.summary, &st->before, &view, cpu_now_ns());
}

/* The I/O thread notes it in the mode; here it is told, once per change. */
static void report_tx(struct starter *st)
{
	enum abi_proof tx = st->maps ? st->steer.mode->tx : st->mode.tx;

	if (!st->rings || tx == st->mode.tx)
		return;
	st->mode.tx = tx;
	if (tx == PROOF_proven)
		say(st, "saker: %s: frames are sent again: the bypass serves", st->conf->ifname);
	else
		say(st,
		    "saker: %s: nothing was sent for %d ms: new connections go to the kernel "
		    "(a driver that hangs: ip link set dev %s down, then up)",
		    st->conf->ifname, TX_STALL_MS, st->conf->ifname);
}

static void serve(struct starter *st, const sigset_t *signals)
{
	struct timespec second = { .tv_sec = 1 };
	uint64_t end_ns = cpu_now_ns() + st->conf->for_s * (uint64_t)NS_PER_S;
	int sig;

	do {
		summarize(st);
		report_tx(st);
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
	iothread_drain(&st->io);
	while (!iothread_drained(&st->io) && cpu_now_ns() < end_ns)
		nanosleep(&pause, NULL);
}

static void undo(struct starter *st)
{
	if (st->maps) {
		__atomic_store_n(&st->steer.live->ready, 0, __ATOMIC_RELEASE);
		steer_detach(&st->steer);
	}
	iothread_stop(&st->io);
	summarize(st);
	set_state(st, STATE_stopped);
	close_rings(st);
	if (st->maps)
		steer_close(&st->steer);
	sock_close(&st->sock);
	cpu_pages_free(st->io.worker, st->worker_len);
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
		error = start_sockets(st, exec_ns);
	if (error)
		return 1;
	error = start_bypass(st);
	if (!error) {
		if (st->maps)
			hand_over(st);
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
