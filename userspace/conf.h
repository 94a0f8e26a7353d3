/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * conf.h - what the user wants
 *
 * Place    main reads it first; everybody else sees the struct, complete and
 *          checked.
 * Model    Options of the command line (argp), and the same names in a file
 *          (--config: NAME = VALUE a line, # comments); the command line wins.
 * Errors   A bad value is refused with the option, the value and the reason;
 *          usage errors end with exit status 2, an interface or file that
 *          does not exist with 1.
 * Units    In the name of each member.
 */
#ifndef CONF_H
#define CONF_H

#include <net/if.h>
#include <sys/types.h>
#include "abi.h"
#include "base.h"

enum { CONF_PATH = 256, CONF_NAME = 33 /* useradd takes names of 32 */ };

/* --io: which rungs may be tried. */
enum conf_io { CONF_IO_AUTO, CONF_IO_XDP_NATIVE, CONF_IO_XDP_GENERIC, CONF_IO_PACKET, CONF_IO_SOCKET };

/* --allow, --deny: in the order given, no prefix twice. */
struct conf_rule {
	struct access_key prefix;
	enum abi_access what;
};

/* --user: who the worker is. */
struct conf_user {
	char name[CONF_NAME]; /* as it was given; "": nobody was named */
	bool keep;            /* "none": whoever started it */
	uid_t uid;
	gid_t gid;
};

struct conf {
	char ifname[IF_NAMESIZE];
	unsigned ifindex;
	uint16_t port;
	unsigned addr_count;               /* --addr, repeatable; 0: every address */
	uint8_t addr[STEER_ADDRS_MAX][16]; /* IPv4 as ::ffff:a.b.c.d */
	enum conf_io io;
	enum abi_steer steer;
	unsigned paths;                                 /* --path, repeatable; the default is one */
	char path[STEER_PATHS_MAX][STEER_PATH_LEN + 1]; /* what a target begins with */
	bool path_keepalive;
	uint16_t local_port;  /* of the socket rung, on loopback, with STEER_path */
	struct limits limits; /* of one source: --limit-conns, --limit-syns, --limit-frames */
	unsigned rules;
	struct conf_rule rule[RULES_MAX];
	unsigned io_cpus; /* --io-cpu; 0: one thread, on the first isolated CPU or the last one */
	int io_cpu[IO_THREADS_MAX];
	unsigned compute_cpus; /* --compute-cpus; none of them is an I/O CPU */
	int compute_cpu[CREW_MAX];
	unsigned spin_us;
	unsigned lanes;
	unsigned max_conns;
	bool max_conns_given;         /* else --memory may choose */
	uint64_t memory;              /* bytes; 0: no budget */
	unsigned timewait, log_lines; /* not settings: what --memory leaves for them */
	uint64_t max_n;
	unsigned max_wait_ms;
	unsigned slice_us;
	unsigned max_body; /* bytes */
	unsigned cache;    /* entries; 0: none */
	unsigned header_timeout_ms, body_timeout_ms, idle_timeout_ms;
	unsigned stall_ms;
	unsigned drain_s;
	unsigned for_s;             /* --for: detach by itself; 0: never */
	char pin_dir[CONF_PATH];    /* "": the default of stats_pin_dir */
	char stat_group[CONF_NAME]; /* --stat-group as it was given; "": root only */
	gid_t stat_gid;
	struct conf_user user;
	char access_log[CONF_PATH]; /* "": none; "-": standard output */
	bool check;                 /* --check: validate and exit */
	bool calibrate;             /* --calibrate: measure and exit; without an interface */
	bool quiet;                 /* -q */
};

static inline unsigned conf_io_threads(const struct conf *c)
{
	return c->io_cpus ? c->io_cpus : 1;
}

/* Is there anything that only the XDP program can see to? */
static inline bool conf_guards(const struct conf *c)
{
	return c->limits.conns || c->limits.syns_per_s || c->limits.frames_per_s || c->rules;
}

/* Fill *conf from argv, or print why not and exit. --help and --version exit
 * with 0. The interface is looked up (it must exist). */
void conf_parse(struct conf *conf, int argc, char **argv);

/* The settings in the form of a config file, on stdout: what --check shows. */
void conf_print(const struct conf *conf);

#endif
