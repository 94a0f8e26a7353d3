/* SPDX-License-Identifier: GPL-2.0-only */
/* load_url.h - http://ADDRESS[:PORT][/PATH] into a plan */
#ifndef LOAD_URL_H
#define LOAD_URL_H

#include "load.h"

/* Fills url, host, server; *path is the rest, "/" at least. NULL, or what is wrong. */
const char *load_url_parse(struct load_plan *plan, const char *url, const char **path);

#endif
