/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cpu.h"
#include "say.h"
#include "starter_private.h"

static int check_cpu(const struct starter *st, const char *option, int cpu)
{
	if (cpu_allowed(cpu))
		return 0;
	if (!cpu_online(cpu))
		return refuse(st->conf, -EINVAL, "--%s=%d: no such CPU is online (see lscpu -e)",
			      option, cpu);
	return refuse(st->conf, -EINVAL,
		      "--%s=%d: this process may not run there (see taskset -p %d)", option, cpu,
		      (int)getpid());
}

/* Whoever shares such a CPU interrupts the thread. */
static void look_for_others(struct starter *st)
{
	int32_t shared[IO_THREADS_MAX];
	char text[STATS_CPUS_TEXT];
	uint32_t count = 0;

	for (unsigned t = 0; t < st->mode.io_threads; t++) {
		int cpu = st->mode.io_cpu[t];

		if (cpu_isolated(cpu))
			st->mode.io_isolated |= 1u << t;
		else
			shared[count++] = cpu;
	}
	stats_cpus_text(text, shared, count);
	if (count)
		say(st->conf,
		    "CPU%s %s %s not isolated: others interrupt %s (kernel option "
		    "isolcpus=%s)",
		    count > 1 ? "s" : "", text, count > 1 ? "are" : "is", count > 1 ? "them" : "it",
		    text);
}

int starter_cpus(struct starter *st)
{
	const struct conf *c = st->conf;
	struct mode *m = &st->mode;
	int error = 0;

	memset(m->io_cpu, 0xff, sizeof m->io_cpu);
	memset(m->compute_cpu, 0xff, sizeof m->compute_cpu);
	m->io_threads = conf_io_threads(c);
	m->compute_cores = c->compute_cpus;
	memcpy(m->io_cpu, c->io_cpu, c->io_cpus * sizeof *c->io_cpu);
	memcpy(m->compute_cpu, c->compute_cpu, c->compute_cpus * sizeof *c->compute_cpu);
	if (!c->io_cpus)
		m->io_cpu[0] = cpu_choose(c->compute_cpu, c->compute_cpus);
	if (m->io_cpu[0] < 0)
		return refuse(st->conf, -EINVAL,
			      "no CPU for the I/O thread: %s; name one with --io-cpu",
			      strerror(-m->io_cpu[0]));
	for (unsigned t = 0; t < m->io_threads && !error; t++)
		error = check_cpu(st, "io-cpu", m->io_cpu[t]);
	for (unsigned k = 0; k < m->compute_cores && !error; k++)
		error = check_cpu(st, "compute-cpus", m->compute_cpu[k]);
	if (!error)
		look_for_others(st);
	return error;
}

void starter_cpus_text(char *text, size_t size, const struct mode *m)
{
	bool isolated = m->io_isolated == (1u << m->io_threads) - 1;
	char cpus[STATS_CPUS_TEXT];
	int n = snprintf(text, size, "I/O CPU%s %s%s", m->io_threads > 1 ? "s" : "",
			 stats_cpus_text(cpus, m->io_cpu, m->io_threads),
			 isolated ? " (isolated)" : "");

	if (m->compute_cores)
		snprintf(text + n, size - (size_t)n, ", compute CPU%s %s",
			 m->compute_cores > 1 ? "s" : "",
			 stats_cpus_text(cpus, m->compute_cpu, m->compute_cores));
}
