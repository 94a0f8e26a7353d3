/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * jail_filter - the system calls of the worker, as a seccomp program in C
 *
 * Usage    jail_filter ARCH > jail_filter.h; ARCH as libseccomp names it: x86_64, aarch64
 *
 * Place    Run by the build, on the machine that builds, for the one that is built
 *          for. userspace/jail.c includes the result. libseccomp makes the program
 *          here and not in the worker, where it takes 60 to 110 KiB and 0.3 ms of the
 *          first answer: the memory of all processes shall be below 4 MB.
 * Model    Two allow-lists: calls that are always allowed, among them the frequent
 *          ones (since Linux 5.11 the kernel allows these by a bit and does not run
 *          the program), and calls with certain arguments, a row for each choice.
 *          Whatever is in neither kills the process.
 * To see   what was refused: `journalctl -k -g type=1326`; syscall= has the number,
 *          which `ausyscall NUMBER` or `scmp_sys_resolver NUMBER` names.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/if_xdp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base.h"

/* In the program where jail_lock puts the process number. No process has this one, which
 * is above the kernel's limit (2^22), and nothing else in the program is equal to it. */
#define OWN_PID 0x7a11ed01u

enum { PROGRAM_MAX = 512 };

/* Of an int the kernel looks at 32 bits, whatever the upper half has. */
#define INT(arg, value) SCMP_CMP(arg, SCMP_CMP_MASKED_EQ, 0xffffffff, value)
#define NONE_OF(arg, bits) SCMP_CMP(arg, SCMP_CMP_MASKED_EQ, bits, 0)

static const char *const always[] = {
	/* connections, AF_XDP's kicks, AF_PACKET's frames, descriptors from the starter and to it */
	"accept4", "recvfrom", "sendto", "sendmmsg", "recvmsg", "sendmsg", "shutdown",
	/* what is open: eventfd, access log, standard error (writev: the C library's last words) */
	"read", "write", "writev", "close", "fstat",
	/* waiting (restart_syscall: after SIGSTOP and SIGCONT; clock_gettime: where the vDSO
	 * has no clock) */
	"epoll_ctl", "epoll_wait", "epoll_pwait", "poll", "ppoll", "futex", "clock_nanosleep",
	"restart_syscall", "clock_gettime", "rt_sigtimedwait", "rt_sigprocmask", "rt_sigreturn",
	/* memory */
	"mremap", "munmap", "madvise", "mlock2", "brk",
	/* itself (set_robust_list, rseq: a new thread's first calls, which may come late) */
	"set_robust_list", "rseq", "getrandom", "getpid", "gettid", "exit", "exit_group"
};

static const struct rule {
	const char *name;
	unsigned count;
	struct scmp_arg_cmp arg[2];
} only[] = {
	{ "setsockopt", 2, { INT(1, IPPROTO_TCP), INT(2, TCP_NODELAY) } },
	{ "getsockopt", 1, { INT(1, SOL_XDP) } },
	{ "newfstatat", 1, { INT(3, AT_EMPTY_PATH) } }, /* fstat, in newer C libraries */
	{ "mmap", 1, { NONE_OF(2, PROT_EXEC) } },       /* and no mprotect: memory is never code */
	{ "fcntl", 1, { INT(1, F_DUPFD_CLOEXEC) } },
	/* Entries of maps that the starter gave: no new maps, no programs. */
	{ "bpf", 1, { INT(0, BPF_MAP_LOOKUP_ELEM) } },
	{ "bpf", 1, { INT(0, BPF_MAP_UPDATE_ELEM) } },
	{ "bpf", 1, { INT(0, BPF_MAP_DELETE_ELEM) } },
	{ "bpf", 1, { INT(0, BPF_MAP_GET_NEXT_KEY) } }, /* flows_sweep */
	{ "prctl", 1, { INT(0, PR_SET_NAME) } },
	{ "tgkill", 1, { INT(0, OWN_PID) } }, /* abort */
};

static int fail(const char *what, int error)
{
	fprintf(stderr, "jail_filter: %s: %s\n", what, strerror(-error));
	return 1;
}

static int add_rule(scmp_filter_ctx filter, const struct rule *r)
{
	int number = seccomp_syscall_resolve_name(r->name);
	int error = number == __NR_SCMP_ERROR ? -EINVAL :
						seccomp_rule_add_array(filter, SCMP_ACT_ALLOW,
								       number, r->count, r->arg);

	return error ? fail(r->name, error) : 0;
}

static int add_rules(scmp_filter_ctx filter)
{
	int bad = 0;

	for (size_t i = 0; i < array_size(always); i++)
		bad |= add_rule(filter, &(struct rule){ .name = always[i] });
	for (size_t i = 0; i < array_size(only); i++)
		bad |= add_rule(filter, &only[i]);
	return bad;
}

/* The program in bytes, by way of a file: all that libseccomp 2.5 can write to. */
static ssize_t compile(scmp_filter_ctx filter, struct sock_filter program[PROGRAM_MAX])
{
	FILE *file = tmpfile();
	int error = file ? seccomp_export_bpf(filter, fileno(file)) : -errno;
	ssize_t length = error ? error :
				 pread(fileno(file), program, PROGRAM_MAX * sizeof *program, 0);

	if (file)
		fclose(file);
	return length;
}

static int print(const char *arch, const struct sock_filter *program, size_t count)
{
	size_t at = count;

	printf("/* Made by tools/jail_filter.c for %s. */\n", arch);
	printf("static const struct sock_filter jail_program[] = {\n");
	for (size_t i = 0; i < count; i++) {
		const struct sock_filter *s = &program[i];

		if (s->k == OWN_PID && at < count)
			return fail("the process number stands twice in the program", -EINVAL);
		if (s->k == OWN_PID)
			at = i;
		printf("\t{ 0x%02x, %u, %u, 0x%08x },\n", s->code, s->jt, s->jf, s->k);
	}
	if (at == count)
		return fail("the process number does not stand in the program", -EINVAL);
	printf("};\n\nenum { JAIL_PID_AT = %zu };\n", at);
	return 0;
}

int main(int argc, char **argv)
{
	struct sock_filter program[PROGRAM_MAX];
	uint32_t arch = argc == 2 ? seccomp_arch_resolve_name(argv[1]) : 0;
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	ssize_t length;

	if (!arch)
		return fail("wanted an architecture that libseccomp knows", -EINVAL);
	if (!filter)
		return fail("no memory", -ENOMEM);
	seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (arch != seccomp_arch_native() &&
	    (seccomp_arch_remove(filter, SCMP_ARCH_NATIVE) || seccomp_arch_add(filter, arch)))
		return fail(argv[1], -EINVAL);
	if (add_rules(filter))
		return 1;
	length = compile(filter, program);
	seccomp_release(filter);
	if (length <= 0 || length == (ssize_t)sizeof program)
		return fail("no program", length < 0 ? (int)length : -E2BIG);
	return print(argv[1], program, (size_t)length / sizeof *program);
}
