/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include "cpu.h"
#include "sock.h"

/* In epoll's data, where a connection has its id. */
#define LISTENER 0x80000000u
#define WAKE 0x40000000u

enum { EVENTS = 64, ACCEPTS = 16 };

/* --- listening ------------------------------------------------------------------- */

static int watch_always(struct sock *s, int fd, uint32_t who)
{
	struct epoll_event e = { .events = EPOLLIN, .data.u32 = who };

	return fd < 0 || epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &e) < 0 ? -errno : 0;
}

int sock_open(struct sock *s, const struct conf *conf, const int *listen_fd, unsigned listeners,
	      int *fd, uint32_t *events)
{
	int error;

	*s = (struct sock){ .listen_fd = listen_fd,
			    .listeners = listeners,
			    .fd = fd,
			    .events = events,
			    .first_id = conf->max_conns };
	for (unsigned i = 0; i < SOCKS_DEFAULT; i++)
		fd[i] = -1;
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	error = watch_always(s, s->wake_fd, WAKE);
	for (unsigned i = 0; i < s->listeners && !error; i++)
		error = watch_always(s, s->listen_fd[i], LISTENER | i);
	if (!error)
		return 0;
	fprintf(stderr, "saker: port %u: epoll: %s\n", conf->port, strerror(-error));
	sock_close(s);
	return error;
}

void sock_stop(struct sock *s)
{
	while (s->listeners) {
		int fd = s->listen_fd[--s->listeners];

		/* Other processes have it open: closing alone would leave it in epoll. */
		epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
		close(fd);
	}
}

void sock_close(struct sock *s)
{
	sock_stop(s);
	for (unsigned i = 0; i < SOCKS_DEFAULT; i++)
		if (s->fd[i] >= 0)
			close(s->fd[i]);
	close(s->wake_fd);
	close(s->epoll_fd);
}

void sock_wake(struct sock *s)
{
	uint64_t one = 1;

	(void)!write(s->wake_fd, &one, sizeof one); /* full is awake enough */
}

static void woken(struct sock *s)
{
	uint64_t times;

	(void)!read(s->wake_fd, &times, sizeof times);
}

/* --- connections -------------------------------------------------------------------- */

static bool watch(struct sock *s, uint16_t id, int op, uint32_t events)
{
	struct epoll_event e = { .events = events, .data.u32 = id };
	unsigned i = id - s->first_id;

	if (op == EPOLL_CTL_MOD && s->events[i] == events)
		return true;
	s->events[i] = events;
	return epoll_ctl(s->epoll_fd, op, s->fd[i], &e) == 0;
}

/* Other threads look at it: whole, and not more often than needed. */
static void count(struct sock *s, int more)
{
	__atomic_store_n(&s->count, s->count + (unsigned)more, __ATOMIC_RELAXED);
}

static void drop(struct sock *s, struct worker *w, struct stats_block *stats, uint16_t id)
{
	unsigned i = id - s->first_id;

	close(s->fd[i]); /* leaves epoll by itself */
	s->fd[i] = -1;
	count(s, -1);
	stats->sock_closed++;
	worker_gone(w, id);
}

static void tell_peer(struct worker *w, uint16_t id, const struct sockaddr_in6 *from)
{
	const struct sockaddr_in *from4 = (const void *)from;
	struct in6_addr address = from->sin6_addr;

	if (from->sin6_family == AF_INET) { /* a kernel without IPv6 */
		address = (struct in6_addr){ .s6_addr = { [10] = 0xff, 0xff } };
		memcpy(&address.s6_addr[12], &from4->sin_addr, 4);
	}
	worker_peer(w, id, address.s6_addr, ntohs(from->sin6_port)); /* at the same place in both */
}
_Static_assert(offsetof(struct sockaddr_in6, sin6_port) == offsetof(struct sockaddr_in, sin_port),
	       "the port");

static void take_new(struct sock *s, struct worker *w, struct stats_block *stats, int listen_fd)
{
	int yes = 1;

	/* A few: frames and other connections wait meanwhile. */
	for (int i = 0; i < ACCEPTS; i++) {
		struct sockaddr_in6 from = { 0 };
		socklen_t size = sizeof from;
		int fd = accept4(listen_fd, (struct sockaddr *)&from, &size,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);
		uint16_t id;

		if (fd < 0)
			return;
		id = worker_open(w, cpu_now_ns());
		if (id == WORKER_NONE) {
			stats->sock_refused++;
			close(fd);
			continue;
		}
		tell_peer(w, id, &from);
		/* Answers are whole when they are written: nothing to wait for. */
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
		tell_peer(w, id, &from);
		stats->sock_accepted++;
		s->fd[id - s->first_id] = fd;
		count(s, 1);
		if (!watch(s, id, EPOLL_CTL_ADD, EPOLLIN))
			drop(s, w, stats, id);
	}
}

bool sock_adopt(struct sock *s, uint16_t id, int fd)
{
	s->fd[id - s->first_id] = fd;
	if (watch(s, id, EPOLL_CTL_ADD, EPOLLIN)) {
		count(s, 1);
		return true;
	}
	close(fd);
	s->fd[id - s->first_id] = -1;
	return false;
}

/* After our FIN: what comes is thrown away, until the peer's FIN. */
static ssize_t discard(int fd)
{
	char bytes[4096];

	return recv(fd, bytes, sizeof bytes, 0);
}

static void read_from(struct sock *s, struct worker *w, struct stats_block *stats, uint16_t id)
{
	int fd = s->fd[id - s->first_id];
	uint8_t *to = NULL;
	size_t room = 0;
	ssize_t n;

	if (worker_closing(w, id)) {
		n = discard(fd);
	} else {
		to = worker_room(w, id, &room);
		if (!to) { /* until worker_ready names it */
			watch(s, id, EPOLL_CTL_MOD,
			      s->events[id - s->first_id] & ~(uint32_t)EPOLLIN);
			return;
		}
		n = recv(fd, to, room, 0);
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0)
		drop(s, w, stats, id);
	else if (n == 0) {
		watch(s, id, EPOLL_CTL_MOD, s->events[id - s->first_id] & ~(uint32_t)EPOLLIN);
		worker_eof(w, id, cpu_now_ns());
	} else if (to) {
		worker_read(w, id, (size_t)n, cpu_now_ns());
	}
}

/* Write what is there. False: the connection broke. */
static bool write_to(struct sock *s, struct worker *w, uint16_t id)
{
	int fd = s->fd[id - s->first_id];
	const struct buf *out = worker_out(w, id);
	ssize_t n = 0;

	while (out->len && n >= 0) {
		n = send(fd, buf_bytes(out), out->len, MSG_NOSIGNAL);
		if (n > 0)
			worker_sent(w, id, (size_t)n, cpu_now_ns());
	}
	return n >= 0 || errno == EAGAIN;
}

/* Do for one connection what its session wants now. */
static void settle(struct sock *s, struct worker *w, struct stats_block *stats, uint16_t id)
{
	bool alive = write_to(s, w, id), pending = worker_out(w, id)->len;

	if (!alive || (worker_over(w, id) && !pending)) {
		drop(s, w, stats, id);
		return;
	}
	if (worker_closing(w, id) && !pending)
		shutdown(s->fd[id - s->first_id], SHUT_WR);
	watch(s, id, EPOLL_CTL_MOD,
	      (worker_eof_seen(w, id) ? 0 : (uint32_t)EPOLLIN) |
		      (pending ? (uint32_t)EPOLLOUT : 0));
}

void sock_flush(struct sock *s, struct worker *w, struct stats_block *stats)
{
	uint16_t id;

	while ((id = worker_ready(w)) != WORKER_NONE)
		settle(s, w, stats, id);
}

bool sock_poll(struct sock *s, struct worker *w, struct stats_block *stats, int timeout_ms)
{
	struct epoll_event e[EVENTS];
	int n = epoll_wait(s->epoll_fd, e, EVENTS, timeout_ms);

	for (int i = 0; i < n; i++) {
		uint32_t who = e[i].data.u32;

		if (who & LISTENER)
			take_new(s, w, stats, s->listen_fd[who & ~LISTENER]);
		else if (who == WAKE)
			woken(s);
		else if (s->fd[who - s->first_id] < 0)
			continue; /* closed by an earlier event of this batch */
		else if (e[i].events & EPOLLERR)
			drop(s, w, stats, (uint16_t)who);
		else if (e[i].events & EPOLLOUT)
			settle(s, w, stats, (uint16_t)who);
		else
			read_from(s, w, stats, (uint16_t)who);
	}
	return n > 0;
}
