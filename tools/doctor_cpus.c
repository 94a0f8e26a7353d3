/* SPDX-License-Identifier: GPL-2.0-only */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "doctor.h"

bool cpus_parse(const char *text, cpu_set_t *set)
{
	CPU_ZERO(set);
	for (const char *at = text; *at && *at != '\n';) {
		char *end;
		unsigned long first = strtoul(at, &end, 10), last = first;

		if (!isdigit((unsigned char)*at))
			return false;
		if (*end == '-') {
			if (!isdigit((unsigned char)end[1]))
				return false;
			last = strtoul(end + 1, &end, 10);
		}
		if (last < first || last >= CPU_SETSIZE || (*end && *end != ',' && *end != '\n'))
			return false;
		for (unsigned long cpu = first; cpu <= last; cpu++)
			CPU_SET(cpu, set);
		at = *end == ',' ? end + 1 : end;
	}
	return true;
}

/* Groups of 32 bits, the highest first (lib/bitmap.c). */
bool cpus_parse_mask(const char *text, cpu_set_t *set)
{
	size_t length = strcspn(text, "\n");
	unsigned cpu = 0;

	CPU_ZERO(set);
	for (size_t i = length; i-- > 0;) {
		if (text[i] == ',')
			continue;
		if (!isxdigit((unsigned char)text[i]))
			return false;
		unsigned digit = (unsigned)strtoul((char[]){ text[i], '\0' }, NULL, 16);
		for (unsigned bit = 0; bit < 4; bit++, cpu++) {
			if (!(digit >> bit & 1))
				continue;
			if (cpu >= CPU_SETSIZE)
				return false;
			CPU_SET(cpu, set);
		}
	}
	return length > 0;
}

const char *cpus_list(const cpu_set_t *set, char text[CPUS_TEXT])
{
	size_t used = 0;

	text[0] = '\0';
	for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		unsigned last = cpu;

		if (!CPU_ISSET(cpu, set))
			continue;
		while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, set))
			last++;
		if (used + 12 >= CPUS_TEXT) {
			snprintf(text + used, CPUS_TEXT - used, ",...");
			break;
		}
		used += (size_t)snprintf(text + used, CPUS_TEXT - used, "%s%u", used ? "," : "",
					 cpu);
		if (last > cpu)
			used += (size_t)snprintf(text + used, CPUS_TEXT - used, "-%u", last);
		cpu = last;
	}
	return text;
}

const char *cpus_mask(const cpu_set_t *set, char text[CPUS_TEXT])
{
	size_t used = 0;

	for (int group = CPU_SETSIZE / 32 - 1; group >= 0; group--) {
		unsigned long word = 0;

		for (unsigned bit = 0; bit < 32; bit++)
			if (CPU_ISSET((unsigned)group * 32 + bit, set))
				word |= 1ul << bit;
		if (used)
			used += (size_t)snprintf(text + used, CPUS_TEXT - used, ",%08lx", word);
		else if (word || !group)
			used = (size_t)snprintf(text, CPUS_TEXT, "%lx", word);
		must(used < CPUS_TEXT);
	}
	return text;
}
