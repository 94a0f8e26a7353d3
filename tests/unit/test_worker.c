/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What happens to requests when something runs out: lanes, time, buffers,
 * clients, the responder itself. Through the interface of kernel sockets, which
 * needs no frames; the last part over frames.
 */
#include "worker_rig.h"

static void test_order(void)
{
	const char *text, *first, *second;
	uint16_t id;

	start();
	id = open_and_send("GET /compute?n=100000 HTTP/1.1\r\nHost: a\r\n\r\n" GET(1) GET(2));
	for (int i = 0; i < 200; i++)
		turn();
	text = heard(id);
	first = strstr(text, "\"n\":100000");
	second = strstr(text, "\"n\":1,");
	ok(first && second && first < second && says(second, "\"n\":2,"),
	   "the long first of three pipelined requests is answered first");
	is(stats.http_ok, 3, "all three are");
}

static unsigned in_lanes(void)
{
	return lane_busy(worker_lane(w));
}

/* What n rounds take when all lanes are taken, by the built-in table: 17 ns each in
 * bodies of 4 scalar chains, 30 ns on arm64. */
static unsigned full_ms(uint64_t n)
{
	uint64_t ps = lane_pass_ps(worker_lane(w), LANE_FNV1A32, LANES_DEFAULT);

	return (unsigned)(n * ps / 1000 / NS_PER_MS);
}

/* So many jobs that every lane is taken. */
static void fill_lanes(const char *request, uint16_t *id)
{
	for (int i = 0; i < LANES_DEFAULT; i++)
		id[i] = open_and_send(request);
	turn();
}

static void test_lanes(void)
{
	uint16_t id[LANES_DEFAULT], late, gone;

	start();
	fill_lanes(GET(2000000), id);
	is(in_lanes(), LANES_DEFAULT, "as many requests as lanes are admitted");
	late = open_and_send(GET(2000000));
	gone = open_and_send(GET(2000000));
	turn();
	is(stats.http_busy, 0, "two more wait: a lane will be free in %u ms", full_ms(2000000));
	worker_gone(w, id[0]);
	worker_check(w);
	is(stats.http_aborted, 1, "a client that goes away is counted");
	is(in_lanes(), LANES_DEFAULT - 1, "its lane is free at once");
	turn();
	is(in_lanes(), LANES_DEFAULT, "and who waits has it");
	worker_gone(w, gone);
	worker_check(w);
	is(stats.http_aborted, 2, "who goes away while he waits is counted");
	for (int i = 0; i < 4000 && stats.http_ok < LANES_DEFAULT; i++)
		turn();
	ok(says(heard(late), "200 OK"), "all others are answered");
	is(stats.http_ok, LANES_DEFAULT, "(63 and the one who waited)");
	is(stages.wait.count, LANES_DEFAULT, "and their waits recorded");
}

static unsigned number_behind(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? (unsigned)strtoul(at + strlen(name), NULL, 10) : 0;
}

static void test_busy(void)
{
	uint16_t id[LANES_DEFAULT], refused, asks;
	unsigned wait_ms, expected;
	const char *text;

	start();
	expected = full_ms(100000000);
	fill_lanes(GET(100000000), id);
	refused = open_and_send(GET(2000000));
	turn();
	text = heard(refused);
	ok(says(text, "503 "), "a wait beyond --max-wait-ms is refused at once");
	wait_ms = number_behind(text, "\"wait_ms\":");
	ok(wait_ms > expected / 20 * 19 && wait_ms < expected / 20 * 22,
	   "with the estimate for 10^8 rounds of 64: %u ms, all of it %u", wait_ms, expected);
	is(number_behind(text, "Retry-After: "), wait_ms / 1000 + 1,
	   "in whole seconds for Retry-After");
	is(stats.http_busy, 1, "and counted");
	is(stats.http_busy_late, 0, "not as late");
	ok(!worker_closing(w, refused), "its connection stays");
	worker_gone(w, id[5]);
	asks = open_and_send(GET(30000));
	turn();
	is(in_lanes(), LANES_DEFAULT, "a lane that was left is given away");
	pass_ms(200);
	ok(says(heard(asks), "\"n\":30000"), "and its job done");
}

/* Turns of 5 ms with slices of 50 us: a hundredth of what the table says. */
static void test_late(void)
{
	uint16_t id[LANES_DEFAULT], late;

	start();
	fill_lanes(GET(2000000), id);
	late = open_and_send(GET(2000000));
	pass_ms(90);
	is(worker_out(w, late)->len, 0, "who finds no lane waits");
	pass_ms(30);
	ok(says(heard(late), "503 "), "but not longer than --max-wait-ms, whatever was forecast");
	is(stats.http_busy_late, 1, "that is counted");
	is(stats.http_busy, 1, "as a refusal, too");
}

static void test_crowd(void)
{
	struct worker_params p = usual;
	uint16_t id[LANES_DEFAULT];
	unsigned most;

	p.max_socks = LANES_DEFAULT + WAITING_MAX + 10;
	p.max_wait_ms = 60000;
	start_with(p);
	fill_lanes(GET(20000), id);
	for (most = 0; most < WAITING_MAX + 10; most++)
		open_and_send(GET(20000));
	turn();
	is(stats.http_busy, 10, "no more than %d wait, however soon a lane is free", WAITING_MAX);
}

static void test_express(void)
{
	uint16_t id[LANES_DEFAULT], brief[LANE_EXPRESS + 1], behind;
	unsigned answered = 0;

	start();
	fill_lanes(GET(3000000), id);
	behind = open_and_send(GET(3000000));
	for (int i = 0; i <= LANE_EXPRESS; i++)
		brief[i] = open_and_send(GET(1000));
	turn();
	turn();
	for (int i = 0; i <= LANE_EXPRESS; i++)
		answered += says(heard(brief[i]), "200 OK");
	is(answered, LANE_EXPRESS + 1, "short jobs wait neither behind long ones in the lanes");
	is(worker_out(w, behind)->len, 0, "nor behind one that waits for a lane");
	is(in_lanes(), LANES_DEFAULT, "which it does not get from them");
}

/* All lanes are done at once, and somebody waits: the thread must not sleep. */
static void test_sleepless(void)
{
	struct worker_params p = usual;
	uint16_t behind = 0;

	p.lanes = 1;
	start_with(p);
	for (int i = 0; i < 1 + LANE_EXPRESS + 1; i++)
		behind = open_and_send(GET(1));
	turn();
	is(in_lanes() + worker_out(w, behind)->len, 0, "the lanes are free, and one waits");
	ok(worker_busy(w), "which is work to do");
	turn();
	ok(says(heard(behind), "200 OK") && !worker_busy(w), "until it is done");
}

/* Nor do short ones that never cease take its lane from a long one. */
static void test_short_stream(void)
{
	enum { CLIENTS = LANE_EXPRESS + 4 };
	struct worker_params p = usual;
	uint16_t brief[CLIENTS], lengthy;
	bool answered = false;

	p.lanes = 1;
	start_with(p);
	for (int i = 0; i < CLIENTS; i++)
		brief[i] = open_and_send(GET(16384));
	turn();
	lengthy = open_and_send(GET(100000));
	for (int turns = 0; turns < 1000 && !answered; turns++) {
		turn();
		for (int i = 0; i < CLIENTS; i++)
			if (says(heard(brief[i]), "200 OK"))
				must(send_bytes(brief[i], GET(16384), strlen(GET(16384))));
		answered = says(heard(lengthy), "200 OK");
	}
	ok(answered, "a long job has its lane while short ones come without end");
}

/* A place in line is not inherited by who gets the id next. */
static void test_line_left(void)
{
	uint16_t id[LANES_DEFAULT], first, gone, next;

	start();
	fill_lanes(GET(2000000), id);
	first = open_and_send(GET(2000000));
	gone = open_and_send(GET(2000000));
	turn();
	worker_gone(w, gone);
	pass_ms(95);
	next = open_and_send(GET(2000000));
	must(next == gone);
	pass_ms(5);
	ok(says(heard(first), "503 "), "one waits too long");
	is(stats.http_busy_late, 1, "who came just now, on the id of one behind him, does not");
	pass_ms(90);
	is(worker_out(w, next)->len, 0, "he waits as long as all");
}

static void test_short_line_left(void)
{
	uint16_t id[LANES_DEFAULT], gone = 0, behind;

	start();
	fill_lanes(GET(3000000), id);
	for (int i = 0; i < LANE_EXPRESS + 2; i++)
		gone = open_and_send(GET(1000));
	turn();
	worker_gone(w, gone); /* two of them wait in line */
	must(open_and_send(GET(3000000)) == gone);
	behind = open_and_send(GET(1000));
	turn();
	turn();
	ok(says(heard(behind), "200 OK"), "no long job stands in the line of the short ones");
}

static void test_timeouts(void)
{
	uint16_t idle, head, body;

	start();
	idle = worker_open(w, now);
	head = open_and_send("GET /comp");
	body = open_and_send("POST /compute HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n"
			     "Content-Type: application/json\r\n\r\n{");
	pass_ms(900);
	ok(!worker_closing(w, head), "a head may take a while");
	pass_ms(200);
	ok(worker_closing(w, head) && stats.http_header_timeouts == 1, "but not for ever");
	ok(!worker_closing(w, body), "a body has its own time");
	pass_ms(1000);
	ok(worker_closing(w, body) && stats.http_body_timeouts == 1, "and it ends too");
	ok(!worker_closing(w, idle), "who says nothing is left alone for longer");
	pass_ms(3000);
	ok(worker_closing(w, idle) && stats.http_idle_timeouts == 1, "but closed at last");
	ok(!worker_over(w, idle), "a closed connection waits for the peer's end");
	worker_eof(w, idle, now);
	ok(worker_over(w, idle), "and is over when it has come");
	pass_ms(TCP_LINGER_MS);
	ok(worker_over(w, head), "or when it does not come in time");
}

static void test_buffers(void)
{
	static char part[3000] = "POST /compute HTTP/1.1\r\nHost: a\r\nContent-Length: 16000\r\n"
				 "Content-Type: application/json\r\n\r\n";
	uint16_t id[LARGE + 1];
	unsigned full = 0;

	start();
	memset(part + strlen(part), ' ', sizeof part - strlen(part));
	for (int i = 0; i <= LARGE; i++) {
		id[i] = worker_open(w, now);
		full += !send_bytes(id[i], part, sizeof part);
	}
	is(full, 1, "one upload more than there are large blocks has to wait");
	worker_gone(w, id[0]);
	worker_check(w);
	ok(send_bytes(id[LARGE], part + BUF_SMALL, 900), "until one of them is gone");
	for (int i = 1; i <= LARGE; i++)
		worker_gone(w, id[i]);
	worker_check(w);
	for (int i = 0; i < SOCKS; i++)
		ok(worker_open(w, now) != WORKER_NONE || i != SOCKS - 1, "all ids are free again");
	is(worker_open(w, now), WORKER_NONE, "and no more than those");
}

static void test_room_again(void)
{
	static const char head[] = "POST /compute HTTP/1.1\r\nHost: a\r\nContent-Length: 3000\r\n"
				   "Content-Type: application/json\r\n\r\n";
	static char body[3000];
	uint16_t id[LARGE + 1], ready;

	start();
	memset(body, ' ', sizeof body);
	for (int i = 0; i <= LARGE; i++)
		id[i] = open_and_send(head);
	for (int i = 0; i <= LARGE; i++)
		send_bytes(id[i], body, 2500);
	turn();
	while ((ready = worker_ready(w)) != WORKER_NONE)
		ok(ready != id[LARGE], "who found no room is not called while there is none");
	worker_gone(w, id[0]);
	turn();
	is(worker_ready(w), id[LARGE], "but as soon as there is");
}

/* Who neither reads nor ends is let go after the linger, with what he left. */
static void test_unread(void)
{
	uint16_t id;

	start();
	id = open_and_send("GET /healthz HTTP/1.0\r\n\r\n");
	turn();
	ok(worker_closing(w, id) && worker_out(w, id)->len, "an answer that is not read");
	pass_ms(TCP_LINGER_MS + 10);
	ok(worker_over(w, id) && !worker_out(w, id)->len, "is given up at last");
}

static void test_output_full(void)
{
	unsigned sent = 0;
	uint16_t id;

	start();
	id = worker_open(w, now);
	/* a client that asks and never reads */
	for (; sent < 200 && send_bytes(id, GET(1), strlen(GET(1))); sent++)
		turn();
	is(sent, 200, "200 requests are taken");
	ok(worker_out(w, id)->len < 20000, "but no more is answered than a block holds");
	is(stats.http_ok < 200, 1, "the others wait");
	for (int i = 0; i < 400; i++) {
		heard(id);
		turn();
	}
	is(stats.http_ok, 200, "until there is room: none is lost");
}

static void test_drain(void)
{
	uint16_t idle, busy;
	const char *text;

	start();
	idle = open_and_send(GET(1));
	turn();
	heard(idle);
	busy = open_and_send(GET(1000000));
	turn();
	worker_drain(w);
	worker_close_idle(w, now);
	ok(worker_closing(w, idle), "drain closes who is idle");
	ok(!worker_closing(w, busy), "and lets finish who is not");
	for (int i = 0; i < 100; i++)
		turn();
	text = heard(busy);
	ok(says(text, "200 OK") && says(text, "Connection: close"), "with an answer that says so");
	ok(worker_closing(w, busy), "then closes it too");
}

/* --- over frames --------------------------------------------------------------------- */

static void test_no_buffer(void)
{
	static const char head[] = "GET /compute?n=3 HTTP/1.1\r\nHost: a\r\n";
	static const char rest[] = "ET / HTTP/1.1\r\nHost: a\r\n\r\nG";
	uint16_t hog[SOCKS];
	uint32_t ack;

	start();
	for (int i = 0; i < SOCKS; i++)
		hog[i] = open_and_send("G");
	/* They hold all but CONNS small blocks; these and the large ones go to
	 * answers that nobody reads, while the next request has begun. */
	for (int i = 0; i < CONNS + LARGE; i++)
		send_bytes(hog[i], rest, strlen(rest));
	ack = connect_port(1);
	frame(1, WIRE_ACK, 1001, ack, head);
	is(stats.tcp_no_buffer, 1, "a segment that no buffer can hold is not accepted");
	for (int i = 0; i < 20; i++)
		worker_gone(w, hog[i]);
	frame(1, WIRE_ACK, 1001, ack, head);
	frame(1, WIRE_ACK, 1001 + (uint32_t)strlen(head), ack, "\r\n");
	is(last.ack, 1001 + strlen(head) + 2, "sent again it is, and nothing is lost");
	is(stats.tcp_no_buffer, 1, "and it was one segment");
	ok(last.len > 100, "the request is answered");
}

/* A segment for which there is no buffer leaves the parser as it was, whatever
 * other sessions did in between. */
static void test_no_buffer_in_body(void)
{
	static const char head[] = "POST /compute HTTP/1.1\r\nHost: a\r\nContent-Length: 7\r\n"
				   "Content-Type: application/json\r\nExpect: 100-continue\r\n\r\n";
	static char other[3000] = "POST /compute HTTP/1.1\r\nHost: a\r\nContent-Length: 3333\r\n"
				  "Content-Type: application/json\r\n\r\n";
	uint16_t hog[LARGE + SOCKS];
	uint32_t ack, seq = 1001 + (uint32_t)strlen(head);

	start();
	memset(other + strlen(other), ' ', sizeof other - strlen(other));
	ack = connect_port(1);
	frame(1, WIRE_ACK, 1001, ack, head);
	ok(last.len && says((const char *)last.data, "100 Continue"),
	   "a client waits for its body");
	for (int i = 0; i < SOCKS; i++) {
		hog[i] = worker_open(w, now);
		send_bytes(hog[i], other, sizeof other - 200);
	}
	frame(1, WIRE_ACK, seq, ack, "{\"n\"");
	for (int i = 0; i < SOCKS; i++)
		worker_gone(w, hog[i]);
	frame(1, WIRE_ACK, seq, ack + 25, "{\"n\"");
	frame(1, WIRE_ACK, seq + 4, ack + 25, ":5}");
	ok(says((const char *)last.data, "200 OK") && says((const char *)last.data, "\"n\":5"),
	   "its body is read by its own length");
}

static void test_evict(void)
{
	static const char get[] = "GET /compute?n=3 HTTP/1.1\r\nHost: a\r\n\r\n";
	uint32_t ack;

	start();
	for (uint16_t port = 1; port <= CONNS; port++)
		connect_port(port);
	connect_port(9);
	is(stats.tcp_table_full, 1, "fresh connections keep their places");
	pass_ms(1100);
	ack = connect_port(9);
	is(stats.http_idle_evicted, 1, "one that was silent for a second gives its place");
	frame(9, WIRE_ACK, 1001, ack, get);
	ok(says((const char *)last.data, "200 OK"), "to a client with a request");
	connect_port(10);
	connect_port(11);
	connect_port(12);
	connect_port(13);
	is(stats.http_idle_evicted, CONNS, "each newcomer takes one, but not of another newcomer");
	is(stats.tcp_table_full, 2, "then they are told nothing");
}

/* What came past a gap waits in a block of its own. When the gap is filled and
 * there is no buffer, it is neither lost nor acknowledged: it comes again. */
static void test_no_buffer_behind_gap(void)
{
	static const char head[] = "GET /compute?n=3 HTTP/1.1\r\nHost: a\r\nX: ";
	static char first[1201], second[1201], body[3000];
	uint32_t ack, seq = 1001 + (uint32_t)strlen(head);
	uint16_t hog[SOCKS];

	start();
	memset(body, ' ', sizeof body);
	memset(first, 'x', sizeof first - 1);
	memset(second, 'y', sizeof second - 1);
	memcpy(second + 1196, "\r\n\r\n", 4);
	ack = connect_port(1);
	frame(1, WIRE_ACK, 1001, ack, head);
	frame(1, WIRE_ACK, seq + 9, ack, first);
	frame(1, WIRE_ACK, seq + 9 + 1200, ack, second);
	is(stats.tcp_out_of_order, 2, "two segments past a gap are kept");
	for (int i = 0; i < SOCKS; i++) {
		hog[i] = open_and_send(
			"POST /compute HTTP/1.1\r\nHost: a\r\nContent-Length: 9999\r\n"
			"Content-Type: application/json\r\n\r\n");
		send_bytes(hog[i], body, sizeof body);
	}
	frame(1, WIRE_ACK, seq, ack, "gap gap g");
	worker_publish(w);
	ok(last.ack == seq + 9 && stats.tcp_reneged == 1,
	   "when it is filled they find no room, and are not acknowledged");
	for (int i = 0; i < SOCKS; i++)
		worker_gone(w, hog[i]);
	frame(1, WIRE_ACK, seq + 9 + 1200, ack, second);
	frame(1, WIRE_ACK, seq + 9, ack, first);
	ok(last.ack == seq + 9 + 2400 && last.len > 100, "sent again they are, and answered");
	is(stats.http_ok, 1, "once");
}

static void test_refuse_when_draining(void)
{
	start();
	worker_drain(w);
	worker_close_idle(w, now);
	frame(7, WIRE_SYN, 5, 0, "");
	ok(last.flags & WIRE_RST, "drain answers a SYN with RST");

	start();
	frame(7, WIRE_SYN, 5, 0, "");
	worker_drain(w);
	worker_close_idle(w, now);
	frame(7, WIRE_ACK, 6, last.seq + 1, "");
	ok(last.flags & WIRE_RST, "and a handshake that was under way");
	is(worker_live(w), 0, "so that it comes to an end");
}

/* What the I/O thread asks and tells besides frames. */
static void test_edge(void)
{
	static struct stats_block later;
	static struct stage_block later_stages;
	struct icmp_event event = { .remote_port = 77, .local_port = 8080, .mtu = 1400 };

	start();
	connect_port(1);
	is(stats.tcp_opened, 1, "counted where the maps are not yet there");
	worker_set_blocks(w, &later, &later_stages);
	is(later.tcp_opened, 1, "carried over to the maps");
	connect_port(2);
	ok(later.tcp_opened == 2 && stats.tcp_opened == 1, "and counted there from now on");
	ok(!worker_owns(w, &event), "no connection of ours");
	worker_mtu(w, &event, now);
	worker_publish(w);
	is(later.tcp_mtu_stray, 1, "a path's MTU for a connection that is none");
	ok(!worker_due(w), "nothing is due");
}

/* An id that is freed while it stands in line for the socket rung comes back. */
static void test_gone_in_line(void)
{
	uint16_t id;

	start();
	id = open_and_send(GET(1));
	turn();
	worker_gone(w, id);
	is(worker_ready(w), WORKER_NONE, "who is gone is not called");
	is(worker_open(w, now), id, "but can be opened again");
	ok(!worker_eof_seen(w, id), "as a new one");
}

/* And one that is freed while it waits for room comes back once. */
static void test_gone_without_room(void)
{
	static const char head[] = "POST /compute HTTP/1.1\r\nHost: a\r\nContent-Length: 3000\r\n"
				   "Content-Type: application/json\r\n\r\n";
	static char body[3000];
	uint16_t id[LARGE + 1];
	unsigned opened = LARGE - 1;

	start();
	memset(body, ' ', sizeof body);
	for (int i = 0; i <= LARGE; i++)
		id[i] = open_and_send(head);
	for (int i = 0; i <= LARGE; i++)
		send_bytes(id[i], body, 2500);
	worker_gone(w, id[LARGE]);
	worker_gone(w, id[0]);
	turn();
	while (worker_ready(w) != WORKER_NONE)
		;
	while (opened <= SOCKS && worker_open(w, now) != WORKER_NONE)
		opened++;
	is(opened, SOCKS, "who waited for room and is gone leaves his id, once");
	worker_check(w);
}

/* XDP stamps on another core, whose clock may be ahead; or the stamp is old bytes. */
static void test_stamps(void)
{
	static const struct {
		const char *name;
		int64_t age_ns;
		bool believed;
	} cases[] = {
		{ "a microsecond old", NS_PER_US, true },
		{ "now", 0, true },
		{ "a microsecond ahead", -NS_PER_US, false },
		{ "an hour ahead", -3600ll * NS_PER_S, false },
		{ "130 s old", 130ll * NS_PER_S, true },
		{ "two minutes and a half old", 150ll * NS_PER_S, false },
		{ "of the year 2554", INT64_MIN, false },
	};

	for (unsigned i = 0; i < array_size(cases); i++) {
		uint64_t longest = cases[i].believed ? (uint64_t)cases[i].age_ns : 0;
		uint32_t at;

		start();
		now = 7200ull * NS_PER_S;
		stamp_ns = 0;
		at = connect_port(1);
		stamp_ns = now - (uint64_t)cases[i].age_ns;
		frame(1, WIRE_ACK, 1001, at, GET(100));
		emit_after(0);
		is(stats.http_ok, 1, "a stamp %s: answered", cases[i].name);
		is(stats.clock_backwards, !cases[i].believed, "counted, if it cannot be");
		is(stages.steer.count, cases[i].believed, "steer: recorded, if it can");
		is(stages.steer.max_ns, longest, "as it is");
		is(stages.total.count, 1, "total: recorded in any case");
		ok(stages.total.max_ns < longest + NS_PER_MS, "from the pop, if the stamp is none");
	}
	stamp_ns = 0;
}

int main(void)
{
	test_order();
	test_lanes();
	test_busy();
	test_late();
	test_crowd();
	test_express();
	test_sleepless();
	test_short_stream();
	test_line_left();
	test_short_line_left();
	test_timeouts();
	test_buffers();
	test_room_again();
	test_unread();
	test_output_full();
	test_drain();
	test_no_buffer();
	test_no_buffer_in_body();
	test_evict();
	test_no_buffer_behind_gap();
	test_refuse_when_draining();
	test_edge();
	test_gone_in_line();
	test_gone_without_room();
	test_stamps();
	return done();
}
