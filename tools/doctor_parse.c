/* SPDX-License-Identifier: GPL-2.0-only */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "doctor.h"

bool field_text(const char *at, const char *key, char *value, size_t size)
{
	size_t length = strlen(key);

	for (; *at; at += strcspn(at, "\n"), at += *at == '\n') {
		const char *word = at + strspn(at, " \t");

		if (strncmp(word, key, length))
			continue;
		word += length + strspn(word + length, " \t");
		if (*word++ != ':')
			continue;
		word += strspn(word, " \t");
		snprintf(value, size, "%.*s", (int)strcspn(word, "\n"), word);
		return true;
	}
	return false;
}

bool field_number(const char *at, const char *key, long long *value)
{
	char text[64], *end;

	if (!field_text(at, key, text, sizeof text))
		return false;
	*value = strtoll(text, &end, 0);
	return end != text && (!*end || isspace((unsigned char)*end));
}
