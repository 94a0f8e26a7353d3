/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * guard_cases.h - who is let in, and how often
 *
 * Model    Prefixes: a row each, what is in the map and what becomes of a frame.
 *          Rates: so many frames as fast as the test can, of which the burst passes
 *          and what the clock has added meanwhile: the bounds come from the clock
 *          around them, so no delay of this machine fails a test.
 */
#ifndef GUARD_CASES_H
#define GUARD_CASES_H

#include "dut.h"
#include "guard.h"
#include "prefix.h"
#include "tap.h"

struct access_case {
	const char *name;
	const char *rule[3]; /* "-PREFIX" denies, "+PREFIX" allows */
	struct frame frame;  /* from 192.0.2.2, or 2001:db8::2 */
	enum situation in;
	bool denied;
	enum stats_index otherwise; /* 0: redirected */
};

/* clang-format off */
#define V6 .v6 = true
#define TAG .tag = { WIRE_TYPE_VLAN }
static const struct access_case access_cases[] = {
	{ "no prefix", { 0 }, { 0 }, UP, false, 0 },
	{ "its address", { "-192.0.2.2" }, { 0 }, UP, true, 0 },
	{ "its address, SYN", { "-192.0.2.2" }, { .flags = WIRE_SYN }, UP, true, 0 },
	{ "its address, in a VLAN", { "-192.0.2.2" }, { TAG }, UP, true, 0 },
	{ "the address beside it", { "-192.0.2.3" }, { 0 }, UP, false, 0 },
	{ "two addresses", { "-192.0.2.2/31" }, { 0 }, UP, true, 0 },
	{ "its network", { "-192.0.2.0/24" }, { 0 }, UP, true, 0 },
	{ "the network beside it", { "-192.0.3.0/24" }, { 0 }, UP, false, 0 },
	{ "an odd length", { "-192.0.0.0/22" }, { 0 }, UP, true, 0 },
	{ "all of IPv4", { "-0.0.0.0/0" }, { 0 }, UP, true, 0 },
	{ "all of IPv4, an IPv6 frame", { "-0.0.0.0/0" }, { V6 }, UP, false, 0 },
	{ "all", { "-all" }, { 0 }, UP, true, 0 },
	{ "all, an IPv6 frame", { "-all" }, { V6 }, UP, true, 0 },
	{ "IPv6, its address", { "-2001:db8::2" }, { V6 }, UP, true, 0 },
	{ "IPv6, its address, in a VLAN", { "-2001:db8::2" }, { V6, TAG }, UP, true, 0 },
	{ "IPv6, the address beside it", { "-2001:db8::3" }, { V6 }, UP, false, 0 },
	{ "IPv6, its /64", { "-2001:db8::/64" }, { V6 }, UP, true, 0 },
	{ "IPv6, the /64 beside it", { "-2001:db8:0:1::/64" }, { V6 }, UP, false, 0 },
	{ "IPv6, an odd length", { "-2001:800::/21" }, { V6 }, UP, true, 0 },
	{ "global IPv6", { "-2000::/3" }, { V6 }, UP, true, 0 },
	{ "global IPv6, an IPv4 frame", { "-2000::/3" }, { 0 }, UP, false, 0 },
	{ "the longer one lets in", { "-192.0.2.0/24", "+192.0.2.2" }, { 0 }, UP, false, 0 },
	{ "the longer one denies", { "+192.0.2.0/24", "-192.0.2.2" }, { 0 }, UP, true, 0 },
	{ "three, the longest lets in", { "-all", "+192.0.2.0/25", "-192.0.2.0/24" }, { 0 }, UP, false, 0 },
	{ "three, the longest denies", { "-2001:db8::2", "+2001:db8::/64", "-all" }, { V6 }, UP, true, 0 },
	{ "all but one network, of it", { "-all", "+2001:db8::/32" }, { V6 }, UP, false, 0 },
	{ "all but one network, others", { "-all", "+2001:db8::/32" }, { 0 }, UP, true, 0 },
	{ "allowed, and nobody is denied", { "+198.51.100.0/24" }, { 0 }, UP, false, 0 },
	{ "IPv4 options", { "-192.0.2.2" }, { .ihl = 6 }, UP, true, 0 },
	{ "first fragment", { "-192.0.2.2" }, { .frag = WIRE_IP4_MF }, UP, true, 0 },
	{ "not ready", { "-192.0.2.2" }, { .flags = WIRE_SYN }, UNREADY, true, 0 },
	{ "never up", { "-192.0.2.2" }, { .flags = WIRE_SYN }, NEVER_UP, true, 0 },
	{ "stalled", { "-192.0.2.2" }, { .flags = WIRE_ACK }, STALLED, true, 0 },
	{ "other port", { "-all" }, { .port = 22 }, UP, false, STATS_xdp_pass_port },
	{ "other MAC", { "-all" }, { .other_mac = true }, UP, false, STATS_xdp_pass_mac },
	{ "ARP", { "-all" }, { .type = WIRE_TYPE_ARP }, UP, false, STATS_xdp_pass_other },
	{ "ND", { "-all" }, { V6, .proto = 58 }, UP, false, STATS_xdp_pass_proto },
};
#undef V6
#undef TAG
/* clang-format on */

/* --- prefixes -------------------------------------------------------------------- */

static int guard_map(const char *name)
{
	return bpf_object__find_map_fd_by_name(dut.skel->obj, name);
}

/* Also the denials of all rules that are there. */
static uint64_t rules_clear(void)
{
	int map = guard_map("access");
	struct access_key key;
	struct access_rule rule;
	uint64_t dropped = 0;

	while (!bpf_map_get_next_key(map, NULL, &key)) {
		must(!bpf_map_lookup_elem(map, &key, &rule));
		dropped += rule.dropped;
		must(!bpf_map_delete_elem(map, &key));
	}
	return dropped;
}

static void rule_add(const char *text)
{
	struct access_rule rule = { .what = *text == '-' ? ACCESS_deny : ACCESS_allow };
	struct access_key key;
	char why[PREFIX_TEXT * 2];

	must(!prefix_parse(&key, text + 1, why));
	must(!bpf_map_update_elem(guard_map("access"), &key, &rule, BPF_NOEXIST));
}

static bool access_agrees(const struct access_case *c, const struct outcome *o)
{
	if (c->denied)
		return o->verdict == XDP_DROP && o->counter == STATS_xdp_drop_denied;
	if (c->otherwise)
		return o->verdict == XDP_PASS && o->counter == c->otherwise;
	return o->verdict == XDP_REDIRECT && o->counter == STATS_xdp_redirected;
}

static void test_access(const struct access_case *c)
{
	uint8_t frame[FRAME_MAX];
	size_t length = frame_build(frame, &c->frame);

	if (enter(c->in, false)) {
		ok(false, "access: %s: program and maps", c->name);
		return;
	}
	rules_clear();
	for (unsigned i = 0; i < array_size(c->rule) && c->rule[i]; i++)
		rule_add(c->rule[i]);
	struct outcome o = run(frame, length);
	if (!ok(access_agrees(c, &o), "access: %s: %s", c->name, c->denied ? "denied" : "let in"))
		printf("#   verdict %u, counter %u\n", o.verdict, o.counter);
	is(rules_clear(), c->denied, "access: %s: counted by its prefix", c->name);
}

/* --- rates ------------------------------------------------------------------------- */

static void limits_set(struct limits l)
{
	uint32_t zero = 0;

	must(!bpf_map_update_elem(guard_map("limits"), &zero, &l, 0));
}

static void sources_clear(void)
{
	struct source_key key;

	while (!bpf_map_get_next_key(guard_map("sources"), NULL, &key))
		bpf_map_delete_elem(guard_map("sources"), &key);
}

static struct source source_now(const struct source_key *key)
{
	struct source s = { 0 };

	bpf_map_lookup_elem(guard_map("sources"), key, &s);
	return s;
}

static struct source_key source4(void)
{
	struct source_key key;

	map_addr4((uint8_t *)key.addr, frame_client4);
	return key;
}

/* Of so many frames that are alike: how many were redirected, and dropped as `why`. */
struct shower {
	unsigned passed, dropped;
	uint64_t ns;
};

static struct shower shower(struct frame f, unsigned frames, enum stats_index why)
{
	uint8_t frame[FRAME_MAX];
	size_t length = frame_build(frame, &f);
	struct shower s = { 0 };
	uint64_t start = now_ns();

	for (unsigned i = 0; i < frames; i++) {
		struct outcome o = run(frame, length);

		s.passed += o.counter == STATS_xdp_redirected && o.verdict == XDP_REDIRECT;
		s.dropped += o.counter == why && o.verdict == XDP_DROP;
	}
	s.ns = now_ns() - start;
	return s;
}

/* The burst, and what a full second adds at most. */
static bool shower_fits(const struct shower *s, unsigned frames, unsigned burst, unsigned per_s)
{
	return s->passed + s->dropped == frames && s->passed >= burst &&
	       s->passed <= burst + s->ns * per_s / NS_PER_S + 1;
}

static void show_shower(const struct shower *s)
{
	printf("#   %u passed, %u dropped in %.3f s\n", s->passed, s->dropped,
	       (double)s->ns / NS_PER_S);
}

static const struct frame syn4 = { .flags = WIRE_SYN }, ack4 = { .flags = WIRE_ACK };

static void test_syns(void)
{
	static const uint8_t other4[4] = { 192, 0, 2, 9 };
	static const uint8_t near6[16] = { 0x20, 0x01, 0x0d, 0xb8, [15] = 9 };
	static const uint8_t far6[16] = { 0x20, 0x01, 0x0d, 0xb8, [7] = 1, [15] = 2 };
	enum { BURST = 5, TRIES = 40 };
	const enum stats_index why = STATS_xdp_drop_syn_rate;
	struct frame other = syn4, syn6 = { .v6 = true, .flags = WIRE_SYN }, near = syn6,
		     far = syn6;
	struct source_key key = source4();

	other.src = other4, near.src = near6, far.src = far6;
	must(!enter(UP, false));
	sources_clear();
	limits_set((struct limits){ .syns_per_s = 1, .syns_burst = BURST });
	struct shower s = shower(syn4, TRIES, why);
	if (!ok(shower_fits(&s, TRIES, BURST, 1), "SYN rate: the burst passes"))
		show_shower(&s);
	is(source_now(&key).dropped_syn_rate, s.dropped, "SYN rate: the source has its drops");
	s = shower(ack4, TRIES, why);
	is(s.passed, TRIES, "SYN rate: data passes");
	s = shower(other, TRIES, why);
	ok(shower_fits(&s, TRIES, BURST, 1), "SYN rate: another address has its own burst");
	s = shower(syn6, TRIES, why);
	ok(shower_fits(&s, TRIES, BURST, 1), "SYN rate: IPv6 too");
	s = shower(near, TRIES, why);
	ok(s.passed + s.dropped == TRIES && s.passed <= s.ns / NS_PER_S + 1,
	   "SYN rate: another host of its /64 has none");
	s = shower(far, TRIES, why);
	ok(shower_fits(&s, TRIES, BURST, 1), "SYN rate: another /64 has its own");
	limits_set((struct limits){ 0 });
	s = shower(syn4, TRIES, why);
	is(s.passed, TRIES, "SYN rate: off again, all pass");
}

static void test_refill(void)
{
	const enum stats_index why = STATS_xdp_drop_syn_rate;

	sources_clear();
	limits_set((struct limits){ .syns_per_s = 20, .syns_burst = 1 });
	struct shower first = shower(syn4, 1, why), soon, later;
	soon = shower(syn4, 1, why);
	usleep(60000);
	later = shower(syn4, 1, why);
	is(first.passed, 1, "refill: one passes");
	ok(soon.dropped || first.ns + soon.ns >= NS_PER_S / 20, "refill: the next does not");
	is(later.passed, 1, "refill: after 60 ms, at 20 a second, one does");

	/* A debt of a thousand seconds is not held against the source under other limits. */
	sources_clear();
	limits_set((struct limits){ .syns_per_s = 1, .syns_burst = 1000 });
	must(shower(syn4, 1000, why).passed == 1000);
	limits_set((struct limits){ .syns_per_s = 100, .syns_burst = 2 });
	shower(syn4, 1, why);
	usleep(30000);
	is(shower(syn4, 1, why).passed, 1, "refill: other limits count at once");
	limits_set((struct limits){ 0 });
}

static void test_frames(void)
{
	enum { BURST = 7, TRIES = 40 };
	const enum stats_index why = STATS_xdp_drop_frame_rate;
	struct source_key key = source4();
	uint8_t frame[FRAME_MAX];
	size_t length = frame_build(frame, &ack4);

	must(!enter(STALLED_LONG, false));
	sources_clear();
	limits_set((struct limits){ .frames_per_s = 1, .frames_burst = BURST });
	for (unsigned i = 0; i < TRIES; i++)
		must(run(frame, length).counter == STATS_xdp_pass_stalled);
	ok(!source_now(&key).frames_full_ns, "frame rate: what the kernel gets is not counted");
	must(!enter(UP, false));
	sources_clear();
	limits_set((struct limits){ .frames_per_s = 1, .frames_burst = BURST });
	struct shower s = shower(ack4, TRIES, why);
	if (!ok(shower_fits(&s, TRIES, BURST, 1), "frame rate: the burst passes"))
		show_shower(&s);
	is(source_now(&key).dropped_frame_rate, s.dropped, "frame rate: the source has its drops");
	s = shower((struct frame){ .v6 = true }, TRIES, why);
	ok(shower_fits(&s, TRIES, BURST, 1), "frame rate: another source has its own");
	limits_set((struct limits){ .frames_per_s = 1 });
	sources_clear();
	s = shower(ack4, TRIES, why);
	ok(shower_fits(&s, TRIES, 1, 1), "frame rate: without a burst, one at a time");
	limits_set((struct limits){ 0 });
}

/* More sources than there are entries: each is new, and let in. */
static void test_many(void)
{
	enum { SOURCES = 3 * SOURCES_MAX };
	uint8_t frame[FRAME_MAX];
	uint32_t src, passed = 0;
	struct frame f = syn4;

	sources_clear();
	limits_set((struct limits){ .syns_per_s = 1, .syns_burst = 1 });
	f.src = &src;
	for (uint32_t i = 0; i < SOURCES; i++) {
		src = htonl(0x0a000000 + i);
		passed += run(frame, frame_build(frame, &f)).counter == STATS_xdp_redirected;
	}
	is(passed, SOURCES, "%d sources, %d entries: all are let in", SOURCES, SOURCES_MAX);
	limits_set((struct limits){ 0 });
	sources_clear();
}

/* --- connections --------------------------------------------------------------------- */

static enum stats_index conns_verdict(const struct frame *f)
{
	uint8_t frame[FRAME_MAX];

	return run(frame, frame_build(frame, f)).counter;
}

static void test_conns(void)
{
	struct frame syn6 = { .v6 = true, .flags = WIRE_SYN };
	struct steer_config told = told_of(UP, 2);
	struct steer_live live = { .ready = 1 };
	struct source_key key = source4();
	struct source_thread none;
	uint8_t client4[16];
	uint32_t zero = 0;

	map_addr4(client4, frame_client4);
	live.io[0].heartbeat_ns = live.io[1].heartbeat_ns = now_ns() & ~1ull;
	must(!load(&told) && !bpf_map_update_elem(guard_map("live"), &zero, &live, 0));
	set_slot(0, true);
	int map = guard_map("source_conns");
	limits_set((struct limits){ .conns = 3 });
	must(!guard_opened(map, 0, client4) && !guard_opened(map, 0, client4));
	is(conns_verdict(&syn4), STATS_xdp_redirected, "connections: two are open, three may be");
	must(!guard_opened(map, 1, client4));
	is(conns_verdict(&syn4), STATS_xdp_drop_conns,
	   "connections: the third is another thread's");
	is(source_now(&key).dropped_conns, 1, "connections: the source has its drops");
	is(conns_verdict(&ack4), STATS_xdp_redirected, "connections: data passes");
	is(conns_verdict(&syn6), STATS_xdp_redirected, "connections: another source does");
	must(!guard_opened(map, 0, frame_client6) && !guard_opened(map, 0, frame_client6));
	must(!guard_opened(map, 1, frame_addr6)); /* of its /64 */
	is(conns_verdict(&syn6), STATS_xdp_drop_conns, "connections: of one /64, too");
	must(!guard_ended(map, 1, frame_client6));
	is(conns_verdict(&syn6), STATS_xdp_redirected, "connections: one has ended");
	must(!guard_ended(map, 0, client4) && !guard_ended(map, 0, client4));
	must(!guard_ended(map, 1, client4) && !guard_ended(map, 1, client4));
	is(conns_verdict(&syn4), STATS_xdp_redirected, "connections: all of one have ended");
	must(!guard_forget(map));
	ok(bpf_map_get_next_key(map, NULL, &none) == -ENOENT,
	   "connections: forgotten, no entry is left");
	limits_set((struct limits){ 0 });
}

static void test_guard(void)
{
	for (size_t i = 0; i < array_size(access_cases); i++)
		test_access(&access_cases[i]);
	must(!enter(UP, false));
	test_syns();
	test_refill();
	test_frames();
	test_many();
	test_conns();
}

#endif
