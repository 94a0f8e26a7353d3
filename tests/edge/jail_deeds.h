/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * jail_deeds.h - what a worker does after jail_lock, and what nobody may do there
 *
 * Place    For test_jail.c alone, which does each in a child of its own.
 * Model    A deed has something to prepare, before the child enters, and an act, which
 *          ends the child with FAILED where it does not succeed. A crime is a system
 *          call that must not come back.
 */
#ifndef JAIL_DEEDS_H
#define JAIL_DEEDS_H

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/if_xdp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base.h"

enum {
	FAILED = 3,
	SURVIVED = 4,
	NOT_HERE = 77, /* the test itself may not prepare that */
	LARGE = 1 << 20,
};

/* --- what a worker has before it enters ----------------------------------------------- */

static struct {
	int listener, client, epoll, event, control, far_control, memfd, map;
} has;

#define need(cond) need_that((cond), #cond)

static void need_that(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "# not so: %s (%s)\n", what, strerror(errno));
	_exit(FAILED);
}

static void have_connection(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	struct epoll_event e = { .events = EPOLLIN };
	socklen_t size = sizeof to;

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	has.listener = socket(AF_INET, SOCK_STREAM, 0);
	has.client = socket(AF_INET, SOCK_STREAM, 0);
	has.epoll = epoll_create1(0);
	need(!bind(has.listener, (struct sockaddr *)&to, size) && !listen(has.listener, 1));
	need(!getsockname(has.listener, (struct sockaddr *)&to, &size));
	need(!connect(has.client, (struct sockaddr *)&to, size));
	need(send(has.client, "ask", 3, 0) == 3);
	need(!epoll_ctl(has.epoll, EPOLL_CTL_ADD, has.listener, &e));
}

static void have_gift(void)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec text = { .iov_base = "rings", .iov_len = 5 };
	struct msghdr m = { .msg_iov = &text,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof control };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	int pair[2];

	has.memfd = memfd_create("gift", MFD_CLOEXEC);
	need(has.memfd >= 0 && write(has.memfd, "umem", 4) == 4 && !ftruncate(has.memfd, 4096));
	need(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair));
	has.far_control = pair[0];
	has.control = pair[1];
	*c = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
			       .cmsg_type = SCM_RIGHTS,
			       .cmsg_len = CMSG_LEN(sizeof(int)) };
	memcpy(CMSG_DATA(c), &has.memfd, sizeof(int));
	need(sendmsg(has.far_control, &m, 0) == 5);
	close(has.memfd);
}

static long bpf(int cmd, union bpf_attr *attr)
{
	return syscall(SYS_bpf, cmd, attr, sizeof *attr);
}

static void have_map(void)
{
	union bpf_attr a = {
		.map_type = BPF_MAP_TYPE_HASH, .key_size = 4, .value_size = 8, .max_entries = 4
	};

	has.map = (int)bpf(BPF_MAP_CREATE, &a);
	if (has.map < 0)
		_exit(NOT_HERE);
}

static void have_limit(void)
{
	struct rlimit some;

	need(!getrlimit(RLIMIT_MEMLOCK, &some));
	if (some.rlim_max < LARGE)
		_exit(NOT_HERE);
	some.rlim_cur = LARGE / 2;
	need(!setrlimit(RLIMIT_MEMLOCK, &some));
}

static void have_event(void)
{
	has.event = eventfd(0, EFD_NONBLOCK);
	need(has.event >= 0);
}

static void have_signals(void)
{
	sigset_t term;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	need(!sigprocmask(SIG_BLOCK, &term, NULL) && !kill(getpid(), SIGTERM));
}

/* --- what it may do ------------------------------------------------------------------------ */

static void answer_socket(void)
{
	struct epoll_event e;
	struct sockaddr_in from;
	socklen_t size = sizeof from;
	char text[8];
	int fd, yes = 1;

	need(epoll_wait(has.epoll, &e, 1, 1000) == 1);
	fd = accept4(has.listener, (struct sockaddr *)&from, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
	need(fd >= 0);
	need(!setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes));
	need(!epoll_ctl(has.epoll, EPOLL_CTL_ADD, fd, &(struct epoll_event){ .events = EPOLLIN }));
	need(recv(fd, text, sizeof text, 0) == 3);
	need(send(fd, "answer", 6, MSG_NOSIGNAL) == 6);
	need(recv(has.client, text, sizeof text, 0) == 6);
	need(!shutdown(fd, SHUT_WR) && !close(fd));
}

static void take_gift(void)
{
	char bytes[CMSG_SPACE(sizeof(int))], text[8];
	struct iovec to = { .iov_base = text, .iov_len = sizeof text };
	struct msghdr m = { .msg_iov = &to,
			    .msg_iovlen = 1,
			    .msg_control = bytes,
			    .msg_controllen = sizeof bytes };
	struct stat st;
	char *at;
	int fd;

	need(recvmsg(has.control, &m, MSG_CMSG_CLOEXEC) == 5 && CMSG_FIRSTHDR(&m));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
	need(!fstat(fd, &st) && st.st_size == 4096);
	at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	need(at != MAP_FAILED && !memcmp(at, "umem", 4));
	m.msg_controllen = CMSG_SPACE(sizeof(int)); /* and back */
	need(sendmsg(has.control, &m, 0) > 0);
	need(!munmap(at, 4096) && !close(fd));
}

static void use_map(void)
{
	uint32_t key = 7;
	uint64_t value = 8;
	union bpf_attr a = { .map_fd = (uint32_t)has.map,
			     .key = (uintptr_t)&key,
			     .value = (uintptr_t)&value };
	union bpf_attr of_key = { .map_fd = a.map_fd, .key = a.key };

	need(!bpf(BPF_MAP_UPDATE_ELEM, &a));
	value = 0;
	need(!bpf(BPF_MAP_LOOKUP_ELEM, &a) && value == 8);
	need(!bpf(BPF_MAP_DELETE_ELEM, &of_key));
	need(bpf(BPF_MAP_LOOKUP_ELEM, &a) < 0 && errno == ENOENT);
}

static void ask_xdp(void)
{
	struct xdp_statistics s;
	socklen_t size = sizeof s;

	/* The kernel is asked, whatever it says of a socket of another kind. */
	need(getsockopt(has.listener, SOL_XDP, XDP_STATISTICS, &s, &size) < 0);
}

/* As cpu_pages does: without CAP_IPC_LOCK. */
static void lock_memory(void)
{
	void *at = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	need(at != MAP_FAILED && !mlock2(at, LARGE, MLOCK_ONFAULT));
}

/* A thread's own arena would ask for mprotect, and for /proc, when it shrinks. */
static void use_heap(void)
{
	char *small[64], *large = malloc(1 << 20);

	for (unsigned i = 0; i < 64; i++)
		need((small[i] = malloc(20000)));
	need(large && (large = realloc(large, 8 << 20)));
	for (unsigned i = 0; i < 64; i++)
		free(small[i]);
	free(large);
}

static void wait_all_ways(void)
{
	struct timespec little = { .tv_nsec = 1000000 };
	struct pollfd p = { .fd = has.event, .events = POLLIN };
	uint64_t n = 1;

	need(!nanosleep(&little, NULL) && !clock_nanosleep(CLOCK_MONOTONIC, 0, &little, NULL));
	need(write(has.event, &n, sizeof n) == sizeof n);
	need(poll(&p, 1, 1000) == 1 && ppoll(&p, 1, &little, NULL) == 1);
	need(read(has.event, &n, sizeof n) == sizeof n && n == 1);
}

static void take_signal(void)
{
	struct timespec second = { .tv_sec = 1 };
	sigset_t term;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	need(sigtimedwait(&term, NULL, &second) == SIGTERM);
	need(!pthread_sigmask(SIG_UNBLOCK, &term, NULL));
}

static void be_itself(void)
{
	struct timespec now;
	uint32_t random;

	need(syscall(SYS_getrandom, &random, sizeof random, 0) == sizeof random);
	need(!syscall(SYS_clock_gettime, CLOCK_REALTIME, &now));
	need(!prctl(PR_SET_NAME, "saker-jailed"));
	need(fprintf(stderr, "%s", "") == 0);
}

static const struct deed {
	const char *name;
	void (*have)(void);
	void (*act)(void);
} may[] = {
	{ "answer a client of the kernel's socket", have_connection, answer_socket },
	{ "take a descriptor, map it, give it back", have_gift, take_gift },
	{ "change, read and delete an entry of a map", have_map, use_map },
	{ "ask an AF_XDP socket for its statistics", have_connection, ask_xdp },
	{ "lock more memory than its limit was", have_limit, lock_memory },
	{ "use the heap", NULL, use_heap },
	{ "wait: nanosleep, eventfd, poll", have_event, wait_all_ways },
	{ "take a signal", have_signals, take_signal },
	{ "ask for time and random, take a name", NULL, be_itself },
};

/* --- what it may not do ---------------------------------------------------------------------- */

/* Numbers and arguments as they come; of a survivor only the child's end is seen. */
static const struct crime {
	const char *name;
	long number;
	long arg[6];
} crimes[] = {
	{ "openat", SYS_openat, { AT_FDCWD, (long)"/etc/passwd", O_RDONLY } },
	{ "socket", SYS_socket, { AF_INET, SOCK_STREAM, 0 } },
	{ "execve", SYS_execve, { (long)"/bin/true", 0, 0 } },
	{ "ptrace", SYS_ptrace, { PTRACE_PEEKDATA } },
	{ "mount", SYS_mount, { (long)"none", (long)"/tmp", (long)"tmpfs" } },
	{ "mmap of code",
	  SYS_mmap,
	  { 0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1 } },
	{ "mprotect", SYS_mprotect, { 0, 0, PROT_READ } },
	{ "bpf: load a program", SYS_bpf, { BPF_PROG_LOAD } },
	{ "bpf: make a map", SYS_bpf, { BPF_MAP_CREATE } },
	{ "bpf: open a pin", SYS_bpf, { BPF_OBJ_GET } },
	{ "setuid", SYS_setuid, { 0 } },
	{ "kill", SYS_kill, { 1, 0 } },
	{ "kill itself", SYS_kill, { 0, 0 } },
	{ "tgkill of another process", SYS_tgkill, { 1, 1, 0 } },
	{ "a process: clone", SYS_clone, { SIGCHLD } },
	{ "a thread: clone3", SYS_clone3, { 0, 0 } },
	{ "setsockopt, but of TCP_NODELAY", SYS_setsockopt, { 0, IPPROTO_TCP, TCP_CONGESTION } },
	{ "getsockopt, but of AF_XDP", SYS_getsockopt, { 0, SOL_SOCKET, SO_ERROR } },
	{ "prctl: be traceable", SYS_prctl, { PR_SET_DUMPABLE, 1 } },
	{ "stat of a path", SYS_newfstatat, { AT_FDCWD, (long)"/etc/passwd", 0, 0 } },
	{ "memfd_create", SYS_memfd_create, { (long)"x", 0 } },
	{ "ioctl", SYS_ioctl, { 0, 0 } },
	{ "unshare", SYS_unshare, { CLONE_NEWUSER } },
	{ "io_uring_setup", SYS_io_uring_setup, { 1, 0 } },
	{ "process_vm_readv", SYS_process_vm_readv, { 1 } },
	{ "bind", SYS_bind, { 0 } },
	{ "connect", SYS_connect, { 0 } },
	{ "setrlimit", SYS_prlimit64, { 0 } },
	{ "sched_setaffinity", SYS_sched_setaffinity, { 0 } },
	{ "a call of the future", 1023, { 0 } },
};

#endif
