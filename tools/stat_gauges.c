/* SPDX-License-Identifier: GPL-2.0-only */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "stats.h"
#include "stat_gauges.h"

static const struct stats_text gauge_names[] = {
#define X(name, help) { #name, help },
	GAUGE_LIST(X)
#undef X
};

static const struct stats_text ring_names[] = {
#define X(name, help) { #name, help },
	RING_LIST(X)
#undef X
};

/* proc(5): the columns of /proc/net/dev. */
static const struct stats_text nic_names[] = {
	{ "rx_bytes", "received by the interface" },
	{ "rx_packets", "received by the interface" },
	{ "rx_errors", "received with an error" },
	{ "rx_dropped", "received and dropped before XDP saw them, or behind it" },
	{ "rx_fifo", "overruns of the card's buffers" },
	{ "rx_frame", "framing errors" },
	{ "rx_compressed", "received compressed" },
	{ "rx_multicast", "multicast frames received" },
	{ "tx_bytes", "sent by the interface" },
	{ "tx_packets", "sent by the interface" },
	{ "tx_errors", "not sent for an error" },
	{ "tx_dropped", "dropped instead of being sent" },
	{ "tx_fifo", "underruns of the card's buffers" },
	{ "tx_collisions", "collisions" },
	{ "tx_carrier", "lost carriers" },
	{ "tx_compressed", "sent compressed" },
};

enum { NIC_NAMES = array_size(nic_names) };

/* --- reading ----------------------------------------------------------------------- */

/* Element key of a map whose values are words, the first of which is when. */
static bool read_block(const char *dir, const char *map, size_t size, uint32_t key, void *block)
{
	char error[768];
	uint32_t entries;
	int fd = stats_map_open(dir, map, size, &entries, error, sizeof error);
	bool there;

	if (fd < 0)
		return false;
	there = key < entries && !bpf_map_lookup_elem(fd, &key, block);
	close(fd);
	return there;
}

static bool same_namespace(const char *dir, const struct mode *mode)
{
	struct stat theirs, ours;
	char path[64], here[512];

	snprintf(path, sizeof path, "/proc/%u/ns/net", mode->pid);
	if (!stat(path, &theirs) && !stat("/proc/self/ns/net", &ours))
		return theirs.st_ino == ours.st_ino && theirs.st_dev == ours.st_dev;
	/* not ours to look at, or gone: the name of the directory tells */
	return !stats_pin_dir(here, sizeof here, mode->ifname) && !strcmp(dir, here);
}

static bool read_nic(const char *dir, const struct mode *mode, uint64_t value[NIC_NAMES])
{
	char line[512], ifname[sizeof mode->ifname + 1] = "", *colon, *name, *at;
	FILE *file = same_namespace(dir, mode) ? fopen("/proc/net/dev", "re") : NULL;
	bool found = false;

	if (!file)
		return false;
	memcpy(ifname, mode->ifname, sizeof mode->ifname);
	while (!found && fgets(line, sizeof line, file)) {
		colon = strrchr(line, ':');
		if (!colon)
			continue;
		*colon = '\0';
		name = line + strspn(line, " ");
		at = colon + 1;
		found = !strcmp(name, ifname);
		for (unsigned i = 0; found && i < NIC_NAMES; i++) {
			int used = 0;

			found = sscanf(at, "%" SCNu64 "%n", &value[i], &used) == 1;
			at += used;
		}
	}
	fclose(file);
	return found;
}

/* --- text ---------------------------------------------------------------------------- */

static void text_rows(const char *what, const struct stats_text *names, unsigned n,
		      const uint64_t *value)
{
	printf("\n%-23s%14s\n", what, "now");
	for (unsigned i = 0; i < n; i++)
		printf("%-23s%14" PRIu64 "  %s\n", names[i].name, value[i], names[i].help);
}

void gauges_text(const char *dir, const struct mode *mode)
{
	uint64_t nic[NIC_NAMES];
	struct gauge_block g;
	struct ring_block r;
	char what[64];

	for (uint32_t t = 0; t <= stats_io_threads(mode); t++) {
		snprintf(what, sizeof what, "I/O thread %u", t);
		if (t == stats_io_threads(mode))
			snprintf(what, sizeof what, "stand-in");
		if (read_block(dir, "gauges", sizeof g, t, &g) && g.at_ns)
			text_rows(what, gauge_names, array_size(gauge_names), &g.at_ns + 1);
	}
	for (uint32_t q = 0; q < QUEUES_MAX; q++) {
		snprintf(what, sizeof what, "queue %u", q);
		if (read_block(dir, "rings", sizeof r, q, &r) && r.at_ns)
			text_rows(what, ring_names, array_size(ring_names), &r.at_ns + 1);
	}
	snprintf(what, sizeof what, "interface %.*s", (int)sizeof mode->ifname, mode->ifname);
	if (read_nic(dir, mode, nic))
		text_rows(what, nic_names, NIC_NAMES, nic);
}

/* --- JSON ------------------------------------------------------------------------------ */

static void json_rows(const struct stats_text *names, unsigned n, const uint64_t *value)
{
	for (unsigned i = 0; i < n; i++)
		printf("%s\"%s\":%" PRIu64, i ? "," : "", names[i].name, value[i]);
	printf("}");
}

void gauges_json(const char *dir, const struct mode *mode)
{
	uint64_t nic[NIC_NAMES];
	struct gauge_block g;
	struct ring_block r;
	bool first = true;

	printf("\"gauges\":["); /* the last one is the stand-in's */
	for (uint32_t t = 0; t <= stats_io_threads(mode); t++) {
		if (!read_block(dir, "gauges", sizeof g, t, &g))
			break;
		printf("%s{\"at_ns\":%" PRIu64 ",", t ? "," : "", g.at_ns);
		json_rows(gauge_names, array_size(gauge_names), &g.at_ns + 1);
	}
	printf("],\n  \"rings\":[");
	for (uint32_t q = 0; q < QUEUES_MAX; q++) {
		if (!read_block(dir, "rings", sizeof r, q, &r) || !r.at_ns)
			continue;
		printf("%s{\"queue\":%u,\"at_ns\":%" PRIu64 ",", first ? "" : ",", q, r.at_ns);
		json_rows(ring_names, array_size(ring_names), &r.at_ns + 1);
		first = false;
	}
	printf("],\n  \"nic\":");
	if (!read_nic(dir, mode, nic)) {
		printf("null");
		return;
	}
	printf("{");
	json_rows(nic_names, NIC_NAMES, nic);
}
