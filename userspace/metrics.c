/* SPDX-License-Identifier: GPL-2.0-only */
#include "metrics.h"
#include "hist.h"
#include "stats.h"

/* --- text ----------------------------------------------------------------- */

struct text {
	char *at;
};

static void put(struct text *t, const char *string)
{
	while (*string)
		*t->at++ = *string++;
}

static void put_number(struct text *t, uint64_t n)
{
	char digits[20];
	unsigned count = 0;
	do {
		digits[count++] = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	while (count)
		*t->at++ = digits[--count];
}

/* Exact to the nanosecond, without the zeros at the end: 0.0000001, 12.5, 100. */
static void put_seconds(struct text *t, uint64_t ns)
{
	uint64_t rest = ns % NS_PER_S;
	put_number(t, ns / NS_PER_S);
	if (!rest)
		return;
	*t->at++ = '.';
	for (uint64_t unit = NS_PER_S / 10; rest; unit /= 10) {
		*t->at++ = (char)('0' + rest / unit);
		rest %= unit;
	}
}

/* ASCII only, so that no character is cut in half. */
static void put_label(struct text *t, const char *name, const char *value, unsigned max)
{
	put(t, name);
	put(t, "=\"");
	for (; max && *value; value++, max--) {
		if (*value == '"' || *value == '\\')
			*t->at++ = '\\';
		*t->at++ = *value < ' ' || *value > '~' ? '_' : *value;
	}
	*t->at++ = '"';
}

static void put_interface(struct text *t, const struct metrics_source *s)
{
	*t->at++ = '{';
	put_label(t, "interface", s->name, METRICS_NAME);
}

/* --- gauges and counters ---------------------------------------------------- */

struct family {
	const char *name, *help;
};

enum gauge { GAUGE_INFO, GAUGE_READY, GAUGE_BYPASS, GAUGE_UPTIME, GAUGE_HEARTBEAT, GAUGES };

static const struct family gauges[GAUGES] = {
	[GAUGE_INFO] = { "info", "1; version, mode in effect and port of the responder" },
	[GAUGE_READY] = { "ready", "1: serving; 0: starting, draining or stopped" },
	[GAUGE_BYPASS] = { "bypass_active", "1: frames come past the kernel's network stack" },
	[GAUGE_UPTIME] = { "uptime_seconds", "time since the responder was started" },
	[GAUGE_HEARTBEAT] = { "heartbeat_age_seconds",
			      "time since its I/O thread last looked at the ring; it is silent or "
			      "gone above a second" },
};

/* The first counter is the sum of those that stand for an answer. */
static const struct family counters[1 + STATS_COUNT] = {
	{ "requests", "requests answered, whatever the answer" },
#define X(name, help) { #name, help },
	STATS_LIST(X)
#undef X
};

#define X(name, help) \
	_Static_assert(sizeof "# HELP saker_" #name "_total " help "\n" < METRICS_LINE, #name);
STATS_LIST(X)
#undef X
_Static_assert(METRICS_SAMPLE_ + 2 * 24 + 80 < METRICS_LINE, "saker_info, the longest sample");

enum { FAMILIES = GAUGES + 1 + STATS_COUNT + 1, FAMILY_STAGES = FAMILIES - 1 };
enum { FAMILY_BUSY = GAUGES + 1 + STATS_busy_ns };

static void put_name(struct text *t, uint32_t family)
{
	put(t, "saker_");
	if (family == FAMILY_STAGES) {
		put(t, "stage_seconds");
	} else if (family < GAUGES) {
		put(t, gauges[family].name);
	} else {
		/* Prometheus knows seconds only. */
		put(t, family == FAMILY_BUSY ? "busy_seconds" : counters[family - GAUGES].name);
		put(t, "_total");
	}
}

static void put_help(struct text *t, uint32_t family)
{
	put(t, "# HELP ");
	put_name(t, family);
	put(t, " ");
	put(t, family == FAMILY_STAGES ? "time that requests spent in each stage" :
	       family < GAUGES         ? gauges[family].help :
					 counters[family - GAUGES].help);
	put(t, "\n");
}

static void put_type(struct text *t, uint32_t family)
{
	put(t, "# TYPE ");
	put_name(t, family);
	put(t, family == FAMILY_STAGES ? " histogram\n" :
	       family < GAUGES         ? " gauge\n" :
					 " counter\n");
}

static void put_info(struct text *t, const struct metrics_source *s)
{
	put(t, ",port=\"");
	put_number(t, s->mode->port);
	put(t, "\",");
	put_label(t, "rung", s->rung, 16);
	put(t, ",");
	put_label(t, "copy", s->copy, 16);
	put(t, ",");
	put_label(t, "version", s->mode->program, sizeof s->mode->program);
	put(t, "} 1\n");
}

static void put_gauge(struct text *t, const struct metrics_source *s, enum gauge gauge)
{
	if (gauge == GAUGE_INFO) {
		put_info(t, s);
		return;
	}
	put(t, "} ");
	if (gauge == GAUGE_READY)
		put(t, s->mode->state == STATE_ready ? "1" : "0");
	else if (gauge == GAUGE_BYPASS)
		put(t, s->mode->ready_ns ? "1" : "0");
	else if (gauge == GAUGE_UPTIME)
		put_seconds(t, s->now_ns - min_u64(s->mode->started_ns, s->now_ns));
	else if (s->heartbeat_ns)
		put_seconds(t, s->now_ns - min_u64(s->heartbeat_ns, s->now_ns));
	else
		put(t, "+Inf");
	put(t, "\n");
}

static uint64_t counter_sum(const struct metrics_source *s, uint32_t first, uint32_t last)
{
	uint64_t sum = 0;
	for (uint32_t b = 0; b < s->counter_blocks; b++)
		for (uint32_t i = first; i <= last; i++)
			sum += __atomic_load_n((const uint64_t *)&s->counters[b] + i,
					       __ATOMIC_RELAXED);
	return sum;
}

static void put_counter(struct text *t, const struct metrics_source *s, uint32_t counter)
{
	put(t, "} ");
	if (counter)
		put_number(t, counter_sum(s, counter - 1, counter - 1));
	else
		put_number(t, counter_sum(s, STATS_ANSWERS_FIRST, STATS_ANSWERS_LAST));
	put(t, "\n");
}

static uint32_t busy_lines(const struct metrics_source *s)
{
	return stats_io_threads(s->mode) + stats_compute_cores(s->mode);
}

/* A sample for each thread that never sleeps: top shows 100 % for all of them. */
static void put_busy(struct text *t, const struct metrics_source *s, uint32_t line)
{
	uint32_t threads = stats_io_threads(s->mode);
	bool io = line < threads;
	int32_t cpu = io ? s->mode->io_cpu[line] : s->mode->compute_cpu[line - threads];
	put(t, io ? ",thread=\"io\",cpu=\"" : ",thread=\"compute\",cpu=\"");
	put_number(t, cpu < 0 ? 0 : (uint64_t)cpu);
	put(t, "\"} ");
	put_seconds(t, s->busy_ns ? s->busy_ns[line] :
				    __atomic_load_n(&s->counters[line].busy_ns, __ATOMIC_RELAXED));
	put(t, "\n");
}

/* --- the histogram ------------------------------------------------------------ */

static uint64_t bound_ns(uint32_t i)
{
	static const uint8_t step[4] = { 1, 2, 3, 5 };
	uint64_t ns = 100;
	for (uint32_t decade = i / 4; decade; decade--)
		ns *= 10;
	return ns * step[i % 4];
}

/* A value is told under the first bound that its whole bucket lies below. */
static void stage_read(struct metrics *m, const struct metrics_source *s, uint32_t stage)
{
	uint32_t bound = 0;
	memset(m->below, 0, sizeof m->below);
	m->sum_ns = 0;
	for (uint32_t i = 0; i < HIST_BUCKETS; i++) {
		while (bound < METRICS_LE && hist_upper(i) > bound_ns(bound)) {
			bound++;
			m->below[bound] = m->below[bound - 1];
		}
		for (uint32_t b = 0; b < s->stage_blocks; b++) {
			const struct hist *h = (const struct hist *)&s->stages[b] + stage;
			m->below[bound] += __atomic_load_n(&h->bucket[i], __ATOMIC_RELAXED);
		}
	}
	for (uint32_t b = 0; b < s->stage_blocks; b++) {
		const struct hist *h = (const struct hist *)&s->stages[b] + stage;
		m->sum_ns += __atomic_load_n(&h->sum_ns, __ATOMIC_RELAXED);
	}
}

_Static_assert((1ull << HIST_TOP_BIT) > 100ull * NS_PER_S, "the last bucket lies beyond 100 s");

static const char *const stages[STAGES] = {
#define X(name, help) #name,
	STAGE_LIST(X)
#undef X
};

enum { LINE_SUM = METRICS_LE + 1, LINE_COUNT, STAGE_LINES };

static void put_stage(struct text *t, struct metrics *m, const struct metrics_source *s)
{
	uint32_t line = m->line;
	if (!line)
		stage_read(m, s, m->stage);
	put_name(t, FAMILY_STAGES);
	put(t, line == LINE_SUM ? "_sum" : line == LINE_COUNT ? "_count" : "_bucket");
	put_interface(t, s);
	put(t, ",");
	put_label(t, "stage", stages[m->stage], 16);
	if (line <= METRICS_LE) {
		put(t, ",le=\"");
		if (line < METRICS_LE)
			put_seconds(t, bound_ns(line));
		else
			put(t, "+Inf");
		put(t, "\"");
	}
	put(t, "} ");
	if (line == LINE_SUM)
		put_seconds(t, m->sum_ns);
	else
		put_number(t, m->below[min_u64(line, METRICS_LE)]);
	put(t, "\n");
}

/* --- line after line ------------------------------------------------------------ */

/* Families begin with their two lines of text, as if those were sources 0 and 1. */
static void put_line(struct text *t, struct metrics *m)
{
	if (m->source == 0)
		put_help(t, m->family);
	else if (m->source == 1)
		put_type(t, m->family);
	else if (m->family == FAMILY_STAGES)
		put_stage(t, m, &m->sources[m->source - 2]);
	else {
		const struct metrics_source *s = &m->sources[m->source - 2];
		put_name(t, m->family);
		put_interface(t, s);
		if (m->family == FAMILY_BUSY)
			put_busy(t, s, m->line);
		else if (m->family < GAUGES)
			put_gauge(t, s, (enum gauge)m->family);
		else
			put_counter(t, s, m->family - GAUGES);
	}
}

/* Lines of a stage are not to be parted: what they say was read at once. */
static bool in_stage(const struct metrics *m)
{
	return m->family == FAMILY_STAGES && m->source > 1;
}

static void step(struct metrics *m)
{
	if (m->source > 1 && m->family == FAMILY_BUSY) {
		if (++m->line < busy_lines(&m->sources[m->source - 2]))
			return;
	} else if (in_stage(m)) {
		if (++m->line < STAGE_LINES)
			return;
		m->line = 0;
		if (++m->stage < STAGES)
			return;
		m->stage = 0;
	}
	m->line = 0;
	if (++m->source < m->count + 2)
		return;
	m->source = 0;
	m->family++;
}

void metrics_begin(struct metrics *m, const struct metrics_source *sources, uint32_t count)
{
	*m = (struct metrics){ .sources = sources, .count = count };
}

/* Of other lines about a segment: a counter is a sum over all CPUs, and the caller
 * has more to do. */
enum { LINES_MAX = 2048 };
_Static_assert(LINES_MAX <= METRICS_PIECE && LINES_MAX >= (int)METRICS_LINE, "METRICS_PIECE");

size_t metrics_piece(struct metrics *m, char *to)
{
	struct text t = { to };
	if (m->family == FAMILIES)
		return 0;
	if (in_stage(m)) {
		do {
			put_line(&t, m);
			step(m);
		} while (m->line);
		return (size_t)(t.at - to);
	}
	while (!in_stage(m) && (size_t)(t.at - to) + METRICS_LINE <= LINES_MAX) {
		put_line(&t, m);
		step(m);
	}
	return (size_t)(t.at - to);
}

/* stage, line, source, family: 8, 8, 6 and 10 bits. */
_Static_assert(FAMILIES < 1 << 10 && STAGES < 1 << 8 && IO_THREADS_MAX + CREW_MAX < 1 << 8,
	       "places");

uint32_t metrics_place(const struct metrics *m)
{
	must(m->source < 1 << 6 && !(in_stage(m) && m->line));
	if (m->family == FAMILIES)
		return 0;
	return m->stage << 24 | m->line << 16 | m->source << 10 | m->family;
}

/* Another program may have told it. */
static bool is_place(const struct metrics *m)
{
	uint64_t lines = 1;

	if (m->family >= FAMILIES || m->source >= m->count + 2)
		return false;
	if (m->source > 1 && m->family == FAMILY_BUSY)
		lines = max_u64(busy_lines(&m->sources[m->source - 2]), 1);
	return m->stage < (in_stage(m) ? STAGES : 1) && m->line < lines;
}

void metrics_go(struct metrics *m, uint32_t place)
{
	m->family = place & 0x3ff;
	m->source = place >> 10 & 0x3f;
	m->line = place >> 16 & 0xff;
	m->stage = place >> 24;
	if (!is_place(m))
		m->family = FAMILIES;
}

size_t metrics_write(struct metrics *m, char *to, size_t size)
{
	struct text t = { to };
	must(size >= METRICS_LINE);
	while (m->family < FAMILIES && (size_t)(t.at - to) + METRICS_LINE <= size) {
		put_line(&t, m);
		step(m);
	}
	return (size_t)(t.at - to);
}
