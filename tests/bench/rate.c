// SPDX-License-Identifier: GPL-2.0-only
/*
 * rate.c - requests at a given rate, each answer checked, each latency kept
 *
 * Usage    rate [OPTIONS] ADDRESS PORT; rate --help
 * Model    Open loop: each request is due at a time that is fixed beforehand, at
 *          a constant rate or with --poisson after exponential gaps, whatever
 *          became of those before it. It takes the connection that is idle
 *          longest; when none is, it stands in line here. Its latency counts
 *          from when it was due, so a server that stalls pays for all whom it
 *          kept waiting; the wait in line is also told apart, as lag. --closed:
 *          each connection sends its next request on the answer to the last.
 *          One spinning loop: epoll_wait returns at once, so that no wake-up of
 *          this program is in the figures. gap_max_us is the longest time
 *          between two of its looks: what is not longer may be its own doing.
 * Checks   An answer of 200 must begin with what this program computed itself,
 *          once for each path, before the clock starts. 503 is a refusal, counted and
 *          timed apart. Anything else, or nothing, makes the exit status 1.
 * Limits   IPv4, HTTP/1.1, one request under way on a connection. A connection
 *          that ends is not made again. ASKS_MAX requests in all.
 * Units    Microseconds in the one line of JSON. A percentile is null unless 10
 *          samples lie beyond it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "rate.h"

enum {
	CONNECTIONS_MAX = 10000,
	INPUT = 4096, /* an answer is a quarter of it at most */
	EVENTS = 16,  /* then look for requests that are due */
	TOLD_MAX = 5, /* of what is wrong, on stderr */
};

struct connection {
	int fd;    /* NONE: it has ended */
	int ask;   /* under way, or NONE */
	int keeps; /* the kind that it asks for again and again, or NONE */
	size_t have;
	char input[INPUT];
};

static struct {
	bool closed, poisson, quickack;
	double rate, seconds, warm, patience, connections, requests, seed;
	unsigned kept;
	struct sockaddr_in server;
	char host[32];
} plan = { .seconds = 10, .patience = 30, .connections = 64, .seed = 1 };

static struct load load;
static uint64_t drawn;
static unsigned planned;   /* an open loop's, first in load.asks; a closed one's: measured so far */
static unsigned next;      /* the first that was not yet sent */
static unsigned under_way; /* without those that are kept */
static uint64_t end_ns;    /* nothing is due after that */

static struct connection *connections;
static unsigned *idle; /* numbers of connections, a ring */
static unsigned idle_first, idle_count, live, told;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

_Noreturn static void die(const char *what)
{
	fprintf(stderr, "rate: %s: %s\n", what, strerror(errno));
	exit(1);
}

_Noreturn static void refuse(const char *what, const char *why)
{
	fprintf(stderr, "rate: %s: %s; rate --help\n", what, why);
	exit(2);
}

static double draw(void) /* 0 <= draw < 1 */
{
	drawn ^= drawn << 13;
	drawn ^= drawn >> 7;
	drawn ^= drawn << 17;
	return (double)(drawn >> 11) * 0x1p-53;
}

/* --- what to ask, and what to hear ---------------------------------------------------- */

static uint64_t hash32(uint32_t h, uint64_t n)
{
	for (uint32_t i = 0; i < n; i++)
		h = (h ^ i) * 16777619u;
	return h;
}

static uint64_t hash64(uint64_t h, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		h = (h ^ i) * 1099511628211u;
	return h;
}

static uint64_t mix64(uint64_t h, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		h ^= i;
		h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9;
		h = (h ^ h >> 27) * 0x94d049bb133111eb;
		h ^= h >> 31;
	}
	return h;
}

/* A parameter of the path's query, or what stands for it when it is not there. */
static const char *parameter(const char *path, const char *name, const char *without,
			     char text[static 32])
{
	size_t len = strlen(name);

	for (const char *at = strchr(path, '?'); at; at = strchr(at + 1, '&')) {
		if (strncmp(at + 1, name, len) || at[1 + len] != '=')
			continue;
		snprintf(text, 32, "%.*s", (int)strcspn(at + 2 + len, "&"), at + 2 + len);
		return text;
	}
	return without;
}

static void kind_expect(struct kind *k)
{
	char alg_text[32], n_text[32], seed_text[32];
	const char *alg = parameter(k->path, "alg", "fnv1a32", alg_text);
	bool is32 = !strcmp(alg, "fnv1a32"), is64 = !strcmp(alg, "fnv1a64");
	const char *first = is32 ? "2166136261" : is64 ? "0xcbf29ce484222325" : "0";
	uint64_t n = strtoull(parameter(k->path, "n", "10000000", n_text), NULL, 10);
	uint64_t seed = strtoull(parameter(k->path, "seed", first, seed_text), NULL, 0);
	int digits = is32 ? 8 : 16;

	if (strncmp(k->path, "/compute", 8) || strpbrk(k->path, " \"\\"))
		refuse(k->path, "not a path of /compute, the only one that can be checked");
	if ((!is32 && !is64 && strcmp(alg, "mix64")) || n > UINT32_MAX)
		refuse(k->path, "unknown alg, or n too large");
	k->body_len = (size_t)snprintf(k->body, sizeof k->body,
				       "{\"alg\":\"%s\",\"n\":%" PRIu64 ",\"seed\":\"0x%0*" PRIx64
				       "\",\"hash\":\"0x%0*" PRIx64 "\"",
				       alg, n, digits, seed, digits,
				       is32 ? hash32((uint32_t)seed, n) :
				       is64 ? hash64(seed, n) :
					      mix64(seed, n));
	k->request_len = (size_t)snprintf(k->request, sizeof k->request,
					  "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", k->path,
					  plan.host);
	if (k->request_len >= sizeof k->request)
		refuse(k->path, "too long");
}

static uint8_t draw_kind(void)
{
	double sum = 0, at;

	for (unsigned k = 0; k < load.kind_count; k++)
		sum += load.kinds[k].weight;
	at = draw() * sum;
	for (unsigned k = 0; k < load.kind_count; k++)
		if ((at -= load.kinds[k].weight) < 0)
			return (uint8_t)k;
	return 0; /* a rounding error */
}

/* NONE: there is room for no more. */
static int ask_append(uint8_t kind, uint64_t due_ns)
{
	if (load.ask_count == ASKS_MAX)
		return NONE;
	load.asks[load.ask_count] = (struct ask){ .kind = kind, .due_ns = due_ns };
	return (int)load.ask_count++;
}

/* --- the schedule -------------------------------------------------------------------- */

/* An open loop's is written down now: first as times from its start. */
static void schedule(void)
{
	double span = plan.warm + plan.seconds, at = 0;
	uint64_t start;

	while (!plan.closed && at < span) {
		if (ask_append(draw_kind(), (uint64_t)(at * 1e9)) == NONE)
			refuse("--rate", "more than 2^23 requests in all");
		planned++;
		at = plan.poisson ? at - log(1 - draw()) / plan.rate : planned / plan.rate;
	}
	start = now_ns() + 1000000;
	for (unsigned i = 0; i < planned; i++)
		load.asks[i].due_ns += start;
	load.warm_ns = start + (uint64_t)(plan.warm * 1e9);
	end_ns = start + (uint64_t)(span * 1e9);
}

static bool all_asked(uint64_t now)
{
	if (!plan.closed)
		return next == planned;
	return now >= end_ns || (plan.requests > 0 && planned >= plan.requests) ||
	       load.ask_count == ASKS_MAX;
}

/* The next request that is due by now, NONE: none is. */
static int take_due(uint64_t now)
{
	if (all_asked(now))
		return NONE;
	if (!plan.closed)
		return load.asks[next].due_ns <= now ? (int)next++ : NONE;
	planned += now >= load.warm_ns;
	return ask_append(draw_kind(), now);
}

/* --- asking -------------------------------------------------------------------------- */

static void tell(const char *what, const char *detail, int len)
{
	if (told++ < TOLD_MAX)
		fprintf(stderr, "rate: %s: %.*s\n", what, len, detail);
}

static void settle(struct connection *c, enum outcome outcome, uint64_t now)
{
	if (c->ask == NONE)
		return;
	load.asks[c->ask].outcome = outcome;
	load.asks[c->ask].done_ns = now;
	c->ask = NONE;
	under_way -= c->keeps == NONE;
}

static void lose(struct connection *c, const char *why)
{
	tell("a connection ended", why, 80);
	settle(c, LOST, now_ns());
	close(c->fd); /* and epoll forgets it */
	c->fd = NONE;
	load.broken++;
	live -= c->keeps == NONE;
}

static void ask(struct connection *c, int i)
{
	const struct kind *k = &load.kinds[load.asks[i].kind];

	c->ask = i;
	under_way += c->keeps == NONE;
	load.asks[i].outcome = SENT;
	load.asks[i].sent_ns = now_ns();
	if (send(c->fd, k->request, k->request_len, MSG_NOSIGNAL) != (ssize_t)k->request_len)
		lose(c, strerror(errno));
}

static void idle_put(struct connection *c)
{
	idle[(idle_first + idle_count++) % load.connections] = (unsigned)(c - connections);
}

/* All that is due, as long as a connection is idle. */
static void ask_due(void)
{
	while (idle_count) {
		struct connection *c = &connections[idle[idle_first]];
		int i = c->fd == NONE ? NONE : take_due(now_ns());

		if (c->fd != NONE && i == NONE)
			return;
		idle_first = (idle_first + 1) % load.connections;
		idle_count--;
		if (i != NONE)
			ask(c, i);
	}
}

static void ask_again(struct connection *c)
{
	int i = ask_append((uint8_t)c->keeps, now_ns());

	if (i != NONE)
		ask(c, i);
}

/* --- hearing ------------------------------------------------------------------------- */

/* The length of the answer that the input begins with, 0: not yet whole. */
static size_t answer_length(struct connection *c, size_t *head)
{
	static const char field[] = "\r\nContent-Length: ";
	const char *end, *at;

	c->input[c->have] = '\0';
	end = strstr(c->input, "\r\n\r\n");
	if (!end)
		return 0;
	*head = (size_t)(end - c->input) + 4;
	at = strstr(c->input, field);
	size_t length = *head + (at && at < end ? strtoul(at + sizeof field - 1, NULL, 10) : 0);
	return length <= c->have ? length : 0;
}

static enum outcome judge(const struct connection *c, size_t head, size_t length)
{
	const struct kind *k = &load.kinds[load.asks[c->ask].kind];

	if (c->have != length)
		return WRONG;
	if (!memcmp(c->input, "HTTP/1.1 503 ", 13))
		return REFUSED;
	if (memcmp(c->input, "HTTP/1.1 200 ", 13))
		return OTHER;
	if (length - head < k->body_len || memcmp(c->input + head, k->body, k->body_len))
		return WRONG;
	return ACCEPTED;
}

static void hear(struct connection *c)
{
	ssize_t n = recv(c->fd, c->input + c->have, sizeof c->input - 1 - c->have, 0);
	size_t head, length;
	enum outcome outcome;

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		lose(c, n ? strerror(errno) : "the server closed it");
		return;
	}
	if (plan.quickack)
		setsockopt(c->fd, IPPROTO_TCP, TCP_QUICKACK, &(int){ 1 }, sizeof(int));
	c->have += (size_t)n;
	length = answer_length(c, &head);
	if (c->ask == NONE || (!length && c->have == sizeof c->input - 1)) {
		lose(c, "bytes that are no answer");
		return;
	}
	if (!length)
		return;
	outcome = judge(c, head, length);
	if (outcome == OTHER || outcome == WRONG)
		tell("a wrong answer", c->input, (int)c->have);
	settle(c, outcome, now_ns());
	c->have = 0;
	if (c->keeps != NONE)
		ask_again(c);
	else
		idle_put(c);
}

/* --- the run ------------------------------------------------------------------------- */

static void make_connection(int poll, struct connection *c)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = c };
	int one = 1;

	c->ask = NONE;
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&plan.server, sizeof plan.server) ||
	    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) ||
	    fcntl(c->fd, F_SETFL, O_NONBLOCK) || epoll_ctl(poll, EPOLL_CTL_ADD, c->fd, &e))
		die("connect");
}

static void begin(int poll)
{
	unsigned n = (unsigned)plan.connections + plan.kept;
	struct rlimit files;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	load.asks = mmap(NULL, ASKS_MAX * sizeof *load.asks, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	connections = calloc(n, sizeof *connections);
	idle = calloc(n, sizeof *idle);
	if (poll < 0 || load.asks == MAP_FAILED || !connections || !idle)
		die("begin");
	live = load.connections = (unsigned)plan.connections;
	for (unsigned i = 0; i < n; i++) {
		struct connection *c = &connections[i];

		c->keeps = i < live ? NONE : (int)load.kind_count - 1;
		make_connection(poll, c);
		if (c->keeps == NONE)
			idle_put(c);
	}
}

static void run(int poll)
{
	uint64_t last, now, too_late;

	schedule();
	too_late = end_ns + (uint64_t)(plan.patience * 1e9);
	for (unsigned i = 0; i < plan.kept; i++)
		ask_again(&connections[load.connections + i]);
	for (last = now = now_ns(); live && now < too_late; last = now, now = now_ns()) {
		struct epoll_event event[EVENTS];

		if (all_asked(now) && !under_way)
			break;
		if (now - last > load.gap_max_ns)
			load.gap_max_ns = now - last;
		ask_due();
		int n = epoll_wait(poll, event, EVENTS, 0);
		for (int i = 0; i < n; i++)
			hear(event[i].data.ptr);
	}
}

/* --- options ------------------------------------------------------------------------- */

static const char usage[] =
	"usage: rate [OPTIONS] ADDRESS PORT\n"
	"  --rate=R             requests a second, due whatever becomes of them\n"
	"  --poisson            after exponential gaps, not equal ones\n"
	"  --closed             instead: each connection asks on its last answer\n"
	"  --seconds=S          for so long (10)\n"
	"  --requests=N         with --closed: no more than N\n"
	"  --warm=S             so long before, checked but not measured (0)\n"
	"  --connections=N      made before the clock starts (64)\n"
	"  --path=PATH          what to ask for (/compute?n=10000000)\n"
	"  --mix=PATH=W,...     or several, drawn with these weights\n"
	"  --keep=N=PATH        besides, N more connections that ask for PATH again\n"
	"                       and again; told apart\n"
	"  --patience=S         what has not come so long after the end is missing (30)\n"
	"  --seed=N             other draws of gaps and paths (1)\n"
	"  --quickack           each answer is acknowledged at once, in a segment of its own,\n"
	"                       not with the next request\n"
	"Prints one line of JSON. Exit status 1 when an answer is wrong or missing,\n"
	"or its status is neither 200 nor 503.\n";

static double number(const char *name, const char *text, double least, double most)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || *end || !(v >= least && v <= most))
		refuse(name, "not a number, or out of range");
	return v;
}

static void add_kind(const char *path, double weight)
{
	if (load.kind_count == KINDS_MAX)
		refuse(path, "too many paths");
	load.kinds[load.kind_count++] = (struct kind){ .path = path, .weight = weight };
}

static void add_mix(char *list)
{
	for (char *one = strtok(list, ","); one; one = strtok(NULL, ",")) {
		char *equals = strrchr(one, '=');

		if (!equals)
			refuse("--mix", "not PATH=WEIGHT");
		*equals = '\0';
		add_kind(one, number("--mix", equals + 1, 1e-9, 1e9));
	}
}

static void add_kept(char *text)
{
	char *path = strchr(text, '=');

	if (!path)
		refuse("--keep", "not N=PATH");
	*path = '\0';
	plan.kept = (unsigned)number("--keep", text, 1, CONNECTIONS_MAX);
	add_kind(path + 1, 0);
}

static void parse_server(int count, char **word)
{
	if (count != 2)
		refuse("arguments", "ADDRESS and PORT are wanted, and nothing else");
	plan.server.sin_family = AF_INET;
	if (inet_pton(AF_INET, word[0], &plan.server.sin_addr) != 1)
		refuse(word[0], "not an IPv4 address");
	plan.server.sin_port = htons((uint16_t)number("PORT", word[1], 1, 65535));
	snprintf(plan.host, sizeof plan.host, "%.15s:%.5s", word[0], word[1]);
}

/* The numbers among the options; parse_options knows them by their place here. */
static const struct {
	const char *name;
	double *value, least, most;
} numbers[] = {
	{ "rate", &plan.rate, 1e-3, 1e7 },
	{ "seconds", &plan.seconds, 1e-3, 1e6 },
	{ "requests", &plan.requests, 1, ASKS_MAX },
	{ "warm", &plan.warm, 0, 1e6 },
	{ "connections", &plan.connections, 1, CONNECTIONS_MAX },
	{ "patience", &plan.patience, 0, 1e6 },
	{ "seed", &plan.seed, 0, 1e15 },
};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static void parse_options(int argc, char **argv)
{
	struct option known[NUMBERS + 8] = {
		[NUMBERS] = { "poisson", 0, NULL, 'p' },
		{ "closed", 0, NULL, 'c' },
		{ "path", 1, NULL, 'P' },
		{ "mix", 1, NULL, 'm' },
		{ "keep", 1, NULL, 'k' },
		{ "quickack", 0, NULL, 'q' },
		{ "help", 0, NULL, 'h' },
	};
	char *keep = NULL;
	int o;

	for (int i = 0; i < NUMBERS; i++)
		known[i] = (struct option){ numbers[i].name, 1, NULL, 256 + i };
	while ((o = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (o >= 256)
			*numbers[o - 256].value = number(numbers[o - 256].name, optarg,
							 numbers[o - 256].least,
							 numbers[o - 256].most);
		else if (o == 'p')
			plan.poisson = true;
		else if (o == 'c')
			plan.closed = true;
		else if (o == 'P')
			add_kind(optarg, 1);
		else if (o == 'm')
			add_mix(optarg);
		else if (o == 'k')
			keep = optarg;
		else if (o == 'q')
			plan.quickack = true;
		else if (o == 'h')
			exit(fputs(usage, stdout) < 0);
		else
			exit(2); /* getopt_long has said why */
	}
	if (!load.kind_count)
		add_kind("/compute?n=10000000", 1);
	if (keep)
		add_kept(keep);
	parse_server(argc - optind, argv + optind);
}

/* What the options say together. */
static void settle_plan(void)
{
	if (plan.closed == (plan.rate > 0))
		refuse("--rate, --closed", "one of the two is wanted");
	if (plan.requests > 0 && !plan.closed)
		refuse("--requests", "goes with --closed only");
	load.mode = plan.closed ? "closed" : plan.poisson ? "poisson" : "constant";
	load.rate = plan.rate;
	drawn = (uint64_t)plan.seed * 2 + 1;
	for (int i = 0; i < 8; i++) /* a small seed has few bits set, and so have the first draws */
		draw();
	for (unsigned k = 0; k < load.kind_count; k++)
		kind_expect(&load.kinds[k]);
}

int main(int argc, char **argv)
{
	int poll = epoll_create1(EPOLL_CLOEXEC);

	parse_options(argc, argv);
	settle_plan();
	begin(poll);
	run(poll);
	return rate_report(&load) != 0;
}
