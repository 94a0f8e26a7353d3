/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * doctor_ethtext.c - a card's settings in the text that ethtool prints
 *
 * Place    doctor_ethset.c, below a root that is not the machine itself: there a card is the
 *          files ethtool/IFACE/{c,g,k,l,eee}.
 * Model    One word of the file is the value: the first one behind the label; of rings and
 *          channels behind the line of current settings. That word is replaced, the rest
 *          of the file stays byte by byte.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "doctor_ethset.h"

static int path_of(const struct eth_name *n, const char *file, char path[FILE_PATH])
{
	return snprintf(path, FILE_PATH, "/ethtool/%s/%s", n->iface, file) < FILE_PATH ?
		       0 :
		       -ENAMETOOLONG;
}

/* Behind "LABEL:" at the start of a line. */
static char *behind_label(char *text, const char *label)
{
	size_t len = strlen(label);

	for (char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		char *at = line + strspn(line, " \t");

		if (!strncmp(at, label, len) && at[len] == ':')
			return at + len + 1;
	}
	return NULL;
}

/* The value's word; NULL: there is none. */
static char *find(char *text, const struct eth_word *w, const struct eth_name *n)
{
	const struct eth_short *s = w ? NULL : eth_short(n->word);
	const char *label = w ? w->label : s ? s->label : n->word;
	char *at = text;

	if (w && (!strcmp(w->verb, "-G") || !strcmp(w->verb, "-L")))
		at = strstr(at, "Current hardware settings:");
	/* It shares a line: Adaptive RX: off  TX: off */
	if (w && !strcmp(w->label, "Adaptive TX")) {
		at = behind_label(text, "Adaptive RX");
		at = at ? strstr(at, "TX:") : NULL;
		at = at ? at + 3 : NULL;
	} else {
		at = at ? behind_label(at, label) : NULL;
	}
	return at ? at + strspn(at, " \t") : NULL;
}

struct place {
	char path[FILE_PATH];
	char text[FILE_TEXT];
	char *at;
	size_t len;
	bool eee; /* has other words for on and off */
};

static bool place_is(const struct place *p, const char *word)
{
	return p->len == strlen(word) && !strncmp(p->at, word, p->len);
}

static int find_place(struct machine *m, const struct eth_name *n, struct place *p)
{
	const struct eth_word *w = strcmp(n->verb, "-K") ? eth_word(n) : NULL;
	int error = path_of(n, w ? w->file : "k", p->path);

	if (!error)
		error = file_read(m, p->path, p->text, sizeof p->text);
	if (error)
		return error == -ENOENT ? -EOPNOTSUPP : error;
	p->eee = w && !strcmp(w->file, "eee");
	p->at = find(p->text, w, n);
	p->len = p->at ? strcspn(p->at, " \t\n") : 0;
	if (!p->len || place_is(p, "n/a") || place_is(p, "not"))
		return machine_error(m, -EOPNOTSUPP, "the driver has none");
	return 0;
}

int ethtext_read(struct machine *m, const struct eth_name *n, char value[VALUE_SIZE])
{
	static struct place p;
	int error = find_place(m, n, &p);

	if (error)
		return error;
	if (p.eee)
		strcpy(value, place_is(&p, "enabled") ? "on" : "off");
	else
		snprintf(value, VALUE_SIZE, "%.*s", (int)p.len, p.at);
	return 0;
}

int ethtext_write(struct machine *m, const struct eth_name *n, const char *value)
{
	static struct place p;
	static char text[FILE_TEXT + VALUE_SIZE];
	int error = find_place(m, n, &p);

	if (error)
		return error;
	if (!strncmp(p.at + p.len, " [fixed]", 8))
		return machine_error(m, -EOPNOTSUPP, "the driver has it fixed");
	if (p.eee)
		value = strcmp(value, "on") ? "disabled" : "enabled";
	snprintf(text, sizeof text, "%.*s%s%s", (int)(p.at - p.text), p.text, value, p.at + p.len);
	return file_write(m, p.path, text);
}
