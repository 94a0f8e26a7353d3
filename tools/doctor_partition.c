/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "doctor_partition.h"

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

/* cgroup v2, with a cpuset controller? */
static int check_cgroup(struct machine *m)
{
	char text[FILE_TEXT];
	int error = file_read(m, CGROUP "/cgroup.controllers", text, sizeof text);

	if (!error && has_word(text, "cpuset"))
		return 0;
	if (file_there(m, CGROUP "/cpuset/cpuset.cpus"))
		return machine_error(m, -EOPNOTSUPP,
				     "cgroup v1 has the cpusets here (" CGROUP
				     "/cpuset), and no partitions: " UNIFIED);
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
	const char *word = name + strlen("cpuset ");

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

int partition_read(struct machine *m, const char *name, char value[VALUE_SIZE])
{
	char state[VALUE_SIZE], cpus[VALUE_SIZE] = "";
	struct group g;
	int error = open_group(&g, m, name);

	if (error)
		return error;
	if (!there(&g, "")) {
		strcpy(value, "none");
		return 0;
	}
	if (get(&g, "cpuset.cpus.partition", state))
		strcpy(state, "member");
	if (strstr(state, "invalid"))
		strcpy(state, "invalid");
	error = get(&g, "cpuset.cpus", cpus);
	if (error && error != -ENOENT)
		return error;
	if (strlen(state) + 1 + strlen(cpus) >= VALUE_SIZE)
		return -EOVERFLOW;
	strcat(strcat(strcpy(value, state), " "), cpus);
	return 0;
}

/* --- made and removed ----------------------------------------------------------------- */

static int remove_dir(struct group *g)
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
	if (!rmdir(whole) || errno == ENOENT)
		return 0;
	if (errno == EBUSY && !get(g, "cgroup.procs", pids) && *pids)
		return machine_error(g->m, -EBUSY,
				     "it isolates no more, and goes when these processes have "
				     "ended or left: %.100s",
				     pids);
	return -errno;
}

static int end_partition(struct group *g)
{
	int error = put(g, "cpuset.cpus.partition", "member");

	return error == -ENOENT ? 0 : error;
}

/* What the kernel says of it when it has not become one. */
static int check_isolated(struct group *g)
{
	char state[VALUE_SIZE];
	int error = get(g, "cpuset.cpus.partition", state);

	if (!error && strcmp(state, "isolated"))
		return machine_error(g->m, -EINVAL, "the kernel says: %.160s", state);
	return error;
}

static int isolate(struct group *g, const char *cpus)
{
	int error = put(g, "cpuset.cpus", cpus);

	/* Since 6.7: other cgroups may have named these cores, and lose them. */
	if (!error && there(g, "cpuset.cpus.exclusive"))
		error = put(g, "cpuset.cpus.exclusive", cpus);
	if (!error && !is_fake(g->m) && !there(g, "cpuset.cpus.partition"))
		return machine_error(g->m, -EOPNOTSUPP,
				     "a kernel older than 5.13 has no "
				     "partitions");
	if (!error)
		error = put(g, "cpuset.cpus.partition", "isolated");
	if (error == -EINVAL)
		return machine_error(g->m, error, "isolated partitions are of Linux 6.1 and later");
	return error ? error : check_isolated(g);
}

static int make_isolated(struct group *g, const char *cpus)
{
	char whole[FILE_PATH], why[sizeof g->m->why], on[VALUE_SIZE];
	int error = controller_read(g->m, "cgroup cpuset", on);
	bool made = false;

	if (!error && strcmp(on, "on"))
		return machine_error(g->m, -EOPNOTSUPP, "the cpuset controller is off");
	if (!error)
		error = file_path(g->m, whole, g->dir);
	if (!error)
		made = !mkdir(whole, 0755);

	if (!error && !made && errno != EEXIST)
		error = -errno;
	if (!error)
		error = isolate(g, cpus);
	if (!error || !made)
		return error;
	memcpy(why, g->m->why, sizeof why);
	end_partition(g);
	remove_dir(g);
	memcpy(g->m->why, why, sizeof why);
	return error;
}

int partition_write(struct machine *m, const char *name, const char *value)
{
	struct group g;
	int error = open_group(&g, m, name);

	if (error)
		return error;
	if (!strncmp(value, "isolated ", 9))
		return make_isolated(&g, value + 9);
	if (!strncmp(value, "member ", 7) || !strncmp(value, "invalid ", 8)) {
		error = end_partition(&g);
		return error ? error : put(&g, "cpuset.cpus", strchr(value, ' ') + 1);
	}
	if (strcmp(value, "none"))
		return machine_error(m, -EINVAL, "neither none nor isolated CPUS");
	error = end_partition(&g);
	return error ? error : remove_dir(&g);
}
