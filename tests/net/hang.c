/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A card that hangs, for LD_PRELOAD: while the first byte of the file $HANG is a 1, the
 * kick of an AF_XDP socket sends nothing, as a driver's full queue does; while it is a 2,
 * nor do AF_PACKET's sockets. No veth can.
 * The file is mapped at the start: the worker may open nothing.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static const volatile char *hangs = "0";
static ssize_t (*real)(int, const void *, size_t, int, const struct sockaddr *, socklen_t);

__attribute__((constructor)) static void begin(void)
{
	int fd = open(getenv("HANG"), O_RDONLY | O_CLOEXEC);
	void *at = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);

	if (at != MAP_FAILED)
		hangs = at;
	close(fd);
	real = (ssize_t(*)(int, const void *, size_t, int, const struct sockaddr *,
			   socklen_t))dlsym(RTLD_NEXT, "sendto");
}

ssize_t sendto(int fd, const void *bytes, size_t n, int flags, const struct sockaddr *to,
	       socklen_t len)
{
	if (!bytes && *hangs != '0') {
		errno = EAGAIN;
		return -1;
	}
	return real(fd, bytes, n, flags, to, len);
}

/* The worker may not ask what a socket is: the test frame alone is so long, and sent so. */
ssize_t send(int fd, const void *bytes, size_t n, int flags)
{
	if (*hangs == '2' && n == 60 && flags == MSG_DONTWAIT) {
		errno = ENOBUFS;
		return -1;
	}
	return real(fd, bytes, n, flags, NULL, 0);
}

/* What is sent by this call is all AF_PACKET's. */
int sendmmsg(int fd, struct mmsghdr *message, unsigned n, int flags)
{
	static int (*real_mmsg)(int, struct mmsghdr *, unsigned, int);

	if (*hangs == '2') {
		errno = ENOBUFS;
		return -1;
	}
	if (!real_mmsg)
		real_mmsg = (int (*)(int, struct mmsghdr *, unsigned, int))dlsym(RTLD_NEXT,
										 "sendmmsg");
	return real_mmsg(fd, message, n, flags);
}
