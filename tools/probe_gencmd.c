/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdlib.h>
#include <string.h>
#include "probe_gencmd.h"

_Static_assert(GENCMD_WORDS == 1031, "the drawing in probe_gencmd.h");

bool gencmd_ask(struct gencmd *g, const char *command)
{
	size_t len = strlen(command);

	if (len + 1 > GENCMD_VALUE - 4)
		return false;
	memset(g, 0, sizeof *g);
	g->word[0] = sizeof g->word;
	g->word[2] = GENCMD_TAG;
	g->word[3] = GENCMD_VALUE;
	memcpy(&g->word[GENCMD_TEXT], command, len);
	return true;
}

const char *gencmd_answer(struct gencmd *g, const char **why)
{
	char *text = (char *)&g->word[GENCMD_TEXT];

	g->word[GENCMD_WORDS - 1] = 0; /* a text that fills all is ended here */
	if (g->word[1] != (uint32_t)GENCMD_DONE)
		*why = "the firmware did not take the message";
	else if (g->word[5] || !strncmp(text, "error=", 6))
		*why = "the firmware does not know the command";
	else if (!*text)
		*why = "the firmware's answer is empty";
	else
		return text;
	return NULL;
}

bool gencmd_number(const char *text, const char *name, uint64_t *value)
{
	size_t len = strlen(name);
	char *end;

	if (strncmp(text, name, len) || text[len] != '=')
		return false;
	*value = strtoull(text + len + 1, &end, 0);
	return end != text + len + 1;
}

/* RAIL_A current(N)=VALUEA, or RAIL_V volt(N)=VALUEV. */
static bool channel(const char *line, size_t len, struct pmic_channel *c)
{
	const char *space = memchr(line, ' ', len), *equals = memchr(line, '=', len);
	char *end;

	if (!space || !equals || space < line + 3 || space[-2] != '_')
		return false;
	size_t rail = (size_t)(space - 2 - line);
	c->amps = space[-1] == 'A';
	if (rail >= sizeof c->rail || (!c->amps && space[-1] != 'V') ||
	    strncmp(space + 1, c->amps ? "current(" : "volt(", c->amps ? 8 : 5))
		return false;
	memcpy(c->rail, line, rail);
	c->rail[rail] = '\0';
	c->value = strtod(equals + 1, &end);
	return end != equals + 1 && *end == space[-1];
}

unsigned gencmd_pmic(const char *text, struct pmic_channel list[PMIC_CHANNELS])
{
	unsigned count = 0;

	while (*text && count < PMIC_CHANNELS) {
		text += strspn(text, " \t\r\n");
		size_t len = strcspn(text, "\n");
		count += channel(text, len, &list[count]);
		text += len;
	}
	return count;
}

double pmic_watts(const struct pmic_channel *list, unsigned count)
{
	double sum = 0;

	for (unsigned a = 0; a < count; a++)
		for (unsigned v = 0; v < count; v++)
			if (list[a].amps && !list[v].amps && !strcmp(list[a].rail, list[v].rail))
				sum += list[a].value * list[v].value;
	return sum;
}
