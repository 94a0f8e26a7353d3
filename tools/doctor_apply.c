/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "doctor.h"
#include "doctor_apply.h"
#include "doctor_ethset.h"
#include "doctor_partition.h"

/* --- files ---------------------------------------------------------------------------- */

static int check_path(struct machine *m, const char *path)
{
	if ((strncmp(path, "/sys/", 5) && strncmp(path, "/proc/", 6)) || strstr(path, "/../"))
		return machine_error(m, -EPERM, "only files of /sys and /proc are settings");
	return 0;
}

static int read_value(struct machine *m, const char *path, char value[VALUE_SIZE])
{
	char text[FILE_TEXT];
	int error = check_path(m, path);

	if (!error)
		error = file_read(m, path, text, sizeof text);
	return error ? error : value_clean(value, text);
}

/* A plain file has its choices only as long as we keep them. */
static int write_fake(struct machine *m, const char *path, const char *value)
{
	char text[FILE_TEXT], line[VALUE_SIZE + 1];
	int error = file_read(m, path, text, sizeof text);

	if (!error && strchr(text, '['))
		error = value_choose(line, text, value);
	else if (!error)
		snprintf(line, sizeof line, "%s", value);
	return error ? error : file_write(m, path, strcat(line, "\n"));
}

static int write_value(struct machine *m, const char *path, const char *value)
{
	char line[VALUE_SIZE + 1];
	int error = check_path(m, path);

	if (error)
		return error;
	if (is_fake(m))
		return write_fake(m, path, value);
	snprintf(line, sizeof line, "%s\n", value);
	return file_write(m, path, line);
}

/* It would be started outside again, and be refused its core there. */
static int read_task(struct machine *m, const char *name, char value[VALUE_SIZE])
{
	int error = task_read(m, name, value);

	if (!error && !strncmp(value, "/system.slice/", 14))
		return machine_error(m, -EBUSY,
				     "systemd has started it, and would not start it inside: "
				     "isolcpus= of the boot line does that, or stop the unit");
	return error;
}

/* --- kinds ---------------------------------------------------------------------------- */

static const struct kind {
	const char *prefix;
	int (*read)(struct machine *m, const char *name, char value[VALUE_SIZE]);
	int (*write)(struct machine *m, const char *name, const char *value);
} kinds[] = {
	{ "/", read_value, write_value },
	{ "ethtool ", ethset_read, ethset_write },
	{ "cgroup ", controller_read, controller_write },
	{ "cpuset ", cpuset_read, cpuset_write },
	{ "process ", read_task, task_write },
	{ "partition ", partition_read, partition_write },
};

static const struct kind *kind_of(struct machine *m, const char *name)
{
	*m->why = '\0';
	for (size_t i = 0; i < array_size(kinds); i++)
		if (!strncmp(name, kinds[i].prefix, strlen(kinds[i].prefix)))
			return &kinds[i];
	machine_error(m, -EINVAL, "not a setting");
	return NULL;
}

int apply_read(struct machine *m, const char *name, char value[VALUE_SIZE])
{
	const struct kind *kind = kind_of(m, name);

	*value = '\0';
	return kind ? kind->read(m, name, value) : -EINVAL;
}

int apply_write(struct machine *m, const char *name, const char *value)
{
	const struct kind *kind = kind_of(m, name);

	return kind ? kind->write(m, name, value) : -EINVAL;
}

/* In this order none of who goes inside is without its core at any time. */
static unsigned expand_cpuset(struct machine *m, const struct wish *wish, struct wish to[WISHES])
{
	pid_t pid[FAMILY];
	cpu_set_t cores;
	unsigned count = 0, family = 0;

	if (!is_fake(m) && cpus_parse(wish->value, &cores))
		family = tasks_on(&cores, pid);
	to[count++] = (struct wish){ "cgroup cpuset", "on" };
	to[count++] = *wish;
	for (unsigned i = 0; i < family; i++) {
		snprintf(to[count].name, sizeof to[0].name, "process %d", (int)pid[i]);
		strcpy(to[count++].value, "/saker");
	}
	to[count++] = (struct wish){ "partition saker", "isolated" };
	return count;
}

unsigned apply_expand(struct machine *m, const struct wish *wish, struct wish to[WISHES])
{
	if (!strncmp(wish->name, "ethtool ", 8))
		return ethset_expand(m, wish, to);
	if (!strcmp(wish->name, "cpuset saker"))
		return expand_cpuset(m, wish, to);
	to[0] = *wish;
	return 1;
}

bool apply_together(const char *name)
{
	return !strncmp(name, "cgroup ", 7) || !strncmp(name, "cpuset ", 7) ||
	       !strncmp(name, "process ", 8) || !strncmp(name, "partition ", 10);
}

unsigned apply_rank(const char *name)
{
	return !strncmp(name, "ethtool -L ", 11) ? 0 : !strncmp(name, "ethtool -G ", 11) ? 1 : 2;
}

/* --- whose ---------------------------------------------------------------------------- */

/* The interface that a name is of; false: of none. */
static bool iface_of(const char *name, char iface[IFNAMSIZ])
{
	return sscanf(name, "/sys/class/net/%15[^/]/", iface) == 1 ||
	       sscanf(name, "ethtool %*s %15s", iface) == 1;
}

void apply_of(struct machine *m, const char *name, char of[STATE_OF])
{
	char iface[IFNAMSIZ] = "";
	bool one = iface_of(name, iface);
	struct stat ns;

	*of = '\0';
	if (!strncmp(name, "process ", 8))
		task_start((pid_t)atoi(name + 8), of);
	if (is_fake(m) || (!one && strncmp(name, "/proc/sys/net/", 14)) ||
	    stat("/proc/self/ns/net", &ns))
		return;
	int n = snprintf(of, STATE_OF, "netns %llu", (unsigned long long)ns.st_ino);
	if (one)
		snprintf(of + n, STATE_OF - (size_t)n, " ifindex %u", if_nametoindex(iface));
}

void apply_boot(const struct machine *m, char boot[STATE_BOOT])
{
	char text[128];

	*boot = '\0';
	if (!file_read(m, "/proc/sys/kernel/random/boot_id", text, sizeof text))
		snprintf(boot, STATE_BOOT, "%.*s", (int)strcspn(text, "\n"), text);
}
