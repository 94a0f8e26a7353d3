/* SPDX-License-Identifier: GPL-2.0-only */
/* metrics.h: the text for Prometheus, by its lines; in pieces as in one; its bounds. */
#include "tap.h"
#include "hist.h"
#include "metrics.h"

static struct stats_block counters[2];
static struct stage_block stages[2];
static struct mode mode = {
	.port = 8080,
	.state = STATE_ready,
	.started_ns = 1000,
	.ready_ns = 5000,
	.io_threads = 2,
	.compute_cores = 1,
	.io_cpu = { 2, 3 },
	.compute_cpu = { 11 },
	.program = "v1.2-\"x\\",
};
static uint64_t busy_ns[IO_THREADS_MAX + CREW_MAX] = { 1500000000, 0, 7 };
static char whole[2 * METRICS_MAX + 1], pieces[2 * METRICS_MAX + 1];

static struct metrics_source source(const char *name)
{
	return (struct metrics_source){
		.name = name,
		.rung = "xdp-native",
		.copy = "copy",
		.mode = &mode,
		.now_ns = 3 * (uint64_t)NS_PER_S + 1000,
		.heartbeat_ns = 3 * (uint64_t)NS_PER_S,
		.counters = counters,
		.counter_blocks = 2,
		.busy_ns = busy_ns,
		.stages = stages,
		.stage_blocks = 2,
	};
}

static size_t write_all(char *to, const struct metrics_source *sources, uint32_t count, size_t room)
{
	struct metrics m;
	size_t length = 0, got;
	metrics_begin(&m, sources, count);
	while ((got = metrics_write(&m, to + length, room)))
		length += got;
	to[length] = 0;
	return length;
}

/* What stands behind "NAME{...} ", as text; "" when there is no such line. */
static const char *value_of(const char *sample)
{
	static char value[64];
	size_t length = strlen(sample);
	value[0] = 0;
	for (const char *at = whole; (at = strstr(at, sample)); at += length)
		if ((at == whole || at[-1] == '\n') && at[length] == ' ')
			sscanf(at + length, " %63[^\n]", value);
	return value;
}

static void test_lines(void)
{
	struct metrics_source one = source("eth0");
	counters[0].http_ok = 7;
	counters[0].http_bad_host = 2;
	counters[0].http_h2_preface = 1;
	counters[1].xdp_seen = 40;
	counters[0].xdp_seen = 2;
	hist_record(&stages[0].parse, 100);
	hist_record(&stages[1].parse, 101);
	write_all(whole, &one, 1, sizeof whole);

	is_str(value_of("saker_xdp_seen_total{interface=\"eth0\"}"), "42", "a sum over writers");
	is_str(value_of("saker_requests_total{interface=\"eth0\"}"), "10", "every answer counts");
#define BUSY "saker_busy_seconds_total{interface=\"eth0\",thread="
	is_str(value_of(BUSY "\"io\",cpu=\"2\"}"), "1.5", "in seconds, each I/O thread");
	is_str(value_of(BUSY "\"io\",cpu=\"3\"}"), "0", "the second too");
	is_str(value_of(BUSY "\"compute\",cpu=\"11\"}"), "0.000000007", "and the compute core");
	one.busy_ns = NULL;
	counters[1].busy_ns = 3;
	mode.compute_cores = 0;
	write_all(whole, &one, 1, sizeof whole);
	is_str(value_of(BUSY "\"io\",cpu=\"3\"}"), "0.000000003", "or from the map's own blocks");
	mode.compute_cores = 1;
#undef BUSY
	is_str(value_of("saker_tcp_syn_total{interface=\"eth0\"}"), "0", "a zero is there, too");
	is_str(value_of("saker_uptime_seconds{interface=\"eth0\"}"), "3", "whole seconds");
	is_str(value_of("saker_heartbeat_age_seconds{interface=\"eth0\"}"), "0.000001",
	       "to the nanosecond");
	is_str(value_of("saker_ready{interface=\"eth0\"}"), "1", "ready");
	is_str(value_of("saker_bypass_active{interface=\"eth0\"}"), "1", "bypassed");
	is_str(value_of("saker_info{interface=\"eth0\",port=\"8080\",rung=\"xdp-native\","
			"copy=\"copy\",version=\"v1.2-\\\"x\\\\\"}"),
	       "1", "labels, escaped");
#define PARSE "{interface=\"eth0\",stage=\"parse\""
	is_str(value_of("saker_stage_seconds_bucket" PARSE ",le=\"0.0000001\"}"), "1", "100 ns");
	is_str(value_of("saker_stage_seconds_bucket" PARSE ",le=\"0.0000002\"}"), "2",
	       "and 101 ns, of another writer");
	is_str(value_of("saker_stage_seconds_bucket" PARSE ",le=\"100\"}"), "2", "cumulative");
	is_str(value_of("saker_stage_seconds_bucket" PARSE ",le=\"+Inf\"}"), "2", "to the end");
	is_str(value_of("saker_stage_seconds_sum" PARSE "}"), "0.000000201", "the sum is exact");
	is_str(value_of("saker_stage_seconds_count" PARSE "}"), "2", "the count");
#undef PARSE
}

/* HELP, TYPE and then samples, each family once. */
static void test_order(void)
{
	struct metrics_source two[2] = { source("eth0"), source("eth1@4026531840") };
	uint32_t helps = 0, types = 0, samples = 0, strangers = 0, long_lines = 0;
	char family[64] = "", line[METRICS_LINE + 1];
	write_all(whole, two, 2, sizeof whole);
	for (const char *at = whole, *end; (end = strchr(at, '\n')); at = end + 1) {
		size_t length = (size_t)(end - at) + 1;
		long_lines += length >= METRICS_LINE;
		snprintf(line, sizeof line, "%.*s", (int)length, at);
		if (sscanf(line, "# HELP %63s", family) == 1) {
			helps++;
		} else if (!strncmp(line, "# TYPE ", 7)) {
			types++;
			strangers += strncmp(line + 7, family, strlen(family)) != 0;
		} else {
			samples++;
			strangers += strncmp(line, family, strlen(family)) != 0;
		}
	}
	is(helps, 5 + 1 + STATS_COUNT + 1, "a HELP for each family");
	is(types, helps, "and a TYPE");
	is(samples, 2 * (6 + STATS_COUNT + 2 + STAGES * (METRICS_LE + 1 + 2)), "samples of both");
	is(strangers, 0, "each under its family");
	is(long_lines, 0, "no line is as long as METRICS_LINE");
	ok(METRICS_LE + 1 <= 40, "at most 40 values of le");
}

static void test_pieces(void)
{
	struct metrics_source two[2] = { source("eth0"), source("eth1") };
	uint32_t wrong = 0;
	write_all(whole, two, 2, sizeof whole);
	for (size_t room = METRICS_LINE; room < 3 * METRICS_LINE; room += 7) {
		write_all(pieces, two, 2, room);
		wrong += strcmp(pieces, whole) != 0;
	}
	is(wrong, 0, "pieces of any size make the same text");
}

/* A text that many take in turn, of which nothing is kept but a place. */
static void test_places(void)
{
	struct metrics_source two[2] = { source("eth0"), source("eth1") };
	size_t length = 0, got, longest = 0;
	uint32_t place = 0, count = 0, parted = 0;
	write_all(whole, two, 2, sizeof whole);
	do {
		struct metrics m;
		memset(&m, 0xaa, sizeof m);
		metrics_begin(&m, two, 2);
		metrics_go(&m, place);
		got = metrics_piece(&m, pieces + length);
		place = metrics_place(&m);
		length += got;
		longest = got > longest ? got : longest;
		parted += pieces[length - 1] != '\n';
		count++;
	} while (place && count < 1000);
	pieces[length] = 0;
	is_str(pieces, whole, "pieces that begin at a place make the same text");
	is(parted, 0, "of whole lines");
	ok(count > 2 * STAGES, "%u pieces, a stage of a source each", count);
	ok(longest <= METRICS_PIECE, "none is longer than METRICS_PIECE");
	struct metrics m;
	metrics_begin(&m, two, 2);
	for (got = 0; metrics_piece(&m, pieces); got++)
		;
	is(got, count, "as many without looking at the place");
	is(metrics_place(&m), 0, "which is the beginning again at the end");
}

/* Every number as long as it can be, a name that is cut and escaped. */
static void test_longest(void)
{
	static char name[300];
	struct metrics_source s[2];
	size_t one;
	memset(name, '"', sizeof name - 1);
	memset(counters, 0, sizeof counters);
	memset(&counters[0], 0xff, sizeof counters[0]);
	memset(stages, 0, sizeof stages);
	memset(&stages[0], 0xff, sizeof stages[0]);
	memset(mode.program, '"', sizeof mode.program);
	mode.port = UINT32_MAX;
	mode.io_threads = mode.compute_cores = UINT32_MAX;
	memset(mode.io_cpu, 0x7f, sizeof mode.io_cpu);
	memset(mode.compute_cpu, 0x7f, sizeof mode.compute_cpu);
	memset(busy_ns, 0xff, sizeof busy_ns);
	s[0] = s[1] = source(name);
	s[0].now_ns = UINT64_MAX;
	one = write_all(whole, s, 1, sizeof whole);
	ok(one < METRICS_MAX, "%zu bytes at the longest, METRICS_MAX is %zu", one,
	   (size_t)METRICS_MAX);
	struct metrics m;
	size_t piece = 0, got;
	metrics_begin(&m, s, 1);
	while ((got = metrics_piece(&m, pieces)))
		piece = got > piece ? got : piece;
	ok(piece <= METRICS_PIECE && piece > METRICS_PIECE / 2,
	   "%zu bytes the longest piece, METRICS_PIECE is %zu", piece, (size_t)METRICS_PIECE);
	ok(one > METRICS_MAX / 2, "which is not far from the truth");
	ok(write_all(whole, s, 2, sizeof whole) < 2 * METRICS_MAX, "two are below twice that");
	memset(counters, 0, sizeof counters);
	memset(stages, 0, sizeof stages);
}

/* Against the values themselves: at each bound what is told lies between the
 * number of values up to the bound less 1/64, and up to the bound. */
static void test_bounds(void)
{
	enum { SAMPLES = 20000 };
	static uint64_t values[SAMPLES];
	struct metrics_source one = source("eth0");
	uint64_t state = 88172645463325252ull, last = 0, sum = 0;
	uint32_t high = 0, low = 0, falls = 0, bounds = 0;
	for (int i = 0; i < SAMPLES; i++) {
		state ^= state << 13, state ^= state >> 7, state ^= state << 17;
		values[i] = (state >> 26) >> (state % 37);
		sum += values[i];
		hist_record(&stages[i & 1].total, values[i]);
	}
	write_all(whole, &one, 1, sizeof whole);
	const char *at = whole;
	while ((at = strstr(at, "_bucket{interface=\"eth0\",stage=\"total\",le=\""))) {
		double le;
		uint64_t told, most = 0, least = 0;
		if (sscanf(at, "_bucket{interface=\"eth0\",stage=\"total\",le=\"%lf\"} %" SCNu64,
			   &le, &told) != 2)
			break;
		for (int i = 0; i < SAMPLES; i++) {
			most += (double)values[i] <= le * 1e9 + 0.5;
			least += (double)values[i] * 65 / 64 + 1 <= le * 1e9;
		}
		high += told > most;
		low += told < least;
		falls += told < last;
		last = told;
		bounds++;
		at++;
	}
	is(bounds, METRICS_LE + 1, "every bound is there, the last is +Inf");
	is(last, SAMPLES, "which has every value");
	is(high, 0, "none counts a value that is above it");
	is(low, 0, "none misses a value more than 1/64 below it");
	is(falls, 0, "they rise");
}

int main(void)
{
	test_lines();
	test_order();
	test_pieces();
	test_places();
	test_longest();
	test_bounds();
	return done();
}
