/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "probe.h"

/* --- sources ------------------------------------------------------------------------ */

static struct source *add(struct probe *p)
{
	must(p->sources < PROBE_SOURCES);
	struct source *s = &p->source[p->sources++];

	*s = (struct source){ .first = p->columns };
	return s;
}

struct source *probe_source(struct probe *p, void (*read)(void *, double *), void *state,
			    const char *name, ...)
{
	struct source *s = add(p);
	va_list args;

	s->read = read;
	s->state = state;
	va_start(args, name);
	vsnprintf(s->name, sizeof s->name, name, args);
	va_end(args);
	return s;
}

void probe_column(struct probe *p, unsigned decimals, const char *name, ...)
{
	struct column *c = &p->column[p->columns];
	va_list args;

	must(p->columns < PROBE_COLUMNS && p->sources);
	p->columns++;
	p->source[p->sources - 1].count++;
	c->decimals = (uint8_t)decimals;
	va_start(args, name);
	vsnprintf(c->name, sizeof c->name, name, args);
	va_end(args);
}

void probe_absent(struct probe *p, const char *name, const char *cure, const char *why, ...)
{
	struct source *s = add(p);
	va_list args;

	snprintf(s->name, sizeof s->name, "%s", name);
	s->absent = true;
	s->cure = cure;
	va_start(args, why);
	vsnprintf(s->why, sizeof s->why, why, args);
	va_end(args);
}

void probe_remark(struct source *s, const char *text, ...)
{
	va_list args;

	va_start(args, text);
	vsnprintf(s->why, sizeof s->why, text, args);
	va_end(args);
}

/* All that was taken, so that what leaks can be told from it. */
static struct memory {
	struct memory *next;
	double bytes[] __attribute__((aligned(16)));
} * taken;

void *probe_memory(size_t size)
{
	struct memory *m = calloc(1, sizeof *m + size);

	if (!m) {
		fputs("saker-probe: no memory\n", stderr);
		exit(1);
	}
	m->next = taken;
	taken = m;
	return m->bytes;
}

/* --- files --------------------------------------------------------------------------- */

int probe_open(const struct probe *p, const char *path, ...)
{
	char whole[512];
	va_list args;
	int used = snprintf(whole, sizeof whole, "%s/", p->root), more;

	va_start(args, path);
	more = vsnprintf(whole + used, sizeof whole - (size_t)used, path, args);
	va_end(args);
	if ((size_t)(used + more) < sizeof whole)
		return open(whole, O_RDONLY | O_CLOEXEC);
	errno = ENAMETOOLONG;
	return -1;
}

bool probe_find(const struct probe *p, char *found, size_t size, const char *pattern, ...)
{
	char whole[512];
	va_list args;
	glob_t g = { 0 };
	int used = snprintf(whole, sizeof whole, "%s/", p->root);

	va_start(args, pattern);
	vsnprintf(whole + used, sizeof whole - (size_t)used, pattern, args);
	va_end(args);
	bool any = !glob(whole, 0, NULL, &g) && g.gl_pathc;
	if (any)
		snprintf(found, size, "%s", g.gl_pathv[0] + used);
	globfree(&g);
	return any;
}

const char *text_read(struct text *t)
{
	size_t held = 0;

	if (t->fd < 0)
		return NULL;
	for (;;) {
		if (held + 1 >= t->size) {
			t->size = t->size ? 2 * t->size : 4096;
			t->buf = realloc(t->buf, t->size);
			if (!t->buf) {
				fputs("saker-probe: no memory\n", stderr);
				exit(1);
			}
		}
		ssize_t n = pread(t->fd, t->buf + held, t->size - 1 - held, (off_t)held);
		if (n < 0)
			return NULL;
		if (!n)
			break;
		held += (size_t)n;
	}
	t->buf[held] = '\0';
	return held ? t->buf : NULL;
}

double number_read(int fd)
{
	char text[64], *end;
	ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof text - 1, 0);

	if (n <= 0)
		return NAN;
	text[n] = '\0';
	double value = strtod(text, &end);
	return end == text ? NAN : value;
}

void probe_line(const struct probe *p, char *line, size_t size, const char *path, ...)
{
	char name[256];
	va_list args;

	va_start(args, path);
	vsnprintf(name, sizeof name, path, args);
	va_end(args);
	int fd = probe_open(p, "%s", name);
	ssize_t n = fd < 0 ? -1 : read(fd, line, size - 1);
	line[n > 0 ? n : 0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (fd >= 0)
		close(fd);
}
