// SPDX-License-Identifier: GPL-2.0-only
#include "pins.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "say.h"
#include "stats.h"

const char *const pins_names[PINS] = {
#define X(name) #name,
	PIN_LIST(X)
#undef X
};

/* --- whose they are ----------------------------------------------------------------- */

/* The name of a process, "" when there is none. */
static void process_name(char name[32], const char *path)
{
	FILE *file = fopen(path, "re");
	if (!file || !fgets(name, 32, file))
		name[0] = '\0';
	if (file)
		fclose(file);
}

/* The responder whose maps are pinned there, 0 when it does not run. A crashed
 * one's number may have gone to somebody else: then the names differ. */
unsigned pins_owner(const struct pins *p)
{
	char path[CONF_PATH + 16], theirs[32], ours[32];
	struct mode mode = { .pid = 0 };
	struct bpf_map_info info = { .type = 0 };
	__u32 key = 0, size = sizeof info;

	snprintf(path, sizeof path, "%s/mode", p->dir);
	int fd = bpf_obj_get(path);
	if (fd < 0)
		return 0;
	bool known = !bpf_obj_get_info_by_fd(fd, &info, &size) && info.value_size == sizeof mode &&
		     !bpf_map_lookup_elem(fd, &key, &mode) && mode.version == ABI_VERSION;
	close(fd);
	if (!known || mode.pid == 0 || mode.pid == (unsigned)getpid())
		return 0;

	snprintf(path, sizeof path, "/proc/%u/comm", mode.pid);
	process_name(theirs, path);
	process_name(ours, "/proc/self/comm");
	return ours[0] && !strcmp(ours, theirs) ? mode.pid : 0;
}

/* --- where ---------------------------------------------------------------------------- */

/* The part of the path that exists must be in a BPF file system. Remember how
 * much of it was there, so that no more is removed at the end. */
static int check_bpffs(struct pins *p)
{
	char path[CONF_PATH];
	struct statfs fs;
	memcpy(path, p->dir, sizeof path);
	while (statfs(path, &fs)) {
		char *slash = strrchr(path, '/');
		if (errno != ENOENT || !slash || slash == path)
			return refuse(p->conf, -errno, "%s: %s", path, strerror(errno));
		*slash = '\0';
	}
	p->keep = strlen(path);
	if (fs.f_type != BPF_FS_MAGIC)
		return refuse(p->conf, -ENODEV,
			      "%s is no BPF file system: "
			      "`mount -t bpf bpf " STATS_BPFFS "`",
			      path);
	return 0;
}

int pins_choose(struct pins *p, const struct conf *conf)
{
	int error = 0;
	*p = (struct pins){ .conf = conf };
	if (conf->pin_dir[0])
		memcpy(p->dir, conf->pin_dir, sizeof p->dir);
	else
		error = stats_pin_dir(p->dir, sizeof p->dir, conf->ifname);
	if (error)
		return refuse(p->conf, error, "no name for its directory of pins: %s",
			      strerror(-error));
	for (size_t end = strlen(p->dir); end > 1 && p->dir[end - 1] == '/'; end--)
		p->dir[end - 1] = '\0';
	if (p->dir[0] != '/')
		return refuse(p->conf, -EINVAL, "--pin-dir %s: give an absolute path", p->dir);
	return check_bpffs(p);
}

/* --- put and remove ------------------------------------------------------------------- */

void pins_remove(const struct pins *p)
{
	char path[CONF_PATH + 16];
	for (unsigned i = 0; i < PINS; i++) {
		snprintf(path, sizeof path, "%s/%s", p->dir, pins_names[i]);
		unlink(path);
	}
	/* The last directory is ours in any case, a crashed one may have made it;
	 * so is saker/, unless another interface has pins in it. */
	memcpy(path, p->dir, sizeof p->dir);
	while (!rmdir(path)) {
		char *slash = strrchr(path, '/');
		if (!slash)
			break;
		*slash = '\0';
		if (strlen(path) <= p->keep && strcmp(path, STATS_ROOT))
			break;
	}
}

static int make_dirs(const struct pins *p)
{
	char path[CONF_PATH];
	memcpy(path, p->dir, sizeof path);
	for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
		if (slash)
			*slash = '\0';
		if (mkdir(path, 0755) && errno != EEXIST)
			return -errno;
		if (!slash)
			return 0;
		*slash = '/';
	}
}

/* Of the other hook's program: nothing to pin. */
int pins_add(const struct pins *p, const struct bpf_object *object, const char *name)
{
	char path[CONF_PATH + 16];
	int fd = bpf_object__find_map_fd_by_name(object, name);
	snprintf(path, sizeof path, "%s/%s", p->dir, name);
	if (fd < 0 || pins_has(p, name) || !bpf_obj_pin(fd, path))
		return 0;
	return refuse(p->conf, -errno, "pin %s: %s", path, strerror(errno));
}

bool pins_has(const struct pins *p, const char *name)
{
	char path[CONF_PATH + 16];
	snprintf(path, sizeof path, "%s/%s", p->dir, name);
	return !access(path, F_OK);
}

int pins_put(const struct pins *p, const struct bpf_object *object)
{
	pins_remove(p); /* of a crashed responder; check_alone says that it is gone */
	int error = make_dirs(p);
	for (int tries = 0; error == -ENOENT && tries < 3; tries++)
		error = make_dirs(p); /* another saker just removed an empty saker/ */
	if (error)
		return refuse(p->conf, error, "mkdir %s: %s", p->dir, strerror(-error));
	for (unsigned i = 0; !error && i < PINS; i++)
		error = pins_add(p, object, pins_names[i]);
	if (error)
		pins_remove(p);
	return error;
}

int pins_get(const struct pins *p, const char *name)
{
	char path[CONF_PATH + 16];
	snprintf(path, sizeof path, "%s/%s", p->dir, name);
	int fd = bpf_obj_get(path);
	return fd < 0 ? refuse(p->conf, -errno, "%s: %s", path, strerror(errno)) : fd;
}

/* --- who may read ------------------------------------------------------------------------ */

/* So that the group can come to the pins: it must be able to pass each directory. */
static void check_way(const struct pins *p)
{
	const struct conf *conf = p->conf;
	char path[CONF_PATH];
	struct stat dir;
	memcpy(path, p->dir, sizeof path);
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		unsigned pass = S_IXOTH;
		if (!stat(path, &dir) && dir.st_gid == conf->stat_gid)
			pass = S_IXGRP;
		if (!stat(path, &dir) && !(dir.st_mode & pass))
			refuse(p->conf, 0,
			       "--stat-group=%s: the group cannot pass %s: `chmod %s+x %s`",
			       conf->stat_group, path, pass == S_IXOTH ? "o" : "g", path);
		*slash = '/';
	}
}

static int let_group(const char *path, mode_t mode, const struct conf *conf)
{
	return chown(path, (uid_t)-1, conf->stat_gid) || chmod(path, mode) ? -errno : 0;
}

/* What saker-stat reads, and no more: of the others one holds what only the I/O thread
 * may take. Who cannot be let in is no reason not to serve. */
void pins_let_read(const struct pins *p)
{
	const struct conf *conf = p->conf;
	static const char *const names[] = { "config",  "live",        "mode",   "counters",
					     "stages",  "lanes",       "gauges", "rings",
					     "conns",   "summary",     "limits", "access",
					     "sources", "source_conns" };
	char path[CONF_PATH + 16];
	int error = let_group(p->dir, 0750, conf);
	for (size_t i = 0; !error && i < array_size(names); i++) {
		snprintf(path, sizeof path, "%s/%s", p->dir, names[i]);
		error = let_group(path, 0640, conf);
	}
	if (error)
		refuse(p->conf, error,
		       "--stat-group=%s: %s: it takes CAP_CHOWN, or a process in that group "
		       "(systemd: SupplementaryGroups=)",
		       conf->stat_group, strerror(-error));
	else
		check_way(p);
}
