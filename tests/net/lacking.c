/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * lacking WHAT COMMAND... - as on a kernel that lacks something, by a seccomp filter
 *
 *   af_xdp   socket(AF_XDP) says EAFNOSUPPORT: CONFIG_XDP_SOCKETS is not set. Of a program
 *            that asks for an XSKMAP all the same nothing is known.
 *   tcx      the same, and bpf(BPF_LINK_CREATE) says EINVAL: Linux before 6.6
 */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(member) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offsetof(struct seccomp_data, member))
#define UNLESS(value, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip)
#define SAY(word) BPF_STMT(BPF_RET | BPF_K, word)

int main(int argc, char **argv)
{
	int tcx = argc > 1 && !strcmp(argv[1], "tcx");
	struct sock_filter code[] = {
		LOAD(nr),
		UNLESS(SYS_socket, 3),
		LOAD(args[0]),
		UNLESS(AF_XDP, 5),
		SAY(SECCOMP_RET_ERRNO | EAFNOSUPPORT),
		UNLESS(tcx ? SYS_bpf : ~0u, 3),
		LOAD(args[0]),
		UNLESS(BPF_LINK_CREATE, 1),
		SAY(SECCOMP_RET_ERRNO | EINVAL),
		SAY(SECCOMP_RET_ALLOW),
	};
	struct sock_fprog all = { .len = sizeof code / sizeof *code, .filter = code };

	if (argc < 3 || (!tcx && strcmp(argv[1], "af_xdp")))
		return 2;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all))
		return perror("lacking"), 1;
	execv(argv[2], argv + 2);
	return perror(argv[2]), 1;
}
