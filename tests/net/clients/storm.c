// SPDX-License-Identifier: GPL-2.0-only
/*
 * storm.c - many requests over a bad network, each answer checked and timed
 *
 * Usage    storm [OPTIONS] ADDRESS PORT REQUESTS CONNECTIONS; storm --help
 * Model    One epoll loop. All connections are made before the clock starts; then
 *          each has its share of the requests, and --depth of them under way at
 *          once. n and seed are drawn from --seed, and the hash in each answer is
 *          compared with one computed here; or, with --body, the whole body with
 *          that text. A request's time is from its send to the last byte of its
 *          answer. Prints one line of JSON. Status 1 when an answer is wrong or
 *          missing.
 * Limits   IPv4. A connection that breaks, or a wrong answer, ends its share: the
 *          rest of it is missing.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	CONNECTIONS_MAX = 1024,
	DEPTH_MAX = 64,
	INPUT = 1 << 16, /* more than DEPTH_MAX answers */
	ROUNDS_MAX = 1000,
};

struct connection {
	int fd;
	unsigned to_ask, to_hear;
	/* under way, oldest at `first` */
	struct ask {
		uint64_t sent_ns;
		uint32_t n, seed;
	} ask[DEPTH_MAX];
	unsigned first, count;
	size_t have;
	char input[INPUT];
};

static struct {
	const char *body;
	unsigned depth, seconds;
	uint64_t random;
	struct sockaddr_in server;
	char host[64];
} plan = { .depth = 1, .seconds = 120, .random = 1 };

static struct connection *connections;
static unsigned connection_count, request_count;
static uint64_t *took_ns;
static unsigned right, wrong, broken;

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

_Noreturn static void die(const char *what)
{
	fprintf(stderr, "storm: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint32_t draw(void)
{
	plan.random ^= plan.random << 13;
	plan.random ^= plan.random >> 7;
	plan.random ^= plan.random << 17;
	return (uint32_t)(plan.random >> 32);
}

/* --- asking ------------------------------------------------------------------------- */

/* All that may be under way, in one write. */
static bool ask(struct connection *c)
{
	char text[DEPTH_MAX * 160];
	size_t len = 0;

	while (c->to_ask && c->count < plan.depth) {
		struct ask *a = &c->ask[(c->first + c->count++) % DEPTH_MAX];

		a->n = draw() % ROUNDS_MAX;
		a->seed = draw();
		a->sent_ns = now_ns();
		c->to_ask--;
		len += (size_t)snprintf(text + len, sizeof text - len,
					"GET /compute?n=%u&seed=%u HTTP/1.1\r\nHost: %s\r\n\r\n",
					a->n, a->seed, plan.host);
	}
	/* No more than 10 KiB is unread at the other end: it fits the socket's buffer. */
	return !len || send(c->fd, text, len, MSG_NOSIGNAL) == (ssize_t)len;
}

/* --- hearing ------------------------------------------------------------------------- */

static bool hash_right(const struct ask *a, const char *body, size_t len)
{
	char wanted[32], text[512];
	uint32_t h = a->seed;

	if (len >= sizeof text)
		return false;
	memcpy(text, body, len);
	text[len] = '\0';
	for (uint32_t i = 0; i < a->n; i++)
		h = (h ^ i) * 16777619u;
	snprintf(wanted, sizeof wanted, "\"hash\":\"0x%08x\"", h);
	return strstr(text, wanted);
}

static bool body_right(const struct ask *a, const char *body, size_t len)
{
	if (plan.body)
		return len == strlen(plan.body) && !memcmp(body, plan.body, len);
	return hash_right(a, body, len);
}

/* The length of the answer that the input begins with, 0: not yet there. */
static size_t answer_length(struct connection *c, size_t *head)
{
	static const char field[] = "\r\nContent-Length: ";
	const char *end, *at;

	c->input[c->have] = '\0';
	end = strstr(c->input, "\r\n\r\n");
	at = strstr(c->input, field);
	if (!end)
		return 0;
	*head = (size_t)(end - c->input) + 4;
	if (!at || at > end)
		return *head;
	size_t length = *head + strtoul(at + sizeof field - 1, NULL, 10);
	return length <= c->have ? length : 0;
}

/* False: the connection is of no more use. */
static bool hear(struct connection *c)
{
	size_t length, head;
	ssize_t n = recv(c->fd, c->input + c->have, sizeof c->input - 1 - c->have, 0);

	if (n <= 0)
		return n < 0 && errno == EAGAIN;
	c->have += (size_t)n;
	while ((length = answer_length(c, &head))) {
		const struct ask *a = &c->ask[c->first];

		if (!c->count || memcmp(c->input, "HTTP/1.1 200", 12) ||
		    !body_right(a, c->input + head, length - head)) {
			fprintf(stderr, "storm: wrong answer: %.*s\n", (int)length, c->input);
			wrong++;
			return false;
		}
		took_ns[right++] = now_ns() - a->sent_ns;
		c->first = (c->first + 1) % DEPTH_MAX;
		c->count--;
		c->to_hear--;
		c->have -= length;
		memmove(c->input, c->input + length, c->have);
	}
	return c->have < sizeof c->input - 1;
}

/* --- the run ---------------------------------------------------------------------------- */

static void connect_all(int poll)
{
	for (unsigned i = 0; i < connection_count; i++) {
		struct connection *c = &connections[i];
		struct epoll_event e = { .events = EPOLLIN, .data.ptr = c };
		int one = 1;

		c->to_ask = c->to_hear = request_count / connection_count +
					 (i < request_count % connection_count);
		c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (c->fd < 0 ||
		    connect(c->fd, (struct sockaddr *)&plan.server, sizeof plan.server) ||
		    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) ||
		    epoll_ctl(poll, EPOLL_CTL_ADD, c->fd, &e))
			die("connect");
	}
}

/* Returns the seconds it took. */
static double run(int poll)
{
	uint64_t start = now_ns(), end = start + plan.seconds * 1000000000ull;
	unsigned live = 0;

	for (unsigned i = 0; i < connection_count; i++)
		live += connections[i].to_hear && ask(&connections[i]);
	while (live && now_ns() < end) {
		struct epoll_event event[64];
		int n = epoll_wait(poll, event, 64, 1000);

		for (int i = 0; i < n; i++) {
			struct connection *c = event[i].data.ptr;
			bool good = hear(c) && ask(c);

			if (good && c->to_hear)
				continue;
			broken += !good;
			live--;
			close(c->fd); /* and epoll forgets it */
		}
	}
	return (double)(now_ns() - start) / 1e9;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

static double share_ms(double share)
{
	return right ? (double)took_ns[(size_t)(share * (right - 1))] / 1e6 : 0;
}

static unsigned longer_than(unsigned ms)
{
	unsigned n = 0;
	for (unsigned i = 0; i < right; i++)
		n += took_ns[i] > ms * 1000000ull;
	return n;
}

static void report(double seconds)
{
	double sum = 0;

	qsort(took_ns, right, sizeof *took_ns, by_value);
	for (unsigned i = 0; i < right; i++)
		sum += (double)took_ns[i] / 1e6;
	printf("{\"requests\":%u,\"connections\":%u,\"depth\":%u,\"right\":%u,\"wrong\":%u,"
	       "\"missing\":%u,\"broken\":%u,\"seconds\":%.3f,\"mean_ms\":%.3f,\"p50_ms\":%.3f,"
	       "\"p90_ms\":%.3f,\"p99_ms\":%.3f,\"max_ms\":%.3f,\"over_100_ms\":%u,"
	       "\"over_250_ms\":%u,\"over_500_ms\":%u,\"over_1000_ms\":%u}\n",
	       request_count, connection_count, plan.depth, right, wrong,
	       request_count - right - wrong, broken, seconds, right ? sum / right : 0,
	       share_ms(0.5), share_ms(0.9), share_ms(0.99), share_ms(1), longer_than(100),
	       longer_than(250), longer_than(500), longer_than(1000));
}

static const char usage[] = "usage: storm [OPTIONS] ADDRESS PORT REQUESTS CONNECTIONS\n"
			    "  --body=TEXT   wanted as each answer's body (else: the right hash)\n"
			    "  --depth=N     requests under way on a connection (1, at most 64)\n"
			    "  --seconds=N   then what has not come is missing (120)\n"
			    "  --seed=N      other draws of n and seed (1)\n";

static void options(int argc, char **argv)
{
	static const struct option known[] = {
		{ "body", 1, NULL, 'b' }, { "depth", 1, NULL, 'd' }, { "seconds", 1, NULL, 't' },
		{ "seed", 1, NULL, 's' }, { "help", 0, NULL, 'h' },  { 0 }
	};
	bool good = true;
	int o;

	while ((o = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (o == 'h')
			exit(fputs(usage, stdout) < 0);
		else if (o == 'b')
			plan.body = optarg;
		else if (o == 'd')
			plan.depth = (unsigned)atoi(optarg);
		else if (o == 't')
			plan.seconds = (unsigned)atoi(optarg);
		else if (o == 's')
			plan.random = strtoull(optarg, NULL, 0) * 2 + 1;
		else
			good = false;
	}
	plan.server.sin_family = AF_INET;
	if (!good || argc - optind != 4 || !plan.depth || plan.depth > DEPTH_MAX ||
	    inet_pton(AF_INET, argv[optind], &plan.server.sin_addr) != 1) {
		fputs(usage, stderr);
		exit(2);
	}
	plan.server.sin_port = htons((uint16_t)atoi(argv[optind + 1]));
	request_count = (unsigned)atoi(argv[optind + 2]);
	connection_count = (unsigned)atoi(argv[optind + 3]);
	snprintf(plan.host, sizeof plan.host, "%.15s:%.5s", argv[optind], argv[optind + 1]);
	if (!connection_count || connection_count > CONNECTIONS_MAX) {
		fputs(usage, stderr);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	int poll = epoll_create1(EPOLL_CLOEXEC);

	options(argc, argv);
	connections = calloc(connection_count, sizeof *connections);
	took_ns = calloc(request_count, sizeof *took_ns);
	if (poll < 0 || !connections || !took_ns)
		die("begin");
	connect_all(poll);
	report(run(poll));
	return right != request_count;
}
