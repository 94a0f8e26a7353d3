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
CHECK(kernel);
CHECK(af_xdp);
CHECK(bpf);
CHECK(tc_bpf);
CHECK(btf);
CHECK(page_size);

/* doctor_native.c, doctor_faults.c */
CHECK(native_xdp);
CHECK(known_faults);

/* doctor_card.c */
CHECK(moderation);
CHECK(deferral);
CHECK(eee);
CHECK(aspm);

/* doctor_nic.c */
CHECK(link);
CHECK(mtu);
CHECK(rings);
CHECK(offloads);
CHECK(queues);

/* doctor_irq.c */
CHECK(irq_affinity);
CHECK(irqbalance);
CHECK(rps);

/* doctor_isolation.c */
CHECK(isolation);
CHECK(nohz_full);
CHECK(tick);
CHECK(rcu_nocbs);

/* doctor_cpu.c, doctor_heat.c */
CHECK(governor);
CHECK(frequency);
CHECK(throttle);
CHECK(temperature);

/* doctor_memory.c */
CHECK(thp);
CHECK(numa);
CHECK(zone_reclaim);
CHECK(stat_interval);
CHECK(migration_cost);
CHECK(memlock);

/* doctor_programs.c */
CHECK(xdp_program);
CHECK(tc_programs);

/* doctor_leftovers.c */
CHECK(leftovers);

#undef CHECK
#endif
