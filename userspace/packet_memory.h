/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * packet_memory.h - the frames of a struct packet, and the call that sends them
 *
 * Place    packet.c and packet_setup.c.
 * Model    TX frame i has message i, which points to it, so that those under way are
 *          always a run of messages, or two.
 */
#ifndef PACKET_MEMORY_H
#define PACKET_MEMORY_H

#include <sys/socket.h>
#include <sys/uio.h>
#include "packet.h"

struct packet_memory {
	uint8_t rx[BATCH_MAX][FRAME_SIZE];
	/* from here on only where packet.sends */
	uint8_t tx[PACKET_TX][FRAME_SIZE];
	struct mmsghdr message[PACKET_TX];
	struct iovec bytes[PACKET_TX];
	uint64_t sent_ns[PACKET_TX]; /* when it was committed, if it carries an answer */
};

void packet_memory_init(struct packet_memory *m);

#endif
