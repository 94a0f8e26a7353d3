// SPDX-License-Identifier: GPL-2.0-only
/*
 * first.c - from exec to the first answer
 *
 * Usage    first ADDRESS PORT COMMAND...
 * Model    Fork, exec the server, and ask for /compute?n=0 in a tight loop of
 *          connects until one is answered with 200. Prints milliseconds from
 *          just before the fork to the last byte of the status, then ends the
 *          server by SIGTERM. The client is on the same host, so nothing but the
 *          kernel's sockets is in between.
 */
#include <arpa/inet.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

/* One connection, one request. A listener that is not there yet refuses at once. */
static bool answered(const struct sockaddr_in *server)
{
	static const char request[] = "GET /compute?n=0 HTTP/1.1\r\nHost: first\r\n\r\n";
	static const char wanted[] = "HTTP/1.1 200";
	char answer[sizeof wanted - 1];
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool good = fd >= 0 && !connect(fd, (const struct sockaddr *)server, sizeof *server) &&
		    send(fd, request, sizeof request - 1, MSG_NOSIGNAL) > 0 &&
		    recv(fd, answer, sizeof answer, MSG_WAITALL) == (ssize_t)sizeof answer &&
		    !memcmp(answer, wanted, sizeof answer);
	if (fd >= 0)
		close(fd);
	return good;
}

int main(int argc, char **argv)
{
	enum { PATIENCE_MS = 5000 };
	struct sockaddr_in server = { .sin_family = AF_INET };

	if (argc < 4 || inet_pton(AF_INET, argv[1], &server.sin_addr) != 1) {
		fputs("usage: first ADDRESS PORT COMMAND...\n", stderr);
		return 2;
	}
	server.sin_port = htons((uint16_t)atoi(argv[2]));

	double start = now_ms();
	pid_t child = fork();
	if (child == 0) {
		execvp(argv[3], argv + 3);
		perror(argv[3]);
		_exit(127);
	}
	bool good = false;
	while (child > 0 && !good && now_ms() - start < PATIENCE_MS)
		good = answered(&server);
	double took = now_ms() - start;
	if (child > 0) {
		kill(child, SIGTERM);
		waitpid(child, NULL, 0);
	}
	if (!good) {
		fputs("first: no answer\n", stderr);
		return 1;
	}
	printf("%.2f\n", took);
	return 0;
}
