/* SPDX-License-Identifier: GPL-2.0-only */
/* The state file: whole, or refused and left as it is. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "doctor_state.h"
#include "tap.h"

static struct state s;
static char root[64] = "/tmp/test_doctor_state.XXXXXX", path[128];
static char text[65536];

static void write_file(const char *bytes, size_t len)
{
	FILE *file = fopen(path, "w");

	must(file && fwrite(bytes, 1, len, file) == len && !fclose(file));
}

static size_t read_file(void)
{
	FILE *file = fopen(path, "r");
	size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;

	text[n] = '\0';
	if (file)
		fclose(file);
	return n;
}

/* Complaints are expected: they are not shown. */
static int open_quiet(bool make)
{
	int saved = dup(2), null = open("/dev/null", O_WRONLY), error;

	dup2(null, 2);
	error = state_open(&s, path, make);
	dup2(saved, 2);
	close(saved);
	close(null);
	return error;
}

static struct entry *add(const char *name, const char *was, const char *set)
{
	struct entry *e = state_add(&s, name, "netns 1 ifindex 2");

	must(e != NULL);
	strcpy(e->boot, "a-b-c");
	strcpy(e->was, was);
	strcpy(e->set, set);
	return e;
}

static void nothing(void)
{
	snprintf(path, sizeof path, "%s/some/where/doctor.json", root);
	is(-open_quiet(false), 0, "no directory is an empty state");
	is(s.count, 0, "with nothing in it");
	is(-state_save(&s), 0, "which is saved by doing nothing");
	state_close(&s);
	ok(access(root, F_OK) == 0 && access(path, F_OK), "and makes nothing");
	is(-open_quiet(true), 0, "with make it is there");
	is(-state_save(&s), 0, "an empty state");
	ok(access(path, F_OK), "has no file");
	state_close(&s);
}

static void round_trip(void)
{
	static const char odd[] = "a \"quoted\" back\\slash\ttab \x01 \xc3\xa4 /";
	struct entry *e;

	is(-open_quiet(true), 0, "opened");
	e = add("/sys/one", odd, "1");
	strcpy(e->is, "");
	e->done = true;
	add("/sys/two", "", "null");
	e = add("ethtool -C eth0 rx-usecs", "50", "0");
	strcpy(e->is, "0");
	e->done = true;
	is(-state_save(&s), 0, "saved");
	state_close(&s);

	is(-open_quiet(false), 0, "opened again");
	is(s.count, 3, "three settings");
	e = state_find(&s, "/sys/one", "netns 1 ifindex 2");
	ok(e != NULL, "found by name and owner");
	is_str(e->was, odd, "any byte comes back");
	is_str(e->boot, "a-b-c", "the boot");
	ok(e->done && !*e->is, "an empty value is a value");
	e = state_find(&s, "/sys/two", "netns 1 ifindex 2");
	ok(e && !e->done, "null is none");
	ok(!*e->was, "an empty one");
	is_str(e->set, "null", "the word null is a value");
	ok(!state_find(&s, "/sys/two", "netns 1 ifindex 3"), "another's is not found");
	state_drop(&s, e);
	is_str(s.entry[1].name, "ethtool -C eth0 rx-usecs", "the order stays");
	is(-state_save(&s), 0, "saved with one less");
	state_close(&s);
	is(-open_quiet(false), 0, "opened again");
	is(s.count, 2, "and it is gone");
	state_close(&s);
}

static void beside(void)
{
	char new[160];

	snprintf(new, sizeof new, "%s.new", path);
	ok(access(new, F_OK), "nothing is left beside the file");
	must(!symlink("/etc/passwd", new));
	is(-open_quiet(true), 0, "with a link laid there");
	is(-state_save(&s), 0, "it is saved");
	state_close(&s);
	ok(access(new, F_OK), "the link is gone, and what it pointed to is not ours");
	is(-open_quiet(false), 0, "and the file is whole");
	state_close(&s);
}

static void others(void)
{
	struct state second;
	pid_t child;
	int status;

	is(-open_quiet(true), 0, "one has it");
	fflush(stdout);
	child = fork();
	if (!child) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, 2);
		_exit(state_open(&second, path, true) == -EWOULDBLOCK ? 0 : 1);
	}
	waitpid(child, &status, 0);
	is(status, 0, "another is told to wait");
	state_close(&s);
}

/* Refused, and as it was. */
static void refused(const char *bytes, size_t len, int error, const char *what)
{
	write_file(bytes, len);
	is(-open_quiet(true), error, "%s is refused", what);
	is(read_file(), len, "and left as it is");
	ok(!memcmp(text, bytes, len), "byte by byte");
}

static void refused_text(const char *bytes, const char *what)
{
	refused(bytes, strlen(bytes), EPROTO, what);
}

static void every_prefix(void)
{
	static char whole[4096];
	size_t len, most;
	unsigned wrong = 0;

	is(-open_quiet(true), 0, "a good file");
	state_close(&s);
	len = read_file();
	must(len && len < sizeof whole);
	memcpy(whole, text, len);
	most = len - 2; /* without its last line's end it is whole */
	for (size_t n = 0; n <= most; n++) {
		write_file(whole, n);
		wrong += open_quiet(false) != -EPROTO;
		state_close(&s);
	}
	is(wrong, 0, "cut at any of %zu places it is refused", most + 1);
	write_file(whole, len);
	is(-open_quiet(false), 0, "whole it is not");
	state_close(&s);
}

static void damaged(void)
{
	refused_text("[]", "a list");
	refused_text("{}", "an empty object");
	refused_text("{\"settings\":[]}", "a list without a format");
	refused_text("{\"saker_doctor\":1}", "a format without a list");
	refused_text("{\"saker_doctor\":\"1\",\"settings\":[]}", "a format that is no number");
	refused_text("{\"saker_doctor\":2,\"settings\":[]}", "a later format");
	refused_text("{\"saker_doctor\":1,\"settings\":{}}", "settings that are no list");
	refused_text("{\"saker_doctor\":1,\"settings\":[1]}", "a setting that is a number");
	refused_text("{\"saker_doctor\":1,\"settings\":[{}]}", "a setting without a name");
	refused_text("{\"saker_doctor\":1,\"settings\":[{\"name\":\"x\",\"set\":1}]}",
		     "a value that is a number");
	refused_text("{\"saker_doctor\":1,\"settings\":[{\"name\":\"x\",\"set\":\"\\u0000\"}]}",
		     "a NUL");
	refused_text("{\"saker_doctor\":1,\"settings\":[{\"name\":\"x\",\"set\":\"\\u12\"}]}",
		     "half a character");
	refused_text("{\"saker_doctor\":1,\"settings\":[{\"name\":\"x\",\"set\":\"\\u1234\"}]}",
		     "a character that we never write");
	refused("\0\0\0\0", 4, EPROTO, "a file of NULs, as after a power cut");
	static char big[(1 << 20) + 1];
	memset(big, ' ', sizeof big);
	write_file(big, sizeof big);
	is(-open_quiet(true), EFBIG, "a huge one is refused");

	const char later[] = "{\"saker_doctor\":1,\"more\":{\"a\":[1,2]},\"settings\":[{\"name\":"
			     "\"x\",\"set\":\"1\",\"note\":[{}],\"is\":null}]}";
	write_file(later, sizeof later - 1);
	is(-open_quiet(false), 0, "members that are not known are passed over");
	is(s.count, 1, "and the rest is read");
	state_close(&s);
}

static void not_ours(void)
{
	const char good[] = "{\"saker_doctor\":1,\"settings\":[]}";

	write_file(good, sizeof good - 1);
	chmod(path, 0666);
	is(-open_quiet(false), EPERM, "a file that all may write is refused");
	chmod(path, 0644);
	is(-open_quiet(false), 0, "one that they may not is not");
	state_close(&s);
	unlink(path);
	must(!mkdir(path, 0755));
	is(-open_quiet(false), EINVAL, "a directory is refused");
	rmdir(path);
}

static void full(void)
{
	char name[STATE_NAME + 1];

	is(-open_quiet(true), 0, "empty");
	for (unsigned i = 0; i < STATE_ENTRIES; i++) {
		snprintf(name, sizeof name, "/sys/%u", i);
		add(name, "0", "1");
	}
	ok(!state_add(&s, "/sys/x", ""), "one too many");
	is(-state_save(&s), 0, "as many as fit are saved");
	state_close(&s);
	is(-open_quiet(false), 0, "and read");
	is(s.count, STATE_ENTRIES, "all");
	s.count = 0;
	is(-state_save(&s), 0, "none is left");
	ok(access(path, F_OK), "nor the file");
	memset(name, 'x', sizeof name - 1);
	name[STATE_NAME] = '\0';
	ok(!state_add(&s, name, ""), "a name that does not fit");
	name[STATE_NAME - 1] = '\0';
	ok(state_add(&s, name, ""), "one that just does");
	state_close(&s);
}

int main(void)
{
	char command[96];

	must(mkdtemp(root) != NULL);
	nothing();
	round_trip();
	beside();
	others();
	every_prefix();
	damaged();
	not_ours();
	full();
	snprintf(command, sizeof command, "rm -rf %s", root);
	is((unsigned)system(command), 0, "cleared up");
	return done();
}
