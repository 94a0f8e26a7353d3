/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <string.h>
#include "doctor_deed.h"
#include "stat_text.h"

static const char *const words[DEEDS] = {
	[DEED_CHANGED] = "changed", [DEED_ALREADY] = "already", [DEED_REFUSED] = "REFUSED",
	[DEED_OTHER] = "OTHER",     [DEED_WOULD] = "would",     [DEED_RESTORED] = "restored",
	[DEED_LEFT] = "left",       [DEED_KEPT] = "KEPT",       [DEED_HAND] = "by hand",
};

void deeds_begin(struct deeds *d, bool json)
{
	*d = (struct deeds){ .json = json };
	if (json)
		fputs("{\"settings\":[", stdout);
}

static void tell_json(const struct deeds *d, const struct deed *deed)
{
	static const char *const plain[DEEDS] = { "changed", "already", "refused",
						  "other",   "would",   "restored",
						  "left",    "kept",    "hand" };
	const char *const member[][2] = {
		{ "name", deed->name },
		{ "from", deed->from },
		{ "to", deed->to },
		{ "error", deed->error ? strerrorname_np(-deed->error) : NULL },
		{ "why", *deed->why ? deed->why : NULL },
	};

	fputs(d->told ? ",\n{" : "\n{", stdout);
	json_string("deed", plain[deed->kind], SIZE_MAX);
	for (size_t i = 0; i < array_size(member); i++) {
		if (!member[i][1])
			continue;
		putchar(',');
		json_string(member[i][0], member[i][1], SIZE_MAX);
	}
	putchar('}');
}

static void tell_text(const struct deed *deed)
{
	const char *name = deed->error ? strerrorname_np(-deed->error) : NULL;

	printf("%-9s %s", words[deed->kind], deed->name);
	if (deed->from || deed->to)
		printf(": %s%s%s", deed->from ? deed->from : "",
		       deed->from && deed->to ? " -> " : "", deed->to ? deed->to : "");
	if (deed->error)
		printf(": %s (%s)", strerror(-deed->error), name ? name : "?");
	if (*deed->why)
		printf(": %s", deed->why);
	putchar('\n');
}

void deed_tell(struct deeds *d, const struct deed *deed)
{
	if (d->json)
		tell_json(d, deed);
	else
		tell_text(deed);
	fflush(stdout); /* a kill shall not take the word with it */
	d->count[deed->kind]++;
	d->told++;
}

void deeds_end(const struct deeds *d, const char *boot, int status)
{
	if (!d->json) {
		fputs(boot, stdout);
		return;
	}
	fputs("\n],", stdout);
	json_string("boot", boot, SIZE_MAX);
	printf(",\"status\":%d}\n", status);
}
