/* SPDX-License-Identifier: GPL-2.0-only */
#include "child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "cpu.h"
#include "say.h"
#include "talk.h"

/* It answers within a turn of an I/O thread; what stands still for longer is not
 * waited for. */
enum { ANSWER_MS = 2 * GIVE_MS };

int child_start(struct child *c, struct server_want *want, void (*leave)(void *), void *arg)
{
	int end[2], error = talk_pair(end);
	pid_t pid;

	*c = (struct child){ .talk_fd = -1 };
	if (error)
		return refuse(want->conf, error, "no socket pair for the worker: %s",
			      strerror(-error));
	want->jail.parent = getpid();
	pid = fork();
	if (pid == 0) {
		close(end[0]);
		leave(arg);
		want->talk_fd = end[1];
		server_run(want);
	}
	error = -errno;
	close(end[1]);
	if (pid < 0) {
		close(end[0]);
		return refuse(want->conf, error, "cannot fork the worker: %s", strerror(-error));
	}
	*c = (struct child){ .pid = pid, .talk_fd = end[0], .born_ns = cpu_now_ns() };
	return 0;
}

/* --- what it tells ------------------------------------------------------------------ */

static void note(struct child *c, const struct talk *told)
{
	switch (told->word) {
	case TALK_up:
		c->up = 1;
		break;
	case TALK_taken:
		c->taken++;
		break;
	case TALK_ask:
		c->asked = told->number;
		break;
	case TALK_drained:
		c->drained = true;
		break;
	default:
		break;
	}
	for (unsigned i = 0; i < told->fds; i++)
		close(told->fd[i]);
}

static int hear(struct child *c, int timeout_ms)
{
	struct talk told;
	int error;

	if (!c->pid)
		return -EPIPE;
	error = talk_hear(c->talk_fd, &told, timeout_ms);
	if (!error)
		note(c, &told);
	return error;
}

int child_hear(struct child *c)
{
	int error;

	do
		error = hear(c, 0);
	while (!error);
	return error == -EAGAIN ? 0 : error;
}

/* Until it has told something so many times, which is counted in *told. */
static int await(struct child *c, const unsigned *told, unsigned times, unsigned ms)
{
	uint64_t end_ns = cpu_now_ns() + ms * (uint64_t)NS_PER_MS;
	int error = 0;

	while (*told < times && !error)
		error = cpu_now_ns() < end_ns ? hear(c, (int)ms) : -ETIMEDOUT;
	return error == -EAGAIN ? -ETIMEDOUT : error;
}

int child_await_up(struct child *c)
{
	return await(c, &c->up, 1, CHILD_UP_MS);
}

static int await_taken(struct child *c)
{
	return await(c, &c->taken, c->taken + 1, ANSWER_MS);
}

/* --- what it is told ------------------------------------------------------------------- */

int child_give_maps(struct child *c, const struct blocks_size *size, const int fd[BLOCKS])
{
	struct talk t = { .word = TALK_maps, .len = sizeof *size, .fds = BLOCKS };
	int error;

	memcpy(t.bytes, size, sizeof *size);
	memcpy(t.fd, fd, BLOCKS * sizeof *fd);
	error = talk_say(c->talk_fd, &t);
	return error ? error : await_taken(c);
}
_Static_assert((int)BLOCKS <= (int)TALK_FDS, "they fit");

int child_give_gates(struct child *c, const struct rungs *r, bool resume, const char *text)
{
	struct talk t = { .word = TALK_gates, .len = sizeof(struct talk_gates) };
	struct talk_gates *given = (struct talk_gates *)t.bytes;
	int *fd[GATE_FDS];
	int error;

	given->gates = r ? r->gates : 0;
	given->resume = resume;
	snprintf(given->text, sizeof given->text, "%s", text);
	for (unsigned i = 0; i < given->gates; i++) {
		given->gift[i] = gate_give(&r->gate[i]);
		gate_fds(&given->gift[i], fd);
		t.fd[t.fds++] = *fd[0];
		t.fd[t.fds++] = *fd[1];
	}
	error = talk_say(c->talk_fd, &t);
	return error ? error : await_taken(c);
}

/* --- from one to the other ------------------------------------------------------------------ */

static int say_fd(const struct child *c, enum talk_word word, int fd)
{
	struct talk t = { .word = word, .fds = 1, .fd = { fd } };

	return talk_say(c->talk_fd, &t);
}

/* The next word that is not for us to note, or -errno. */
static int next_word(struct child *c, struct talk *told)
{
	int error;

	do {
		error = talk_hear(c->talk_fd, told, ANSWER_MS);
		if (!error && told->word < TALK_left)
			note(c, told);
	} while (!error && told->word < TALK_left);
	return error == -EAGAIN ? -ETIMEDOUT : error;
}

static int pass_socks(struct child *heir, struct child *old)
{
	struct talk told;
	int error = 0;

	while (!error && !(error = next_word(old, &told)) && told.word != TALK_parted) {
		error = talk_say(heir->talk_fd, &told);
		for (unsigned i = 0; i < told.fds; i++)
			close(told.fd[i]);
	}
	return error;
}

int child_inherit(struct child *heir, struct child *old, int handover_fd, bool *parted)
{
	struct talk told;
	int error = say_fd(old, TALK_depart, handover_fd);

	*parted = !error;
	if (!error)
		error = next_word(old, &told);
	if (!error)
		error = told.word == TALK_left ? -(int)told.number : -EPROTO;
	if (!error)
		error = say_fd(heir, TALK_heir, handover_fd);
	if (!error)
		error = await_taken(heir);
	if (!error)
		error = pass_socks(heir, old);
	return error;
}

void child_steady(struct child *c)
{
	talk_word(c->talk_fd, TALK_steady, 0);
}

void child_mtu(struct child *c, unsigned mtu)
{
	if (c->pid)
		talk_word(c->talk_fd, TALK_mtu, mtu);
}

void child_drain(struct child *c)
{
	if (c->pid && !c->draining)
		talk_word(c->talk_fd, TALK_drain, 0);
	c->draining = true;
}

/* --- its end ------------------------------------------------------------------------------ */

bool child_gone(struct child *c, int *status)
{
	if (!c->pid || waitpid(c->pid, status, WNOHANG) != c->pid)
		return false;
	child_hear(c);
	if (c->talk_fd >= 0)
		close(c->talk_fd);
	c->pid = 0;
	c->talk_fd = -1;
	return true;
}

int child_reap(pid_t pid, unsigned ms)
{
	struct timespec pause = { .tv_nsec = NS_PER_MS };
	uint64_t end_ns = cpu_now_ns() + ms * (uint64_t)NS_PER_MS;
	int status = 0;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (cpu_now_ns() > end_ns && kill(pid, SIGKILL) && errno == EPERM)
			return CHILD_LEFT;
		nanosleep(&pause, NULL);
	}
	return status;
}

int child_end(struct child *c, unsigned ms)
{
	pid_t pid = c->pid;

	if (!pid)
		return 0;
	close(c->talk_fd);
	c->talk_fd = -1;
	c->pid = 0;
	return child_reap(pid, ms);
}

const char *child_status_text(char text[CHILD_TEXT], int status)
{
	if (status == CHILD_LEFT)
		snprintf(text, CHILD_TEXT, "it stands still, and may not be killed: CAP_KILL");
	else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
		snprintf(text, CHILD_TEXT,
			 "a system call that it may not make: journalctl -k -g type=1326");
	else if (WIFSIGNALED(status))
		snprintf(text, CHILD_TEXT, "signal %s", sigabbrev_np(WTERMSIG(status)) ?: "?");
	else
		snprintf(text, CHILD_TEXT, "exit status %d", WEXITSTATUS(status));
	return text;
}
