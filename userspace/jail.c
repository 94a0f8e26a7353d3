/* SPDX-License-Identifier: GPL-2.0-only */
#include "jail.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "jail_filter.h"

static int refuse(const char *what, int err, const char *cure)
{
	fprintf(stderr, "saker: worker: %s: %s%s\n", what, strerror(err), cure);
	return -err;
}

/* --- the user ----------------------------------------------------------------------- */

static int change_user(const struct jail_want *want)
{
	if (want->keep_user)
		return 0;
	if (setgroups(0, NULL) || setresgid(want->gid, want->gid, want->gid) ||
	    setresuid(want->uid, want->uid, want->uid))
		return refuse("cannot change its user", errno,
			      ": grant CAP_SETUID and CAP_SETGID, or choose --user=none");
	return 0;
}

/* --- privileges ---------------------------------------------------------------------- */

/* The worker locks its own tables, and no longer has CAP_IPC_LOCK then. */
static void allow_locking(void)
{
	struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY }, some;

	if (!setrlimit(RLIMIT_MEMLOCK, &all) || getrlimit(RLIMIT_MEMLOCK, &some))
		return;
	some.rlim_cur = some.rlim_max;
	setrlimit(RLIMIT_MEMLOCK, &some);
}

/* The kernel says EINVAL behind its last capability. */
static void empty_bounding_set(void)
{
	for (unsigned long cap = 0; !prctl(PR_CAPBSET_DROP, cap, 0, 0, 0); cap++)
		;
}

/* Three calls that Linux keeps, instead of libcap-ng: that is 80 KiB in the two
 * processes, and it reads /proc for 0.2 ms before the first answer. */
static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capset, &header, none))
		return refuse("cannot drop its capabilities", errno, "");
	return 0;
}

/* After the change of user, which takes the signal back. */
static int die_with(pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
		return refuse("PR_SET_PDEATHSIG", errno, "");
	/* It may have died before the call. */
	return getppid() == parent ? 0 : refuse("its starter is gone", ESRCH, "");
}

int jail_enter(const struct jail_want *want)
{
	int error;

	/* A heap for each thread would be grown by mprotect, and shrunk after a look into
	 * /proc: both end at the filter. */
	mallopt(M_ARENA_MAX, 1);
	allow_locking();
	empty_bounding_set();
	error = change_user(want);
	if (!error)
		error = drop_capabilities();
	if (!error && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		error = refuse("PR_SET_NO_NEW_PRIVS", errno, "");
	if (!error)
		error = die_with(want->parent);
	/* LeakSanitizer must be able to look into it, others must not. */
	if (!error && prctl(PR_SET_DUMPABLE, !jail_filters(), 0, 0, 0))
		error = refuse("PR_SET_DUMPABLE", errno, "");
	return error;
}

/* --- system calls ---------------------------------------------------------------------- */

#ifdef BASE_DEBUG
bool jail_filters(void)
{
	return false;
}

int jail_lock(void)
{
	return 0;
}
#else
bool jail_filters(void)
{
	return true;
}

int jail_lock(void)
{
	struct sock_filter program[array_size(jail_program)];
	struct sock_fprog all = { .len = array_size(program), .filter = program };
	/* The worker runs nobody else's code, from which the speculation barriers that
	 * a filter brings on kernels before 5.16 would protect it. */
	unsigned flags = SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW;
	long answer;

	memcpy(program, jail_program, sizeof program);
	program[JAIL_PID_AT].k = (uint32_t)getpid();
	answer = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &all);
	if (answer < 0)
		return refuse("seccomp", errno,
			      errno == EINVAL || errno == ENOSYS ?
				      ": use a kernel with CONFIG_SECCOMP_FILTER" :
				      "");
	/* A thread that has a filter of its own: there is none here. */
	return answer ? refuse("a thread refuses the filter", EBUSY, "") : 0;
}
#endif
