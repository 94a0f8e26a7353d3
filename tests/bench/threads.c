// SPDX-License-Identifier: GPL-2.0-only
/*
 * threads.c - the ordinary way: kernel sockets, and a thread for each connection
 *
 * Usage    threads PORT           answer GET /compute?n=N, until it is killed
 *          threads --plain=N      how long the loop takes alone, in nanoseconds
 * Place    What compute.sh compares with, on the same core. It answers in the
 *          same words, by the plain loop of lane.c; the scheduler shares the core.
 * Model    A thread blocks in recv, computes, sends, and is back in recv. So a
 *          connection with one request under way is a thread for that request.
 * Limits   fnv1a32 with its default seed; requests of one segment, one at a time;
 *          anything else ends the connection.
 */
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "lane.h"

enum { PLAIN_RUNS = 5 }; /* the least of them is the undisturbed one */

_Noreturn void base_panic(const char *what, const char *file, int line);
_Noreturn void base_panic(const char *what, const char *file, int line)
{
	fprintf(stderr, "threads: broken invariant at %s:%d: %s\n", file, line, what);
	abort();
}

_Noreturn static void die(const char *what)
{
	fprintf(stderr, "threads: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static uint64_t compute(uint64_t n, uint64_t *took_ns)
{
	uint64_t start = now_ns();
	uint64_t hash = lane_plain(LANE_FNV1A32, lane_alg_seed(LANE_FNV1A32), n);

	*took_ns = now_ns() - start;
	return hash;
}

static bool answer(int fd, uint64_t n)
{
	char body[160], text[400];
	uint64_t took_ns, hash = compute(n, &took_ns);
	int body_len, len;

	body_len = snprintf(body, sizeof body,
			    "{\"alg\":\"fnv1a32\",\"n\":%" PRIu64 ",\"seed\":\"0x%08" PRIx64
			    "\",\"hash\":\"0x%08" PRIx64 "\",\"compute_ns\":%" PRIu64 "}\n",
			    n, lane_alg_seed(LANE_FNV1A32), hash, took_ns);
	len = snprintf(text, sizeof text,
		       "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
		       "Content-Length: %d\r\n\r\n%s",
		       body_len, body);
	return send(fd, text, (size_t)len, MSG_NOSIGNAL) == len;
}

static void *serve(void *arg)
{
	int fd = (int)(intptr_t)arg, one = 1;
	char request[2048];
	uint64_t n;
	ssize_t got;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	while ((got = recv(fd, request, sizeof request - 1, 0)) > 0) {
		request[got] = '\0';
		if (sscanf(request, "GET /compute?n=%" SCNu64 " HTTP/1.1\r\n", &n) != 1 ||
		    !strstr(request, "\r\n\r\n") || !answer(fd, n))
			break;
	}
	close(fd);
	return NULL;
}

_Noreturn static void listen_at(const char *port)
{
	struct sockaddr_in here = { .sin_family = AF_INET,
				    .sin_port = htons((uint16_t)atoi(port)) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
	pthread_attr_t attr;
	pthread_t thread;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) ||
	    bind(fd, (struct sockaddr *)&here, sizeof here) || listen(fd, SOMAXCONN))
		die(port);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (;;) {
		int client = accept(fd, NULL, NULL);

		if (client < 0)
			die("accept");
		errno = pthread_create(&thread, &attr, serve, (void *)(intptr_t)client);
		if (errno)
			die("a thread");
	}
}

static void plain(uint64_t n)
{
	uint64_t least_ns = UINT64_MAX, took_ns;

	for (int i = 0; i < PLAIN_RUNS; i++) {
		compute(n, &took_ns);
		least_ns = min_u64(least_ns, took_ns);
	}
	printf("%" PRIu64 "\n", least_ns);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fputs("usage: threads PORT, or threads --plain=N\n", stderr);
		return 2;
	}
	if (strncmp(argv[1], "--plain=", 8))
		listen_at(argv[1]);
	plain(strtoull(argv[1] + 8, NULL, 10));
	return 0;
}
