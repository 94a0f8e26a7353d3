/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The worker's jail, from inside: every deed is done by a child of its own, which
 * enters, makes a second thread, locks, and then does it. What it may do must succeed;
 * of what it may not do the kernel must kill it by SIGSYS. Needs root, as a starter is.
 */
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "jail.h"
#include "jail_deeds.h"
#include "tap.h"

enum {
	DEADLINE_S = 20, /* a child that hangs is killed by SIGALRM */
	NO_JAIL = 5,
};

static struct jail_want want = { .uid = 65534, .gid = 65534 }; /* nobody */

/* --- the jail ------------------------------------------------------------------------------- */

static sem_t go, done_it;
static void (*act_there)(void);

static void *other_thread(void *none)
{
	sem_wait(&go);
	if (act_there)
		act_there();
	sem_post(&done_it);
	return none;
}

/* In the child: as a worker does; it does not come back where that fails. */
static pthread_t enter_and_lock(const struct jail_want *as)
{
	pthread_t other;

	alarm(DEADLINE_S);
	if (jail_enter(as))
		_exit(NO_JAIL);
	need(!sem_init(&go, 0, 0) && !sem_init(&done_it, 0, 0));
	need(!pthread_create(&other, NULL, other_thread, NULL));
	need(!pthread_setname_np(other, "saker-io"));
	if (jail_lock())
		_exit(NO_JAIL);
	return other;
}

/* A child's status after the deed, by its first thread or by the other one. */
static int jailed(const struct jail_want *as, const struct deed *deed, bool by_other)
{
	int status = -1;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (!child) {
		pthread_t other;

		if (deed->have)
			deed->have();
		act_there = by_other ? deed->act : NULL;
		other = enter_and_lock(as);
		if (!by_other)
			deed->act();
		sem_post(&go);
		sem_wait(&done_it);
		pthread_join(other, NULL);
		_exit(0);
	}
	waitpid(child, &status, 0);
	return status;
}

static void test_may(void)
{
	for (unsigned i = 0; i < array_size(may); i++)
		for (int by_other = 0; by_other < 2; by_other++) {
			int status = jailed(&want, &may[i], by_other);
			char name[128];

			snprintf(name, sizeof name, "it may: %s%s", may[i].name,
				 by_other ? ", in a thread" : "");
			if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_HERE)
				skip(name, "the test itself may not prepare that here");
			else
				is(status, 0, "%s", name);
		}
}

static const struct crime *crime;

static void commit_crime(void)
{
	const long *a = crime->arg;

	syscall(crime->number, a[0], a[1], a[2], a[3], a[4], a[5]);
	_exit(SURVIVED);
}

static void test_may_not(void)
{
	static const struct deed deed = { .act = commit_crime };

	for (unsigned i = 0; i < array_size(crimes); i++) {
		crime = &crimes[i];
		if (!jail_filters()) {
			skip(crime->name, "a sanitized build has no filter");
			continue;
		}
		/* Every other one by the thread that was there before the filter. */
		int status = jailed(&want, &deed, i % 2);

		ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS,
		   "it dies of: %s (status 0x%x)", crime->name, (unsigned)status);
	}
}

static void test_abort(void)
{
	static const struct deed deed = { .act = abort };
	int status = jailed(&want, &deed, false);

	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "abort ends it by SIGABRT");
}

/* --- what of it is seen from outside ---------------------------------------------------------- */

/* "CapEff:\t0000" of one thread; the value in `value`. */
static void status_field(const char *path, const char *field, char value[256])
{
	char line[512];
	FILE *f = fopen(path, "re");
	size_t n = strlen(field);

	*value = '\0';
	while (f && fgets(line, sizeof line, f))
		if (!strncmp(line, field, n) && line[n] == ':')
			snprintf(value, 256, "%.*s", (int)strcspn(line + n + 1, "\n"),
				 line + n + 1);
	if (f)
		fclose(f);
}

static void thread_is(const char *path, const char *field, const char *wanted)
{
	char value[256], *at = value;

	status_field(path, field, value);
	at += strspn(at, " \t");
	at[strcspn(at, " ")] = '\0';
	is_str(at, wanted, "%s in %s", field, path);
}

static void threads_are(pid_t pid, uid_t uid, gid_t gid)
{
	static const char *const sets[] = { "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb" };
	char dir[64], path[512], id[64];
	DIR *tasks;
	unsigned threads = 0;

	snprintf(dir, sizeof dir, "/proc/%d/task", (int)pid);
	tasks = opendir(dir);
	for (struct dirent *d; tasks && (d = readdir(tasks));) {
		if (*d->d_name == '.')
			continue;
		threads++;
		snprintf(path, sizeof path, "%s/%s/status", dir, d->d_name);
		for (unsigned i = 0; i < array_size(sets); i++)
			thread_is(path, sets[i], "0000000000000000");
		thread_is(path, "NoNewPrivs", "1");
		thread_is(path, "Seccomp", jail_filters() ? "2" : "0");
		snprintf(id, sizeof id, "%u\t%u\t%u\t%u", uid, uid, uid, uid);
		thread_is(path, "Uid", id);
		snprintf(id, sizeof id, "%u\t%u\t%u\t%u", gid, gid, gid, gid);
		thread_is(path, "Gid", id);
		if (uid)
			thread_is(path, "Groups", "");
	}
	if (tasks)
		closedir(tasks);
	is(threads, 2, "threads of the worker");
}

static int gate[2];

static void say_and_wait(void)
{
	char byte = 0;

	need(write(has.event, &byte, 1) == 1);
	need(read(gate[0], &byte, 1) == 1);
}

/* A worker that is locked and waits at the gate; -1: it died. */
static pid_t parked(const struct jail_want *as)
{
	int here[2];
	char byte;
	pid_t child;

	if (pipe(here) || pipe(gate))
		return -1;
	fflush(stdout);
	child = fork();
	if (!child) {
		need(geteuid() || as->keep_user || !setgroups(1, &(gid_t){ 4 }));
		has.event = here[1];
		enter_and_lock(as);
		say_and_wait();
		_exit(0);
	}
	close(here[1]);
	if (read(here[0], &byte, 1) != 1)
		child = -1;
	close(here[0]);
	return child;
}

static void release(pid_t child)
{
	int status = -1;

	if (write(gate[1], "", 1) == 1)
		waitpid(child, &status, 0);
	is(status, 0, "it ends well");
	close(gate[0]);
	close(gate[1]);
}

static void test_outside(void)
{
	struct jail_want as_root = { .keep_user = true, .parent = getpid() };
	char path[64];
	struct stat st = { .st_uid = 1 };
	pid_t child = parked(&want);

	threads_are(child, want.uid, want.gid);
	snprintf(path, sizeof path, "/proc/%d/mem", (int)child);
	ok(!stat(path, &st) && (st.st_uid == 0 || !jail_filters()),
	   "others of its user cannot look into it");
	release(child);
	child = parked(&as_root);
	threads_are(child, 0, 0);
	release(child);
}

/* A sleep that goes on after the stop is another system call. */
static void test_stop(void)
{
	struct timespec part = { .tv_nsec = 300000000 }, little = { .tv_nsec = 100000000 };
	int here[2], status = -1;
	char byte;
	pid_t child;

	if (pipe(here))
		return;
	fflush(stdout);
	child = fork();
	if (!child) {
		enter_and_lock(&want);
		need(write(here[1], "", 1) == 1);
		need(!nanosleep(&part, NULL));
		_exit(0);
	}
	need(read(here[0], &byte, 1) == 1);
	nanosleep(&little, NULL);
	kill(child, SIGSTOP);
	waitpid(child, &status, WUNTRACED);
	ok(WIFSTOPPED(status), "a sleeper is stopped");
	kill(child, SIGCONT);
	waitpid(child, &status, 0);
	is(status, 0, "and sleeps on");
	close(here[0]);
	close(here[1]);
}

/* --- its starter ------------------------------------------------------------------------------ */

/* Of all that root may, what packaging/saker@.service leaves for this. */
static void be_as_the_unit(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct some[_LINUX_CAPABILITY_U32S_3] = { 0 };

	some[0].effective = some[0].permitted = 1u << CAP_SETUID | 1u << CAP_SETGID |
						1u << CAP_SETPCAP | 1u << CAP_KILL;
	need(!syscall(SYS_capset, &header, some));
}

static void test_death(void)
{
	int here[2], status = -1;
	pid_t starter, worker = -1;

	if (pipe(here) || prctl(PR_SET_CHILD_SUBREAPER, 1))
		return;
	fflush(stdout);
	starter = fork();
	if (!starter) {
		struct jail_want as = want;

		be_as_the_unit();
		as.parent = getpid();
		worker = parked(&as);
		need(write(here[1], &worker, sizeof worker) == sizeof worker);
		_exit(worker < 0);
	}
	waitpid(starter, &status, 0);
	is(status, 0, "a starter with the unit's capabilities has a worker");
	need(read(here[0], &worker, sizeof worker) == sizeof worker);
	waitpid(worker, &status, 0);
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "which dies with it");
	close(here[0]);
	close(here[1]);
}

/* jail_enter's answer in a child, and the start of what it says. */
static void answers(const char *name, const struct jail_want *as, uid_t uid, int wanted,
		    const char *says)
{
	int here[2], status = -1;
	char text[256] = "";
	pid_t child;

	if (pipe(here))
		return;
	fflush(stdout);
	child = fork();
	if (!child) {
		alarm(DEADLINE_S);
		dup2(here[1], STDERR_FILENO);
		need(!uid || !setuid(uid));
		_exit(-jail_enter(as));
	}
	close(here[1]);
	waitpid(child, &status, 0);
	need(read(here[0], text, sizeof text - 1) >= 0);
	is(WEXITSTATUS(status), wanted, "%s: its answer", name);
	ok(!strncmp(text, says, strlen(says)) && (*says || !*text), "%s: says what is wrong", name);
	close(here[0]);
}

static void test_refusals(void)
{
	struct jail_want stranger = want, same = want;

	stranger.parent = 1;
	same.keep_user = true;
	answers("a starter that died before", &stranger, 0, ESRCH, "saker: worker: its starter");
	answers("another user, without root", &want, want.uid, EPERM,
		"saker: worker: cannot change its user");
	answers("the same user, without root", &same, want.uid, 0, "");
}

int main(void)
{
	struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (geteuid()) {
		skip("the jail", "needs root");
		return done();
	}
	want.parent = getpid();
	test_may();
	test_may_not();
	test_abort();
	test_outside();
	test_stop();
	test_death();
	test_refusals();
	return done();
}
