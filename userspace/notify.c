/* SPDX-License-Identifier: GPL-2.0-only */
#include "notify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { TEXT = 512 };

static void complain(struct notify *n, const char *why)
{
	if (!n->told)
		fprintf(stderr, "saker: NOTIFY_SOCKET=%s: %s: the service manager is not told\n",
			getenv("NOTIFY_SOCKET"), why);
	n->told = true;
}

static bool set_address(struct notify *n, const char *name)
{
	size_t len = strlen(name);

	if ((*name != '/' && *name != '@') || len < 2 || len >= sizeof n->to.sun_path)
		return false;
	n->to.sun_family = AF_UNIX;
	memcpy(n->to.sun_path, name, len);
	if (*name == '@')
		n->to.sun_path[0] = '\0';
	/* An abstract name has no other end than its length. */
	n->to_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
	return true;
}

/* A whole decimal number; 0: it is not one. */
static uint64_t number_of(const char *text)
{
	char *end;
	uint64_t n;

	errno = 0;
	n = strtoull(text, &end, 10);
	return errno || *end || *text < '0' || *text > '9' ? 0 : n;
}

/* $WATCHDOG_PID: the watchdog is for that process, and not for whom it started. */
static uint64_t beat_interval(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	uint64_t us = usec ? number_of(usec) : 0;

	if (!usec || (pid && number_of(pid) != (uint64_t)getpid()))
		return 0;
	if (!us || us > UINT64_MAX / NS_PER_US)
		fprintf(stderr, "saker: WATCHDOG_USEC=%s is no time: no watchdog\n", usec);
	return us > UINT64_MAX / NS_PER_US ? 0 : us * NS_PER_US / 3;
}

void notify_open(struct notify *n)
{
	struct timeval wait = { .tv_usec = NOTIFY_WAIT_MS * 1000 };
	const char *name = getenv("NOTIFY_SOCKET");

	*n = (struct notify){ .fd = -1 };
	if (!name || !*name)
		return;
	if (!set_address(n, name)) {
		complain(n, "neither a path nor @NAME");
		return;
	}
	n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (n->fd < 0) {
		complain(n, strerror(errno));
		return;
	}
	setsockopt(n->fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
	n->interval_ns = beat_interval();
}

void notify_close(struct notify *n)
{
	if (n->fd >= 0)
		close(n->fd);
	n->fd = -1;
}

static void tell(struct notify *n, const char *lines)
{
	if (n->fd >= 0 && sendto(n->fd, lines, strlen(lines), MSG_NOSIGNAL,
				 (struct sockaddr *)&n->to, n->to_len) < 0)
		complain(n, strerror(errno));
}

/* A line is a variable: the status ends where its line does. */
static void tell_status(struct notify *n, const char *before, const char *text)
{
	char lines[TEXT];

	snprintf(lines, sizeof lines, "%sSTATUS=%.*s", before, (int)strcspn(text, "\n"), text);
	tell(n, lines);
}

void notify_ready(struct notify *n, const char *text)
{
	tell_status(n, "READY=1\n", text);
}

void notify_status(struct notify *n, const char *text)
{
	tell_status(n, "", text);
}

void notify_stopping(struct notify *n, const char *text)
{
	tell_status(n, "STOPPING=1\n", text);
}

void notify_beat(struct notify *n, uint64_t now_ns)
{
	if (!n->interval_ns || now_ns - n->beat_ns < n->interval_ns)
		return;
	n->beat_ns = now_ns;
	tell(n, "WATCHDOG=1");
}
