/* SPDX-License-Identifier: GPL-2.0-only */
/* What one source may do: the map `limits`. */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "ctl.h"

static const struct ctl_map limits_map = { "limits", BPF_MAP_TYPE_ARRAY, sizeof(uint32_t),
					   sizeof(struct limits) };

/* --- show ------------------------------------------------------------------------------ */

static void show_rate(const char *what, uint32_t per_s, uint32_t burst)
{
	if (per_s)
		printf("%-22s %u, %u at once after a pause\n", what, per_s, burst ? burst : 1);
	else
		printf("%-22s any number\n", what);
}

static void show_text(const struct ctl *c, const struct limits *l)
{
	printf("%s: of one source, an IPv4 address or an IPv6 /64:\n", c->in->name);
	printf(l->conns ? "%-22s %u\n" : "%-22s any number\n", "connections at once", l->conns);
	show_rate("SYNs a second", l->syns_per_s, l->syns_burst);
	show_rate("frames a second", l->frames_per_s, l->frames_burst);
}

static void show_json(const struct ctl *c, const struct limits *l)
{
	ctl_json_head(c);
	putchar(',');
	json_limits(l);
	printf("}\n");
}

/* --- set ------------------------------------------------------------------------------- */

static bool digits(const char **at, uint64_t max, uint32_t *out)
{
	const char *start = *at;
	uint64_t v = 0;

	for (; isdigit((unsigned char)**at) && v <= max; ++*at)
		v = v * 10 + (unsigned)(**at - '0');
	*out = (uint32_t)v;
	return *at != start && v <= max;
}

/* "100" or "100/250" */
static bool rate(const char *at, uint32_t *per_s, uint32_t *burst)
{
	bool good = digits(&at, LIMIT_RATE_MAX, per_s);

	*burst = *per_s;
	if (good && *at == '/') {
		at++;
		good = *per_s && digits(&at, LIMIT_RATE_MAX, burst) && *burst;
	}
	return good && !*at;
}

static bool set_one(struct limits *l, const char *word)
{
	const char *value = strchr(word, '=');

	if (!value++)
		return false;
	if (!strncmp(word, "conns=", 6))
		return digits(&value, CONNS_MAX, &l->conns) && !*value;
	if (!strncmp(word, "syns=", 5))
		return rate(value, &l->syns_per_s, &l->syns_burst);
	return !strncmp(word, "frames=", 7) && rate(value, &l->frames_per_s, &l->frames_burst);
}

int ctl_check_limits(const struct ctl *c)
{
	struct limits none;

	if (!c->count)
		return 0;
	if (strcmp(c->words[0], "set") || c->count < 2)
		return ctl_usage("limits: wanted nothing more, or set conns=N syns=N[/BURST] "
				 "frames=N[/BURST]");
	for (unsigned i = 1; i < c->count; i++)
		if (!set_one(&none, c->words[i]))
			return ctl_usage("limits set: %s: wanted conns=N, N up to %d, or syns= or "
					 "frames=N or N/BURST, up to %d",
					 c->words[i], CONNS_MAX, LIMIT_RATE_MAX);
	return 0;
}

int ctl_limits(const struct ctl *c)
{
	struct limits l;
	uint32_t key = 0;
	int status = 0, fd = ctl_open(c, &limits_map, c->count);

	if (fd < 0)
		return 1;
	if (bpf_map_lookup_elem(fd, &key, &l))
		status = ctl_trouble(c, "limits: %s", strerror(errno));
	for (unsigned i = 1; i < c->count; i++)
		set_one(&l, c->words[i]);
	if (!status && c->count && bpf_map_update_elem(fd, &key, &l, 0))
		status = ctl_trouble(c, "limits: %s", strerror(errno));
	close(fd);
	if (!status && !c->count && c->json)
		show_json(c, &l);
	else if (!status && !c->count)
		show_text(c, &l);
	return status;
}
