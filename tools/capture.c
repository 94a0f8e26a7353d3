/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "capture.h"
#include "stat_text.h"

_Static_assert((int)PCAPNG_FRAME >= (int)TRACE_FRAME_MAX, "every frame fits a block");

enum { LAST_RESERVE = 128 }; /* bytes for the block at the end */

struct held {
	uint64_t order;         /* in which it was taken */
	struct trace_copy copy; /* as much of it as there is */
};

/* --- the file --------------------------------------------------------------------- */

bool capture_refuse(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fputs("saker-stat: trace: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	return false;
}

void capture_ends(struct capture *c, enum ending end)
{
	if (c->end == END_NOT || end == END_TROUBLE)
		c->end = end;
}

const char *capture_ending(const struct capture *c)
{
	static const char *const text[] = {
#define X(name, text) text,
		ENDING_LIST(X)
#undef X
	};
	return text[c->end];
}

static void write_failed(struct capture *c)
{
	if (errno == EPIPE) {
		c->end = END_PIPE;
	} else {
		capture_refuse("%s: %s", c->path, strerror(errno));
		c->end = END_TROUBLE;
	}
}

static bool can_write(const struct capture *c)
{
	return c->end != END_PIPE && c->end != END_TROUBLE;
}

static bool takes_frames(const struct capture *c)
{
	return can_write(c) && c->end != END_COUNT && c->end != END_SIZE;
}

static void write_block(struct capture *c, size_t n)
{
	if (!can_write(c))
		return;
	if (fwrite(c->block, 1, n, c->file) != n)
		write_failed(c);
	c->bytes += n;
}

static void flush(struct capture *c)
{
	if (can_write(c) && fflush(c->file))
		write_failed(c);
}

/* Requests are in it, which are not for everybody. */
bool capture_open(struct capture *c)
{
	bool piped = !strcmp(c->path, "-");
	int fd = piped ? STDOUT_FILENO :
			 open(c->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return capture_refuse("%s: %s", c->path, strerror(errno));
	if (isatty(fd))
		return capture_refuse("a terminal cannot show pcapng: -w FILE, or `| tshark -r -`");
	c->file = fdopen(fd, "w");
	return c->file || capture_refuse("%s: %s", c->path, strerror(errno));
}

void capture_begin(struct capture *c, const char *interface, const char *filter, uint32_t snap,
		   uint64_t now_ns, uint64_t wall_now_ns)
{
	c->start_ns = now_ns;
	c->wall_ns = wall_now_ns - now_ns;
	write_block(c, pcapng_section(c->block, "saker-stat " VERSION));
	write_block(c, pcapng_interface(c->block, interface,
					"TCP that saker(8) answers past the kernel", filter, snap));
	flush(c);
}

/* "steer 1.20 us, parse 812 ns, ...": those that are known. */
static const char *comment(char *text, size_t size, const struct trace_copy *c)
{
	const struct trace_times *s = &c->times;
	const struct {
		const char *name;
		uint64_t ns;
	} stage[] = { { "steer", s->steer_ns }, { "parse", s->parse_ns },
		      { "wait", s->wait_ns },   { "compute", s->compute_ns },
		      { "reply", s->reply_ns }, { "total", s->total_ns } };
	char one[STAT_TEXT];
	size_t n = 0;
	text[0] = '\0';
	if (c->record.flags & TRACE_STAMPED)
		snprintf(text, size, "steer %s", time_text(one, c->record.steer_ns));
	for (size_t i = 0; c->record.flags & TRACE_ANSWER && i < array_size(stage); i++)
		if (stage[i].ns != TRACE_UNKNOWN)
			n += (size_t)snprintf(text + n, size - n, "%s%s %s", n ? ", " : "",
					      stage[i].name, time_text(one, stage[i].ns));
	return text;
}

static void write_frame(struct capture *c, const struct trace_copy *copy)
{
	char text[PCAPNG_TEXT];
	struct pcapng_frame f = {
		.time_ns = copy->record.time_ns + c->wall_ns,
		.bytes = copy->frame,
		.captured = copy->record.captured,
		.original = copy->record.original,
		.sent = copy->record.flags & TRACE_SENT,
		.comment = comment(text, sizeof text, copy),
	};
	size_t n = pcapng_frame(c->block, &f);
	if (c->size && c->bytes + n + LAST_RESERVE > c->size) {
		capture_ends(c, END_SIZE);
		return;
	}
	write_block(c, n);
	c->frames++;
	if (c->frames == c->count)
		capture_ends(c, END_COUNT);
}

void capture_end(struct capture *c, uint64_t lost, uint64_t now_ns)
{
	struct pcapng_statistics s = {
		.start_ns = c->start_ns + c->wall_ns,
		.end_ns = now_ns + c->wall_ns,
		.received = c->frames + lost,
		.dropped = lost,
	};
	write_block(c, pcapng_statistics(c->block, &s));
	flush(c);
	if (fclose(c->file) && can_write(c))
		write_failed(c);
}

/* --- frames, in the order of time ----------------------------------------------------- */

bool capture_hold(struct capture *c, const struct trace_copy *copy)
{
	size_t size = offsetof(struct held, copy.frame) + copy->record.captured;
	struct held *one = malloc(size);
	if (c->held_count == c->held_room) {
		size_t room = c->held_room ? 2 * c->held_room : 1024;
		struct held **more = realloc(c->held, room * sizeof *more);
		c->held = more ? more : c->held;
		c->held_room = more ? room : c->held_room;
	}
	if (!one || c->held_count == c->held_room) {
		free(one);
		capture_ends(c, END_TROUBLE);
		return capture_refuse("no memory");
	}
	one->order = c->order++;
	memcpy(&one->copy, copy, size - offsetof(struct held, copy));
	c->held[c->held_count++] = one;
	return true;
}

static int earlier(const void *a, const void *b)
{
	const struct held *x = *(struct held *const *)a, *y = *(struct held *const *)b;
	uint64_t at = x->copy.record.time_ns, than = y->copy.record.time_ns;
	if (at == than) {
		at = x->order;
		than = y->order;
	}
	return at < than ? -1 : at > than;
}

void capture_release(struct capture *c, uint64_t until_ns)
{
	size_t n = 0;
	if (c->held_count)
		qsort(c->held, c->held_count, sizeof *c->held, earlier);
	for (; n < c->held_count && c->held[n]->copy.record.time_ns <= until_ns; n++) {
		if (takes_frames(c))
			write_frame(c, &c->held[n]->copy);
		free(c->held[n]);
	}
	c->held_count -= n;
	if (c->held_count)
		memmove(c->held, c->held + n, c->held_count * sizeof *c->held);
	if (n)
		flush(c);
}
