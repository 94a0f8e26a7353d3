/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One frame, as it is and with both checksums made right. Invariants: nothing is
 * read behind its end (ASan watches), and a segment that was parsed is, emitted
 * and parsed again, the same segment.
 */
#include "pkt.h"
#include "tap.h"
#include "wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_checksum(uint8_t *at, uint64_t sum)
{
	uint16_t v = pkt_fold(sum);
	memcpy(at, &v, sizeof v);
}

/* Else the fuzzer would hardly ever get past them. */
static void fix(uint8_t *frame, size_t size)
{
	size_t ip = size > 16 && be16(frame + 12) == WIRE_TYPE_VLAN ? 18 : 14;
	bool ip4 = size > ip && frame[ip] >> 4 == 4;
	size_t header = ip4 ? (frame[ip] & 15) * 4u : WIRE_IP6_LEN, tcp = ip + header, len;
	uint64_t sum;

	if (size < tcp + WIRE_TCP_LEN || header < WIRE_IP4_LEN)
		return;
	len = ip4 ? be16(frame + ip + 2) - header : be16(frame + ip + 4);
	if (ip4) {
		put_be16(frame + ip + 10, 0);
		put_checksum(frame + ip + 10, pkt_sum(frame + ip, header, 0));
	}
	if (len < WIRE_TCP_LEN || len > size - tcp)
		return;
	sum = ip4 ? pkt_sum(frame + ip + 12, 8, 0) : pkt_sum(frame + ip + 8, 32, 0);
	sum += __builtin_bswap16(WIRE_PROTO_TCP) + __builtin_bswap32((uint32_t)len);
	put_be16(frame + tcp + 16, 0);
	put_checksum(frame + tcp + 16, pkt_sum(frame + tcp, len, sum));
}

static bool same(const struct pkt_seg *a, const struct pkt_seg *b)
{
	return a->seq == b->seq && a->ack == b->ack && a->len == b->len && a->window == b->window &&
	       a->flags == b->flags && a->wscale == b->wscale && a->mss == b->mss &&
	       a->sack_ok == b->sack_ok && a->has_ts == b->has_ts && a->ts_val == b->ts_val &&
	       a->ts_ecr == b->ts_ecr && a->sack_count == b->sack_count &&
	       !memcmp(a->sack, b->sack, a->sack_count * sizeof a->sack[0]) &&
	       (!a->len || !memcmp(a->data, b->data, a->len)) && a->link.vlan == b->link.vlan &&
	       !memcmp(a->flow.remote, b->flow.local, 16) &&
	       !memcmp(a->flow.local, b->flow.remote, 16) &&
	       a->flow.remote_port == b->flow.local_port &&
	       a->flow.local_port == b->flow.remote_port &&
	       !memcmp(a->link.remote, b->link.local, 6) &&
	       !memcmp(a->link.local, b->link.remote, 6);
}

static void judge(const uint8_t *frame, size_t size)
{
	struct pkt_seg s, again;
	enum pkt_verdict v = pkt_parse(frame, size, &s);
	size_t room, headers;
	uint8_t *copy;

	must(v < PKT_VERDICTS && pkt_verdict_name(v));
	if (v > PKT_bad_option)
		return;
	must(!s.len || (s.data > frame && s.data + s.len <= frame + size));
	room = pkt_room(&s);
	headers = WIRE_ETH_LEN + (s.link.vlan == PKT_UNTAGGED ? 0 : WIRE_VLAN_LEN) +
		  (pkt_is_ip4(&s.flow) ? WIRE_IP4_LEN : WIRE_IP6_LEN);
	if (room > headers + s.len + 60)
		return; /* packed tighter than we pack options: we never send so many */
	copy = malloc(room);
	must(pkt_emit(&s, copy, room) == room);
	must(pkt_parse(copy, room, &again) == PKT_ok && same(&s, &again));
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *frame = malloc(size + !size); /* ends where the frame ends */

	memcpy(frame, data, size);
	judge(frame, size);
	fix(frame, size);
	judge(frame, size);
	free(frame);
	return 0;
}
