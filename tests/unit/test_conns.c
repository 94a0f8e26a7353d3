/* SPDX-License-Identifier: GPL-2.0-only */
/* What the list of connections says, and when. */
#include <pthread.h>
#include "conns.h"
#include "worker_rig.h"

static struct conn_entry entry[CONNS + SOCKS];
static struct conns conns;

static void start_list(void)
{
	start();
	memset(entry, 0, sizeof entry);
	conns = (struct conns){ .entry = entry, .port = 8080 };
}

static void publish(void)
{
	conns_publish(&conns, w, now);
}

static unsigned listed(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < CONNS + SOCKS; i++) {
		must(!(entry[i].seq & 1));
		n += entry[i].state != CONN_free;
	}
	return n;
}

static void test_frames(void)
{
	static const uint8_t peer[16] = { [10] = 255, 255, 10, 0, 0, 1 };
	uint64_t opened_ns;
	uint32_t at;

	start_list();
	publish();
	is(listed(), 0, "nobody");
	at = connect_port(4711);
	opened_ns = now - 50 * NS_PER_US; /* a turn behind its last segment */
	now += NS_PER_S;
	publish();
	is(listed(), 1, "one");
	is(entry[0].state, CONN_established, "established");
	is(entry[0].doing, DOING_idle, "and idle");
	ok(!memcmp(entry[0].remote, peer, 16) && entry[0].remote_port == 4711, "its peer");
	is(entry[0].local_port, 8080, "our port");
	is(entry[0].opened_ns, opened_ns, "since when");
	is(entry[0].seen_ns, now, "as of now");
	is(entry[0].mss, 1460, "MSS of its SYN");
	is(entry[0].cwnd, 14600, "its congestion window");
	is(entry[0].rto_us, 1000000, "its time-out");

	frame(4711, WIRE_ACK, 1001, at, "GET /");
	publish();
	is(entry[0].doing, DOING_head, "a piece of a head");
	is(entry[0].bytes_in, 5, "five bytes");
	frame(4711, WIRE_ACK, 1006, at, "healthz HTTP/1.1\r\nHost: a\r\n\r\n");
	publish();
	is(entry[0].doing, DOING_answering, "answered, not yet acknowledged");
	is(entry[0].requests, 1, "a request");
	is(entry[0].bytes_in, 5 + 29, "all bytes");
	ok(entry[0].bytes_out > 100 && entry[0].unacked == entry[0].bytes_out && !entry[0].unsent,
	   "what is on its way is unacknowledged");
	emit_after(300 * NS_PER_MS);
	emit_after(1500 * NS_PER_MS);
	publish();
	ok(entry[0].retransmits >= 1, "it is sent again");
	ok(entry[0].rto_us >= 2000000, "the time-out is doubled");
	frame(4711, WIRE_ACK, 1035, at + (uint32_t)entry[0].bytes_out, "");
	publish();
	is(entry[0].doing, DOING_idle, "acknowledged: idle");
	is(entry[0].unacked, 0, "nothing under way");
}

static void test_phases(void)
{
	uint32_t at;

	start_list();
	at = connect_port(1);
	frame(1, WIRE_ACK, 1001, at,
	      "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc");
	at = connect_port(2);
	frame(2, WIRE_ACK, 1001, at, GET(100000000));
	at = connect_port(3);
	frame(3, WIRE_ACK | WIRE_FIN, 1001, at, "");
	publish();
	is(entry[0].doing, DOING_body, "waits for the rest of a body");
	is(entry[1].doing, DOING_lane, "in a lane");
	is(entry[2].doing, DOING_closing, "closing");
	is(entry[2].state, CONN_last_ack, "in LAST-ACK");
	frame(2, WIRE_RST, 1001 + (uint32_t)strlen(GET(100000000)), 0, "");
	publish();
	is(listed(), 2, "who is gone is not shown any more");
	is(entry[1].opened_ns, 0, "nor what was his");
	at = connect_port(4);
	publish();
	is(listed(), 3, "the next one");
	is(entry[1].remote_port, 4, "has the slot");
	is(entry[1].requests + entry[1].bytes_in, 0, "with counts of its own");
}

static void test_sockets(void)
{
	static const uint8_t peer[16] = { 0xfd, 0x88, [15] = 2 };
	uint16_t id;

	start_list();
	id = open_and_send("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
	worker_peer(w, id, peer, 5000);
	publish();
	is(listed(), 1, "a socket");
	is(entry[id].state, CONN_socket, "is said to be one");
	ok(!memcmp(entry[id].remote, peer, 16) && entry[id].remote_port == 5000, "its peer");
	is(entry[id].local_port, 8080, "our port");
	is(entry[id].doing, DOING_answering, "its answer is not written yet");
	is(entry[id].unsent, entry[id].bytes_out, "not a byte");
	heard(id);
	publish();
	is(entry[id].doing, DOING_idle, "written: idle");
	worker_gone(w, id);
	publish();
	is(listed(), 0, "and gone");
}

/* More than are written at once. */
static void test_round(void)
{
	uint16_t id[SOCKS];
	uint32_t seq;

	start_list();
	connect_port(1);
	for (unsigned i = 0; i < SOCKS; i++)
		id[i] = worker_open(w, now);
	publish();
	is(listed(), CONNS_SHOWN, "no more than that at once");
	publish();
	is(listed(), 1 + SOCKS, "the rest the next time");
	for (unsigned i = 0; i < SOCKS; i++)
		worker_gone(w, id[i]);
	publish();
	publish();
	is(listed(), 1, "all sockets have gone");
	seq = entry[id[0]].seq;
	publish();
	publish();
	is(entry[id[0]].seq, seq, "what is free is not written again");
	conns = (struct conns){ 0 };
	publish();
	ok(true, "without a map nothing is written");
}

/* --- torn entries ------------------------------------------------------------------- */

enum { ROUNDS = 1000000, WHOLE = 1000, PAUSES = 256 };

static struct {
	struct conn_entry *entry;
	int over;
	unsigned whole, wrong;
} reader;

/* As stat_conns.c does, but that a copy is no system call. */
static void *read_always(void *arg)
{
	struct conn_entry e;
	uint32_t before, after;

	while (!__atomic_load_n(&reader.over, __ATOMIC_ACQUIRE)) {
		before = __atomic_load_n(&reader.entry->seq, __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		memcpy(&e, reader.entry, sizeof e);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		after = __atomic_load_n(&reader.entry->seq, __ATOMIC_RELAXED);
		if (e.seq & 1 || before != e.seq || e.seq != after || !e.seq)
			continue;
		__atomic_store_n(&reader.whole, reader.whole + 1, __ATOMIC_RELAXED);
		reader.wrong += e.remote_port != (uint16_t)e.seen_ns ||
				memcmp(e.remote, &e.seen_ns, sizeof e.seen_ns);
	}
	return arg;
}

static void test_torn(void)
{
	uint8_t address[16] = { 0 };
	pthread_t thread;
	uint16_t id;

	start_list();
	id = worker_open(w, now);
	reader.entry = &entry[id];
	must(!pthread_create(&thread, NULL, read_always, NULL));
	/* pauses of all lengths, or no copy would fit between two writes */
	for (unsigned i = 0; i < ROUNDS && __atomic_load_n(&reader.whole, __ATOMIC_RELAXED) < WHOLE;
	     i++) {
		for (volatile unsigned pause = 0; pause < i % PAUSES; pause++)
			;
		now++;
		memcpy(address, &now, sizeof now);
		worker_peer(w, id, address, (uint16_t)now);
		conns.hand = id;
		publish();
	}
	__atomic_store_n(&reader.over, 1, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	ok(reader.whole >= WHOLE, "who reads while it is written finds whole entries");
	is(reader.wrong, 0, "and believes none that is not");
}

int main(void)
{
	test_frames();
	test_phases();
	test_sockets();
	test_round();
	test_torn();
	return done();
}
