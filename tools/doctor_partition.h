/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * doctor_partition.h - cores on which the scheduler puts nobody, without a reboot
 *
 * Place    doctor_apply.c, for the settings `cpuset NAME` and `cgroup cpuset`.
 * Model    A cgroup below the root of cgroup v2, whose cpuset is a partition of kind
 *          isolated (Documentation/admin-guide/cgroup-v2.rst). Values:
 *            none            there is no such cgroup
 *            isolated 1-3    and it is one
 *            member 1-3      a cgroup like others: not a partition, or not any more
 *            invalid 1-3     the kernel has taken it back, for a reason of its own
 *          The cpuset controller is on for the root's children, or off: a setting of its
 *          own, so that it is put back too.
 * Limits   cgroup v1 has no partitions: refused, and it is said how to have v2. A cgroup
 *          with processes in it cannot be removed: its isolation ends, it stays.
 * Errors   0 or -errno, with more in m->why.
 */
#ifndef DOCTOR_PARTITION_H
#define DOCTOR_PARTITION_H

#include "doctor_file.h"

int partition_read(struct machine *m, const char *name, char value[VALUE_SIZE]);
int partition_write(struct machine *m, const char *name, const char *value);
int controller_read(struct machine *m, const char *name, char value[VALUE_SIZE]);
int controller_write(struct machine *m, const char *name, const char *value);

#endif
