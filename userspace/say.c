/* SPDX-License-Identifier: GPL-2.0-only */
#include "say.h"

#include <stdarg.h>
#include <stdio.h>

/* In one piece: starter and worker write to the same place. */
static void line(const struct conf *conf, const char *format, va_list args)
{
	char text[512];

	vsnprintf(text, sizeof text, format, args);
	fprintf(stderr, "saker: %s: %s\n", conf->ifname, text);
}

void say(const struct conf *conf, const char *format, ...)
{
	va_list args;

	if (conf->quiet)
		return;
	va_start(args, format);
	line(conf, format, args);
	va_end(args);
}

int refuse(const struct conf *conf, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	line(conf, format, args);
	va_end(args);
	return error;
}
