/* SPDX-License-Identifier: GPL-2.0-only */
#include <inttypes.h>
#include "stat.h"

const char *time_text(char text[STAT_TEXT], uint64_t ns)
{
	static const char *const unit[] = { "ns", "us", "ms", "s" };
	double value = (double)ns;
	unsigned i = 0;
	for (; value >= 999.5 && i < array_size(unit) - 1; i++)
		value /= 1000;
	int digits = !i || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
	snprintf(text, STAT_TEXT, "%.*f %s", digits, value, unit[i]);
	return text;
}

const char *uptime_text(char text[STAT_TEXT], uint64_t ns)
{
	uint64_t s = ns / NS_PER_S;
	if (s < 120)
		return time_text(text, ns);
	if (s < 2 * 3600)
		snprintf(text, STAT_TEXT, "%" PRIu64 " min", s / 60);
	else if (s < 48 * 3600)
		snprintf(text, STAT_TEXT, "%" PRIu64 " h %" PRIu64 " min", s / 3600, s / 60 % 60);
	else
		snprintf(text, STAT_TEXT, "%" PRIu64 " d %" PRIu64 " h", s / 86400, s / 3600 % 24);
	return text;
}

uint64_t clock_ns(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

void json_string(const char *name, const char *text, size_t size)
{
	printf("\"%s\":\"", name);
	for (size_t i = 0; i < size && text[i]; i++) {
		unsigned char c = (unsigned char)text[i];
		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

void json_limits(const struct limits *l)
{
	printf("\"limits\":{\"conns\":%u,\"syns_per_s\":%u,\"syns_burst\":%u,\"frames_per_s\":%u,"
	       "\"frames_burst\":%u}",
	       l->conns, l->syns_per_s, l->syns_burst, l->frames_per_s, l->frames_burst);
}
