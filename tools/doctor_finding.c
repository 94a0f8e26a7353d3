/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdarg.h>
#include <string.h>
#include "doctor.h"

void finding_is(struct finding *f, enum verdict verdict, const char *what, ...)
{
	va_list args;

	f->verdict = verdict;
	va_start(args, what);
	vsnprintf(f->what, sizeof f->what, what, args);
	va_end(args);
}

void finding_why(struct finding *f, enum basis basis, const char *source, const char *why, ...)
{
	va_list args;

	f->basis = basis;
	snprintf(f->source, sizeof f->source, "%s", source);
	va_start(args, why);
	vsnprintf(f->why, sizeof f->why, why, args);
	va_end(args);
}

void finding_fix(struct finding *f, enum fix_kind kind, const char *text, ...)
{
	size_t used = strlen(f->fix);
	va_list args;

	f->fix_kind = kind;
	va_start(args, text);
	vsnprintf(f->fix + used, sizeof f->fix - used, text, args);
	va_end(args);
}

static void add_setting(struct finding *f, enum setting_kind kind, const char *now,
			const char *value, const char *where, va_list args)
{
	struct setting *s;

	/* Half a value is none. */
	if (f->settings == FINDING_SETTINGS || strlen(value) >= sizeof s->value) {
		f->settings_left++;
		return;
	}
	s = &f->setting[f->settings++];
	*s = (struct setting){ .kind = kind };
	snprintf(s->value, sizeof s->value, "%s", value);
	snprintf(s->now, sizeof s->now, "%s", now ? now : "");
	vsnprintf(s->where, sizeof s->where, where, args);
}

void finding_setting(struct finding *f, enum setting_kind kind, const char *now, const char *value,
		     const char *where, ...)
{
	va_list args;

	va_start(args, where);
	add_setting(f, kind, now, value, where, args);
	va_end(args);
}

void finding_write(struct finding *f, const char *now, const char *value, const char *path, ...)
{
	va_list args;

	va_start(args, path);
	add_setting(f, SETTING_FILE, now, value, path, args);
	va_end(args);
	if (f->written++ < FINDING_SHOWN && f->settings)
		finding_fix(f, FIX_RUNTIME, "%secho %s > %s", *f->fix ? "; " : "", value,
			    f->setting[f->settings - 1].where);
}

void finding_rebuild(const struct host *h, struct finding *f, const char *options)
{
	finding_fix(f, FIX_REBUILD, "a kernel with %s%s", options,
		    h->pi ? ": packaging/kernel has how to build it, or Debian 13's "
			    "linux-image-arm64-16k" :
			    "");
}

/* Where words for the kernel go on this machine. */
void finding_boot(const struct host *h, struct finding *f, const char *words, ...)
{
	enum fix_kind kind;
	va_list args;

	f->boot_file = BOOT_CMDLINE;
	va_start(args, words);
	vsnprintf(f->boot, sizeof f->boot, words, args);
	va_end(args);
	if (*f->fix)
		finding_fix(f, f->fix_kind, "; to stay so: ");
	kind = *f->fix ? f->fix_kind : FIX_BOOT;
	if (h->pi)
		finding_fix(f, kind,
			    "add to the one line of /boot/firmware/cmdline.txt, then reboot: %s",
			    f->boot);
	else
		finding_fix(f, kind,
			    "add to GRUB_CMDLINE_LINUX in /etc/default/grub, then update-grub and "
			    "reboot: %s",
			    f->boot);
}

const char *verdict_name(enum verdict verdict)
{
	static const char *const words[VERDICTS] = { "ok", "info", "warn", "fail", "unknown" };

	return words[verdict];
}

const char *basis_name(enum basis basis)
{
	static const char *const words[BASES] = { "none", "rule", "measured", "published",
						  "estimate" };

	return words[basis];
}

const char *fix_name(enum fix_kind kind)
{
	static const char *const words[FIX_KINDS] = { "none", "runtime", "hand", "boot",
						      "rebuild" };

	return words[kind];
}
