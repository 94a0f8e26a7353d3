/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * frame.h - the tester's own frames: made, damaged, judged, shown
 *
 * Place    run.c makes what it sends and judges what comes with it. Shares no
 *          code with userspace/pkt.c, which is among what is being tested.
 * Units    Host order, but for addresses, which stay as bytes.
 */
#ifndef FRAME_H
#define FRAME_H

#include "base.h"
#include "script.h"

enum { FRAME_MOST = 2048, FRAME_UNTAGGED = 0xffff };

/* The two ends of all connections of a script. */
struct ends {
	uint8_t client_mac[6], server_mac[6];
	uint8_t client_ip4[4], server_ip4[4];
	uint8_t client_ip6[16], server_ip6[16];
	uint16_t client_port; /* of @1; the others follow */
	uint16_t server_port;
};

/* A segment, absolute numbers. */
struct seg {
	uint32_t seq, ack, len;
	uint16_t window, sport, dport, vlan;
	uint8_t flags;
	uint8_t option[40];
	unsigned option_len;
	const uint8_t *data;
};

/* Frame of a segment from client to server, well made but for the damages. */
size_t frame_make(uint8_t frame[FRAME_MOST], const struct ends *e, bool ip6, const struct seg *s,
		  const struct damage *damage, unsigned damages);

enum frame_kind { FRAME_OTHER, FRAME_OURS, FRAME_BAD };

/* Judge a frame that came. OTHER: not from the server to one of the client's
 * ports. BAD: ours, but wrong in the way that *why says. */
enum frame_kind frame_read(const uint8_t *frame, size_t len, const struct ends *e, bool ip6,
			   struct seg *s, const char **why);

/* In the language of the scripts; numbers relative to the given ones. */
void frame_show(char *to, size_t room, const struct seg *s, uint32_t seq0, uint32_t ack0);

/* The body of an option and its length, or NULL: not there. Kind END: is the
 * list malformed? Then it gives the place. */
const uint8_t *frame_option(const struct seg *s, uint8_t kind, unsigned *len);

#endif
