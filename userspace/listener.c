/* SPDX-License-Identifier: GPL-2.0-only */
#include "listener.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 1024 };

static unsigned per_thread(const struct conf *conf)
{
	return conf->addr_count ? conf->addr_count : 1;
}

static int fail(const struct conf *conf, const char *what)
{
	int error = -errno;

	fprintf(stderr, "saker: port %u: %s: %s%s\n", conf->port, what, strerror(-error),
		error == -EADDRINUSE ? ": stop the program that has it (ss -ltnp), or choose "
				       "another with --port" :
		error == -EACCES     ? ": ports below 1024 need CAP_NET_BIND_SERVICE" :
				       "");
	return error;
}

static const uint8_t any[16];

/* IPv4 addresses are mapped: an IPv6 socket takes both (RFC 3493 3.7). */
static int listen_on(struct listeners *l, const struct conf *conf, const uint8_t address[16])
{
	struct sockaddr_in6 to = { .sin6_family = AF_INET6, .sin6_port = htons(conf->port) };
	struct sockaddr_in to4 = { .sin_family = AF_INET, .sin_port = htons(conf->port) };
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
		return fail(conf, "socket");
	l->fd[l->count++] = fd;
	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
	/* Connections of an earlier run in TIME-WAIT do not keep the port. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
	/* The first one binds as if it were alone: so another program's listener on the
	 * port, another saker's too, is in its way. */
	if (l->count > per_thread(conf))
		setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes);
	if (bind(fd, name, size) < 0)
		return fail(conf, "bind");
	if (conf_io_threads(conf) > 1 &&
	    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes) < 0)
		return fail(conf, "SO_REUSEPORT");
	if (listen(fd, BACKLOG) < 0)
		return fail(conf, "listen");
	return 0;
}

int listeners_open(struct listeners *l, const struct conf *conf)
{
	int error = 0;

	*l = (struct listeners){ .each = per_thread(conf) };
	for (unsigned t = 0; t < conf_io_threads(conf) && !error; t++)
		for (unsigned i = 0; i < l->each && !error; i++)
			error = listen_on(l, conf, conf->addr_count ? conf->addr[i] : any);
	if (error)
		listeners_close(l);
	return error;
}

void listeners_close(struct listeners *l)
{
	while (l->count)
		close(l->fd[--l->count]);
}
