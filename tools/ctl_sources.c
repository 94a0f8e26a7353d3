/* SPDX-License-Identifier: GPL-2.0-only */
/* Who has lost frames by the limits: the maps `sources` and `source_conns`. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "ctl.h"
#include "prefix.h"

static const struct ctl_map sources_map = { "sources", BPF_MAP_TYPE_LRU_HASH,
					    sizeof(struct source_key), sizeof(struct source) };
static const struct ctl_map conns_map = { "source_conns", BPF_MAP_TYPE_HASH,
					  sizeof(struct source_thread), sizeof(uint32_t) };

struct row {
	struct source_key key;
	struct source source;
	uint32_t open;
};

struct rows {
	struct row row[SOURCES_MAX];
	uint32_t count;
};

static uint64_t lost(const struct row *r)
{
	return r->source.dropped_syn_rate + r->source.dropped_conns + r->source.dropped_frame_rate;
}

static int most_first(const void *a, const void *b)
{
	uint64_t x = lost(a), y = lost(b);

	return (x < y) - (x > y);
}

/* Of all I/O threads. */
static uint32_t open_of(int fd, const struct source_key *key, uint32_t threads)
{
	struct source_thread at = { .source = *key };
	uint32_t open = 0, one;

	for (; at.thread < threads; at.thread++)
		if (!bpf_map_lookup_elem(fd, &at, &one))
			open += one;
	return open;
}

/* A key that loses its entry meanwhile sends the walk back to the start: so twice as
 * many steps as there are entries, and no key twice. */
static void load(struct rows *rows, int fd)
{
	struct source_key key, *from = NULL;

	for (uint32_t steps = 0; steps < 2 * SOURCES_MAX && rows->count < SOURCES_MAX; steps++) {
		struct row *r = &rows->row[rows->count];

		if (bpf_map_get_next_key(fd, from, &key))
			break;
		from = &key;
		r->key = key;
		rows->count += !bpf_map_lookup_elem(fd, &key, &r->source);
	}
}

static const char *source_text(char text[PREFIX_TEXT + 4], const struct source_key *key)
{
	prefix_addr_text(text, key->addr);
	return strchr(text, ':') ? strcat(text, "/64") : text;
}

static void show_text(const struct ctl *c, const struct rows *rows, uint32_t shown)
{
	char text[PREFIX_TEXT + 4];

	printf("%s: %u source%s, %u shown\n", c->in->name, rows->count, rows->count == 1 ? "" : "s",
	       shown);
	if (shown)
		printf("%-43s %6s %14s %14s %14s\n", "source", "open", "lost by syns", "by conns",
		       "by frames");
	for (uint32_t i = 0; i < shown; i++) {
		const struct row *r = &rows->row[i];

		printf("%-43s %6u %14" PRIu64 " %14" PRIu64 " %14" PRIu64 "\n",
		       source_text(text, &r->key), r->open, r->source.dropped_syn_rate,
		       r->source.dropped_conns, r->source.dropped_frame_rate);
	}
}

static void show_json(const struct ctl *c, const struct rows *rows, uint32_t shown)
{
	char text[PREFIX_TEXT + 4];

	ctl_json_head(c);
	printf(",\"known\":%u,\"sources\":[", rows->count);
	for (uint32_t i = 0; i < shown; i++) {
		const struct row *r = &rows->row[i];

		printf("%s{\"source\":\"%s\",\"open\":%u,\"dropped_syn_rate\":%" PRIu64
		       ",\"dropped_conns\":%" PRIu64 ",\"dropped_frame_rate\":%" PRIu64 "}",
		       i ? ",\n  " : "\n  ", source_text(text, &r->key), r->open,
		       r->source.dropped_syn_rate, r->source.dropped_conns,
		       r->source.dropped_frame_rate);
	}
	printf("]}\n");
}

int ctl_sources(const struct ctl *c)
{
	static struct rows rows;
	uint32_t shown, threads = stats_io_threads(&c->in->report.mode);
	int fd, conns;

	fd = ctl_open(c, &sources_map, false);
	conns = fd < 0 ? -1 : ctl_open(c, &conns_map, false);
	if (conns < 0)
		return 1;
	load(&rows, fd);
	qsort(rows.row, rows.count, sizeof *rows.row, most_first);
	shown = c->top && c->top < rows.count ? c->top : rows.count;
	for (uint32_t i = 0; i < shown; i++)
		rows.row[i].open = open_of(conns, &rows.row[i].key, threads);
	close(conns);
	close(fd);
	if (c->json)
		show_json(c, &rows, shown);
	else
		show_text(c, &rows, shown);
	return 0;
}
