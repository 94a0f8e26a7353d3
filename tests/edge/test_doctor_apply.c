/* SPDX-License-Identifier: GPL-2.0-only */
/* One setting, read, written and read again, below a root of plain files. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>
#include "doctor_apply.h"
#include "doctor_ethset.h"
#include "tap.h"

static char root[64] = "/tmp/test_doctor_apply.XXXXXX";
static struct machine m = { .root = root };
static char value[VALUE_SIZE], text[FILE_TEXT];

/* A file, and the directories above it. */
static void put(const char *path, const char *bytes)
{
	char whole[FILE_PATH];

	must(!file_path(&m, whole, path));
	for (char *at = whole + strlen(root) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(whole, 0755);
		*at = '/';
	}
	must(!file_write(&m, path, bytes));
}

static const char *get(const char *path)
{
	return file_read(&m, path, text, sizeof text) ? "(none)" : text;
}

static void reads(const char *name, const char *wanted)
{
	is(-apply_read(&m, name, value), 0, "%s is read", name);
	is_str(value, wanted, "as %s", wanted);
}

static void read_fails(const char *name, int error)
{
	is(-apply_read(&m, name, value), error, "%s is not read", name);
}

static void writes(const char *name, const char *to)
{
	is(-apply_write(&m, name, to), 0, "%s takes %s", name, to);
	reads(name, to);
}

static void write_fails(const char *name, const char *to, int error)
{
	is(-apply_write(&m, name, to), error, "%s does not take %s", name, to);
}

static void files(void)
{
	put("/sys/class/net/eth0/gro_flush_timeout", "20000\n");
	reads("/sys/class/net/eth0/gro_flush_timeout", "20000");
	writes("/sys/class/net/eth0/gro_flush_timeout", "0");
	writes("/sys/class/net/eth0/gro_flush_timeout", "20000");
	is_str(get("/sys/class/net/eth0/gro_flush_timeout"), "20000\n", "byte by byte as before");
	put("/sys/module/pcie_aspm/parameters/policy", "[default] performance powersave\n");
	reads("/sys/module/pcie_aspm/parameters/policy", "default");
	writes("/sys/module/pcie_aspm/parameters/policy", "performance");
	is_str(get("/sys/module/pcie_aspm/parameters/policy"), "default [performance] powersave\n",
	       "the choices stay");
	write_fails("/sys/module/pcie_aspm/parameters/policy", "fast", EINVAL);
	read_fails("/sys/none", ENOENT);
	write_fails("/sys/none", "1", ENOENT);
	put("/etc/passwd", "root\n");
	read_fails("/etc/passwd", EPERM);
	write_fails("/etc/passwd", "me", EPERM);
	write_fails("/sys/../etc/passwd", "me", EPERM);
	write_fails("/proc/x/../../etc/passwd", "me", EPERM);
	write_fails("etc/passwd", "me", EINVAL);
	read_fails("", EINVAL);
	is_str(get("/etc/passwd"), "root\n", "and nothing is written there");
}

#define MODERATION \
	"Coalesce parameters for eth0:\nAdaptive RX: off  TX: " \
	"on\nrx-usecs:\t50\nrx-frames:\tn/a\n" \
	"rx-usecs-irq:\t7\n\ntx-usecs:\t49\n"
#define RINGS \
	"Ring parameters for eth0:\nPre-set maximums:\nRX:\t\t8192\nRX Mini:\tn/a\nTX:\t\t4096\n" \
	"Current hardware settings:\nRX:\t\t512\nRX Mini:\tn/a\nTX:\t\t512\n"
#define FEATURES \
	"Features for eth0:\nrx-checksumming: on\ntx-checksumming: on\n\ttx-checksum-ipv4: on\n" \
	"generic-receive-offload: on\nlarge-receive-offload: off [fixed]\nrx-gro-hw: on\n"
#define EEE "EEE settings for eth0:\n\tEEE status: enabled - active\n\tTx LPI: 250 (us)\n"

static void ethtool(void)
{
	put("/ethtool/eth0/c", MODERATION);
	reads("ethtool -C eth0 rx-usecs", "50");
	reads("ethtool -C eth0 rx-usecs-irq", "7");
	reads("ethtool -C eth0 adaptive-tx", "on");
	writes("ethtool -C eth0 adaptive-tx", "off");
	writes("ethtool -C eth0 adaptive-tx", "on");
	writes("ethtool -C eth0 rx-usecs", "0");
	writes("ethtool -C eth0 rx-usecs", "50");
	is_str(get("/ethtool/eth0/c"), MODERATION, "byte by byte as before");
	read_fails("ethtool -C eth0 rx-frames", EOPNOTSUPP);
	read_fails("ethtool -C eth0 tx-frames", EOPNOTSUPP);
	read_fails("ethtool -C eth1 rx-usecs", EOPNOTSUPP);
	read_fails("ethtool -C eth0 nonsense", EINVAL);
	read_fails("ethtool -X eth0 rx-usecs", EINVAL);
	read_fails("ethtool -C eth0", EINVAL);
	read_fails("ethtool -C eth0 rx-usecs 0", EINVAL);
	read_fails("ethtool -C ../eth0 rx-usecs", EINVAL);
	put("/ethtool/eth0/g", RINGS);
	reads("ethtool -G eth0 rx", "512");
	writes("ethtool -G eth0 tx", "4096");
	reads("ethtool -G eth0 rx", "512");
	put("/ethtool/eth0/k", FEATURES);
	reads("ethtool -K eth0 gro", "on");
	writes("ethtool -K eth0 gro", "off");
	writes("ethtool -K eth0 tx", "off");
	writes("ethtool -K eth0 rx-gro-hw", "off");
	reads("ethtool -K eth0 tx-checksum-ipv4", "on");
	write_fails("ethtool -K eth0 lro", "on", EOPNOTSUPP);
	put("/ethtool/eth0/eee", EEE);
	reads("ethtool --set-eee eth0 eee", "on");
	writes("ethtool --set-eee eth0 eee", "off");
	writes("ethtool --set-eee eth0 eee", "on");
	is_str(get("/ethtool/eth0/eee"), EEE, "byte by byte as before");
	put("/ethtool/eth0/eee", "EEE settings for eth0:\n\tEEE status: not supported\n");
	read_fails("ethtool --set-eee eth0 eee", EOPNOTSUPP);
}

#define V2 "/sys/fs/cgroup"

static void partition(void)
{
	struct wish wish = { "cpuset saker", "1-3" }, all[WISHES];

	read_fails("cpuset saker", ENOENT);
	put(V2 "/cpuset/cpuset.cpus", "0-3\n");
	read_fails("cpuset saker", EOPNOTSUPP);
	ok(strstr(m.why, "cgroup v1") && strstr(m.why, "systemd.unified_cgroup_hierarchy=1"),
	   "cgroup v1 is named, with a cure: %s", m.why);
	write_fails("cpuset saker", "1-3", EOPNOTSUPP);
	read_fails("cgroup cpuset", EOPNOTSUPP);
	read_fails("partition saker", EOPNOTSUPP);
	must(!unlink(strcat(strcpy(text, root), V2 "/cpuset/cpuset.cpus")));
	put(V2 "/cgroup.controllers", "cpu io memory pids\n");
	read_fails("cgroup cpuset", EOPNOTSUPP);
	ok(strstr(m.why, "no cpuset controller"), "v2 without cpusets is named");
	put(V2 "/cgroup.controllers", "cpuset cpu io memory pids\n");
	put(V2 "/cgroup.subtree_control", "cpu memory pids\n");

	is(apply_expand(&m, &wish, all), 3, "a partition is three settings, and who goes inside");
	is_str(all[0].name, "cgroup cpuset", "first the controller");
	is_str(all[1].name, "cpuset saker", "then the cores");
	is_str(all[2].name, "partition saker", "then nobody else");
	for (unsigned i = 0; i < 3; i++)
		ok(apply_together(all[i].name), "together");
	reads("cgroup cpuset", "off");
	reads("cpuset saker", "none");
	reads("partition saker", "member");
	write_fails("cpuset saker", "1-3", EOPNOTSUPP);
	writes("cgroup cpuset", "on");
	is_str(get(V2 "/cgroup.subtree_control"), "cpuset cpu memory pids\n", "beside the others");
	writes("cpuset saker", "1-3");
	writes("partition saker", "isolated");
	is_str(get(V2 "/saker/cpuset.cpus.partition"), "isolated", "a cgroup of kind isolated");
	put(V2 "/saker/cpuset.cpus.partition", "isolated invalid (Cpu list not exclusive)\n");
	reads("partition saker", "invalid");
	writes("partition saker", "member");
	writes("cpuset saker", "2-3");
	writes("cpuset saker", "none");
	is_str(get(V2 "/saker/cpuset.cpus"), "(none)", "and it is gone");
	writes("cgroup cpuset", "off");
	is_str(get(V2 "/cgroup.subtree_control"), "cpu memory pids\n", "as before");
	write_fails("partition saker", "root", EINVAL);
	read_fails("cpuset ../x", EINVAL);
	read_fails("cpuset ", EINVAL);
	read_fails("cgroup memory", EINVAL);
	read_fails("process 1", EINVAL);
}

/* The kernel's own: read only, on an interface that every machine has. */
static void cards(void)
{
	struct machine real = { .root = "" };
	struct wish wish = { "ethtool -K lo tx", "on" }, all[WISHES];
	int error = apply_read(&real, "ethtool -K lo gro", value);

	/* QEMU 7 and QEMU 10 in their words; no socket of a kernel says either. */
	if (error == -ENOSYS || error == -ENOTTY) {
		skip("what lo has", "an emulator of a processor, without SIOCETHTOOL");
		return;
	}
	is(-apply_read(&real, "ethtool -K lo gro", value), 0, "lo has a GRO");
	ok(!strcmp(value, "on") || !strcmp(value, "off"), "which is on or off: %s", value);
	is(-apply_read(&real, "ethtool -K lo no-such-thing", value), EOPNOTSUPP, "no such feature");
	is(-apply_read(&real, "ethtool -K nosuchif0 gro", value), ENODEV, "no such interface");
	is(-apply_write(&real, "ethtool -K lo highdma", "off"), EOPNOTSUPP, "one that is fixed");
	is_str(real.why, "the driver has it fixed", "is named so");
	is(-apply_read(&real, "ethtool -G lo rx", value), EOPNOTSUPP, "lo has no rings");
	is(-apply_write(&real, "ethtool -C lo rx-usecs", "-1"), EINVAL, "not a number");
	is(-apply_write(&real, "ethtool --set-eee lo eee", "maybe"), EINVAL, "neither on nor off");
	ok(apply_expand(&real, &wish, all) >= 1 && !strncmp(all[0].name, "ethtool -K lo tx", 16) &&
		   strcmp(all[0].name, "ethtool -K lo tx"),
	   "transmit checksums are features of the kernel: %s", all[0].name);
}

static void owners(void)
{
	struct machine real = { .root = "" };
	char of[STATE_OF], boot[STATE_BOOT];

	apply_of(&real, "ethtool -K lo gro", of);
	ok(strstr(of, "netns ") && strstr(of, " ifindex 1"), "it is of %s", of);
	apply_of(&real, "/sys/class/net/lo/mtu", text);
	is_str(of, text, "as its files are");
	apply_of(&real, "/proc/sys/net/core/netdev_budget", of);
	ok(*of && !strstr(of, "ifindex"), "sysctls are of the namespace alone");
	apply_of(&real, "/proc/sys/vm/stat_interval", of);
	is_str(of, "", "those of the machine of none");
	apply_boot(&real, boot);
	is(strlen(boot), 36, "this boot has a name");
}

int main(void)
{
	char command[96];

	must(mkdtemp(root) != NULL);
	files();
	ethtool();
	partition();
	cards();
	owners();
	is(apply_rank("ethtool -L eth0 rx"), 0, "channels come first");
	is(apply_rank("ethtool -G eth0 rx"), 1, "then rings");
	is(apply_rank("ethtool -C eth0 rx-usecs"), 2, "then the rest");
	snprintf(command, sizeof command, "rm -rf %s", root);
	is((unsigned)system(command), 0, "cleared up");
	return done();
}
