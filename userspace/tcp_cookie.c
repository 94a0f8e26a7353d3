/* SPDX-License-Identifier: GPL-2.0-only */
#include "tcp_private.h"

/*
 * The sequence number of a SYN-ACK, after FreeBSD's syncookies:
 *
 *   31          8   7  6      4 3     1  0
 *   | hash, 24   |SACK|  scale |  mss |epoch|  low byte masked by another hash
 *
 * 24 bits of SipHash over flow, client ISN, epoch and low byte. It replaces
 * the clock of RFC 6528: same unpredictability, and no state before the ACK.
 * An attacker who guesses needs 2^23 segments on average for one connection.
 */

/* Classes go down: a smaller segment or window is always safe. Only what is below
 * the smallest MSS goes up to it, the floor against tiny segments (CVE-2019-11479). */
static const uint16_t mss_class[8] = { 64, 216, 536, 1220, 1360, 1400, 1440, 1460 };
static const uint8_t scale_class[8] = { 0, 1, 2, 4, 6, 7, 8, 10 };

static unsigned class_of_mss(unsigned mss)
{
	unsigned i = 7;

	while (i > 0 && mss_class[i] > mss)
		i--;
	return i;
}

static unsigned class_of_scale(unsigned scale)
{
	unsigned i = 7;

	while (i > 0 && scale_class[i] > scale)
		i--;
	return i;
}

static uint64_t hash_of(const struct tcp *t, uint64_t flow, uint32_t isn, uint32_t epoch,
			uint32_t low)
{
	struct {
		uint64_t flow;
		uint32_t isn, epoch, low, zero;
	} m = { flow, isn, epoch, low, 0 };

	return siphash(&t->key, &m, sizeof m);
}

static uint32_t epoch_of(uint64_t now_ns)
{
	return (uint32_t)(now_ns / NS_PER_MS / TCP_COOKIE_EPOCH_MS);
}

/* Not an epoch and not a low byte: another hash from the same function. */
enum { MASK_EPOCH = 0xffffffff, MASK_LOW = 0x100 };

static uint32_t mask_of(const struct tcp *t, uint64_t flow, uint32_t isn)
{
	return hash_of(t, flow, isn, MASK_EPOCH, MASK_LOW) & 0xff;
}

static uint32_t cookie(const struct tcp *t, uint64_t flow, uint32_t isn, uint32_t epoch,
		       uint32_t low)
{
	uint32_t top = (uint32_t)hash_of(t, flow, isn, epoch, low) & 0xffffff00;

	return top | (low ^ mask_of(t, flow, isn));
}

void tcp_answer_syn(struct tcp *t, const struct pkt_seg *syn, uint64_t hash, uint64_t now_ns)
{
	bool ip4 = pkt_is_ip4(&syn->flow);
	/* RFC 9293 3.7.1: without the option 536; IPv6 has 1220 (RFC 8200 5). */
	unsigned mss = syn->mss ? syn->mss : ip4 ? 536 : 1220;
	unsigned scale = syn->wscale == PKT_NO_SCALE ? 0 : syn->wscale;
	uint32_t epoch = epoch_of(now_ns);
	uint32_t low = (uint32_t)syn->sack_ok << 7 | class_of_scale(scale) << 4 |
		       class_of_mss(mss) << 1 | (epoch & 1);
	struct pkt_seg *s = tcp_stub(t);

	if (!s)
		return;
	*s = (struct pkt_seg){
		.flow = syn->flow,
		.link = syn->link,
		.seq = cookie(t, hash, syn->seq, epoch, low),
		.ack = syn->seq + 1,
		.window = t->p.window,
		.flags = WIRE_SYN | WIRE_ACK,
		.mss = ip4 ? t->p.mss4 : t->p.mss6,
		/* Our windows fit 16 bits; scale 0 lets the client scale its own. */
		.wscale = syn->wscale == PKT_NO_SCALE ? PKT_NO_SCALE : 0,
		.has_ts = syn->has_ts,
		.sack_ok = syn->sack_ok,
		.ts_val = tcp_timestamp(tcp_ts_offset(hash), now_ns),
		.ts_ecr = syn->ts_val,
	};
}

bool tcp_cookie_check(const struct tcp *t, const struct pkt_seg *seg, uint64_t hash,
		      uint64_t now_ns, struct cookie_options *o)
{
	uint32_t isn = seg->seq - 1, iss = seg->ack - 1, epoch = epoch_of(now_ns);
	uint32_t low = (iss & 0xff) ^ mask_of(t, hash, isn);

	if ((epoch ^ low) & 1)
		epoch--;
	if (cookie(t, hash, isn, epoch, low) != iss)
		return false;
	o->mss = mss_class[low >> 1 & 7];
	o->scale = scale_class[low >> 4 & 7];
	o->sack_ok = low >> 7;
	return true;
}
