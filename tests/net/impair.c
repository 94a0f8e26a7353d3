// SPDX-License-Identifier: GPL-2.0-only
/*
 * impair.c - a bad network between two interfaces
 *
 * Place    tests/net/lib.sh (network_impaired) runs it in a namespace of its own,
 *          between client0 and server0. This kernel need not have netem.
 * Model    Two packet sockets; what one interface receives the other one sends.
 *          TCP frames go through impair_core.h, one for each direction; all else
 *          (ARP, ND) passes as it is and is not counted, so that what happens to
 *          the k-th TCP frame depends on the seed and k alone.
 *          It sleeps in ppoll and never spins: of two CPUs one belongs to the
 *          server and one to the client, and it stands beside the client. Without
 *          an impairment it adds a wake-up and four system calls to a frame: one
 *          request at a time took 19 us at the median without it, 22 us with it.
 *          At SIGTERM it prints the counts, as JSON, a line for each direction.
 * Limits   A frame is IMPAIR_FRAME long at most: the offloads that make longer
 *          ones are off (lib.sh). What the kernel drops because we look too late
 *          is counted as `missed`, what it does not send as `refused`.
 */
#include <errno.h>
#include <getopt.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>

#include "net/impair_core.h"

enum direction { TO_SERVER, TO_CLIENT, DIRECTIONS };

enum {
	RECEIVE_BUFFER = 8 << 20, /* the other side may send for 100 ms while we are not run */
	TURN = 32,                /* frames of one side before we look at the other */
};

static const char usage[] =
	"usage: impair [OPTIONS] CLIENT_SIDE SERVER_SIDE\n"
	"Forwards frames between two interfaces, and spoils those that carry TCP.\n"
	"  --to-server=LIST, --to-client=LIST, --both=LIST\n"
	"                what happens to them, separated by commas; below\n"
	"  --seed=N      other draws (1)\n" IMPAIR_HELP
	"At SIGTERM: a line of JSON for each direction, with what was\n"
	"  seen          TCP frames, after which seen + duplicated = sent + left + the lost ones:\n"
	"                too_long, lost_in_burst, lost, overflow (too many waiting)\n"
	"  delayed, held (to be overtaken), overtaken (before the hold ended), duplicated, "
	"corrupted\n"
	"  missed, refused: lost by the kernel before and behind us; 0, or the counts are not "
	"exact\n";

static struct impair line[DIRECTIONS];
static int sock[DIRECTIONS]; /* where the frames of a direction come in */
static uint64_t refused[DIRECTIONS];
static volatile sig_atomic_t stopping;

_Noreturn void base_panic(const char *what, const char *file, int at)
{
	fprintf(stderr, "impair: %s:%d: %s\n", file, at, what);
	abort();
}

static void stop(int signal)
{
	(void)signal;
	stopping = 1;
}

_Noreturn static void die(const char *what, const char *which)
{
	fprintf(stderr, "impair: %s %s: %s\n", what, which, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static int open_side(const char *name)
{
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	int one = 1, size = RECEIVE_BUFFER, fd;

	/* Protocol 0: nothing comes before it is bound. */
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	to.sll_ifindex = (int)if_nametoindex(name);
	if (fd < 0 || !to.sll_ifindex ||
	    setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof one) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size) ||
	    bind(fd, (struct sockaddr *)&to, sizeof to))
		die("open", name);
	return fd;
}

static bool is_tcp(const uint8_t *frame, size_t len)
{
	if (len < WIRE_ETH_LEN + WIRE_IP4_LEN)
		return false;
	switch (be16(frame + offsetof(struct wire_eth, type_be))) {
	case WIRE_TYPE_IP4:
		return frame[WIRE_ETH_LEN + offsetof(struct wire_ip4, proto)] == WIRE_PROTO_TCP;
	case WIRE_TYPE_IP6:
		return frame[WIRE_ETH_LEN + offsetof(struct wire_ip6, next)] == WIRE_PROTO_TCP;
	default:
		return false;
	}
}

static void forward(enum direction d, const uint8_t *frame, size_t len)
{
	if (send(sock[!d], frame, len, 0) < 0)
		refused[d]++;
}

static void flush(enum direction d)
{
	uint8_t frame[IMPAIR_FRAME];
	size_t len;

	while ((len = impair_take(&line[d], frame, now_ns())))
		forward(d, frame, len);
}

static void receive(enum direction d)
{
	uint8_t frame[1 << 16];

	for (int i = 0; i < TURN; i++) {
		ssize_t len = recv(sock[d], frame, sizeof frame, 0);
		if (len <= 0)
			return;
		if (is_tcp(frame, (size_t)len)) {
			impair_put(&line[d], frame, (size_t)len, now_ns());
			flush(d);
		} else {
			forward(d, frame, (size_t)len);
		}
	}
}

static void run(const sigset_t *while_waiting)
{
	struct pollfd wait[DIRECTIONS];
	struct timespec left;

	for (int d = 0; d < DIRECTIONS; d++)
		wait[d] = (struct pollfd){ .fd = sock[d], .events = POLLIN };
	while (!stopping) {
		uint64_t at = min_u64(impair_next(&line[0]), impair_next(&line[1]));
		uint64_t now = now_ns(), ns = at > now ? at - now : 0;

		left.tv_sec = (time_t)(ns / NS_PER_S);
		left.tv_nsec = (long)(ns % NS_PER_S);
		if (ppoll(wait, DIRECTIONS, at == UINT64_MAX ? NULL : &left, while_waiting) < 0 &&
		    errno != EINTR)
			die("wait", "");
		for (int d = 0; d < DIRECTIONS; d++) {
			flush((enum direction)d);
			receive((enum direction)d);
		}
	}
}

static void report(enum direction d)
{
	const struct impair_count *c = &line[d].count;
	struct tpacket_stats kernel = { 0 };
	socklen_t size = sizeof kernel;

	if (getsockopt(sock[d], SOL_PACKET, PACKET_STATISTICS, &kernel, &size))
		die("ask", "what was missed");
	printf("{\"direction\":\"%s\"", d == TO_SERVER ? "to_server" : "to_client");
#define X(name) printf(",\"" #name "\":%llu", (unsigned long long)c->name);
	IMPAIR_LIST(X)
#undef X
	printf(",\"left\":%llu,\"missed\":%u,\"refused\":%llu}\n",
	       (unsigned long long)(c->seen + c->duplicated - c->too_long - c->lost_in_burst -
				    c->lost - c->overflow - c->sent),
	       kernel.tp_drops, (unsigned long long)refused[d]);
}

static void options(int argc, char **argv)
{
	static const struct option known[] = {
		{ "to-server", 1, NULL, 's' }, { "to-client", 1, NULL, 'c' },
		{ "both", 1, NULL, 'b' },      { "seed", 1, NULL, 'n' },
		{ "help", 0, NULL, 'h' },      { 0 }
	};
	struct impair_kind kind[DIRECTIONS] = { impair_fine, impair_fine };
	uint64_t seed = 1;
	bool good = true;
	int c;

	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (c == 'h')
			exit(fputs(usage, stdout) < 0);
		else if (c == 'n')
			seed = strtoull(optarg, NULL, 0);
		else if (c == '?')
			good = false;
		if (c == 's' || c == 'b')
			good &= impair_parse(&kind[TO_SERVER], optarg);
		if (c == 'c' || c == 'b')
			good &= impair_parse(&kind[TO_CLIENT], optarg);
	}
	if (!good || argc - optind != DIRECTIONS) {
		fputs(usage, stderr);
		exit(2);
	}
	for (unsigned d = 0; d < DIRECTIONS; d++)
		impair_init(&line[d], &kind[d], seed, d);
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = stop };
	sigset_t blocked, before;

	options(argc, argv);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	sigaddset(&blocked, SIGINT);
	sigprocmask(SIG_BLOCK, &blocked, &before); /* but while it waits */
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	prctl(PR_SET_TIMERSLACK, 1ul); /* else each delay is 50 us longer */
	for (int d = 0; d < DIRECTIONS; d++)
		sock[d] = open_side(argv[optind + d]);
	fputs("impair: ready\n", stderr);
	run(&before);
	report(TO_SERVER);
	report(TO_CLIENT);
	return 0;
}
