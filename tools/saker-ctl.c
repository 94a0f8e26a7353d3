/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * saker-ctl.c - change a running responder's limits, remove what a crashed one left
 *
 * Place    For people and scripts; docs/saker-ctl.8 has each command. ctl.h has the
 *          parts.
 */
#include <argp.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "ctl.h"

enum { TROUBLE = 1, USAGE = 2, TOP_DEFAULT = 20, WORDS = 64 };

struct line {
	struct args where; /* of stat.h: -i, --pin-dir */
	struct ctl ctl;
	const char *command;
	char *words[WORDS];
};

/* --- refusing ------------------------------------------------------------------------ */

static const char *name_of(const struct ctl *c)
{
	return c->ifname ? c->ifname : c->in ? c->in->name : c->dir;
}

int ctl_trouble(const struct ctl *c, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "saker-ctl: %s: ", name_of(c));
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return TROUBLE;
}

int ctl_usage(const char *format, ...)
{
	va_list args;

	fputs("saker-ctl: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputs("; saker-ctl --help\n", stderr);
	return USAGE;
}

/* --- maps ------------------------------------------------------------------------------ */

static bool is_map(int fd)
{
	char proc[64], line[64] = "";

	snprintf(proc, sizeof proc, "/proc/self/fd/%d", fd);
	return readlink(proc, line, sizeof line - 1) > 0 && strstr(line, "bpf-map");
}

int ctl_open(const struct ctl *c, const struct ctl_map *map, bool write)
{
	LIBBPF_OPTS(bpf_obj_get_opts, opts, .file_flags = write ? 0 : BPF_F_RDONLY);
	struct bpf_map_info info = { 0 };
	uint32_t length = sizeof info;
	char path[STAT_DIR + 32];

	if (write && c->in->life == LIFE_GONE) {
		ctl_trouble(c,
			    "the responder is gone, these are maps that it left: "
			    "start it again, or `saker-ctl -i %s detach`",
			    c->in->report.mode.ifname);
		return -1;
	}
	if (write && c->in->report.mode.rung == RUNG_socket)
		ctl_trouble(c, "note: the socket rung serves, so no XDP program looks at this: "
			       "there nft(8) sees the traffic");
	snprintf(path, sizeof path, "%s/%s", c->dir, map->name);
	int fd = bpf_obj_get_opts(path, &opts);
	if (fd < 0) {
		bool may_not = errno == EPERM || errno == EACCES;
		ctl_trouble(c, "%s: %s%s", path, strerror(errno), may_not ? ": run as root" : "");
		return -1;
	}
	if (is_map(fd) && !bpf_obj_get_info_by_fd(fd, &info, &length) && info.type == map->type &&
	    info.key_size == map->key_size && info.value_size == map->value_size)
		return fd;
	close(fd);
	ctl_trouble(c,
		    "%s is not the map that this saker-ctl knows: use the one that was built "
		    "with the responder",
		    path);
	return -1;
}

void ctl_json_head(const struct ctl *c)
{
	printf("{\"abi\":%d,", ABI_VERSION);
	json_string("instance", c->in->name, SIZE_MAX);
	printf(",\"life\":\"%s\"", life_name(c->in->life));
}

/* --- which responder --------------------------------------------------------------------- */

static int one_of(struct set *set, struct line *l)
{
	if (set->count > 1) {
		fputs("saker-ctl: there are several responders: which? -i IFACE;", stderr);
		for (uint32_t i = 0; i < set->count; i++)
			fprintf(stderr, "%s %s", i ? "," : "", set->list[i]->name);
		fputc('\n', stderr);
		return USAGE;
	}
	if (set->list[0]->err) {
		fprintf(stderr, "saker-ctl: %s\n", set->list[0]->error);
		return TROUBLE;
	}
	l->ctl.in = set->list[0];
	l->ctl.dir = l->ctl.in->dir;
	return 0;
}

/* Of detach: also what cannot be read. */
static int where(struct line *l, char dir[STAT_DIR])
{
	int err;

	if (!l->where.ifname && !l->where.pin_dir)
		return ctl_usage("detach: which interface? -i IFACE");
	err = stats_where(dir, STAT_DIR, l->where.ifname, l->where.pin_dir);
	l->ctl.dir = dir;
	return err ? ctl_trouble(&l->ctl, "%s", strerror(-err)) : 0;
}

static int detach(struct line *l)
{
	static struct stats_report report;
	struct set set = { 0 };
	char dir[STAT_DIR], error[STAT_ERROR];
	int status = where(l, dir);

	if (status)
		return status;
	if (!stats_load(&report, dir, error, sizeof error) && set_load(&set, &l->where))
		l->ctl.in = set.list[0];
	status = ctl_detach(&l->ctl);
	set_free(&set);
	return status;
}

static int check_none(const struct ctl *c)
{
	return c->count ? ctl_usage("%s: a word too many", c->words[0]) : 0;
}

/* check: of the words alone, before anybody is looked for. */
static const struct {
	const char *name;
	int (*check)(const struct ctl *c);
	int (*run)(const struct ctl *c);
} commands[] = {
	{ "allow", ctl_check_access, ctl_allow }, { "deny", ctl_check_access, ctl_deny },
	{ "list", check_none, ctl_list },         { "limits", ctl_check_limits, ctl_limits },
	{ "sources", check_none, ctl_sources },
};

static int run(struct line *l)
{
	struct set set = { 0 };
	int status;

	if (!strcmp(l->command, "detach"))
		return check_none(&l->ctl) ?: detach(l);
	for (unsigned i = 0; i < array_size(commands); i++) {
		if (strcmp(l->command, commands[i].name))
			continue;
		status = commands[i].check(&l->ctl);
		if (status)
			return status;
		status = TROUBLE;
		if (set_load(&set, &l->where))
			status = one_of(&set, l);
		if (l->ctl.in)
			status = commands[i].run(&l->ctl);
		set_free(&set);
		return status;
	}
	return ctl_usage("%s: no such command", l->command);
}

/* --- the command line ----------------------------------------------------------------------- */

const char *argp_program_version = "saker-ctl " VERSION;

enum { OPTION_JSON = 256, OPTION_PIN_DIR, OPTION_TOP };

static const struct argp_option options[] = {
	{ "interface", 'i', "IFACE", 0, "the responder on IFACE (default: the only one)", 0 },
	{ "pin-dir", OPTION_PIN_DIR, "DIR", 0,
	  "the maps in DIR (default: that of IFACE under " STATS_ROOT ")", 0 },
	{ "json", OPTION_JSON, NULL, 0, "print lists as JSON", 0 },
	{ "top", OPTION_TOP, "N", 0, "of sources: the N that lost most (default 20; 0: all)", 0 },
	{ 0 },
};

static uint32_t number(const char *value, struct argp_state *state)
{
	char *end;
	unsigned long n = strtoul(value, &end, 10);

	if (*value < '0' || *value > '9' || *end || n > UINT32_MAX)
		argp_error(state, "--top=%s: wanted a whole number", value);
	return (uint32_t)n;
}

static error_t option_parse(int key, char *value, struct argp_state *state)
{
	struct line *l = state->input;

	switch (key) {
	case 'i':
		if (!*value || *value == '.' || strchr(value, '/'))
			argp_error(state, "-i %s: not the name of an interface", value);
		l->where.ifname = l->ctl.ifname = value;
		return 0;
	case OPTION_PIN_DIR:
		l->where.pin_dir = value;
		return 0;
	case OPTION_JSON:
		l->ctl.json = true;
		return 0;
	case OPTION_TOP:
		l->ctl.top = number(value, state);
		return 0;
	case ARGP_KEY_ARG:
		if (!l->command)
			l->command = value;
		else if (l->ctl.count == WORDS)
			argp_error(state, "at most %d words", WORDS);
		else
			l->words[l->ctl.count++] = value;
		return 0;
	case ARGP_KEY_END:
		if (!l->command)
			argp_error(state, "no command");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

_Noreturn void base_panic(const char *what, const char *file, int line)
{
	fprintf(stderr, "saker-ctl: broken invariant at %s:%d: %s\n", file, line, what);
	abort();
}

static int silent(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level, (void)format, (void)args;
	return 0;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = option_parse,
		.args_doc = "allow|deny add|del PREFIX...\n"
			    "list\n"
			    "limits [set conns=N syns=N[/BURST] frames=N[/BURST]]\n"
			    "sources\n"
			    "detach",
		.doc = "Say who may come to a saker(8), while it runs; remove what a crashed one "
		       "left."
		       "\v`allow` and `deny`: the longest prefix that holds an address decides. "
		       "`list`: the prefixes, and what each has dropped. `limits`: of one source, "
		       "an IPv4 address or an IPv6 /64; 0 is none. `sources`: who has lost "
		       "frames by them. `detach`: takes the program and the maps of a responder "
		       "that is gone off the interface, and touches nothing else. "
		       "A restart of the responder begins with its own settings again.",
	};
	struct line l = { .ctl.top = TOP_DEFAULT };

	libbpf_set_print(silent);
	l.ctl.words = l.words;
	argp_err_exit_status = USAGE;
	argp_parse(&argp, argc, argv, 0, NULL, &l);
	int status = run(&l);
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "saker-ctl: cannot write: %s\n", strerror(errno));
		return TROUBLE;
	}
	return status;
}
