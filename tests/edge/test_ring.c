/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ring.c against a kernel that can be told to put frames off, or to want a wake-up
 * before it receives, which no veth does. sendto here is xsk_generic_xmit of net/xdp/xsk.c: 32
 * frames a call, EAGAIN for more or for a busy driver; before about 6.17 it
 * shows what it took off the ring only when it found the ring empty.
 */
#include <errno.h>
#include <sys/socket.h>
#include "ring.h"
#include "tap.h"

static struct ring r;
static struct stats_block stats;

static struct {
	uint32_t tx_prod, tx_cons; /* shared indices */
	uint32_t comp_prod, comp_cons;
	uint32_t seen, taken; /* its own copies of the TX ring's */
	uint32_t flags;
	struct xdp_desc tx[RING_TX];
	uint64_t comp[RING_COMP];
	bool busy;    /* the driver takes nothing */
	bool at_once; /* newer kernels: the consumer is shown at each return */
	int error;    /* every call fails so */
	unsigned calls;
	uint32_t fill_prod, fill_cons, rx_prod, rx_cons;
	uint64_t fill[RING_FILL];
	struct xdp_desc rx[RING_RX];
	unsigned wakes;
} kernel;

ssize_t recvfrom(int fd, void *bytes, size_t n, int flags, struct sockaddr *from, socklen_t *len)
{
	(void)fd, (void)bytes, (void)n, (void)flags, (void)from, (void)len;
	kernel.wakes++;
	errno = EAGAIN;
	return -1;
}

ssize_t sendto(int fd, const void *bytes, size_t n, int flags, const struct sockaddr *to,
	       socklen_t len)
{
	int error = 0;

	(void)fd, (void)bytes, (void)n, (void)flags, (void)to, (void)len;
	kernel.calls++;
	for (int batch = 32; !error; batch--) {
		if (kernel.taken == kernel.seen) {
			kernel.tx_cons = kernel.taken;
			kernel.seen = kernel.tx_prod;
		}
		if (kernel.taken == kernel.seen)
			return 0;
		if (kernel.error || !batch || kernel.busy) {
			error = kernel.error ? kernel.error : EAGAIN;
			break;
		}
		kernel.comp[kernel.comp_prod++ % RING_COMP] =
			kernel.tx[kernel.taken++ % RING_TX].addr;
	}
	if (kernel.at_once)
		kernel.tx_cons = kernel.taken;
	errno = error;
	return -1;
}

static void start(bool at_once)
{
	static uint8_t umem[RING_FRAMES * FRAME_SIZE];

	memset(&kernel, 0, sizeof kernel);
	memset(&stats, 0, sizeof stats);
	memset(&r, 0, sizeof r);
	kernel.flags = XDP_RING_NEED_WAKEUP;
	kernel.at_once = at_once;
	r.stats = &stats;
	r.umem = umem;
	r.tx = (struct xsk_ring_prod){ .mask = RING_TX - 1,
				       .size = RING_TX,
				       .producer = &kernel.tx_prod,
				       .consumer = &kernel.tx_cons,
				       .ring = kernel.tx,
				       .flags = &kernel.flags,
				       .cached_cons = RING_TX };
	r.comp = (struct xsk_ring_cons){ .mask = RING_COMP - 1,
					 .size = RING_COMP,
					 .producer = &kernel.comp_prod,
					 .consumer = &kernel.comp_cons,
					 .ring = kernel.comp,
					 .flags = &kernel.flags };
	for (unsigned i = RX_FRAMES; i < RING_FRAMES; i++)
		r.free[r.free_count++] = (uint16_t)i;
	memset(r.owner, OWNER_FILL, RX_FRAMES);
	r.fill = (struct xsk_ring_prod){ .mask = RING_FILL - 1,
					 .size = RING_FILL,
					 .producer = &kernel.fill_prod,
					 .consumer = &kernel.fill_cons,
					 .ring = kernel.fill,
					 .flags = &kernel.flags,
					 .cached_prod = RX_FRAMES,
					 .cached_cons = RING_FILL };
	r.rx = (struct xsk_ring_cons){ .mask = RING_RX - 1,
				       .size = RING_RX,
				       .producer = &kernel.rx_prod,
				       .consumer = &kernel.rx_cons,
				       .ring = kernel.rx,
				       .flags = &kernel.flags };
	kernel.fill_prod = RX_FRAMES;
	for (unsigned i = 0; i < RX_FRAMES; i++)
		kernel.fill[i] = (uint64_t)i * FRAME_SIZE;
}

/* As many frames as the ring takes, at most `most`; then one kick. */
static unsigned turn(unsigned most)
{
	uint64_t sent_ns[RING_COMP];
	unsigned n = 0;
	uint16_t frame;

	ring_reap(&r, sent_ns);
	for (; n < most && ring_reserve(&r, &frame); n++)
		ring_commit(&r, frame, 60, 0);
	ring_tx(&r);
	ring_check(&r);
	return n;
}

static void test_kernel(bool at_once)
{
	const char *which = at_once ? "newer kernel" : "older kernel";
	unsigned total;

	start(at_once);
	is(turn(1000), RING_TX, "%s: an empty ring takes as many frames as it has entries", which);
	is(kernel.taken, RING_TX, "all of them leave in the same turn");
	is(stats.tx_kick_retries, 0, "nothing was put off");
	is(stats.tx_kicks, RING_TX / 32, "32 a call");

	start(at_once);
	kernel.busy = true;
	total = turn(1000);
	for (int i = 0; i < 10; i++)
		total += turn(1000);
	is(total, RING_TX, "a driver that takes nothing fills the ring, no more");
	ok(stats.tx_kick_retries > 0, "and is asked again each turn");
	kernel.busy = false;
	for (int i = 0; i < 200; i++)
		total += turn(20);
	for (int i = 0; i < 20; i++)
		turn(0);
	is(kernel.taken, total, "when it goes on, every frame leaves, once");
	is(stats.tx_completed, total, "and completes");
	is(r.free_count, RING_FRAMES - RX_FRAMES, "all frames are free at the end");

	start(at_once);
	kernel.error = ENOBUFS;
	turn(5);
	is(kernel.calls, 1, "an error is not asked again in the same turn");
	kernel.error = 0;
	turn(0);
	is(kernel.taken, 5, "but in the next, without a new frame (A4, A5)");
}

/* The kernel does not ask, and yet does not send. */
static void test_kick(void)
{
	start(true);
	kernel.flags = 0;
	turn(5);
	is(kernel.calls, 0, "nobody is woken who does not ask");
	ring_kick(&r);
	is(kernel.taken, 5, "a kick sends what is there");
	turn(0);
	is(r.in_flight, 0, "and it completes");
	r.tx.producer = NULL;
	ring_kick(&r);
	is(kernel.calls, 1, "a ring that does not send is not kicked");
}

static void test_refill(void)
{
	struct ring_frame batch[BATCH_MAX];

	start(true);
	for (unsigned i = 0; i < 3; i++)
		kernel.rx[kernel.rx_prod++].addr = kernel.fill[kernel.fill_cons++] + FRAME_HEADROOM;
	is(ring_rx(&r, batch), 3, "three frames come");
	ring_done(&r, batch, 2);
	is(kernel.fill_prod - kernel.fill_cons, RX_FRAMES - 1, "one is forgotten");
	is(ring_refill(&r), 1, "refill finds it");
	is(kernel.fill_prod - kernel.fill_cons, RX_FRAMES, "and puts it back");
	is(kernel.fill[(kernel.fill_prod - 1) % RING_FILL], 2 * FRAME_SIZE, "it and no other");
	is(kernel.wakes, 1, "the kernel is woken");
	ring_check(&r);
	is(ring_refill(&r), 0, "there was only one");
	is(kernel.fill_prod - kernel.fill_cons, RX_FRAMES,
	   "what the kernel has is not given twice");
}

/* --- receive: the kernel's side of FILL and RX -------------------------------------- */

static struct {
	uint32_t fill_prod, fill_cons, rx_prod, rx_cons;
	uint32_t fill_flags, rx_flags;
	uint64_t fill[RING_FILL];
	struct xdp_desc rx[RING_RX];
} nic;

static void start_receive(void)
{
	start(true);
	memset(&nic, 0, sizeof nic);
	kernel.wakes = 0;
	nic.fill_flags = XDP_RING_NEED_WAKEUP;
	r.fill = (struct xsk_ring_prod){ .mask = RING_FILL - 1,
					 .size = RING_FILL,
					 .producer = &nic.fill_prod,
					 .consumer = &nic.fill_cons,
					 .ring = nic.fill,
					 .flags = &nic.fill_flags,
					 .cached_prod = RX_FRAMES,
					 .cached_cons = RING_FILL };
	r.rx = (struct xsk_ring_cons){ .mask = RING_RX - 1,
				       .size = RING_RX,
				       .producer = &nic.rx_prod,
				       .consumer = &nic.rx_cons,
				       .ring = nic.rx,
				       .flags = &nic.rx_flags };
	for (unsigned i = 0; i < RX_FRAMES; i++)
		nic.fill[i] = (uint64_t)i * FRAME_SIZE;
	nic.fill_prod = RX_FRAMES;
}

/* So many frames come, as far as FILL and RX have room; they begin behind a headroom
 * that no chunk border helps with. Returns how many did. */
static unsigned frames_come(unsigned n)
{
	unsigned i;

	for (i = 0; i < n; i++) {
		if (nic.fill_cons == nic.fill_prod || nic.rx_prod - nic.rx_cons == RING_RX)
			break;
		nic.rx[nic.rx_prod++ % RING_RX] = (struct xdp_desc){
			.addr = nic.fill[nic.fill_cons++ % RING_FILL] + FRAME_HEADROOM + 2,
			.len = 60,
		};
	}
	return i;
}

static void test_receive(void)
{
	struct ring_frame batch[BATCH_MAX];
	bool whole = true;
	unsigned n;

	start_receive();
	is(ring_rx(&r, batch), 0, "nothing has come");
	is(kernel.wakes, 1, "a kernel that wants to be woken before it receives is woken");
	is(ring_rx(&r, batch) + kernel.wakes, 2, "and again, as long as it wants to");
	nic.fill_flags = 0;
	ring_rx(&r, batch);
	is(kernel.wakes, 2, "one that does not is left alone");

	nic.fill_flags = XDP_RING_NEED_WAKEUP;
	is(frames_come(1000), RING_RX, "a burst: FILL has enough for a full RX ring");
	ok(nic.fill_prod - nic.fill_cons >= RING_RX, "and for the next one");
	for (unsigned seen = 0; seen < 100 * RING_RX; seen += n) {
		n = ring_rx(&r, batch);
		whole = whole && n == BATCH_MAX;
		ring_done(&r, batch, n);
		ring_check(&r);
		frames_come(n);
	}
	ok(whole, "each batch is full, and its frames come back to be filled");
	for (unsigned i = nic.fill_cons; i != nic.fill_prod; i++)
		whole = whole && nic.fill[i % RING_FILL] % FRAME_SIZE == 0;
	ok(whole, "as whole chunks, without the headroom (A13)");
	is(nic.fill_prod - nic.fill_cons + nic.rx_prod - nic.rx_cons, RX_FRAMES, "all of them");
	is(stats.rx_frames, 100 * RING_RX, "each is counted once");
}

/* --- frames that were reserved and not sent ------------------------------------------- */

static void test_cancel(void)
{
	uint16_t frame, held[RING_FRAMES];
	unsigned n = 0;

	start(true);
	for (int i = 0; i < 10 * RING_FRAMES; i++) {
		must(ring_reserve(&r, &frame));
		ring_cancel(&r, frame);
	}
	is(r.free_count, RING_FRAMES - RX_FRAMES, "what is given up is free again");
	while (ring_reserve(&r, &frame))
		held[n++] = frame;
	is(n, RING_FRAMES - RX_FRAMES, "all frames can be reserved");
	while (n)
		ring_cancel(&r, held[--n]);
	ring_check(&r);
	is(turn(1000), RING_TX, "and then all that the ring takes can be sent");
}

/* --- what the kernel wants of sizes, whatever the page: 4 KiB here, 16 on a Pi 5 -------- */

static bool power_of_two(size_t n)
{
	return n && !(n & (n - 1));
}

static void test_sizes(void)
{
	static const size_t rings[] = { RING_RX, RING_FILL, RING_TX, RING_COMP };

	for (unsigned i = 0; i < array_size(rings); i++)
		ok(power_of_two(rings[i]), "ring of %zu entries: a power of two", rings[i]);
	ok(RING_FILL >= 2 * RING_RX, "FILL holds two bursts");
	for (size_t page = 4096; page <= 65536; page *= 4) {
		ok(power_of_two(FRAME_SIZE) && FRAME_SIZE >= 2048 && FRAME_SIZE <= page,
		   "pages of %zu: a legal chunk", page);
		is((size_t)RING_FRAMES * FRAME_SIZE % page, 0, "UMEM is of whole pages");
		is(TRACE_ENTRY % page, 0, "so is an entry of the map `trace`");
		ok(ICMP_RING_BYTES % page == 0 && power_of_two(ICMP_RING_BYTES),
		   "so is the ring buffer of ICMP");
	}
}

int main(void)
{
	test_kick();
	test_refill();
	test_kernel(false);
	test_kernel(true);
	test_receive();
	test_cancel();
	test_sizes();
	return done();
}
