/* SPDX-License-Identifier: GPL-2.0-only */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "attached.h"

static unsigned link_of(unsigned ifindex, unsigned prog_id)
{
	__u32 id = 0;
	while (!bpf_link_get_next_id(id, &id)) {
		struct bpf_link_info info = { .type = 0 };
		__u32 size = sizeof info;
		int fd = bpf_link_get_fd_by_id(id);
		if (fd < 0)
			continue;
		int error = bpf_obj_get_info_by_fd(fd, &info, &size);
		close(fd);
		if (!error && info.type == BPF_LINK_TYPE_XDP && info.prog_id == prog_id &&
		    info.xdp.ifindex == ifindex)
			return id;
	}
	return 0;
}

static void read_name(struct attached *a)
{
	struct bpf_prog_info info = { .type = 0 };
	__u32 size = sizeof info;
	int fd = bpf_prog_get_fd_by_id(a->prog_id);
	if (fd < 0)
		return;
	if (!bpf_obj_get_info_by_fd(fd, &info, &size))
		memcpy(a->name, info.name, sizeof a->name - 1);
	close(fd);
}

int attached_ask(struct attached *a, unsigned ifindex)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, q);
	int error = bpf_xdp_query((int)ifindex, 0, &q);

	*a = (struct attached){ .word = "xdp" };
	if (error)
		return error;
	a->prog_id = q.drv_prog_id ?: q.skb_prog_id ?: q.hw_prog_id ?: q.prog_id;
	if (!a->prog_id)
		return 0;
	if (a->prog_id == q.drv_prog_id) {
		a->word = "xdpdrv";
		a->flags = XDP_FLAGS_DRV_MODE;
	} else if (a->prog_id == q.skb_prog_id) {
		a->word = "xdpgeneric";
		a->flags = XDP_FLAGS_SKB_MODE;
	} else if (a->prog_id == q.hw_prog_id) {
		a->word = "xdpoffload";
		a->flags = XDP_FLAGS_HW_MODE;
	}
	a->link_id = link_of(ifindex, a->prog_id);
	read_name(a);
	return 0;
}

/* proc(5): the fdinfo of a BPF link has a line "link_id:\tN". */
static bool holds(const char *pid, unsigned link_id)
{
	char path[320], line[64];
	unsigned found = 0;

	snprintf(path, sizeof path, "/proc/%s/fdinfo", pid);
	DIR *fds = opendir(path);
	for (struct dirent *d; fds && found != link_id && (d = readdir(fds));) {
		snprintf(path, sizeof path, "/proc/%s/fdinfo/%s", pid, d->d_name);
		FILE *file = fopen(path, "re");
		while (file && found != link_id && fgets(line, sizeof line, file))
			sscanf(line, "link_id: %u", &found);
		if (file)
			fclose(file);
	}
	if (fds)
		closedir(fds);
	return found == link_id;
}

unsigned attached_holder(unsigned link_id)
{
	DIR *proc = link_id ? opendir("/proc") : NULL;
	unsigned pid = 0;

	for (struct dirent *d; proc && !pid && (d = readdir(proc));)
		if (d->d_name[0] >= '1' && d->d_name[0] <= '9' && holds(d->d_name, link_id))
			pid = (unsigned)strtoul(d->d_name, NULL, 10);
	if (proc)
		closedir(proc);
	return pid;
}

int attached_remove(const struct attached *a, unsigned ifindex)
{
	if (!a->link_id)
		return bpf_xdp_detach((int)ifindex, a->flags, NULL);
	int fd = bpf_link_get_fd_by_id(a->link_id);
	int error = fd < 0 || bpf_link_detach(fd) ? -errno : 0;
	if (fd >= 0)
		close(fd);
	return error;
}
