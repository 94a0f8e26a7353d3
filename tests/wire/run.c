/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "count.h"
#include "run.h"
#include "wire.h"

volatile unsigned run_line;

/* A connection's numbers. Relative ones count from the ISNs. */
struct link {
	uint32_t isn, server_isn; /* absolute */
	bool server_known;
	uint32_t c, s;  /* $c, $s: relative ends of what was sent by each */
	uint32_t ts;    /* $ts: the last TSval that came */
	uint32_t acked; /* absolute: the last ACK that came */
	bool acked_known;
	uint8_t stream[RUN_STREAM]; /* the server's bytes from relative 1 on */
	uint32_t stream_len, stream_read;
};

struct arrival {
	uint8_t frame[FRAME_MOST];
	uint64_t at_ns;
	struct seg seg;
	enum frame_kind kind;
	const char *why;
	unsigned conn;
};

static struct run {
	struct device *d;
	const struct script *s;
	const struct event *e;
	struct ends ends;
	uint64_t start_ns, at_ns; /* of the script, of the last event */
	struct link link[SCRIPT_CONNS];
	struct arrival queue[RUN_QUEUE];
	unsigned queued;
	struct {
		char name[SCRIPT_NAME];
		uint32_t value;
	} let[16];
	unsigned lets;
	struct stats_block before;
	char *report;
	bool failed;
} run;

/* --- the report ------------------------------------------------------------------- */

__attribute__((format(printf, 1, 2))) static void tell(const char *format, ...)
{
	size_t n = strlen(run.report);
	va_list args;

	va_start(args, format);
	vsnprintf(run.report + n, RUN_REPORT - n, format, args);
	va_end(args);
}

#define fail(...) \
	do { \
		run.failed = true; \
		tell("line %u: %s\n  ", run.e->line, run.e->text); \
		tell(__VA_ARGS__); \
		tell("\n"); \
	} while (0)

static void tell_segment(const char *arrow, unsigned conn, uint64_t at_ns, const struct seg *s)
{
	const struct link *l = &run.link[conn];
	uint32_t ours = l->isn, theirs = l->server_known ? l->server_isn : 0;
	bool in = *arrow == '>';
	char text[512];

	frame_show(text, sizeof text, s, in ? theirs : ours, in ? ours : theirs);
	tell("  @%u +%.6f %s %s\n", conn + 1, (double)(at_ns - run.start_ns) / 1e9, arrow, text);
}

/* --- numbers ------------------------------------------------------------------------ */

static bool value_of(const struct number *n, uint32_t *v)
{
	const struct link *l = &run.link[run.e->conn];
	uint32_t base = 0;

	if (!n->name[0]) {
		*v = n->plus;
		return true;
	}
	if (!strcmp(n->name, "c")) {
		base = l->c;
	} else if (!strcmp(n->name, "s")) {
		base = l->s;
	} else if (!strcmp(n->name, "ts")) {
		base = l->ts;
	} else {
		unsigned i = 0;
		while (i < run.lets && strcmp(run.let[i].name, n->name))
			i++;
		if (i == run.lets) {
			fail("$%s has no value yet", n->name);
			return false;
		}
		base = run.let[i].value;
	}
	*v = base + n->plus;
	return true;
}

static bool same(const char *what, const struct number *n, uint32_t got)
{
	uint32_t want;

	if (n->any)
		return true;
	if (!value_of(n, &want))
		return false;
	if (want != got)
		fail("%s is %u, not %u", what, got, want);
	return want == got;
}

static void let(const struct event *e)
{
	unsigned i = 0;
	uint32_t v;

	if (!value_of(&e->value, &v))
		return;
	while (i < run.lets && strcmp(run.let[i].name, e->name))
		i++;
	must(i < array_size(run.let));
	run.lets = i == run.lets ? i + 1 : run.lets;
	snprintf(run.let[i].name, sizeof run.let[i].name, "%.11s", e->name);
	run.let[i].value = v;
}

/* --- arrivals ------------------------------------------------------------------------- */

static void pump(void)
{
	static uint8_t frame[FRAME_MOST];
	uint64_t at_ns;
	size_t len;

	while (run.queued < RUN_QUEUE && (len = run.d->receive(run.d, frame, &at_ns))) {
		struct arrival *a = &run.queue[run.queued];

		memcpy(a->frame, frame, len);
		a->at_ns = at_ns;
		a->why = NULL;
		a->kind = frame_read(a->frame, len, &run.ends, run.s->ip6, &a->seg, &a->why);
		if (a->kind == FRAME_OTHER)
			continue;
		a->conn = a->seg.dport - run.ends.client_port;
		run.queued++;
		tell_segment(">", a->conn, at_ns, &a->seg);
	}
}

static struct arrival *arrived(unsigned conn)
{
	for (unsigned i = 0; i < run.queued; i++)
		if (run.queue[i].conn == conn)
			return &run.queue[i];
	return NULL;
}

static void forget(struct arrival *a)
{
	unsigned i = (unsigned)(a - run.queue);

	run.queued--;
	for (; i < run.queued; i++) {
		ptrdiff_t data = run.queue[i + 1].seg.data - run.queue[i + 1].frame;
		run.queue[i] = run.queue[i + 1];
		run.queue[i].seg.data = run.queue[i].frame + data;
	}
}

static struct arrival *wait_for(unsigned conn, uint64_t until_ns)
{
	struct arrival *a;
	uint64_t now = 0;

	for (;;) {
		pump();
		a = arrived(conn);
		if (a || now >= until_ns)
			return a;
		now = run.d->wait(run.d, until_ns);
	}
}

/* Other connections' frames may come meanwhile: they wait in the queue. */
static void wait_until(uint64_t until_ns)
{
	while (run.d->wait(run.d, until_ns) < until_ns)
		pump();
	pump();
}

/* --- what a segment means for the numbers ------------------------------------------------ */

static bool take_stream(struct link *l, const struct seg *s)
{
	uint32_t at = s->seq - l->server_isn - 1;

	if (!s->len)
		return true;
	if (at > l->stream_len || at + s->len > RUN_STREAM)
		return true; /* past a gap: the expectation has judged it */
	if (memcmp(l->stream + at, s->data, min_u64(s->len, l->stream_len - at))) {
		fail("bytes sent again are not those of the first time");
		return false;
	}
	memcpy(l->stream + at, s->data, s->len);
	l->stream_len = (uint32_t)max_u64(l->stream_len, at + s->len);
	return true;
}

static bool take_arrival(const struct arrival *a, uint32_t syn_as)
{
	struct link *l = &run.link[a->conn];
	const struct seg *s = &a->seg;
	unsigned n;
	const uint8_t *ts = frame_option(s, WIRE_OPT_TS, &n);
	uint32_t end;

	if (s->flags & WIRE_SYN && !l->server_known) {
		l->server_known = true;
		l->server_isn = s->seq - syn_as;
	}
	end = s->seq - l->server_isn + s->len + !!(s->flags & WIRE_SYN) + !!(s->flags & WIRE_FIN);
	if (l->server_known && !(s->flags & WIRE_RST) && seq_gt(end, l->s))
		l->s = end;
	if (ts && n == 8)
		l->ts = be32(ts);
	if (s->flags & WIRE_ACK) {
		l->acked = s->ack;
		l->acked_known = true;
	}
	return take_stream(l, s);
}

/* --- send ---------------------------------------------------------------------------------- */

static unsigned put_option(uint8_t *to, const struct option *o)
{
	uint32_t v[array_size(o->value)] = { 0 };

	for (unsigned i = 0; i < o->count; i++)
		if (!value_of(&o->value[i], &v[i]))
			return 0;
	to[0] = o->kind;
	switch (o->kind) {
	case WIRE_OPT_NOP:
	case WIRE_OPT_END:
		return 1;
	case WIRE_OPT_MSS:
		to[1] = 4;
		put_be16(to + 2, (uint16_t)v[0]);
		return 4;
	case WIRE_OPT_WSCALE:
		to[1] = 3;
		to[2] = (uint8_t)v[0];
		return 3;
	case WIRE_OPT_SACK_OK:
		to[1] = 2;
		return 2;
	case WIRE_OPT_TS:
		to[1] = 10;
		put_be32(to + 2, v[0]);
		put_be32(to + 6, v[1]);
		return 10;
	case WIRE_OPT_SACK:
		to[1] = (uint8_t)(2 + 4 * o->count);
		for (unsigned i = 0; i < o->count; i++)
			put_be32(to + 2 + 4 * i, v[i] + run.link[run.e->conn].server_isn);
		return 2 + 4 * o->count;
	default:
		memcpy(to, o->raw.at, o->raw.len);
		return (unsigned)o->raw.len;
	}
}

/* The server is to take the segment all the same. */
static bool is_harmless(const struct segment *g)
{
	for (unsigned i = 0; i < g->damages; i++)
		if (g->damage[i].kind != DAMAGE_vlan && g->damage[i].kind != DAMAGE_urg &&
		    g->damage[i].kind != DAMAGE_pad && g->damage[i].kind != DAMAGE_reserved)
			return false;
	return true;
}

static bool fill_segment(const struct event *e, struct seg *s)
{
	static uint8_t filler[FRAME_MOST];
	const struct segment *g = &e->seg;
	struct link *l = &run.link[e->conn];
	uint32_t seq, end, len = (uint32_t)g->data.len, ack = 0, window = 64240;

	memset(filler, 'x', sizeof filler);
	if (!g->has_data && !g->len.any && !value_of(&g->len, &len))
		return false;
	if (g->seq.any || !value_of(&g->seq, &seq) || (g->has_ack && !value_of(&g->ack, &ack)) ||
	    (!g->window.any && !value_of(&g->window, &window)))
		return false;
	end = seq + len;
	if (!same("length", &g->len, len) || !same("end", &g->end, end))
		return false;
	must(len <= sizeof filler);
	*s = (struct seg){
		.seq = l->isn + seq,
		.ack = g->has_ack ? ack + (l->server_known ? l->server_isn : 0) : 0,
		.len = len,
		.window = (uint16_t)window,
		.flags = g->flags,
		.sport = (uint16_t)(run.ends.client_port + e->conn),
		.dport = run.ends.server_port,
		.vlan = FRAME_UNTAGGED,
		.data = g->has_data ? g->data.at : filler,
	};
	for (unsigned i = 0; i < g->options; i++)
		s->option_len += put_option(s->option + s->option_len, &g->option[i]);
	end += !!(g->flags & WIRE_SYN) + !!(g->flags & WIRE_FIN);
	bool counts = g->flags & WIRE_SYN ? !l->c : seq_le(seq, l->c) && seq_gt(end, l->c);
	if (counts && is_harmless(g))
		l->c = end;
	return !run.failed;
}

static void play_send(const struct event *e)
{
	uint8_t frame[FRAME_MOST];
	struct seg s;
	size_t len;

	wait_until(run.at_ns + e->from_ns);
	if (!fill_segment(e, &s))
		return;
	len = frame_make(frame, &run.ends, run.s->ip6, &s, e->seg.damage, e->seg.damages);
	run.at_ns = run.d->wait(run.d, 0);
	tell_segment("<", e->conn, run.at_ns, &s);
	run.d->send(run.d, frame, len, &e->seg.told);
}

/* --- expect ---------------------------------------------------------------------------------- */

static bool sacks_match(const struct option *o, const uint8_t *at, unsigned len)
{
	uint32_t isn = run.link[run.e->conn].isn;
	bool match = same("SACK blocks", &(struct number){ .plus = o->count / 2 }, len / 8);

	for (unsigned i = 0; match && i < o->count; i++)
		match = same("SACK edge", &o->value[i], be32(at + 4 * i) - isn);
	return match;
}

static bool options_match(const struct segment *g, const struct seg *s)
{
	unsigned wanted = 0, given = 0, n;

	if (g->any_options)
		return true;
	for (unsigned i = 0; i < g->options; i++) {
		const struct option *o = &g->option[i];
		const uint8_t *at = frame_option(s, o->kind, &n);

		if (o->kind == WIRE_OPT_NOP)
			continue;
		wanted += 1;
		if (!at) {
			fail("option %u is missing", o->kind);
			return false;
		}
		if ((o->kind == WIRE_OPT_SACK && !sacks_match(o, at, n)) ||
		    (o->kind == WIRE_OPT_MSS && !same("mss", &o->value[0], be16(at))) ||
		    (o->kind == WIRE_OPT_WSCALE && !same("wscale", &o->value[0], *at)) ||
		    (o->kind == WIRE_OPT_TS && (!same("TS val", &o->value[0], be32(at)) ||
						!same("TS ecr", &o->value[1], be32(at + 4)))))
			return false;
	}
	for (unsigned i = 0; i < s->option_len && s->option[i] != WIRE_OPT_END;
	     i += s->option[i] == WIRE_OPT_NOP ? 1 : s->option[i + 1])
		given += s->option[i] != WIRE_OPT_NOP;
	if (given != wanted)
		fail("%u options came, %u were expected", given, wanted);
	return given == wanted;
}

static bool segment_matches(const struct event *e, const struct seg *s)
{
	const struct segment *g = &e->seg;
	const struct link *l = &run.link[e->conn];
	uint32_t isn = l->server_known ? l->server_isn : 0, seq = s->seq - isn;
	uint16_t vlan = g->damages ? (uint16_t)g->damage[0].value : FRAME_UNTAGGED;

	if (s->flags != g->flags) {
		fail("flags are %#x, not %#x", s->flags, g->flags);
		return false;
	}
	if (s->flags & WIRE_SYN && !l->server_known)
		seq = g->seq.plus;
	if (!same("sequence number", &g->seq, seq) || !same("end", &g->end, seq + s->len) ||
	    !same("length", &g->len, s->len) || !same("window", &g->window, s->window) ||
	    (g->has_ack && !same("ack", &g->ack, s->ack - l->isn)) || !options_match(g, s))
		return false;
	if (s->vlan != vlan)
		fail("VLAN tag is %#x, not %#x", s->vlan, vlan);
	else if (g->has_data && (g->data.len != s->len || memcmp(g->data.at, s->data, s->len)))
		fail("payload differs");
	else if (e->patterns && !script_find(e, s->data, s->len))
		fail("payload does not hold the strings, in this order");
	else if (e->lacks.len && s->len && memmem(s->data, s->len, e->lacks.at, e->lacks.len))
		fail("payload holds what it must not");
	return !run.failed;
}

static bool in_time(const struct event *e, const struct arrival *a)
{
	uint64_t after = a->at_ns > run.at_ns ? a->at_ns - run.at_ns : 0;

	if (after >= e->from_ns - e->from_ns * run.d->early_percent / 100)
		return true;
	fail("came too early, after %.6f s", (double)after / 1e9);
	return false;
}

static uint64_t latest(const struct event *e)
{
	return run.at_ns + (e->to_ns ? e->to_ns : e->from_ns) + run.d->late_ns;
}

static void play_expect(const struct event *e)
{
	struct arrival *a = wait_for(e->conn, latest(e));

	if (!a)
		fail("nothing came");
	else if (a->kind == FRAME_BAD)
		fail("bad frame: %s", a->why);
	else if (in_time(e, a) && segment_matches(e, &a->seg) && take_arrival(a, e->seg.seq.plus)) {
		run.at_ns = a->at_ns;
		forget(a);
	}
}

static void play_silence(const struct event *e)
{
	if (wait_for(e->conn, run.at_ns + e->from_ns))
		fail("something came");
	run.at_ns += e->from_ns;
}

/* Take segments until the stream, behind what earlier lines read, has it all. */
static void play_stream(const struct event *e)
{
	struct link *l = &run.link[e->conn];
	uint32_t end;

	while (!(
		end = script_find(e, l->stream + l->stream_read, l->stream_len - l->stream_read))) {
		struct arrival *a = wait_for(e->conn, latest(e));

		if (!a)
			fail("the strings did not come, in this order");
		else if (a->kind == FRAME_BAD)
			fail("bad frame: %s", a->why);
		else if (a->seg.flags & (WIRE_SYN | WIRE_RST))
			fail("SYN or RST in the stream");
		if (run.failed || !in_time(e, a) || !take_arrival(a, 0))
			return;
		run.at_ns = a->at_ns;
		forget(a);
	}
	l->stream_read += end;
}

/* The kernel has answered the client's SYN with this ISN. */
static void play_handshake(const struct event *e)
{
	struct link *l = &run.link[e->conn];

	l->server_known = l->acked_known = true;
	l->server_isn = e->value.plus;
	l->acked = l->isn + 1;
	l->c = l->s = 1;
}

/* --- the whole ------------------------------------------------------------------------------------ */

static void play(const struct event *e)
{
	char why[120];

	run.e = e;
	run_line = e->line;
	switch (e->kind) {
	case EVENT_SEND:
		play_send(e);
		break;
	case EVENT_EXPECT:
		play_expect(e);
		break;
	case EVENT_SILENCE:
		play_silence(e);
		break;
	case EVENT_STREAM:
		play_stream(e);
		break;
	case EVENT_COUNTERS:
		run.d->count(run.d, &run.before);
		break;
	case EVENT_COUNT:
		if (!count_moved(run.d, e, &run.before, why, sizeof why))
			fail("%s", why);
		break;
	case EVENT_LET:
		let(e);
		break;
	case EVENT_REOPEN:
		run.link[e->conn] = (struct link){ .isn = run.link[e->conn].isn + e->value.plus };
		break;
	case EVENT_HANDSHAKE:
		play_handshake(e);
		break;
	}
}

/* RST with the number that the server acknowledged last; when it knows better,
 * its challenge ACK says so (RFC 5961 3.2). */
static void reset(unsigned conn)
{
	struct link *l = &run.link[conn];

	for (int i = 0; i < 3; i++) {
		struct seg s = { .flags = WIRE_RST,
				 .seq = l->acked,
				 .dport = run.ends.server_port };
		uint8_t frame[FRAME_MOST];
		struct arrival *a;
		uint32_t tried = l->acked;

		s.sport = (uint16_t)(run.ends.client_port + conn);
		run.d->send(run.d, frame, frame_make(frame, &run.ends, run.s->ip6, &s, NULL, 0),
			    NULL);
		wait_for(conn, run.d->wait(run.d, 0) + 2 * NS_PER_MS);
		while ((a = arrived(conn))) {
			if (a->kind == FRAME_OURS && a->seg.flags & WIRE_ACK)
				l->acked = a->seg.ack;
			forget(a);
		}
		if (l->acked == tried)
			return;
	}
}

static void finish(void)
{
	const char *left;

	if (!run.failed) {
		wait_until(run.d->wait(run.d, 0) + run.d->quiet_ns);
		if (run.queued)
			fail("then something came that no line expects");
	}
	for (unsigned i = 0; i < SCRIPT_CONNS; i++) {
		struct arrival *a;

		while ((a = arrived(i))) {
			if (a->kind == FRAME_OURS)
				take_arrival(a, 0);
			forget(a);
		}
		if (run.link[i].acked_known)
			reset(i);
	}
	left = run.d->close(run.d);
	if (left && !run.failed)
		fail("%s", left);
}

bool run_script(struct device *d, const struct script *s, uint16_t port, char report[RUN_REPORT])
{
	const char *why;

	memset(&run, 0, sizeof run);
	run.d = d;
	run.s = s;
	run.e = s->event;
	run.report = report;
	run.ends = d->ends;
	run.ends.client_port = port;
	report[0] = 0;
	for (unsigned i = 0; i < SCRIPT_CONNS; i++)
		run.link[i].isn = s->isn + (i << 20); /* every port its own */
	if (!d->open(d, s, &why)) {
		fail("%s", why);
		return false;
	}
	run.start_ns = run.at_ns = d->wait(d, 0);
	d->count(d, &run.before);
	for (unsigned i = 0; i < s->events && !run.failed; i++)
		if (s->event[i].on == ON_ANY || s->event[i].on == d->kind)
			play(&s->event[i]);
	finish();
	return !run.failed;
}
