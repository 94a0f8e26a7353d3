/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include "doctor.h"

enum { WIDTH = 98, VERDICT = 8, NAME = 16, INDENT = VERDICT + NAME };

/* Words, wrapped; the cursor is at INDENT. */
static void wrapped(const char *text)
{
	unsigned at = INDENT;

	while (*text) {
		size_t word = strcspn(text, " ");

		if (at > INDENT && at + 1 + word > WIDTH) {
			printf("\n%*s", INDENT, "");
			at = INDENT;
		}
		at += (unsigned)printf("%s%.*s", at > INDENT ? " " : "", (int)word, text);
		text += word;
		text += strspn(text, " ");
	}
	putchar('\n');
}

static void line(const char *verdict, const char *name, const char *text)
{
	printf("%-*s%-*s", VERDICT, verdict, NAME - 1, name);
	putchar(' ');
	wrapped(text);
}

static void show(const struct report *r, const struct finding *f)
{
	static const char *const shown[VERDICTS] = { "ok", "info", "WARN", "FAIL", "UNKNOWN" };
	char text[sizeof f->why + sizeof f->source + 32];

	line(shown[f->verdict], f->check, f->what);
	if (f->verdict == VERDICT_OK && !r->all)
		return;
	if (*f->why) {
		snprintf(text, sizeof text, "%s%s%s%s%s%s", f->why, f->basis ? " [" : "",
			 f->basis ? basis_name(f->basis) : "", *f->source ? ": " : "", f->source,
			 f->basis ? "]" : "");
		line("", "  why", text);
	}
	if (*f->fix)
		line("", "  fix", f->fix);
}

/* What --fix does without being asked by name. */
static unsigned can_be_mended(const struct report *r)
{
	unsigned n = 0;

	for (unsigned i = 0; i < r->count; i++)
		n += r->list[i].verdict == VERDICT_WARN && r->list[i].settings;
	return n;
}

void report_text(const struct report *r)
{
	const struct host *h = r->host;
	unsigned mended = can_be_mended(r);
	char cores[CPUS_TEXT];

	printf("%s, Linux %s, %s%s%s%s, cores for saker: %s\n\n",
	       *h->model ? h->model : "machine not known", *h->release ? h->release : "not known",
	       *h->iface ? h->iface : "no interface", *h->driver ? " (" : "", h->driver,
	       *h->driver ? ")" : "", cpus_list(&h->cores, cores));
	for (unsigned i = 0; i < r->count; i++)
		show(r, &r->list[i]);
	printf("\n%u ok, %u info, %u warn, %u fail, %u unknown\n", report_tally(r, VERDICT_OK),
	       report_tally(r, VERDICT_INFO), report_tally(r, VERDICT_WARN),
	       report_tally(r, VERDICT_FAIL), report_tally(r, VERDICT_UNKNOWN));
	if (mended)
		printf("%u of them can be mended while the machine runs: saker-doctor --fix\n",
		       mended);
}
