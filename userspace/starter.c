/* SPDX-License-Identifier: GPL-2.0-only */
#include <arpa/inet.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>
#include "cpu.h"
#include "memory.h"
#include "say.h"
#include "starter_private.h"

/* --- 1, 2: the socket rung ------------------------------------------------------------ */

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

static int start_sockets(struct starter *st, uint64_t exec_ns)
{
	int error = listeners_open(&st->listeners, st->conf);

	if (!error)
		error = starter_cpus(st);
	if (error)
		return error;
	first_mode(st, exec_ns);
	idle_lightly(st);
	if (getrandom(st->secret, sizeof st->secret, 0) != sizeof st->secret)
		return refuse(st->conf, -EAGAIN, "no random numbers for the secret: %s",
			      strerror(errno));
	error = kin_start(st, &st->worker, SERVER_WORKER);
	st->mode.listening_ns = cpu_now_ns();
	return error;
}

/* --- 3, 4: the bypass ------------------------------------------------------------------- */

void starter_check_guard(const struct starter *st)
{
	if (conf_guards(st->conf) && (!st->maps || !steer_attached(&st->steer)))
		refuse(st->conf, 0,
		       "--limit-..., --allow and --deny are not in force: no program of ours "
		       "is there to act on them; nft(8) does it for the socket rung");
}

static int start_maps(struct starter *st)
{
	int error = steer_open(&st->steer, st->conf, st->nic.mac, &st->kernel,
			       rungs_hook(st->conf));

	if (error)
		return error;
	st->maps = true;
	*st->steer.b.mode = st->mode;
	return 0;
}

/* What the one hook needs the other does not. */
int starter_settings(struct starter *st, bool on)
{
	enum abi_rung rung = st->steer.hook == STEER_TC ? RUNG_packet : RUNG_xdp_native;
	int error;

	if (st->changed && (!on || st->settings.rung != rung)) {
		settings_restore(&st->settings);
		st->changed = false;
	}
	if (!on || st->changed)
		return 0;
	error = settings_take(&st->settings, st->conf, rung);
	st->changed = !error;
	return error;
}

int starter_climb(struct starter *st, int (*climb)(struct rungs *))
{
	int error = climb(&st->rungs);

	if (error)
		return error;
	error = starter_settings(st, true);
	if (error) {
		rungs_close(&st->rungs);
		steer_detach(&st->steer);
	}
	return error;
}

static int start_bypass(struct starter *st)
{
	int error;

	if (st->conf->io == CONF_IO_SOCKET) {
		if (start_maps(st))
			say(st->conf, "no maps: saker-stat and bpftool have nothing to show");
		return 0;
	}
	error = rungs_check(st->conf, &st->nic);
	if (error)
		return error;
	if (st->conf->io == CONF_IO_AUTO && rungs_hook(st->conf) == STEER_TC)
		say(st->conf, "this kernel has no AF_XDP (CONFIG_XDP_SOCKETS): rung packet");
	error = start_maps(st);
	if (!error)
		error = starter_settings(st, true);
	if (!error)
		error = starter_climb(st, rungs_climb);
	if (error && !rungs_may_fall_back(st->conf, st->maps, error))
		return error;
	if (error) {
		say(st->conf, "no rung that sees frames works here (%s): the socket rung serves",
		    strerror(-error));
		starter_check_guard(st);
	}
	return 0;
}

/* --- 5: ready ------------------------------------------------------------------------------ */

void starter_steer(struct starter *st, bool on)
{
	if (st->maps)
		__atomic_store_n(&st->steer.b.live->ready, on, __ATOMIC_RELEASE);
}

void starter_publish(struct starter *st)
{
	const struct rungs *r = &st->rungs;
	struct mode *m = &st->mode;

	m->state = STATE_ready;
	m->rung = r->gates ? r->rung : RUNG_socket;
	m->copy = r->gates ? r->copy : COPY_none;
	m->tx = r->gates ? PROOF_proven : PROOF_unproven;
	m->queues = r->gates;
	if (r->gates && !m->ready_ns)
		m->ready_ns = cpu_now_ns();
	stats_mode_text(st->text, sizeof st->text, m);
	m->rx = st->steer.b.mode->rx;
	*st->steer.b.mode = *m;
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
	starter_cpus_text(cpus, sizeof cpus, &st->mode);
	fprintf(stderr,
		"saker: ready: %s %s port %u, rung %s, %s, %u queue%s, %s, exec to ready %.1f ms\n",
		st->conf->ifname, address, st->conf->port, stats_rung_name(st->mode.rung),
		stats_copy_name(st->mode.copy), st->mode.queues, st->mode.queues == 1 ? "" : "s",
		cpus, (double)(cpu_now_ns() - st->mode.started_ns) / NS_PER_MS);
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

/* Wait for a signal, a word or the time; the signal, or 0. */
static int await(struct starter *st, uint64_t until_ns)
{
	struct pollfd p[] = {
		{ .fd = st->signal_fd, .events = POLLIN },
		{ .fd = st->worker.pid ? st->worker.talk_fd : -1, .events = POLLIN },
		{ .fd = st->stand_in.pid ? st->stand_in.talk_fd : -1, .events = POLLIN },
		{ .fd = link_fd(st), .events = POLLIN },
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

static void look_after(struct starter *st)
{
	uint64_t now_ns = cpu_now_ns();

	kin_look_after(st, now_ns);
	link_look(st, now_ns);
	if (now_ns < st->second_ns)
		return;
	st->second_ns = now_ns + NS_PER_S;
	notify_beat(&st->notify, now_ns);
	summarize(st);
}

static void serve(struct starter *st)
{
	int sig = 0;

	do {
		look_after(st);
		sig = await(st, min_u64(min_u64(st->second_ns, st->end_ns), kin_next_ns(st)));
		if (sig == SIGUSR2)
			upgrade_start(st);
	} while (!is_end(sig) && cpu_now_ns() < st->end_ns);
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
		kin_bury(st, cpu_now_ns());
		busy = (st->worker.pid && !st->worker.drained) ||
		       (st->stand_in.pid && !st->stand_in.drained);
	}
}

static void undo(struct starter *st)
{
	starter_steer(st, false);
	if (st->maps)
		steer_detach(&st->steer);
	starter_settings(st, false);
	kin_end(st);
	link_close(st);
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

/* The parts of the binary, or of a library, that are as they stand in its file. First all
 * of them are found, since where they are stands in one of them. */
static int forget_parts(struct dl_phdr_info *object, size_t size, void *arg)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	struct {
		uintptr_t from, to;
	} part[8];
	unsigned parts = 0;

	(void)size, (void)arg;
	for (unsigned i = 0; i < object->dlpi_phnum && parts < array_size(part); i++) {
		const ElfW(Phdr) *h = &object->dlpi_phdr[i];

		if (h->p_type != PT_LOAD || h->p_flags & PF_W)
			continue;
		part[parts].from = (object->dlpi_addr + h->p_vaddr) & ~(page - 1);
		part[parts++].to = object->dlpi_addr + h->p_vaddr + h->p_memsz;
	}
	while (parts--)
		madvise((void *)part[parts].from, part[parts].to - part[parts].from, MADV_DONTNEED);
	return 0;
}

/* What only the start needed: 0.1 MB of the heap, in pieces of libbpf's, and 0.5 MB of code
 * and its tables. What is used again comes from the page cache, 64 kB at a time. Not for
 * the worker, who must not wait for it. */
static void forget_the_start(void)
{
	malloc_trim(0);
	dl_iterate_phdr(forget_parts, NULL);
}

static int open_signals(struct starter *st)
{
	sigset_t signals;

	signal(SIGPIPE, SIG_IGN); /* whoever read our messages may go */
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGCHLD);
	sigaddset(&signals, SIGUSR2);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	st->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return st->signal_fd < 0 ? refuse(st->conf, -errno, "signalfd: %s", strerror(errno)) : 0;
}

static int start(struct starter *st, uint64_t exec_ns)
{
	int error = start_sockets(st, exec_ns);

	if (!error)
		error = start_bypass(st);
	if (!error)
		error = child_await_up(&st->worker);
	if (!error)
		error = kin_engage(st);
	if (error)
		return error;
	st->end_ns = UINT64_MAX;
	if (st->conf->for_s)
		st->end_ns = cpu_now_ns() + st->conf->for_s * (uint64_t)NS_PER_S;
	child_steady(&st->worker);
	memory_say(st->conf);
	say_ready(st);
	return 0;
}

static int run(struct starter *st, uint64_t exec_ns)
{
	int error = open_signals(st);

	notify_open(&st->notify);
	if (!error)
		error = nic_ask(&st->nic, st->conf->ifname);
	if (!error && st->conf->steer == STEER_path)
		error = ktcp_ask(&st->kernel);
	if (!error && *st->conf->access_log)
		error = logger_open(&st->log, st->conf->access_log);
	if (error)
		return 1;
	error = upgrade_resume(st);
	if (!error)
		error = start(st, exec_ns);
	if (error >= 0) {
		link_open(st);
		notify_ready(&st->notify, st->text);
		look_after(st); /* what it calls is bound to its libraries then */
		forget_the_start();
		serve(st);
		stop(st);
	}
	undo(st);
	return error < 0 || st->unwell ? 1 : 0;
}

int starter_run(const struct conf *conf, char **argv, uint64_t exec_ns)
{
	/* Not in pages that are shared: a child lets go of its own copy. */
	static struct starter st;

	st.conf = conf;
	st.argv = argv;
	st.log.lines = conf->log_lines;
	st.jail = (struct jail_want){
		.uid = conf->user.uid,
		.gid = conf->user.gid,
		.keep_user = conf->user.keep,
	};
	st.rungs.conf = conf;
	st.rungs.nic = &st.nic;
	st.rungs.steer = &st.steer;
	st.worker.talk_fd = st.stand_in.talk_fd = st.signal_fd = st.idle_fd = -1;
	return run(&st, exec_ns);
}
