/* SPDX-License-Identifier: GPL-2.0-only */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "probe_parse.h"

const char *next_line(const char *at)
{
	at += strcspn(at, "\n");
	return at + (*at == '\n');
}

bool parse_field(const char *text, const char *key, uint64_t *value)
{
	size_t len = strlen(key);

	for (; *text; text = next_line(text)) {
		if (strncmp(text, key, len) || !strchr(": \t", text[len]))
			continue;
		const char *at = text + len + strspn(text + len, ": \t");
		char *end;
		*value = strtoull(at, &end, 10);
		return end != at;
	}
	return false;
}

/* user nice system idle iowait irq softirq steal; guest is in user already. */
unsigned parse_stat(const char *text, struct cpu_ticks *list, unsigned size)
{
	enum { IDLE = 3, IOWAIT, IRQ, SOFTIRQ, TICKS = 8 };
	unsigned count = 0;

	memset(list, 0, size * sizeof *list);
	for (; !strncmp(text, "cpu", 3); text = next_line(text)) {
		uint64_t tick[TICKS] = { 0 }, total = 0;
		char *at;

		if (text[3] == ' ')
			continue;
		unsigned long cpu = strtoul(text + 3, &at, 10);
		if (cpu >= size)
			continue;
		for (unsigned i = 0; i < TICKS && *at == ' '; i++)
			total += tick[i] = strtoull(at, &at, 10);
		list[cpu] = (struct cpu_ticks){
			.online = true,
			.busy = total - tick[IDLE] - tick[IOWAIT],
			.irq = tick[IRQ],
			.softirq = tick[SOFTIRQ],
			.total = total,
		};
		count = cpu + 1 > count ? (unsigned)cpu + 1 : count;
	}
	return count;
}

/* "   CPU0   CPU2": which CPU each column is. */
static unsigned column_heads(const char *text, unsigned *cpu, unsigned max)
{
	unsigned count = 0;
	int used;

	while (count < max && sscanf(text, " CPU%u%n", &cpu[count], &used) == 1) {
		text += used;
		count++;
	}
	return count;
}

unsigned parse_columns(const char *text, uint64_t *sum, unsigned size)
{
	enum { HEADS = 1024 };
	unsigned cpu[HEADS], heads = column_heads(text, cpu, HEADS), count = 0;

	memset(sum, 0, size * sizeof *sum);
	for (text = next_line(text); *text; text = next_line(text)) {
		const char *at = strchr(text, ':');

		if (!at || at > text + strcspn(text, "\n"))
			continue;
		at++;
		for (unsigned i = 0; i < heads; i++) {
			char *end;
			at += strspn(at, " ");
			uint64_t n = *at >= '0' && *at <= '9' ? strtoull(at, &end, 10) : 0;
			if (*at < '0' || *at > '9')
				break; /* ERR: and MIS: have one number for all */
			if (cpu[i] < size)
				sum[cpu[i]] += n;
			at = end;
		}
	}
	for (unsigned i = 0; i < heads; i++)
		if (cpu[i] < size && cpu[i] + 1 > count)
			count = cpu[i] + 1;
	return count;
}

unsigned parse_softnet(const char *text, struct softnet *list, unsigned size)
{
	unsigned count = 0;

	for (; *text && count < size; text = next_line(text)) {
		struct softnet *s = &list[count];

		count += sscanf(text, "%" SCNx64 " %" SCNx64 " %" SCNx64, &s->processed,
				&s->dropped, &s->squeezed) == 3;
	}
	return count;
}

bool parse_netdev(const char *text, const char *iface, uint64_t value[NETDEV_COLUMNS])
{
	size_t len = strlen(iface);

	for (; *text; text = next_line(text)) {
		const char *name = text + strspn(text, " ");

		if (strncmp(name, iface, len) || name[len] != ':')
			continue;
		char *at = (char *)name + len + 1;
		for (unsigned i = 0; i < NETDEV_COLUMNS; i++) {
			char *end;
			value[i] = strtoull(at, &end, 10);
			if (end == at)
				return false;
			at = end;
		}
		return true;
	}
	return false;
}

bool parse_pid_stat(const char *text, unsigned n, uint64_t *value)
{
	const char *at = strrchr(text, ')');
	char *end;

	for (unsigned i = 2; at && i < n; i++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	if (!at)
		return false;
	*value = strtoull(at, &end, 10);
	return end != at;
}
