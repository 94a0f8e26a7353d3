/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two binaries and one process. The old one writes down what it has, asks the new one,
 * in a child, whether it can take that, and executes it in its own place; descriptors and
 * the worker go along, and the worker serves all the time. The new one makes an heir,
 * all but running; then the worker departs between two turns, and the heir goes on from
 * what it left: rings, connections, sockets.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cpu.h"
#include "guard.h"
#include "handover.h"
#include "say.h"
#include "starter_private.h"
#include "threads.h"

/* The descriptor of the record; and whether it is only a question. */
#define RECORD "SAKER_UPGRADE"
#define QUESTION "SAKER_UPGRADE_QUESTION"

/* YES: the exit status by which a binary that knows the question agrees; others do not know
 * it, whatever theirs. */
enum { UPGRADE_VERSION = 2, UPGRADE_YES = 86, QUESTION_MS = 5000 };

struct kin {
	pid_t pid;
	int talk_fd;
	uint64_t born_ns;
	uint32_t draining;
};

/* Two builds agree on it, or its size and version say that they do not. */
struct record {
	uint32_t version, size;
	uint64_t image; /* worker_layout */
	/* what must be the same: the maps and the rings are cut to it */
	char ifname[IF_NAMESIZE];
	uint32_t port, io_threads, compute_cores, max_conns, addr_count, steer;
	uint8_t addr[STEER_ADDRS_MAX][16];
	/* what goes along */
	uint8_t secret[16];
	uint32_t max_body; /* may grow: there are bodies as long as that */
	struct listeners listeners;
	int idle_fd;
	uint32_t changed;
	uint32_t setting_rung;
	int setting_fd[SETTINGS_COUNT];
	uint32_t maps;
	struct steer_legacy steer_legacy;
	uint32_t rung, copy, gates;
	struct gate_gift gift[QUEUES_MAX];
	struct mode mode;
	struct kin worker, stand_in;
	uint64_t end_ns;
	uint64_t link_again_ns;
};

static struct kin kin_of(const struct child *c)
{
	return (struct kin){ c->pid, c->talk_fd, c->born_ns, c->draining };
}

static struct child child_of(const struct kin *k)
{
	return (struct child){ .pid = k->pid,
			       .talk_fd = k->talk_fd,
			       .born_ns = k->born_ns,
			       .draining = k->draining,
			       .up = 1 };
}

/* What the settings of this process say of it. */
static void describe(const struct conf *c, struct record *r)
{
	memset(r, 0, sizeof *r);
	r->version = UPGRADE_VERSION;
	r->size = sizeof *r;
	r->image = worker_layout();
	memcpy(r->ifname, c->ifname, sizeof r->ifname);
	r->port = c->port;
	r->io_threads = conf_io_threads(c);
	r->compute_cores = c->compute_cpus;
	r->max_conns = c->max_conns;
	r->addr_count = c->addr_count;
	r->steer = c->steer;
	memcpy(r->addr, c->addr, sizeof r->addr);
}

/* --- in the old binary ------------------------------------------------------------------ */

static int write_record(const struct starter *st)
{
	struct record r;
	int fd = memfd_create("saker-upgrade", MFD_CLOEXEC);

	describe(st->conf, &r);
	memcpy(r.secret, st->secret, sizeof r.secret);
	r.max_body = st->conf->max_body;
	r.listeners = st->listeners;
	r.idle_fd = st->idle_fd;
	r.changed = st->changed;
	r.setting_rung = st->settings.rung;
	memcpy(r.setting_fd, st->settings.lock, sizeof r.setting_fd);
	r.maps = st->maps;
	if (st->maps)
		r.steer_legacy = steer_bequeath(&st->steer);
	r.rung = st->rungs.rung;
	r.copy = st->rungs.copy;
	r.gates = st->rungs.gates;
	for (unsigned i = 0; i < r.gates; i++)
		r.gift[i] = gate_give(&st->rungs.gate[i]);
	r.mode = st->mode;
	r.worker = kin_of(&st->worker);
	r.stand_in = kin_of(&st->stand_in);
	r.end_ns = st->end_ns;
	r.link_again_ns = st->link_again_ns;
	if (fd >= 0 && write(fd, &r, sizeof r) != sizeof r) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void inherit_fd(int fd, bool yes)
{
	if (fd >= 0)
		fcntl(fd, F_SETFD, yes ? 0 : FD_CLOEXEC);
}

/* Whether the next exec keeps what the record names. */
static void keep_across_exec(struct starter *st, bool yes)
{
	for (unsigned i = 0; i < st->listeners.count; i++)
		inherit_fd(st->listeners.fd[i], yes);
	inherit_fd(st->idle_fd, yes);
	for (unsigned i = 0; i < SETTINGS_COUNT && st->changed; i++)
		inherit_fd(st->settings.lock[i], yes);
	if (st->maps)
		inherit_fd(st->steer.link_fd, yes);
	for (unsigned i = 0; i < st->rungs.gates; i++) {
		struct gate_gift gift = gate_give(&st->rungs.gate[i]);
		int *fd[GATE_FDS];

		gate_fds(&gift, fd);
		inherit_fd(*fd[0], yes);
		inherit_fd(*fd[1], yes);
	}
	inherit_fd(st->worker.talk_fd, yes);
	inherit_fd(st->stand_in.talk_fd, yes);
}

/* Of the file that we were started from, or that has come into its place. */
static int own_path(char *path, size_t size)
{
	static const char gone[] = " (deleted)";
	ssize_t n = readlink("/proc/self/exe", path, size - 1);

	if (n < 0)
		return -errno;
	path[n] = '\0';
	if ((size_t)n > sizeof gone && !strcmp(path + n - (sizeof gone - 1), gone))
		path[(size_t)n - (sizeof gone - 1)] = '\0';
	return 0;
}

static void name_record(int fd, bool question)
{
	char text[16];

	snprintf(text, sizeof text, "%d", fd);
	setenv(RECORD, text, 1);
	if (question)
		setenv(QUESTION, "1", 1);
	else
		unsetenv(QUESTION);
}

/* Would it take over? It says on stderr why not. */
static bool ask(const struct starter *st, const char *path, int record_fd)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		name_record(record_fd, true);
		inherit_fd(record_fd, true);
		execv(path, st->argv);
		fprintf(stderr, "saker: %s: %s\n", path, strerror(errno));
		_exit(1);
	}
	if (pid < 0)
		return false;
	status = child_reap(pid, QUESTION_MS);
	return WIFEXITED(status) && WEXITSTATUS(status) == UPGRADE_YES;
}

void upgrade_start(struct starter *st)
{
	char path[PATH_MAX];
	int record_fd, error = own_path(path, sizeof path);

	if (!st->worker.pid || error) {
		refuse(st->conf, error, "no upgrade now: there is no worker");
		return;
	}
	record_fd = write_record(st);
	if (record_fd >= 0 && ask(st, path, record_fd)) {
		say(st->conf, "upgrade: %s takes over", path);
		keep_across_exec(st, true);
		inherit_fd(record_fd, true);
		name_record(record_fd, false);
		execv(path, st->argv);
		error = -errno;
		unsetenv(RECORD);
		keep_across_exec(st, false);
	}
	if (record_fd >= 0)
		close(record_fd);
	refuse(st->conf, error, "no upgrade: %s does not take over, so this version serves on",
	       path);
}

/* --- in the new one --------------------------------------------------------------------- */

/* The record, if there is one and it is for us. 1, 0, or -errno. */
static int read_record(struct starter *st, struct record *r)
{
	const char *text = getenv(RECORD);
	struct record own;
	int fd;

	if (!text)
		return 0;
	fd = atoi(text);
	if (pread(fd, r, sizeof *r, 0) != sizeof *r || r->version != UPGRADE_VERSION ||
	    r->size != sizeof *r || r->mode.version != ABI_VERSION || r->image != worker_layout())
		return refuse(st->conf, -EPROTO,
			      "the version that runs keeps other records than this one, %s: "
			      "stop it and start this one",
			      VERSION);
	describe(st->conf, &own);
	if (memcmp(r, &own, offsetof(struct record, secret)) != 0)
		return refuse(st->conf, -EINVAL,
			      "interface, port, addresses, steering, threads, cores and max-conns "
			      "must stay as they are: stop it and start it anew");
	if (st->conf->max_body < r->max_body)
		return refuse(st->conf, -EINVAL,
			      "max-body must not shrink, from %u to %u: there may be bodies as "
			      "long as that; stop it and start it anew",
			      r->max_body, st->conf->max_body);
	if (getenv(QUESTION)) /* behind a yes there is no way back: are all pins there? */
		exit(r->maps && steer_inherit(&st->steer, st->conf, &st->kernel, &r->steer_legacy) ?
			     1 :
			     UPGRADE_YES);
	close(fd);
	unsetenv(RECORD);
	return 1;
}

static int take_over(struct starter *st, const struct record *r)
{
	int error = 0;

	memcpy(st->secret, r->secret, sizeof st->secret);
	st->listeners = r->listeners;
	st->idle_fd = r->idle_fd;
	st->changed = r->changed;
	if (st->changed)
		settings_inherit(&st->settings, st->conf, (enum abi_rung)r->setting_rung,
				 r->setting_fd);
	st->mode = r->mode;
	st->end_ns = r->end_ns;
	st->link_again_ns = r->link_again_ns;
	st->worker = child_of(&r->worker);
	st->stand_in = child_of(&r->stand_in);
	snprintf(st->mode.program, sizeof st->mode.program, "%.*s",
		 (int)sizeof st->mode.program - 1, VERSION);
	st->rungs.rung = (enum abi_rung)r->rung;
	st->rungs.copy = (enum abi_copy)r->copy;
	for (; st->rungs.gates < r->gates; st->rungs.gates++)
		gate_hold(&st->rungs.gate[st->rungs.gates], &r->gift[st->rungs.gates]);
	if (r->maps)
		error = steer_inherit(&st->steer, st->conf, &st->kernel, &r->steer_legacy);
	st->maps = r->maps && !error;
	keep_across_exec(st, false);
	if (!error && st->maps && steer_attached(&st->steer))
		steer_renew(&st->steer, st->nic.mac);
	return error;
}

/* Until the old worker departs, nothing that goes wrong here matters to anybody. */
static int make_heir(struct starter *st, struct child *heir)
{
	int error = kin_start(st, heir, SERVER_HEIR);

	if (!error)
		error = child_await_up(heir);
	if (!error && st->maps)
		error = child_give_maps(heir, &st->steer.b.size, st->steer.map_fd);
	return error;
}

static int make_handover(const struct starter *st)
{
	size_t bytes = handover_bytes(st->mode.io_threads, threads_room(st->conf, &st->nic));
	int fd = memfd_create("saker-handover", MFD_CLOEXEC);

	if (fd >= 0 && ftruncate(fd, (off_t)bytes) < 0) {
		close(fd);
		return -errno;
	}
	return fd < 0 ? -errno : fd;
}

/* From worker to heir. */
static int pass_on(struct starter *st, struct child *heir, bool *parted)
{
	uint64_t from_ns = cpu_now_ns();
	int fd = make_handover(st), error;

	*parted = false;
	if (fd < 0)
		return fd;
	error = child_inherit(heir, &st->worker, fd, parted);
	close(fd);
	if (st->maps) /* the heir counts all that it has */
		guard_forget(st->steer.map_fd[BLOCK_source_conns]);
	if (!error)
		error = child_give_gates(heir, &st->rungs, true, st->text);
	if (!error)
		say(st->conf, "upgraded: version %s serves; nobody was answered for %.1f ms",
		    VERSION, (double)(cpu_now_ns() - from_ns) / NS_PER_MS);
	return error;
}

int upgrade_resume(struct starter *st)
{
	struct child heir = { .talk_fd = -1 };
	struct record r;
	bool parted = false;
	int error = read_record(st, &r);

	if (error <= 0)
		return error;
	error = take_over(st, &r);
	if (error)
		return error;
	starter_publish(st);
	error = make_heir(st, &heir);
	if (!error)
		error = pass_on(st, &heir, &parted);
	if (!error) {
		child_end(&st->worker, CHILD_END_MS);
		st->worker = heir;
		child_steady(&st->worker);
		return 1;
	}
	refuse(st->conf, error, "the new worker did not take over (%s): %s", strerror(-error),
	       parted ? "connections are lost" : "the one before serves on");
	child_end(&heir, 0);
	if (parted) /* then it is buried and replaced like any other */
		kill(st->worker.pid, SIGKILL);
	return 1;
}
