/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * doctor_file.h - small files below the root, read and written whole
 *
 * Place    What doctor_apply.c, doctor_ethset.c, doctor_partition.c and doctor_boot.c
 *          change or show.
 * Model    A path begins with a slash and is appended to the root. Below a root that is
 *          not the machine itself files are plain ones: `fake` then.
 * Owner    Memory is the caller's.
 * Errors   0 or -errno. Nothing is printed; what more is known goes into why.
 */
#ifndef DOCTOR_FILE_H
#define DOCTOR_FILE_H

#include <sys/types.h>
#include "doctor_value.h"

enum { FILE_TEXT = 16384, FILE_PATH = 512 };

struct machine {
	const char *root; /* "": the machine itself */
	char why[200];    /* of the last error, beside its errno; "" : nothing */
};

bool is_fake(const struct machine *m);

__attribute__((format(printf, 3, 4))) int machine_error(struct machine *m, int error,
							const char *why, ...);

/* -ENAMETOOLONG: it does not fit. */
int file_path(const struct machine *m, char whole[FILE_PATH], const char *path);
bool file_there(const struct machine *m, const char *path);
/* With a NUL behind it. -EFBIG: it does not fit. */
int file_read(const struct machine *m, const char *path, char *text, size_t size);
/* In one write, as files of the kernel want it. A fake one is made if need be, and replaced
 * as a whole: a kill leaves the old text or the new one, as the kernel does. */
int file_write(const struct machine *m, const char *path, const char *text);

#endif
