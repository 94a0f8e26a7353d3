/* SPDX-License-Identifier: GPL-2.0-only */
/* What the driver can do for XDP, as the netdev family of generic netlink tells it since
 * Linux 6.3 (Documentation/netlink/specs/netdev.yaml). libbpf tells it from 1.2 on. */
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include "doctor_checks.h"

enum { NETDEV_DEV_GET = 1, NETDEV_IFINDEX = 1, NETDEV_XDP_FEATURES = 3 };
enum { XDP_BASIC = 1 << 0, XDP_ZERO_COPY = 1 << 3 };

struct message {
	struct nlmsghdr head;
	struct genlmsghdr what;
	struct nlattr attr;
	char value[4096];
};

/* One attribute up, the answer in its place. 0 or -errno. */
static int ask(int fd, struct message *m, unsigned family, unsigned command, unsigned attr,
	       const void *value, size_t size)
{
	ssize_t n;

	*m = (struct message){
		.head = { .nlmsg_len = (uint32_t)(offsetof(struct message, value) +
						  NLMSG_ALIGN(size)),
			  .nlmsg_type = (uint16_t)family,
			  .nlmsg_flags = NLM_F_REQUEST },
		.what = { .cmd = (uint8_t)command, .version = 1 },
		.attr = { .nla_type = (uint16_t)attr, .nla_len = (uint16_t)(NLA_HDRLEN + size) },
	};
	memcpy(m->value, value, size);
	if (send(fd, m, m->head.nlmsg_len, 0) < 0)
		return -errno;
	n = recv(fd, m, sizeof *m, 0);
	if (n < 0)
		return -errno;
	if (n < (ssize_t)NLMSG_LENGTH(sizeof(int)))
		return -EPROTO;
	if (m->head.nlmsg_type == NLMSG_ERROR) {
		int error;

		memcpy(&error, &m->what, sizeof error);
		return error < 0 ? error : -EPROTO;
	}
	return 0;
}

/* The attribute of the answer, at least of that size. */
static const void *found(const struct message *m, unsigned type, size_t size)
{
	const char *at = (const char *)&m->attr, *end = (const char *)m + m->head.nlmsg_len;

	for (struct nlattr a; at + sizeof a <= end; at += NLA_ALIGN(a.nla_len)) {
		memcpy(&a, at, sizeof a);
		if (a.nla_len < sizeof a || at + a.nla_len > end)
			return NULL;
		if ((a.nla_type & NLA_TYPE_MASK) == type && a.nla_len >= NLA_HDRLEN + size)
			return at + NLA_HDRLEN;
	}
	return NULL;
}

/* 0 or -errno. */
static int ask_features(unsigned ifindex, uint64_t *features)
{
	static struct message m;
	struct timeval patience = { .tv_sec = 1 };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC), error;
	const void *at;
	uint16_t family;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	error = ask(fd, &m, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, "netdev", 7);
	if (!error && !(at = found(&m, CTRL_ATTR_FAMILY_ID, sizeof family)))
		error = -EPROTO;
	if (!error) {
		memcpy(&family, at, sizeof family);
		error = ask(fd, &m, family, NETDEV_DEV_GET, NETDEV_IFINDEX, &ifindex,
			    sizeof ifindex);
	}
	if (!error && !(at = found(&m, NETDEV_XDP_FEATURES, sizeof *features)))
		error = -EPROTO;
	if (!error)
		memcpy(features, at, sizeof *features);
	close(fd);
	return error;
}

/* Below a root: what `xdp-loader features IFACE` prints. */
static bool features_of(const struct host *h, uint64_t *features, char *why, size_t size)
{
	char text[2048], value[16];
	int error;

	*features = 0;
	if (host_real(h)) {
		error = ask_features(if_nametoindex(h->iface), features);
		snprintf(why, size, "%s",
			 error == -ENOENT ? "a kernel before Linux 6.3 does not say" :
					    strerror(-error));
		return !error;
	}
	snprintf(why, size, "no file xdp-loader/%s/features below the root", h->iface);
	if (!host_text(h, text, sizeof text, "xdp-loader/%s/features", h->iface))
		return false;
	if (field_text(text, "NETDEV_XDP_ACT_BASIC", value, sizeof value) && *value == 'y')
		*features |= XDP_BASIC;
	if (field_text(text, "NETDEV_XDP_ACT_XSK_ZEROCOPY", value, sizeof value) && *value == 'y')
		*features |= XDP_ZERO_COPY;
	return true;
}

void check_native_xdp(const struct host *h, struct finding *f)
{
	const char *who = *h->driver ? h->driver : h->iface;
	bool macb = !strcmp(h->driver, "macb");
	uint64_t features;
	char why[128];

	finding_why(f, BASIS_ESTIMATE, "kernel's net/core/dev.c and net/xdp/xsk.c; not measured",
		    "in generic mode the kernel makes an skb of each frame and copies it twice "
		    "before saker sees it: 1.5 to 3 us on a Pi 5; native mode copies once, "
		    "zero-copy never");
	if (features_of(h, &features, why, sizeof why)) {
		if (features & XDP_BASIC)
			finding_is(f, VERDICT_OK, "%s: native XDP%s", who,
				   features & XDP_ZERO_COPY ? " with zero-copy" : ", no zero-copy");
		else
			finding_is(f, VERDICT_INFO, "%s: no native XDP, so generic mode", who);
	} else if (macb && h->version < host_version(7, 4, 0)) {
		finding_is(f, VERDICT_INFO,
			   "macb: no native XDP in any kernel up to 7.3, so generic mode (%s)",
			   why);
	} else {
		finding_is(f, VERDICT_UNKNOWN, "%s: %s; saker tries it at its start",
			   *h->driver ? h->driver : "driver not known", why);
	}
	if (macb && f->verdict == VERDICT_INFO)
		finding_fix(f, FIX_REBUILD,
			    "an experimental kernel: raspberrypi/linux PR 7271, with "
			    "CONFIG_XDP_SOCKETS=y added");
}
