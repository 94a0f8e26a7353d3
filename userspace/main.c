/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>
#include "calibrate.h"
#include "conf.h"
#include "cpu.h"
#include "starter.h"

_Noreturn void base_panic(const char *what, const char *file, int line)
{
	fprintf(stderr, "saker: broken invariant at %s:%d: %s\n", file, line, what);
	abort();
}

int main(int argc, char **argv)
{
	uint64_t exec_ns = cpu_now_ns();
	struct conf conf;

	conf_parse(&conf, argc, argv);
	if (conf.check) {
		conf_print(&conf);
		return 0;
	}
	if (conf.calibrate) {
		int cpu = conf.io_cpus ? conf.io_cpu[0] :
					 cpu_choose(conf.compute_cpu, conf.compute_cpus);

		return cpu < 0 || calibrate_print(cpu, conf.lanes);
	}
	return starter_run(&conf, argv, exec_ns);
}
