/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The access log, but for its thread: lines, byte by byte, and what records a worker
 * makes of requests: answered, refused, given up, over frames and over sockets.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <time.h>

#include "accesslog.h"
#include "http.h"
#include "spsc.h"
#include "worker_rig.h"

/* --- lines ---------------------------------------------------------------------------- */

static char line[ACCESSLOG_LINE + 1];

static const char *line_of(const struct accesslog_record *r, uint64_t epoch_ns)
{
	size_t n;

	memset(line, '#', sizeof line);
	n = accesslog_line(r, epoch_ns, line);
	if (n > ACCESSLOG_LINE || line[n] != '#')
		return "written beyond its length";
	line[n] = '\0';
	return line;
}

static struct accesslog_record plain(const char *target)
{
	struct accesslog_record r = {
		.at_ns = 5 * (uint64_t)NS_PER_S + 123456789,
		.n = 1000,
		.steer_ns = 1043,
		.parse_ns = 402,
		.wait_ns = 0,
		.compute_ns = 3525,
		.total_ns = 5210,
		.peer = { [10] = 255, 255, 192, 0, 2, 1 },
		.port = 40000,
		.status = 200,
		.target_len = (uint16_t)strlen(target),
		.has_target = true,
		.has_job = true,
	};

	memcpy(r.target, target, min_u64(strlen(target), sizeof r.target));
	return r;
}

static void test_lines(void)
{
	static char target[ACCESSLOG_TARGET + 2];
	struct accesslog_record r = plain("/compute?n=1000");

	is_str(line_of(&r, 0),
	       "1970-01-01T00:00:05.123456Z 192.0.2.1:40000 GET \"/compute?n=1000\" 200 1000 "
	       "fnv1a32 1043 402 0 3525 5210 bypass\n",
	       "a request over frames");
	r.is_sock = true;
	r.steer_ns = ACCESSLOG_NO_TIME;
	r.method = HTTP_POST;
	r.alg = LANE_MIX64;
	is_str(line_of(&r, UINT64_C(784111777) * NS_PER_S - r.at_ns + 999),
	       "1994-11-06T08:49:37.000000Z 192.0.2.1:40000 POST \"/compute?n=1000\" 200 1000 "
	       "mix64 - 402 0 3525 5210 socket\n",
	       "and over a socket");
	r = (struct accesslog_record){ .steer_ns = ACCESSLOG_NO_TIME,
				       .parse_ns = ACCESSLOG_NO_TIME,
				       .wait_ns = ACCESSLOG_NO_TIME,
				       .compute_ns = ACCESSLOG_NO_TIME,
				       .total_ns = ACCESSLOG_NO_TIME,
				       .status = 400 };
	is_str(line_of(&r, 0), "1970-01-01T00:00:00.000000Z [::]:0 - - 400 - - - - - - - bypass\n",
	       "nothing known but the refusal");
	r.status = 0;
	ok(says(line_of(&r, 0), " - - - - - - - - - - bypass\n"), "nor that");

	r = plain("/\x01 \"\\\x7f\xc3\xa9~!");
	ok(says(line_of(&r, 0), " \"/\\x01\\x20\\x22\\x5c\\x7f\\xc3\\xa9~!\" "),
	   "what would spoil the line is escaped");
	memset(target, 'a', ACCESSLOG_TARGET);
	r = plain(target);
	ok(says(line_of(&r, 0), "aaa\" 200"), "the longest target is whole");
	target[ACCESSLOG_TARGET] = 'b';
	r = plain(target);
	ok(says(line_of(&r, 0), "aaa\"... 200"), "one byte more is not");
	for (unsigned method = HTTP_HEAD_METHOD; method <= HTTP_OTHER; method++) {
		static const char *const names[] = {
			"", "HEAD", "POST", "OPTIONS", "OTHER", "OTHER"
		};
		char want[20];

		r.method = (uint8_t)method;
		snprintf(want, sizeof want, " %s \"", names[method]);
		ok(says(line_of(&r, 0), want), "method %s", names[method]);
	}
}

/* Every number and every word as long as it can be. */
static void test_longest(void)
{
	struct accesslog_record r;

	memset(&r, 0xff, sizeof r);
	r.peer[0] = 0xfe;
	r.steer_ns = r.parse_ns = r.wait_ns = r.compute_ns = r.total_ns = UINT64_MAX - 1;
	r.method = HTTP_OPTIONS;
	r.alg = LANE_FNV1A32;
	r.status = 999;
	r.has_target = r.has_job = r.is_sock = true;
	size_t n = strlen(line_of(&r, 0));
	ok(n <= ACCESSLOG_LINE && n > ACCESSLOG_LINE - 40, "the longest line has %zu bytes", n);
}

/* Against the C library: times of two centuries, and every shape of an address. */
static void test_times_and_peers(void)
{
	struct accesslog_record r = plain("/");
	uint64_t state = 88172645463325252ull;
	unsigned wrong = 0, wrong_peers = 0;

	for (int i = 0; i < 20000; i++) {
		char want[80], ip[INET6_ADDRSTRLEN];
		time_t s;

		state ^= state << 13, state ^= state >> 7, state ^= state << 17;
		s = (time_t)(state % 6300000000);
		r.at_ns = 7;
		strftime(want, sizeof want, "%Y-%m-%dT%H:%M:%S.123456Z ", gmtime(&s));
		line_of(&r, (uint64_t)s * NS_PER_S + 123456000);
		wrong += strncmp(line, want, strlen(want)) != 0;

		for (int k = 0; k < 16; k++) /* many zeros, so that there are runs of them */
			r.peer[k] = state >> (3 * k) & 4 ? (uint8_t)(state >> (2 * k + 8)) : 0;
		if (i & 1)
			memset(r.peer, 0, 2 * (size_t)(state % 9));
		r.peer[0] |= 0x20; /* the C library writes ::a.b.c.d in its own way */
		inet_ntop(AF_INET6, r.peer, ip, sizeof ip);
		snprintf(want, sizeof want, "Z [%s]:40000 GET", ip);
		wrong_peers += !says(line_of(&r, 0), want);
	}
	is(wrong, 0, "times");
	is(wrong_peers, 0, "addresses");
}

/* --- records ---------------------------------------------------------------------------- */

enum { RECORDS = 256 };
static struct spsc ring;
static uint8_t space[RECORDS * sizeof(struct accesslog_record)] __attribute__((aligned(64)));

static void start_log(unsigned records)
{
	struct worker_params p = usual;

	spsc_init(&ring, space, records, sizeof(struct accesslog_record));
	p.log = &ring;
	start_with(p);
}

/* What the next record says, without its time; "" when there is none. */
static const char *next_line(void)
{
	struct accesslog_record r;

	if (!spsc_take(&ring, &r))
		return "";
	line_of(&r, 0);
	must(strchr(line, '\n') == line + strlen(line) - 1);
	line[strlen(line) - 1] = '\0';
	return line + strlen("1970-01-01T00:00:00.000000Z ");
}

static uint16_t open_logged(const char *text)
{
	static const uint8_t peer[16] = { 0x20, 1, 0xd, 0xb8, [15] = 7 };
	uint16_t id = worker_open(w, now);

	worker_peer(w, id, peer, 40007);
	send_bytes(id, text, strlen(text));
	return id;
}

#define PEER "[2001:db8::7]:40007 "
#define HOST " HTTP/1.1\r\nHost: a\r\n\r\n"

static void test_sock(void)
{
	uint16_t id;

	start_log(RECORDS);
	id = open_logged(GET(10));
	is_str(next_line(), "", "no record before the answer");
	turn();
	is_str(next_line(), PEER "GET \"/compute?n=10\" 200 10 fnv1a32 - 0 0 50000 50000 socket",
	       "a result");
	send_bytes(id, "GET /nothing" HOST, strlen("GET /nothing" HOST));
	is_str(next_line(), PEER "GET \"/nothing\" 404 - - - - - - 0 socket",
	       "a refusal has nothing of the request before it");
	open_logged("POST /compute" HOST);
	turn();
	is_str(next_line(), "", "a long one has none yet");
	open_logged("OPTIONS *" HOST);
	ok(says(next_line(), "OPTIONS \"*\" 204 - - "), "OPTIONS");
	open_logged("OPTIONS http://b" HOST);
	ok(says(next_line(), "OPTIONS \"\" 204 "), "an absolute target without a path");
	open_logged("GET http://b/healthz?a=\"" HOST);
	ok(says(next_line(), "GET \"http://b/healthz?a=\" 400 - - "),
	   "a target up to the byte that no URI may have");
	open_logged("DELETE /compute" HOST);
	ok(says(next_line(), "OTHER \"/compute\" 405 - - "), "a method that is not allowed");
	open_logged("G@T / HTTP/1.1\r\n\r\n");
	ok(says(next_line(), PEER "- - 400 - - - - - - 0 socket"), "no method, no target");
	open_logged("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 99999\r\n\r\n");
	ok(says(next_line(), "POST \"/echo\" 413 "), "too large");
	id = open_logged("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n");
	is_str(next_line(), "", "a body is awaited");
	send_bytes(id, "ab", 2);
	ok(says(next_line(), "POST \"/echo\" 200 - - "), "and comes");
	id = open_logged("GET /metrics" HOST);
	for (int i = 0; i < 200; i++) {
		turn();
		worker_sent(w, id, worker_out(w, id)->len, now);
		if (i == 2)
			is_str(next_line(), "", "the text of /metrics is under way");
	}
	ok(says(next_line(), "GET \"/metrics\" 200 - - - - - - ") && !says(line, " 0 socket"),
	   "its time is that of all of it");
}

static void test_long_target(void)
{
	static char request[4096];

	start_log(RECORDS);
	strcpy(request, "GET /");
	memset(request + 5, 'x', 3000);
	strcpy(request + 3005, HOST);
	open_logged(request);
	ok(says(next_line(), "GET \"/xxx") && says(line, "x\"... 414 - - "),
	   "a target that is refused for its length is shown as far as it is kept");
	request[5 + 1000] = 0;
	strcat(request, HOST);
	open_logged(request);
	ok(says(next_line(), "x\"... 404 "), "and one that is not");
}

static void test_pipelined(void)
{
	uint16_t id;

	start_log(RECORDS);
	id = open_logged(GET(1) "GET /healthz" HOST GET(2) "HEAD /echo" HOST);
	for (int i = 0; i < 6; i++)
		turn();
	ok(says(next_line(), "\"/compute?n=1\" 200 1 fnv1a32 - 0 0 50000 50000 "), "first");
	ok(says(next_line(), "\"/healthz\" 200 - - - - - - 50000 socket"),
	   "second: it waited for the first");
	ok(says(next_line(), "\"/compute?n=2\" 200 2 fnv1a32 - "), "third");
	ok(says(next_line(), "HEAD \"/echo\" 200 - - "), "fourth");
	is_str(next_line(), "", "and no more");
	heard(id);
}

static void test_unanswered(void)
{
	uint16_t id;

	start_log(RECORDS);
	id = open_logged(GET(100000000));
	turn();
	worker_gone(w, id);
	is_str(next_line(),
	       PEER "GET \"/compute?n=100000000\" - 100000000 fnv1a32 - 0 - - - socket",
	       "who goes away while it is computed");
	id = open_logged(GET(7));
	worker_gone(w, id);
	ok(says(next_line(), "\"/compute?n=7\" - 7 fnv1a32 - - - - - socket"), "before it is");
	id = open_logged("GET /metrics" HOST);
	turn();
	worker_gone(w, id);
	ok(says(next_line(), "GET \"/metrics\" - - - - - - - - socket"), "in the middle of a text");
	is(stats.http_aborted, 3, "all are counted so");
	id = open_logged("GET /heal");
	worker_gone(w, id);
	id = open_logged("");
	worker_gone(w, id);
	is_str(next_line(), "", "who goes away before his request is whole asked for nothing");

	for (int i = 0; i < LANES_DEFAULT; i++)
		open_logged(GET(100000000));
	turn();
	open_logged(GET(100000000));
	for (int i = 0; i < 10000 && !stats.http_busy; i++)
		turn();
	ok(says(next_line(), " 503 100000000 fnv1a32 - 0 "),
	   "busy: it has parsed, and not computed");
}

/* --- over frames ------------------------------------------------------------------------ */

static void test_frames(void)
{
	uint32_t ack;

	start_log(RECORDS);
	ack = connect_port(5);
	stamp_ns = now - 1000;
	frame(5, WIRE_ACK, 1001, ack, GET(3));
	is_str(next_line(),
	       "10.0.0.1:5 GET \"/compute?n=3\" 200 3 fnv1a32 1000 0 0 50000 51000 bypass",
	       "over frames: the peer, and XDP's stamp");
	stamp_ns = now + 1000;
	frame(5, WIRE_ACK, 1001 + (uint32_t)strlen(GET(3)), ack, "GET /echo" HOST);
	is_str(next_line(), "10.0.0.1:5 GET \"/echo\" 200 - - - - - - 0 bypass",
	       "a stamp from the future is none");
	stamp_ns = 0;
	ack = connect_port(6);
	frame(6, WIRE_ACK, 1001, ack, GET(100000000));
	frame(6, WIRE_RST, 1001 + (uint32_t)strlen(GET(100000000)), 0, "");
	ok(says(next_line(), "10.0.0.1:6 GET \"/compute?n=100000000\" - 100000000 fnv1a32 "),
	   "a reset");
}

/* --- the ring ------------------------------------------------------------------------------ */

static void test_full(void)
{
	start_log(4);
	for (int i = 0; i < 7; i++)
		open_logged("GET /healthz" HOST);
	is(stats.http_log_lost, 3, "a full ring loses lines, which are counted");
	is(stats.http_ok, 7, "and no answer");
	for (int i = 0; i < 4; i++)
		ok(says(next_line(), "/healthz"), "what had room is there");
	is_str(next_line(), "", "no more");
	open_logged("GET /echo" HOST);
	ok(says(next_line(), "/echo"), "and there is room again");
}

static void test_off(void)
{
	struct worker_params p = usual;
	size_t off = worker_footprint(&p), on;

	p.log = &ring;
	on = worker_footprint(&p);
	ok(on - off >= (CONNS + SOCKS) * sizeof(struct accesslog_record) &&
		   on - off < (CONNS + SOCKS + 1) * sizeof(struct accesslog_record),
	   "without a log there is no memory for it");
	start();
	open_logged("GET /healthz" HOST);
	is(stats.http_ok + stats.http_log_lost, 1, "and nothing is recorded, or lost");
}

int main(void)
{
	test_lines();
	test_longest();
	test_times_and_peers();
	test_sock();
	test_long_target();
	test_pipelined();
	test_unanswered();
	test_frames();
	test_full();
	test_off();
	return done();
}
