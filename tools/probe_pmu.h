/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * probe_pmu.h - an event that a PMU describes in sysfs, as perf_event_open wants it
 *
 * Model    DEVICE/type is a number, DEVICE/events/NAME is "event=0x37,umask=0x1", and
 *          DEVICE/format/TERM says which bits of which word a term is: "config:0-7".
 */
#ifndef PROBE_PMU_H
#define PROBE_PMU_H

#include "base.h"

struct probe;

struct pmu_event {
	uint32_t type;
	uint64_t config, config1;
	char path[128]; /* of the device, below the root */
};

/* Where a term's value goes; false: format is not understood, or it does not fit. */
bool pmu_place(const char *format, uint64_t value, struct pmu_event *e);

/* The first device that matches the pattern and has the event. */
bool pmu_find(const struct probe *p, const char *pattern, const char *event, struct pmu_event *e);

#endif
