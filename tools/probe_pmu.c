/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "probe.h"
#include "probe_pmu.h"

/* "config:0-7", "config1:4", "config:0-7,32-35": the value's low bits go to the first. */
bool pmu_place(const char *format, uint64_t value, struct pmu_event *e)
{
	uint64_t *word = !strncmp(format, "config:", 7)  ? &e->config :
			 !strncmp(format, "config1:", 8) ? &e->config1 :
							   NULL;
	char *at = strchr(format, ':');

	while (word && at) {
		unsigned low = (unsigned)strtoul(at + 1, &at, 10), high = low;

		if (*at == '-')
			high = (unsigned)strtoul(at + 1, &at, 10);
		if (high > 63 || low > high || (*at && *at != ','))
			return false;
		uint64_t mask = high - low == 63 ? UINT64_MAX : (1ull << (high - low + 1)) - 1;
		*word |= (value & mask) << low;
		value = high - low == 63 ? 0 : value >> (high - low + 1);
		at = *at == ',' ? at : NULL;
	}
	return word && !value;
}

static bool place_term(const struct probe *p, char *term, struct pmu_event *e)
{
	char format[64], *equals = strchr(term, '=');

	if (equals)
		*equals = '\0';
	probe_line(p, format, sizeof format, "%s/format/%s", e->path, term);
	return pmu_place(format, equals ? strtoull(equals + 1, NULL, 0) : 1, e);
}

bool pmu_find(const struct probe *p, const char *pattern, const char *event, struct pmu_event *e)
{
	char terms[128], type[32], path[128], *rest, *suffix;

	*e = (struct pmu_event){ 0 };
	if (!probe_find(p, path, sizeof path, "sys/bus/event_source/devices/%s/events/%s", pattern,
			event))
		return false;
	probe_line(p, terms, sizeof terms, "%s", path);
	suffix = strstr(path, "/events/");
	*suffix = '\0';
	memcpy(e->path, path, sizeof e->path);
	probe_line(p, type, sizeof type, "%s/type", path);
	e->type = (uint32_t)strtoul(type, NULL, 10);
	for (char *term = strtok_r(terms, ",", &rest); term; term = strtok_r(NULL, ",", &rest))
		if (!place_term(p, term, e))
			return false;
	return true;
}
