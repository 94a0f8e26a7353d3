/* SPDX-License-Identifier: GPL-2.0-only */
/* What a responder left that is gone: its program on the interface, and its pins. */
#include <dirent.h>
#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "attached.h"
#include "conf.h"
#include "ctl.h"
#include "settings.h"

/* The interface of a directory: that which was asked for, or what the maps say. */
static bool interface_of(const struct ctl *c, char name[IF_NAMESIZE])
{
	const char *from = c->ifname ? c->ifname : c->in ? c->in->report.mode.ifname : "";

	snprintf(name, IF_NAMESIZE, "%.*s", (int)strcspn(from, "@"), from);
	return *name;
}

static int refuse_living(const struct ctl *c)
{
	const struct mode *m = &c->in->report.mode;

	if (c->in->life == LIFE_GONE)
		return 0;
	if (c->in->life == LIFE_ELSEWHERE)
		return ctl_trouble(c,
				   "the responder runs, in another PID namespace: stop it there");
	return ctl_trouble(c, "the responder runs, process %u: `kill %u`%s", m->pid, m->pid,
			   c->in->life == LIFE_SILENT ? ", and as it is silent, `kill -KILL`" : "");
}

/* 1: taken off; 0: nothing of ours is there; -1: said. *foreign: somebody else's is. */
static int remove_program(const struct ctl *c, const char *ifname, struct attached *there)
{
	unsigned ifindex = if_nametoindex(ifname), holder;
	int error;

	*there = (struct attached){ 0 };
	if (!ifindex)
		return 0; /* the program has gone with it */
	if (attached_filter_remove(ifindex)) {
		printf("%s: the tc filter %s is off\n", ifname, ATTACHED_OURS_TC);
		return 1;
	}
	error = attached_ask(there, ifindex);
	if (error)
		return -ctl_trouble(c, "cannot ask for its XDP program: %s", strerror(-error));
	if (!there->prog_id || strcmp(there->name, ATTACHED_OURS))
		return 0;
	holder = attached_holder(there->link_id);
	if (holder)
		return -ctl_trouble(c, "process %u holds the program: `kill %u`", holder, holder);
	error = attached_remove(there, ifindex);
	if (error)
		return -ctl_trouble(c, "detach: %s%s", strerror(-error),
				    error == -EPERM ? ": run as root" : "");
	printf("%s: the program %s (id %u) is off\n", ifname, there->name, there->prog_id);
	return 1;
}

/* A map of ours is pinned by its own name. */
static bool is_ours(const char *path, const char *name)
{
	LIBBPF_OPTS(bpf_obj_get_opts, opts, .file_flags = BPF_F_RDONLY);
	struct bpf_map_info info = { 0 };
	uint32_t size = sizeof info;
	int fd = bpf_obj_get_opts(path, &opts);
	char proc[64], line[64] = "";

	if (fd < 0)
		return false;
	snprintf(proc, sizeof proc, "/proc/self/fd/%d", fd);
	bool ours = readlink(proc, line, sizeof line - 1) > 0 && strstr(line, "bpf-map") &&
		    !bpf_obj_get_info_by_fd(fd, &info, &size) && !strcmp(info.name, name);
	close(fd);
	return ours;
}

/* How many; -1: said. */
static int remove_pins(const struct ctl *c)
{
	char path[STAT_DIR + 256 + 2];
	DIR *dir = opendir(c->dir);
	int removed = 0, left = 0;

	if (!dir && errno != ENOENT)
		return -ctl_trouble(c, "%s: %s%s", c->dir, strerror(errno),
				    errno == EACCES ? ": run as root" : "");
	for (struct dirent *d; dir && (d = readdir(dir));) {
		if (d->d_name[0] == '.')
			continue;
		snprintf(path, sizeof path, "%s/%s", c->dir, d->d_name);
		if (!is_ours(path, d->d_name)) {
			left += ctl_trouble(c, "%s is not ours: left alone", path);
		} else if (unlink(path)) {
			closedir(dir);
			return -ctl_trouble(c, "%s: %s", path, strerror(errno));
		} else {
			removed++;
		}
	}
	if (dir)
		closedir(dir);
	if (!left && removed && !rmdir(c->dir))
		rmdir(STATS_ROOT); /* if it was the last */
	if (removed)
		printf("%s: %d pins removed\n", c->dir, removed);
	return removed;
}

/* What it had changed of the machine. */
static void restore_settings(const char *ifname)
{
	struct conf conf = { .quiet = true };

	snprintf(conf.ifname, sizeof conf.ifname, "%s", ifname);
	settings_abandoned(&conf);
}

int ctl_detach(const struct ctl *c)
{
	struct attached there = { 0 };
	char ifname[IF_NAMESIZE];
	int program = 0, pins, status = c->in ? refuse_living(c) : 0;

	if (status)
		return status;
	if (interface_of(c, ifname))
		program = remove_program(c, ifname, &there);
	pins = program < 0 ? -1 : remove_pins(c);
	if (pins < 0)
		return 1;
	if (*ifname)
		restore_settings(ifname);
	if (program || pins)
		return 0;
	if (there.prog_id)
		return ctl_trouble(c,
				   "the program there (%s, id %u) is not ours: "
				   "`ip link set dev %s %s off` takes it off",
				   *there.name ? there.name : "no name", there.prog_id, ifname,
				   there.word);
	printf("%s: nothing of ours is there\n", *ifname ? ifname : c->dir);
	return 0;
}
