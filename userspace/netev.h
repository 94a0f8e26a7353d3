/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * netev.h - what happens to the interface while we serve
 *
 * Place    The starter polls its descriptor with its others, and asks at least once
 *          a second; what is to be done is told by netev_cure.
 * Model    A message of rtnetlink is only a bell: whatever it says, the interface is
 *          read anew and compared with what was known. So an overrun socket
 *          (ENOBUFS) is a bell as well, and a message that never comes (ethtool -L, a
 *          BPF link that is detached) is made up for each second. A link
 *          that flaps between two looks is seen by the kernel's count of its changes.
 *          The kernel's own macros read the messages: eight attributes do not pay for
 *          a library.
 * Owner    The caller's memory, all of it; nothing is allocated.
 * Threads  One. A socket belongs to the network namespace in which it was opened.
 * Limits   NETEV_ADDRS addresses are watched; what an interface has beyond is not.
 * Errors   netev_open: 0 or -errno, reported. A look that fails is tried again with
 *          the next one, in silence.
 *
 * What the starter shall do, each said once:
 *
 *   event           cure          why
 *   carrier_lost    keep          the kernel could send no more than we; timers go on, and
 *   carrier_back    keep          what was lost is sent again
 *   admin_down      keep          frames wait on the TX ring (sendto says ENETDOWN), IPv6
 *   admin_up        keep          addresses go; both the operator's will
 *   mtu, fits       mtu           XDP and rings do not mind; new connections offer its MSS
 *   mtu, does not   pause         a frame would not fit its chunk, or answers go in crumbs
 *   mtu, fits again resume
 *   mac             steer         XDP compares it, and its configuration is frozen: load
 *                                 the program anew, then the rings
 *   addr_added      keep          every address is served, or those of --addr
 *   addr_removed    keep
 *   rx_queues       rings         a socket for each queue: fewer would leave frames to the
 *                                 kernel, which resets what it does not know
 *   xdp             sockets       somebody took our program off: he had a reason, and two
 *                                 who attach in turns stop both. Restart to attach again
 *   deleted         sockets       they serve on the other interfaces
 *   back            open          a new device of the same name: everything anew
 *
 * While there is no carrier, or the interface is down, watch.h must not take silence for
 * a fault.
 */
#ifndef NETEV_H
#define NETEV_H

#include "base.h"
#include "limits.h"

enum { NETEV_ADDRS = 32 };

/* As of the last look. */
struct netev_state {
	bool exists;
	bool up, carrier;
	int ifindex;
	unsigned mtu, rx_queues;
	uint32_t carrier_changes; /* since the device was made */
	uint32_t xdp_id;          /* of the program on it; 0: none */
	uint8_t mac[6];
	unsigned addrs;
	uint8_t addr[NETEV_ADDRS][16]; /* IPv4 as ::ffff:a.b.c.d */
	uint64_t tx_packets;           /* for watch.h; no event comes of it */
};

#define NETEV_LIST(X) \
	X(carrier_lost) \
	X(carrier_back) \
	X(admin_down) \
	X(admin_up) \
	X(mtu) \
	X(mac) \
	X(addr_added) \
	X(addr_removed) \
	X(rx_queues) \
	X(xdp) \
	X(deleted) \
	X(back)
enum netev_kind {
#define X(name) NETEV_##name,
	NETEV_LIST(X)
#undef X
};

struct netev_event {
	enum netev_kind kind;
	uint32_t before, after; /* mtu, rx_queues, xdp: program; deleted, back: ifindex, or 0 */
	uint8_t mac[6];         /* mac: the new one */
	uint8_t addr[16];       /* addr_added, addr_removed */
};

enum netev_cure {
	CURE_keep,    /* nothing */
	CURE_mtu,     /* tell the workers */
	CURE_pause,   /* live->ready = 0: the sockets serve, rings and program stay */
	CURE_resume,  /* live->ready = 1, and as CURE_mtu */
	CURE_rings,   /* take the rings back, open them for the queues of now, give again */
	CURE_steer,   /* that, and the program anew in between */
	CURE_sockets, /* take the rings back, close them and the program; wait */
	CURE_open,    /* as at the start */
};

struct netev {
	int bell_fd, ask_fd;
	char ifname[16];
	struct netev_state known; /* what was told */
	struct netev_state now;   /* the last look */
	bool rang;
	uint64_t looked_ns;
	uint32_t seq;
	_Alignas(8) uint8_t bytes[16384]; /* a message; those of the kernel fit 8 KiB */
};

/* Watch this interface. It may not be there yet: then NETEV_back will come. */
int netev_open(struct netev *n, const char *ifname);
void netev_close(struct netev *n);

/* Readable when there is something to ask netev_next for. */
int netev_fd(const struct netev *n);

/* The next event; false: none, come back when the descriptor is readable, or in a
 * second. */
bool netev_next(struct netev *n, uint64_t now_ns, struct netev_event *e);

/* After a change of our own (XDP attached, MTU set): what is so now is known. False: it
 * could not be read; the change will come as an event. */
bool netev_settle(struct netev *n, uint64_t now_ns);

/* Pure: the first difference of two states becomes an event, and *known has it. False
 * when nothing is left to tell. */
bool netev_diff(struct netev_state *known, const struct netev_state *now, struct netev_event *e);

/* We have changed the program on it: only that is known then; whatever else is new is
 * still told. */
void netev_attached(struct netev *n, uint64_t now_ns);

enum netev_cure netev_cure(const struct netev_event *e);

/* What is said of it, without the name of the interface: cause, and the cure if the
 * user has one. Returns text. */
enum { NETEV_TEXT = 192 };
const char *netev_text(const struct netev_event *e, const char *ifname, char text[NETEV_TEXT]);

const char *netev_name(enum netev_kind kind);

#endif
