/* SPDX-License-Identifier: GPL-2.0-only */
/* What every answer says of the time that it took: the stages that it had, no others. */
#include "worker_rig.h"

/* The Server-Timing of an answer; "" when there is none. */
static const char *timing_of(const char *text)
{
	static char value[200];
	const char *at = strstr(text, "Server-Timing: ");

	value[0] = '\0';
	if (at && at < strstr(text, "\r\n\r\n"))
		sscanf(at, "Server-Timing: %199[^\r]", value);
	return value;
}

static const char *timing_after(const char *request, unsigned turns)
{
	uint16_t id = open_and_send(request);
	const char *text;

	while (turns--)
		turn();
	text = timing_of(heard(id));
	worker_gone(w, id);
	return text;
}

#define HOST " HTTP/1.1\r\nHost: a\r\n\r\n"

static void test_socket(void)
{
	start();
	is_str(timing_after(GET(1), 1), "parse;dur=0.000, wait;dur=0.000, compute;dur=0.050",
	       "a result: every stage but steer, which is of frames");
	is_str(timing_after("GET /healthz" HOST, 0), "", "what is answered at once has no stage");
	is_str(timing_after("GET /nothing" HOST, 0), "", "a refusal likewise");
	ok(says(timing_after(GET(1) GET(1), 2), "compute"), "of two, each has its own");

	uint16_t id = open_and_send(GET(1) "GET /healthz" HOST);
	turn();
	ok(says(timing_of(heard(id)), "compute"), "a result");
	turn();
	is_str(timing_of(heard(id)), "", "leaves no stage behind for the next answer");
}

/* Every lane is taken, and the wait is longer than promised. */
static void test_busy(void)
{
	uint16_t id;

	start();
	for (int i = 0; i < LANES_DEFAULT; i++)
		open_and_send(GET(100000000));
	turn();
	id = open_and_send(GET(100000000));
	for (int i = 0; i < 10000 && !stats.http_busy; i++)
		turn();
	const char *text = heard(id);
	ok(says(text, "HTTP/1.1 503 "), "busy");
	ok(!strncmp(timing_of(text), "parse;dur=0.0", 13) && says(text, ", wait;dur=") &&
		   !says(text, "compute;dur"),
	   "has parsed and waited, not computed: %s", timing_of(text));
}

static const char *timing_of_frame(uint16_t port, const char *request, uint64_t stamp)
{
	uint32_t ack;

	stamp_ns = 0;
	ack = connect_port(port);
	stamp_ns = stamp;
	frame(port, WIRE_ACK, 1001, ack, request);
	emit_after(0);
	return timing_of(last.len ? (const char *)last.data : "");
}

static void test_frames(void)
{
	start();
	is_str(timing_of_frame(1, GET(1), now - 7000),
	       "steer;dur=0.107, parse;dur=0.000, wait;dur=0.000, compute;dur=0.050",
	       "over frames: from XDP's stamp");
	is_str(timing_of_frame(2, "GET /nothing" HOST, now - 7000), "steer;dur=0.107",
	       "steer is of every answer");
	is_str(timing_of_frame(3, "OPTIONS *" HOST, now + NS_PER_S), "",
	       "a stamp from the future is no time");
	ok(last.len && says((const char *)last.data, "204 No Content"), "(answered)");
}

int main(void)
{
	test_socket();
	test_busy();
	test_frames();
	return done();
}
