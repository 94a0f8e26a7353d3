/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * doctor_value.h - the value of a setting, as text
 *
 * Place    doctor_apply.c reads and writes values, doctor_fix.c and doctor_undo.c
 *          compare them. No file is touched here.
 * Model    The kernel answers in other words than it was asked in: `[always] never` for
 *          always, 0000000f for f, 0-1 for 0,1. So a value is cleaned when it is read,
 *          and compared by what the setting's name says it is: a mask of CPUs, a list of
 *          CPUs, or words.
 * Limits   VALUE_SIZE with the NUL. A longer one is not held, and so never changed.
 */
#ifndef DOCTOR_VALUE_H
#define DOCTOR_VALUE_H

#include "base.h"

/* A mask of 1024 CPUs has 256 digits and 31 commas. */
enum { VALUE_SIZE = 320 };

/* What a file says, as one value: blanks folded, of several choices the one in brackets.
 * -EOVERFLOW: it is too long to be remembered. */
int value_clean(char value[VALUE_SIZE], const char *text);

/* The same for the setting of that name. */
bool value_same(const char *name, const char *a, const char *b);

/* The line of choices with that one in brackets, as the kernel would show it; text itself
 * where it has no brackets. -EINVAL: it is none of them. */
int value_choose(char line[VALUE_SIZE], const char *text, const char *choice);

#endif
