/* SPDX-License-Identifier: GPL-2.0-only */
#include "conf.h"
#include "conf_values.h"
#include "prefix.h"

#include <argp.h>
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* Ranges that no other module cares about; the defaults are in limits.h. */
enum {
	WAIT_MS_MAX = 60000,
	SLICE_US_MIN = 5, /* shorter, and looking at the ring costs more than the work */
	SLICE_US_MAX = 10000,
	SPIN_US_MAX = 1000000,
	STALL_MS_MIN = 50,
	STALL_MS_MAX = 60000,
	DRAIN_S_MAX = 300,
	FOR_S_MAX = 7 * 86400,
};
#define N_MAX_MAX UINT64_C(1000000000000) /* about twenty minutes of one lane */
_Static_assert(STALL_MS_MIN * 1000 > 2 * SLICE_US_MAX, "no slice outlasts the heartbeat");

enum {
	KEY_IFACE = 'i',
	KEY_PORT = 'p',
	KEY_QUIET = 'q',
	KEY_ADDR = 256, /* no letter */
	KEY_STEER,
	KEY_PATH,
	KEY_PATH_KEEPALIVE,
	KEY_LOCAL_PORT,
	KEY_IO,
	KEY_IO_CPU,
	KEY_COMPUTE_CPUS,
	KEY_LIMIT_CONNS,
	KEY_LIMIT_SYNS,
	KEY_LIMIT_FRAMES,
	KEY_ALLOW,
	KEY_DENY,
	KEY_MAX_CONNS,
	KEY_MEMORY,
	KEY_MAX_N,
	KEY_MAX_WAIT,
	KEY_SLICE,
	KEY_SPIN,
	KEY_LANES,
	KEY_MAX_BODY,
	KEY_CACHE,
	KEY_HEADER_TIMEOUT,
	KEY_BODY_TIMEOUT,
	KEY_IDLE_TIMEOUT,
	KEY_STALL,
	KEY_DRAIN,
	KEY_FOR,
	KEY_PIN_DIR,
	KEY_STAT_GROUP,
	KEY_USER,
	KEY_ACCESS_LOG,
	KEY_CONFIG,
	KEY_CHECK,
	KEY_CALIBRATE,
};

/* tests/conf.sh holds the defaults named here against those of limits.h. */
static const struct argp_option options[] = {
	{ .doc = "Where:", .group = 1 },
	{ "interface", KEY_IFACE, "IFACE", 0, "interface to serve on (required)", 1 },
	{ "port", KEY_PORT, "PORT", 0, "TCP port (default 8080)", 1 },
	{ "addr", KEY_ADDR, "ADDR", 0,
	  "serve this IPv4 or IPv6 address only; up to 8 times (default: every address)", 1 },
	{ "steer", KEY_STEER, "HOW", 0,
	  "port: the whole port is ours; path: requests for --path are, the rest is served by "
	  "whoever listens there (default port)",
	  1 },
	{ "path", KEY_PATH, "PREFIX", 0,
	  "with --steer=path: what is ours; up to 4 times (default /compute)", 1 },
	{ "path-keepalive", KEY_PATH_KEEPALIVE, NULL, 0,
	  "with --steer=path: keep connections open; for load tools, which ask for one path", 1 },
	{ "local-port", KEY_LOCAL_PORT, "PORT", 0,
	  "with --steer=path: where we listen on loopback, for the web server's proxy "
	  "(default: port + 1)",
	  1 },
	{ "io", KEY_IO, "RUNG", 0,
	  "auto, xdp-native, xdp-generic, packet or socket (default auto: the first that works)", 1 },
	{ "io-cpu", KEY_IO_CPU, "LIST", 0,
	  "an I/O thread on each of these CPUs, such as 2 or 2,4-6 (default: one, on the first "
	  "isolated CPU, else the last)",
	  1 },
	{ "compute-cpus", KEY_COMPUTE_CPUS, "LIST", 0,
	  "CPUs that only compute (default: none, the I/O threads do)", 1 },

	{ .doc = "Limits:", .group = 2 },
	{ "limit-conns", KEY_LIMIT_CONNS, "N", 0,
	  "connections at once of one source, an IPv4 address or an IPv6 /64 (default 0: any)", 2 },
	{ "limit-syns", KEY_LIMIT_SYNS, "N[/BURST]", 0,
	  "connections that one source may begin in a second (default 0: any)", 2 },
	{ "limit-frames", KEY_LIMIT_FRAMES, "N[/BURST]", 0,
	  "frames that one source may send in a second (default 0: any)", 2 },
	{ "allow", KEY_ALLOW, "PREFIX", 0,
	  "let in what a shorter --deny holds off, such as 192.0.2.0/24; up to 64 of both", 2 },
	{ "deny", KEY_DENY, "PREFIX", 0,
	  "drop segments from there; all: from everywhere (default: nobody)", 2 },
	{ "max-conns", KEY_MAX_CONNS, "N", 0, "connections at once (default 1024)", 2 },
	{ "memory", KEY_MEMORY, "SIZE", 0,
	  "size the tables so that all processes take no more, such as 8M (default: no budget)",
	  2 },
	{ "max-n", KEY_MAX_N, "N", 0, "largest n of a request (default 100000000)", 2 },
	{ "max-wait-ms", KEY_MAX_WAIT, "MS", 0,
	  "answer 503 rather than wait longer for a lane (default 1000)", 2 },
	{ "slice-us", KEY_SLICE, "US", 0, "computing between two looks at the ring (default 50)",
	  2 },
	{ "spin-us", KEY_SPIN, "US", 0,
	  "how long an idle compute CPU waits awake before it sleeps (default 50)", 2 },
	{ "lanes", KEY_LANES, "N", 0, "requests that a CPU computes side by side (default 64)", 2 },
	{ "max-body", KEY_MAX_BODY, "BYTES", 0, "longest request body (default 16384)", 2 },
	{ "cache", KEY_CACHE, "N", 0, "results kept for who asks again (default 0: none)", 2 },

	{ .doc = "Times (S: seconds, such as 2 or 0.5):", .group = 3 },
	{ "header-timeout", KEY_HEADER_TIMEOUT, "S", 0, "for a request's head (default 10)", 3 },
	{ "body-timeout", KEY_BODY_TIMEOUT, "S", 0, "for a request's body (default 20)", 3 },
	{ "idle-timeout", KEY_IDLE_TIMEOUT, "S", 0, "between two requests (default 60)", 3 },
	{ "stall-ms", KEY_STALL, "MS", 0,
	  "let frames pass when the I/O thread was silent so long (default 1000)", 3 },
	{ "drain-s", KEY_DRAIN, "SECONDS", 0,
	  "finish what runs, at most so long, at SIGTERM (default 5)", 3 },
	{ "for", KEY_FOR, "SECONDS", 0, "detach and end by itself after so long (default 0: never)",
	  3 },

	{ .doc = "Running:", .group = 4 },
	{ "pin-dir", KEY_PIN_DIR, "DIR", 0,
	  "where to pin the maps (default /sys/fs/bpf/saker/IFACE)", 4 },
	{ "stat-group", KEY_STAT_GROUP, "GROUP", 0,
	  "let this group read the maps: saker-stat without root (default: root only)", 4 },
	{ "user", KEY_USER, "NAME", 0,
	  "who the worker becomes; none: it stays who it is (default: saker, else nobody)", 4 },
	{ "access-log", KEY_ACCESS_LOG, "FILE", 0,
	  "append a line for each request; - is standard output (default: none)", 4 },
	{ "config", KEY_CONFIG, "FILE", 0,
	  "read settings, NAME = VALUE a line; the command line wins", 4 },
	{ "check", KEY_CHECK, NULL, 0, "print the settings, as a config file, and end", 4 },
	{ "calibrate", KEY_CALIBRATE, NULL, 0,
	  "measure what the lanes of the I/O CPU can do, print it, and end", 4 },
	{ "quiet", KEY_QUIET, NULL, 0, "print nothing but errors", 4 },
	{ 0 },
};

/* One reading of the command line. */
struct pass {
	struct conf *conf;
	const char *config_file;
	bool addr_given, path_given,
		rule_given; /* the first of these here replaces those of the file */
};

static void set(struct conf *c, int key, const struct given *g)
{
	/* clang-format off */
	switch (key) {
	case KEY_IFACE: value_text(g, c->ifname, sizeof c->ifname); break;
	case KEY_PORT: c->port = (uint16_t)value_number(g, 1, UINT16_MAX); break;
	case KEY_ADDR: value_addr(c, g); break;
	case KEY_STEER: c->steer = value_steer(g); break;
	case KEY_PATH: value_path(c, g); break;
	case KEY_PATH_KEEPALIVE: c->path_keepalive = value_flag(g); break;
	case KEY_LOCAL_PORT: c->local_port = (uint16_t)value_number(g, 1, UINT16_MAX); break;
	case KEY_IO: c->io = value_io(g); break;
	case KEY_IO_CPU: c->io_cpus = value_cpus(g, c->io_cpu, IO_THREADS_MAX); break;
	case KEY_COMPUTE_CPUS: c->compute_cpus = value_cpus(g, c->compute_cpu, CREW_MAX); break;
	case KEY_LIMIT_CONNS: c->limits.conns = (uint32_t)value_number(g, 0, CONNS_MAX); break;
	case KEY_LIMIT_SYNS: value_limit(g, &c->limits.syns_per_s, &c->limits.syns_burst); break;
	case KEY_LIMIT_FRAMES: value_limit(g, &c->limits.frames_per_s, &c->limits.frames_burst); break;
	case KEY_ALLOW: value_rule(c, g, ACCESS_allow); break;
	case KEY_DENY: value_rule(c, g, ACCESS_deny); break;
	case KEY_MAX_CONNS:
		c->max_conns = (unsigned)value_number(g, 1, CONNS_MAX);
		c->max_conns_given = true;
		break;
	case KEY_MEMORY: c->memory = value_size(g); break;
	case KEY_MAX_N: c->max_n = value_number(g, 0, N_MAX_MAX); break;
	case KEY_MAX_WAIT: c->max_wait_ms = (unsigned)value_number(g, 0, WAIT_MS_MAX); break;
	case KEY_SLICE: c->slice_us = (unsigned)value_number(g, SLICE_US_MIN, SLICE_US_MAX); break;
	case KEY_SPIN: c->spin_us = (unsigned)value_number(g, 0, SPIN_US_MAX); break;
	case KEY_LANES: c->lanes = (unsigned)value_number(g, 1, LANES_MAX); break;
	case KEY_MAX_BODY: c->max_body = (unsigned)value_number(g, 0, HTTP_BODY_MAX); break;
	case KEY_CACHE: c->cache = (unsigned)value_number(g, 0, CACHE_MAX); break;
	case KEY_HEADER_TIMEOUT: c->header_timeout_ms = value_timeout_ms(g); break;
	case KEY_BODY_TIMEOUT: c->body_timeout_ms = value_timeout_ms(g); break;
	case KEY_IDLE_TIMEOUT: c->idle_timeout_ms = value_timeout_ms(g); break;
	case KEY_STALL: c->stall_ms = (unsigned)value_number(g, STALL_MS_MIN, STALL_MS_MAX); break;
	case KEY_DRAIN: c->drain_s = (unsigned)value_number(g, 0, DRAIN_S_MAX); break;
	case KEY_FOR: c->for_s = (unsigned)value_number(g, 0, FOR_S_MAX); break;
	case KEY_CHECK: c->check = value_flag(g); break;
	case KEY_CALIBRATE: c->calibrate = value_flag(g); break;
	case KEY_QUIET: c->quiet = value_flag(g); break;
	case KEY_ACCESS_LOG: value_text(g, c->access_log, sizeof c->access_log); break;
	case KEY_PIN_DIR:
		value_text(g, c->pin_dir, sizeof c->pin_dir);
		if (*c->pin_dir != '/')
			value_refuse(g, "wanted an absolute path, such as /sys/fs/bpf/saker/eth0");
		break;
	case KEY_STAT_GROUP:
		value_text(g, c->stat_group, sizeof c->stat_group);
		c->stat_gid = value_group(g);
		break;
	case KEY_USER: value_user(g, &c->user); break;
	default:
		must(!"an option without its case");
	}
	/* clang-format on */
}

/* --- the file -------------------------------------------------------------- */

static char *trimmed(char *s)
{
	while (isspace((unsigned char)*s))
		s++;
	size_t n = strlen(s);
	while (n && isspace((unsigned char)s[n - 1]))
		s[--n] = '\0';
	return s;
}

static const struct argp_option *find_name(const char *name)
{
	for (const struct argp_option *o = options; o->doc; o++)
		if (o->name && o->key != KEY_CONFIG && !strcmp(o->name, name))
			return o;
	return NULL;
}

/* One line; *seen has a bit for each option that the file has named. */
static void read_line(struct conf *conf, char *line, struct given *g, uint64_t *seen)
{
	_Static_assert(array_size(options) <= 64, "bits of *seen");

	line[strcspn(line, "#")] = '\0';
	g->name = trimmed(line);
	g->value = "";
	if (!*g->name)
		return;
	char *equals = strchr(line, '=');
	if (!equals)
		value_refuse(g, "wanted NAME = VALUE");
	*equals = '\0';
	g->name = trimmed(line);
	g->value = trimmed(equals + 1);

	const struct argp_option *o = find_name(g->name);
	if (!o)
		value_refuse(g, "no such setting; saker --help lists them");
	uint64_t bit = UINT64_C(1) << (o - options);
	if (*seen & bit && o->key != KEY_ADDR && o->key != KEY_PATH && o->key != KEY_ALLOW &&
	    o->key != KEY_DENY)
		value_refuse(g, "given twice in this file");
	*seen |= bit;
	set(conf, o->key, g);
}

static void read_file(struct conf *conf, const char *path)
{
	struct given g = { .file = path };
	uint64_t seen = 0;
	char *line = NULL;
	size_t room = 0;
	FILE *f = fopen(path, "re");

	errno = f ? 0 : errno;
	while (f && getline(&line, &room, f) >= 0) {
		g.line++;
		read_line(conf, line, &g, &seen);
		errno = 0;
	}
	if (!f || ferror(f)) {
		fprintf(stderr, "saker: --config=%s: %s\n", path, strerror(errno));
		exit(EXIT_TROUBLE);
	}
	free(line);
	fclose(f);
}

/* --- the command line -------------------------------------------------------- */

static error_t take_option(int key, char *value, struct argp_state *state)
{
	struct pass *pass = state->input;
	const struct argp_option *o = options;

	if (key == ARGP_KEY_ARG) {
		fprintf(stderr, "saker: %s: not an option; saker --help lists them\n", value);
		exit(EXIT_USAGE);
	}
	while (o->doc && (!o->name || o->key != key))
		o++;
	if (!o->doc)
		return ARGP_ERR_UNKNOWN;
	if (key == KEY_CONFIG) {
		pass->config_file = value;
		return 0;
	}
	if (key == KEY_ADDR && !pass->addr_given) {
		pass->addr_given = true;
		pass->conf->addr_count = 0;
	}
	if (key == KEY_PATH && !pass->path_given) {
		pass->path_given = true;
		pass->conf->paths = 0;
	}
	if ((key == KEY_ALLOW || key == KEY_DENY) && !pass->rule_given) {
		pass->rule_given = true;
		pass->conf->rules = 0;
	}
	set(pass->conf, key, &(struct given){ .name = o->name, .value = value });
	return 0;
}

/* Its settings on top of *conf; returns the argument of --config. */
static const char *read_arguments(struct conf *conf, int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = take_option,
		.doc = "Answer HTTP over AF_XDP, past the kernel's network stack."
		       "\vEach long option is also a setting of the --config file. "
		       "saker(8) has ranges and examples.",
	};
	struct pass pass = { .conf = conf };

	argp_program_version = "saker " VERSION;
	argp_err_exit_status = EXIT_USAGE;
	argp_parse(&argp, argc, argv, 0, NULL, &pass);
	return pass.config_file;
}

/* --- the interface ------------------------------------------------------------ */

static void list_interfaces(void)
{
	struct if_nameindex *all = if_nameindex();

	for (struct if_nameindex *i = all; i && i->if_index; i++)
		fprintf(stderr, "%s %s", i == all ? "; there are:" : ",", i->if_name);
	fputc('\n', stderr);
	if (all)
		if_freenameindex(all);
}

static bool is_loopback(const char *ifname)
{
	struct ifreq request = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	strcpy(request.ifr_name, ifname);
	bool loopback = fd >= 0 && !ioctl(fd, SIOCGIFFLAGS, &request) &&
			request.ifr_flags & IFF_LOOPBACK;
	if (fd >= 0)
		close(fd);
	return loopback;
}

static void find_interface(struct conf *conf)
{
	if (!*conf->ifname) {
		fputs("saker: which interface? -i IFACE", stderr);
		list_interfaces();
		exit(EXIT_USAGE);
	}
	conf->ifindex = if_nametoindex(conf->ifname);
	if (!conf->ifindex) {
		fprintf(stderr, "saker: no interface %s", conf->ifname);
		list_interfaces();
		exit(EXIT_TROUBLE);
	}
	if (conf->io != CONF_IO_SOCKET && is_loopback(conf->ifname)) {
		fprintf(stderr,
			"saker: %s: its traffic never reaches a network card, so there is nothing "
			"to bypass; use --io=socket, or another interface\n",
			conf->ifname);
		exit(EXIT_USAGE);
	}
}

/* Only when both lists are known: one may be in the file. */
static void check_cpus(const struct conf *c)
{
	for (unsigned i = 0; i < c->compute_cpus; i++) {
		if (!value_has_cpu(c->io_cpu, c->io_cpus, c->compute_cpu[i]))
			continue;
		fprintf(stderr,
			"saker: CPU %d is in --io-cpu and in --compute-cpus: a CPU does the one or "
			"the other\n",
			c->compute_cpu[i]);
		exit(EXIT_USAGE);
	}
}

/* Settings of path steering need it, and what it needs. */
static void check_steer(struct conf *c)
{
	const char *why = NULL;

	if (c->steer == STEER_port && (c->paths || c->path_keepalive || c->local_port))
		why = "--path, --path-keepalive and --local-port are for --steer=path";
	else if (c->steer == STEER_path && c->io == CONF_IO_SOCKET)
		why = "--steer=path needs a rung that sees frames; with --io=socket there is none";
	else if (c->steer == STEER_path && c->local_port == c->port)
		why = "--local-port is the web server's port; choose another";
	else if (c->steer == STEER_path && c->port == UINT16_MAX && !c->local_port)
		why = "there is no port behind 65535: name one with --local-port";
	if (why) {
		fprintf(stderr, "saker: %s\n", why);
		exit(EXIT_USAGE);
	}
	if (c->steer == STEER_port)
		return;
	if (!c->paths)
		strcpy(c->path[c->paths++], "/compute");
	if (!c->local_port)
		c->local_port = (uint16_t)(c->port + 1);
}

/* Who acts on them, and that they do something. */
static void check_guard(const struct conf *c)
{
	const char *why = NULL;
	bool denies = false;

	for (unsigned i = 0; i < c->rules; i++)
		denies = denies || c->rule[i].what == ACCESS_deny;
	if (c->io == CONF_IO_SOCKET && conf_guards(c))
		why = "--limit-..., --allow and --deny are for frames that the kernel does not "
		      "see; "
		      "with --io=socket nft(8) does this";
	else if (c->rules && !denies)
		why = "--allow without --deny changes nothing: who is in no prefix is let in; "
		      "--deny=all holds off the others";
	if (why) {
		fprintf(stderr, "saker: %s\n", why);
		exit(EXIT_USAGE);
	}
}

void conf_parse(struct conf *conf, int argc, char **argv)
{
	static const struct conf defaults = {
		.port = 8080,
		.io = CONF_IO_AUTO,
		.max_conns = CONNS_DEFAULT,
		.timewait = TIMEWAIT_MAX,
		.log_lines = LOG_RECORDS,
		.max_n = N_MAX_DEFAULT,
		.max_wait_ms = WAIT_MAX_MS,
		.slice_us = SLICE_US,
		.spin_us = SPIN_US_DEFAULT,
		.lanes = LANES_DEFAULT,
		.max_body = HTTP_BODY_DEFAULT,
		.header_timeout_ms = HEADER_TIMEOUT_MS,
		.body_timeout_ms = BODY_TIMEOUT_MS,
		.idle_timeout_ms = IDLE_TIMEOUT_MS,
		.stall_ms = STALL_MS,
		.drain_s = DRAIN_S,
	};

	/* Once to find --config, again to lay the command line over the file. */
	*conf = defaults;
	const char *file = read_arguments(conf, argc, argv);
	if (file) {
		*conf = defaults;
		read_file(conf, file);
		read_arguments(conf, argc, argv);
	}
	check_cpus(conf);
	check_steer(conf);
	check_guard(conf);
	if (!*conf->user.name)
		value_default_user(&conf->user);
	if (!conf->calibrate)
		find_interface(conf);
}

static void print_seconds(const char *name, unsigned ms)
{
	printf("%s = %u.%03u\n", name, ms / 1000, ms % 1000);
}

static void print_limit(const char *name, uint32_t per_s, uint32_t burst)
{
	printf(per_s ? "%s = %u/%u\n" : "%s = %u\n", name, per_s, burst);
}

static void print_guard(const struct conf *c)
{
	char text[PREFIX_TEXT];

	printf("limit-conns = %u\n", c->limits.conns);
	print_limit("limit-syns", c->limits.syns_per_s, c->limits.syns_burst);
	print_limit("limit-frames", c->limits.frames_per_s, c->limits.frames_burst);
	for (unsigned i = 0; i < c->rules; i++)
		printf("%s = %s\n", c->rule[i].what == ACCESS_deny ? "deny" : "allow",
		       prefix_text(text, &c->rule[i].prefix));
}

static void print_cpus(const char *name, const int *cpus, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		printf("%s%s%d%s", i ? "" : name, i ? "," : " = ", cpus[i],
		       i + 1 < count ? "" : "\n");
}

void conf_print(const struct conf *c)
{
	char size[VALUE_SIZE_TEXT];

	printf("interface = %s\nport = %u\n", c->ifname, c->port);
	for (unsigned i = 0; i < c->addr_count; i++) {
		char name[INET6_ADDRSTRLEN];
		printf("addr = %s\n", inet_ntop(AF_INET6, c->addr[i], name, sizeof name));
	}
	printf("steer = %s\n", c->steer == STEER_path ? "path" : "port");
	for (unsigned i = 0; i < c->paths; i++)
		printf("path = %s\n", c->path[i]);
	if (c->steer == STEER_path)
		printf("path-keepalive = %s\nlocal-port = %u\n", c->path_keepalive ? "yes" : "no",
		       c->local_port);
	printf("io = %s\n", value_io_name(c->io));
	print_cpus("io-cpu", c->io_cpu, c->io_cpus);
	print_cpus("compute-cpus", c->compute_cpu, c->compute_cpus);
	print_guard(c);
	if (c->memory)
		printf("memory = %s\n", value_size_text(size, c->memory));
	printf("max-conns = %u\nmax-n = %" PRIu64 "\nmax-wait-ms = %u\nslice-us = %u\n"
	       "spin-us = %u\nlanes = %u\nmax-body = %u\ncache = %u\n",
	       c->max_conns, c->max_n, c->max_wait_ms, c->slice_us, c->spin_us, c->lanes,
	       c->max_body, c->cache);
	print_seconds("header-timeout", c->header_timeout_ms);
	print_seconds("body-timeout", c->body_timeout_ms);
	print_seconds("idle-timeout", c->idle_timeout_ms);
	printf("stall-ms = %u\ndrain-s = %u\nfor = %u\n", c->stall_ms, c->drain_s, c->for_s);
	if (*c->pin_dir)
		printf("pin-dir = %s\n", c->pin_dir);
	if (*c->stat_group)
		printf("stat-group = %s\n", c->stat_group);
	printf("user = %s\n", c->user.keep ? "none" : c->user.name);
	if (*c->access_log)
		printf("access-log = %s\n", c->access_log);
	printf("quiet = %s\n", c->quiet ? "yes" : "no");
}
