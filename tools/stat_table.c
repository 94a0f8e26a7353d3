/* SPDX-License-Identifier: GPL-2.0-only */
#include <inttypes.h>
#include "stat.h"
#include "stat_gauges.h"

/* --- the responder ------------------------------------------------------------- */

static void show_responder(const struct instance *in)
{
	const struct mode *m = &in->report.mode;
	char age[STAT_TEXT];
	printf("  responder  %.*s, pid %u, ", (int)sizeof m->program, m->program, m->pid);
	bool beat = in->heartbeat_age_ns != UINT64_MAX;
	time_text(age, in->heartbeat_age_ns);
	switch (in->life) {
	case LIFE_RUNNING:
		printf(beat ? "running (heartbeat %s ago)\n" : "running\n", age);
		break;
	case LIFE_SILENT:
		printf("SILENT: the process lives, its heartbeat is %s old\n", age);
		break;
	case LIFE_ELSEWHERE:
		printf("running in another PID namespace (heartbeat %s ago)\n", age);
		break;
	case LIFE_GONE:
		printf(beat ? "GONE %s ago: these are its last figures\n" :
			      "GONE: these are its last figures\n",
		       age);
		break;
	}
}

static void show_cores(const struct instance *in, const struct figures *f)
{
	const struct mode *m = &in->report.mode;
	uint32_t threads = stats_io_threads(m), cores = stats_compute_cores(m);
	for (uint32_t t = 0; t < threads; t++)
		printf("  %-10s CPU %d (%s), busy %.1f %% of the time\n",
		       t           ? "" :
		       threads > 1 ? "cores" :
				     "core",
		       m->io_cpu[t], io_isolated(m, t) ? "isolated" : "not isolated",
		       figures_rate(f, f->busy_ns[t]) / 1e7);
	for (uint32_t k = 0; k < cores; k++)
		printf("  %-10s CPU %d, busy %.1f %% of the time\n", k ? "" : "compute",
		       m->compute_cpu[k], figures_rate(f, f->busy_ns[threads + k]) / 1e7);
	printf("  limits     RX queues: %u; connections: at most %u%s; lanes: %u\n", m->queues,
	       m->max_conns, threads > 1 ? " on each core" : "", m->lanes);
}

static void show_requests(const struct shown *s)
{
	const struct instance *in = s->in;
	const struct summary_span *last = &in->report.summary.last;
	uint64_t requests = stats_requests(&s->start->counters);
	char text[STAT_TEXT];
	printf("  requests   %" PRIu64 ", %.1f/s since the start", requests,
	       figures_rate(s->start, requests));
	if (in->life != LIFE_GONE && last->seconds_ns)
		printf(", %.1f/s in the last second", per_second(last->requests, last->seconds_ns));
	printf("\n");
	if (!s->word)
		return;
	requests = stats_requests(&s->figures->counters);
	printf("  below      %s: %s, %" PRIu64 " requests, %.1f/s\n", s->word,
	       uptime_text(text, figures_span_ns(s->figures)), requests,
	       figures_rate(s->figures, requests));
}

static void show_mode(const struct shown *s)
{
	const struct instance *in = s->in;
	const struct mode *m = &in->report.mode;
	char text[ABI_MODE_TEXT], a[STAT_TEXT];
	stats_mode_text(text, sizeof text, m);
	printf("%s: %s, %s\n", in->name, text, stats_state_name(m->state));
	show_responder(in);
	printf("  proof      sending %s, receiving %s\n", stats_proof_name(m->tx),
	       stats_proof_name(m->rx));
	show_cores(in, s->figures);
	printf("  start      listening after %s, ", time_text(a, m->listening_ns - m->started_ns));
	if (m->ready_ns)
		printf("bypass in effect after %s, ", time_text(a, m->ready_ns - m->started_ns));
	else
		printf("no bypass in effect, ");
	printf("up %s\n", uptime_text(a, figures_span_ns(s->start)));
	show_requests(s);
}

/* --- stages and counters ---------------------------------------------------------- */

static void show_cell(uint64_t ns, bool known)
{
	char text[STAT_TEXT];
	printf(" %8s", known ? time_text(text, ns) : "-");
}

static void show_stages(const struct figures *f)
{
	printf("\n%-9s%11s %8s %8s %8s %8s %8s %8s %8s\n", "stage", "count", "mean", "p50", "p90",
	       "p95", "p99", "p99.9", "max");
	for (uint32_t i = 0; i < STAGES; i++) {
		const struct hist *h = (const struct hist *)&f->stages + i;
		struct summary_stage s;
		hist_summarize(&s, h);
		printf("%-9s%11" PRIu64, stats_stages[i].name, s.count);
		show_cell(s.mean_ns, s.count);
		show_cell(s.p50_ns, hist_enough(s.count, HIST_P50));
		show_cell(s.p90_ns, hist_enough(s.count, HIST_P90));
		show_cell(s.p95_ns, hist_enough(s.count, HIST_P95));
		show_cell(s.p99_ns, hist_enough(s.count, HIST_P99));
		show_cell(s.p999_ns, hist_enough(s.count, HIST_P999));
		show_cell(s.max_ns, s.count);
		printf("  %s", stats_stages[i].help);
		if (h->over)
			printf(" (%" PRIu64 " beyond 137 s)", h->over);
		printf("\n");
	}
}

static void show_counters(const struct figures *f, bool all)
{
	printf("\n%-23s%14s %11s\n", "counter", "count", "per second");
	for (uint32_t i = 0; i < STATS_COUNT; i++) {
		uint64_t value = stats_value(&f->counters, i);
		if (value || all)
			printf("%-23s%14" PRIu64 " %11.1f  %s\n", stats_counters[i].name, value,
			       figures_rate(f, value), stats_counters[i].help);
	}
	if (!all)
		printf("(those that are 0 are left out: --all shows them)\n");
}

void table_show(const struct shown *s, bool all)
{
	show_mode(s);
	show_stages(s->figures);
	show_counters(s->figures, all);
	if (all)
		gauges_text(s->in->dir, &s->in->report.mode);
}

void table_list(const struct shown *s)
{
	const struct mode *m = &s->in->report.mode;
	char text[ABI_MODE_TEXT];
	uint64_t requests = stats_requests(&s->figures->counters);
	stats_mode_text(text, sizeof text, m);
	printf("%-28s  %-40s  %-8s  pid %-7u %-9s  requests %" PRIu64, s->in->name, text,
	       stats_state_name(m->state), m->pid, life_name(s->in->life), requests);
	if (s->word)
		printf(" (%.1f/s) %s", figures_rate(s->figures, requests), s->word);
	printf("\n");
}

/* --- two stretches side by side ------------------------------------------------------ */

static void show_change(double before, double now)
{
	if (before > 0 && now > 0)
		printf(" %+7.1f %%", (now / before - 1) * 100);
	else
		printf(" %9s", "-");
}

static void show_pair(uint64_t before, uint64_t now, bool knew, bool known)
{
	show_cell(before, knew);
	show_cell(now, known);
	show_change(knew ? (double)before : 0, known ? (double)now : 0);
}

static void diff_stages(const struct figures *before, const struct figures *now)
{
	static const char *const title[] = { "mean", "p50", "p99" };
	printf("\n%-9s%22s", "", "count");
	for (uint32_t i = 0; i < array_size(title); i++)
		printf(" %27s", title[i]);
	printf("\n%-9s%11s%11s", "stage", "before", "now");
	for (uint32_t i = 0; i < array_size(title); i++)
		printf(" %8s %8s %9s", "before", "now", "change");
	printf("\n");
	for (uint32_t i = 0; i < STAGES; i++) {
		struct summary_stage b, n;
		hist_summarize(&b, (const struct hist *)&before->stages + i);
		hist_summarize(&n, (const struct hist *)&now->stages + i);
		printf("%-9s%11" PRIu64 "%11" PRIu64, stats_stages[i].name, b.count, n.count);
		show_pair(b.mean_ns, n.mean_ns, b.count, n.count);
		show_pair(b.p50_ns, n.p50_ns, hist_enough(b.count, HIST_P50),
			  hist_enough(n.count, HIST_P50));
		show_pair(b.p99_ns, n.p99_ns, hist_enough(b.count, HIST_P99),
			  hist_enough(n.count, HIST_P99));
		printf("\n");
	}
}

static void diff_counters(const struct figures *before, const struct figures *now, bool all)
{
	printf("\n%-23s%12s %12s %9s\n", "per second", "before", "now", "change");
	for (uint32_t i = 0; i < STATS_COUNT; i++) {
		double b = figures_rate(before, stats_value(&before->counters, i));
		double n = figures_rate(now, stats_value(&now->counters, i));
		if (!all && b <= 0 && n <= 0)
			continue;
		printf("%-23s%12.1f %12.1f", stats_counters[i].name, b, n);
		show_change(b, n);
		printf("  %s\n", stats_counters[i].help);
	}
}

static void diff_line(const char *word, const struct figures *f, const char *what)
{
	char text[STAT_TEXT];
	uint64_t requests = stats_requests(&f->counters);
	printf("  %-9s  %s: %s, %" PRIu64 " requests, %.1f/s\n", word, what,
	       uptime_text(text, figures_span_ns(f)), requests, figures_rate(f, requests));
}

void table_diff(const struct shown *s, bool all)
{
	const struct mode *m = &s->in->report.mode;
	char text[ABI_MODE_TEXT];
	stats_mode_text(text, sizeof text, m);
	printf("%s: %s, %s\n", s->in->name, text, stats_state_name(m->state));
	show_responder(s->in);
	diff_line("before", s->before, s->file);
	diff_line("now", s->figures, s->word ? s->word : "since the start");
	diff_stages(s->before, s->figures);
	diff_counters(s->before, s->figures, all);
}
