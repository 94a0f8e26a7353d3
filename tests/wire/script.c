/* SPDX-License-Identifier: GPL-2.0-only */
#include <arpa/inet.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "script.h"
#include "wire.h"

/* The line being read. */
struct reader {
	struct script *s;
	const char *path;
	unsigned line;
	const char *at;
};

static const char *const counter_names[] = {
#define X(name, help) #name,
	STATS_LIST(X)
#undef X
};

const char *script_counter(enum stats_index counter)
{
	return counter_names[counter];
}

uint32_t script_find(const struct event *e, const uint8_t *at, uint32_t len)
{
	uint32_t from = 0;

	for (unsigned i = 0; i < e->patterns; i++) {
		const struct bytes *p = &e->pattern[i];
		const uint8_t *found = memmem(at + from, len - from, p->at, p->len);
		if (!found)
			return 0;
		from = (uint32_t)(found - at) + (uint32_t)p->len;
	}
	return from;
}

__attribute__((format(printf, 2, 3))) static bool wrong(struct reader *r, const char *format, ...)
{
	char text[120];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (!r->s->error[0])
		snprintf(r->s->error, sizeof r->s->error, "%s:%u: %s at '%.40s'", r->path, r->line,
			 text, r->at);
	return false;
}

static uint8_t *keep(struct reader *r, const void *bytes, size_t n)
{
	uint8_t *at = r->s->memory + r->s->used;

	if (n > sizeof r->s->memory - r->s->used) {
		wrong(r, "script is too long");
		return NULL;
	}
	if (bytes)
		memcpy(at, bytes, n);
	r->s->used += (unsigned)n;
	return at;
}

/* --- words and numbers --------------------------------------------------------- */

static void skip_space(struct reader *r)
{
	while (*r->at == ' ' || *r->at == '\t')
		r->at++;
}

static bool is_word_byte(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-';
}

/* Step over this word if it is next. */
static bool next_is(struct reader *r, const char *word)
{
	size_t n = strlen(word);

	skip_space(r);
	if (strncmp(r->at, word, n) || (is_word_byte(word[n - 1]) && is_word_byte(r->at[n])))
		return false;
	r->at += n;
	return true;
}

static bool take_word(struct reader *r, char *to, size_t room)
{
	size_t n = 0;

	skip_space(r);
	while (is_word_byte(r->at[n]) && n + 1 < room) {
		to[n] = r->at[n];
		n++;
	}
	to[n] = 0;
	r->at += n;
	return n || wrong(r, "word expected");
}

static bool take_u32(struct reader *r, uint32_t *v)
{
	char *end;

	skip_space(r);
	if (!isdigit((unsigned char)*r->at))
		return wrong(r, "number expected");
	*v = (uint32_t)strtoul(r->at, &end, 0);
	r->at = end;
	return true;
}

static bool take_number(struct reader *r, struct number *n)
{
	uint32_t v;

	*n = (struct number){ 0 };
	skip_space(r);
	if (*r->at == '*') {
		r->at++;
		n->any = true;
		return true;
	}
	if (*r->at != '$')
		return take_u32(r, &n->plus);
	for (size_t i = 0; isalnum((unsigned char)*++r->at) && i + 1 < sizeof n->name; i++)
		n->name[i] = *r->at;
	if (*r->at != '+' && *r->at != '-')
		return n->name[0] || wrong(r, "name expected");
	bool minus = *r->at++ == '-';
	if (!take_u32(r, &v))
		return false;
	n->plus = minus ? -v : v;
	return true;
}

/* Seconds, "0.010". */
static bool take_seconds(struct reader *r, uint64_t *ns)
{
	char *end;
	double seconds = strtod(r->at, &end);

	if (end == r->at || seconds < 0)
		return wrong(r, "seconds expected");
	r->at = end;
	*ns = (uint64_t)(seconds * 1e9 + 0.5);
	return true;
}

/* --- bytes ------------------------------------------------------------------------ */

static int escaped(struct reader *r)
{
	char hex[3] = { 0 };

	switch (*++r->at) {
	case 'r':
		return '\r';
	case 'n':
		return '\n';
	case 't':
		return '\t';
	case '0':
		return 0;
	case 'x':
		if (!isxdigit((unsigned char)r->at[1]) || !isxdigit((unsigned char)r->at[2]))
			return -1;
		memcpy(hex, r->at + 1, 2);
		r->at += 2;
		return (int)strtoul(hex, NULL, 16);
	default:
		return *r->at == '"' || *r->at == '\\' ? *r->at : -1;
	}
}

/* "text", or "text"*N for N copies */
static bool take_string(struct reader *r, struct bytes *b)
{
	uint32_t copies;

	if (!next_is(r, "\""))
		return wrong(r, "string expected");
	b->at = r->s->memory + r->s->used;
	b->len = 0;
	for (; *r->at != '"'; r->at++) {
		int c = *r->at == '\\' ? escaped(r) : (unsigned char)*r->at;
		uint8_t byte = (uint8_t)c;
		if (c < 0 || !*r->at)
			return wrong(r, "unfinished string or unknown escape");
		if (!keep(r, &byte, 1))
			return false;
		b->len++;
	}
	r->at++;
	if (*r->at != '*')
		return true;
	r->at++;
	if (!take_u32(r, &copies))
		return false;
	size_t one = b->len;
	for (uint32_t i = 1; i < copies; i++, b->len += one)
		if (!keep(r, b->at, one))
			return false;
	return true;
}

/* Strings that follow each other are one payload. */
static bool take_payload(struct reader *r, struct segment *g)
{
	struct bytes b;

	for (skip_space(r); *r->at == '"'; skip_space(r)) {
		if (!take_string(r, &b))
			return false;
		if (!g->has_data)
			g->data.at = b.at;
		g->has_data = true;
		g->data.len += b.len;
	}
	return true;
}

static bool take_hex(struct reader *r, struct bytes *b)
{
	b->at = r->s->memory + r->s->used;
	b->len = 0;
	for (skip_space(r); isxdigit((unsigned char)r->at[0]) && isxdigit((unsigned char)r->at[1]);
	     skip_space(r)) {
		char hex[3] = { r->at[0], r->at[1], 0 };
		uint8_t byte = (uint8_t)strtoul(hex, NULL, 16);
		if (!keep(r, &byte, 1))
			return false;
		r->at += 2;
		b->len++;
	}
	return true;
}

/* --- a segment ---------------------------------------------------------------------- */

static bool take_flags(struct reader *r, uint8_t *flags)
{
	static const char letter[] = "FSRP.UEC"; /* from bit 0 on, as in the header */

	*flags = 0;
	skip_space(r);
	if (*r->at == '-') {
		r->at++;
		return true;
	}
	const char *from = r->at, *bit;
	for (; *r->at && (bit = strchr(letter, *r->at)); r->at++)
		*flags |= (uint8_t)(1u << (bit - letter));
	return r->at != from || wrong(r, "flags expected");
}

/* 1:20(19) */
static bool take_range(struct reader *r, struct segment *g)
{
	return take_number(r, &g->seq) && (next_is(r, ":") || wrong(r, "':' expected")) &&
	       take_number(r, &g->end) && (next_is(r, "(") || wrong(r, "'(' expected")) &&
	       take_number(r, &g->len) && (next_is(r, ")") || wrong(r, "')' expected"));
}

static bool take_option(struct reader *r, struct option *o)
{
	*o = (struct option){ .count = 1 };
	if (next_is(r, "mss")) {
		o->kind = WIRE_OPT_MSS;
		return take_number(r, &o->value[0]);
	}
	if (next_is(r, "wscale")) {
		o->kind = WIRE_OPT_WSCALE;
		return take_number(r, &o->value[0]);
	}
	if (next_is(r, "TS")) {
		o->kind = WIRE_OPT_TS;
		o->count = 2;
		return (next_is(r, "val") || wrong(r, "'val' expected")) &&
		       take_number(r, &o->value[0]) &&
		       (next_is(r, "ecr") || wrong(r, "'ecr' expected")) &&
		       take_number(r, &o->value[1]);
	}
	o->count = 0;
	if (next_is(r, "sackOK"))
		o->kind = WIRE_OPT_SACK_OK;
	else if (next_is(r, "nop"))
		o->kind = WIRE_OPT_NOP;
	else if (next_is(r, "eol"))
		o->kind = WIRE_OPT_END;
	else if (next_is(r, "hex")) {
		o->kind = OPTION_RAW;
		return take_hex(r, &o->raw);
	} else if (next_is(r, "sack")) {
		o->kind = WIRE_OPT_SACK;
		do {
			if (!take_number(r, &o->value[o->count]) || !next_is(r, ":") ||
			    !take_number(r, &o->value[o->count + 1]))
				return wrong(r, "left:right expected");
			o->count += 2;
			skip_space(r);
		} while (*r->at != ',' && *r->at != '>' && o->count < array_size(o->value));
	} else
		return wrong(r, "unknown option");
	return true;
}

static bool take_options(struct reader *r, struct segment *g)
{
	if (!next_is(r, "<"))
		return true;
	if (next_is(r, "...")) {
		g->any_options = true;
		return next_is(r, ">") || wrong(r, "'>' expected");
	}
	do {
		if (g->options == SCRIPT_OPTIONS)
			return wrong(r, "too many options");
		if (!take_option(r, &g->option[g->options++]))
			return false;
	} while (next_is(r, ","));
	return next_is(r, ">") || wrong(r, "'>' expected");
}

static bool take_address(struct reader *r, struct damage *d)
{
	char word[48];
	size_t n = 0;

	skip_space(r);
	while ((isxdigit((unsigned char)r->at[n]) || r->at[n] == ':' || r->at[n] == '.') &&
	       n + 1 < sizeof word) {
		word[n] = r->at[n];
		n++;
	}
	word[n] = 0;
	r->at += n;
	return inet_pton(r->s->ip6 ? AF_INET6 : AF_INET, word, d->address) == 1 ||
	       wrong(r, "address expected");
}

/* "adopt mss 1460 wscale 7 sackOK", "adopt lost" ... */
static bool take_told(struct reader *r, struct told *told, bool *found)
{
	uint32_t v = 0;

	*found = true;
	if (next_is(r, "early"))
		return told->early = true;
	if (next_is(r, "ours"))
		return told->ours = true;
	*found = next_is(r, "adopt");
	if (!*found)
		return true;
	*told = (struct told){ .adopt = true, .scale = STEER_NO_SCALE };
	if (next_is(r, "lost"))
		return true;
	if (!next_is(r, "mss") || !take_u32(r, &v))
		return wrong(r, "mss N or lost expected");
	told->mss = (uint16_t)v;
	if (next_is(r, "wscale")) {
		if (!take_u32(r, &v))
			return false;
		told->scale = (uint8_t)v;
	}
	told->sack_ok = next_is(r, "sackOK");
	return true;
}

static bool take_damages(struct reader *r, struct segment *g)
{
	static const struct {
		const char *word;
		unsigned args;
	} known[] = {
#define X(name, args) { #name, args },
		DAMAGE_LIST(X)
#undef X
	};

	for (skip_space(r); isalpha((unsigned char)*r->at); skip_space(r)) {
		struct damage *d = &g->damage[g->damages];
		size_t i = 0;
		bool told;

		if (!take_told(r, &g->told, &told))
			return false;
		if (told)
			continue;
		while (i < array_size(known) && !next_is(r, known[i].word))
			i++;
		if (i == array_size(known) || g->damages == SCRIPT_DAMAGES)
			return wrong(r, "unknown word, or too many");
		g->damages++;
		d->kind = (enum damage_kind)i;
		if (known[i].args == 1 && !take_u32(r, &d->value))
			return false;
		/* "server" is all zero and filled in by the frame's maker */
		if (known[i].args == 2 && !next_is(r, "server") && !take_address(r, d))
			return false;
	}
	return true;
}

static bool take_segment(struct reader *r, struct segment *g)
{
	g->window.any = true;
	if (!take_flags(r, &g->flags) || !take_range(r, g))
		return false;
	if (next_is(r, "ack")) {
		g->has_ack = true;
		if (!take_number(r, &g->ack))
			return false;
	}
	if (next_is(r, "win") && !take_number(r, &g->window))
		return false;
	return take_options(r, g) && take_payload(r, g);
}

static bool take_patterns(struct reader *r, struct event *e)
{
	if (next_is(r, "!~") && !take_string(r, &e->lacks))
		return false;
	while (next_is(r, "~")) {
		if (e->patterns == SCRIPT_PATTERNS)
			return wrong(r, "too many patterns");
		if (!take_string(r, &e->pattern[e->patterns++]))
			return false;
	}
	return true;
}

/* --- lines ----------------------------------------------------------------------------- */

static bool take_counter(struct reader *r, struct event *e)
{
	unsigned i = 0;
	uint32_t delta;

	e->kind = EVENT_COUNT;
	e->only = next_is(r, "only");
	if (!take_word(r, e->name, sizeof e->name))
		return false;
	while (i < STATS_COUNT && strcmp(counter_names[i], e->name))
		i++;
	if (i == STATS_COUNT)
		return wrong(r, "no counter has the name %s", e->name);
	e->counter = (enum stats_index)i;
	if (!next_is(r, "+") || !take_u32(r, &delta))
		return wrong(r, "+N expected");
	e->delta = delta;
	return true;
}

static bool take_packet(struct reader *r, struct event *e)
{
	if (!next_is(r, "+"))
		return wrong(r, "+TIME expected");
	if (!take_seconds(r, &e->from_ns))
		return false;
	if (*r->at == '~') {
		r->at++;
		if (!take_seconds(r, &e->to_ns))
			return false;
	}
	if (next_is(r, "<")) {
		e->kind = EVENT_SEND;
		return take_segment(r, &e->seg) && take_damages(r, &e->seg);
	}
	if (!next_is(r, ">"))
		return wrong(r, "'<' or '>' expected");
	if (next_is(r, "(none)")) {
		e->kind = EVENT_SILENCE;
		return true;
	}
	if (next_is(r, "stream")) {
		e->kind = EVENT_STREAM;
		return take_patterns(r, e);
	}
	e->kind = EVENT_EXPECT;
	return take_segment(r, &e->seg) && take_damages(r, &e->seg) && take_patterns(r, e);
}

static bool take_event(struct reader *r)
{
	struct event *e = &r->s->event[r->s->events];
	uint32_t conn;

	if (r->s->events == SCRIPT_EVENTS)
		return wrong(r, "too many lines");
	*e = (struct event){ .line = r->line };
	e->text = (const char *)keep(r, r->at, strlen(r->at) + 1);
	if (!e->text)
		return false;
	if (next_is(r, "sim:"))
		e->on = ON_SIM;
	else if (next_is(r, "veth:"))
		e->on = ON_VETH;
	if (next_is(r, "@")) {
		if (!take_u32(r, &conn) || !conn || conn > SCRIPT_CONNS)
			return wrong(r, "@1 ... @%d expected", SCRIPT_CONNS);
		e->conn = conn - 1;
	}
	if (next_is(r, "counters"))
		e->kind = EVENT_COUNTERS;
	else if (next_is(r, "count")) {
		if (!take_counter(r, e))
			return false;
	} else if (next_is(r, "let")) {
		e->kind = EVENT_LET;
		if (!take_word(r, e->name, SCRIPT_NAME) || !take_number(r, &e->value))
			return false;
	} else if (next_is(r, "reopen")) {
		e->kind = EVENT_REOPEN;
		skip_space(r);
		bool minus = *r->at == '-';
		r->at += minus;
		if (!take_u32(r, &e->value.plus))
			return false;
		if (minus)
			e->value.plus = -e->value.plus;
	} else if (next_is(r, "handshake")) {
		e->kind = EVENT_HANDSHAKE;
		if (!take_u32(r, &e->value.plus))
			return false;
	} else if (!take_packet(r, e))
		return false;
	skip_space(r);
	if (*r->at)
		return wrong(r, "nothing more expected");
	r->s->events++;
	return true;
}

static bool take_path(struct reader *r)
{
	struct script *s = r->s;
	size_t n;

	skip_space(r);
	n = strlen(r->at);
	if (s->paths == STEER_PATHS_MAX || !n || n > STEER_PATH_LEN)
		return wrong(r, "path expected, or too many");
	s->path[s->paths++] = (const char *)keep(r, r->at, n + 1);
	r->at += n;
	return true;
}

static bool take_line(struct reader *r)
{
	uint32_t v;

	skip_space(r);
	if (!*r->at)
		return true;
	if (*r->at == '#' || !strncmp(r->at, "//", 2)) {
		r->at += *r->at == '#' ? 1 : 2;
		skip_space(r);
		if (!r->s->title[0] && strncmp(r->at, "SPDX", 4))
			snprintf(r->s->title, sizeof r->s->title, "%s", r->at);
		return true;
	}
	if (next_is(r, "sim-only")) {
		skip_space(r);
		snprintf(r->s->sim_only, sizeof r->s->sim_only, "%s", r->at);
		return *r->at || wrong(r, "reason expected");
	}
	if (next_is(r, "path"))
		return take_path(r);
	if (next_is(r, "path-keepalive"))
		return r->s->path_keepalive = true;
	if (next_is(r, "kernel-scale"))
		return take_u32(r, &r->s->kernel_scale);
	if (next_is(r, "ip6"))
		return r->s->ip6 = true;
	if (next_is(r, "isn"))
		return take_u32(r, &r->s->isn);
	if (next_is(r, "max-conns")) {
		if (!take_u32(r, &v))
			return false;
		r->s->max_conns = v;
		return true;
	}
	return take_event(r);
}

bool script_read(struct script *s, const char *path)
{
	struct reader r = { s, path, 0, "" };
	char line[4096];
	size_t n = 0;
	FILE *f = fopen(path, "re");

	memset(s, 0, offsetof(struct script, memory));
	s->isn = 1000000;
	if (!f)
		return wrong(&r, "cannot be read");
	/* A backslash at the end joins the next line. */
	while (fgets(line + n, (int)(sizeof line - n), f)) {
		r.line++;
		n = strcspn(line, "\n");
		line[n] = 0;
		if (n && line[n - 1] == '\\') {
			n--;
			continue;
		}
		r.at = line;
		n = 0;
		if (!take_line(&r))
			break;
	}
	fclose(f);
	if (!s->error[0] && s->max_conns && !s->sim_only[0])
		wrong(&r, "max-conns works in the simulation: sim-only REASON is missing");
	if (!s->error[0] && s->paths && !s->sim_only[0])
		wrong(&r, "path works in the simulation: sim-only REASON is missing");
	if (!s->error[0] && !s->events)
		wrong(&r, "no event");
	return !s->error[0];
}
