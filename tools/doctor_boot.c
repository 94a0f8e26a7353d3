/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <string.h>
#include "doctor_boot.h"

static const char *const cmdlines[] = { "/boot/firmware/cmdline.txt", "/boot/cmdline.txt" };
static const char *const configs[] = { "/boot/firmware/config.txt", "/boot/config.txt" };
#define GRUB "/etc/default/grub"

/* --- words of the kernel's ---------------------------------------------------------------- */

/* The kernel takes - and _ for the same, in keys. */
static bool same_key(const char *a, const char *b, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((a[i] == '-' ? '_' : a[i]) != (b[i] == '-' ? '_' : b[i]))
			return false;
	return true;
}

static size_t key_length(const char *word)
{
	return strcspn(word, "= \n");
}

/* A word may have blanks between quotes. */
static size_t word_length(const char *word)
{
	size_t n = 0;
	bool quoted = false;

	for (; word[n] && (quoted || word[n] != ' '); n++)
		quoted ^= word[n] == '"';
	return n;
}

/* The word with that key, in the line; NULL: there is none. */
static char *find_word(char *line, const char *word)
{
	size_t len = key_length(word);

	for (char *at = line; *at; at += word_length(at)) {
		at += strspn(at, " ");
		if (key_length(at) == len && same_key(at, word, len))
			return at;
	}
	return NULL;
}

static bool splice(char line[BOOT_LINE], char *at, size_t len, const char *word)
{
	size_t rest = strlen(at + len) + 1, new = strlen(word);

	if ((size_t)(at - line) + new + rest > BOOT_LINE)
		return false;
	memmove(at + new, at + len, rest);
	memcpy(at, word, new);
	return true;
}

bool boot_merge(char line[BOOT_LINE], const char *word)
{
	char *at = find_word(line, word), *again;
	size_t len = strlen(line);

	if (at) {
		if (!splice(line, at, word_length(at), word))
			return false;
		/* The last one of a key would win: ours is the only one. */
		while ((again = find_word(at + word_length(at), word)))
			splice(line, again - 1, word_length(again) + 1, "");
		return true;
	}
	while (len && line[len - 1] == ' ')
		len--;
	if (len + strlen(word) + 2 > BOOT_LINE)
		return false;
	sprintf(line + len, "%s%s", len ? " " : "", word);
	return true;
}

/* All words; false: one does not fit. */
static bool merge_all(char line[BOOT_LINE], const char *words)
{
	char word[BOOT_LINE];

	for (words += strspn(words, " "); *words; words += strspn(words, " ")) {
		size_t len = word_length(words);

		snprintf(word, sizeof word, "%.*s", (int)len, words);
		if (!boot_merge(line, word))
			return false;
		words += len;
	}
	return true;
}

/* --- files -------------------------------------------------------------------------------- */

static void show_words(const char *words, FILE *out)
{
	fprintf(out, "boot      add to the kernel's command line, then reboot:\n%s\n", words);
}

/* The firmware takes the first line alone. */
static void show_merged(const char *path, const char *text, const char *words, FILE *out)
{
	char line[BOOT_LINE], old[BOOT_LINE];
	size_t len = strcspn(text, "\r\n");

	snprintf(old, sizeof old, "%.*s", (int)len, text);
	memcpy(line, old, sizeof line);
	if (len >= BOOT_LINE || !merge_all(line, words))
		show_words(words, out);
	else if (!strcmp(line, old))
		fprintf(out, "boot      %s has it already (%s): reboot\n", path, words);
	else
		fprintf(out, "boot      %s: make its one line this, then reboot:\n%s\n", path,
			line);
}

/* GRUB_CMDLINE_LINUX="...": the value without its quotes; NULL: there is no such line. */
static const char *grub_line(char *text)
{
	static const char key[] = "GRUB_CMDLINE_LINUX=";
	char *at = text;

	while (at && strncmp(at, key, sizeof key - 1))
		at = (at = strchr(at, '\n')) ? at + 1 : NULL;
	if (!at)
		return NULL;
	at += sizeof key - 1;
	at[strcspn(at, "\n")] = '\0';
	if (*at == '"' && strchr(at + 1, '"')) {
		at++;
		*strrchr(at, '"') = '\0';
	}
	return at;
}

static void show_grub(const char *now, const char *words, FILE *out)
{
	char line[BOOT_LINE];

	snprintf(line, sizeof line, "%s", now);
	if (strlen(now) >= BOOT_LINE || strpbrk(now, "\"'$`\\") || !merge_all(line, words))
		show_words(words, out);
	else if (!strcmp(line, now))
		fprintf(out, "boot      " GRUB " has it already (%s): update-grub, and reboot\n",
			words);
	else
		fprintf(out,
			"boot      " GRUB ": make its line this, then update-grub and reboot:\n"
			"GRUB_CMDLINE_LINUX=\"%s\"\n",
			line);
}

void boot_cmdline(const struct machine *m, const char *words, FILE *out)
{
	char text[FILE_TEXT];
	const char *now;

	for (size_t i = 0; i < array_size(cmdlines); i++)
		if (!file_read(m, cmdlines[i], text, sizeof text)) {
			show_merged(cmdlines[i], text, words, out);
			return;
		}
	if (!file_read(m, GRUB, text, sizeof text) && (now = grub_line(text)))
		show_grub(now, words, out);
	else
		show_words(words, out);
}

/* --- config.txt --------------------------------------------------------------------------- */

/* Is the line there, in a section that holds for every board? */
static bool has_line(const char *text, const char *line, size_t len)
{
	bool all = true;

	for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
		if (*at == '[')
			all = !strncmp(at, "[all]", 5);
		if (all && !strncmp(at, line, len) && strchr("\r\n", at[len]))
			return true;
	}
	return false;
}

/* The section that the file ends in holds for every board? */
static bool ends_in_all(const char *text)
{
	bool all = true;

	for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n')
		if (*at == '[')
			all = !strncmp(at, "[all]", 5);
	return all;
}

void boot_config(const struct machine *m, const char *lines, FILE *out)
{
	char text[FILE_TEXT] = "";
	const char *path = configs[0];

	for (size_t i = 0; i < array_size(configs) && !*text; i++)
		if (!file_read(m, configs[i], text, sizeof text))
			path = configs[i];
	for (; *lines; lines += strcspn(lines, "\n"), lines += *lines == '\n') {
		int len = (int)strcspn(lines, "\n");

		if (has_line(text, lines, (size_t)len))
			fprintf(out, "boot      %s has it already (%.*s): reboot\n", path, len,
				lines);
		else
			fprintf(out, "boot      %s: add at its end, then reboot:\n%s%.*s\n", path,
				ends_in_all(text) ? "" : "[all]\n", len, lines);
	}
}
