/* SPDX-License-Identifier: GPL-2.0-only */
/* Who is let in: the map `access`. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "ctl.h"
#include "prefix.h"

static const struct ctl_map access_map = { "access", BPF_MAP_TYPE_LPM_TRIE,
					   sizeof(struct access_key), sizeof(struct access_rule) };

struct rules {
	struct access_key key[ACCESS_MAX];
	struct access_rule rule[ACCESS_MAX];
	unsigned count, denies;
};

static const char *word(enum abi_access what)
{
	return what == ACCESS_deny ? "deny" : "allow";
}

/* By address, a longer prefix behind the one that holds it. */
static int by_address(const void *a, const void *b)
{
	const struct access_key *x = a, *y = b;
	int order = memcmp(x->addr, y->addr, sizeof x->addr);

	return order ? order : (x->bits > y->bits) - (x->bits < y->bits);
}

/* Others may change it meanwhile: what has gone is left out. */
static void rules_load(struct rules *r, int fd)
{
	struct access_key *from = NULL;
	unsigned found = 0;

	while (found < ACCESS_MAX && !bpf_map_get_next_key(fd, from, &r->key[found]))
		from = &r->key[found++];
	qsort(r->key, found, sizeof *r->key, by_address);
	for (unsigned i = 0; i < found; i++) {
		if (bpf_map_lookup_elem(fd, &r->key[i], &r->rule[r->count]))
			continue;
		r->denies += r->rule[r->count].what == ACCESS_deny;
		r->key[r->count++] = r->key[i];
	}
}

static void show_text(const struct ctl *c, const struct rules *r)
{
	char text[PREFIX_TEXT];

	printf("%s: %s\n", c->in->name,
	       r->denies ? "who is in none of these is let in" : "nobody is denied");
	for (unsigned i = 0; i < r->count; i++) {
		printf("%-6s %-43s", word(r->rule[i].what), prefix_text(text, &r->key[i]));
		if (r->rule[i].what == ACCESS_deny)
			printf(" %12" PRIu64 " dropped", r->rule[i].dropped);
		putchar('\n');
	}
}

static void show_json(const struct ctl *c, const struct rules *r)
{
	char text[PREFIX_TEXT];

	ctl_json_head(c);
	printf(",\"access\":[");
	for (unsigned i = 0; i < r->count; i++)
		printf("%s{\"prefix\":\"%s\",\"what\":\"%s\",\"dropped\":%" PRIu64 "}",
		       i ? ",\n  " : "\n  ", prefix_text(text, &r->key[i]), word(r->rule[i].what),
		       r->rule[i].dropped);
	printf("]}\n");
}

int ctl_list(const struct ctl *c)
{
	static struct rules r;
	int fd;

	fd = ctl_open(c, &access_map, false);
	if (fd < 0)
		return 1;
	rules_load(&r, fd);
	close(fd);
	if (c->json)
		show_json(c, &r);
	else
		show_text(c, &r);
	return 0;
}

static int add(const struct ctl *c, int fd, const struct access_key *key, enum abi_access what)
{
	struct access_rule rule = { .what = what };
	char text[PREFIX_TEXT];

	if (!bpf_map_update_elem(fd, key, &rule, 0))
		return 0;
	if (errno == ENOSPC)
		return ctl_trouble(c, "%d prefixes are there: delete one first", ACCESS_MAX);
	return ctl_trouble(c, "%s: %s%s", prefix_text(text, key), strerror(errno),
			   errno == EPERM ? ": run as root" : "");
}

/* A lookup would find a shorter one that holds it. */
static bool exactly(int fd, const struct access_key *key, struct access_rule *rule)
{
	static struct rules r;

	r.count = 0;
	rules_load(&r, fd);
	for (unsigned i = 0; i < r.count; i++)
		if (!memcmp(&r.key[i], key, sizeof *key)) {
			*rule = r.rule[i];
			return true;
		}
	return false;
}

static int del(const struct ctl *c, int fd, const struct access_key *key, enum abi_access what)
{
	struct access_rule rule;
	char text[PREFIX_TEXT];

	prefix_text(text, key);
	if (!exactly(fd, key, &rule))
		return ctl_trouble(c, "%s is not there: `saker-ctl list` has those that are", text);
	if ((rule.what == ACCESS_deny) != (what == ACCESS_deny))
		return ctl_trouble(c, "%s is of %s: `saker-ctl %s del %s`", text, word(rule.what),
				   word(rule.what), text);
	if (bpf_map_delete_elem(fd, key))
		return ctl_trouble(c, "%s: %s", text, strerror(errno));
	return 0;
}

/* Alone it does nothing, and who wrote it may think that it does. */
static void warn_if_useless(const struct ctl *c, int fd)
{
	static struct rules r;

	rules_load(&r, fd);
	if (!r.denies)
		ctl_trouble(c, "note: nobody is denied, so all are let in as before: "
			       "`saker-ctl deny add all` holds off the others");
}

int ctl_check_access(const struct ctl *c)
{
	struct access_key key;
	char room[PREFIX_TEXT * 2];

	if (c->count < 2 || (strcmp(c->words[0], "add") && strcmp(c->words[0], "del")))
		return ctl_usage("wanted add or del, and a prefix");
	for (unsigned i = 1; i < c->count; i++) {
		const char *why = prefix_parse(&key, c->words[i], room);

		if (why)
			return ctl_usage("%s: %s", c->words[i], why);
	}
	return 0;
}

static int change(const struct ctl *c, enum abi_access what)
{
	bool adds = !strcmp(c->words[0], "add");
	struct access_key key;
	char room[PREFIX_TEXT * 2];
	int fd = ctl_open(c, &access_map, true), status = 0;

	if (fd < 0)
		return 1;
	for (unsigned i = 1; i < c->count && !status; i++) {
		prefix_parse(&key, c->words[i], room);
		status = adds ? add(c, fd, &key, what) : del(c, fd, &key, what);
	}
	if (!status && adds && what == ACCESS_allow)
		warn_if_useless(c, fd);
	close(fd);
	return status;
}

int ctl_allow(const struct ctl *c)
{
	return change(c, ACCESS_allow);
}

int ctl_deny(const struct ctl *c)
{
	return change(c, ACCESS_deny);
}
