/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include <unistd.h>
#include "books.h"
#include "cpu.h"
#include "flows.h"
#include "guard.h"
#include "say.h"
#include "starter_private.h"

/* What a child must not hold: above all the link, which shall die with the starter. */
static void leave(void *arg)
{
	struct starter *st = arg;

	steer_leave(&st->steer);
	if (st->changed)
		settings_leave(&st->settings);
	rungs_close(&st->rungs);
	close(st->signal_fd);
	if (st->worker.talk_fd >= 0)
		close(st->worker.talk_fd);
	if (st->stand_in.talk_fd >= 0)
		close(st->stand_in.talk_fd);
}

int kin_start(struct starter *st, struct child *c, enum server_kind kind)
{
	struct server_want want = {
		.conf = st->conf,
		.nic = &st->nic,
		.kernel = &st->kernel,
		.mode = &st->mode,
		.listeners = &st->listeners,
		.log = *st->conf->access_log && kind != SERVER_STAND_IN ? &st->log : NULL,
		.secret = st->secret,
		.jail = st->jail,
		.kind = kind,
	};

	return child_start(c, &want, leave, st);
}

int kin_give(struct starter *st)
{
	int error;

	starter_publish(st);
	error = child_give_gates(&st->worker, &st->rungs, false, st->text);
	if (error)
		return refuse(st->conf, error, "the worker did not take the rings: %s",
			      strerror(-error));
	/* Each thread turns its rings and its heartbeat beats. */
	starter_steer(st, st->rungs.gates);
	return 0;
}

int kin_engage(struct starter *st)
{
	struct steer *s = &st->steer;
	int error;

	if (!st->maps)
		return 0;
	guard_forget(s->map_fd[BLOCK_source_conns]); /* of the worker before */
	error = child_give_maps(&st->worker, &s->b.size, s->map_fd);
	if (error)
		return refuse(st->conf, error, "the worker did not take the maps: %s",
			      strerror(-error));
	return kin_give(st);
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
	int error = kin_start(st, &st->stand_in, SERVER_STAND_IN);

	if (!error && st->maps)
		error = child_give_maps(&st->stand_in, &s->b.size, s->map_fd);
	if (!error && st->maps)
		error = child_give_gates(&st->stand_in, NULL, false, st->text);
	if (error) {
		child_end(&st->stand_in, 0);
		return;
	}
	if (st->worker.pid)
		say(st->conf,
		    "the worker stands still (nothing for %u ms): a stand-in answers new "
		    "connections, by the kernel's sockets",
		    st->conf->stall_ms);
	else
		say(st->conf, "there is no worker: a stand-in answers, by the kernel's sockets");
	notify_status(&st->notify, "a stand-in answers");
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

static void retire_stand_in(struct starter *st)
{
	end_child(st, &st->stand_in);
	if (st->maps)
		books_stand_in(&st->steer.b);
}

/* It is there while the worker is not; a little longer, lest they take turns. One that
 * finishes accepts nobody any more: when it is needed again it makes room for another. */
static void watch_hearts(struct starter *st, uint64_t now_ns)
{
	uint64_t drain_ns, end_ns;

	if (worker_absent(st, now_ns)) {
		st->healthy_ns = 0;
		if (st->stand_in.pid && st->stand_in.draining)
			retire_stand_in(st);
		if (!st->stand_in.pid)
			start_stand_in(st);
		return;
	}
	if (!st->healthy_ns)
		st->healthy_ns = now_ns;
	drain_ns = st->healthy_ns + STAND_IN_MS * (uint64_t)NS_PER_MS;
	end_ns = drain_ns + st->conf->drain_s * (uint64_t)NS_PER_S;
	if (!st->stand_in.pid || now_ns < drain_ns)
		return;
	if (st->stand_in.drained || (st->stand_in.draining && now_ns >= end_ns))
		retire_stand_in(st);
	if (!st->stand_in.pid || st->stand_in.draining)
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

	starter_steer(st, false);
	rungs_close(&st->rungs);
	if (st->maps)
		books_worker(&st->steer.b);
	if (st->maps && st->conf->steer == STEER_path)
		flows_clear(st->steer.map_fd[BLOCK_flows]);
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

/* Sockets that nobody has used: whose frames were in the dead one's hands nobody knows.
 * What was opened since is as good; without the program it is for starter_link. */
static void open_bypass(struct starter *st)
{
	if (st->rungs.rung == RUNG_none || st->rungs.gates || !steer_attached(&st->steer))
		return;
	if (!rungs_again(&st->rungs))
		return;
	say(st->conf, "the bypass cannot be opened again: the socket rung serves");
	link_retry(st);
}

static void restart_worker(struct starter *st)
{
	int error = kin_start(st, &st->worker, SERVER_WORKER);

	st->again_ns = 0;
	if (!error)
		open_bypass(st);
	if (!error)
		error = child_await_up(&st->worker);
	if (!error)
		error = kin_engage(st);
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

void kin_bury(struct starter *st, uint64_t now_ns)
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

void kin_end(struct starter *st)
{
	end_child(st, &st->worker);
	end_child(st, &st->stand_in);
}

void kin_look_after(struct starter *st, uint64_t now_ns)
{
	kin_bury(st, now_ns);
	if (st->again_ns && now_ns >= st->again_ns)
		restart_worker(st);
	watch_hearts(st, now_ns);
}

uint64_t kin_next_ns(const struct starter *st)
{
	uint64_t next = UINT64_MAX;

	if (st->again_ns)
		next = st->again_ns;
	/* a stand-in that could not be made is tried each second */
	if (st->maps && st->worker.pid && !st->stand_in.pid && st->healthy_ns)
		next = min_u64(next,
			       oldest_beat(st) + st->conf->stall_ms * (uint64_t)NS_PER_MS + 1);
	return next;
}
