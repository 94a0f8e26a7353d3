/* SPDX-License-Identifier: GPL-2.0-only */
#include <inttypes.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "stat.h"
#include "stat_gauges.h"

static void json_cores(const struct instance *in)
{
	const struct stats_report *r = &in->report;
	uint32_t threads = stats_io_threads(&r->mode), cores = stats_compute_cores(&r->mode);
	printf(",\"lanes\":%u,\"io\":[", r->mode.lanes);
	for (uint32_t t = 0; t < threads; t++)
		printf("%s{\"cpu\":%d,\"isolated\":%s,\"busy_ns\":%" PRIu64
		       ",\"heartbeat_ns\":%" PRIu64 "}",
		       t ? "," : "", r->mode.io_cpu[t], io_isolated(&r->mode, t) ? "true" : "false",
		       r->busy_ns[t], r->live.io[t].heartbeat_ns);
	printf("],\"compute\":[");
	for (uint32_t k = 0; k < cores; k++)
		printf("%s{\"cpu\":%d,\"busy_ns\":%" PRIu64 "}", k ? "," : "",
		       r->mode.compute_cpu[k], r->busy_ns[threads + k]);
	printf("]");
}

static void json_mode(const struct instance *in)
{
	const struct mode *m = &in->report.mode;
	char text[ABI_MODE_TEXT];
	stats_mode_text(text, sizeof text, m);
	printf("\"mode\":{");
	json_string("text", text, sizeof text);
	printf(",\"state\":\"%s\",\"rung\":\"%s\",\"copy\":\"%s\",\"tx\":\"%s\",\"rx\":\"%s\"",
	       stats_state_name(m->state), stats_rung_name(m->rung), stats_copy_name(m->copy),
	       stats_proof_name(m->tx), stats_proof_name(m->rx));
	putchar(',');
	json_string("ifname", m->ifname, sizeof m->ifname);
	putchar(',');
	json_string("program", m->program, sizeof m->program);
	printf(",\"port\":%u,\"pid\":%u,\"queues\":%u,\"max_conns\":%u", m->port, m->pid, m->queues,
	       m->max_conns);
	json_cores(in);
	printf(",\"started_ns\":%" PRIu64 ",\"listening_ns\":%" PRIu64 ",\"ready_ns\":%" PRIu64 "}",
	       m->started_ns, m->listening_ns, m->ready_ns);
}

static void json_percentile(const char *name, uint64_t ns, bool enough)
{
	if (enough)
		printf(",\"%s\":%" PRIu64, name, ns);
	else
		printf(",\"%s\":null", name);
}

static void json_stage(const char *name, const struct summary_stage *s)
{
	printf("\"%s\":{\"count\":%" PRIu64, name, s->count);
	json_percentile("mean_ns", s->mean_ns, s->count);
	json_percentile("p50_ns", s->p50_ns, hist_enough(s->count, HIST_P50));
	json_percentile("p90_ns", s->p90_ns, hist_enough(s->count, HIST_P90));
	json_percentile("p95_ns", s->p95_ns, hist_enough(s->count, HIST_P95));
	json_percentile("p99_ns", s->p99_ns, hist_enough(s->count, HIST_P99));
	json_percentile("p999_ns", s->p999_ns, hist_enough(s->count, HIST_P999));
	json_percentile("max_ns", s->max_ns, s->count);
	putchar('}');
}

/* The span is left open: its closing brace is the caller's. */
static void json_span(const char *name, uint64_t span_ns, uint64_t requests,
		      const struct summary_stage *stages)
{
	printf("\"%s\":{\"span_ns\":%" PRIu64 ",\"requests\":%" PRIu64
	       ",\"requests_per_second\":%.3f"
	       ",\"stages\":{",
	       name, span_ns, requests, per_second(requests, span_ns));
	for (uint32_t i = 0; i < STAGES; i++) {
		printf(i ? ",\n    " : "\n    ");
		json_stage(stats_stages[i].name, &stages[i]);
	}
	printf("}");
}

static void json_figures(const char *name, const struct figures *f)
{
	struct summary_stage stages[STAGES];
	for (uint32_t i = 0; i < STAGES; i++)
		hist_summarize(&stages[i], (const struct hist *)&f->stages + i);
	json_span(name, figures_span_ns(f), stats_requests(&f->counters), stages);
}

static void json_counters(const struct figures *f)
{
	printf(",\n  \"counters\":{");
	for (uint32_t i = 0; i < STATS_COUNT; i++)
		printf("%s\n    \"%s\":%" PRIu64, i ? "," : "", stats_counters[i].name,
		       stats_value(&f->counters, i));
	printf("}");
}

static void json_whole(const char *name, const struct figures *f)
{
	printf(",\n  ");
	json_figures(name, f);
	json_counters(f);
	printf("}");
}

/* Not in the report: a responder without an XDP program has none in force. */
static void json_in_force(const struct instance *in)
{
	char error[STAT_ERROR];
	struct limits l;
	uint32_t entries, key = 0;
	int fd = stats_map_open(in->dir, "limits", sizeof l, &entries, error, sizeof error);

	if (fd >= 0 && !bpf_map_lookup_elem(fd, &key, &l))
		json_limits(&l);
	else
		printf("\"limits\":null");
	if (fd >= 0)
		close(fd);
}

void json_show(const struct shown *s)
{
	const struct instance *in = s->in;
	const struct summary_span *last = &in->report.summary.last;
	printf("{\"abi\":%d,", ABI_VERSION);
	json_string("tool", VERSION, sizeof VERSION);
	putchar(',');
	json_string("instance", in->name, SIZE_MAX);
	putchar(',');
	json_string("dir", in->dir, SIZE_MAX);
	printf(",\"now_ns\":%" PRIu64 ",\"life\":\"%s\"", in->report.now_ns, life_name(in->life));
	json_percentile("heartbeat_age_ns", in->heartbeat_age_ns,
			in->heartbeat_age_ns != UINT64_MAX);
	printf(",\n  ");
	json_mode(in);
	printf(",\n  ");
	json_figures("start", s->start);
	printf("},\n  ");
	json_span("last", last->seconds_ns, last->requests, &last->steer);
	printf("}");
	if (s->word)
		json_whole(s->key, s->figures);
	if (s->before)
		json_whole("before", s->before);
	json_counters(s->start);
	printf(",\n  ");
	gauges_json(in->dir, &in->report.mode);
	printf(",\n  ");
	json_in_force(in);
	printf("}");
}

void json_error(const char *name, const char *error)
{
	putchar('{');
	json_string("instance", name, SIZE_MAX);
	putchar(',');
	json_string("error", error, SIZE_MAX);
	putchar('}');
}
