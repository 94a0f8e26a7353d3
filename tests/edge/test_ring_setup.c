/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A ring goes from process to process while frames come. Three parties in a network
 * namespace of their own: a peer that keeps some numbered frames under way on one end
 * of a veth and wants each of them back, once and in order; a program on the other end
 * that redirects all to the socket; and workers, one after the other, that adopt
 * the ring, echo for a while, and hand it on. The socket is opened by none of them.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <netpacket/packet.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "ring.h"
#include "tap.h"

enum {
	FRAMES = 60000,
	UNDER_WAY = 48, /* below RING_RX: a frame that is lost is lost by us */
	WORKERS = 200,
	ECHOES = FRAMES / WORKERS, /* of each worker but the last */
	PATIENCE_S = 20,
	ETHERTYPE = 0x88b5, /* IEEE: local experiments */
};

static struct ring ring;

/* --- the namespace ------------------------------------------------------------------- */

/* Redirect every frame to the socket of its queue. */
static int load_program(int map_fd)
{
	struct bpf_insn code[] = {
		{ .code = BPF_LDX | BPF_MEM | BPF_W,
		  .dst_reg = 2,
		  .src_reg = 1,
		  .off = offsetof(struct xdp_md, rx_queue_index) },
		{ .code = BPF_LD | BPF_DW | BPF_IMM,
		  .dst_reg = 1,
		  .src_reg = BPF_PSEUDO_MAP_FD,
		  .imm = map_fd },
		{ 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 3, .imm = XDP_PASS },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_redirect_map },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return bpf_prog_load(BPF_PROG_TYPE_XDP, "to_socket", "GPL", code,
			     sizeof code / sizeof *code, NULL);
}

static const char *make_network(void)
{
	if (geteuid())
		return "not root";
	if (unshare(CLONE_NEWNET) < 0)
		return "no network namespace";
	if (system("ip link add ours type veth peer name peer && ip link set ours up && "
		   "ip link set peer up && sysctl -qw net.ipv6.conf.all.disable_ipv6=1"))
		return "no veth";
	return NULL;
}

/* The socket of queue 0, and the program that feeds it. */
static const char *open_socket(uint32_t mode)
{
	struct ring_options o = {
		.ifname = "ours",
		.ifindex = if_nametoindex("ours"),
		.tx = true,
	};
	int map_fd, prog_fd, error = ring_open(&ring, &o);
	uint32_t queue = 0;

	if (error)
		return strerror(-error);
	map_fd = bpf_map_create(BPF_MAP_TYPE_XSKMAP, "xsks", 4, 4, 1, NULL);
	prog_fd = load_program(map_fd);
	if (map_fd < 0 || prog_fd < 0 || bpf_map_update_elem(map_fd, &queue, &ring.fd, 0) < 0 ||
	    bpf_xdp_attach((int)o.ifindex, prog_fd, mode, NULL) < 0)
		return "no XDP program";
	return NULL;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* --- the peer -------------------------------------------------------------------------- */

struct numbered {
	struct ethhdr eth;
	uint32_t number, again;
	uint8_t rest[60];
} __attribute__((packed));

static int open_peer(void)
{
	struct sockaddr_ll to = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETHERTYPE),
		.sll_ifindex = (int)if_nametoindex("peer"),
	};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETHERTYPE)), one = 1;

	setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof one);
	return bind(fd, (struct sockaddr *)&to, sizeof to) < 0 ? -1 : fd;
}

/* How many came back in order before time was up or one did not fit. */
static uint32_t play_peer(int fd)
{
	struct numbered out = { .eth.h_dest = { 2, 0, 0, 0, 0, 1 },
				.eth.h_source = { 2, 0, 0, 0, 0, 2 },
				.eth.h_proto = htons(ETHERTYPE) },
			in;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint32_t sent = 0, back = 0;

	while (back < FRAMES) {
		for (; sent < FRAMES && sent - back < UNDER_WAY; sent++) {
			out.number = sent;
			out.again = ~sent;
			if (send(fd, &out, sizeof out, 0) != sizeof out)
				return back;
		}
		if (poll(&p, 1, PATIENCE_S * 1000) <= 0)
			break;
		while (recv(fd, &in, sizeof in, MSG_DONTWAIT) == sizeof in) {
			if (in.number != back || in.again != ~back)
				return back;
			back++;
		}
	}
	return back;
}

/* --- handing over ------------------------------------------------------------------------ */

struct letter {
	struct ring_gift gift;
	struct ring_state state;
	uint32_t echoed;
	bool fresh;
};

static bool post(int to, const struct letter *letter)
{
	int fds[2] = { letter->gift.fd, letter->gift.umem_fd };
	char control[CMSG_SPACE(sizeof fds)] = { 0 };
	struct iovec bytes = { (void *)letter, sizeof *letter };
	struct msghdr m = { .msg_iov = &bytes,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof control };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof fds);
	memcpy(CMSG_DATA(c), fds, sizeof fds);
	return sendmsg(to, &m, 0) == sizeof *letter;
}

static bool collect(int from, struct letter *letter)
{
	char control[CMSG_SPACE(2 * sizeof(int))];
	struct iovec bytes = { letter, sizeof *letter };
	struct msghdr m = { .msg_iov = &bytes,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof control };
	struct pollfd p = { .fd = from, .events = POLLIN };
	struct cmsghdr *c;

	if (poll(&p, 1, PATIENCE_S * 1000) <= 0 ||
	    recvmsg(from, &m, MSG_CMSG_CLOEXEC) != sizeof *letter)
		return false;
	c = CMSG_FIRSTHDR(&m);
	if (!c || c->cmsg_len != CMSG_LEN(2 * sizeof(int)))
		return false;
	memcpy(&letter->gift.fd, CMSG_DATA(c), sizeof(int));
	memcpy(&letter->gift.umem_fd, CMSG_DATA(c) + sizeof(int), sizeof(int));
	return true;
}

/* --- a worker ------------------------------------------------------------------------------ */

/* Every other one leaves with frames on the TX ring that nobody has kicked. */
static bool no_kick;

ssize_t sendto(int fd, const void *bytes, size_t n, int flags, const struct sockaddr *to,
	       socklen_t len)
{
	struct iovec v = { (void *)bytes, n };
	struct msghdr m = {
		.msg_iov = &v, .msg_iovlen = 1, .msg_name = (void *)to, .msg_namelen = len
	};

	if (no_kick) {
		errno = ENOBUFS;
		return -1;
	}
	return sendmsg(fd, &m, flags);
}

static unsigned echo(struct ring *r)
{
	struct ring_frame batch[BATCH_MAX];
	uint64_t sent_ns[RING_COMP];
	unsigned n, sent = 0;
	uint16_t frame;

	ring_reap(r, sent_ns);
	n = ring_rx(r, batch);
	for (unsigned i = 0; i < n; i++) {
		uint8_t *to = ring_reserve(r, &frame);

		if (!to)
			break; /* UNDER_WAY is less than TX holds: the peer will tell */
		memcpy(to, batch[i].data, batch[i].len);
		ring_commit(r, frame, batch[i].len, now_ns());
		sent++;
	}
	ring_done(r, batch, n);
	ring_tx(r);
	return sent;
}

/* Adopt, echo, hand on. The exit status: 0, or what went wrong. */
static int work(int post_fd, unsigned number)
{
	static struct letter letter;
	static struct stats_block stats;
	uint64_t end_ns = now_ns() + PATIENCE_S * (uint64_t)NS_PER_S;
	bool last = number + 1 == WORKERS;
	uint32_t until;
	struct ring r;

	if (!collect(post_fd, &letter))
		return 1;
	until = last ? FRAMES : (number + 1) * ECHOES;
	if (ring_adopt(&r, &letter.gift, letter.fresh ? NULL : &letter.state))
		return 2;
	r.stats = &stats;
	ring_check(&r);
	while (letter.echoed < until && now_ns() < end_ns) {
		no_kick = number % 2 && !last && until - letter.echoed <= BATCH_MAX;
		letter.echoed += echo(&r);
	}
	if (letter.echoed < until)
		return 3;
	no_kick = false;
	if (last) {
		uint64_t sent_ns[RING_COMP];

		while (r.in_flight && now_ns() < end_ns)
			ring_tx(&r), ring_reap(&r, sent_ns);
	}
	ring_check(&r);
	letter.gift = ring_give(&r);
	letter.fresh = false;
	if (!ring_save(&r, &letter.state))
		return 4;
	if (number % 2 && !last && !r.in_flight)
		return 5;
	return post(post_fd, &letter) ? 0 : 6;
}

static int run_worker(int post_fd[2], unsigned number, struct letter *letter)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		/* Nothing but the letter is taken from the starter. */
		ring_close(&ring);
		close(post_fd[0]);
		_exit(work(post_fd[1], number));
	}
	if (!post(post_fd[0], letter))
		return -1;
	waitpid(pid, &status, 0);
	if (!WIFEXITED(status))
		return 100;
	if (WEXITSTATUS(status))
		return WEXITSTATUS(status);
	if (!collect(post_fd[0], letter))
		return 101;
	close(letter->gift.fd);
	close(letter->gift.umem_fd);
	letter->gift.fd = ring.fd; /* the starter's are the same */
	letter->gift.umem_fd = ring.umem_fd;
	return 0;
}

static void test_hand_over(void)
{
	static struct letter letter;
	struct xdp_statistics lost = { 0 };
	socklen_t size = sizeof lost;
	int post_fd[2], peer_fd = open_peer(), error = 0;
	unsigned under_way = 0, workers = 0;
	uint32_t *back = mmap(NULL, sizeof *back, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t peer;

	must(peer_fd >= 0 && !socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, post_fd));
	letter = (struct letter){ .gift = ring_give(&ring), .fresh = true };
	fflush(stdout);
	peer = fork();
	if (!peer) {
		*back = play_peer(peer_fd);
		_exit(0);
	}
	for (; workers < WORKERS && !error; workers += !error) {
		error = run_worker(post_fd, workers, &letter);
		for (unsigned i = RX_FRAMES; i < RING_FRAMES; i++)
			under_way += letter.state.owner[i] == OWNER_TX;
	}
	is(error, 0, "every worker adopts, echoes and hands on");
	is(workers, WORKERS, "all of them");
	waitpid(peer, NULL, 0);
	is(*back, FRAMES, "each frame comes back, once and in order");
	is(letter.echoed, FRAMES, "and none was echoed twice");
	ok(under_way >= WORKERS / 2, "TX frames were under way when rings changed hands (%u)",
	   under_way);
	getsockopt(ring.fd, SOL_XDP, XDP_STATISTICS, &lost, &size);
	is(lost.rx_dropped + lost.rx_ring_full + lost.rx_fill_ring_empty_descs +
		   lost.tx_invalid_descs,
	   0, "the kernel lacked no frame and refused none");
	for (unsigned i = 0; i < RING_FRAMES; i++)
		if (letter.state.owner[i] != (i < RX_FRAMES ? OWNER_FILL : OWNER_FREE))
			error++;
	is(error, 0, "at the end every frame is in fill or free");
	close(post_fd[0]);
	close(post_fd[1]);
	close(peer_fd);
}

/* --- what is not taken over ------------------------------------------------------------------ */

/* ring_adopt takes the descriptors: give it copies. */
static int adopt(struct ring *r, struct ring_gift gift, const struct ring_state *state)
{
	gift.fd = dup(gift.fd);
	gift.umem_fd = dup(gift.umem_fd);
	return ring_adopt(r, &gift, state);
}

static void test_refusals(void)
{
	static struct ring_state state, wrong;
	static struct stats_block stats;
	struct ring_gift gift = ring_give(&ring), other = gift;
	uint64_t sent_ns[RING_COMP];
	uint16_t frame;
	struct ring r, refused;

	is(adopt(&r, gift, NULL), 0, "a ring at rest is adopted without a state");
	r.stats = &stats;
	ok(ring_save(&r, &state), "and saved");
	other.shape.frames *= 2;
	is(-adopt(&refused, other, &state), EINVAL, "a ring of another shape is not adopted");
	wrong = state;
	wrong.owner[RX_FRAMES] = OWNER_TX;
	is(-adopt(&refused, gift, &wrong), EINVAL, "nor with a frame under way that is on no ring");
	wrong = state;
	wrong.owner[0] = OWNER_HELD;
	is(-adopt(&refused, gift, &wrong), EINVAL, "nor with one in somebody's hands");
	wrong.owner[0] = 77;
	is(-adopt(&refused, gift, &wrong), EINVAL, "nor with an owner that there is not");

	must(ring_reserve(&r, &frame));
	ok(!ring_save(&r, &wrong), "a ring is not saved while a frame is in hands");
	ring_commit(&r, frame, 60, 1);
	ok(!ring_save(&r, &wrong), "nor before what was committed is submitted");
	no_kick = true;
	ring_tx(&r);
	no_kick = false;
	ok(ring_save(&r, &wrong), "it is afterwards");
	is(-adopt(&refused, gift, NULL), EINVAL, "with a frame under way a state is needed");
	is(-adopt(&refused, gift, &state), EINVAL, "and that of now");
	ring_close(&r);
	is(adopt(&r, gift, &wrong), 0, "which is taken");
	r.stats = &stats;
	is(r.in_flight, 1, "the frame is under way");
	for (int i = 0; i < 1000 && r.in_flight; i++) {
		ring_tx(&r);
		if (ring_reap(&r, sent_ns))
			is(sent_ns[0], 1, "and its completion has the time of the old process");
		poll(NULL, 0, 1);
	}
	is(r.free_count, RING_FRAMES - RX_FRAMES, "until it is free");
	ring_check(&r);
	ring_close(&r);
}

static void test_seals(void)
{
	struct ring_gift gift = ring_give(&ring);

	ok(ftruncate(gift.umem_fd, 0) < 0 && errno == EPERM,
	   "nobody can cut UMEM short under the others");
}

static void test_mode(const char *name, uint32_t mode)
{
	const char *why = make_network();

	if (!why)
		why = open_socket(mode);
	if (why) {
		skip(name, why);
		return;
	}
	ok(true, "%s", name);
	test_seals();
	test_hand_over();
	test_refusals();
	ring_close(&ring);
}

int main(void)
{
	test_mode("rings that change hands, generic XDP", XDP_FLAGS_SKB_MODE);
	test_mode("rings that change hands, native XDP", XDP_FLAGS_DRV_MODE);
	return done();
}
