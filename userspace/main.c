/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "calibrate.h"
#include "conf.h"
#include "cpu.h"
#include "memory.h"
#include "starter.h"

_Noreturn void base_panic(const char *what, const char *file, int line)
{
	fprintf(stderr, "saker: broken invariant at %s:%d: %s\n", file, line, what);
	abort();
}

/* Of its own, so that they can be made read-only. */
static void *pages(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED) {
		perror("saker");
		exit(1);
	}
	return at;
}

int main(int argc, char **argv)
{
	uint64_t exec_ns = cpu_now_ns();
	struct conf *conf = pages(sizeof *conf);

	conf_parse(conf, argc, argv);
	if (!conf->calibrate)
		memory_fit(conf);
	mprotect(conf, sizeof *conf, PROT_READ); /* the worker cannot undo that: jail.h */
	if (conf->check) {
		conf_print(conf);
		if (conf->memory)
			memory_print(conf);
		return 0;
	}
	if (conf->calibrate) {
		int cpu = conf->io_cpus ? conf->io_cpu[0] :
					  cpu_choose(conf->compute_cpu, conf->compute_cpus);

		return cpu < 0 || calibrate_print(cpu, conf->lanes);
	}
	return starter_run(conf, argv, exec_ns);
}
