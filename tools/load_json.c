/* SPDX-License-Identifier: GPL-2.0-only */
/* load_json.c - a run as one JSON object; docs/saker-load.1 has the schema */
#include <inttypes.h>
#include "load_report.h"

static const struct {
	const char *name;
	uint32_t ppm;
} percentiles[] = {
	{ "p50", 500000 }, { "p90", 900000 },  { "p95", 950000 },
	{ "p99", 990000 }, { "p999", 999000 }, { "p9999", 999900 },
};

/* The bytes of one character beyond ASCII, or 0: it is no UTF-8 (RFC 3629 4). */
static unsigned utf8_len(const unsigned char *text)
{
	unsigned n = *text >= 0xc2 && *text <= 0xdf ? 2 :
		     *text >= 0xe0 && *text <= 0xef ? 3 :
		     *text >= 0xf0 && *text <= 0xf4 ? 4 :
						      0;

	for (unsigned i = 1; i < n; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	/* Neither longer than it must be, nor a surrogate, nor beyond U+10FFFF */
	bool none = (*text == 0xe0 && text[1] < 0xa0) || (*text == 0xed && text[1] > 0x9f) ||
		    (*text == 0xf0 && text[1] < 0x90) || (*text == 0xf4 && text[1] > 0x8f);
	return none ? 0 : n;
}

/* Names and paths are UTF-8 as they were given; any other byte would be no JSON. */
static void put_string(FILE *to, const char *text)
{
	putc('"', to);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		unsigned n = utf8_len((const unsigned char *)text);
		if (n) {
			fwrite(text, 1, n, to);
			text += n - 1;
		} else if (c == '"' || c == '\\') {
			fprintf(to, "\\%c", c);
		} else if (c < 0x20 || c >= 0x7f) {
			fprintf(to, "\\u%04x", c < 0x80 ? c : 0xfffd);
		} else {
			putc(c, to);
		}
	}
	putc('"', to);
}

static void put_ns(FILE *to, const char *name, uint64_t ns)
{
	if (ns == LOAD_NONE)
		fprintf(to, ",\"%s\":null", name);
	else
		fprintf(to, ",\"%s\":%" PRIu64, name, ns);
}

static void put_times(FILE *to, const char *name, const struct load_hist *h)
{
	if (!h->count) {
		fprintf(to, "\"%s\":null", name);
		return;
	}
	fprintf(to, "\"%s\":{\"count\":%" PRIu64 ",\"mean\":%.0f", name, h->count,
		load_hist_mean(h));
	for (unsigned i = 0; i < array_size(percentiles); i++)
		put_ns(to, percentiles[i].name,
		       load_hist_carries(h, percentiles[i].ppm) ?
			       load_hist_percentile(h, percentiles[i].ppm) :
			       LOAD_NONE);
	fprintf(to, ",\"max\":%" PRIu64 "}", h->max_ns);
}

/* Coarser than they were counted: 0.8 % is enough to draw, and a tenth of the bytes. */
static void put_buckets(FILE *to, const char *name, const struct load_hist *h)
{
	const char *comma = "";

	fprintf(to, "\"%s\":[", name);
	for (uint32_t i = h->low; h->count && i <= h->high;) {
		uint32_t group = load_hist_coarse(i), last = i;
		uint64_t count = 0;
		for (; i <= h->high && load_hist_coarse(i) == group; i++) {
			count += h->bucket[i];
			last = h->bucket[i] ? i : last;
		}
		if (!count)
			continue;
		fprintf(to, "%s[%" PRIu64 ",%" PRIu64 "]", comma,
			min_u64(load_hist_upper(last), h->max_ns), count);
		comma = ",";
	}
	putc(']', to);
}

/* --- parts -------------------------------------------------------------------------- */

static void put_plan(FILE *to, const struct load_result *x)
{
	const struct load_plan *p = x->plan;

	fputs("{\"tool\":\"saker-load\",\"version\":\"" VERSION "\",\"name\":", to);
	put_string(to, p->name ? p->name : "");
	fputs(",\"url\":", to);
	put_string(to, p->url);
	fprintf(to, ",\"mode\":\"%s\"", load_mode_name(p->mode));
	if (p->mode == LOAD_CLOSED)
		fputs(",\"rate\":null", to);
	else
		fprintf(to, ",\"rate\":%.12g", x->rate);
	if (p->mode == LOAD_BURST)
		fprintf(to, ",\"burst\":{\"n\":%u,\"ms\":%g}", p->burst, p->burst_ms);
	else
		fputs(",\"burst\":null", to);
	fprintf(to, ",\"connections\":%u,\"new\":%s,\"seconds\":%g,\"warm_s\":%g,\"timeout_s\":%g",
		p->connections, p->fresh ? "true" : "false", p->seconds, p->warm,
		(double)p->timeout_ns / NS_PER_S);
	fprintf(to, ",\"seed\":%" PRIu64 ",\"cpu\":", p->seed);
	if (p->cpu < 0)
		fputs("null", to);
	else
		fprintf(to, "%d", p->cpu);
	fprintf(to, ",\"spin\":%s,\"verify\":%s", p->spin ? "true" : "false",
		p->verify ? "true" : "false");
}

static void put_verdict(FILE *to, const struct load_verdict *v)
{
	fprintf(to, ",\"valid\":%s,\"invalid\":[", v->reasons ? "false" : "true");
	for (unsigned i = 0; i < v->reasons; i++) {
		if (i)
			putc(',', to);
		put_string(to, v->reason[i]);
	}
	putc(']', to);
}

static void put_outcomes(FILE *to, const struct load_record *r)
{
	static const char *const name[] = {
#define X(id, text) #id,
		LOAD_OUTCOME_LIST(X)
#undef X
	};
	const char *comma = "";

	fprintf(to, ",\"requests\":%" PRIu64, load_record_requests(r));
	for (unsigned i = 0; i < LOAD_OUTCOMES; i++)
		fprintf(to, ",\"%s\":%" PRIu64, name[i], r->outcome[i]);
	fprintf(to,
		",\"due\":%" PRIu64 ",\"sent\":%" PRIu64 ",\"sent_in_time\":%" PRIu64
		",\"reconnects\":%" PRIu64 ",\"first\":{",
		r->due, r->sent, r->sent_in_time, r->reconnects);
	for (unsigned i = 0; i < LOAD_OUTCOMES; i++) {
		if (!*r->first[i])
			continue;
		fprintf(to, "%s\"%s\":", comma, name[i]);
		put_string(to, r->first[i]);
		comma = ",";
	}
	fputs("}", to);
}

static void put_rates(FILE *to, const struct load_record *r)
{
	double planned = (double)(r->end_ns - r->start_ns) / NS_PER_S;
	double span = load_record_span_s(r);

	fprintf(to, ",\"elapsed_s\":%.6f,\"rate_sent\":%.3f,\"rate_ok\":%.3f", span,
		planned > 0 ? (double)r->sent_in_time / planned : 0,
		span > 0 ? (double)r->outcome[LOAD_ok] / span : 0);
}

static void put_mix(FILE *to, const struct load_result *x)
{
	fputs(",\"mix\":[", to);
	for (unsigned k = 0; k < x->plan->kinds; k++) {
		const struct load_kind *kind = &x->plan->kind[k];
		fprintf(to, "%s{\"path\":", k ? "," : "");
		put_string(to, kind->path);
		fprintf(to, ",\"weight\":%g,\"verified\":%s,", kind->weight,
			kind->checked ? "true" : "false");
		put_times(to, "latency",
			  x->plan->kinds > 1 ? &x->record->kind[k] : &x->record->latency);
		putc('}', to);
	}
	putc(']', to);
}

static void put_series(FILE *to, const struct load_record *r)
{
	fputs(",\"series\":[", to);
	for (unsigned i = 0; i < r->seconds; i++) {
		const struct load_second *s = &r->second[i];
		fprintf(to, "%s{\"s\":%u,\"sent\":%u,\"ok\":%u,\"refused\":%u,\"failed\":%u",
			i ? "," : "", i, s->sent, s->ok, s->refused, s->failed);
		put_ns(to, "p50", s->p50_ns);
		put_ns(to, "p99", s->p99_ns);
		put_ns(to, "max", s->ok ? s->max_ns : LOAD_NONE);
		put_ns(to, "lag_max", s->sent ? s->lag_max_ns : LOAD_NONE);
		putc('}', to);
	}
	putc(']', to);
}

/* Rows without an answer are left out. */
static void put_heat(FILE *to, const struct load_heat *h)
{
	const char *comma = "";

	if (!h->rows) {
		fputs(",\"heat\":null", to);
		return;
	}
	fprintf(to, ",\"heat\":{\"row_s\":%u,\"bucket_ns\":[", h->row_s);
	for (unsigned b = h->low; b <= h->high; b++)
		fprintf(to, "%s%" PRIu64, b > h->low ? "," : "", load_heat_edge(b));
	fputs("],\"rows\":[", to);
	for (unsigned row = 0; row < h->rows; row++) {
		if (!load_heat_used(h, row))
			continue;
		fprintf(to, "%s[%u,[", comma, row * h->row_s);
		for (unsigned b = h->low; b <= h->high; b++)
			fprintf(to, "%s%" PRIu64, b > h->low ? "," : "", h->count[row][b]);
		fputs("]]", to);
		comma = ",";
	}
	fputs("]}", to);
}

static void put_find(FILE *to, const struct load_result *x)
{
	const struct load_find *f = x->find;

	if (!f) {
		fputs(",\"find_max\":null", to);
		return;
	}
	fputs(",\"find_max\":{\"condition\":", to);
	put_string(to, x->plan->find);
	if (f->low > 0)
		fprintf(to, ",\"rate\":%.12g", f->low);
	else
		fputs(",\"rate\":null", to);
	fprintf(to, ",\"max_rate_reached\":%s,\"steps\":[", load_find_capped(f) ? "true" : "false");
	for (unsigned i = 0; i < f->steps; i++) {
		const struct load_step_made *s = &f->step[i];
		fprintf(to, "%s{\"rate\":%.12g", i ? "," : "", s->rate);
		put_ns(to, "value_ns", s->value_ns);
		fprintf(to,
			",\"holds\":%s,\"late\":%s,\"tries\":%u,\"failures\":%" PRIu64
			",\"wrong\":%" PRIu64 ",\"why\":",
			s->holds ? "true" : "false", s->late ? "true" : "false", s->tries,
			s->failures, s->wrong);
		put_string(to, s->why);
		putc('}', to);
	}
	fputs("]}", to);
}

void load_json_write(FILE *to, const struct load_result *x)
{
	const struct load_record *r = x->record;
	const struct {
		const char *name;
		const struct load_hist *hist;
	} times[] = {
		{ "latency", &r->latency }, { "service", &r->service }, { "outside", &r->outside },
		{ "lag", &r->lag },         { "floor", &r->floor },     { "refusal", &r->refusal },
		{ "connect", &r->connect }, { "gaps", &r->gap },
	};

	put_plan(to, x);
	fprintf(to, ",\"started_unix_ns\":%" PRIu64 ",\"ended_unix_ns\":%" PRIu64,
		r->started_unix_ns, r->ended_unix_ns);
	put_verdict(to, x->verdict);
	put_outcomes(to, r);
	put_rates(to, r);
	for (unsigned i = 0; i < array_size(times); i++) {
		putc(',', to);
		put_times(to, times[i].name, times[i].hist);
	}
	put_mix(to, x);
	put_series(to, r);
	fputs(",\"histogram\":{", to);
	put_buckets(to, "latency", &r->latency);
	putc(',', to);
	put_buckets(to, "service", &r->service);
	putc(',', to);
	put_buckets(to, "outside", &r->outside);
	putc(',', to);
	put_buckets(to, "lag", &r->lag);
	putc('}', to);
	put_heat(to, &r->heat);
	put_find(to, x);
	fputs("}\n", to);
}
