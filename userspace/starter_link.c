/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What happens to the interface and to its rings. netev says what has changed, watch what
 * stands still; here it is done. Connections outlive all of it: the worker gives its rings
 * up, and gets others.
 */
#include <string.h>
#include "books.h"
#include "cpu.h"
#include "say.h"
#include "starter_private.h"
#include "watch.h"

/* --- rings away, and anew ------------------------------------------------------------ */

/* From here on segments of ours are dropped for a while (steer.bpf.c), and come again. */
static void take_back(struct starter *st)
{
	starter_steer(st, false);
	if (!st->rungs.gates)
		return;
	if (st->worker.pid && child_give_gates(&st->worker, NULL, false, st->text))
		refuse(st->conf, 0, "the worker does not let go of the rings");
	rungs_close(&st->rungs);
	books_rings(&st->steer.b);
}

void link_retry(struct starter *st)
{
	st->link_pause_ms = (unsigned)min_u64(max_u64(2 * st->link_pause_ms, LINK_AGAIN_MS),
					      LINK_AGAIN_MAX_MS);
	st->link_again_ns = cpu_now_ns() + st->link_pause_ms * (uint64_t)NS_PER_MS;
}

/* With whatever rungs_* made of it. Without rings the sockets serve. */
static void give(struct starter *st, int error)
{
	if (st->worker.pid && !error)
		error = kin_give(st);
	if (error) {
		rungs_close(&st->rungs);
		link_retry(st);
	} else {
		st->link_again_ns = st->link_pause_ms = 0;
	}
	starter_publish(st);
	say(st->conf, "%s: %s", error ? "the socket rung serves" : "the bypass serves again",
	    st->text);
	starter_check_guard(st);
	notify_status(&st->notify, st->text);
	if (st->netev_open)
		netev_attached(&st->netev, cpu_now_ns());
}

static void reopen(struct starter *st)
{
	if (st->rungs.rung == RUNG_none)
		return; /* there was no bypass */
	take_back(st);
	give(st, nic_ask(&st->nic, st->conf->ifname) ?: rungs_again(&st->rungs));
}

/* The device may be another one: its number, address and queues are. */
static int move(struct starter *st)
{
	int error;

	starter_settings(st, false); /* those of the device that is gone */
	error = nic_ask(&st->nic, st->conf->ifname);
	if (!error)
		error = rungs_check(st->conf, &st->nic);
	if (!error)
		error = steer_move(&st->steer, st->nic.ifindex, st->nic.mac);
	return error ? error : starter_settings(st, true);
}

/* Nothing is open; the program may still be attached. */
static void open_anew(struct starter *st)
{
	if (steer_attached(&st->steer))
		give(st, rungs_again(&st->rungs));
	else
		give(st, move(st) ?: starter_climb(st, rungs_climb));
}

/* --- events ------------------------------------------------------------------------------ */

static void serve_by_sockets(struct starter *st)
{
	take_back(st);
	steer_detach(&st->steer);
	netev_attached(&st->netev, cpu_now_ns());
	starter_publish(st);
	starter_check_guard(st);
}

static void follow_mtu(struct starter *st, unsigned mtu)
{
	st->nic.mtu = mtu;
	child_mtu(&st->worker, mtu);
	child_mtu(&st->stand_in, mtu);
}

static void cure(struct starter *st, const struct netev_event *e)
{
	switch (netev_cure(e)) {
	case CURE_keep:
		break;
	case CURE_mtu:
		follow_mtu(st, e->after);
		break;
	case CURE_pause:
		starter_steer(st, false);
		break;
	case CURE_resume:
		follow_mtu(st, e->after);
		starter_steer(st, st->rungs.gates);
		break;
	case CURE_rings:
		reopen(st);
		break;
	case CURE_steer:
		memcpy(st->nic.mac, e->mac, sizeof st->nic.mac);
		steer_renew(&st->steer, st->nic.mac);
		netev_attached(&st->netev, cpu_now_ns());
		break;
	case CURE_sockets:
		serve_by_sockets(st);
		break;
	case CURE_open:
		open_anew(st);
		break;
	}
}

/* What only we can see, for the I/O threads' watch. */
static void tell_watch(struct starter *st, uint64_t now_ns)
{
	const struct netev_state *now = &st->netev.now;
	struct steer_live *live = st->steer.b.live;

	__atomic_store_n(&live->held, !now->exists || !now->up || !now->carrier, __ATOMIC_RELAXED);
	__atomic_store_n(&live->nic_sent, now->tx_packets, __ATOMIC_RELAXED);
	__atomic_store_n(&live->nic_ns, now_ns, __ATOMIC_RELEASE);
}

/* --- rings that stand still ------------------------------------------------------------------ */

static void help(struct starter *st, unsigned asked)
{
	enum watch_part part = watch_asked_part(asked);
	const char *cause = watch_part_cause(part);
	unsigned queue = watch_asked_queue(asked);
	char text[NIC_TEXT] = "";

	if (part >= WATCH_completions) /* the card's fault, perhaps */
		nic_dead_tx(st->conf->ifname, text);
	switch (watch_asked_remedy(asked)) {
	case WATCH_REBIND:
		refuse(st->conf, 0, "queue %u: %s: sockets are opened anew%s%s", queue, cause,
		       *text ? "; " : "", text);
		reopen(st);
		break;
	case WATCH_RUNG:
		refuse(st->conf, 0, "queue %u: still %s: the next rung is tried%s%s", queue, cause,
		       *text ? "; " : "", text);
		take_back(st);
		give(st, starter_climb(st, rungs_lower));
		break;
	default:
		break;
	}
}

void link_open(struct starter *st)
{
	if (st->maps && (st->rungs.rung != RUNG_none || st->link_again_ns))
		st->netev_open = !netev_open(&st->netev, st->conf->ifname);
	if (st->netev_open)
		netev_settle(&st->netev, cpu_now_ns());
}

void link_close(struct starter *st)
{
	if (st->netev_open)
		netev_close(&st->netev);
}

int link_fd(const struct starter *st)
{
	return st->netev_open ? netev_fd(&st->netev) : -1;
}

void link_look(struct starter *st, uint64_t now_ns)
{
	struct netev_event e;
	char text[NETEV_TEXT];

	if (!st->netev_open)
		return;
	while (netev_next(&st->netev, now_ns, &e)) {
		if (e.kind == NETEV_xdp && st->steer.hook == STEER_TC)
			continue; /* not ours, and before us: what it lets through comes */
		say(st->conf, "%s", netev_text(&e, st->conf->ifname, text));
		cure(st, &e);
	}
	tell_watch(st, now_ns);
	if (steer_lost(&st->steer)) {
		say(st->conf,
		    "our program was taken off tc: the socket rung serves; restart to attach");
		serve_by_sockets(st);
	}
	if (st->link_again_ns && now_ns >= st->link_again_ns && st->netev.known.exists &&
	    st->worker.pid)
		open_anew(st);
	if (st->worker.asked == st->told_asked)
		return;
	st->told_asked = st->worker.asked;
	if (st->told_asked)
		help(st, st->told_asked);
	else
		say(st->conf, "the rings move again: the bypass serves");
}
