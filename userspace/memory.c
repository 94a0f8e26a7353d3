/* SPDX-License-Identifier: GPL-2.0-only */
#include "memory.h"

#include <bpf/libbpf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "budget.h"
#include "conf_values.h"
#include "nic.h"
#include "say.h"

enum { KIB = 1024, OPTION_TEXT = 96 };

static unsigned queues_of(const struct conf *c)
{
	return c->io == CONF_IO_SOCKET ? 0 :
					 (unsigned)min_u64(nic_rx_queues(c->ifname), QUEUES_MAX);
}

static struct budget_shape shape_of(const struct conf *c)
{
	int cpus = libbpf_num_possible_cpus();

	return (struct budget_shape){
		.page = (uint32_t)sysconf(_SC_PAGESIZE),
		.cpus = cpus > 0 ? (unsigned)cpus : 1,
		.queues = queues_of(c),
		.io_threads = conf_io_threads(c),
		.compute_cores = c->compute_cpus,
		.max_conns = c->max_conns,
		.timewait = c->timewait,
		.log_lines = *c->access_log ? c->log_lines : 0,
		.cache = c->cache,
		.max_body = c->max_body,
		.by_path = c->steer == STEER_path,
		.packet = c->io == CONF_IO_PACKET,
	};
}

static const char *option_text(const struct conf *c, const struct budget_shape *s,
			       enum budget_option o, char text[OPTION_TEXT])
{
	switch (o) {
	case BUDGET_OPTION_max_conns:
		snprintf(text, OPTION_TEXT, "--max-conns=%u", s->max_conns);
		break;
	case BUDGET_OPTION_max_body:
		snprintf(text, OPTION_TEXT, "--max-body=%u", s->max_body);
		break;
	case BUDGET_OPTION_cache:
		snprintf(text, OPTION_TEXT, "--cache=%u", s->cache);
		break;
	case BUDGET_OPTION_access_log:
		snprintf(text, OPTION_TEXT, "--access-log");
		break;
	case BUDGET_OPTION_io_cpu:
		snprintf(text, OPTION_TEXT, "--io-cpu with %u CPUs", s->io_threads);
		break;
	case BUDGET_OPTION_compute_cpus:
		snprintf(text, OPTION_TEXT, "--compute-cpus with %u CPUs", s->compute_cores);
		break;
	default:
		snprintf(text, OPTION_TEXT, "the %u queues (ethtool -L %s combined 1)", s->queues,
			 c->ifname);
	}
	return text;
}

static _Noreturn void refuse_memory(const struct conf *c, const struct budget_shape *s)
{
	uint64_t dear, least = budget_forecast(s, NULL);
	enum budget_option o = budget_dearest(s, &dear);
	char size[VALUE_SIZE_TEXT], text[OPTION_TEXT];

	fprintf(stderr,
		"saker: --memory=%s: too little: %" PRIu64
		"K is the least, for %u connections on %s; most would be saved at %s, %" PRIu64
		"K\n",
		value_size_text(size, c->memory), (least + KIB - 1) / KIB, s->max_conns, c->ifname,
		option_text(c, s, o, text), dear / KIB);
	exit(EXIT_USAGE);
}

void memory_fit(struct conf *c)
{
	struct budget_shape s = shape_of(c);

	if (!c->memory)
		return;
	if (!budget_fit(&s, c->max_conns_given, c->memory))
		refuse_memory(c, &s);
	c->max_conns = s.max_conns;
	c->timewait = s.timewait;
	if (s.log_lines)
		c->log_lines = s.log_lines;
}

void memory_print(const struct conf *c)
{
	static const char *const names[] = {
#define X(name, text) [BUDGET_##name] = text,
		BUDGET_LIST(X)
#undef X
	};
	struct budget_shape s = shape_of(c);
	uint64_t part[BUDGET_PARTS], sum = budget_forecast(&s, part);

	printf("# with all tables full: %" PRIu64 "K\n", (sum + KIB - 1) / KIB);
	for (unsigned i = 0; i < BUDGET_PARTS; i++)
		if (part[i])
			printf("# %8" PRIu64 "K %s\n", (part[i] + KIB - 1) / KIB, names[i]);
	printf("# TIME-WAIT records: %u", s.timewait);
	if (s.log_lines)
		printf(", log lines under way: %u", s.log_lines);
	putchar('\n');
}

void memory_say(const struct conf *c)
{
	struct budget_shape s = shape_of(c);
	char size[VALUE_SIZE_TEXT];

	if (c->memory)
		say(c,
		    "--memory=%s: %u connections%s, %u TIME-WAIT records; %" PRIu64
		    "K when all tables are full",
		    value_size_text(size, c->memory), s.max_conns,
		    s.io_threads > 1 ? " for each I/O thread" : "", s.timewait,
		    (budget_forecast(&s, NULL) + KIB - 1) / KIB);
}
