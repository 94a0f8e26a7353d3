/* SPDX-License-Identifier: GPL-2.0-only */
#include "listener.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 1024 };

static const uint8_t any[1][16], loopback[2][16] = {
	{ [10] = 0xff, [11] = 0xff, 127, 0, 0, 1 },
	{ [15] = 1 },
};

/* Where a thread listens. */
struct place {
	uint16_t port;
	unsigned count;
	const uint8_t (*addr)[16];
	const char *option; /* that chooses the port */
};

static bool has_loopback6(void)
{
	struct sockaddr_in6 at = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool has = fd >= 0 && !bind(fd, (struct sockaddr *)&at, sizeof at);

	if (fd >= 0)
		close(fd);
	return has;
}

static struct place place_of(const struct conf *conf)
{
	if (conf->steer == STEER_path)
		return (struct place){ conf->local_port, 1 + has_loopback6(), loopback,
				       "--local-port" };
	if (conf->addr_count)
		return (struct place){ conf->port, conf->addr_count, conf->addr, "--port" };
	return (struct place){ conf->port, 1, any, "--port" };
}

static int fail(const struct place *at, const char *what)
{
	int error = -errno;

	fprintf(stderr, "saker: port %u: %s: %s", at->port, what, strerror(-error));
	if (error == -EADDRINUSE)
		fprintf(stderr,
			": stop the program that has it (ss -ltnp), or choose another with %s",
			at->option);
	if (error == -EACCES)
		fputs(": ports below 1024 need CAP_NET_BIND_SERVICE", stderr);
	fputc('\n', stderr);
	return error;
}

/* IPv4 addresses are mapped: an IPv6 socket takes both (RFC 3493 3.7). */
static int listen_on(struct listeners *l, const struct place *at, const uint8_t address[16],
		     bool shared)
{
	struct sockaddr_in6 to = { .sin6_family = AF_INET6, .sin6_port = htons(at->port) };
	struct sockaddr_in to4 = { .sin_family = AF_INET, .sin_port = htons(at->port) };
	struct sockaddr *name = (struct sockaddr *)&to;
	socklen_t size = sizeof to;
	int fd, no = 0, yes = 1;

	memcpy(&to.sin6_addr, address, 16);
	fd = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 && errno == EAFNOSUPPORT) { /* a kernel without IPv6 */
		memcpy(&to4.sin_addr, address + 12, 4);
		name = (struct sockaddr *)&to4;
		size = sizeof to4;
		fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	}
	if (fd < 0)
		return fail(at, "socket");
	l->fd[l->count++] = fd;
	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
	/* Connections of an earlier run in TIME-WAIT do not keep the port. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
	/* The first one binds as if it were alone: so another program's listener on the
	 * port, another saker's too, is in its way. */
	if (l->count > at->count)
		setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes);
	if (bind(fd, name, size) < 0)
		return fail(at, "bind");
	if (shared && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes) < 0)
		return fail(at, "SO_REUSEPORT");
	if (listen(fd, BACKLOG) < 0)
		return fail(at, "listen");
	return 0;
}

int listeners_open(struct listeners *l, const struct conf *conf)
{
	struct place at = place_of(conf);
	unsigned threads = conf_io_threads(conf);
	int error = 0;

	*l = (struct listeners){ .each = at.count };
	for (unsigned t = 0; t < threads && !error; t++)
		for (unsigned i = 0; i < at.count && !error; i++)
			error = listen_on(l, &at, at.addr[i], threads > 1);
	if (error)
		listeners_close(l);
	return error;
}

void listeners_close(struct listeners *l)
{
	while (l->count)
		close(l->fd[--l->count]);
}
