/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * packet.c against a kernel in this file: a ring buffer whose producer is the test, as
 * Documentation/bpf/ringbuf.rst has it, and a sendmmsg that can be told to take some frames,
 * to put the rest off, or to refuse one. No privilege is needed.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>
#include "packet_memory.h"
#include "tap.h"

static struct packet p;
static struct packet_memory memory;
static struct stats_block stats;

static struct {
	unsigned long consumer, producer;
	uint8_t *records; /* shown twice */
	int takes;        /* so many frames a call; then the error */
	int error;
	unsigned calls, count;
	bool wrong;
	size_t len[4 * PACKET_TX];
	uint8_t first[4 * PACKET_TX]; /* byte of each */
} kernel;

int sendmmsg(int fd, struct mmsghdr *message, unsigned n, int flags)
{
	unsigned taken = 0;

	kernel.calls++;
	kernel.wrong |= fd != 7 || !(flags & MSG_DONTWAIT);
	for (; taken < n && kernel.takes; taken++, kernel.takes--) {
		const struct iovec *io = message[taken].msg_hdr.msg_iov;

		kernel.len[kernel.count] = io->iov_len;
		kernel.first[kernel.count++] = *(uint8_t *)io->iov_base;
	}
	if (taken)
		return (int)taken;
	errno = kernel.error;
	return -1;
}

static bool map_twice(void)
{
	int fd = memfd_create("records", MFD_CLOEXEC);
	uint8_t *at = mmap(NULL, 2 * FRAMES_RING_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			   0);
	int protection = PROT_READ | PROT_WRITE, flags = MAP_SHARED | MAP_FIXED;
	bool good = fd >= 0 && at != MAP_FAILED && !ftruncate(fd, FRAMES_RING_BYTES);

	for (int i = 0; i < 2 && good; i++)
		good = mmap(at + i * FRAMES_RING_BYTES, FRAMES_RING_BYTES, protection, flags, fd,
			    0) != MAP_FAILED;
	close(fd);
	kernel.records = at;
	return good;
}

static void start(void)
{
	uint8_t *records = kernel.records;

	memset(&kernel, 0, sizeof kernel);
	memset(&stats, 0, sizeof stats);
	kernel.records = records;
	kernel.takes = INT32_MAX;
	packet_memory_init(&memory);
	p = (struct packet){
		.fd = 7,
		.sends = true,
		.memory = &memory,
		.stats = &stats,
		.frames = { .consumer = &kernel.consumer,
			    .producer = &kernel.producer,
			    .records = records,
			    .bytes = FRAMES_RING_BYTES },
	};
}

/* --- receive --------------------------------------------------------------------------- */

/* As bpf_ringbuf_reserve; the header is returned, busy. NULL: no room. */
static uint32_t *reserve(uint32_t room)
{
	unsigned long at = kernel.producer;
	unsigned long end = at + round_up(room + BPF_RINGBUF_HDR_SZ, 8);
	uint32_t *header = (uint32_t *)(kernel.records + (at & (FRAMES_RING_BYTES - 1)));

	if (end - kernel.consumer > FRAMES_RING_BYTES)
		return NULL;
	*header = room | BPF_RINGBUF_BUSY_BIT;
	kernel.producer = end;
	return header;
}

static void submit(uint32_t *header, uint32_t bits)
{
	*header = (*header & ~(uint32_t)BPF_RINGBUF_BUSY_BIT) | bits;
}

static uint32_t *begin(uint32_t number, uint32_t len)
{
	uint32_t room = sizeof(struct packet_record) +
			(len <= PACKET_SHORT ? PACKET_SHORT : FRAME_ROOM);
	uint32_t *header = reserve(room);
	struct packet_record *r = (void *)((uint8_t *)header + BPF_RINGBUF_HDR_SZ);

	if (!header)
		return NULL;
	r->len = len;
	r->queue = 0;
	r->meta = (struct steer_meta){ .stamp_ns = 1000 + number, .mss = (uint16_t)number };
	memset(r->data, (int)(number & 0xff), len);
	return header;
}

static bool put(uint32_t number, uint32_t len)
{
	uint32_t *header = begin(number, len);

	if (header)
		submit(header, 0);
	return header;
}

static bool is_frame(const struct ring_frame *f, uint32_t number, uint32_t len)
{
	bool good = f->len == len && f->meta.stamp_ns == 1000 + number &&
		    f->meta.mss == (uint16_t)number;

	for (uint32_t i = 0; i < len; i++)
		good = good && f->data[i] == (number & 0xff);
	return good;
}

static void test_receive(void)
{
	struct ring_frame batch[BATCH_MAX];
	uint32_t *late, *gone;

	start();
	is(packet_rx(&p, batch), 0, "nothing has come");
	put(1, 60);
	put(2, 1514);
	is(packet_rx(&p, batch), 2, "two frames");
	ok(is_frame(&batch[0], 1, 60) && is_frame(&batch[1], 2, 1514), "whole, with their words");
	batch[0].data[0] ^= 0xff; /* http undoes chunks in place */
	is(kernel.consumer, kernel.producer, "their room is the kernel's again");
	is(stats.rx_frames, 2, "counted");

	put(3, 60);
	late = begin(4, 60);
	put(5, 60);
	is(packet_rx(&p, batch), 1, "a record that is being filled holds up those behind it");
	is(packet_rx(&p, batch), 0, "and is not taken");
	submit(late, 0);
	is(packet_rx(&p, batch), 2, "until it is whole");
	ok(is_frame(&batch[0], 4, 60) && is_frame(&batch[1], 5, 60), "in their order");

	gone = begin(6, 60);
	submit(gone, BPF_RINGBUF_DISCARD_BIT);
	is(packet_rx(&p, batch), 0, "one that was given up is none");
	is(kernel.consumer, kernel.producer, "and its room comes back");
}

/* More than the ring holds, several times round, of all lengths. */
static void test_round(void)
{
	struct ring_frame batch[BATCH_MAX];
	uint32_t in = 0, out = 0, full = 0;
	struct ring_block block;
	bool good = true;

	start();
	for (int turn = 0; turn < 400; turn++) {
		unsigned n, before = in - out;

		for (int i = 0; i < 50; i++) {
			if (put(in, 60 + in * 37 % (FRAME_ROOM - 59)))
				in++;
			else
				full++;
		}
		packet_gauge(&p, &block, 1);
		good = good && block.rx == in - out && in - out >= before;
		n = packet_rx(&p, batch);
		good = good && n <= BATCH_MAX;
		for (unsigned i = 0; i < n; i++, out++)
			good = good && is_frame(&batch[i], out, 60 + out * 37 % (FRAME_ROOM - 59));
		packet_check(&p);
	}
	ok(good, "%u frames several times round: whole, in order, and the gauge counts them", in);
	ok(full, "the ring was full %u times", full);
	ok(kernel.consumer > 4 * (unsigned long)FRAMES_RING_BYTES, "the end was passed");
}

/* --- send ---------------------------------------------------------------------------------- */

static uint8_t sent_number;

static bool send_one(size_t len, uint64_t sent_ns)
{
	uint16_t frame;
	uint8_t *to = packet_reserve(&p, &frame);

	if (!to)
		return false;
	*to = sent_number++;
	packet_commit(&p, frame, len, sent_ns);
	return true;
}

static unsigned send_all(unsigned most)
{
	unsigned n = 0;

	while (n < most && send_one(60 + n, 0))
		n++;
	packet_tx(&p);
	packet_check(&p);
	return n;
}

static bool in_order(void)
{
	for (unsigned i = 1; i < kernel.count; i++)
		if (kernel.first[i] != (uint8_t)(kernel.first[i - 1] + 1))
			return false;
	return true;
}

static void test_send(void)
{
	uint64_t sent_ns[RING_COMP];
	struct ring_block block;
	uint16_t frame;

	start();
	is(send_all(1000), PACKET_TX, "as many frames as there are");
	is(kernel.count, PACKET_TX, "all of them leave");
	is(kernel.calls, 1, "by one call");
	ok(!kernel.wrong, "on the socket, without waiting");
	is(packet_in_flight(&p), PACKET_TX, "under way until they are reaped");
	ok(!packet_reserve(&p, &frame), "so there is none to write to");
	is(packet_reap(&p, sent_ns), 0, "none has a time");
	is(packet_in_flight(&p), 0, "then all are free");
	is(stats.tx_frames, PACKET_TX, "counted as given");
	is(stats.tx_completed, PACKET_TX, "and as sent");

	ok(packet_reserve(&p, &frame), "one in hands");
	packet_gauge(&p, &block, 5);
	is(block.frames_held, 1, "shows so");
	is(block.frames_free + block.frames_tx + block.frames_held, block.frames,
	   "every frame has one owner");
	packet_cancel(&p, frame);
	send_one(100, 0);
	send_one(200, 77);
	packet_tx(&p);
	is(packet_reap(&p, sent_ns), 1, "one of two has a time");
	is(sent_ns[0], 77, "which is its own");
	is(kernel.len[kernel.count - 1], 200, "the length is the frame's");
}

static void test_put_off(void)
{
	uint64_t none[RING_COMP];

	start();
	kernel.takes = 10;
	kernel.error = ENOBUFS;
	is(send_all(40), 40, "the card has room for ten of forty");
	is(kernel.count, 10, "ten leave");
	is(stats.tx_kick_retries, 1, "the rest is put off");
	packet_reap(&p, none);
	is(packet_in_flight(&p), 30, "and kept");
	kernel.takes = INT32_MAX;
	is(send_all(30), 30, "the next turn, with more behind them");
	is(kernel.count, 70, "all leave");
	ok(in_order(), "in their order");
	packet_reap(&p, none);
	is(stats.tx_completed, stats.tx_frames, "and none is lost");

	for (int i = 0; i < 300; i++) {
		kernel.count = 0;
		kernel.takes = i * 7 % 50;
		send_all((unsigned)i * 11 % 60);
		packet_reap(&p, none);
	}
	kernel.takes = INT32_MAX;
	kernel.count = 0;
	packet_tx(&p);
	packet_reap(&p, none);
	is(packet_in_flight(&p), 0, "whatever it takes at a time");
	is(stats.tx_completed, stats.tx_frames, "all are sent in the end");
}

static void test_refused(void)
{
	uint64_t none[RING_COMP];
	struct ring_block block;

	start();
	kernel.takes = 0;
	kernel.error = EMSGSIZE;
	send_all(1);
	packet_reap(&p, none);
	is(packet_in_flight(&p), 0, "a frame that the kernel never takes is not offered again");
	packet_gauge(&p, &block, 1);
	is(block.tx_invalid, 1, "it is counted");
	kernel.error = ENETDOWN;
	send_all(1);
	packet_reap(&p, none);
	is(packet_in_flight(&p), 1, "one that it does not take while the interface is down waits");
}

static void test_save(void)
{
	uint16_t frame;

	start();
	kernel.takes = 3;
	kernel.error = ENOBUFS;
	send_all(5);
	packet_reserve(&p, &frame);
	ok(!packet_save(&p), "not with a frame in hands");
	packet_cancel(&p, frame);
	send_one(60, 0);
	ok(!packet_save(&p), "nor with one that was not offered");
	packet_tx(&p);
	ok(packet_save(&p), "then");
	is(stats.tx_completed, 3, "what was sent is said so");
	is(stats.tx_abandoned, 3, "what was not is given up");
	is(stats.tx_frames, stats.tx_completed + stats.tx_abandoned, "and the books are right");
}

int main(void)
{
	if (!map_twice()) {
		skip("packet", "no memory to map twice");
		return done();
	}
	test_receive();
	test_round();
	test_send();
	test_put_off();
	test_refused();
	test_save();
	return done();
}
