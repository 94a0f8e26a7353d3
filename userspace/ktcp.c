/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "ktcp.h"

enum { ASK_MS = 1000 }; /* loopback takes 0.1 ms */

static int listen_on(int fd, struct sockaddr_in *at)
{
	socklen_t size = sizeof *at;

	*at = (struct sockaddr_in){ .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	return bind(fd, (struct sockaddr *)at, size) || listen(fd, 1) ||
			       getsockname(fd, (struct sockaddr *)at, &size) ?
		       -errno :
		       0;
}

/* The kernel's end; or -errno. */
static int take(int listener)
{
	struct pollfd p = { .fd = listener, .events = POLLIN };
	int n = poll(&p, 1, ASK_MS), fd;

	if (n <= 0)
		return n ? -errno : -ETIMEDOUT;
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int read_info(struct ktcp *kernel, int fd)
{
	struct tcp_info info = { 0 };
	socklen_t size = sizeof info;

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size))
		return -errno;
	kernel->scale = info.tcpi_rcv_wscale;
	kernel->options = (info.tcpi_options & TCPI_OPT_WSCALE ? STEER_KERNEL_SCALE : 0) |
			  (info.tcpi_options & TCPI_OPT_SACK ? STEER_KERNEL_SACK : 0);
	/* Its cookies have no room for them without timestamps. */
	if (!(info.tcpi_options & TCPI_OPT_TIMESTAMPS))
		*kernel = (struct ktcp){ 0 };
	return 0;
}

/* The client only connects: a handshake by cookie is complete with its last ACK. */
static int ask(struct ktcp *kernel, int listener, int client)
{
	struct sockaddr_in at;
	int error = listen_on(listener, &at), fd;

	if (error)
		return error;
	if (connect(client, (struct sockaddr *)&at, sizeof at) && errno != EINPROGRESS)
		return -errno;
	fd = take(listener);
	if (fd < 0)
		return fd;
	error = read_info(kernel, fd);
	close(fd);
	return error;
}

int ktcp_ask(struct ktcp *kernel)
{
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int error = listener < 0 || client < 0 ? -errno : ask(kernel, listener, client);

	if (client >= 0)
		close(client);
	if (listener >= 0)
		close(listener);
	if (error)
		fprintf(stderr,
			"saker: --steer=path: no connection over loopback to see what the kernel's "
			"TCP agrees to: %s: ip link set dev lo up\n",
			strerror(-error));
	return error;
}
