// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "first.h"

/* Long enough for a container's runtime to take it down under eight hogs. */
enum { END_NS = 10 * 1000000000ull, AFTER_MOST = 1 << 20, PROCESSES = 1024 };

/* --- starting ---------------------------------------------------------------------------- */

/* A copy of the word with the server's number for each %n. */
static char *word_of(const char *word, unsigned i)
{
	char *out = malloc(strlen(word) * 2 + 8), *p = out;

	if (!out)
		exit(measure_trouble("no memory"));
	for (; *word; word++)
		if (word[0] == '%' && word[1] == 'n')
			p += sprintf(p, "%u", i), word++;
		else
			*p++ = *word;
	*p = '\0';
	return out;
}

static int address_of(struct first *f, unsigned i)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV },
			*found;
	struct server *s = f->servers + i;
	char *address = word_of(f->words[0], i), *port = word_of(f->words[1], i);
	int error = getaddrinfo(address, port, &hints, &found);

	snprintf(s->address, sizeof s->address, "%s", address);
	snprintf(s->port, sizeof s->port, "%s", port);
	free(address);
	free(port);
	s->fd = -1;
	if (error)
		return measure_trouble("%s port %s: %s: wanted a numeric address and port",
				       s->address, s->port, gai_strerror(error));
	memcpy(&s->to, found->ai_addr, found->ai_addrlen);
	s->to_len = found->ai_addrlen;
	freeaddrinfo(found);
	return 0;
}

int servers_prepare(struct first *f)
{
	for (unsigned i = 0; i < f->count; i++)
		if (address_of(f, i))
			return MEASURE_USAGE;
	f->home_fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (pipe2(f->pipe, O_CLOEXEC | O_NONBLOCK))
		return measure_trouble("pipe: %s", strerror(errno));
	if (!f->log)
		return 0;
	f->log_fd = open(f->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (f->log_fd < 0)
		return measure_trouble("--log=%s: %s: name a file that can be written", f->log,
				       strerror(errno));
	return 0;
}

/* In the child. Its own process group, so that all of it can be killed; and it ends with us. */
static _Noreturn void become(const struct first *f, char **command)
{
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	measure_pin("--server-cpu", f->server_cpu);
	int null = open("/dev/null", O_RDWR);
	fcntl(f->pipe[1], F_SETFL, 0); /* servers do not expect a stderr that says EAGAIN */
	dup2(null, 0);
	dup2(f->pipe[1], 1);
	dup2(f->pipe[1], 2);
	execvp(command[0], command);
	dprintf(2, "%s: %s\n", command[0], strerror(errno));
	_exit(127);
}

static void command_of(const struct first *f, unsigned i, char **command)
{
	unsigned n = 0;

	for (; n + 2 < f->n_words; n++)
		command[n] = word_of(f->words[n + 2], i);
	command[n] = NULL;
}

/* Not in the time that is measured: the words are there before the first fork. */
int servers_start(struct first *f)
{
	static char *commands[FIRST_SERVERS][FIRST_WORDS];
	int error = 0;

	for (unsigned i = 0; i < f->count; i++)
		command_of(f, i, commands[i]);
	for (unsigned i = 0; i < f->count && !error; i++) {
		struct server *s = f->servers + i;
		s->started_ns = measure_now_ns();
		s->pid = fork();
		if (!s->pid)
			become(f, commands[i]);
		if (s->pid < 0)
			error = measure_trouble("fork: %s", strerror(errno));
	}
	for (unsigned i = 0; i < f->count; i++)
		for (char **word = commands[i]; *word; word++)
			free(*word);
	return error;
}

/* --- hearing ------------------------------------------------------------------------------ */

static void look_for_ready(struct first *f, uint64_t now_ns)
{
	char *line = strstr(f->said, "saker: ready");

	if (!line || !strchr(line, '\n'))
		return;
	f->ready_ns = now_ns;
	*strchr(line, '\n') = '\0';
	memmove(f->said, line, strlen(line) + 1);
	f->said_len = strlen(f->said);
}

void servers_hear(struct first *f, int wait_ms)
{
	struct pollfd p = { .fd = f->pipe[0], .events = POLLIN };
	char text[4096];
	ssize_t got;

	if (wait_ms)
		poll(&p, 1, wait_ms);
	while ((got = read(f->pipe[0], text, sizeof text)) > 0) {
		uint64_t now_ns = measure_now_ns();
		if (f->log_fd >= 0 && write(f->log_fd, text, (size_t)got) != got)
			measure_trouble("--log=%s: %s", f->log, strerror(errno));
		if (f->ready_ns)
			continue;
		if (f->said_len + (size_t)got >= sizeof f->said)
			f->said_len = 0;
		memcpy(f->said + f->said_len, text, (size_t)got);
		f->said_len += (size_t)got;
		f->said[f->said_len] = '\0';
		look_for_ready(f, now_ns);
	}
}

bool servers_hopeless(struct first *f)
{
	for (unsigned i = 0; i < f->count; i++)
		if (f->servers[i].pid > 0 && waitpid(f->servers[i].pid, NULL, WNOHANG) > 0) {
			f->servers[i].pid = 0;
			f->ended = true;
		}
	if (f->ended)
		servers_hear(f, 0);
	return f->ended || measure_now_ns() - f->servers[0].started_ns > f->timeout_ns;
}

/* --- what it cost ---------------------------------------------------------------------------- */

struct process {
	pid_t pid, parent;
	uint64_t majflt, minflt;
};

/* /proc/PID/stat; what is behind the name, which may hold blanks and brackets. */
static bool process_read(struct process *p, const char *number)
{
	char path[300], line[1024] = "";
	unsigned long long minflt, majflt;

	snprintf(path, sizeof path, "/proc/%s/stat", number);
	FILE *file = fopen(path, "re");
	if (!file)
		return false;
	const char *rest = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
	fclose(file);
	if (!rest || sscanf(rest, ") %*c %d %*d %*d %*d %*d %*u %llu %*u %llu", &p->parent, &minflt,
			    &majflt) != 3)
		return false;
	p->pid = atoi(number);
	p->minflt = minflt;
	p->majflt = majflt;
	return true;
}

static uint64_t read_bytes(pid_t pid)
{
	char path[64], line[128];
	unsigned long long bytes = 0;

	snprintf(path, sizeof path, "/proc/%d/io", pid);
	FILE *file = fopen(path, "re");
	while (file && fgets(line, sizeof line, file))
		if (sscanf(line, "read_bytes: %llu", &bytes) == 1)
			break;
	if (file)
		fclose(file);
	return bytes;
}

static bool ours(const struct first *f, const struct process *all, unsigned count, pid_t pid)
{
	for (unsigned i = 0; i < f->count; i++)
		if (f->servers[i].pid == pid)
			return true;
	for (unsigned i = 0; i < count; i++)
		if (all[i].pid == pid)
			return all[i].parent > 1 && ours(f, all, count, all[i].parent);
	return false;
}

void cost_of(struct first *f)
{
	static struct process all[PROCESSES];
	unsigned count = 0;
	DIR *proc = opendir("/proc");
	const struct dirent *entry;

	while (proc && count < PROCESSES && (entry = readdir(proc)))
		if (*entry->d_name >= '1' && *entry->d_name <= '9' &&
		    process_read(all + count, entry->d_name))
			count++;
	if (proc)
		closedir(proc);
	for (unsigned i = 0; i < count; i++) {
		if (!ours(f, all, count, all[i].pid))
			continue;
		f->cost.majflt += all[i].majflt;
		f->cost.minflt += all[i].minflt;
		f->cost.read_bytes += read_bytes(all[i].pid);
	}
}

/* --- while they serve, and the end ------------------------------------------------------ */

int run_after(struct first *f)
{
	static char text[AFTER_MOST];
	FILE *output = popen(f->after, "re");
	size_t length = 0;

	if (!output)
		return measure_trouble("--after: %s", strerror(errno));
	f->after_text = text;
	length = fread(text, 1, sizeof text - 1, output);
	while (length && strchr(" \n", text[length - 1]))
		text[--length] = '\0';
	if (pclose(output) || !length)
		return measure_trouble("--after='%s' failed or printed nothing: try it by hand "
				       "while the server runs",
				       f->after);
	return 0;
}

void servers_end(struct first *f)
{
	uint64_t until_ns = measure_now_ns() + END_NS;

	for (unsigned i = 0; i < f->count; i++)
		if (f->servers[i].pid > 0)
			kill(f->servers[i].pid, SIGTERM);
	for (unsigned i = 0; i < f->count; i++) {
		pid_t pid = f->servers[i].pid;
		while (pid > 0 && !waitpid(pid, NULL, WNOHANG)) {
			if (measure_now_ns() > until_ns)
				kill(-pid, SIGKILL);
			servers_hear(f, 1);
		}
	}
}
