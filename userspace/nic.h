/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * nic.h - what the kernel knows of the interface
 *
 * Place    The starter asks before it attaches anything.
 * Errors   0 or -errno, reported here on stderr.
 */
#ifndef NIC_H
#define NIC_H

#include "base.h"
#include "limits.h"

enum {
	NIC_MTU_MIN = 576,             /* RFC 791: what every host takes; less is crumbs */
	NIC_MTU_MAX = FRAME_ROOM - 18, /* in a chunk, with Ethernet header and one tag */
};

struct nic {
	unsigned ifindex;
	uint8_t mac[6];
	bool has_ip4;
	uint8_t ip4[4]; /* the first address */
	unsigned mtu;
	unsigned rx_queues; /* in use now */
	bool up;
};

int nic_ask(struct nic *nic, const char *ifname);

/* The queues in use now, 1 where nobody says. Asks the kernel anew, a call a queue. */
unsigned nic_rx_queues(const char *ifname);

/* For a card that no longer sends: what is known of its driver, and what the user can do
 * that we do not do for him, since it cuts every connection. Returns text. */
enum { NIC_TEXT = 400 };
const char *nic_dead_tx(const char *ifname, char text[NIC_TEXT]);

/* May the bypass serve with it? */
static inline bool nic_mtu_fits(unsigned mtu)
{
	return mtu >= NIC_MTU_MIN && mtu <= NIC_MTU_MAX;
}

/* A frame that proves by its completion that we can send, and disturbs nobody:
 * an ARP probe for our own address (RFC 5227 1.1: sender address 0), or, without
 * IPv4, a frame to ourselves with the EtherType for local experiments. Returns
 * its length. */
enum { NIC_PROBE_LEN = 60 };
size_t nic_probe(const struct nic *nic, uint8_t frame[NIC_PROBE_LEN]);

#endif
