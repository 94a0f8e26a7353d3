// SPDX-License-Identifier: GPL-2.0-only
/*
 * mixed.c - requests for both servers of a shared port, and who answered each
 *
 * Usage    mixed ADDRESS PORT REQUESTS CONNECTIONS EACH [SOURCE...]
 * Model    One epoll loop, so many connections at once. A connection asks for `/` or
 *          for /compute, whichever has been asked for less often, up to EACH times,
 *          unless the server closes it. It comes from the next of the source addresses.
 *          Each fourth cuts its requests in two segments. An answer is right when all
 *          of it is, and when the one it should be from has given it: nginx says so in a
 *          header. Prints one line of JSON; status 1 when anything was wrong.
 * Limits   120 s for all. What is not there then is missing.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTIONS_MAX = 1024, INPUT = 4096, SECONDS = 120, CUT_EACH = 4 };

enum side { WEB, OURS };

static const struct {
	const char *target, *body;
} sides[] = {
	[WEB] = { "/", "the page\n" },
	[OURS] = { "/compute?n=1000&seed=42", "\"hash\":\"0xe0d6c7e2\"" },
};

struct connection {
	int fd;
	enum side side;
	unsigned asked;
	bool answered; /* it may close now */
	size_t have;
	char input[INPUT + 1];
};

static struct {
	struct sockaddr_storage server;
	socklen_t server_size;
	unsigned connections, each;
	char **sources;
	unsigned source_count;
} plan;

static struct {
	unsigned to_ask, asked[2], right[2], wrong, errors, resets, opened;
} sum;

static struct connection *all;
static int epoll_fd;

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static uint64_t now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec;
}

static int address(struct sockaddr_storage *to, socklen_t *size, const char *host, const char *port)
{
	struct addrinfo hint = { .ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM }, *found;

	if (getaddrinfo(host, port, &hint, &found))
		return -1;
	memcpy(to, found->ai_addr, found->ai_addrlen);
	*size = found->ai_addrlen;
	freeaddrinfo(found);
	return 0;
}

/* The next source. Its port is chosen at connect: one is enough for each server. */
static void bind_source(int fd)
{
	struct sockaddr_storage from;
	socklen_t size;
	int yes = 1;

	if (!plan.source_count)
		return;
	setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof yes);
	if (address(&from, &size, plan.sources[sum.opened % plan.source_count], NULL) ||
	    bind(fd, (struct sockaddr *)&from, size))
		die("bind");
}

/* --- a connection ---------------------------------------------------------------- */

static void begin(struct connection *c)
{
	struct epoll_event e = { .events = EPOLLOUT, .data.ptr = c };
	int yes = 1;

	c->fd = -1;
	if (!sum.to_ask)
		return;
	c->fd = socket(plan.server.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		die("socket");
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
	bind_source(c->fd);
	sum.opened++;
	c->side = sum.asked[OURS] < sum.asked[WEB] ? OURS : WEB;
	c->asked = 0;
	c->answered = false;
	c->have = 0;
	if (connect(c->fd, (struct sockaddr *)&plan.server, plan.server_size) &&
	    errno != EINPROGRESS)
		die("connect");
	epoll_ctl(epoll_fd, EPOLL_CTL_ADD, c->fd, &e);
}

static void end(struct connection *c)
{
	close(c->fd);
	begin(c);
}

static void trouble(struct connection *c, const char *what)
{
	sum.errors++;
	sum.resets += errno == ECONNRESET;
	if (sum.errors <= 10)
		fprintf(stderr, "mixed: %s: %s, request %u: %s\n", sides[c->side].target, what,
			c->asked, strerror(errno));
	end(c);
}

static void ask(struct connection *c)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = c };
	char text[256];
	size_t len, cut;

	if (!sum.to_ask || c->asked == plan.each) {
		end(c);
		return;
	}
	sum.to_ask--;
	sum.asked[c->side]++;
	c->asked++;
	c->answered = false;
	len = (size_t)snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: shared\r\n\r\n",
			       sides[c->side].target);
	/* behind the path: the first piece decides */
	cut = sum.opened % CUT_EACH ? 0 : strcspn(text + 4, " ?") + 5;
	if (send(c->fd, text, cut, MSG_NOSIGNAL) != (ssize_t)cut ||
	    send(c->fd, text + cut, len - cut, MSG_NOSIGNAL) != (ssize_t)(len - cut)) {
		trouble(c, "send");
		return;
	}
	epoll_ctl(epoll_fd, EPOLL_CTL_MOD, c->fd, &e);
}

/* Of the answer's head; NULL: it has none of that name. */
static const char *field(const char *head, const char *name)
{
	const char *line = strcasestr(head, name);

	return line && line[-1] == '\n' ? line + strlen(name) : NULL;
}

static void judge(struct connection *c, const char *head, const char *body)
{
	bool web = field(head, "X-Server: nginx") != NULL;

	if (!strncmp(head, "HTTP/1.1 200 ", 13) && web == (c->side == WEB) &&
	    strstr(body, sides[c->side].body)) {
		sum.right[c->side]++;
		return;
	}
	sum.wrong++;
	if (sum.wrong <= 10)
		fprintf(stderr, "mixed: %s: wrong: %s\n%s\n", sides[c->side].target, head, body);
}

/* Is there a whole answer? Then it is judged, and *closes says what it says. */
static bool answer(struct connection *c, bool *closes)
{
	const char *length, *connection;
	char *body;
	size_t all_of_it;

	c->input[c->have] = '\0';
	body = strstr(c->input, "\r\n\r\n");
	if (!body)
		return false;
	*body = '\0';
	body += 4;
	length = field(c->input, "Content-Length:");
	connection = field(c->input, "Connection:");
	all_of_it = (size_t)(body - c->input) + (length ? strtoul(length, NULL, 10) : 0);
	if (c->have < all_of_it) {
		body[-4] = '\r';
		return false;
	}
	*closes = connection && !strncasecmp(connection, " close", 6);
	judge(c, c->input, body);
	c->have = 0;
	return true;
}

static void hear(struct connection *c)
{
	ssize_t n = recv(c->fd, c->input + c->have, INPUT - c->have, 0);
	bool closes = false;

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		errno = n ? errno : 0;
		if (n == 0 && c->answered)
			end(c);
		else
			trouble(c, n ? "recv" : "closed before it answered");
		return;
	}
	c->have += (size_t)n;
	if (!answer(c, &closes))
		return;
	c->answered = true;
	if (!closes) /* else its FIN comes */
		ask(c);
}

static void turn(struct epoll_event *e)
{
	struct connection *c = e->data.ptr;
	socklen_t size = sizeof errno;
	int error = 0;

	if (!(e->events & EPOLLOUT)) {
		hear(c);
		return;
	}
	getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &size);
	errno = error;
	if (error)
		trouble(c, "connect");
	else
		ask(c);
}

/* --- all of them -------------------------------------------------------------------- */

static bool live(void)
{
	for (unsigned i = 0; i < plan.connections; i++)
		if (all[i].fd >= 0)
			return true;
	return false;
}

static void run(void)
{
	struct epoll_event e[64];
	uint64_t end_s = now_s() + SECONDS;

	for (unsigned i = 0; i < plan.connections; i++)
		begin(&all[i]);
	while (live() && now_s() < end_s) {
		int n = epoll_wait(epoll_fd, e, 64, 1000);

		for (int i = 0; i < n; i++)
			turn(&e[i]);
	}
}

int main(int argc, char **argv)
{
	unsigned requests, missing;

	if (argc < 6 || address(&plan.server, &plan.server_size, argv[1], argv[2])) {
		fputs("usage: mixed ADDRESS PORT REQUESTS CONNECTIONS EACH [SOURCE...]\n", stderr);
		return 2;
	}
	requests = sum.to_ask = (unsigned)atoi(argv[3]);
	plan.connections = (unsigned)atoi(argv[4]);
	plan.each = (unsigned)atoi(argv[5]);
	plan.sources = argv + 6;
	plan.source_count = (unsigned)argc - 6;
	if (!plan.connections || plan.connections > CONNECTIONS_MAX || !plan.each)
		return 2;
	all = calloc(plan.connections, sizeof *all);
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (!all || epoll_fd < 0)
		die("mixed");
	run();
	missing = requests - sum.right[WEB] - sum.right[OURS] - sum.wrong - sum.errors;
	printf("{\"web\":%u,\"ours\":%u,\"wrong\":%u,\"errors\":%u,\"resets\":%u,\"missing\":%u,"
	       "\"connections\":%u}\n",
	       sum.right[WEB], sum.right[OURS], sum.wrong, sum.errors, sum.resets, missing,
	       sum.opened);
	return sum.wrong || sum.errors || missing;
}
