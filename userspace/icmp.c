/* SPDX-License-Identifier: GPL-2.0-only */
#include "icmp.h"

int icmp_open(struct icmp *i, int map_fd)
{
	return ringbuf_open(&i->ring, map_fd, ICMP_RING_BYTES);
}

void icmp_close(struct icmp *i)
{
	ringbuf_close(&i->ring);
}

bool icmp_take(struct icmp *i, struct icmp_event *e)
{
	const struct icmp_event *told;
	uint32_t len;

	while ((told = ringbuf_peek(&i->ring, &len))) {
		bool whole = len == sizeof *e;

		if (whole)
			memcpy(e, told, sizeof *e);
		ringbuf_pass(&i->ring, len);
		ringbuf_release(&i->ring);
		if (whole)
			return true;
	}
	return false;
}
