/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * conf_values.h - what a value of each kind looks like
 *
 * Place    For conf.c, which knows the options, their ranges and where each value goes.
 * Model    A value is text that somebody gave; it becomes what the settings hold, or is
 *          refused. Those that are given several times are added to what is there.
 * Errors   A bad value: one line on stderr with option, value and reason, and exit with
 *          EXIT_USAGE. None of these functions returns then.
 */
#ifndef CONF_VALUES_H
#define CONF_VALUES_H

#include "conf.h"

enum { EXIT_TROUBLE = 1, EXIT_USAGE = 2 };

/* A setting as the user wrote it, and where, for the refusal. */
struct given {
	const char *file; /* NULL: command line */
	unsigned line;
	const char *name;
	const char *value; /* NULL: a flag on the command line */
};

__attribute__((format(printf, 2, 3))) _Noreturn void value_refuse(const struct given *g,
								  const char *format, ...);

/* "8M", "512K": bytes; and the text of so many. */
enum { VALUE_SIZE_TEXT = 24 };
uint64_t value_size(const struct given *g);
const char *value_size_text(char text[VALUE_SIZE_TEXT], uint64_t bytes);

uint64_t value_number(const struct given *g, uint64_t min, uint64_t max);
/* Seconds with up to three decimals. */
unsigned value_timeout_ms(const struct given *g);
/* No value is a yes. */
bool value_flag(const struct given *g);
/* 1 ... size - 1 characters. */
void value_text(const struct given *g, char *to, size_t size);

/* "2,4-6": in the order given; how many. */
unsigned value_cpus(const struct given *g, int *cpus, unsigned max);
bool value_has_cpu(const int *cpus, unsigned count, int cpu);

enum conf_io value_io(const struct given *g);
const char *value_io_name(enum conf_io io);
enum abi_steer value_steer(const struct given *g);
void value_addr(struct conf *conf, const struct given *g);
void value_path(struct conf *conf, const struct given *g);
/* "100" or "100/250" */
void value_limit(const struct given *g, uint32_t *per_s, uint32_t *burst);
void value_rule(struct conf *conf, const struct given *g, enum abi_access what);

/* By name, or by number, which need not be in /etc/passwd: then it has no group. */
void value_user(const struct given *g, struct conf_user *u);
/* Without a name: the user that is made for it, else the one that owns nothing. */
void value_default_user(struct conf_user *u);
/* By name, or by number, which need not be in /etc/group. */
gid_t value_group(const struct given *g);

#endif
