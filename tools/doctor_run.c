/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>
#include "doctor.h"

/* A tool's words in the language that is read here, and those of sbin too. */
static int spawn(pid_t *pid, char *const argv[], int to[2])
{
	char *words[] = { "LC_ALL=C",
			  "PATH=/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin",
			  NULL };
	static const char *const places[] = { "/usr/sbin", "/sbin", "/usr/bin", "/bin",
					      "/usr/local/sbin" };
	posix_spawn_file_actions_t files;
	char path[128];
	int error = ENOENT;

	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, to[1], 1);
	posix_spawn_file_actions_adddup2(&files, to[1], 2);
	for (unsigned i = 0; error && i < array_size(places); i++) {
		snprintf(path, sizeof path, "%s/%s", places[i], argv[0]);
		if (!access(path, X_OK))
			error = posix_spawn(pid, path, &files, NULL, argv, words);
	}
	posix_spawn_file_actions_destroy(&files);
	return error;
}

static void first_line(char *why, size_t size, const char *tool, const char *text)
{
	snprintf(why, size, "%s says: %.*s", tool, (int)strcspn(text, "\n"), text);
}

bool host_run(char *const argv[], char *text, size_t size, char *why, size_t why_size)
{
	int ends[2], status = 0, error;
	size_t held = 0;
	ssize_t n;
	pid_t pid;

	text[0] = '\0';
	if (pipe2(ends, O_CLOEXEC)) {
		snprintf(why, why_size, "pipe: %s", strerror(errno));
		return false;
	}
	error = spawn(&pid, argv, ends);
	close(ends[1]);
	if (error) {
		close(ends[0]);
		snprintf(why, why_size, "cannot start %s: %s%s", argv[0], strerror(error),
			 error == ENOENT ? ": apt install " : "");
		if (error == ENOENT)
			strncat(why, strcmp(argv[0], "tc") ? argv[0] : "iproute2",
				why_size - strlen(why) - 1);
		return false;
	}
	while (held + 1 < size && (n = read(ends[0], text + held, size - 1 - held)) > 0)
		held += (size_t)n;
	text[held] = '\0';
	close(ends[0]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return true;
	first_line(why, why_size, argv[0], text);
	return false;
}
