/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * handover.h - what a worker that departs leaves to its heir
 *
 * Place    A memfd that the starter makes; the one writes it, then the other reads it.
 * Model    How each gate stands, and an image of the worker of each I/O thread
 *          (image.h). The file is as long as it could ever take, and has holes: only
 *          what is written takes memory.
 * Owner    The mapping is the caller's.
 */
#ifndef HANDOVER_H
#define HANDOVER_H

#include "base.h"
#include "limits.h"
#include "gate.h"

struct handover {
	uint64_t len[IO_THREADS_MAX]; /* of the images; 0: there is none */
	uint32_t gates;
	struct gate_state gate[QUEUES_MAX];
};

/* Bytes of the file, with so many for each image. */
static inline size_t handover_bytes(unsigned threads, size_t room)
{
	return round_up(sizeof(struct handover), 64) + threads * round_up(room, 64);
}

static inline uint8_t *handover_image(struct handover *h, unsigned t, size_t room)
{
	return (uint8_t *)h + round_up(sizeof *h, 64) + t * round_up(room, 64);
}

#endif
