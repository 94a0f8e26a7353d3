/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * --fix and --undo below a root of plain files, killed at every call that leaves a trace on
 * the disk (the linker puts us before these: see the Makefile). Whatever happens, one undo
 * ends at the files as they were.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "doctor_fix.h"
#include "tap.h"

static char root[64] = "/dev/shm/test_doctor_fix.XXXXXX"; /* no disk: fsync is cheap there */
static struct finding found[2];

/* --- death ------------------------------------------------------------------------------ */

/* This many calls more; 0: it lives. */
static unsigned lives;

static void wound(void)
{
	if (lives && !--lives)
		raise(SIGKILL);
}

#define WRAP(type, name, parameters, ...) \
	type __real_##name parameters; \
	type __wrap_##name parameters; \
	type __wrap_##name parameters \
	{ \
		wound(); \
		return __real_##name(__VA_ARGS__); \
	}

WRAP(ssize_t, write, (int fd, const void *buf, size_t len), fd, buf, len)
WRAP(int, fsync, (int fd), fd)
WRAP(int, rename, (const char *a, const char *b), a, b)
WRAP(int, renameat, (int from, const char *a, int to, const char *b), from, a, to, b)
WRAP(int, unlinkat, (int fd, const char *path, int flags), fd, path, flags)
WRAP(int, unlink, (const char *path), path)
WRAP(int, mkdir, (const char *path, mode_t mode), path, mode)
WRAP(int, rmdir, (const char *path), path)

/* --- the root --------------------------------------------------------------------------- */

__attribute__((format(printf, 1, 2))) static int shell(const char *format, ...)
{
	char command[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof command, format, args);
	va_end(args);
	return system(command);
}

static void put(const char *path, const char *text)
{
	char whole[256];
	FILE *file;

	snprintf(whole, sizeof whole, "%s/now/%s", root, path);
	for (char *at = whole + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(whole, 0755);
		*at = '/';
	}
	file = fopen(whole, "w");
	must(file && fputs(text, file) >= 0 && !fclose(file));
}

static const char *get(const char *path)
{
	static char text[256];
	char whole[256];
	int fd;
	ssize_t n;

	snprintf(whole, sizeof whole, "%s/now/%s", root, path);
	fd = open(whole, O_RDONLY);
	n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void make(void)
{
	put("proc/sys/kernel/random/boot_id", "11111111-2222-3333-4444-555555555555\n");
	put("proc/sys/vm/stat_interval", "1\n");
	put("proc/irq/106/smp_affinity_list", "0-3\n");
	put("sys/module/pcie_aspm/parameters/policy", "[default] performance powersave\n");
	put("ethtool/eth0/c", "rx-usecs:\t50\ntx-usecs:\t50\n");
	put("ethtool/eth0/g", "Current hardware settings:\nRX:\t512\n");
	put("ethtool/eth0/eee", "EEE status: enabled - active\n");
	put("ethtool/eth0/k", "large-receive-offload: on [fixed]\n");
	put("sys/fs/cgroup/cgroup.controllers", "cpuset cpu\n");
	put("sys/fs/cgroup/cgroup.subtree_control", "cpu\n");
	must(!shell("mv %s/now %s/made", root, root));
}

static void fresh(void)
{
	must(!shell("cd %s && rm -rf now before && cp -a made now && cp -a made before", root));
}

/* But for where the state file is. */
static bool as_before(void)
{
	return !shell("diff -r -x var -x .saker-doctor.new %s/before %s/now", root, root);
}

static bool state_there(void)
{
	char path[128];

	snprintf(path, sizeof path, "%s/now" FIX_STATE, root);
	return !access(path, F_OK);
}

static void add(struct finding *f, enum setting_kind kind, const char *where, const char *value)
{
	struct setting *s = &f->setting[f->settings++];

	s->kind = kind;
	snprintf(s->where, sizeof s->where, "%s", where);
	snprintf(s->value, sizeof s->value, "%s", value);
}

static void findings(void)
{
	struct finding *f = &found[0];

	memset(found, 0, sizeof found);
	*f = (struct finding){ .check = "all", .verdict = VERDICT_WARN, .fix_kind = FIX_RUNTIME };
	add(f, SETTING_FILE, "proc/sys/vm/stat_interval", "120");
	add(f, SETTING_FILE, "/proc/irq/106/smp_affinity_list", "0");
	add(f, SETTING_ETHTOOL, "-C rx-usecs", "0");
	add(f, SETTING_ETHTOOL, "-C tx-usecs", "0");
	add(f, SETTING_PARTITION, "cpuset", "1-3");
	add(f, SETTING_FILE, "sys/module/pcie_aspm/parameters/policy", "performance");
	add(f, SETTING_ETHTOOL, "--set-eee eee", "off");
	add(f, SETTING_ETHTOOL, "-G rx", "1024");
	found[1] = (struct finding){ .check = "taste",
				     .verdict = VERDICT_INFO,
				     .fix_kind = FIX_RUNTIME };
	add(&found[1], SETTING_ETHTOOL, "-K lro", "off");
}

static bool all_fixed(void)
{
	return !strcmp(get("proc/sys/vm/stat_interval"), "120\n") &&
	       !strcmp(get("proc/irq/106/smp_affinity_list"), "0\n") &&
	       !strcmp(get("ethtool/eth0/c"), "rx-usecs:\t0\ntx-usecs:\t0\n") &&
	       !strcmp(get("sys/fs/cgroup/saker/cpuset.cpus.partition"), "isolated") &&
	       !strcmp(get("sys/module/pcie_aspm/parameters/policy"),
		       "default [performance] powersave\n") &&
	       !strcmp(get("ethtool/eth0/eee"), "EEE status: disabled - active\n") &&
	       strstr(get("ethtool/eth0/g"), "1024");
}

/* --- runs ------------------------------------------------------------------------------- */

enum what { FIX, UNDO };

/* In a child, which dies at that call; its exit status, or -1: it was killed. */
static int run_as(enum what what, unsigned calls, bool asked)
{
	char now[80];
	struct fix f = { .root = now, .iface = "eth0", .asked = asked };
	int status;
	pid_t pid;

	snprintf(now, sizeof now, "%s/now", root);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, 1);
		dup2(null, 2);
		lives = calls;
		status = what == FIX ? fix_run(&f, found, array_size(found)) : undo_run(&f);
		_exit(status);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int run(enum what what)
{
	return run_as(what, 0, false);
}

static void there_and_back(void)
{
	fresh();
	is(run(FIX), 0, "all took");
	ok(all_fixed(), "and are as wanted");
	ok(strstr(get("ethtool/eth0/k"), ": on"), "a matter of taste is left");
	ok(state_there(), "and remembered");
	is(run(FIX), 0, "again: nothing to do");
	is(run(UNDO), 0, "undone");
	ok(as_before(), "all is as it was");
	ok(!state_there(), "and nothing is remembered");
	is(run(UNDO), 0, "to undo nothing is no error");
}

static void first_value(void)
{
	fresh();
	run(FIX);
	put("proc/sys/vm/stat_interval", "7\n");
	put("ethtool/eth0/c", "rx-usecs:\t9\ntx-usecs:\t0\n");
	is(run(FIX), 0, "what somebody changed between is changed again");
	ok(all_fixed(), "all is as wanted");
	is(run(UNDO), 0, "undone");
	ok(as_before(), "to what it was at first");
}

static void anothers(void)
{
	fresh();
	run(FIX);
	put("proc/sys/vm/stat_interval", "7\n");
	put("ethtool/eth0/g", "Current hardware settings:\nRX:\t512\n");
	must(!shell("rm %s/now/proc/irq/106/smp_affinity_list", root));
	is(run(UNDO), 0, "undone");
	is_str(get("proc/sys/vm/stat_interval"), "7\n", "what somebody has changed since is left");
	ok(!state_there(), "and forgotten, as what is gone");
	put("proc/sys/vm/stat_interval", "1\n");
	put("proc/irq/106/smp_affinity_list", "0-3\n");
	ok(as_before(), "the rest is as it was");
}

static void refusals(void)
{
	fresh();
	put("sys/module/pcie_aspm/parameters/policy", "[default] powersave\n");
	must(!shell("cp -a %s/now/sys %s/before", root, root));
	is(run_as(FIX, 0, true), 1, "two are refused: a choice that is not there, a fixed feature");
	ok(strstr(get("ethtool/eth0/c"), "rx-usecs:\t0") &&
		   !strcmp(get("sys/fs/cgroup/saker/cpuset.cpus.partition"), "isolated"),
	   "the rest goes on");
	is(run(UNDO), 0, "undone");
	ok(as_before(), "all is as it was");
	fresh();
	must(!shell("rm %s/now/sys/fs/cgroup/cgroup.controllers && mkdir -p "
		    "%s/now/sys/fs/cgroup/cpuset && touch %s/now/sys/fs/cgroup/cpuset/cpuset.cpus",
		    root, root, root));
	must(!shell("rm -r %s/before/sys/fs && cp -a %s/now/sys %s/before", root, root, root));
	is(run(FIX), 1, "cgroup v1 has no partitions");
	is_str(get("proc/sys/vm/stat_interval"), "120\n", "the rest goes on");
	is(run(UNDO), 0, "undone");
	ok(as_before(), "all is as it was");
}

/* A file is in the place of the directory. */
static void no_state(void)
{
	fresh();
	put("var/lib/saker", "");
	is(run(FIX), 1, "nowhere to remember is a failure");
	ok(as_before(), "and nothing is changed");
	fresh();
	put("var/lib/saker/doctor.json", "{ \"saker_doctor\": 1, \"sett");
	is(run(FIX), 1, "half a state file is a failure");
	is(run(UNDO), 1, "for undo too");
	ok(as_before(), "nothing is changed");
	is_str(get("var/lib/saker/doctor.json"), "{ \"saker_doctor\": 1, \"sett",
	       "and it is left for people to look at");
}

static void reboot(void)
{
	put("proc/sys/kernel/random/boot_id", "99999999-2222-3333-4444-555555555555\n");
}

static void reboots(void)
{
	fresh();
	run(FIX);
	must(!shell("rm -rf %s/now/sys %s/now/ethtool", root, root));
	must(!shell("cp -a %s/before/sys %s/before/ethtool %s/now", root, root, root));
	put("proc/irq/106/smp_affinity_list", "0\n");
	reboot();
	is(run(UNDO), 0, "undone in a later boot");
	is_str(get("proc/irq/106/smp_affinity_list"), "0\n",
	       "what has our value there has it from somebody else, and is left");
	ok(!state_there(), "nothing is remembered");

	fresh();
	run(FIX);
	must(!shell("cp -a %s/before/proc/sys/vm %s/now/proc/sys", root, root));
	put("ethtool/eth0/c", "rx-usecs:\t33\ntx-usecs:\t50\n");
	put("sys/fs/cgroup/saker/cpuset.cpus.partition", "isolated");
	reboot();
	is(run(FIX), 0, "fixed again in a later boot");
	is(run(UNDO), 0, "and undone");
	is_str(get("ethtool/eth0/c"), "rx-usecs:\t33\ntx-usecs:\t50\n",
	       "to what that boot began with");
	is_str(get("sys/fs/cgroup/saker/cpuset.cpus.partition"), "isolated",
	       "a partition that was there in that boot is somebody's, and stays");
}

/* Another network namespace, another interface: known by the kernel only. */
static void elsewhere(void)
{
	const char *state =
		"{\"saker_doctor\":1,\"settings\":[{\"name\":\"/sys/class/net/lo/mtu\","
		"\"of\":\"netns 1 ifindex 1\",\"boot\":\"\",\"was\":\"1\",\"set\":\"2\","
		"\"is\":null}]}";
	char path[96];
	struct fix f = { .root = "", .iface = "lo", .state = path };
	int status;
	pid_t pid;

	snprintf(path, sizeof path, "%s/elsewhere.json", root);
	FILE *file = fopen(path, "w");
	must(file && fputs(state, file) >= 0 && !fclose(file));
	fflush(stdout);
	pid = fork();
	if (!pid) {
		dup2(open("/dev/null", O_WRONLY), 1);
		_exit(undo_run(&f));
	}
	waitpid(pid, &status, 0);
	is(WEXITSTATUS(status), 1, "what is of another network namespace is not undone here");
	ok(!access(path, F_OK), "and still remembered");
}

/* Killed at its first, second ... call; then undone. How many calls there are. */
static unsigned killed(bool again)
{
	unsigned call = 0, wrong = 0, undo_failed = 0;

	for (int status = -1; status < 0; call++) {
		fresh();
		status = run_as(FIX, call + 1, false);
		if (again)
			run(FIX);
		undo_failed += run(UNDO) != 0;
		wrong += !as_before() || state_there();
	}
	is(undo_failed, 0, "undo ends well each time");
	is(wrong, 0, "all is as it was each time");
	return call - 1;
}

static void undo_killed(void)
{
	unsigned call = 0, wrong = 0;

	for (int status = -1; status < 0; call++) {
		fresh();
		run(FIX);
		status = run_as(UNDO, call + 1, false);
		run(UNDO);
		wrong += !as_before() || state_there();
	}
	ok(call > 10, "undo is killed at each of %u points", call - 1);
	is(wrong, 0, "and a second one ends it");
}

int main(void)
{
	unsigned calls;

	must(mkdtemp(root) || mkdtemp(strcpy(root, "/tmp/test_doctor_fix.XXXXXX")));
	make();
	findings();
	there_and_back();
	first_value();
	anothers();
	refusals();
	no_state();
	reboots();
	elsewhere();
	calls = killed(false);
	ok(calls > 15, "killed at each of %u points, then undone", calls);
	calls = killed(true);
	ok(calls > 15, "killed at each of %u points, fixed again, then undone", calls);
	undo_killed();
	is(shell("rm -rf %s", root), 0, "cleared up");
	return done();
}
