/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * doctor_checks.h - every check, by subject
 *
 * Place    doctor_table.c lists them in the order in which they are shown.
 */
#ifndef DOCTOR_CHECKS_H
#define DOCTOR_CHECKS_H

#include "doctor.h"

#define CHECK(name) void check_##name(const struct host *h, struct finding *f)

/* doctor_kernel.c */
CHECK(af_xdp);

/* doctor_cpu.c */
CHECK(governor);

/* doctor_nic.c */
CHECK(moderation);

#endif
