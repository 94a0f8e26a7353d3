/* SPDX-License-Identifier: GPL-2.0-only */
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <string.h>
#include "doctor.h"
#include "doctor_value.h"

/* --- words ------------------------------------------------------------------------------ */

/* Blanks at the ends are dropped, others become one space. */
static int fold(char value[VALUE_SIZE], const char *text)
{
	size_t n = 0;
	bool gap = false;

	for (; *text; text++) {
		if (isspace((unsigned char)*text)) {
			gap = n;
			continue;
		}
		if (n + gap >= VALUE_SIZE - 1)
			return -EOVERFLOW;
		if (gap)
			value[n++] = ' ';
		gap = false;
		value[n++] = *text;
	}
	value[n] = '\0';
	return 0;
}

/* Of `a [b] c` the b, in place; NULL: no such list. */
static char *chosen(char *value, size_t *len)
{
	char *from = strchr(value, '['), *to = from ? strchr(from, ']') : NULL;

	if (!to || !strchr(value, ' ') || memchr(from, ' ', (size_t)(to - from)))
		return NULL;
	*len = (size_t)(to - from) - 1;
	return from + 1;
}

int value_clean(char value[VALUE_SIZE], const char *text)
{
	int error = fold(value, text);
	size_t len;
	char *word = error ? NULL : chosen(value, &len);

	if (word) {
		memmove(value, word, len);
		value[len] = '\0';
	}
	return error;
}

int value_choose(char line[VALUE_SIZE], const char *text, const char *choice)
{
	char folded[VALUE_SIZE], *at = line, *rest = folded, *word;
	size_t len;
	bool found = false;
	int error = fold(folded, text);

	if (error)
		return error;
	if (!chosen(folded, &len)) {
		strcpy(line, folded);
		return 0;
	}
	while ((word = strsep(&rest, " "))) {
		if (*word == '[') {
			word++;
			word[strlen(word) - 1] = '\0';
		}
		bool is = !strcmp(word, choice);
		int room = (int)(line + VALUE_SIZE - at);
		int n = snprintf(at, (size_t)room, is ? "%s[%s]" : "%s%s", at > line ? " " : "",
				 word);

		if (n >= room)
			return -EOVERFLOW;
		at += n;
		found |= is;
	}
	return found ? 0 : -EINVAL;
}

/* --- what a name says ----------------------------------------------------------------------- */

static bool is_mask(const char *name)
{
	static const char *const masks[] = { "*/rps_cpus", "*/xps_cpus", "*/smp_affinity",
					     "*/default_smp_affinity", "*/cpumask" };

	for (size_t i = 0; i < array_size(masks); i++)
		if (!fnmatch(masks[i], name, 0))
			return true;
	return false;
}

static bool is_list(const char *name)
{
	return !fnmatch("*_list", name, 0) || !fnmatch("cpuset *", name, 0);
}

bool value_same(const char *name, const char *a, const char *b)
{
	cpu_set_t x, y;

	if (is_mask(name) && cpus_parse_mask(a, &x) && cpus_parse_mask(b, &y))
		return CPU_EQUAL(&x, &y);
	if (is_list(name) && cpus_parse(a, &x) && cpus_parse(b, &y))
		return CPU_EQUAL(&x, &y);
	return !strcmp(a, b);
}
