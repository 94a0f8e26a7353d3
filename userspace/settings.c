/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "settings.h"
#include "stats.h"

#define COOKIES "/proc/sys/net/ipv4/tcp_syncookies"
enum { SETTING_COOKIES, SETTING_VLAN, SETTING_GRO };
enum { LOCK_MS = 2000 };

/* How a setting is read and written: a small number, or -errno. */
struct setting {
	const char *name;  /* as people know it */
	const char *file;  /* bpffs wants no dots */
	bool of_interface; /* else of the namespace */
	int target;
	int (*get)(const struct conf *conf);
	int (*set)(const struct conf *conf, int value);
	const char *why;
};

/* --- net.ipv4.tcp_syncookies ------------------------------------------------------ */

static int get_cookies(const struct conf *conf)
{
	char text[16] = "";
	int fd = open(COOKIES, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	int error = -errno;

	(void)conf;
	if (fd >= 0)
		close(fd);
	return n > 0 ? atoi(text) : error;
}

static int set_cookies(const struct conf *conf, int value)
{
	char text[16];
	int len = snprintf(text, sizeof text, "%d\n", value);
	int fd = open(COOKIES, O_WRONLY | O_CLOEXEC), error = 0;

	(void)conf;
	if (fd < 0 || write(fd, text, (size_t)len) != len)
		error = -errno;
	if (fd >= 0)
		close(fd);
	return error;
}

/* --- receive VLAN offload ----------------------------------------------------------- */

static int ethtool(const struct conf *conf, struct ethtool_value *value)
{
	struct ifreq r = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), error = 0;

	memcpy(r.ifr_name, conf->ifname, sizeof r.ifr_name);
	r.ifr_data = (void *)value;
	if (fd < 0 || ioctl(fd, SIOCETHTOOL, &r))
		error = -errno;
	if (fd >= 0)
		close(fd);
	return error;
}

/* A driver that cannot be asked has none. */
static int get_vlan(const struct conf *conf)
{
	struct ethtool_value v = { .cmd = ETHTOOL_GFLAGS };

	return !ethtool(conf, &v) && v.data & ETH_FLAG_RXVLAN;
}

static int set_vlan(const struct conf *conf, int value)
{
	struct ethtool_value v = { .cmd = ETHTOOL_GFLAGS };
	int error = ethtool(conf, &v);

	if (error)
		return error;
	v.cmd = ETHTOOL_SFLAGS;
	v.data = value ? v.data | ETH_FLAG_RXVLAN : v.data & ~(uint32_t)ETH_FLAG_RXVLAN;
	error = ethtool(conf, &v);
	if (!error && get_vlan(conf) != value)
		error = -EOPNOTSUPP; /* fixed, says ethtool -k */
	return error;
}

/* --- GRO ---------------------------------------------------------------------------- */

static int get_gro(const struct conf *conf)
{
	struct ethtool_value v = { .cmd = ETHTOOL_GGRO };

	return !ethtool(conf, &v) && v.data;
}

static int set_gro(const struct conf *conf, int value)
{
	struct ethtool_value v = { .cmd = ETHTOOL_SGRO, .data = (uint32_t)value };

	return ethtool(conf, &v);
}

static const struct setting settings[SETTINGS_COUNT] = {
	[SETTING_COOKIES] = { "net.ipv4.tcp_syncookies", "tcp_syncookies", false, 2, get_cookies,
			      set_cookies,
			      "every listener in this network namespace answers with cookies" },
	[SETTING_VLAN] = { "rx-vlan-offload", "rx_vlan_offload", true, 0, get_vlan, set_vlan,
			   "it hides VLAN tags from XDP" },
	[SETTING_GRO] = { "generic-receive-offload", "gro", true, 0, get_gro, set_gro,
			  "it makes one long frame of several, before tc" },
};

static int refuse(const struct conf *conf, unsigned i, int error)
{
	if (i == SETTING_VLAN)
		fprintf(stderr,
			"saker: %s: the driver hides VLAN tags from XDP and does not let that be "
			"turned off (%s): ethtool -K %s rxvlan off, or --io=socket\n",
			conf->ifname, strerror(-error), conf->ifname);
	else if (i == SETTING_GRO)
		fprintf(stderr,
			"saker: %s: generic-receive-offload cannot be turned off (%s): "
			"ethtool -K %s gro off, or --io=socket\n",
			conf->ifname, strerror(-error), conf->ifname);
	else
		fprintf(stderr, "saker: %s: --steer=path needs net.ipv4.tcp_syncookies=2: %s: %s\n",
			conf->ifname, strerror(-error),
			error == -ENOENT ? "a kernel with CONFIG_SYN_COOKIES=y, and /proc" :
					   "set it from outside (sysctl -w; Kubernetes: "
					   "securityContext.sysctls), then it is not changed here");
	return error;
}

/* --- what it was -------------------------------------------------------------------- */

static int dir_of(char path[CONF_PATH], const struct settings *s, unsigned i)
{
	struct stat ns;
	char which[16] = "";
	int length;

	if (stat("/proc/self/ns/net", &ns))
		return -errno;
	if (settings[i].of_interface)
		snprintf(which, sizeof which, "-%u", s->ifindex);
	length = snprintf(path, CONF_PATH, "%s/setting-%s%s@%llu", s->root, settings[i].file, which,
			  (unsigned long long)ns.st_ino);
	return length < CONF_PATH ? 0 : -ENAMETOOLONG;
}

static int read_was(int lock)
{
	char text[16] = "";

	return readlinkat(lock, "was", text, sizeof text - 1) < 0 ? -errno : atoi(text);
}

static int write_was(int lock, int value)
{
	char text[16];

	snprintf(text, sizeof text, "%d", value);
	if (unlinkat(lock, "was", 0) && errno != ENOENT)
		return -errno;
	return symlinkat(text, lock, "was") ? -errno : 0;
}

/* The directory goes while its lock is ours alone. */
static void forget(int lock, const char *path)
{
	unlinkat(lock, "was", 0);
	rmdir(path);
	close(lock);
}

static bool alone(int lock)
{
	return !flock(lock, LOCK_EX | LOCK_NB);
}

static void choose_root(struct settings *s)
{
	char *slash;

	memcpy(s->root, s->conf->pin_dir, sizeof s->root);
	while ((slash = strrchr(s->root, '/')) && !slash[1])
		*slash = '\0';
	if (slash)
		*slash = '\0';
	if (!s->root[0])
		strcpy(s->root, STATS_ROOT);
}

/* Keeps other responders out meanwhile; none takes long. */
static int lock_root(const struct settings *s)
{
	struct timespec pause = { .tv_nsec = 5 * NS_PER_MS };
	int fd, tries = LOCK_MS / 5;

	if (mkdir(s->root, 0755) && errno != EEXIST)
		return -errno;
	fd = open(s->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (flock(fd, LOCK_EX | LOCK_NB)) {
		if (!tries--) {
			close(fd);
			return -ETIMEDOUT;
		}
		nanosleep(&pause, NULL);
	}
	return fd;
}

static void unlock_root(const struct settings *s, int root)
{
	if (root >= 0)
		close(root);
	if (!strcmp(s->root, STATS_ROOT))
		rmdir(STATS_ROOT); /* when nothing is in it */
}

/* --- one setting ------------------------------------------------------------------------ */

static int change(const struct settings *s, unsigned i, int lock, int now)
{
	const struct setting *what = &settings[i];
	int error = write_was(lock, now);

	if (!error)
		error = what->set(s->conf, what->target);
	if (!error && !s->conf->quiet)
		fprintf(stderr, "saker: %s: %s was %d, is %d while we run: %s\n", s->conf->ifname,
			what->name, now, what->target, what->why);
	return error;
}

/* The same, with its directory open. */
static int take_open(struct settings *s, unsigned i, int lock, const char *path)
{
	const struct setting *what = &settings[i];
	bool first = alone(lock), noted = read_was(lock) >= 0;
	int now = what->get(s->conf), error = 0;

	flock(lock, LOCK_SH);
	if (now < 0)
		error = now;
	/* Where others run, the first one's note holds. */
	else if (now != what->target && (first || !noted))
		error = change(s, i, lock, now);
	else if (now != what->target)
		error = what->set(s->conf, what->target);
	/* So by somebody's own will: nothing to put back. */
	else if (!noted) {
		forget(lock, path);
		return 0;
	}
	if (!error)
		s->lock[i] = lock;
	else if (first)
		forget(lock, path);
	else
		close(lock);
	return error;
}

/* With the root locked. */
static int take(struct settings *s, unsigned i)
{
	char path[CONF_PATH];
	int error = dir_of(path, s, i), lock;

	if (!error && mkdir(path, 0755) && errno != EEXIST)
		error = -errno;
	if (!error) {
		lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		error = lock < 0 ? -errno : take_open(s, i, lock, path);
	}
	return error ? refuse(s->conf, i, error) : 0;
}

/* The same. Back to what it was, if nobody else needs it and nobody has changed it. */
static void give_back(const struct settings *s, unsigned i, int lock)
{
	const struct setting *what = &settings[i];
	char path[CONF_PATH];
	int was = read_was(lock), error = 0;

	if (!alone(lock) || dir_of(path, s, i)) {
		close(lock);
		return;
	}
	if (was >= 0 && what->get(s->conf) == what->target)
		error = what->set(s->conf, was);
	if (error)
		fprintf(stderr, "saker: %s: %s stays %d, it was %d: %s\n", s->conf->ifname,
			what->name, what->target, was, strerror(-error));
	forget(lock, path);
}

/* What a responder left that was killed, and that we do not need. */
static void sweep(const struct settings *s, unsigned i)
{
	char path[CONF_PATH];
	int lock = dir_of(path, s, i) ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (lock >= 0)
		give_back(s, i, lock);
}

/* --- all ------------------------------------------------------------------------------- */

static bool needed(const struct settings *s, unsigned i)
{
	switch (i) {
	case SETTING_VLAN:
		return s->rung != RUNG_packet;
	case SETTING_GRO:
		return s->rung == RUNG_packet;
	default:
		return s->conf->steer == STEER_path;
	}
}

int settings_take(struct settings *s, const struct conf *conf, enum abi_rung rung)
{
	int root, error = 0;

	*s = (struct settings){ .conf = conf,
				.rung = rung,
				.ifindex = if_nametoindex(conf->ifname),
				.lock = { -1, -1, -1 } };
	choose_root(s);
	root = lock_root(s);
	if (root < 0) {
		fprintf(stderr, "saker: %s: no place to note settings that are changed: %s: %s\n",
			conf->ifname, s->root, strerror(-root));
		return root;
	}
	for (unsigned i = 0; i < SETTINGS_COUNT && !error; i++) {
		if (needed(s, i))
			error = take(s, i);
		else
			sweep(s, i);
	}
	unlock_root(s, root);
	if (error)
		settings_restore(s);
	return error;
}

void settings_restore(struct settings *s)
{
	int root = lock_root(s); /* without it all the same: better than not at all */

	for (unsigned i = 0; i < SETTINGS_COUNT; i++) {
		if (s->lock[i] >= 0)
			give_back(s, i, s->lock[i]);
		s->lock[i] = -1;
	}
	unlock_root(s, root);
}

void settings_abandoned(const struct conf *conf)
{
	struct settings s = { .conf = conf,
			      .ifindex = if_nametoindex(conf->ifname),
			      .lock = { -1, -1, -1 } };
	int root;

	choose_root(&s);
	if (access(s.root, F_OK))
		return; /* nobody was here: make nothing */
	root = lock_root(&s);
	for (unsigned i = 0; i < SETTINGS_COUNT; i++)
		sweep(&s, i);
	unlock_root(&s, root);
}

void settings_inherit(struct settings *s, const struct conf *conf, enum abi_rung rung,
		      const int lock[SETTINGS_COUNT])
{
	*s = (struct settings){ .conf = conf,
				.rung = rung,
				.ifindex = if_nametoindex(conf->ifname) };
	choose_root(s);
	memcpy(s->lock, lock, sizeof s->lock);
}

void settings_leave(struct settings *s)
{
	for (unsigned i = 0; i < SETTINGS_COUNT; i++) {
		if (s->lock[i] >= 0)
			close(s->lock[i]);
		s->lock[i] = -1;
	}
}
