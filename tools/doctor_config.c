/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include "doctor.h"

enum { CONFIG_BYTES = 1 << 20 }; /* Debian's have 270,000 */

/* What is not compressed is read as it is. */
static bool load(struct host *h, const char *path)
{
	char whole[512];
	gzFile file;
	int length;

	snprintf(whole, sizeof whole, "%s/%s", h->root, path);
	file = gzopen(whole, "rb");
	if (!file)
		return false;
	h->config = malloc(CONFIG_BYTES);
	length = h->config ? gzread(file, h->config, CONFIG_BYTES - 1) : -1;
	if (gzclose(file) != Z_OK || length <= 0) {
		free(h->config);
		h->config = NULL;
		return false;
	}
	h->config[length] = '\0';
	snprintf(h->config_from, sizeof h->config_from, "/%s", path);
	return true;
}

void config_load(struct host *h)
{
	char path[128];

	snprintf(path, sizeof path, "boot/config-%s", h->release);
	if (load(h, "proc/config.gz") || load(h, path))
		return;
	snprintf(h->config_why, sizeof h->config_why, "no /proc/config.gz and no /%s%s", path,
		 h->pi ? "; `modprobe configs` may bring the first" : "");
}

static const char *value_of(const struct host *h, const char *name)
{
	char key[64];
	size_t length = (size_t)snprintf(key, sizeof key, "\nCONFIG_%s=", name);
	const char *at = h->config;

	if (!strncmp(at, key + 1, length - 1))
		return at + length - 1;
	at = strstr(at, key);
	return at ? at + length : NULL;
}

enum built config_option(const struct host *h, const char *name)
{
	const char *value;

	if (!h->config)
		return BUILT_NOT_KNOWN;
	value = value_of(h, name);
	return !value        ? BUILT_NO :
	       *value == 'y' ? BUILT_IN :
	       *value == 'm' ? BUILT_MODULE :
			       BUILT_NO;
}

long config_number(const struct host *h, const char *name)
{
	const char *value = h->config ? value_of(h, name) : NULL;

	return value ? strtol(value, NULL, 0) : -1;
}

const char *built_name(enum built option)
{
	static const char *const words[] = { "not known", "not set", "m", "y" };

	return words[option];
}
