/* SPDX-License-Identifier: GPL-2.0-only */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include "netev.h"
#include "nic.h"

/* The kernel answers within the call that asks: only a broken one takes this long. */
enum { ASK_MS = 200 };

/* --- the difference ------------------------------------------------------------------- */

static bool has_addr(const struct netev_state *s, const uint8_t addr[16])
{
	for (unsigned i = 0; i < s->addrs; i++)
		if (!memcmp(s->addr[i], addr, 16))
			return true;
	return false;
}

static bool diff_addrs(struct netev_state *known, const struct netev_state *now,
		       struct netev_event *e)
{
	for (unsigned i = 0; i < known->addrs; i++) {
		if (has_addr(now, known->addr[i]))
			continue;
		e->kind = NETEV_addr_removed;
		memcpy(e->addr, known->addr[i], 16);
		memcpy(known->addr[i], known->addr[--known->addrs], 16);
		return true;
	}
	for (unsigned i = 0; i < now->addrs; i++) {
		if (has_addr(known, now->addr[i]))
			continue;
		/* All that it had are had by the other, which has no more than fit. */
		must(known->addrs < NETEV_ADDRS);
		e->kind = NETEV_addr_added;
		memcpy(e->addr, now->addr[i], 16);
		memcpy(known->addr[known->addrs++], now->addr[i], 16);
		return true;
	}
	return false;
}

static bool diff_word(uint32_t *known, uint32_t now, enum netev_kind kind, struct netev_event *e)
{
	if (*known == now)
		return false;
	e->kind = kind;
	e->before = *known;
	e->after = now;
	*known = now;
	return true;
}

static bool diff_bool(bool *known, bool now, enum netev_kind off, enum netev_kind on,
		      struct netev_event *e)
{
	if (*known == now)
		return false;
	e->kind = now ? on : off;
	*known = now;
	return true;
}

static bool diff_mac(struct netev_state *known, const struct netev_state *now,
		     struct netev_event *e)
{
	if (!memcmp(known->mac, now->mac, 6))
		return false;
	e->kind = NETEV_mac;
	memcpy(e->mac, now->mac, 6);
	memcpy(known->mac, now->mac, 6);
	return true;
}

/* A link that is as it was, and yet has changed, was lost and came back, or the other
 * way round. */
static bool diff_carrier(struct netev_state *known, const struct netev_state *now,
			 struct netev_event *e)
{
	bool flapped = known->carrier == now->carrier &&
		       known->carrier_changes != now->carrier_changes;

	known->carrier_changes = now->carrier_changes;
	if (!now->up) { /* that says it already */
		known->carrier = now->carrier;
		return false;
	}
	return diff_bool(&known->carrier, flapped ? !now->carrier : now->carrier,
			 NETEV_carrier_lost, NETEV_carrier_back, e);
}

static bool diff_device(struct netev_state *known, const struct netev_state *now,
			struct netev_event *e)
{
	if (known->exists && (!now->exists || known->ifindex != now->ifindex)) {
		e->kind = NETEV_deleted;
		e->before = (uint32_t)known->ifindex;
		*known = (struct netev_state){ .exists = false };
		return true;
	}
	if (!known->exists && now->exists) {
		e->kind = NETEV_back;
		e->after = (uint32_t)now->ifindex;
		*known = *now;
		return true;
	}
	return false;
}

bool netev_diff(struct netev_state *known, const struct netev_state *now, struct netev_event *e)
{
	*e = (struct netev_event){ .before = 0 };
	if (diff_device(known, now, e))
		return true;
	return diff_bool(&known->up, now->up, NETEV_admin_down, NETEV_admin_up, e) ||
	       diff_carrier(known, now, e) || diff_mac(known, now, e) ||
	       diff_word(&known->mtu, now->mtu, NETEV_mtu, e) ||
	       diff_word(&known->rx_queues, now->rx_queues, NETEV_rx_queues, e) ||
	       diff_word(&known->xdp_id, now->xdp_id, NETEV_xdp, e) || diff_addrs(known, now, e);
}

enum netev_cure netev_cure(const struct netev_event *e)
{
	switch (e->kind) {
	case NETEV_mtu:
		if (!nic_mtu_fits(e->after))
			return CURE_pause;
		return nic_mtu_fits(e->before) ? CURE_mtu : CURE_resume;
	case NETEV_mac:
		return CURE_steer;
	case NETEV_rx_queues:
		return CURE_rings;
	case NETEV_xdp:
	case NETEV_deleted:
		return CURE_sockets;
	case NETEV_back:
		return CURE_open;
	case NETEV_carrier_lost:
	case NETEV_carrier_back:
	case NETEV_admin_down:
	case NETEV_admin_up:
	case NETEV_addr_added:
	case NETEV_addr_removed:
		break;
	}
	return CURE_keep;
}

/* --- what is said --------------------------------------------------------------------- */

const char *netev_name(enum netev_kind kind)
{
	static const char *const name[] = {
#define X(word) [NETEV_##word] = #word,
		NETEV_LIST(X)
#undef X
	};

	return kind < array_size(name) ? name[kind] : "unknown";
}

static void addr_text(const uint8_t addr[16], char text[INET6_ADDRSTRLEN])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (!memcmp(addr, mapped, sizeof mapped))
		inet_ntop(AF_INET, addr + 12, text, INET6_ADDRSTRLEN);
	else
		inet_ntop(AF_INET6, addr, text, INET6_ADDRSTRLEN);
}

static void mtu_text(const struct netev_event *e, const char *ifname, char text[NETEV_TEXT])
{
	int n = snprintf(text, NETEV_TEXT, "MTU changed from %u to %u: ", e->before, e->after);
	char *rest = text + n;
	size_t room = NETEV_TEXT - (size_t)n;

	if (nic_mtu_fits(e->after))
		snprintf(rest, room, "%s",
			 nic_mtu_fits(e->before) ? "new connections go by it" :
						   "the bypass serves again");
	else
		snprintf(rest, room,
			 "a frame would not fit its chunk, or carry next to nothing: the sockets "
			 "serve until it is %d to %d: ip link set dev %s mtu 1500",
			 NIC_MTU_MIN, NIC_MTU_MAX, ifname);
}

const char *netev_text(const struct netev_event *e, const char *ifname, char text[NETEV_TEXT])
{
	char addr[INET6_ADDRSTRLEN];

	addr_text(e->addr, addr);
	switch (e->kind) {
	case NETEV_carrier_lost:
		snprintf(text, NETEV_TEXT, "the link is down (cable, switch): connections wait");
		break;
	case NETEV_carrier_back:
		snprintf(text, NETEV_TEXT, "the link is up again");
		break;
	case NETEV_admin_down:
		snprintf(text, NETEV_TEXT, "the interface was set down: ip link set dev %s up",
			 ifname);
		break;
	case NETEV_admin_up:
		snprintf(text, NETEV_TEXT, "the interface is up again");
		break;
	case NETEV_mtu:
		mtu_text(e, ifname, text);
		break;
	case NETEV_mac:
		snprintf(text, NETEV_TEXT,
			 "MAC address changed to %02x:%02x:%02x:%02x:%02x:%02x: the XDP program is "
			 "loaded anew",
			 e->mac[0], e->mac[1], e->mac[2], e->mac[3], e->mac[4], e->mac[5]);
		break;
	case NETEV_addr_added:
		snprintf(text, NETEV_TEXT, "address %s added", addr);
		break;
	case NETEV_addr_removed:
		snprintf(text, NETEV_TEXT, "address %s removed", addr);
		break;
	case NETEV_rx_queues:
		snprintf(text, NETEV_TEXT, "RX queues changed from %u to %u: sockets for them anew",
			 e->before, e->after);
		break;
	case NETEV_xdp:
		snprintf(text, NETEV_TEXT,
			 "XDP program %u is no longer what the interface has (%u; 0: none): the "
			 "sockets serve; restart to attach again",
			 e->before, e->after);
		break;
	case NETEV_deleted:
		snprintf(text, NETEV_TEXT,
			 "the interface is gone, or has another name: the sockets serve until it "
			 "is back");
		break;
	case NETEV_back:
		snprintf(text, NETEV_TEXT, "the interface is back: the bypass is set up anew");
		break;
	}
	return text;
}

/* --- a look --------------------------------------------------------------------------- */

struct attributes {
	const struct rtattr *of[IFLA_MAX + 1]; /* also enough for IFA_ and IFLA_XDP_ */
};

static void list(struct attributes *a, const struct rtattr *at, size_t len)
{
	*a = (struct attributes){ { NULL } };
	for (; RTA_OK(at, len); at = RTA_NEXT(at, len)) {
		unsigned type = at->rta_type & NLA_TYPE_MASK;

		if (type <= IFLA_MAX)
			a->of[type] = at;
	}
}

/* A value that is shorter than it should be is none. */
static bool get(const struct attributes *a, unsigned type, void *to, size_t size)
{
	if (!a->of[type] || RTA_PAYLOAD(a->of[type]) < size)
		return false;
	memcpy(to, RTA_DATA(a->of[type]), size);
	return true;
}

static void read_xdp(struct netev_state *s, const struct rtattr *nest)
{
	struct attributes a;

	list(&a, RTA_DATA(nest), RTA_PAYLOAD(nest));
	/* One of them; a program in each mode: the driver's. */
	if (!get(&a, IFLA_XDP_PROG_ID, &s->xdp_id, 4) &&
	    !get(&a, IFLA_XDP_DRV_PROG_ID, &s->xdp_id, 4))
		get(&a, IFLA_XDP_SKB_PROG_ID, &s->xdp_id, 4);
}

static void read_link(struct netev_state *s, const struct nlmsghdr *m)
{
	const struct ifinfomsg *info = NLMSG_DATA(m);
	struct rtnl_link_stats64 stats = { 0 };
	struct attributes a;

	s->exists = true;
	s->ifindex = info->ifi_index;
	s->up = info->ifi_flags & IFF_UP;
	s->carrier = info->ifi_flags & IFF_LOWER_UP;
	list(&a, IFLA_RTA(info), IFLA_PAYLOAD(m));
	get(&a, IFLA_MTU, &s->mtu, sizeof s->mtu);
	get(&a, IFLA_ADDRESS, s->mac, sizeof s->mac);
	get(&a, IFLA_CARRIER_CHANGES, &s->carrier_changes, sizeof s->carrier_changes);
	/* As far as it reached in 2.6.35; newer kernels have more of it. */
	get(&a, IFLA_STATS64, &stats, offsetof(struct rtnl_link_stats64, rx_nohandler));
	s->tx_packets = stats.tx_packets;
	if (a.of[IFLA_XDP])
		read_xdp(s, a.of[IFLA_XDP]);
}

static void read_addr(struct netev_state *s, const struct nlmsghdr *m)
{
	const struct ifaddrmsg *info = NLMSG_DATA(m);
	uint8_t addr[16] = { [10] = 0xff, [11] = 0xff };
	struct attributes a;
	bool found;

	if ((int)info->ifa_index != s->ifindex || s->addrs == NETEV_ADDRS)
		return;
	list(&a, IFA_RTA(info), IFA_PAYLOAD(m));
	/* IPv4 on a point-to-point link: IFA_ADDRESS is the peer's */
	if (info->ifa_family == AF_INET)
		found = get(&a, IFA_LOCAL, addr + 12, 4);
	else
		found = info->ifa_family == AF_INET6 &&
			(get(&a, IFA_LOCAL, addr, 16) || get(&a, IFA_ADDRESS, addr, 16));
	if (found && !has_addr(s, addr))
		memcpy(s->addr[s->addrs++], addr, 16);
}

/* One message. 1: the last one, 0: more come, or -errno. */
static int read_message(struct netev_state *s, const struct nlmsghdr *m)
{
	const struct nlmsgerr *error = NLMSG_DATA(m);

	switch (m->nlmsg_type) {
	case NLMSG_ERROR:
		return error->error ? error->error : 1;
	case NLMSG_DONE:
		return 1;
	case RTM_NEWLINK:
		read_link(s, m);
		return 1;
	case RTM_NEWADDR:
		read_addr(s, m);
		return 0;
	}
	return 0;
}

/* Send what is in n->bytes, and read the answer. */
static int ask(struct netev *n, struct netev_state *s)
{
	struct nlmsghdr *m = (struct nlmsghdr *)n->bytes;
	int status = 0;

	m->nlmsg_seq = ++n->seq;
	if (send(n->ask_fd, n->bytes, m->nlmsg_len, MSG_DONTWAIT) < 0)
		return -errno;
	while (!status) {
		ssize_t got = recv(n->ask_fd, n->bytes, sizeof n->bytes, MSG_TRUNC);
		size_t len = (size_t)got;

		if (got < 0)
			return -errno;
		if (len > sizeof n->bytes)
			return -EMSGSIZE;
		for (m = (struct nlmsghdr *)n->bytes; NLMSG_OK(m, len) && !status;
		     m = NLMSG_NEXT(m, len))
			/* others: of a question that was given up */
			if (m->nlmsg_seq == n->seq)
				status = read_message(s, m);
	}
	return status < 0 ? status : 0;
}

static int ask_link(struct netev *n, struct netev_state *s)
{
	struct {
		struct nlmsghdr head;
		struct ifinfomsg info;
		struct rtattr name_head;
		char name[sizeof n->ifname];
	} q = {
		.head = { .nlmsg_len = sizeof q,
			  .nlmsg_type = RTM_GETLINK,
			  .nlmsg_flags = NLM_F_REQUEST },
		.name_head = { .rta_len = sizeof q.name_head + sizeof q.name,
			       .rta_type = IFLA_IFNAME },
	};

	memcpy(q.name, n->ifname, sizeof q.name);
	memcpy(n->bytes, &q, sizeof q);
	return ask(n, s);
}

static int ask_addrs(struct netev *n, struct netev_state *s)
{
	struct {
		struct nlmsghdr head;
		struct ifaddrmsg info;
	} q = {
		.head = { .nlmsg_len = sizeof q,
			  .nlmsg_type = RTM_GETADDR,
			  .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
	};

	memcpy(n->bytes, &q, sizeof q);
	return ask(n, s);
}

static bool look(struct netev *n, uint64_t now_ns)
{
	struct netev_state s = { .exists = false };
	int error = ask_link(n, &s);

	n->looked_ns = now_ns;
	if (!error) {
		s.rx_queues = nic_rx_queues(n->ifname);
		error = ask_addrs(n, &s);
	}
	n->rang = error && error != -ENODEV; /* the next look makes up for it */
	if (n->rang)
		return false;
	n->now = s;
	return true;
}

/* --- the bell -------------------------------------------------------------------------- */

/* Somebody else's interface? While ours is not there, any new one may be it. */
static bool is_ours(const struct netev *n, const struct nlmsghdr *m)
{
	int ifindex = 0;

	switch (m->nlmsg_type) {
	case RTM_NEWLINK:
	case RTM_DELLINK:
		ifindex = ((const struct ifinfomsg *)NLMSG_DATA(m))->ifi_index;
		break;
	case RTM_NEWADDR:
	case RTM_DELADDR:
		ifindex = (int)((const struct ifaddrmsg *)NLMSG_DATA(m))->ifa_index;
		break;
	}
	return !n->known.exists || ifindex == n->known.ifindex;
}

/* As many as a flood of others may bring and still let us work: the bell rings on. */
static void hear(struct netev *n)
{
	for (int i = 0; i < 256; i++) {
		ssize_t got = recv(n->bell_fd, n->bytes, sizeof n->bytes, MSG_TRUNC);
		size_t len = (size_t)got;

		if (got < 0 && errno == EAGAIN)
			return;
		/* ENOBUFS: some were lost; too long to read: it may be ours */
		if (got < 0 || len > sizeof n->bytes) {
			n->rang = true;
			continue;
		}
		for (struct nlmsghdr *m = (struct nlmsghdr *)n->bytes; NLMSG_OK(m, len);
		     m = NLMSG_NEXT(m, len))
			n->rang |= is_ours(n, m);
	}
}

bool netev_next(struct netev *n, uint64_t now_ns, struct netev_event *e)
{
	if (netev_diff(&n->known, &n->now, e))
		return true;
	hear(n);
	if (!n->rang && now_ns - n->looked_ns < NS_PER_S)
		return false;
	return look(n, now_ns) && netev_diff(&n->known, &n->now, e);
}

bool netev_settle(struct netev *n, uint64_t now_ns)
{
	hear(n);
	if (!look(n, now_ns))
		return false;
	n->known = n->now;
	return true;
}

int netev_fd(const struct netev *n)
{
	return n->bell_fd;
}

static int open_sockets(struct netev *n)
{
	struct sockaddr_nl groups = {
		.nl_family = AF_NETLINK,
		.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR,
	};
	struct timeval patience = { .tv_usec = ASK_MS * 1000 };
	int type = SOCK_RAW | SOCK_CLOEXEC;

	n->bell_fd = socket(AF_NETLINK, type | SOCK_NONBLOCK, NETLINK_ROUTE);
	n->ask_fd = socket(AF_NETLINK, type, NETLINK_ROUTE);
	if (n->bell_fd < 0 || n->ask_fd < 0 ||
	    bind(n->bell_fd, (struct sockaddr *)&groups, sizeof groups) < 0 ||
	    setsockopt(n->ask_fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) < 0)
		return -errno;
	return 0;
}

int netev_open(struct netev *n, const char *ifname)
{
	int error;

	memset(n, 0, sizeof *n);
	snprintf(n->ifname, sizeof n->ifname, "%s", ifname);
	error = open_sockets(n);
	if (!error && !netev_settle(n, 0))
		error = -EIO;
	if (!error)
		return 0;
	fprintf(stderr, "saker: %s: cannot watch the interface: %s\n", ifname, strerror(-error));
	netev_close(n);
	return error;
}

void netev_close(struct netev *n)
{
	if (n->bell_fd >= 0)
		close(n->bell_fd);
	if (n->ask_fd >= 0)
		close(n->ask_fd);
	n->bell_fd = n->ask_fd = -1;
}

void netev_attached(struct netev *n, uint64_t now_ns)
{
	if (look(n, now_ns))
		n->known.xdp_id = n->now.xdp_id;
}
