/* SPDX-License-Identifier: GPL-2.0-only */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "attached.h"

/* The filter's place: nobody comes before priority 1. */
enum { FILTER_HANDLE = 0x5a6b, FILTER_PRIORITY = 1, TCX_MAX = 64 };

static bool is_ours(unsigned prog_id)
{
	struct bpf_prog_info info = { .type = 0 };
	__u32 size = sizeof info;
	int fd = bpf_prog_get_fd_by_id(prog_id);
	bool ours = fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &size) &&
		    !strcmp(info.name, ATTACHED_OURS_TC);

	if (fd >= 0)
		close(fd);
	return ours;
}

unsigned attached_tcx(unsigned ifindex)
{
	__u32 id[TCX_MAX], n = TCX_MAX;

	if (bpf_prog_query((int)ifindex, (enum bpf_attach_type)ATTACHED_TCX, 0, NULL, id, &n))
		return 0;
	for (unsigned i = 0; i < n; i++)
		if (is_ours(id[i]))
			return id[i];
	return 0;
}

/* --- clsact ---------------------------------------------------------------------------- */

static struct bpf_tc_hook hook_of(unsigned ifindex)
{
	return (struct bpf_tc_hook){ .sz = sizeof(struct bpf_tc_hook),
				     .ifindex = (int)ifindex,
				     .attach_point = BPF_TC_INGRESS };
}

static struct bpf_tc_opts place(void)
{
	return (struct bpf_tc_opts){ .sz = sizeof(struct bpf_tc_opts),
				     .handle = FILTER_HANDLE,
				     .priority = FILTER_PRIORITY };
}

unsigned attached_filter(unsigned ifindex)
{
	struct bpf_tc_hook hook = hook_of(ifindex);
	struct bpf_tc_opts there = place();

	if (bpf_tc_query(&hook, &there) || !is_ours(there.prog_id))
		return 0;
	return there.prog_id;
}

int attached_filter_put(unsigned ifindex, int prog_fd)
{
	struct bpf_tc_hook hook = hook_of(ifindex);
	struct bpf_tc_opts filter = place();
	int error = bpf_tc_hook_create(&hook);

	if (error && error != -EEXIST)
		return error;
	filter.prog_fd = prog_fd;
	filter.flags = attached_filter(ifindex) ? BPF_TC_F_REPLACE : 0;
	return bpf_tc_attach(&hook, &filter);
}

/* Filters of any kind at one side of clsact; -errno. */
static int count_filters(int fd, unsigned ifindex, unsigned parent)
{
	struct {
		struct nlmsghdr head;
		struct tcmsg tc;
	} ask = { .head = { .nlmsg_len = sizeof ask,
			    .nlmsg_type = RTM_GETTFILTER,
			    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		  .tc = { .tcm_ifindex = (int)ifindex, .tcm_parent = parent } };
	_Alignas(8) char bytes[16384];
	int count = 0;

	if (send(fd, &ask, sizeof ask, 0) < 0)
		return -errno;
	for (;;) {
		ssize_t got = recv(fd, bytes, sizeof bytes, 0);

		if (got <= 0)
			return got ? -errno : -EPROTO;
		for (struct nlmsghdr *m = (struct nlmsghdr *)bytes; NLMSG_OK(m, (unsigned)got);
		     m = NLMSG_NEXT(m, got)) {
			if (m->nlmsg_type == NLMSG_DONE)
				return count;
			if (m->nlmsg_type != RTM_NEWTFILTER)
				return -EPROTO;
			count++;
		}
	}
}

static bool is_empty(unsigned ifindex)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	bool empty = fd >= 0 &&
		     !count_filters(fd, ifindex, TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS)) &&
		     !count_filters(fd, ifindex, TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS));

	if (fd >= 0)
		close(fd);
	return empty;
}

bool attached_filter_remove(unsigned ifindex)
{
	struct bpf_tc_hook hook = hook_of(ifindex);
	struct bpf_tc_opts filter = place();

	if (!attached_filter(ifindex) || bpf_tc_detach(&hook, &filter))
		return false;
	hook.attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS;
	if (is_empty(ifindex))
		bpf_tc_hook_destroy(&hook);
	return true;
}
