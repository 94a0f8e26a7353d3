/* SPDX-License-Identifier: GPL-2.0-only */
#include "conf_values.h"
#include "prefix.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TIMEOUT_MS_MIN = 100, TIMEOUT_MS_MAX = 3600000 };
enum { SIZE_K_MAX = 1 << 30 }; /* a tebibyte */

void value_refuse(const struct given *g, const char *format, ...)
{
	va_list args;

	fputs("saker: ", stderr);
	if (g->file)
		fprintf(stderr, "%s:%u: %s=%s: ", g->file, g->line, g->name, g->value);
	else
		fprintf(stderr, "--%s=%s: ", g->name, g->value);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(EXIT_USAGE);
}

/* A number from *at on, which moves behind it. False: none, or above max. */
static bool digits(const char **at, uint64_t max, uint64_t *v)
{
	const char *start = *at;

	for (*v = 0; isdigit((unsigned char)**at); ++*at)
		if (__builtin_mul_overflow(*v, 10, v) ||
		    __builtin_add_overflow(*v, (unsigned)(**at - '0'), v))
			return false;
	return *at != start && *v <= max;
}

uint64_t value_number(const struct given *g, uint64_t min, uint64_t max)
{
	const char *at = g->value;
	uint64_t v;

	if (!digits(&at, max, &v) || *at || v < min)
		value_refuse(g, "wanted a whole number, %" PRIu64 " ... %" PRIu64, min, max);
	return v;
}

uint64_t value_size(const struct given *g)
{
	const char *at = g->value;
	uint64_t n;
	bool good = digits(&at, SIZE_K_MAX, &n) && n && (*at == 'K' || *at == 'M') && !at[1];

	if (!good || (*at == 'M' && n > SIZE_K_MAX / 1024))
		value_refuse(g, "wanted a size with K or M behind it, 1K ... %uM, such as 8M",
			     SIZE_K_MAX / 1024);
	return n * 1024 * (*at == 'M' ? 1024 : 1);
}

const char *value_size_text(char text[VALUE_SIZE_TEXT], uint64_t bytes)
{
	bool whole = bytes % (1024 * 1024) == 0;

	snprintf(text, VALUE_SIZE_TEXT, "%" PRIu64 "%c", bytes / (whole ? 1024 * 1024 : 1024),
		 whole ? 'M' : 'K');
	return text;
}

unsigned value_timeout_ms(const struct given *g)
{
	const char *at = g->value;
	unsigned ms = 0, unit = 1000;
	bool good = isdigit((unsigned char)*at);

	for (; isdigit((unsigned char)*at) && ms <= TIMEOUT_MS_MAX; at++)
		ms = ms * 10 + (unsigned)(*at - '0') * 1000;
	if (*at == '.') {
		at++;
		good = good && isdigit((unsigned char)*at);
		for (; isdigit((unsigned char)*at) && unit > 1; at++)
			ms += (unsigned)(*at - '0') * (unit /= 10);
	}
	if (!good || *at || ms < TIMEOUT_MS_MIN || ms > TIMEOUT_MS_MAX)
		value_refuse(g, "wanted seconds, %g ... %g, at most three decimals",
			     TIMEOUT_MS_MIN / 1e3, TIMEOUT_MS_MAX / 1e3);
	return ms;
}

bool value_has_cpu(const int *cpus, unsigned count, int cpu)
{
	while (count && cpus[count - 1] != cpu)
		count--;
	return count;
}

/* A number from *at on, which moves behind it; -1: none, or too high for a CPU. */
static long cpu_number(const char **at)
{
	long n = -1;

	for (; isdigit((unsigned char)**at) && n < CPU_SETSIZE; ++*at)
		n = (n < 0 ? 0 : n * 10) + (**at - '0');
	return n < CPU_SETSIZE ? n : -1;
}

unsigned value_cpus(const struct given *g, int *cpus, unsigned max)
{
	const char *at = g->value;
	unsigned count = 0;

	for (;; at++) {
		long from = cpu_number(&at), to = from;

		if (*at == '-') {
			at++;
			to = cpu_number(&at);
		}
		if (from < 0 || to < from || (*at && *at != ','))
			value_refuse(g, "wanted CPUs, 0 ... %d, such as 2 or 2,4-6",
				     CPU_SETSIZE - 1);
		for (; from <= to; from++) {
			if (value_has_cpu(cpus, count, (int)from))
				value_refuse(g, "CPU %ld is there twice", from);
			if (count == max)
				value_refuse(g, "at most %u CPUs", max);
			cpus[count++] = (int)from;
		}
		if (!*at)
			return count;
	}
}

bool value_flag(const struct given *g)
{
	if (!g->value || !strcmp(g->value, "yes"))
		return true;
	if (strcmp(g->value, "no"))
		value_refuse(g, "wanted yes or no");
	return false;
}

static const char *const io_names[] = {
	[CONF_IO_AUTO] = "auto",
	[CONF_IO_XDP_NATIVE] = "xdp-native",
	[CONF_IO_XDP_GENERIC] = "xdp-generic",
	[CONF_IO_PACKET] = "packet",
	[CONF_IO_SOCKET] = "socket",
};

enum conf_io value_io(const struct given *g)
{
	for (unsigned i = 0; i < array_size(io_names); i++)
		if (!strcmp(g->value, io_names[i]))
			return (enum conf_io)i;
	value_refuse(g, "wanted auto, xdp-native, xdp-generic, packet or socket");
}

const char *value_io_name(enum conf_io io)
{
	return io_names[io];
}

void value_addr(struct conf *conf, const struct given *g)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	static const uint8_t zero[16], broadcast[4] = { 0xff, 0xff, 0xff, 0xff };
	uint8_t addr[16], *v4 = addr + sizeof mapped;

	memcpy(addr, mapped, sizeof mapped);
	if (inet_pton(AF_INET, g->value, v4) != 1 && inet_pton(AF_INET6, g->value, addr) != 1)
		value_refuse(g, "wanted an IPv4 or IPv6 address");
	bool is_v4 = !memcmp(addr, mapped, sizeof mapped);
	if (!memcmp(addr, zero, sizeof addr) || (is_v4 && !memcmp(v4, zero, 4)))
		value_refuse(g, "leave addr out to serve every address");
	if (is_v4 ? v4[0] >> 4 == 0xe || !memcmp(v4, broadcast, 4) : addr[0] == 0xff)
		value_refuse(g, "nobody can connect to a multicast or broadcast address");
	if (conf->addr_count == STEER_ADDRS_MAX)
		value_refuse(g, "at most %d addresses", STEER_ADDRS_MAX);
	memcpy(conf->addr[conf->addr_count++], addr, sizeof addr);
}

void value_limit(const struct given *g, uint32_t *per_s, uint32_t *burst)
{
	const char *at = g->value;
	uint64_t n, most;
	bool good = digits(&at, LIMIT_RATE_MAX, &n);

	most = n;
	if (good && *at == '/') {
		at++;
		good = n && digits(&at, LIMIT_RATE_MAX, &most) && most;
	}
	if (!good || *at)
		value_refuse(g, "wanted N or N/BURST, whole numbers up to %d", LIMIT_RATE_MAX);
	*per_s = (uint32_t)n;
	*burst = (uint32_t)most;
}

void value_rule(struct conf *conf, const struct given *g, enum abi_access what)
{
	struct access_key prefix;
	char room[PREFIX_TEXT * 2];
	const char *why = prefix_parse(&prefix, g->value, room);

	if (why)
		value_refuse(g, "%s", why);
	for (unsigned i = 0; i < conf->rules; i++)
		if (!memcmp(&conf->rule[i].prefix, &prefix, sizeof prefix))
			value_refuse(g, "this prefix is there already");
	if (conf->rules == RULES_MAX)
		value_refuse(g, "at most %d prefixes; saker-ctl(8) adds more", RULES_MAX);
	conf->rule[conf->rules++] = (struct conf_rule){ .prefix = prefix, .what = what };
}

enum abi_steer value_steer(const struct given *g)
{
	if (!strcmp(g->value, "port"))
		return STEER_port;
	if (strcmp(g->value, "path"))
		value_refuse(g, "wanted port or path");
	return STEER_path;
}

void value_text(const struct given *g, char *to, size_t size)
{
	if (!*g->value || strlen(g->value) >= size)
		value_refuse(g, "wanted 1 ... %zu characters", size - 1);
	strcpy(to, g->value);
}

/* It is compared with what stands in a request line: bytes, as the client sends them. */
void value_path(struct conf *conf, const struct given *g)
{
	size_t len = strlen(g->value);

	if (*g->value != '/' || len < 2 || len > STEER_PATH_LEN || g->value[len - 1] == '/')
		value_refuse(
			g,
			"wanted a path of 2 ... %d characters that begins with a slash and ends "
			"without one, such as /compute",
			STEER_PATH_LEN);
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)g->value[i]) && !strchr("/-._~", g->value[i]))
			value_refuse(g, "wanted letters, digits, and /-._~ only");
	if (conf->paths == STEER_PATHS_MAX)
		value_refuse(g, "at most %d paths", STEER_PATHS_MAX);
	strcpy(conf->path[conf->paths++], g->value);
}

/* From the file alone: for a name that is not there getpwnam loads what else may know it,
 * 0.6 MB with systemd's module, before the port answers. False: it is not there. */
static bool find_user(struct conf_user *u, const char *name)
{
	FILE *users = fopen("/etc/passwd", "re");
	const struct passwd *one = NULL;

	while (users && (one = fgetpwent(users)) && strcmp(one->pw_name, name))
		;
	if (one) {
		u->uid = one->pw_uid;
		u->gid = one->pw_gid;
	}
	if (users)
		fclose(users);
	return one;
}

void value_user(const struct given *g, struct conf_user *u)
{
	value_text(g, u->name, sizeof u->name);
	u->keep = !strcmp(g->value, "none");
	if (u->keep)
		return;
	if (isdigit((unsigned char)*g->value)) {
		u->uid = (uid_t)value_number(g, 1, UINT32_MAX - 1);
		u->gid = (gid_t)u->uid;
		return;
	}
	if (!find_user(u, g->value))
		value_refuse(g, "no such user in /etc/passwd; a number is taken as it is");
}

gid_t value_group(const struct given *g)
{
	if (isdigit((unsigned char)*g->value))
		return (gid_t)value_number(g, 0, UINT32_MAX - 1);
	/* From the file alone, as find_user. */
	FILE *groups = fopen("/etc/group", "re");
	const struct group *one = NULL;

	while (groups && (one = fgetgrent(groups)) && strcmp(one->gr_name, g->value))
		;
	if (!one)
		value_refuse(g, "no such group in /etc/group; a number is taken as it is");
	gid_t gid = one->gr_gid;
	fclose(groups);
	return gid;
}

void value_default_user(struct conf_user *u)
{
	const char *name = find_user(u, "saker") ? "saker" : "nobody";

	u->keep = geteuid() != 0 || !find_user(u, name);
	if (!u->keep)
		strcpy(u->name, name);
}
