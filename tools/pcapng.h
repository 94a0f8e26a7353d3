/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * pcapng.h - the blocks of a capture file
 *
 * Place    For saker-stat trace: libpcap writes neither comments nor directions.
 *          Format: draft-ietf-opsawg-pcapng. Pure.
 * Model    A file is one section (pcapng_section), one interface behind it
 *          (pcapng_interface), frames (pcapng_frame), and what was lost
 *          (pcapng_statistics). Each function writes one block and returns its length.
 * Limits   PCAPNG_BLOCK bytes hold any block of a frame of PCAPNG_FRAME bytes; texts
 *          are cut at PCAPNG_TEXT.
 * Units    ns of the wall clock since 1970; the file says so (if_tsresol 9).
 */
#ifndef PCAPNG_H
#define PCAPNG_H

#include "base.h"

enum { PCAPNG_FRAME = 2048, PCAPNG_TEXT = 256, PCAPNG_BLOCK = PCAPNG_FRAME + 3 * PCAPNG_TEXT };

/* program: that wrote it. */
size_t pcapng_section(uint8_t to[PCAPNG_BLOCK], const char *program);

/* Ethernet. about, filter: for people; "" leaves them out. snap: 0: whole frames. */
size_t pcapng_interface(uint8_t to[PCAPNG_BLOCK], const char *name, const char *about,
			const char *filter, uint32_t snap);

struct pcapng_frame {
	uint64_t time_ns;
	const uint8_t *bytes;
	uint32_t captured, original;
	bool sent;           /* outbound */
	const char *comment; /* "": none */
};
size_t pcapng_frame(uint8_t to[PCAPNG_BLOCK], const struct pcapng_frame *f);

struct pcapng_statistics {
	uint64_t start_ns, end_ns;
	uint64_t received; /* frames that passed the filter */
	uint64_t dropped;  /* and of those, not in the file: no room */
};
size_t pcapng_statistics(uint8_t to[PCAPNG_BLOCK], const struct pcapng_statistics *s);

#endif
