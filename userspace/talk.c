/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include "talk.h"

enum { PATIENCE_MS = 1000 };

/* What goes ahead of the bytes. */
struct head {
	uint32_t word, number;
};

int talk_pair(int end[2])
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, end) ? -errno :
											    0;
}

/* True: it may be tried; false: time is over. */
static bool await(int fd, short events, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = events };

	return poll(&p, 1, timeout_ms) > 0;
}

int talk_say(int fd, const struct talk *t)
{
	union {
		char room[CMSG_SPACE(TALK_FDS * sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct head head = { t->word, t->number };
	struct iovec io[2] = { { &head, sizeof head }, { (void *)t->bytes, t->len } };
	struct msghdr m = { .msg_iov = io, .msg_iovlen = 2 };

	must(t->len <= TALK_BYTES && t->fds <= TALK_FDS);
	if (t->fds) {
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE(t->fds * sizeof(int));
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);

		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(t->fds * sizeof(int));
		memcpy(CMSG_DATA(c), t->fd, t->fds * sizeof(int));
	}
	while (sendmsg(fd, &m, MSG_NOSIGNAL) < 0) {
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		if (!await(fd, POLLOUT, PATIENCE_MS))
			return -ETIMEDOUT;
	}
	return 0;
}

int talk_word(int fd, enum talk_word word, uint32_t number)
{
	struct talk t = { .word = word, .number = number };

	return talk_say(fd, &t);
}

int talk_hear(int fd, struct talk *t, int timeout_ms)
{
	union {
		char room[CMSG_SPACE(TALK_FDS * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct head head;
	struct iovec io[2] = { { &head, sizeof head }, { t->bytes, sizeof t->bytes } };
	struct msghdr m = { .msg_iov = io,
			    .msg_iovlen = 2,
			    .msg_control = &control,
			    .msg_controllen = sizeof control };
	ssize_t n;

	t->fds = 0;
	if (timeout_ms && !await(fd, POLLIN, timeout_ms))
		return -EAGAIN;
	n = recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	if (n == 0)
		return -EPIPE;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		t->fds = (uint32_t)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(t->fd, CMSG_DATA(c), t->fds * sizeof(int));
	}
	if ((size_t)n < sizeof head || m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
		/* CTRUNC: out of descriptors; those that came nevertheless are open here */
		while (t->fds)
			close(t->fd[--t->fds]);
		return -EPROTO;
	}
	t->word = head.word;
	t->number = head.number;
	t->len = (uint32_t)((size_t)n - sizeof head);
	return 0;
}

const char *talk_name(uint32_t word)
{
	static const char *const names[] = {
#define X(name) #name,
		TALK_LIST(X)
#undef X
	};

	return word < array_size(names) ? names[word] : "?";
}
