/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <string.h>
#include <time.h>
#include "packet_memory.h"

_Static_assert((PACKET_TX & (PACKET_TX - 1)) == 0, "counts that run over keep their frames");
_Static_assert((int)PACKET_TX <= (int)RING_COMP, "one reap says all");

void packet_check(const struct packet *p)
{
	must(packet_in_flight(p) <= PACKET_TX);
	must(p->sent - p->reaped <= packet_in_flight(p));
	must(p->offered - p->reaped <= packet_in_flight(p));
}

/* --- receive --------------------------------------------------------------------------- */

unsigned packet_rx(struct packet *p, struct ring_frame batch[BATCH_MAX])
{
	const struct packet_record *from;
	unsigned n = 0;
	uint32_t len;

	while (n < BATCH_MAX && (from = ringbuf_peek(&p->frames, &len))) {
		uint8_t *to = p->memory->rx[n];

		must(len >= sizeof *from && from->len <= len - sizeof *from &&
		     from->len <= FRAME_SIZE);
		memcpy(to, from->data, from->len);
		batch[n] = (struct ring_frame){
			.data = to,
			.len = from->len,
			.frame = (uint16_t)n,
			.meta = from->meta,
		};
		n++;
		ringbuf_pass(&p->frames, len);
	}
	if (n) {
		ringbuf_release(&p->frames);
		p->stats->rx_frames += n;
	}
	return n;
}

/* --- send ---------------------------------------------------------------------------------- */

static unsigned slot(uint32_t count)
{
	return count & (PACKET_TX - 1);
}

uint8_t *packet_reserve(struct packet *p, uint16_t *frame)
{
	must_debug(!p->held);
	if (packet_in_flight(p) == PACKET_TX)
		return NULL;
	p->held = true;
	*frame = (uint16_t)slot(p->committed);
	return p->memory->tx[*frame];
}

void packet_cancel(struct packet *p, uint16_t frame)
{
	must_debug(p->held && frame == slot(p->committed));
	(void)frame;
	p->held = false;
}

void packet_commit(struct packet *p, uint16_t frame, size_t len, uint64_t sent_ns)
{
	must_debug(p->held && frame == slot(p->committed));
	p->held = false;
	p->memory->bytes[frame].iov_len = len;
	p->memory->sent_ns[frame] = sent_ns;
	p->committed++;
}

/* Will the kernel take it later? Its queue or our share of memory is full; the interface is
 * down or going, which netev.h sees. Else it is this frame that it does not take, as one
 * longer than a new MTU. */
static bool put_off(int error)
{
	return error == EAGAIN || error == EBUSY || error == ENOBUFS || error == ENOMEM ||
	       error == EINTR || error == ENETDOWN || error == ENXIO || error == ENODEV;
}

/* A run of frames as long as the messages are in a row. */
static bool send_run(struct packet *p)
{
	unsigned first = slot(p->sent), waiting = p->committed - p->sent;
	unsigned n = (unsigned)min_u64(waiting, PACKET_TX - first);
	int taken = sendmmsg(p->fd, &p->memory->message[first], n, MSG_DONTWAIT);

	p->stats->tx_kicks++;
	if (taken > 0) {
		p->sent += (unsigned)taken;
		return true;
	}
	if (put_off(errno)) {
		p->stats->tx_kick_retries++;
		return false;
	}
	p->refused++;
	p->sent++;
	return true;
}

void packet_tx(struct packet *p)
{
	p->stats->tx_frames += p->committed - p->offered;
	p->offered = p->committed;
	while (p->sent != p->committed && send_run(p))
		;
}

unsigned packet_reap(struct packet *p, uint64_t sent_ns[RING_COMP])
{
	unsigned timed = 0;

	p->stats->tx_completed += p->sent - p->reaped;
	for (; p->reaped != p->sent; p->reaped++) {
		uint64_t ns = p->memory->sent_ns[slot(p->reaped)];

		if (ns)
			sent_ns[timed++] = ns;
	}
	return timed;
}

bool packet_save(struct packet *p)
{
	uint64_t none[RING_COMP];

	if (p->held || p->offered != p->committed)
		return false;
	packet_reap(p, none);
	p->stats->tx_abandoned += packet_in_flight(p);
	p->sent = p->reaped = p->committed;
	return true;
}

int packet_test_send(const struct packet *p, const void *frame, size_t len, unsigned timeout_ms)
{
	struct timespec pause = { .tv_nsec = 100000 };

	for (unsigned i = 0; i < timeout_ms * 10; i++) {
		if (send(p->fd, frame, len, MSG_DONTWAIT) == (ssize_t)len)
			return 0;
		nanosleep(&pause, NULL);
	}
	return -ETIMEDOUT;
}

/* --- what there is --------------------------------------------------------------------------- */

void packet_gauge(const struct packet *p, struct ring_block *out, uint64_t now_ns)
{
	*out = (struct ring_block){
		.at_ns = now_ns,
		.rx = ringbuf_level(&p->frames),
		.tx_invalid = p->refused,
	};
	if (!p->sends)
		return;
	out->frames = PACKET_TX;
	out->frames_tx = packet_in_flight(p);
	out->frames_held = p->held;
	out->frames_free = PACKET_TX - out->frames_tx - out->frames_held;
	out->tx = p->committed - p->sent;
	out->completion = p->sent - p->reaped;
}
