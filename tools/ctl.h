/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ctl.h - what the parts of saker-ctl share
 *
 * Place    saker-ctl.c reads the command line and finds the responder, as saker-stat
 *          does; each ctl_NOUN.c reads or writes the maps of one noun.
 * Model    A map is believed when its type and sizes are those of abi.h. For a list
 *          it is opened read-only; written is only to a responder that lives.
 * Errors   Said once, on stderr, with the cure; the exit status is 0 or 1, for a wrong
 *          command line 2.
 */
#ifndef CTL_H
#define CTL_H

#include "abi.h"
#include "stat.h"

struct ctl {
	const struct instance *in;
	const char *ifname; /* as it was given; NULL: --pin-dir, or the only one */
	const char *dir;    /* of the pins */
	bool json;
	uint32_t top; /* --top */
	char **words; /* behind the command */
	unsigned count;
};

/* "saker-ctl: server0: ..." and the exit status 1. */
int ctl_trouble(const struct ctl *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for the command line: 2. */
int ctl_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What a map must be. */
struct ctl_map {
	const char *name;
	uint32_t type, key_size, value_size;
};

/* A descriptor; -1: said. */
int ctl_open(const struct ctl *c, const struct ctl_map *map, bool write);

/* The start of every JSON: {"abi":4,"instance":"eth0" */
void ctl_json_head(const struct ctl *c);

/* --- commands: the exit status --------------------------------------------------- */
/* The words first: those who run find them right. */
int ctl_check_access(const struct ctl *c);
int ctl_check_limits(const struct ctl *c);

int ctl_allow(const struct ctl *c);
int ctl_deny(const struct ctl *c);
int ctl_list(const struct ctl *c);
int ctl_limits(const struct ctl *c);
int ctl_sources(const struct ctl *c);

/* c->in may have an error: pins that cannot be read are no reason to leave a program. */
int ctl_detach(const struct ctl *c);

#endif
