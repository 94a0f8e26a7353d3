/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a service manager hears: a real datagram socket, with a path and with an
 * abstract name, in the manager's place.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "notify.h"
#include "tap.h"

static int manager = -1;
static char path[64], abstract[64];

/* Listens, and sets the variables as a manager does. */
static void manage(const char *name, const char *usec, const char *pid)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	size_t len = strlen(name);

	if (manager >= 0)
		close(manager);
	manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	memcpy(at.sun_path, name, len);
	if (*name == '@')
		at.sun_path[0] = '\0';
	if (bind(manager, (struct sockaddr *)&at,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len))) {
		printf("Bail out! %s: %s\n", name, strerror(errno));
		exit(1);
	}
	setenv("NOTIFY_SOCKET", name, 1);
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	if (usec)
		setenv("WATCHDOG_USEC", usec, 1);
	if (pid)
		setenv("WATCHDOG_PID", pid, 1);
}

/* The next message, "" if there is none. */
static const char *heard(void)
{
	static char text[1024];
	ssize_t n = recv(manager, text, sizeof text - 1, 0);

	text[n < 0 ? 0 : n] = '\0';
	return text;
}

/* What is said on stderr meanwhile. */
static int kept_stderr, said[2];

static void listen_stderr(void)
{
	fflush(stderr);
	kept_stderr = dup(STDERR_FILENO);
	if (pipe2(said, O_NONBLOCK) || dup2(said[1], STDERR_FILENO) < 0)
		abort();
}

static const char *end_stderr(void)
{
	static char text[1024];
	ssize_t n = read(said[0], text, sizeof text - 1);

	dup2(kept_stderr, STDERR_FILENO);
	close(kept_stderr);
	close(said[0]);
	close(said[1]);
	text[n < 0 ? 0 : n] = '\0';
	return text;
}

static void test_words(const char *name)
{
	struct notify n;

	manage(name, NULL, NULL);
	notify_open(&n);
	is_str(heard(), "", "%c: nothing is said at first", *name);
	notify_ready(&n, "eth0 port 8080");
	is_str(heard(), "READY=1\nSTATUS=eth0 port 8080", "%c: ready", *name);
	notify_status(&n, "the socket rung serves\nREADY=1");
	is_str(heard(), "STATUS=the socket rung serves", "%c: a status is one line", *name);
	notify_stopping(&n, "draining");
	is_str(heard(), "STOPPING=1\nSTATUS=draining", "%c: stopping", *name);
	notify_beat(&n, 1000 * (uint64_t)NS_PER_S);
	is_str(heard(), "", "%c: no watchdog, no beat", *name);
	notify_close(&n);
	notify_ready(&n, "late");
	is_str(heard(), "", "%c: closed", *name);
}

static void test_beats(void)
{
	struct notify n;
	uint64_t now_ns = 5000 * (uint64_t)NS_PER_S;
	char pid[16];

	snprintf(pid, sizeof pid, "%d", (int)getpid());
	manage(abstract, "3000000", pid);
	notify_open(&n);
	is(n.interval_ns, NS_PER_S, "a beat each third of the watchdog's time");
	notify_beat(&n, now_ns);
	is_str(heard(), "WATCHDOG=1", "the first beat at once");
	notify_beat(&n, now_ns + NS_PER_S - 1);
	is_str(heard(), "", "the next not before its time");
	notify_beat(&n, now_ns + NS_PER_S);
	is_str(heard(), "WATCHDOG=1", "but then");
	notify_close(&n);
}

static void test_intervals(void)
{
	static const struct {
		const char *usec, *pid;
		bool complains;
	} none[] = {
		{ NULL, NULL, false },
		{ "3000000", "1", false },
		{ "0", NULL, true },
		{ "-1", NULL, true },
		{ "1s", NULL, true },
		{ "", NULL, true },
		{ " 3000000", NULL, true },
		{ "99999999999999999999", NULL, true },
		{ "18446744073709551615", NULL, true },
	};
	struct notify n;

	for (unsigned i = 0; i < array_size(none); i++) {
		manage(abstract, none[i].usec, none[i].pid);
		listen_stderr();
		notify_open(&n);
		notify_close(&n);
		const char *text = end_stderr();

		is(n.interval_ns, 0, "no watchdog: %s", none[i].usec ? none[i].usec : "(unset)");
		is(!!strstr(text, "is no time"), none[i].complains, "said: %s", text);
	}
}

static void test_unheard(void)
{
	char long_name[200];
	struct notify n;

	unsetenv("WATCHDOG_USEC");
	unsetenv("NOTIFY_SOCKET");
	listen_stderr();
	notify_open(&n);
	notify_ready(&n, "nobody");
	setenv("NOTIFY_SOCKET", "", 1);
	notify_open(&n);
	is_str(end_stderr(), "", "no manager: nothing is said");
	ok(n.fd < 0, "and nothing is opened");

	memset(long_name, 'x', sizeof long_name - 1);
	long_name[0] = '/';
	long_name[sizeof long_name - 1] = '\0';
	setenv("NOTIFY_SOCKET", long_name, 1);
	listen_stderr();
	notify_open(&n);
	ok(strstr(end_stderr(), "neither a path nor @NAME") && n.fd < 0, "a name too long");
	setenv("NOTIFY_SOCKET", "vsock:2:1", 1);
	listen_stderr();
	notify_open(&n);
	ok(strstr(end_stderr(), "neither a path nor @NAME") && n.fd < 0, "another kind of name");

	setenv("NOTIFY_SOCKET", "/nowhere/notify", 1);
	listen_stderr();
	notify_open(&n);
	notify_ready(&n, "x");
	notify_status(&n, "y");
	is_str(end_stderr(),
	       "saker: NOTIFY_SOCKET=/nowhere/notify: No such file or directory: "
	       "the service manager is not told\n",
	       "a socket that is not there: said once");
	notify_close(&n);
}

/* A manager that does not read, and then one that came back under the same name. */
static void test_deaf(void)
{
	struct notify n;
	unsigned sent = 0;

	manage(path, NULL, NULL);
	notify_open(&n);
	listen_stderr();
	for (; sent < 10000 && !n.told; sent++)
		notify_status(&n, "again");
	ok(strstr(end_stderr(), "Resource temporarily unavailable"), "it is not waited for");
	unlink(path);
	manage(path, NULL, NULL);
	notify_status(&n, "back");
	is_str(heard(), "STATUS=back", "a new socket of the same name is told");
	notify_close(&n);
}

int main(void)
{
	char dir[] = "/tmp/saker-notify-XXXXXX";

	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof path, "%s/notify", dir);
	snprintf(abstract, sizeof abstract, "@saker-notify-%d", (int)getpid());
	test_words(abstract);
	test_words(path);
	unlink(path);
	test_beats();
	test_intervals();
	test_unheard();
	test_deaf();
	unlink(path);
	rmdir(dir);
	return done();
}
