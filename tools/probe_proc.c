/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "probe.h"
#include "probe_count.h"
#include "probe_parse.h"

/* --- load ------------------------------------------------------------------------------- */

static void read_load(void *state, double *cell)
{
	const char *text = text_read(state);

	if (text)
		*cell = strtod(text, NULL);
}

static void load(struct probe *p)
{
	struct text *t = probe_memory(sizeof *t);

	t->fd = probe_open(p, "proc/loadavg");
	if (!text_read(t)) {
		probe_absent(p, "load", NULL, "no /proc/loadavg");
		return;
	}
	probe_source(p, read_load, t, "load");
	probe_column(p, 2, "load1");
}

/* --- the time of each core ---------------------------------------------------------------- */

struct cores {
	struct text text;
	struct cpu_ticks before[PROBE_CPUS];
	unsigned cpu[PROBE_CPUS], count;
};

/* How much of a stretch; a tick may come between the kernel's counts of one CPU. */
static double share(uint64_t now, uint64_t before, uint64_t total)
{
	double part = (double)(int64_t)(now - before) / (double)total;

	return part < 0 ? 0 : part > 1 ? 1 : part;
}

static void read_cores(void *state, double *cell)
{
	struct cores *c = state;
	struct cpu_ticks now[PROBE_CPUS];
	const char *text = text_read(&c->text);

	if (!text)
		return;
	parse_stat(text, now, PROBE_CPUS);
	for (unsigned i = 0; i < c->count; i++, cell += 3) {
		const struct cpu_ticks *a = &c->before[c->cpu[i]], *b = &now[c->cpu[i]];

		if (!a->online || !b->online || b->total <= a->total)
			continue;
		cell[0] = share(b->busy, a->busy, b->total - a->total);
		cell[1] = share(b->irq, a->irq, b->total - a->total);
		cell[2] = share(b->softirq, a->softirq, b->total - a->total);
	}
	memcpy(c->before, now, sizeof now);
}

static void cores(struct probe *p)
{
	struct cores *c = probe_memory(sizeof *c);

	c->text.fd = probe_open(p, "proc/stat");
	const char *text = text_read(&c->text);
	unsigned highest = text ? parse_stat(text, c->before, PROBE_CPUS) : 0;
	for (unsigned i = 0; i < highest; i++)
		if (c->before[i].online)
			c->cpu[c->count++] = i;
	if (!c->count) {
		probe_absent(p, "cpu", NULL, "no /proc/stat");
		return;
	}
	probe_source(p, read_cores, c, "cpu");
	for (unsigned i = 0; i < c->count; i++) {
		probe_column(p, 3, "busy_cpu%u", c->cpu[i]);
		probe_column(p, 3, "irq_cpu%u", c->cpu[i]);
		probe_column(p, 3, "softirq_cpu%u", c->cpu[i]);
	}
}

/* --- interrupts and softirqs by core --------------------------------------------------------- */

struct counted_cores {
	struct text text;
	struct count count[PROBE_CPUS];
	unsigned cpus;
};

static void read_counted(void *state, double *cell)
{
	struct counted_cores *c = state;
	const char *text = text_read(&c->text);
	uint64_t sum[PROBE_CPUS];
	unsigned cpus = text ? parse_columns(text, sum, PROBE_CPUS) : 0;

	for (unsigned i = 0; i < c->cpus && i < cpus; i++)
		cell[i] = (double)count_32(&c->count[i], sum[i]);
}

static void counted(struct probe *p, const char *name)
{
	struct counted_cores *c = probe_memory(sizeof *c);
	uint64_t sum[PROBE_CPUS];

	c->text.fd = probe_open(p, "proc/%s", name);
	const char *text = text_read(&c->text);
	c->cpus = text ? parse_columns(text, sum, PROBE_CPUS) : 0;
	if (!c->cpus) {
		probe_absent(p, name, NULL, "no /proc/%s", name);
		return;
	}
	probe_source(p, read_counted, c, "%s", name);
	for (unsigned i = 0; i < c->cpus; i++) {
		count_32(&c->count[i], sum[i]);
		probe_column(p, 0, "%s_cpu%u", name, i);
	}
}

/* --- the network ---------------------------------------------------------------------------- */

struct softnet_sum {
	struct text text;
	struct count processed[PROBE_CPUS], dropped[PROBE_CPUS], squeezed[PROBE_CPUS];
};

static void read_softnet(void *state, double *cell)
{
	struct softnet_sum *s = state;
	struct softnet now[PROBE_CPUS];
	const char *text = text_read(&s->text);
	unsigned count = text ? parse_softnet(text, now, PROBE_CPUS) : 0;
	uint64_t sum[3] = { 0 };

	if (!count)
		return;
	for (unsigned i = 0; i < count; i++) {
		sum[0] += count_32(&s->processed[i], now[i].processed);
		sum[1] += count_32(&s->dropped[i], now[i].dropped);
		sum[2] += count_32(&s->squeezed[i], now[i].squeezed);
	}
	for (unsigned i = 0; i < 3; i++)
		cell[i] = (double)sum[i];
}

static void softnet(struct probe *p)
{
	struct softnet_sum *s = probe_memory(sizeof *s);
	double base[3] = { NAN };

	s->text.fd = probe_open(p, "proc/net/softnet_stat");
	read_softnet(s, base);
	if (isnan(base[0])) {
		probe_absent(p, "softnet", NULL, "no /proc/net/softnet_stat");
		return;
	}
	probe_source(p, read_softnet, s, "softnet");
	probe_column(p, 0, "softnet_processed");
	probe_column(p, 0, "softnet_dropped");
	probe_column(p, 0, "softnet_squeezed");
}

/* proc(5): the columns of /proc/net/dev. */
static const char *const netdev_names[NETDEV_COLUMNS] = {
	"rx_bytes",      "rx_packets",    "rx_errors",  "rx_dropped",    "rx_fifo",   "rx_frame",
	"rx_compressed", "rx_multicast",  "tx_bytes",   "tx_packets",    "tx_errors", "tx_dropped",
	"tx_fifo",       "tx_collisions", "tx_carrier", "tx_compressed",
};

struct nic {
	struct text text;
	const char *iface;
	struct count count[NETDEV_COLUMNS];
};

static void read_nic(void *state, double *cell)
{
	struct nic *n = state;
	uint64_t value[NETDEV_COLUMNS];
	const char *text = text_read(&n->text);

	if (!text || !parse_netdev(text, n->iface, value))
		return;
	for (unsigned i = 0; i < NETDEV_COLUMNS; i++)
		cell[i] = (double)count_64(&n->count[i], value[i]);
}

/* Where the first --pid lives, else here: a responder may have a namespace of its own. */
static void nic(struct probe *p)
{
	struct nic *n = probe_memory(sizeof *n);
	double base[NETDEV_COLUMNS] = { NAN };
	char where[32] = "proc/net/dev";

	if (!p->iface) {
		probe_absent(p, "nic", "--iface=IFACE", "no interface was named");
		return;
	}
	if (p->pids)
		snprintf(where, sizeof where, "proc/%d/net/dev", p->pid[0]);
	n->iface = p->iface;
	n->text.fd = probe_open(p, "%s", where);
	read_nic(n, base);
	if (isnan(base[0])) {
		probe_absent(p, "nic", "ip link shows those that there are",
			     "no interface %s in /%s", p->iface, where);
		return;
	}
	probe_remark(probe_source(p, read_nic, n, "nic"), "%s, of /%s", p->iface, where);
	for (unsigned i = 0; i < NETDEV_COLUMNS; i++)
		probe_column(p, 0, "nic_%s", netdev_names[i]);
}

void probe_proc(struct probe *p)
{
	load(p);
	cores(p);
	counted(p, "interrupts");
	counted(p, "softirqs");
	softnet(p);
	nic(p);
}
