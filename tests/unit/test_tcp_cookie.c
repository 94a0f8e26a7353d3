/* SPDX-License-Identifier: GPL-2.0-only */
/* tcp_cookie: what a SYN-ACK's number remembers, for how long, and for whom. */
#include "tap.h"

#include "tcp_private.h"

static struct tcp *tcp;
static struct buf out[4];
static struct buf_pool pool;
static uint8_t blocks[4 * BUF_SMALL + 4096];

static uint64_t random_next(void)
{
	static uint64_t x = 0xb5ad4eceda1ce2a9;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x >> 11;
}

static struct tcp *table(uint8_t secret)
{
	struct tcp_params p = {
		.max_conns = 4,
		.mss4 = 1460,
		.mss6 = 1440,
		.window = 16384,
		.pool = &pool,
		.out = out,
	};
	size_t size = round_up(tcp_footprint(&p), 64);
	void *memory = aligned_alloc(64, size);

	must(memory);
	memset(memory, 0, size);
	memset(p.secret, secret, sizeof p.secret);
	return tcp_init(memory, &p, 0);
}

static struct pkt_seg a_syn(uint16_t port, uint32_t isn)
{
	return (struct pkt_seg){
		.flow = { .remote = { [10] = 255, 255, 10, 0, 0, 2 },
			  .local = { [10] = 255, 255, 10, 0, 0, 1 },
			  .remote_port = port,
			  .local_port = 8080 },
		.link = { { 2, 0, 0, 0, 0, 2 }, { 2, 0, 0, 0, 0, 1 }, PKT_UNTAGGED },
		.seq = isn,
		.flags = WIRE_SYN,
		.wscale = PKT_NO_SCALE,
		.window = 64240,
	};
}

/* The SYN-ACK for a SYN, through the whole module. */
static struct pkt_seg answer(const struct pkt_seg *syn, uint64_t now)
{
	struct tcp_event ev;
	struct pkt_seg s;
	uint16_t slot;

	must(tcp_input(tcp, syn, NULL, now, &ev) == TCP_syn && ev.slot == TCP_NONE);
	must(tcp_output(tcp, now, &s, &slot) && !tcp_due(tcp));
	return s;
}

/* The ACK that completes the handshake. */
static struct pkt_seg reply(const struct pkt_seg *syn, const struct pkt_seg *synack)
{
	struct pkt_seg s = *syn;

	s.flags = WIRE_ACK;
	s.seq = syn->seq + 1;
	s.ack = synack->seq + 1;
	s.mss = 0;
	s.wscale = PKT_NO_SCALE;
	return s;
}

static bool check(const struct tcp *t, const struct pkt_seg *ack, uint64_t now,
		  struct cookie_options *o)
{
	return tcp_cookie_check(t, ack, tcp_hash(t, &ack->flow), now, o);
}

/* --- the SYN-ACK ----------------------------------------------------------------- */

static void test_synack(void)
{
	struct pkt_seg syn = a_syn(1000, 77), s;

	s = answer(&syn, NS_PER_S);
	is(s.flags, WIRE_SYN | WIRE_ACK, "answer to a bare SYN: SYN and ACK");
	is(s.ack, 78, "acknowledges the SYN");
	is(s.mss, 1460, "offers the MSS of IPv4");
	is(s.window, 16384, "and the window");
	ok(s.wscale == PKT_NO_SCALE && !s.has_ts && !s.sack_ok, "no option that was not offered");
	ok(!memcmp(&s.flow, &syn.flow, sizeof s.flow) && !memcmp(&s.link, &syn.link, sizeof s.link),
	   "goes back where it came from");
	is(tcp_count(tcp), 0, "and nothing is kept");

	syn.wscale = 7;
	syn.has_ts = true;
	syn.ts_val = 0xdeadbeef;
	s = answer(&syn, NS_PER_S);
	is(s.wscale, 0, "scaling answered with our scale 0");
	ok(s.has_ts && s.ts_ecr == 0xdeadbeef, "timestamp echoed");
	is(answer(&syn, 2ull * NS_PER_S).seq, s.seq,
	   "a repeated SYN gets the same number within an epoch");

	memset(syn.flow.remote, 0x20, 16);
	is(answer(&syn, NS_PER_S).mss, 1440, "offers the MSS of IPv6");
}

static void test_no_mss_option(void)
{
	struct cookie_options o = { 0 };
	struct pkt_seg syn = a_syn(1001, 5), synack = answer(&syn, 0), ack = reply(&syn, &synack);

	ok(check(tcp, &ack, 0, &o), "no MSS option, IPv4");
	is(o.mss, 536, "536 (RFC 9293 3.7.1)");
	is(o.scale, 0, "no scale option: 0");
	memset(syn.flow.remote, 0x20, 16);
	synack = answer(&syn, 0);
	ack = reply(&syn, &synack);
	ok(check(tcp, &ack, 0, &o), "no MSS option, IPv6");
	is(o.mss, 1220, "1220");
}

/* --- classes ------------------------------------------------------------------------ */

enum { MSS_FLOOR = 64 }; /* the lowest class: smaller offers are taken for it (CVE-2019-11479) */

static void test_mss(void)
{
	unsigned refused = 0, up = 0, down = 0, classes = 0, last = 0;
	bool used[65536] = { false };

	for (unsigned mss = 1; mss < 65536; mss += mss < 2000 ? 1 : 97) {
		struct cookie_options o = { 0 };
		struct pkt_seg syn = a_syn(2000, mss * 7919), synack, ack;
		syn.mss = (uint16_t)mss;
		synack = answer(&syn, 0);
		ack = reply(&syn, &synack);
		refused += !check(tcp, &ack, 0, &o);
		up += o.mss > max_u64(mss, MSS_FLOOR);
		down += o.mss < last;
		last = o.mss;
		used[o.mss] = true;
	}
	for (unsigned i = 0; i < 65536; i++)
		classes += used[i];
	is(refused, 0, "every MSS comes back");
	is(up, 0, "never larger than offered");
	is(down, 0, "and a larger offer is never worth less");
	is(classes, 8, "eight classes, all in use");
	ok(used[536] && used[1220] && used[1440] && used[1460], "the usual ones exactly");
}

static void test_scale(void)
{
	unsigned refused = 0, up = 0;
	bool used[256] = { false };

	for (unsigned scale = 0; scale < 255; scale++)
		for (unsigned mss = 64; mss < 1500; mss += 60) {
			struct cookie_options o = { 0 };
			struct pkt_seg syn = a_syn(2001, scale * 7919), synack, ack;
			syn.mss = (uint16_t)mss;
			syn.wscale = (uint8_t)scale;
			synack = answer(&syn, 0);
			ack = reply(&syn, &synack);
			refused += !check(tcp, &ack, 0, &o);
			up += o.scale > scale || o.scale > 14 || o.mss > mss;
			used[o.scale] = true;
		}
	is(refused, 0, "every scale with every class of MSS comes back");
	is(up, 0, "never larger than offered, nor than 14 (RFC 7323 2.3)");
	ok(used[0] && used[7] && used[8], "the usual ones (none, Linux 7, Windows 8) exactly");
}

/* --- refusal ------------------------------------------------------------------------- */

static void test_wrong(void)
{
	struct tcp *stranger = table(0x77);
	unsigned accepted[6] = { 0 };
	struct cookie_options o;

	for (unsigned i = 0; i < 2000; i++) {
		struct pkt_seg syn = a_syn((uint16_t)(3000 + i), (uint32_t)random_next());
		struct pkt_seg synack = answer(&syn, 0), ack = reply(&syn, &synack), bad;
		must(check(tcp, &ack, 0, &o));
		bad = ack, bad.seq += (uint32_t)(1 + random_next() % 1000);
		accepted[0] += check(tcp, &bad, 0, &o);
		bad = ack, bad.ack ^= 1u << i % 32;
		accepted[1] += check(tcp, &bad, 0, &o);
		bad = ack, bad.flow.remote_port ^= 1u << i % 16;
		accepted[2] += check(tcp, &bad, 0, &o);
		bad = ack, bad.flow.local_port ^= 1u << i % 16;
		accepted[3] += check(tcp, &bad, 0, &o);
		bad = ack, bad.flow.remote[i % 16] ^= 1;
		accepted[4] += check(tcp, &bad, 0, &o);
		accepted[5] += check(stranger, &ack, 0, &o);
	}
	/* A wrong number passes one time in 2^24: deterministic here, so none. */
	is(accepted[0], 0, "another sequence number is refused");
	is(accepted[1], 0, "another acknowledgment is refused");
	is(accepted[2], 0, "another remote port is refused");
	is(accepted[3], 0, "another local port is refused");
	is(accepted[4], 0, "another remote address is refused");
	is(accepted[5], 0, "another secret is refused");
	free(stranger);
}

static void test_swap(void)
{
	unsigned accepted = 0;
	struct cookie_options o;

	for (uint16_t i = 0; i < 200; i++) {
		struct pkt_seg a = a_syn(i + 1, 1), b = a_syn(i + 1000, 1);
		struct pkt_seg sa = answer(&a, 0), ack = reply(&b, &sa);
		accepted += check(tcp, &ack, 0, &o);
	}
	is(accepted, 0, "the cookie of one flow is worth nothing on another");
}

static void test_age(void)
{
	const uint64_t epoch = TCP_COOKIE_EPOCH_MS * (uint64_t)NS_PER_MS;
	unsigned early = 0, late = 0, never = 0;
	struct cookie_options o;

	for (unsigned i = 0; i < 64; i++) {
		uint64_t born = 100 * epoch + i * epoch / 16;
		struct pkt_seg syn = a_syn(4000, i), synack = answer(&syn, born),
			       ack = reply(&syn, &synack);
		never += !check(tcp, &ack, born, &o);
		early += !check(tcp, &ack, born + epoch, &o);
		late += check(tcp, &ack, born + 2 * epoch, &o);
		late += check(tcp, &ack, born + 3 * epoch, &o);
		late += check(tcp, &ack, born + 4 * epoch, &o);
	}
	is(never, 0, "a cookie is good at once");
	is(early, 0, "and 16 s later");
	is(late, 0, "but never after 32 s");
}

/* --- spread ------------------------------------------------------------------------------ */

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* 255 degrees of freedom: 95 % of fair samples lie in 211 ... 302; the bound is
 * the one that a fair sample passes but once in a million (about 377). */
static void is_even(const uint32_t *value, unsigned n, unsigned shift)
{
	unsigned cell[256] = { 0 };
	double chi = 0, want = n / 256.0;

	for (unsigned i = 0; i < n; i++)
		cell[value[i] >> shift & 255]++;
	for (unsigned i = 0; i < 256; i++)
		chi += (cell[i] - want) * (cell[i] - want) / want;
	ok(chi < 377, "bits %u to %u are even (chi-square %.0f)", shift, shift + 7, chi);
}

static void test_spread(void)
{
	enum { SYNS = 10000 };
	static uint32_t isn[SYNS], step[SYNS];
	unsigned twice = 0;

	/* What a prober sees: one client, ports in order, the same client ISN. */
	for (unsigned i = 0; i < SYNS; i++) {
		struct pkt_seg syn = a_syn((uint16_t)(10000 + i), 1);
		isn[i] = answer(&syn, i * 1000ull).seq;
		step[i] = isn[i] - (i ? isn[i - 1] : 0);
	}
	for (unsigned shift = 0; shift < 32; shift += 8)
		is_even(isn, SYNS, shift);
	is_even(step, SYNS, 24);
	qsort(isn, SYNS, sizeof isn[0], by_value);
	for (unsigned i = 1; i < SYNS; i++)
		twice += isn[i] == isn[i - 1];
	/* SYNS^2 / 2 / 2^32: 0.01 pairs expected */
	is(twice, 0, "10000 SYNs, no number twice");

	/* The same flow asks again and again with other ISNs. */
	for (unsigned i = 0; i < SYNS; i++) {
		struct pkt_seg syn = a_syn(9, i);
		isn[i] = answer(&syn, 0).seq;
	}
	for (unsigned shift = 0; shift < 32; shift += 8)
		is_even(isn, SYNS, shift);
}

int main(void)
{
	buf_pool_init(&pool, blocks, 4, 1, 4096);
	tcp = table(0x5a);
	test_synack();
	test_no_mss_option();
	test_mss();
	test_scale();
	test_wrong();
	test_swap();
	test_age();
	test_spread();
	free(tcp);
	return done();
}
