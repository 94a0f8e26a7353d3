/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A card that hangs, for LD_PRELOAD: while the file $HANG is there, the kick of
 * an AF_XDP socket sends nothing, as a driver's full queue does. No veth can.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

ssize_t sendto(int fd, const void *bytes, size_t n, int flags, const struct sockaddr *to,
	       socklen_t len)
{
	static ssize_t (*real)(int, const void *, size_t, int, const struct sockaddr *, socklen_t);

	if (!real)
		real = (ssize_t (*)(int, const void *, size_t, int, const struct sockaddr *,
				    socklen_t))dlsym(RTLD_NEXT, "sendto");
	if (!bytes && !access(getenv("HANG"), F_OK)) {
		errno = EAGAIN;
		return -1;
	}
	return real(fd, bytes, n, flags, to, len);
}
