/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * doctor_boot.h - what only a reboot can change, as the line to put where
 *
 * Place    doctor_fix.c shows it behind what was changed. Nothing is edited: a wrong line
 *          here is a board that does not boot.
 * Model    Words for the kernel are merged into the line that is there: a word whose key
 *          is there already takes its place, others go to the end. The line is looked for in
 *          /boot/firmware/cmdline.txt, /boot/cmdline.txt, /etc/default/grub; where there is
 *          none, the words alone are shown. Lines for config.txt go under its [all].
 * Limits   BOOT_LINE; the kernel itself takes 2048 bytes on arm64 and x86.
 */
#ifndef DOCTOR_BOOT_H
#define DOCTOR_BOOT_H

#include <stdio.h>
#include "doctor_file.h"

enum { BOOT_LINE = 4096 };

/* One word into the line. False: it does not fit, and the line is as before. */
bool boot_merge(char line[BOOT_LINE], const char *word);

/* Words, separated by spaces, that the kernel's command line shall have. */
void boot_cmdline(const struct machine *m, const char *words, FILE *out);
/* A line, or several, for config.txt. */
void boot_config(const struct machine *m, const char *lines, FILE *out);

#endif
