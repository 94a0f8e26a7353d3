/* SPDX-License-Identifier: GPL-2.0-only */
/* load_verdict and load_record: what is counted where, and which runs are not believed. */
#include "load_verdict.h"
#include "tap.h"

#define MS ((uint64_t)NS_PER_MS)
#define US ((uint64_t)NS_PER_US)

static struct load_plan plan;
static struct load_record r;
static struct load_verdict v;

static void begin(void)
{
	load_record_start(&r, 1000 * MS, 11000 * MS);
}

/* Request k of 200 a second for 10 s, sent lag_ns late, answered latency_ns behind due. */
static void request(uint64_t k, uint64_t lag_ns, uint64_t latency_ns)
{
	uint64_t due = 1000 * MS + k * 5 * MS;

	r.due++;
	load_record_sent(&r, due + lag_ns, lag_ns);
	load_record_ok(&r, 0, due, due + lag_ns, due + latency_ns, LOAD_NONE);
}

static const char *verdict(void)
{
	load_record_finish(&r);
	load_verdict_reach(&v, &plan, &r);
	return v.reasons ? v.reason[0] : "";
}

static void judged(const char *name, const char *words)
{
	const char *got = verdict();

	ok(*words ? strstr(got, words) != NULL : !*got, "%s: '%s'", name, got);
}

static void test_lag(void)
{
	begin();
	for (uint64_t k = 0; k < 2000; k++)
		request(k, 5 * US, 100 * US);
	judged("5 us late of 100", "");
	begin();
	for (uint64_t k = 0; k < 2000; k++)
		request(k, k % 50 ? 0 : 11 * US, k % 50 ? 90 * US : 100 * US);
	judged("p99 of the lag is 11 us, of the latency 100", "own lag p99");
	begin();
	for (uint64_t k = 0; k < 2000; k++)
		request(k, k % 50 ? 0 : 9 * US, 50 * US);
	judged("9 us of 50: nobody's figures turn on it", "");
	begin();
	for (uint64_t k = 0; k < 2000; k++)
		request(k, k % 250 ? 0 : 10 * MS, k % 250 ? 90 * US : 10 * MS);
	judged("late in 0.4 % of the requests: p99 is still the server's", "");
	plan.mode = LOAD_CLOSED;
	begin();
	for (uint64_t k = 0; k < 2000; k++)
		request(k, 50 * US, 100 * US);
	judged("lag in a closed loop is in no latency", "");
	plan.mode = LOAD_CONSTANT;
}

static void test_gaps(void)
{
	begin();
	for (uint64_t k = 0; k < 2000; k++)
		request(k, 0, 100 * US);
	load_hist_record(&r.gap, 90 * MS);
	judged("a pause of 90 ms in 10 s", "");
	load_hist_record(&r.gap, 900 * MS);
	judged("and one of 0.9 s", "did not run for 0.99 s of 10.00 s");
	begin();
	for (uint64_t k = 0; k < 2000; k++)
		request(k, 0, 100 * US);
	for (int i = 0; i < 1000; i++)
		load_hist_record(&r.gap, 300 * US);
	judged("a thousand of 0.3 ms, which are batches", "");
}

static void test_rate(void)
{
	begin();
	for (uint64_t k = 0; k < 1970; k++)
		request(k, 0, 100 * US);
	r.due += 30;
	judged("30 of 2,000 were not sent before the end", "only 98.5 %");
	begin();
	for (uint64_t k = 0; k < 1999; k++)
		request(k, 0, 100 * US);
	r.due++;
	load_record_unsent(&r);
	judged("a single one was never sent, and would have been the latest", "1 found none free");
	is(load_record_failures(&r), 0, "which is no failure of the server");
	is(load_record_requests(&r), 2000, "but counted");
	is(r.second[9].failed, 0, "and in no second");
	begin();
	verdict();
	ok(v.reasons == 1 && strstr(v.reason[0], "no request"),
	   "without a request nothing is known");
}

static void test_need(void)
{
	begin();
	for (uint64_t k = 0; k < 2000; k++)
		request(k, 0, 100 * US);
	plan.need_ppm = 990000;
	judged("2,000 carry p99", "");
	plan.need_ppm = 999000;
	judged("but not p99.9", "p99.9: not enough samples: 2000, and it takes 10000");
	plan.need_ppm = 0;
	judged("which nobody asked for", "");
}

/* Half a second without answers, and the wait is in the latency of all that were due. */
static void test_seconds(void)
{
	begin();
	for (uint64_t k = 0; k < 2000; k++)
		request(k, 0, k >= 300 && k < 400 ? (400 - k) * 5 * MS : 100 * US);
	load_record_failed(&r, LOAD_refused, 10990 * MS, 10995 * MS, "503");
	load_record_failed(&r, LOAD_resets, 10990 * MS, 10996 * MS, "first");
	load_record_failed(&r, LOAD_resets, 10990 * MS, 10997 * MS, "second");
	load_record_finish(&r);
	is(r.seconds, 10, "ten rows");
	is(r.second[0].sent, 200, "200 sent in the first");
	ok(r.second[0].p99_ns == LOAD_NONE && r.second[0].p50_ns >= 100 * US,
	   "of which p50 is carried, and p99 is not");
	is(r.second[9].refused, 1, "a refusal in the last");
	is(r.second[9].failed, 2, "and two failures");
	is(load_record_requests(&r), 2003, "all are counted");
	is(load_record_failures(&r), 2, "a refusal is no failure");
	is_str(r.first[LOAD_resets], "first, at 9.996 s", "the first of a kind is kept");
	ok(r.latency.max_ns == 500 * MS && r.service.max_ns == 500 * MS,
	   "the longest wait is known");
	uint64_t sent = 0, answered = 0;
	for (unsigned i = 0; i < r.seconds; i++) {
		sent += r.second[i].sent;
		answered += r.second[i].ok;
	}
	is(sent, 2000, "the rows have every request");
	is(answered, 2000, "and every answer");
}

static void test_outside(void)
{
	begin();
	load_record_ok(&r, 0, 2000 * MS, 2001 * MS, 2011 * MS, 9 * MS);
	is(r.latency.max_ns, 11 * MS, "latency counts from when it was due");
	is(r.service.max_ns, 10 * MS, "service from the send");
	is(r.outside.max_ns, 1 * MS, "outside is what the server does not account for");
	load_record_ok(&r, 0, 2000 * MS, 2001 * MS, 2002 * MS, 9 * MS);
	is(load_hist_percentile(&r.outside, 10), 0, "never less than nothing");
	begin();
	is(r.latency.count + r.outside.count + load_record_requests(&r), 0, "a new run forgets");
}

int main(void)
{
	plan = (struct load_plan){
		.kinds = 1, .seconds = 10, .timeout_ns = NS_PER_S, .connections = 8
	};
	if (!load_record_init(&r, &plan))
		return 1;
	test_lag();
	test_gaps();
	test_rate();
	test_need();
	test_seconds();
	test_outside();
	load_record_fini(&r);
	return done();
}
