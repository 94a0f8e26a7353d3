/* SPDX-License-Identifier: GPL-2.0-only */
/* Lists and masks of CPUs: each reads what the kernel prints, and prints what it reads. */
#include <string.h>
#include "doctor.h"
#include "tap.h"

static void lists(void)
{
	static const struct {
		const char *text;
		bool good;
		const char *list, *mask;
	} cases[] = {
		{ "", true, "", "0" },
		{ "\n", true, "", "0" },
		{ "0", true, "0", "1" },
		{ "1-3\n", true, "1-3", "e" },
		{ "3,1,2", true, "1-3", "e" },
		{ "0,2-3,31", true, "0,2-3,31", "8000000d" },
		{ "31-32", true, "31-32", "1,80000000" },
		{ "64", true, "64", "1,00000000,00000000" },
		{ "1023", true, "1023", NULL }, /* the mask takes 288 bytes: below */
		{ "1024", false, NULL, NULL },
		{ "0-1024", false, NULL, NULL },
		{ "3-1", false, NULL, NULL },
		{ "1-", false, NULL, NULL },
		{ "-1", false, NULL, NULL },
		{ "1, 2", false, NULL, NULL },
		{ "a", false, NULL, NULL },
		{ "(null)", false, NULL, NULL },
		{ "99999999999999999999", false, NULL, NULL },
	};
	char text[CPUS_TEXT];
	cpu_set_t set, again;

	for (unsigned i = 0; i < array_size(cases); i++) {
		bool good = cpus_parse(cases[i].text, &set);

		ok(good == cases[i].good &&
			   (!good || !strcmp(cpus_list(&set, text), cases[i].list)),
		   "list %u: %.*s", i, (int)strcspn(cases[i].text, "\n"), cases[i].text);
		if (good && cases[i].mask)
			ok(!strcmp(cpus_mask(&set, text), cases[i].mask) &&
				   cpus_parse_mask(text, &again) && CPU_EQUAL(&set, &again),
			   "mask %s and back", cases[i].mask);
	}
}

static void masks(void)
{
	char text[CPUS_TEXT], bits[CPU_SETSIZE / 4 + 2];
	cpu_set_t set;

	ok(cpus_parse_mask("00000000,0000000f\n", &set) && !strcmp(cpus_list(&set, text), "0-3"),
	   "as sysfs prints it");
	ok(!cpus_parse_mask("", &set), "no mask is none");
	ok(!cpus_parse_mask("0x3", &set), "0x is not the kernel's");
	memset(bits, '0', sizeof bits - 1);
	bits[sizeof bits - 1] = '\0';
	ok(cpus_parse_mask(bits, &set) && !CPU_COUNT(&set), "zeros beyond the last CPU");
	bits[0] = '1';
	ok(!cpus_parse_mask(bits, &set), "a CPU that cannot be");
}

/* Every second CPU of all is more than there is room for. */
static void long_ones(void)
{
	char text[CPUS_TEXT] = "";
	cpu_set_t set;

	CPU_ZERO(&set);
	for (unsigned cpu = 1; cpu < CPU_SETSIZE; cpu += 2)
		CPU_SET(cpu, &set);
	cpus_mask(&set, text);
	ok(strlen(text) == 32 * 9 - 1, "the longest mask: %zu bytes", strlen(text));
	cpus_list(&set, text);
	ok(strlen(text) < CPUS_TEXT && !strcmp(text + strlen(text) - 4, ",..."), "it is cut: %s",
	   text);
}

int main(void)
{
	lists();
	masks();
	long_ones();
	return done();
}
