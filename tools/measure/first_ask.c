// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "first.h"

/* A server that is not there refuses at once. One whose address is not there does not:
 * ask again after so long. Shorter than the second that the kernel lets pass between two SYNs. */
enum { STALE_NS = 20000000 };

static void give_up(struct server *s)
{
	close(s->fd);
	s->fd = -1;
	s->sent = false;
}

static void begin(struct server *s)
{
	s->attempts++;
	s->open_ns = measure_now_ns();
	s->fd = socket(s->to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd >= 0 && connect(s->fd, (struct sockaddr *)&s->to, s->to_len) &&
	    errno != EINPROGRESS)
		give_up(s);
}

static void send_request(const struct first *f, struct server *s)
{
	char request[700];
	int length = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: first\r\n\r\n",
			      f->path);

	if (send(s->fd, request, (size_t)length, MSG_NOSIGNAL) == length)
		s->sent = true;
	else if (errno != EAGAIN && errno != ENOTCONN)
		give_up(s);
	else if (measure_now_ns() - s->open_ns > STALE_NS)
		give_up(s);
}

/* One step of one attempt, without waiting. True: it has answered 200, now. */
static bool step(const struct first *f, struct server *s)
{
	static const char wanted[] = "HTTP/1.1 200";
	char answer[sizeof wanted - 1];

	if (s->fd < 0)
		begin(s);
	if (s->fd >= 0 && !s->sent)
		send_request(f, s);
	if (s->fd < 0 || !s->sent)
		return false;
	ssize_t got = recv(s->fd, answer, sizeof answer, MSG_PEEK);
	if (got < 0 && errno == EAGAIN)
		return false;
	if (got > 0 && got < (ssize_t)sizeof answer && !memcmp(answer, wanted, (size_t)got))
		return false;
	bool good = got == (ssize_t)sizeof answer && !memcmp(answer, wanted, sizeof answer);
	if (!good && got > 0)
		snprintf(s->status, sizeof s->status, "%.*s", (int)got, answer);
	give_up(s);
	return good;
}

bool ask_once(struct first *f, struct server *s, int wait_ms)
{
	uint64_t until_ns = measure_now_ns() + (uint64_t)wait_ms * 1000000;
	bool good;

	do
		good = step(f, s);
	while (!good && s->fd >= 0 && measure_now_ns() < until_ns);
	if (s->fd >= 0)
		give_up(s);
	return good;
}

bool ask_all(struct first *f)
{
	struct timespec pause = { .tv_nsec = f->pause_us * 1000 };
	unsigned left = f->count;

	while (left && !servers_hopeless(f)) {
		for (unsigned i = 0; i < f->count; i++) {
			struct server *s = f->servers + i;
			if (s->answered_ns || !step(f, s))
				continue;
			s->answered_ns = measure_now_ns();
			left--;
		}
		servers_hear(f, 0);
		if (left && f->pause_us)
			nanosleep(&pause, NULL);
	}
	return !left;
}

bool await_ready(struct first *f)
{
	while (!f->ready_ns && !servers_hopeless(f))
		servers_hear(f, 100);
	return f->ready_ns;
}

int ask_go(struct first *f, const char *netns)
{
	int fd = netns ? open(netns, O_RDONLY | O_CLOEXEC) : f->home_fd;
	bool gone = fd >= 0 && !setns(fd, CLONE_NEWNET);
	int error = errno;

	if (netns && fd >= 0)
		close(fd);
	return gone ? 0 :
		      measure_trouble("%s: %s: name a network namespace, and run as root",
				      netns ? netns : "going back", strerror(error));
}

bool ask_from(struct first *f)
{
	if (ask_go(f, f->bypass_from))
		return false;
	while (!f->bypass_answered_ns && !servers_hopeless(f))
		if (step(f, f->servers))
			f->bypass_answered_ns = measure_now_ns();
	return !ask_go(f, NULL) && f->bypass_answered_ns;
}
