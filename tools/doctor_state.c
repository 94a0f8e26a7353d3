/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#define JSMN_STATIC
#define JSMN_STRICT
#define JSMN_PARENT_LINKS
#include <jsmn.h>
#include "doctor_state.h"

enum {
	FORMAT = 1,
	BYTES = 1 << 20, /* 512 entries with values of usual length have 128 KiB */
	TOKENS = STATE_ENTRIES * 16 + 8,
};

__attribute__((format(printf, 3, 4))) static int refuse(const struct state *s, int error,
							const char *text, ...)
{
	va_list args;

	fprintf(stderr, "saker-doctor: %s: ", s->path);
	va_start(args, text);
	vfprintf(stderr, text, args);
	va_end(args);
	fputc('\n', stderr);
	return error;
}

/* --- entries -------------------------------------------------------------------------- */

struct entry *state_find(struct state *s, const char *name, const char *of)
{
	for (unsigned i = 0; i < s->count; i++)
		if (!strcmp(s->entry[i].name, name) && !strcmp(s->entry[i].of, of))
			return &s->entry[i];
	return NULL;
}

struct entry *state_add(struct state *s, const char *name, const char *of)
{
	struct entry *e = &s->entry[s->count];

	if (s->count == STATE_ENTRIES || strlen(name) >= sizeof e->name ||
	    strlen(of) >= sizeof e->of)
		return NULL;
	*e = (struct entry){ 0 };
	strcpy(e->name, name);
	strcpy(e->of, of);
	s->count++;
	return e;
}

/* The order stays: it is the order in which they were changed. */
void state_drop(struct state *s, struct entry *e)
{
	size_t behind = (size_t)(s->entry + s->count - e) - 1;

	memmove(e, e + 1, behind * sizeof *e);
	s->count--;
}

/* --- reading -------------------------------------------------------------------------- */

struct parse {
	const char *text;
	jsmntok_t *token;
	int count;
};

static bool is_key(const struct parse *p, int i, const char *word)
{
	const jsmntok_t *t = &p->token[i];
	size_t len = (size_t)(t->end - t->start);

	return t->type == JSMN_STRING && t->size == 1 && len == strlen(word) &&
	       !memcmp(p->text + t->start, word, len);
}

/* Four hexadecimal digits, of a character below 256: we write no others. */
static int escaped(const char *at)
{
	char digits[5] = "", *end;

	strncpy(digits, at, 4);
	long v = strtol(digits, &end, 16);
	return end == digits + 4 && v > 0 && v < 256 ? (int)v : -1;
}

static bool read_string(const struct parse *p, int i, char *to, size_t size)
{
	const char *at = p->text + p->token[i].start, *end = p->text + p->token[i].end;
	size_t n = 0;

	if (p->token[i].type != JSMN_STRING)
		return false;
	for (; at < end; at++) {
		int c = (unsigned char)*at;

		if (c == '\\' && *++at == 'u') {
			c = escaped(at + 1);
			at += 4;
		} else if (c == '\\') {
			c = *at == '"' || *at == '\\' || *at == '/' ? *at : -1;
		}
		if (c < 1 || n == size - 1)
			return false;
		to[n++] = (char)c;
	}
	to[n] = '\0';
	return true;
}

static bool is_null(const struct parse *p, int i)
{
	return p->token[i].type == JSMN_PRIMITIVE && p->text[p->token[i].start] == 'n';
}

/* The token behind a value and all that is in it. */
static int behind(const struct parse *p, int i)
{
	int end = p->token[i].end;

	do
		i++;
	while (i < p->count && p->token[i].start < end);
	return i;
}

static bool read_member(const struct parse *p, int key, struct entry *e)
{
	const struct {
		const char *name;
		char *to;
		size_t size;
	} texts[] = {
		{ "name", e->name, sizeof e->name }, { "of", e->of, sizeof e->of },
		{ "boot", e->boot, sizeof e->boot }, { "was", e->was, sizeof e->was },
		{ "set", e->set, sizeof e->set },    { "is", e->is, sizeof e->is },
	};

	if (is_key(p, key, "is")) {
		e->done = !is_null(p, key + 1);
		if (!e->done)
			return true;
	}
	for (size_t i = 0; i < array_size(texts); i++)
		if (is_key(p, key, texts[i].name))
			return read_string(p, key + 1, texts[i].to, texts[i].size);
	return true; /* of a later version */
}

/* An object of the list. */
static bool read_entry(struct state *s, const struct parse *p, int object)
{
	struct entry e = { 0 };
	int end = behind(p, object);

	if (p->token[object].type != JSMN_OBJECT || s->count == STATE_ENTRIES)
		return false;
	for (int i = object + 1; i < end; i = behind(p, i + 1))
		if (p->token[i].size != 1 || !read_member(p, i, &e))
			return false;
	if (!*e.name || !*e.set)
		return false;
	s->entry[s->count++] = e;
	return true;
}

static bool read_list(struct state *s, const struct parse *p, int list)
{
	int end = behind(p, list);

	if (p->token[list].type != JSMN_ARRAY)
		return false;
	for (int i = list + 1; i < end; i = behind(p, i))
		if (!read_entry(s, p, i))
			return false;
	return true;
}

/* 0: it is none of ours. */
static long read_format(const struct parse *p, int i)
{
	return p->token[i].type == JSMN_PRIMITIVE ? atol(p->text + p->token[i].start) : 0;
}

static int read_all(struct state *s, const struct parse *p)
{
	long format = 0;
	bool good = p->count > 0 && p->token[0].type == JSMN_OBJECT, list = false;

	for (int i = 1; good && i < p->count; i = behind(p, i + 1)) {
		good = p->token[i].size == 1;
		if (is_key(p, i, "saker_doctor"))
			format = read_format(p, i + 1);
		else if (is_key(p, i, "settings"))
			good = list = read_list(s, p, i + 1);
	}
	if (format > FORMAT)
		return refuse(s, -EPROTO, "written by a later saker-doctor (format %ld): use that",
			      format);
	if (!good || !list || format != FORMAT)
		return refuse(s, -EPROTO,
			      "not a whole file of saker-doctor's: move it away if what "
			      "it remembers is not wanted any more");
	return 0;
}

static int parse(struct state *s, const char *text, size_t len)
{
	static jsmntok_t tokens[TOKENS];
	jsmn_parser parser;

	jsmn_init(&parser);
	int got = jsmn_parse(&parser, text, len, tokens, TOKENS);
	return read_all(s, &(struct parse){ text, tokens, got });
}

/* Who may write it may have us write anything, as root. */
static int check_owner(const struct state *s, int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return refuse(s, -errno, "%s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return refuse(s, -EINVAL, "not a file");
	if ((st.st_uid && st.st_uid != geteuid()) || st.st_mode & (S_IWGRP | S_IWOTH))
		return refuse(s, -EPERM,
			      "somebody else may write it: chown root, chmod 644, after "
			      "a look at it");
	return 0;
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int load(struct state *s)
{
	static char text[BYTES + 1];
	int fd = openat(s->dir, base_of(s->path), O_RDONLY | O_CLOEXEC | O_NONBLOCK), error;
	size_t held = 0;
	ssize_t n = 0;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return refuse(s, -errno, "%s", strerror(errno));
	error = check_owner(s, fd);
	while (!error && held < BYTES && (n = read(fd, text + held, BYTES - held)) > 0)
		held += (size_t)n;
	if (!error && n < 0)
		error = refuse(s, -errno, "%s", strerror(errno));
	close(fd);
	if (!error && held == BYTES)
		error = refuse(s, -EFBIG, "more than a MiB: not a file of saker-doctor's");
	text[held] = '\0'; /* for atol and strncpy at its end */
	return error ? error : parse(s, text, held);
}

/* --- writing -------------------------------------------------------------------------- */

static void write_string(FILE *file, const char *text)
{
	fputc('"', file);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < 0x20 || c > 0x7e || c == '"' || c == '\\')
			fprintf(file, "\\u%04x", c);
		else
			fputc(c, file);
	}
	fputc('"', file);
}

static void write_entry(FILE *file, const struct entry *e)
{
	const char *const member[][2] = { { "\t\t{ \"name\": ", e->name },
					  { ", \"of\": ", e->of },
					  { ", \"boot\": ", e->boot },
					  { ", \"was\": ", e->was },
					  { ", \"set\": ", e->set } };

	for (size_t i = 0; i < array_size(member); i++) {
		fputs(member[i][0], file);
		write_string(file, member[i][1]);
	}
	fputs(", \"is\": ", file);
	if (e->done)
		write_string(file, e->is);
	else
		fputs("null", file);
	fputs(" }", file);
}

static int write_new(const struct state *s, const char *name)
{
	int fd, error;
	FILE *file;

	unlinkat(s->dir, name, 0);
	fd = openat(s->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	file = fd < 0 ? NULL : fdopen(fd, "w");
	if (!file)
		return -errno;
	fprintf(file, "{\n\t\"saker_doctor\": %d,\n\t\"settings\": [\n", FORMAT);
	for (unsigned i = 0; i < s->count; i++) {
		write_entry(file, &s->entry[i]);
		fputs(i + 1 < s->count ? ",\n" : "\n", file);
	}
	fputs("\t]\n}\n", file);
	error = fflush(file) || fsync(fd) ? -errno : 0;
	return fclose(file) && !error ? -errno : error;
}

int state_save(const struct state *s)
{
	const char *name = base_of(s->path);
	char new[STATE_PATH + 8];
	int error = 0;

	if (s->dir < 0)
		return 0; /* nothing was, nothing is */
	snprintf(new, sizeof new, "%s.new", name);
	if (s->count)
		error = write_new(s, new);
	if (!error && s->count && renameat(s->dir, new, s->dir, name))
		error = -errno;
	if (!error && !s->count && unlinkat(s->dir, name, 0) && errno != ENOENT)
		error = -errno;
	if (!error && fsync(s->dir))
		error = -errno;
	if (!error)
		return 0;
	unlinkat(s->dir, new, 0);
	return refuse(s, error, "cannot be written: %s: --state=FILE puts it elsewhere",
		      strerror(-error));
}

/* --- the directory -------------------------------------------------------------------- */

/* And those above it. */
static int make_all(char *dir)
{
	for (char *at = dir; *at; at++) {
		if (at == dir || *at != '/')
			continue;
		*at = '\0';
		int error = mkdir(dir, 0755) && errno != EEXIST ? -errno : 0;
		*at = '/';
		if (error)
			return error;
	}
	return mkdir(dir, 0755) && errno != EEXIST ? -errno : 0;
}

static int open_dir(struct state *s, bool make)
{
	char dir[STATE_PATH];
	size_t len = (size_t)(base_of(s->path) - s->path);
	int error = 0;

	snprintf(dir, sizeof dir, "%.*s", len ? (int)len : 1, len ? s->path : ".");
	if (len > 1)
		dir[len - 1] = '\0';
	if (make)
		error = make_all(dir);
	if (!error)
		s->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (!error && s->dir < 0)
		error = -errno;
	if (error == -ENOENT && !make)
		return 0;
	if (error)
		return refuse(s, error, "%s: %s%s", dir, strerror(-error),
			      error == -EACCES || error == -EPERM || error == -EROFS ?
				      ": needs root, or --state=FILE" :
				      "");
	if (flock(s->dir, LOCK_EX | LOCK_NB))
		return refuse(s, -errno,
			      "another saker-doctor is at it: try again when it is done");
	return 0;
}

int state_open(struct state *s, const char *path, bool make)
{
	int error;

	s->dir = -1;
	s->count = 0;
	if (snprintf(s->path, sizeof s->path, "%s", path) >= (int)sizeof s->path)
		return refuse(s, -ENAMETOOLONG, "%s", strerror(ENAMETOOLONG));
	if (!*base_of(path))
		return refuse(s, -EISDIR, "a directory, not a file");
	error = open_dir(s, make);
	if (!error && s->dir >= 0)
		error = load(s);
	if (error)
		state_close(s);
	return error;
}

void state_close(struct state *s)
{
	if (s->dir >= 0)
		close(s->dir);
	s->dir = -1;
}
