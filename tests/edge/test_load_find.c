/* SPDX-License-Identifier: GPL-2.0-only */
/* load_find: the search against servers that are functions, and the words it takes. */
#include <math.h>
#include "load_find.h"
#include "tap.h"

static struct load_find f;

static void tell(uint64_t value_ns, bool holds, const char *why)
{
	load_find_tell(
		&f, &(struct load_step_made){ .value_ns = value_ns, .holds = holds, .why = why });
}

/* p99 of a queue with one server, M/M/1: -ln(0.01) / (capacity - rate). */
static uint64_t queue_p99_ns(double rate, double capacity)
{
	return rate >= capacity ? UINT64_MAX : (uint64_t)(4.60517 / (capacity - rate) * 1e9);
}

static unsigned search_queue(double capacity, uint64_t limit_ns, double first, double most)
{
	double rate;

	load_find_init(&f, first, 1, most);
	while ((rate = load_find_next(&f)) > 0) {
		uint64_t p99 = queue_p99_ns(rate, capacity);
		tell(p99, p99 < limit_ns, "");
	}
	return f.steps;
}

static void test_queues(void)
{
	static const double capacity[] = { 300, 1234, 50000, 333333 };
	static const double first[] = { 1, 200, 100000 };

	for (unsigned i = 0; i < array_size(capacity); i++) {
		double truth = capacity[i] - 4.60517 / 0.050;
		for (unsigned j = 0; j < array_size(first); j++) {
			unsigned steps = search_queue(capacity[i], 50 * NS_PER_MS, first[j], 1e6);
			ok(f.low <= truth && f.low * 1.03 >= truth && steps < 30,
			   "capacity %g/s, from %g/s: p99 < 50 ms up to %.1f/s; found %.1f/s in %u "
			   "steps",
			   capacity[i], first[j], truth, f.low, steps);
		}
	}
	search_queue(1e9, 50 * NS_PER_MS, 200, 6000);
	is((uint64_t)f.low, 6000, "it ends at --max-rate");
	ok(f.high <= 0 && !load_find_failed(&f), "where nothing failed");
	ok(load_find_capped(&f), "and says that it is the highest allowed");
	is((uint64_t)load_find_held(&f)->rate, 6000, "the step that decides is that one");
	search_queue(10, NS_PER_MS, 200, 1e6);
	ok(f.low <= 0, "a server that is too slow at any rate: there is none");
	is((uint64_t)f.high, 1, "and the least rate was tried");
	ok(load_find_next(&f) <= 0, "no step is left");
}

/* Held at 400 and 800, failed at 600 by a hiccup: no step is above one that failed. */
static void test_noise(void)
{
	load_find_init(&f, 400, 1, 1e6);
	tell(1, true, "");
	is((uint64_t)f.next, 800, "doubled after a step that held");
	tell(9, false, "latency");
	is((uint64_t)f.next, 600, "halfway between the two");
	tell(9, false, "latency");
	is((uint64_t)f.next, 500, "and again, below the one that failed");
	unsigned steps = 3;
	for (double rate; (rate = load_find_next(&f)) > 0; steps++) {
		ok(rate > f.low && rate < f.high, "%.1f is between what held and what failed",
		   rate);
		tell(1, true, "");
	}
	ok(f.low > 600 / 1.031 && f.low < 600, "the answer is just below it: %.1f", f.low);
	is_str(f.step[1].why, "latency", "the steps keep their reasons");
	is(f.steps, steps, "and all are kept");
	ok(load_find_held(&f)->holds && load_find_held(&f)->rate >= f.low, "the answer's is known");
	ok(!load_find_failed(&f)->holds && load_find_failed(&f)->rate <= f.high,
	   "and the one that bounds it");
	ok(!load_find_capped(&f), "which is not the highest allowed");
}

static void test_wrong(void)
{
	load_find_init(&f, 400, 1, 1e6);
	tell(1, true, "");
	load_find_tell(&f,
		       &(struct load_step_made){
			       .value_ns = 1, .why = "wrong hashes", .failures = 2, .wrong = 1 });
	ok(f.broken && load_find_next(&f) <= 0, "a wrong hash ends the search");
	ok(f.low <= 0 && !load_find_held(&f), "without an answer");
	is((uint64_t)f.step[1].rate, 800, "the step is kept");
}

static void parse(const char *text, bool good, uint32_t ppm, uint64_t ns)
{
	uint32_t got_ppm = 0;
	uint64_t got_ns = 0;
	bool got = load_find_parse(text, &got_ppm, &got_ns);

	ok(got == good && (!good || (got_ppm == ppm && got_ns == ns)), "'%s' is %s", text,
	   good ? "taken" : "refused");
}

static void test_words(void)
{
	parse("p99<50ms", true, 990000, 50000000);
	parse("p99.9<1ms", true, 999000, 1000000);
	parse("p99.99<250us", true, 999900, 250000);
	parse("p50<1.5s", true, 500000, 1500000000);
	parse("p95<800ns", true, 950000, 800);
	static const char *const bad[] = {
		"",        "p99",     "p99<",    "p99<50",    "99<50ms",
		"p100<1s", "p0<1s",   "p99>1ms", "p99<-1ms",  "p99<1m",
		"p99<0ms", "mean<1s", "p<1ms",   "p99<1ms x", "p99<5000s"
	};
	for (unsigned i = 0; i < array_size(bad); i++)
		parse(bad[i], false, 0, 0);
}

int main(void)
{
	test_queues();
	test_noise();
	test_wrong();
	test_words();
	return done();
}
