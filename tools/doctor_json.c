/* SPDX-License-Identifier: GPL-2.0-only */
/* One object; docs/saker-doctor.8 has the schema. */
#include "doctor.h"
#include "stat_text.h"

static void string(const char *comma, const char *name, const char *text)
{
	fputs(comma, stdout);
	json_string(name, text, SIZE_MAX);
}

static void show_host(const struct host *h)
{
	char cores[CPUS_TEXT];

	string("{", "doctor", VERSION);
	string(",\"host\":{", "model", h->model);
	string(",", "kernel", h->release);
	string(",", "interface", h->iface);
	string(",", "driver", h->driver);
	string(",", "cores", cpus_list(&h->cores, cores));
	string(",", "kernel_options", h->config ? h->config_from : "");
	putchar('}');
}

static void show_settings(const struct finding *f)
{
	static const char *const kinds[SETTING_KINDS] = { "file", "ethtool", "partition" };

	for (unsigned i = 0; i < f->settings; i++) {
		const struct setting *s = &f->setting[i];

		string(i ? ",{" : "{", "kind", kinds[s->kind]);
		string(",", "where", s->where);
		string(",", "value", s->value);
		string(",", "now", s->now);
		putchar('}');
	}
}

static void show_fix(const struct finding *f)
{
	static const char *const files[] = { "cmdline", "config.txt" };

	if (!*f->fix) {
		fputs(",\"fix\":null}", stdout);
		return;
	}
	string(",\"fix\":{", "kind", fix_name(f->fix_kind));
	string(",", "text", f->fix);
	if (*f->boot) {
		string(",", "boot_file", files[f->boot_file]);
		string(",", "boot", f->boot);
	}
	fputs(",\"settings\":[", stdout);
	show_settings(f);
	fputs("]}}", stdout);
}

void report_json(const struct report *r)
{
	show_host(r->host);
	printf(",\"status\":%d,\"counts\":{", report_status(r));
	for (unsigned v = 0; v < VERDICTS; v++)
		printf("%s\"%s\":%u", v ? "," : "", verdict_name(v), report_tally(r, v));
	fputs("},\"findings\":[\n", stdout);
	for (unsigned i = 0; i < r->count; i++) {
		const struct finding *f = &r->list[i];

		string(i ? ",\n{" : "{", "check", f->check);
		string(",", "verdict", verdict_name(f->verdict));
		string(",", "what", f->what);
		string(",", "why", f->why);
		string(",", "basis", basis_name(f->basis));
		string(",", "source", f->source);
		show_fix(f);
	}
	fputs("\n]}\n", stdout);
}
