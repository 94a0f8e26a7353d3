/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * probe_count.h - how far a counter has come since the start, whatever it does
 *
 * Model    What is read is compared with what was read before; the differences are
 *          summed. So a counter may wrap, or begin anew when its device does.
 */
#ifndef PROBE_COUNT_H
#define PROBE_COUNT_H

#include "base.h"

struct count {
	uint64_t last, sum;
	bool begun;
};

/* Of the kernel's 32-bit counters: softnet_stat, interrupts, softirqs, and sums of these.
 * At 1.5 million packets a second they wrap in 48 minutes. */
static inline uint64_t count_32(struct count *c, uint64_t now)
{
	if (c->begun)
		c->sum += (uint32_t)(now - c->last);
	c->last = now;
	c->begun = true;
	return c->sum;
}

/* Of 64-bit counters. One that went back has wrapped at 32 bits, if it had come as far
 * as that (a driver's own registers), else it began anew at 0. */
static inline uint64_t count_64(struct count *c, uint64_t now)
{
	if (c->begun && now >= c->last)
		c->sum += now - c->last;
	else if (c->begun && c->last <= UINT32_MAX && c->last > UINT32_MAX / 4 * 3 &&
		 now < UINT32_MAX / 4)
		c->sum += (uint32_t)(now - c->last);
	else if (c->begun)
		c->sum += now;
	c->last = now;
	c->begun = true;
	return c->sum;
}

#endif
