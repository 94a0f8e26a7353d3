/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * doctor_partition.h - cores on which the scheduler puts nobody, without a reboot
 *
 * Place    doctor_apply.c, for three settings, in the order in which they are made.
 * Model    A cgroup below the root of cgroup v2, whose cpuset is a partition of kind
 *          isolated (Documentation/admin-guide/cgroup-v2.rst):
 *            cgroup cpuset     on: children of the root may have cpusets; or off
 *            cpuset NAME       none: there is no such cgroup; or its cores, 1-3
 *            partition NAME    isolated: nobody else is put on them; or member: a cgroup like
 *                              others; or invalid: the kernel has taken it back
 *          Between the last two a responder that runs goes inside (doctor_tasks.h).
 * Limits   cgroup v1 has no partitions: refused, and it is said how to have v2. A cgroup
 *          with processes in it cannot be removed: its isolation ends, it stays.
 * Errors   0 or -errno, with more in m->why.
 */
#ifndef DOCTOR_PARTITION_H
#define DOCTOR_PARTITION_H

#include "doctor_file.h"

int controller_read(struct machine *m, const char *name, char value[VALUE_SIZE]);
int controller_write(struct machine *m, const char *name, const char *value);
int cpuset_read(struct machine *m, const char *name, char value[VALUE_SIZE]);
int cpuset_write(struct machine *m, const char *name, const char *value);
int partition_read(struct machine *m, const char *name, char value[VALUE_SIZE]);
int partition_write(struct machine *m, const char *name, const char *value);

#endif
