/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "doctor.h"
#include "doctor_partition.h"
#include "doctor_tasks.h"

#define CGROUP "/sys/fs/cgroup"
#define UNIFIED "systemd.unified_cgroup_hierarchy=1 on the kernel's command line"

/* --- the hierarchy -------------------------------------------------------------------- */

/* Is the word in a list of words? */
static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = list; (at = strstr(at, word)); at += len)
		if ((at == list || at[-1] == ' ') && (!at[len] || strchr(" \n", at[len])))
			return true;
	return false;
}

/* A controller is of one hierarchy; number 0 is cgroup v2. */
static bool held_by_v1(const struct machine *m)
{
	char text[FILE_TEXT];
	const char *line;

	if (file_there(m, CGROUP "/cpuset/cpuset.cpus"))
		return true;
	if (file_read(m, "/proc/cgroups", text, sizeof text) ||
	    !(line = strstr(text, "\ncpuset\t")))
		return false;
	return atoi(line + strlen("\ncpuset\t"));
}

/* cgroup v2, with a cpuset controller? */
static int check_cgroup(struct machine *m)
{
	char text[FILE_TEXT];
	int error = file_read(m, CGROUP "/cgroup.controllers", text, sizeof text);

	if (!error && has_word(text, "cpuset"))
		return 0;
	if (held_by_v1(m))
		return machine_error(m, -EOPNOTSUPP,
				     "cgroup v1 has the cpusets here, and no partitions: " UNIFIED);
	if (error == -ENOENT)
		return machine_error(m, error, "no cgroup v2 at " CGROUP);
	return error ? error :
		       machine_error(m, -EOPNOTSUPP,
				     "cgroup v2 has no cpuset controller here: a kernel with "
				     "CONFIG_CPUSETS=y, without cgroup_disable=cpuset");
}

int controller_read(struct machine *m, const char *name, char value[VALUE_SIZE])
{
	char text[FILE_TEXT];
	int error = check_cgroup(m);

	if (strcmp(name, "cgroup cpuset"))
		return machine_error(m, -EINVAL, "not a setting");
	if (!error)
		error = file_read(m, CGROUP "/cgroup.subtree_control", text, sizeof text);
	if (!error)
		strcpy(value, has_word(text, "cpuset") ? "on" : "off");
	return error;
}

/* What the kernel makes of +cpuset and -cpuset. */
static int write_fake_list(struct machine *m, bool on)
{
	char text[FILE_TEXT], list[FILE_TEXT] = "", *rest = text, *word;
	int error = file_read(m, CGROUP "/cgroup.subtree_control", text, sizeof text - 8);

	if (error)
		return error;
	if (on)
		strcpy(list, "cpuset ");
	while ((word = strsep(&rest, " \n")))
		if (*word && strcmp(word, "cpuset"))
			strcat(strcat(list, word), " ");
	if (*list)
		list[strlen(list) - 1] = '\n';
	return file_write(m, CGROUP "/cgroup.subtree_control", list);
}

int controller_write(struct machine *m, const char *name, const char *value)
{
	bool on = !strcmp(value, "on");
	char text[VALUE_SIZE];
	int error = controller_read(m, name, text);

	if (error)
		return error;
	if (is_fake(m))
		return write_fake_list(m, on);
	error = file_write(m, CGROUP "/cgroup.subtree_control", on ? "+cpuset" : "-cpuset");
	if (error == -EBUSY && !on)
		return machine_error(m, error, "others use cpusets by now");
	return error;
}

/* --- one cgroup ----------------------------------------------------------------------- */

struct group {
	struct machine *m;
	char dir[96];
};

/* One word, and a directory of its own. */
static int open_group(struct group *g, struct machine *m, const char *name)
{
	const char *word = strchr(name, ' ') + 1;

	*g = (struct group){ .m = m };
	if (!*word || strchr(word, '/') || *word == '.' || strlen(word) > 48)
		return machine_error(m, -EINVAL, "not the name of a cgroup");
	snprintf(g->dir, sizeof g->dir, CGROUP "/%s", word);
	return check_cgroup(m);
}

static void path_in(const struct group *g, char path[160], const char *file)
{
	snprintf(path, 160, "%s%s%s", g->dir, *file ? "/" : "", file);
}

static int get(const struct group *g, const char *file, char value[VALUE_SIZE])
{
	char path[160], text[FILE_TEXT];
	int error;

	path_in(g, path, file);
	error = file_read(g->m, path, text, sizeof text);
	return error ? error : value_clean(value, text);
}

static int put(const struct group *g, const char *file, const char *value)
{
	char path[160];

	path_in(g, path, file);
	return file_write(g->m, path, value);
}

static bool there(const struct group *g, const char *file)
{
	char path[160];

	path_in(g, path, file);
	return file_there(g->m, path);
}

/* --- its cores ------------------------------------------------------------------------ */

int cpuset_read(struct machine *m, const char *name, char value[VALUE_SIZE])
{
	struct group g;
	int error = open_group(&g, m, name);

	if (error)
		return error;
	if (!there(&g, "")) {
		strcpy(value, "none");
		return 0;
	}
	*value = '\0';
	error = get(&g, "cpuset.cpus", value);
	return error == -ENOENT ? 0 : error; /* the controller is off: it has no cores of its own */
}

static int remove_group(struct group *g)
{
	static const char *const files[] = { "cpuset.cpus", "cpuset.cpus.exclusive",
					     "cpuset.cpus.partition" };
	char whole[FILE_PATH], path[160], pids[VALUE_SIZE];

	for (size_t i = 0; i < array_size(files) && is_fake(g->m); i++) {
		path_in(g, path, files[i]);
		if (!file_path(g->m, whole, path))
			unlink(whole); /* the kernel's go with the directory */
	}
	if (file_path(g->m, whole, g->dir))
		return -ENAMETOOLONG;
	if (!is_fake(g->m))
		tasks_leave(g->m, g->dir + strlen(CGROUP));
	if (!rmdir(whole) || errno == ENOENT)
		return 0;
	if (errno == EBUSY && !get(g, "cgroup.procs", pids) && *pids)
		return machine_error(g->m, -EBUSY,
				     "it goes when these processes have ended or left: %.100s",
				     pids);
	return -errno;
}

int cpuset_write(struct machine *m, const char *name, const char *value)
{
	char whole[FILE_PATH], on[VALUE_SIZE];
	struct group g;
	bool made;
	int error = open_group(&g, m, name);

	if (!error && !strcmp(value, "none"))
		return remove_group(&g);
	if (!error)
		error = controller_read(m, "cgroup cpuset", on);
	if (!error && strcmp(on, "on"))
		return machine_error(m, -EOPNOTSUPP, "the cpuset controller is off");
	if (!error)
		error = file_path(m, whole, g.dir);
	if (error)
		return error;
	made = !mkdir(whole, 0755);
	if (!made && errno != EEXIST)
		return -errno;
	error = put(&g, "cpuset.cpus", value);
	if (error && made)
		remove_group(&g);
	return error;
}

/* --- to itself ------------------------------------------------------------------------ */

int partition_read(struct machine *m, const char *name, char value[VALUE_SIZE])
{
	struct group g;
	int error = open_group(&g, m, name);

	if (error)
		return error;
	error = get(&g, "cpuset.cpus.partition", value);
	if (error == -ENOENT)
		strcpy(value, "member");
	else if (!error && strstr(value, "invalid"))
		strcpy(value, "invalid");
	return error == -ENOENT ? 0 : error;
}

/* Since 6.7 it can be said that they are for this cgroup alone. */
static int take_cores(struct group *g, bool exclusive)
{
	char cores[VALUE_SIZE] = "\n";
	int error = exclusive ? get(g, "cpuset.cpus", cores) : 0;

	if (error || !there(g, "cpuset.cpus.exclusive"))
		return error;
	error = put(g, "cpuset.cpus.exclusive", cores);
	return error == -EINVAL && exclusive ?
		       machine_error(g->m, error,
				     "another cgroup has no cores but these (cpuset.cpus)") :
		       error;
}

static int set_state(struct group *g, const char *value)
{
	char state[VALUE_SIZE];
	int error = put(g, "cpuset.cpus.partition", value);

	if (error == -EINVAL)
		return machine_error(g->m, error, "isolated partitions are of Linux 6.1 and later");
	if (!error)
		error = get(g, "cpuset.cpus.partition", state);
	if (!error && strcmp(state, value))
		return machine_error(g->m, -EINVAL, "the kernel says: %.160s", state);
	return error;
}

/* Who is inside keeps the core that it is pinned to. */
static void note_pins(struct group *g, struct pins *pins)
{
	char cores[VALUE_SIZE], text[VALUE_SIZE], *rest = text, *word;
	cpu_set_t set;

	pins->count = 0;
	if (is_fake(g->m) || get(g, "cpuset.cpus", cores) || !cpus_parse(cores, &set) ||
	    get(g, "cgroup.procs", text))
		return;
	while ((word = strsep(&rest, " ")))
		if (*word)
			pins_take(pins, (pid_t)atoi(word), (unsigned)CPU_COUNT(&set));
}

int partition_write(struct machine *m, const char *name, const char *value)
{
	static struct pins pins;
	bool isolated = !strcmp(value, "isolated");
	struct group g;
	int error = open_group(&g, m, name);

	if (error)
		return error;
	if (strcmp(value, "member") && !isolated)
		return machine_error(m, -EINVAL, "neither isolated nor member");
	if (!is_fake(m) && !there(&g, "cpuset.cpus.partition"))
		return isolated ? machine_error(m, -EOPNOTSUPP,
						"a kernel older than 5.13 has no partitions") :
				  0;
	note_pins(&g, &pins);
	if (isolated)
		error = take_cores(&g, true);
	if (!error)
		error = set_state(&g, value);
	if (error && isolated)
		put(&g, "cpuset.cpus.partition", "member");
	if (error || !isolated)
		take_cores(&g, false);
	pins_set(&pins);
	return error;
}
