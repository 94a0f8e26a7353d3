/* SPDX-License-Identifier: GPL-2.0-only */
#include "server.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "cpu.h"
#include "handover.h"
#include "jail.h"
#include "say.h"
#include "stats.h"
#include "talk.h"
#include "threads.h"

enum { HOUSE_MS = 1000, DRAIN_LOOK_MS = 5 };

struct server {
	const struct server_want *want;
	struct threads threads;
	struct blocks blocks;
	/* those in use, and those before, in turns */
	struct gate gate[2][QUEUES_MAX];
	unsigned gates[2], hand;
	char text[3][ABI_MODE_TEXT]; /* of the mode: before the bypass, and in turns */
	struct handover *left;       /* by the worker before; NULL: none */
	size_t left_bytes, room;
	bool running, departed;
	bool draining, told_drained;
	unsigned asked;
	struct talk said;
};

static int tell(const struct server *s, enum talk_word word, uint32_t number)
{
	return talk_word(s->want->talk_fd, word, number);
}

static int run(struct server *s, const char *text)
{
	struct threads *th = &s->threads;
	int error = threads_run(th, text);

	if (!error && th->log)
		error = logger_start(th->log, s->want->mode);
	if (!error)
		error = jail_lock();
	s->running = !error;
	return error || !th->blocks ? error : threads_took(th);
}

/* --- maps and gates ------------------------------------------------------------------ */

static void close_all(const struct talk *said)
{
	for (unsigned i = 0; i < said->fds; i++)
		close(said->fd[i]);
}

static int take_maps(struct server *s)
{
	struct blocks_size size;
	int error = -EPROTO;

	if (s->said.len == sizeof size && s->said.fds == BLOCKS) {
		memcpy(&size, s->said.bytes, sizeof size);
		error = blocks_map(&s->blocks, &size, s->said.fd);
	}
	close_all(&s->said);
	if (error)
		return refuse(s->want->conf, error, "the worker cannot map the counters: %s",
			      strerror(-error));
	threads_maps(&s->threads, &s->blocks);
	return tell(s, TALK_taken, 0);
}

static int adopt(struct server *s, struct talk_gates *given)
{
	int error = given->resume && (!s->left || s->left->gates != given->gates) ? -EPROTO : 0;

	for (unsigned i = 0; i < given->gates && !error; i++) {
		struct gate_gift *g = &given->gift[i];
		int *fd[GATE_FDS];

		gate_fds(g, fd);
		*fd[0] = s->said.fd[GATE_FDS * i];
		*fd[1] = s->said.fd[GATE_FDS * i + 1];
		error = gate_adopt(&s->gate[s->hand][i], g,
				   given->resume ? &s->left->gate[i] : NULL);
		s->gates[s->hand] += !error;
	}
	return error;
}

static void close_gates(struct server *s, unsigned hand)
{
	while (s->gates[hand])
		gate_close(&s->gate[hand][--s->gates[hand]]);
}

static int take_gates(struct server *s)
{
	struct talk_gates given;
	int error;

	if (s->said.len != sizeof given)
		return -EPROTO;
	memcpy(&given, s->said.bytes, sizeof given);
	if (given.gates > QUEUES_MAX || s->said.fds != GATE_FDS * given.gates || !s->blocks.live)
		return -EPROTO;
	s->hand ^= 1;
	error = adopt(s, &given);
	if (error)
		return refuse(s->want->conf, error, "the worker cannot take the rings: %s",
			      strerror(-error));
	memcpy(s->text[s->hand], given.text, sizeof given.text);
	error = threads_gates(&s->threads, s->gate[s->hand], s->gates[s->hand], s->text[s->hand]);
	if (!error && !s->running)
		error = run(s, s->text[s->hand]);
	if (error)
		return error;
	close_gates(s, s->hand ^ 1);
	return tell(s, TALK_taken, given.gates);
}

/* --- from worker to worker ------------------------------------------------------------- */

static int map_left(struct server *s)
{
	unsigned threads = conf_io_threads(s->want->conf);
	void *at = MAP_FAILED;

	s->room = threads_room(s->want->conf, s->want->nic);
	s->left_bytes = handover_bytes(threads, s->room);
	if (s->said.fds == 1)
		at = mmap(NULL, s->left_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, s->said.fd[0],
			  0);
	close_all(&s->said);
	if (at == MAP_FAILED)
		return -EPROTO;
	s->left = at;
	return 0;
}

/* Their descriptors; this process's copies are closed when it ends. */
static int tell_socks(struct server *s, unsigned t)
{
	const struct thread *one = &s->threads.one[t];
	const struct worker *w = one->io.worker;
	struct talk told = { .word = TALK_socks, .len = sizeof(struct talk_socks) };
	struct talk_socks *socks = (struct talk_socks *)told.bytes;
	uint16_t id = WORKER_NONE;
	int error = 0;

	socks->thread = t;
	while (!error && (id = worker_sock_after(w, id)) != WORKER_NONE) {
		socks->id[told.fds] = id;
		told.fd[told.fds++] = one->sock.fd[id - one->sock.first_id];
		if (told.fds == TALK_FDS) {
			error = talk_say(s->want->talk_fd, &told);
			told.fds = 0;
		}
	}
	if (!error && told.fds)
		error = talk_say(s->want->talk_fd, &told);
	return error;
}

/* Stop between two turns, and leave everything as it stands. */
static int depart(struct server *s)
{
	unsigned gates = s->gates[s->hand];
	int error = map_left(s);

	threads_stop(&s->threads);
	threads_publish(&s->threads);
	for (unsigned i = 0; i < gates && !error; i++)
		error = gate_save(&s->gate[s->hand][i], &s->left->gate[i]) ? 0 : -EBUSY;
	if (!error) {
		s->left->gates = gates;
		error = threads_save(&s->threads, s->left, s->room);
	}
	s->departed = true;
	tell(s, TALK_left, (uint32_t)-error);
	for (unsigned t = 0; t < s->threads.count && !error; t++)
		error = tell_socks(s, t);
	return tell(s, TALK_parted, 0);
}

static int inherit(struct server *s)
{
	int error = map_left(s);

	if (!error)
		error = threads_load(&s->threads, s->left, s->room);
	return error ? error : tell(s, TALK_taken, 0);
}

static int take_socks(struct server *s)
{
	const struct talk_socks *socks = (const struct talk_socks *)s->said.bytes;

	if (s->said.len != sizeof *socks || socks->thread >= s->threads.count || s->running)
		return -EPROTO;
	struct thread *one = &s->threads.one[socks->thread];

	for (unsigned i = 0; i < s->said.fds; i++)
		if (!sock_adopt(&one->sock, socks->id[i], s->said.fd[i]))
			worker_gone(one->io.worker, socks->id[i]);
	return 0;
}

/* --- what the starter says --------------------------------------------------------------- */

static int obey(struct server *s)
{
	switch (s->said.word) {
	case TALK_maps:
		return take_maps(s);
	case TALK_gates:
		return take_gates(s);
	case TALK_steady:
		threads_publish(&s->threads);
		threads_calibrate(&s->threads);
		return 0;
	case TALK_mtu:
		threads_mtu(&s->threads, s->said.number);
		return 0;
	case TALK_depart:
		return depart(s);
	case TALK_heir:
		return inherit(s);
	case TALK_socks:
		return take_socks(s);
	case TALK_drain:
		s->draining = true;
		threads_drain(&s->threads);
		return 0;
	default:
		close_all(&s->said);
		return -EPROTO;
	}
}

/* What only the starter can do, once. */
static void ask(struct server *s)
{
	unsigned asked = threads_asked(&s->threads);

	if (asked != s->asked && !tell(s, TALK_ask, asked))
		s->asked = asked;
}

static void keep_house(struct server *s)
{
	if (!s->running)
		return;
	threads_publish(&s->threads);
	ask(s);
	if (s->draining && !s->told_drained && threads_drained(&s->threads)) {
		s->told_drained = true;
		tell(s, TALK_drained, 0);
	}
}

static int attend(struct server *s)
{
	for (;;) {
		bool hurry = s->draining && !s->told_drained;
		int error = talk_hear(s->want->talk_fd, &s->said, hurry ? DRAIN_LOOK_MS : HOUSE_MS);

		if (!error)
			error = obey(s);
		if (error == -EPIPE)
			return 0; /* the starter closes when it wants us to end */
		if (error && error != -EAGAIN)
			return error;
		if (s->departed)
			return 0;
		keep_house(s);
	}
}

/* --- from the fork to the exit -------------------------------------------------------------- */

static int start(struct server *s)
{
	const struct server_want *want = s->want;
	struct threads *th = &s->threads;
	int error = jail_enter(&want->jail);

	if (!error)
		error = threads_open(th, want->conf, want->listeners,
				     want->kind == SERVER_STAND_IN);
	if (error)
		return error;
	th->log = want->log;
	stats_mode_text(s->text[2], sizeof s->text[2], want->mode);
	error = threads_prepare(th, want->mode, want->nic, want->kernel, want->secret);
	if (!error && want->kind != SERVER_HEIR)
		error = run(s, s->text[2]);
	if (!error)
		error = tell(s, TALK_up, 0);
	return error == -EPIPE ? 0 : error; /* the starter is gone already: attend ends at once */
}

/* Ctrl-C, timeout(1), pkill and `systemctl kill` mean the whole group: the starter decides
 * what it means. */
static void set_signals(void)
{
	static const int starters[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };
	sigset_t none;

	for (unsigned i = 0; i < array_size(starters); i++)
		signal(starters[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void stop(struct server *s)
{
	threads_stop(&s->threads);
	if (s->want->log)
		logger_stop(s->want->log);
	if (!s->departed) /* the blocks are the heir's then */
		threads_publish(&s->threads);
	threads_close(&s->threads);
}

void server_run(const struct server_want *want)
{
	bool locked;
	struct server *s;
	int error;

	prctl(PR_SET_NAME, want->kind == SERVER_STAND_IN ? "saker-stand-in" : "saker-worker");
	set_signals();
	s = cpu_pages(sizeof *s, &locked);
	if (!s) {
		refuse(want->conf, -errno, "no memory: %s", strerror(errno));
		_exit(1);
	}
	s->want = want;
	error = start(s);
	if (!error)
		error = attend(s);
	stop(s);
	exit(error ? 1 : 0);
}
