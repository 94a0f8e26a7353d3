// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_path.c - the program with --steer=path, by BPF_PROG_TEST_RUN, at either hook
 *
 * Model    As test_steer.c. The cookies are real: a SYN over loopback, a listener
 *          that answers, and the frames that its client would send next.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <netinet/tcp.h>
#include "tap.h"
#include "dut.h"
#include "handshake.h"
#include "lines.h"

static const uint8_t loopback4[16] = { 127, 0, 0, 1 }, loopback6[16] = { [15] = 1 };
/* MSS 1400, SACK, timestamps, NOP, scale 9 */
static const uint8_t all_options[] = {
	2, 4, 5, 120, 4, 2, 8, 10, 0, 0, 0, 9, 0, 0, 0, 0, 1, 3, 3, 9
};

static uint16_t next_port = 20000;

/* --- what the program knows ------------------------------------------------------ */

static int flows_fd(void)
{
	return bpf_map__fd(dut.skel->maps.flows);
}

static int hints_fd(void)
{
	return bpf_map__fd(dut.skel->maps.syn_hints);
}

static void add_path(struct steer_config *told, const char *text)
{
	struct steer_path *p = &told->path[told->path_count++];
	p->len = (uint32_t)strlen(text);
	memcpy(p->text, text, p->len);
}

static bool enter_path(enum situation in)
{
	struct steer_config told = told_of(in, 1);
	told.steer = STEER_path;
	told.early_ns = HOUR;
	told.kernel_options = STEER_KERNEL_SCALE | STEER_KERNEL_SACK;
	add_path(&told, "/compute");
	add_path(&told, "/a");
	add_path(&told, "/api/v1");
	return !load(&told) && !enter_live(in, false);
}

static struct steer_flow_key key_of(const struct handshake *h)
{
	struct steer_flow_key k = { .remote_port = h->port, .local_port = FRAME_PORT };
	if (h->v6) {
		memcpy(k.remote, h->src, 16);
		memcpy(k.local, h->dst, 16);
	} else {
		map_addr4(k.remote, h->src);
		map_addr4(k.local, h->dst);
	}
	return k;
}

static struct steer_flow flow_of(const struct handshake *h)
{
	struct steer_flow_key k = key_of(h);
	struct steer_flow f = { .state = FLOW_none };
	if (bpf_map_lookup_elem(flows_fd(), &k, &f))
		f = (struct steer_flow){ .state = FLOW_none };
	return f;
}

static void set_flow(const struct handshake *h, enum flow_state state)
{
	struct steer_flow_key k = key_of(h);
	struct steer_flow f = flow_of(h);
	f.state = state;
	if (state == FLOW_none)
		bpf_map_delete_elem(flows_fd(), &k);
	else
		must(!bpf_map_update_elem(flows_fd(), &k, &f, BPF_ANY));
}

static bool hint_of(const struct handshake *h, struct syn_hint *hint)
{
	struct steer_flow_key k = key_of(h);
	return !bpf_map_lookup_elem(hints_fd(), &k, hint);
}

static void lose_hint(const struct handshake *h)
{
	struct steer_flow_key k = key_of(h);
	bpf_map_delete_elem(hints_fd(), &k);
}

static void age_hint(const struct handshake *h)
{
	struct steer_flow_key k = key_of(h);
	struct syn_hint hint;
	must(hint_of(h, &hint));
	hint.seen_ns -= HOUR;
	must(!bpf_map_update_elem(hints_fd(), &k, &hint, BPF_ANY));
}

/* --- judging --------------------------------------------------------------------- */

static struct outcome judge(const struct frame *f)
{
	uint8_t bytes[FRAME_MAX];
	return run(bytes, frame_build(bytes, f));
}

static bool agrees(const struct outcome *o, uint32_t verdict, uint32_t counter)
{
	return o->verdict == verdict && o->counter == counter && o->intact &&
	       o->meta == (verdict == XDP_REDIRECT ? sizeof(struct steer_meta) : 0);
}

static bool expect(struct frame f, const char *name, uint32_t verdict, enum stats_index counter)
{
	struct outcome o = judge(&f);
	bool good = ok(agrees(&o, verdict, counter), "%s: %s: %s", f.v6 ? "IPv6" : "IPv4", name,
		       counter_names[counter]);
	if (!good)
		printf("#   verdict %u, counter %s\n", o.verdict,
		       o.counter < STATS_COUNT ? counter_names[o.counter] : "(not exactly one)");
	return good;
}

/* Redirected, with these flags. */
static struct steer_meta expect_ours(struct frame f, const char *name, uint8_t flags)
{
	struct outcome o = judge(&f);
	if (!ok(agrees(&o, XDP_REDIRECT, STATS_xdp_redirected) && o.stamp.flags == flags,
		"%s: %s: redirected", f.v6 ? "IPv6" : "IPv4", name))
		printf("#   verdict %u, flags %u, counter %s\n", o.verdict, o.stamp.flags,
		       o.counter < STATS_COUNT ? counter_names[o.counter] : "(not exactly one)");
	return o.stamp;
}

#define PASS(why) XDP_PASS, STATS_xdp_pass_##why
#define DROP(why) XDP_DROP, STATS_xdp_drop_##why
enum { ADOPT = STEER_META_ADOPT | STEER_META_EARLY, EARLY = STEER_META_EARLY };

static const char ours[] = "GET /compute?n=0 HTTP/1.1\r\n\r\n";
static const char theirs[] = "GET / HTTP/1.1\r\n\r\n";

/* A SYN that XDP sees and the kernel answers. */
static struct handshake open_from(const uint8_t src[16], const uint8_t dst[16], bool v6,
				  const uint8_t *opt, uint8_t opt_len)
{
	struct handshake h = { .v6 = v6,
			       .port = next_port++,
			       .isn = 0x7ffffff0u + next_port * 0x1000193u,
			       .opt = opt,
			       .opt_len = opt_len };
	memcpy(h.src, src, 16);
	memcpy(h.dst, dst, 16);
	struct frame syn = segment_of(&h, SYN, "");
	syn.seq = h.isn;
	syn.ack = 0;
	syn.opt = opt;
	syn.opt_len = opt_len;
	struct outcome o = judge(&syn);
	if (!agrees(&o, XDP_PASS, STATS_xdp_pass_syn) || !shake(&h))
		ok(false, "a handshake with the kernel");
	return h;
}

static struct handshake open_one(bool v6)
{
	const uint8_t *at = v6 ? loopback6 : loopback4;
	return open_from(at, at, v6, all_options, sizeof all_options);
}

static struct frame at(struct frame f, int seq)
{
	f.seq += (uint32_t)seq;
	return f;
}

/* --- request lines ---------------------------------------------------------------- */

static void test_line(const struct handshake *h, const struct line_case *c)
{
	size_t whole = strlen(c->text), cut;
	bool good = true;

	for (cut = whole; good && cut > 0; cut--) {
		struct frame f = segment_of(h, ACK | WIRE_PSH, c->text);
		f.data_len = (uint16_t)cut;
		struct outcome o = judge(&f);
		bool kernel = c->kernel && cut >= c->kernel;
		good = kernel ? agrees(&o, XDP_PASS, STATS_xdp_pass_request) :
				agrees(&o, XDP_REDIRECT, STATS_xdp_redirected);
		good = good && (flow_of(h).state == FLOW_ours) == !kernel;
		set_flow(h, FLOW_none);
	}
	if (!ok(good, "line: %s: %s, at every length", c->name,
		c->kernel ? "the kernel's" : "ours"))
		printf("#   at %zu bytes\n", cut + 1);
}

/* --- a connection ------------------------------------------------------------------- */

static void test_ours(bool v6)
{
	struct handshake h = open_one(v6);
	struct frame ack = segment_of(&h, ACK, ""), data = segment_of(&h, ACK | WIRE_PSH, ours);
	struct frame other = ack;
	other.ack += 7;

	expect(at(data, 20), "second segment before the first", DROP(early));
	expect(other, "another cookie, just after the SYN", DROP(early));
	expect(ack, "last ACK of the handshake", DROP(handshake));
	expect(at(ack, -1), "probe without a byte before any data", DROP(handshake));
	expect(at(segment_of(&h, ACK, "x"), -1), "probe with a byte", DROP(handshake));
	expect(at(segment_of(&h, ACK, "xy"), -1), "two bytes below are no probe", DROP(early));
	expect(segment_of(&h, RST, ""), "RST before any data", PASS(stranger));
	is(flow_of(&h).state, FLOW_none, "none of them made a flow");

	struct steer_meta m = expect_ours(data, "first data", ADOPT | STEER_META_SACK);
	ok(m.mss == 1400 && m.scale == 9 && m.stamp_ns, "with what the SYN said");
	is(flow_of(&h).state, FLOW_ours, "the flow is ours");
	is(flow_of(&h).first_seq, h.isn + 1, "and knows where it begins");
	expect_ours(at(data, 20), "the next segment", EARLY);
	expect_ours(at(ack, 100), "an ACK", EARLY);
	expect_ours(at(segment_of(&h, ACK | FIN, ""), 100), "a FIN", EARLY);
	expect_ours(segment_of(&h, RST, ""), "a RST", EARLY);
	expect_ours(data, "first data again", ADOPT | STEER_META_SACK);
	expect_ours(segment_of(&h, ACK, "P"), "first data again, cut differently",
		    ADOPT | STEER_META_SACK);
	expect(ack, "last ACK of the handshake, late", DROP(handshake));
	expect_ours(segment_of(&h, SYN, ""), "SYN", EARLY);
	data.ihl = v6 ? 0 : 6;
	data.ext[data.exts++] = WIRE_IP6_DESTINATION;
	expect(data, "with options", DROP(options));
	set_flow(&h, FLOW_none);
}

static void test_kernels(bool v6)
{
	struct handshake h = open_one(v6);
	struct frame data = segment_of(&h, ACK | WIRE_PSH, theirs);

	expect(data, "first data, another path", PASS(request));
	expect(data, "the same again", PASS(request));
	expect(segment_of(&h, ACK | FIN, theirs), "with FIN", PASS(request));
	expect(segment_of(&h, ACK | FIN, ""), "FIN before any data", PASS(fin));
	is(flow_of(&h).state, FLOW_none, "no flow");
	expect_ours(segment_of(&h, ACK | FIN, ours), "data of ours with FIN",
		    ADOPT | STEER_META_SACK);
	set_flow(&h, FLOW_none);

	data = segment_of(&h, ACK, ours);
	data.doff = 15;
	data.data_len = 8;
	expect(data, "header longer than the segment", PASS(stranger));
	data.doff = 1;
	expect(data, "header too short", PASS(stranger));
	data.doff = 0;
	data.ihl = v6 ? 0 : 6;
	data.ext[data.exts++] = WIRE_IP6_DESTINATION;
	expect(data, "ours, with IP options: the kernel's", PASS(odd));
	data = segment_of(&h, ACK | WIRE_PSH, ours);
	data.tag[0] = WIRE_TYPE_VLAN;
	expect_ours(data, "ours, in a VLAN", ADOPT | STEER_META_SACK);
	set_flow(&h, FLOW_none);
}

static void test_hints(bool v6)
{
	struct handshake h = open_one(v6);
	struct frame data = segment_of(&h, ACK | WIRE_PSH, ours);

	age_hint(&h);
	expect(at(data, 20), "second segment long after the SYN", PASS(stranger));
	expect(segment_of(&h, ACK, ""), "last ACK, long after the SYN", DROP(handshake));
	expect(at(segment_of(&h, ACK, ""), -1), "probe, long after the SYN", DROP(handshake));
	lose_hint(&h);
	expect(at(data, 20), "second segment, hint lost", PASS(stranger));
	struct steer_meta m = expect_ours(data, "first data, hint lost", ADOPT);
	ok(m.mss == 0 && m.scale == STEER_NO_SCALE, "nothing is known of the SYN");
	set_flow(&h, FLOW_none);

	struct steer_flow_key k = key_of(&h);
	struct syn_hint stale = { .seen_ns = now_ns(), .isn = h.isn + 99, .mss = 9, .scale = 3 };
	must(!bpf_map_update_elem(hints_fd(), &k, &stale, BPF_ANY));
	m = expect_ours(data, "first data, hint of another SYN", ADOPT);
	ok(m.mss == 0 && m.scale == STEER_NO_SCALE, "nothing is known of this SYN");
	set_flow(&h, FLOW_none);
}

/* --- the next connection of the same ports -------------------------------------------- */

static void reopen(struct handshake *h)
{
	h->isn += 5000000;
	struct frame syn = segment_of(h, SYN, "");
	syn.seq = h->isn;
	expect(syn, "closing: a SYN counts as new", PASS(syn));
	ok(shake(h), "the kernel answers");
}

static void test_closing(bool v6)
{
	struct handshake h = open_one(v6), old = h;

	expect_ours(segment_of(&h, ACK, ours), "first data", ADOPT | STEER_META_SACK);
	set_flow(&h, FLOW_closing);
	expect_ours(at(segment_of(&h, ACK, ""), 99), "closing: an ACK", EARLY);
	expect_ours(segment_of(&h, ACK, ours), "closing: its first data again", EARLY);
	reopen(&h);
	expect_ours(at(segment_of(&old, ACK | FIN, ""), 99), "closing: an old FIN after it", EARLY);
	expect(segment_of(&h, ACK, ""), "closing: the new one's last ACK", DROP(handshake));
	expect_ours(segment_of(&h, ACK, ours), "closing: its first data", ADOPT);
	is(flow_of(&h).state, FLOW_ours, "the flow is the new one's");
	is(flow_of(&h).first_seq, h.isn + 1, "and begins there");

	set_flow(&h, FLOW_closing);
	reopen(&h);
	expect(segment_of(&h, ACK, theirs), "closing: new data for the kernel", PASS(request));
	is(flow_of(&h).state, FLOW_none, "the flow has given way");
	expect_ours(segment_of(&h, ACK, ours), "first data", ADOPT);
	set_flow(&h, FLOW_closing);
	reopen(&h);
	expect(segment_of(&h, ACK | FIN, ""), "closing: a new FIN before any data", PASS(fin));
	is(flow_of(&h).state, FLOW_none, "the flow has given way");
}

/* --- what is in the way ------------------------------------------------------------------ */

static void test_full(bool v6)
{
	struct handshake h = open_one(v6), fill = h;

	for (unsigned i = 0; i < DUT_FLOWS; i++) {
		fill.port = (uint16_t)(1 + i);
		set_flow(&fill, FLOW_ours);
	}
	expect(segment_of(&h, ACK, ours), "flow map full", PASS(flows));
	for (unsigned i = 0; i < DUT_FLOWS; i++) {
		fill.port = (uint16_t)(1 + i);
		set_flow(&fill, FLOW_none);
	}
	must(enter_path(NO_SOCKET));
	expect(segment_of(&h, ACK, ours), "no socket", PASS(queue));
	is(flow_of(&h).state, FLOW_none, "no flow either");
}

/* As if the driver had room for no more metadata. */
static void test_no_meta(bool v6)
{
	enum { THEIR_META = 216 };
	uint8_t bytes[THEIR_META + FRAME_MAX] = { 0 };
	struct handshake h = open_one(v6);
	struct frame f = segment_of(&h, ACK, ours);
	size_t length = THEIR_META + frame_build(bytes + THEIR_META, &f);

	struct outcome o = run_as(
		&(struct arrival){ .frame = bytes, .length = length, .meta = THEIR_META });
	if (o.verdict == UINT32_MAX) {
		skip("no room for metadata", "this kernel runs no test with so much of it");
		return;
	}
	ok(o.verdict == XDP_PASS && o.counter == STATS_xdp_pass_meta,
	   "no room for metadata: the kernel's");
	is(flow_of(&h).state, FLOW_none, "no flow");
}

static void test_away(bool v6)
{
	static const struct {
		enum situation in;
		enum stats_index passed, ours;
	} cases[] = {
		{ UNREADY, STATS_xdp_pass_unready, STATS_xdp_drop_stray },
		{ UNREADY_LONG, STATS_xdp_pass_unready, STATS_xdp_pass_unready },
		{ STALLED, STATS_xdp_pass_stalled, STATS_xdp_drop_stray },
		{ STALLED_LONG, STATS_xdp_pass_stalled, STATS_xdp_pass_stalled },
		{ NEVER_UP, STATS_xdp_pass_unready, STATS_xdp_pass_unready },
	};
	for (unsigned i = 0; i < array_size(cases); i++) {
		must(enter_path(UP));
		struct handshake h = open_one(v6), none = h;
		must(enter_path(cases[i].in));
		none.port ^= 0x4000;
		set_flow(&h, FLOW_ours);
		expect(segment_of(&h, ACK, ours), "away: a flow of ours",
		       cases[i].ours == STATS_xdp_drop_stray ? XDP_DROP : XDP_PASS, cases[i].ours);
		expect(segment_of(&h, SYN, ""), "away: SYN on it", XDP_PASS, cases[i].passed);
		expect(segment_of(&none, SYN, ""), "away: another SYN", XDP_PASS, cases[i].passed);
		expect(segment_of(&none, ACK, ""), "away: last ACK", XDP_PASS, cases[i].passed);
		expect(segment_of(&none, ACK, ours), "away: first data", XDP_PASS, cases[i].passed);
		set_flow(&h, FLOW_none);
	}
}

/* --- listeners ---------------------------------------------------------------------------- */

struct listener {
	int fd;
	struct sockaddr_storage at;
	socklen_t size;
};

static bool listen_at(struct listener *l, const uint8_t addr[16], bool v6, bool share)
{
	struct sockaddr_in a4 = { .sin_family = AF_INET, .sin_port = htons(FRAME_PORT) };
	struct sockaddr_in6 a6 = { .sin6_family = AF_INET6, .sin6_port = htons(FRAME_PORT) };
	int yes = 1, no = 0;

	memcpy(&a4.sin_addr, addr, 4);
	memcpy(&a6.sin6_addr, addr, 16);
	l->size = v6 ? sizeof a6 : sizeof a4;
	memcpy(&l->at, v6 ? (void *)&a6 : (void *)&a4, l->size);
	l->fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
	if (share)
		setsockopt(l->fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes);
	if (v6)
		setsockopt(l->fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
	return !bind(l->fd, (void *)&l->at, l->size) && !listen(l->fd, 64);
}

static void test_established(bool v6, struct listener *l)
{
	struct sockaddr_storage from;
	socklen_t size = sizeof from;
	int client = socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (!ok(!connect(client, (void *)&l->at, l->size) &&
			!getsockname(client, (void *)&from, &size),
		"the kernel has a connection on the port"))
		return;
	struct handshake h = { .v6 = v6, .port = ntohs(((struct sockaddr_in *)&from)->sin_port) };
	memcpy(h.src, v6 ? loopback6 : loopback4, 16);
	memcpy(h.dst, h.src, 16);
	expect(segment_of(&h, ACK, ours), "its data", PASS(kernel));
	expect(segment_of(&h, ACK | FIN, ""), "its FIN", PASS(kernel));
	expect(segment_of(&h, RST, ""), "its RST", PASS(kernel));
	struct frame odd = segment_of(&h, ACK, ours);
	odd.ihl = v6 ? 0 : 6;
	odd.ext[odd.exts++] = WIRE_IP6_DESTINATION;
	expect(odd, "its data with options", PASS(odd));
	close(client);
}

/* The kernel's timestamps have an offset for each pair of addresses. */
static void test_addresses(void)
{
	for (unsigned i = 0; i < 24; i++) {
		uint8_t src[16] = { 127, 0, (uint8_t)i, (uint8_t)(2 + i) };
		uint8_t len = i % 2 ? sizeof all_options : 4; /* without timestamps: MSS alone */
		struct handshake h = open_from(src, loopback4, false, all_options, len);
		struct steer_meta m = expect_ours(segment_of(&h, ACK, ours), "one of 24 addresses",
						  i % 2 ? ADOPT | STEER_META_SACK : ADOPT);
		ok(m.mss == 1400 && m.scale == (i % 2 ? 9 : STEER_NO_SCALE),
		   "scaling %s timestamps", i % 2 ? "with" : "but not without");
		set_flow(&h, FLOW_none);
	}
}

static void test_group(void)
{
	struct listener group[3];
	for (unsigned i = 0; i < array_size(group); i++)
		must(listen_at(&group[i], loopback4, false, true));
	for (unsigned i = 0; i < 16; i++) {
		struct handshake h = open_one(false);
		expect(segment_of(&h, ACK, ""), "SO_REUSEPORT, three listeners", DROP(handshake));
	}
	for (unsigned i = 0; i < array_size(group); i++)
		close(group[i].fd);
}

/* IPv4 clients of a listener for both. */
static void test_dual(void)
{
	static const uint8_t any[16];
	struct listener l;
	if (!listen_at(&l, any, true, false)) {
		skip("IPv4 by a listener for IPv6", "no IPv6");
		return;
	}
	struct handshake h = open_one(false);
	expect(segment_of(&h, ACK, ""), "by a listener for both", DROP(handshake));
	expect_ours(segment_of(&h, ACK, ours), "by a listener for both", ADOPT | STEER_META_SACK);
	set_flow(&h, FLOW_none);
	close(l.fd);
	expect(segment_of(&h, ACK, ours), "nobody listens any more", PASS(stranger));
}

/* --- what SYNs say ---------------------------------------------------------------------- */

#define TS 8, 10, 0, 0, 0, 1, 0, 0, 0, 0
#define OPT(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((uint8_t[]){ __VA_ARGS__ })
static const struct {
	const char *name;
	const uint8_t *opt;
	uint8_t len;
	uint16_t mss; /* 0: the default */
	uint8_t scale, flags;
} syns[] = {
	{ "Linux", OPT(2, 4, 5, 180, 4, 2, TS, 1, 3, 3, 7), 1460, 7, STEER_META_SACK },
	{ "macOS", OPT(2, 4, 5, 180, 1, 3, 3, 6, 1, 1, TS, 4, 2, 0, 0), 1460, 6, STEER_META_SACK },
	{ "Windows", OPT(2, 4, 5, 180, 1, 3, 3, 8, 1, 1, 4, 2), 1460, STEER_NO_SCALE, 0 },
	{ "timestamps alone", OPT(1, 1, TS), 0, STEER_NO_SCALE, 0 },
	{ "scale 0", OPT(TS, 3, 3, 0, 0, 0, 0), 0, 0, 0 },
	{ "scale 15 is 14", OPT(TS, 3, 3, 15, 0, 0, 0), 0, 14, 0 },
	{ "nothing", NULL, 0, 0, STEER_NO_SCALE, 0 },
	{ "MSS 0", OPT(2, 4, 0, 0), 0, STEER_NO_SCALE, 0 },
	{ "MSS twice: the last", OPT(2, 4, 5, 180, 2, 4, 2, 0), 512, STEER_NO_SCALE, 0 },
	{ "40 times nothing",
	  OPT(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	      1, 1, 1, 1, 1, 1, 1, 2, 4, 5, 180),
	  1460, STEER_NO_SCALE, 0 },
	{ "end, and then more", OPT(0, 0, 0, 0, 2, 4, 5, 180), 0, STEER_NO_SCALE, 0 },
	{ "length 0", OPT(5, 0, 2, 4, 2, 4, 5, 180), 0, STEER_NO_SCALE, 0 },
	{ "length 1", OPT(5, 1, 2, 4, 2, 4, 5, 180), 0, STEER_NO_SCALE, 0 },
	{ "length beyond the header", OPT(1, 1, 2, 4), 0, STEER_NO_SCALE, 0 },
	{ "MSS with a wrong length", OPT(2, 3, 5, 1), 0, STEER_NO_SCALE, 0 },
	{ "a kind without its length", OPT(1, 1, 1, 3), 0, STEER_NO_SCALE, 0 },
	{ "unknown options", OPT(253, 6, 0, 0, 0, 0, 30, 2, 2, 4, 5, 180), 1460, STEER_NO_SCALE,
	  0 },
};

static void test_syns(bool v6)
{
	struct handshake h = { .v6 = v6, .port = 333, .isn = 0xfffffff0 };
	struct syn_hint hint = { 0 };
	memcpy(h.src, v6 ? loopback6 : loopback4, 16);
	memcpy(h.dst, h.src, 16);
	for (unsigned i = 0; i < array_size(syns); i++) {
		struct frame f = segment_of(&h, SYN | WIRE_ECE | WIRE_CWR, "");
		f.seq = h.isn;
		f.opt = syns[i].opt;
		f.opt_len = syns[i].len;
		struct outcome o = judge(&f);
		uint16_t mss = syns[i].mss ? syns[i].mss : v6 ? 1220 : 536;
		if (!ok(agrees(&o, XDP_PASS, STATS_xdp_pass_syn) && hint_of(&h, &hint) &&
				hint.isn == h.isn && hint.mss == mss &&
				hint.scale == syns[i].scale && hint.flags == syns[i].flags,
			"SYN: %s", syns[i].name))
			printf("#   mss %u, scale %u, flags %u\n", hint.mss, hint.scale,
			       hint.flags);
		lose_hint(&h);
	}
}

/* --- main ------------------------------------------------------------------------------ */

static bool cookies_always(void)
{
	FILE *f = fopen("/proc/sys/net/ipv4/tcp_syncookies", "we");
	bool good = f && fputs("2\n", f) >= 0;
	return f && !fclose(f) && good;
}

static void test_family(bool v6)
{
	struct listener l;
	if (!listen_at(&l, v6 ? loopback6 : loopback4, v6, false)) {
		skip(v6 ? "path steering, IPv6" : "path steering, IPv4", "no loopback address");
		return;
	}
	must(enter_path(UP));
	struct handshake h = open_one(v6);
	for (size_t i = 0; i < array_size(line_cases); i++)
		test_line(&h, &line_cases[i]);
	test_ours(v6);
	test_kernels(v6);
	test_hints(v6);
	test_syns(v6);
	test_closing(v6);
	test_established(v6, &l);
	if (HOOK_CONTEXT)
		test_no_meta(v6);
	test_full(v6);
	test_away(v6);
	must(enter_path(UP));
	if (!v6)
		test_addresses();
	close(l.fd);
}

int main(void)
{
	libbpf_set_print(silent);
	const char *why = prepare();
	if (!why && !cookies_always())
		why = "net.ipv4.tcp_syncookies cannot be set";
	if (why) {
		skip("path steering", why);
		return done();
	}
	test_family(false);
	test_family(true);
	test_group();
	test_dual();
	unload();
	return done();
}
