/* SPDX-License-Identifier: GPL-2.0-only */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>
#include "books.h"
#include "child.h"
#include "cpu.h"
#include "logger.h"
#include "nic.h"
#include "notify.h"
#include "rungs.h"
#include "say.h"
#include "starter.h"
#include "stats.h"
#include "steer.h"

/* Everything that outlives a function; most of it is never touched. */
struct starter {
	const struct conf *conf;
	struct nic nic;
	struct listeners listeners;
	uint8_t secret[16]; /* of the cookies: a worker's successor honours them */
	struct logger log;
	struct jail_want jail;
	struct notify notify;
	int idle_fd; /* cpu_idle_lightly; negative: no */
	int signal_fd;
	bool maps; /* steer is open */
	struct steer steer;
	struct rungs rungs;
	struct mode mode; /* what the map will say */
	char text[ABI_MODE_TEXT];
	struct stats_before before;
	struct child worker, stand_in;
	bool unwell;         /* one of them did not end as it should */
	uint64_t second_ns;  /* when the summary is due */
	uint64_t healthy_ns; /* since when every heart beats */
	uint64_t again_ns;   /* when there is to be another worker; 0: there is one */
	unsigned deaths;     /* of workers that lived for less than CHILD_YOUNG_MS, in a row */
};

/* --- 1, 2: the socket rung ------------------------------------------------------------ */

static int check_cpu(const struct starter *st, const char *option, int cpu)
{
	if (cpu_allowed(cpu))
		return 0;
	if (!cpu_online(cpu))
		return refuse(st->conf, -EINVAL, "--%s=%d: no such CPU is online (see lscpu -e)",
			      option, cpu);
	return refuse(st->conf, -EINVAL,
		      "--%s=%d: this process may not run there (see taskset -p %d)", option, cpu,
		      (int)getpid());
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
		return refuse(st->conf, -EINVAL,
			      "no CPU for the I/O thread: %s; name one with --io-cpu",
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
		say(st->conf,
		    "CPU%s %s %s not isolated: others interrupt %s (kernel option "
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
	stats_mode_text(st->text, sizeof st->text, m);
}

/* A compute core that sleeps shall be up quickly. */
static void idle_lightly(struct starter *st)
{
	st->idle_fd = -1;
	if (!st->conf->compute_cpus)
		return;
	st->idle_fd = cpu_idle_lightly();
	if (st->idle_fd < 0)
		refuse(st->conf, st->idle_fd,
		       "compute CPUs may sleep deeply, and be slow to wake: "
		       "/dev/cpu_dma_latency: %s",
		       strerror(-st->idle_fd));
}

/* What a child must not hold: above all the link, which shall die with the starter. */
static void leave(void *arg)
{
	struct starter *st = arg;

	steer_leave(&st->steer);
	rungs_close(&st->rungs);
	close(st->signal_fd);
	if (st->worker.talk_fd >= 0)
		close(st->worker.talk_fd);
	if (st->stand_in.talk_fd >= 0)
		close(st->stand_in.talk_fd);
}

static int start_child(struct starter *st, struct child *c)
{
	struct server_want want = {
		.conf = st->conf,
		.nic = &st->nic,
		.mode = &st->mode,
		.listeners = &st->listeners,
		.log = *st->conf->access_log && c == &st->worker ? &st->log : NULL,
		.secret = st->secret,
		.jail = st->jail,
		.stand_in = c == &st->stand_in,
	};

	return child_start(c, &want, leave, st);
}

static int start_sockets(struct starter *st, uint64_t exec_ns)
{
	int error = listeners_open(&st->listeners, st->conf);

	if (!error)
		error = choose_cpus(st);
	if (error)
		return error;
	look_for_others(st);
	first_mode(st, exec_ns);
	idle_lightly(st);
	if (getrandom(st->secret, sizeof st->secret, 0) != sizeof st->secret)
		return refuse(st->conf, -EAGAIN, "no random numbers for the secret: %s",
			      strerror(errno));
	error = start_child(st, &st->worker);
	st->mode.listening_ns = cpu_now_ns();
	return error;
}

/* --- 3, 4: the bypass ------------------------------------------------------------------- */

static int start_maps(struct starter *st)
{
	int error = steer_open(&st->steer, st->conf, st->nic.mac);

	if (error)
		return error;
	st->maps = true;
	*st->steer.b.mode = st->mode;
	return 0;
}

static int start_bypass(struct starter *st)
{
	int error;

	if (st->conf->io == CONF_IO_SOCKET) {
		if (start_maps(st))
			say(st->conf, "no maps: saker-stat and bpftool have nothing to show");
		return 0;
	}
	st->rungs = (struct rungs){ .conf = st->conf, .nic = &st->nic, .steer = &st->steer };
	error = rungs_check(st->conf, &st->nic);
	if (error)
		return error;
	error = start_maps(st);
	if (!error)
		error = rungs_climb(&st->rungs);
	if (error && !rungs_may_fall_back(st->conf, st->maps, error))
		return error;
	if (error)
		say(st->conf, "no XDP rung works here (%s): the socket rung serves",
		    strerror(-error));
	return 0;
}

/* --- 5: ready ------------------------------------------------------------------------------ */

static void steer_on(struct starter *st, bool on)
{
	if (st->maps)
		__atomic_store_n(&st->steer.b.live->ready, on, __ATOMIC_RELEASE);
}

/* What is in effect, for all who look. */
static void publish_mode(struct starter *st)
{
	const struct rungs *r = &st->rungs;
	struct mode *m = &st->mode;

	m->state = STATE_ready;
	m->rung = r->rings ? r->rung : RUNG_socket;
	m->copy = r->rings ? r->copy : COPY_none;
	m->tx = r->rings ? PROOF_proven : PROOF_unproven;
	m->queues = r->rings;
	if (r->rings && !m->ready_ns)
		m->ready_ns = cpu_now_ns();
	stats_mode_text(st->text, sizeof st->text, m);
	m->rx = st->steer.b.mode->rx;
	*st->steer.b.mode = *m;
}

/* To a worker that is up: maps, and rings if there are any. Then steer. */
static int engage(struct starter *st)
{
	struct steer *s = &st->steer;
	int error;

	if (!st->maps)
		return 0;
	publish_mode(st);
	error = child_give_maps(&st->worker, &s->b.size, s->map_fd);
	if (!error)
		error = child_give_rings(&st->worker, &st->rungs, st->text);
	if (error)
		return refuse(st->conf, error, "the worker did not take what it was given: %s",
			      strerror(-error));
	/* Each thread turns its rings and its heartbeat beats. */
	if (st->rungs.rings)
		steer_on(st, true);
	return 0;
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

	if (st->conf->quiet)
		return;
	if (st->conf->addr_count)
		inet_ntop(AF_INET6, st->conf->addr[0], address, sizeof address);
	else if (st->nic.has_ip4)
		inet_ntop(AF_INET, st->nic.ip4, address, sizeof address);
	cpus_text(cpus, sizeof cpus, &st->mode);
	fprintf(stderr,
		"saker: ready: %s %s port %u, rung %s, %s, %u queue%s, %s, exec to ready %.1f ms\n",
		st->conf->ifname, address, st->conf->port, stats_rung_name(st->mode.rung),
		stats_copy_name(st->mode.copy), st->mode.queues, st->mode.queues == 1 ? "" : "s",
		cpus, (double)(cpu_now_ns() - st->mode.started_ns) / NS_PER_MS);
}

/* --- the stand-in ---------------------------------------------------------------------------- */

/* Since when the slowest thread has been silent; 0: none has begun. */
static uint64_t oldest_beat(const struct starter *st)
{
	uint64_t oldest = UINT64_MAX;

	for (unsigned t = 0; t < st->mode.io_threads; t++)
		oldest = min_u64(oldest, __atomic_load_n(&st->steer.b.live->io[t].heartbeat_ns,
							 __ATOMIC_RELAXED));
	return oldest;
}

/* XDP lets new connections pass by the same rule: somebody must answer them. */
static bool worker_absent(const struct starter *st, uint64_t now_ns)
{
	uint64_t stall_ns = st->conf->stall_ms * (uint64_t)NS_PER_MS;

	if (!st->worker.pid)
		return true;
	return st->maps && st->worker.up && (int64_t)(now_ns - oldest_beat(st)) > (int64_t)stall_ns;
}

static void start_stand_in(struct starter *st)
{
	struct steer *s = &st->steer;
	int error = start_child(st, &st->stand_in);

	if (!error && st->maps)
		error = child_give_maps(&st->stand_in, &s->b.size, s->map_fd);
	if (!error && st->maps)
		error = child_give_rings(&st->stand_in, NULL, st->text);
	if (error)
		return;
	if (st->worker.pid)
		say(st->conf,
		    "the worker stands still (nothing for %u ms): a stand-in answers new "
		    "connections, by the kernel's sockets",
		    st->conf->stall_ms);
	else
		say(st->conf, "there is no worker: a stand-in answers, by the kernel's sockets");
	notify_status(&st->notify, "a stand-in answers");
}

/* It is there while the worker is not; a little longer, lest they take turns. */
static void watch_hearts(struct starter *st, uint64_t now_ns)
{
	bool absent = worker_absent(st, now_ns);

	if (absent) {
		st->healthy_ns = 0;
		if (!st->stand_in.pid)
			start_stand_in(st);
		return;
	}
	if (!st->healthy_ns)
		st->healthy_ns = now_ns;
	if (!st->stand_in.pid || st->stand_in.draining ||
	    now_ns - st->healthy_ns < STAND_IN_MS * (uint64_t)NS_PER_MS)
		return;
	say(st->conf, "the worker serves again: the stand-in finishes what it has");
	notify_status(&st->notify, st->text);
	child_drain(&st->stand_in);
}

/* --- deaths ------------------------------------------------------------------------------------ */

static void worker_died(struct starter *st, int status, uint64_t now_ns)
{
	bool young = now_ns - st->worker.born_ns < CHILD_YOUNG_MS * (uint64_t)NS_PER_MS;
	char text[CHILD_TEXT];

	steer_on(st, false);
	rungs_close(&st->rungs);
	if (st->maps)
		books_worker(&st->steer.b);
	st->deaths = young ? st->deaths + 1 : 0;
	st->again_ns = now_ns;
	if (st->deaths)
		st->again_ns += min_u64(CHILD_PAUSE_MS << min_u64(st->deaths - 1, 8),
					CHILD_PAUSE_MAX_MS) *
				NS_PER_MS;
	refuse(st->conf, 0, "the worker died (%s): its connections are lost; %s",
	       child_status_text(text, status),
	       st->deaths ? "another one follows after a pause, since it was young" :
			    "another one takes its place");
}

/* Its successor gets fresh sockets: whose frames were in the dead one's hands nobody
 * knows. */
static void restart_worker(struct starter *st)
{
	int error = start_child(st, &st->worker);

	st->again_ns = 0;
	if (!error && st->rungs.rung != RUNG_none && rungs_again(&st->rungs))
		say(st->conf, "the bypass cannot be opened again: the socket rung serves");
	if (!error)
		error = child_await_up(&st->worker, CHILD_UP_MS);
	if (!error)
		error = engage(st);
	if (!error) {
		child_steady(&st->worker);
		say(st->conf, "a new worker serves: %s", st->text);
		notify_status(&st->notify, st->text);
		return;
	}
	rungs_close(&st->rungs);
	child_end(&st->worker, 0);
	st->again_ns = cpu_now_ns() + CHILD_PAUSE_MAX_MS * (uint64_t)NS_PER_MS;
}

static void bury(struct starter *st, uint64_t now_ns)
{
	char text[CHILD_TEXT];
	int status;

	if (child_gone(&st->worker, &status))
		worker_died(st, status, now_ns);
	if (!child_gone(&st->stand_in, &status))
		return;
	if (st->maps)
		books_stand_in(&st->steer.b);
	if (status)
		refuse(st->conf, 0, "the stand-in died (%s)", child_status_text(text, status));
}

/* --- running, and the end -------------------------------------------------------------------- */

static void summarize(struct starter *st)
{
	const struct blocks *b = &st->steer.b;
	struct stats_view view = {
		.mode = b->mode,
		.counters = b->counters,
		.counter_blocks = b->size.counters,
		.stages = b->stages,
		.stage_blocks = blocks_stages(&b->size),
	};

	if (!st->maps)
		return;
	view.program = steer_run(&st->steer);
	stats_summarize(b->summary, &st->before, &view, cpu_now_ns());
}

/* When there is something to do, whatever happens before. */
static uint64_t next_ns(const struct starter *st)
{
	uint64_t next = st->second_ns;

	if (st->again_ns)
		next = min_u64(next, st->again_ns);
	if (st->maps && st->worker.pid && !st->stand_in.pid)
		next = min_u64(next,
			       oldest_beat(st) + st->conf->stall_ms * (uint64_t)NS_PER_MS + 1);
	return next;
}

/* Wait for a signal, a word or the time; the signal, or 0. */
static int await(struct starter *st, uint64_t until_ns)
{
	struct pollfd p[] = {
		{ .fd = st->signal_fd, .events = POLLIN },
		{ .fd = st->worker.pid ? st->worker.talk_fd : -1, .events = POLLIN },
		{ .fd = st->stand_in.pid ? st->stand_in.talk_fd : -1, .events = POLLIN },
	};
	uint64_t now_ns = cpu_now_ns(), ns = until_ns > now_ns ? until_ns - now_ns : 0;
	struct timespec left = { (time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S) };
	struct signalfd_siginfo info;

	ppoll(p, array_size(p), &left, NULL);
	child_hear(&st->worker);
	child_hear(&st->stand_in);
	if (read(st->signal_fd, &info, sizeof info) != sizeof info)
		return 0;
	return (int)info.ssi_signo;
}

static bool is_end(int sig)
{
	return sig == SIGTERM || sig == SIGINT || sig == SIGHUP;
}

/* It was asked to: what is not well then is a fault of ours. */
static void end_child(struct starter *st, struct child *c)
{
	char text[CHILD_TEXT];
	int status = child_end(c, CHILD_END_MS);

	if (!status)
		return;
	st->unwell = true;
	refuse(st->conf, 0, "the %s did not end well (%s)",
	       c == &st->worker ? "worker" : "stand-in", child_status_text(text, status));
}

static void look_after(struct starter *st)
{
	uint64_t now_ns = cpu_now_ns();

	bury(st, now_ns);
	if (st->again_ns && now_ns >= st->again_ns)
		restart_worker(st);
	watch_hearts(st, now_ns);
	if (st->stand_in.drained) {
		end_child(st, &st->stand_in);
		if (st->maps)
			books_stand_in(&st->steer.b);
	}
	if (now_ns < st->second_ns)
		return;
	st->second_ns = now_ns + NS_PER_S;
	notify_beat(&st->notify, now_ns);
	summarize(st);
}

static void serve(struct starter *st)
{
	uint64_t end_ns = cpu_now_ns() + st->conf->for_s * (uint64_t)NS_PER_S;
	int sig = 0;

	do {
		look_after(st);
		sig = await(st, st->conf->for_s ? min_u64(next_ns(st), end_ns) : next_ns(st));
	} while (!is_end(sig) && (!st->conf->for_s || cpu_now_ns() < end_ns));
	say(st->conf, "stopping (%s)", is_end(sig) ? sigabbrev_np(sig) : "--for is over");
}

static void set_state(struct starter *st, enum abi_state state)
{
	if (st->maps)
		st->steer.b.mode->state = state;
}

/* Finish what runs; a second signal ends the patience. */
static void stop(struct starter *st)
{
	uint64_t end_ns = cpu_now_ns() + st->conf->drain_s * (uint64_t)NS_PER_S;
	struct child *both[] = { &st->worker, &st->stand_in };
	bool busy = true;

	set_state(st, STATE_draining);
	notify_stopping(&st->notify, "finishing what runs");
	listeners_close(&st->listeners);
	for (unsigned i = 0; i < array_size(both); i++)
		child_drain(both[i]);
	while (busy && cpu_now_ns() < end_ns) {
		if (is_end(await(st, end_ns))) {
			say(st->conf, "asked again: stopping at once");
			break;
		}
		bury(st, cpu_now_ns());
		busy = (st->worker.pid && !st->worker.drained) ||
		       (st->stand_in.pid && !st->stand_in.drained);
	}
}

static void undo(struct starter *st)
{
	steer_on(st, false);
	if (st->maps)
		steer_detach(&st->steer);
	end_child(st, &st->worker);
	end_child(st, &st->stand_in);
	rungs_close(&st->rungs);
	summarize(st);
	set_state(st, STATE_stopped);
	if (st->maps)
		steer_close(&st->steer);
	listeners_close(&st->listeners);
	if (st->idle_fd >= 0)
		close(st->idle_fd);
	close(st->signal_fd);
	notify_close(&st->notify);
}

static int open_signals(struct starter *st)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	st->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return st->signal_fd < 0 ? refuse(st->conf, -errno, "signalfd: %s", strerror(errno)) : 0;
}

static int run(struct starter *st, uint64_t exec_ns)
{
	int error = open_signals(st);

	notify_open(&st->notify);
	if (!error)
		error = nic_ask(&st->nic, st->conf->ifname);
	if (!error && *st->conf->access_log)
		error = logger_open(&st->log, st->conf->access_log);
	if (error)
		return 1;
	error = start_sockets(st, exec_ns);
	if (!error)
		error = start_bypass(st);
	if (!error)
		error = child_await_up(&st->worker, CHILD_UP_MS);
	if (!error)
		error = engage(st);
	if (!error) {
		child_steady(&st->worker);
		say_ready(st);
		notify_ready(&st->notify, st->text);
		serve(st);
		stop(st);
	}
	undo(st);
	return error || st->unwell ? 1 : 0;
}

int starter_run(const struct conf *conf, uint64_t exec_ns)
{
	/* Not in pages that are shared: a child lets go of its own copy. */
	static struct starter st;

	st.conf = conf;
	st.jail = (struct jail_want){
		.uid = conf->user.uid,
		.gid = conf->user.gid,
		.keep_user = conf->user.keep,
	};
	st.worker.talk_fd = st.stand_in.talk_fd = st.signal_fd = st.idle_fd = -1;
	return run(&st, exec_ns);
}
