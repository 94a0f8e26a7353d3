/* SPDX-License-Identifier: GPL-2.0-only */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "doctor.h"

enum { WHOLE = 512 };

bool host_real(const struct host *h)
{
	return !*h->root;
}

/* --- files ---------------------------------------------------------------------------- */

static bool whole_path(const struct host *h, char whole[WHOLE], const char *path, va_list args)
{
	int used = snprintf(whole, WHOLE, "%s/", h->root), more;

	if (used >= WHOLE)
		return false;
	more = vsnprintf(whole + used, (size_t)(WHOLE - used), path, args);
	return used + more < WHOLE;
}

static bool read_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t held = 0;
	ssize_t n = -1;

	if (fd < 0)
		return false;
	while (held + 1 < size && (n = read(fd, text + held, size - 1 - held)) > 0)
		held += (size_t)n;
	int error = errno;
	close(fd);
	text[held] = '\0';
	if (held && text[held - 1] == '\n')
		text[held - 1] = '\0';
	errno = error;
	return n >= 0;
}

bool host_text(const struct host *h, char *text, size_t size, const char *path, ...)
{
	char whole[WHOLE];
	va_list args;

	text[0] = '\0';
	va_start(args, path);
	bool fits = whole_path(h, whole, path, args);
	va_end(args);
	if (fits)
		return read_file(whole, text, size);
	errno = ENAMETOOLONG;
	return false;
}

bool host_number(const struct host *h, long long *value, const char *path, ...)
{
	char whole[WHOLE], text[64], *end;
	va_list args;

	va_start(args, path);
	bool fits = whole_path(h, whole, path, args);
	va_end(args);
	if (!fits || !read_file(whole, text, sizeof text))
		return false;
	*value = strtoll(text, &end, 10);
	return end != text;
}

bool host_there(const struct host *h, const char *path, ...)
{
	char whole[WHOLE];
	va_list args;

	va_start(args, path);
	bool fits = whole_path(h, whole, path, args);
	va_end(args);
	return fits && !access(whole, F_OK);
}

bool host_chosen(const struct host *h, char *word, size_t size, const char *path)
{
	char text[256];
	const char *open;

	if (!host_text(h, text, sizeof text, "%s", path) || !(open = strchr(text, '[')))
		return false;
	snprintf(word, size, "%.*s", (int)strcspn(open + 1, "]"), open + 1);
	return true;
}

bool host_link(const struct host *h, char *name, size_t size, const char *path, ...)
{
	char whole[WHOLE], target[WHOLE];
	va_list args;

	va_start(args, path);
	bool fits = whole_path(h, whole, path, args);
	va_end(args);
	ssize_t n = fits ? readlink(whole, target, sizeof target - 1) : -1;
	if (n < 0)
		return false;
	target[n] = '\0';
	const char *slash = strrchr(target, '/');
	snprintf(name, size, "%s", slash ? slash + 1 : target);
	return true;
}

unsigned host_glob(const struct host *h, char (*found)[HOST_PATH], unsigned size,
		   const char *pattern, ...)
{
	char whole[WHOLE];
	va_list args;
	glob_t g = { 0 };
	unsigned count = 0;

	va_start(args, pattern);
	bool fits = whole_path(h, whole, pattern, args);
	va_end(args);
	if (fits && !glob(whole, 0, NULL, &g))
		for (size_t i = 0; i < g.gl_pathc && count < size; i++)
			snprintf(found[count++], HOST_PATH, "%s", g.gl_pathv[i] + strlen(h->root));
	globfree(&g);
	return count;
}

bool host_ethtool(const struct host *h, const char *option, char *text, size_t size, char *why,
		  size_t why_size)
{
	char *argv[] = { "ethtool", (char *)option, (char *)h->iface, NULL };

	if (host_real(h))
		return host_run(argv, text, size, why, why_size);
	if (!strcmp(option, "--show-eee"))
		option = "-eee";
	if (!host_text(h, text, size, "ethtool/%s/%s", h->iface, option + 1)) {
		snprintf(why, why_size, "no file ethtool/%s/%s below the root", h->iface,
			 option + 1);
		return false;
	}
	/* How ethtool says no, by netlink and by ioctl. */
	if (strncmp(text, "netlink error:", 14) && strncmp(text, "Cannot ", 7))
		return true;
	snprintf(why, why_size, "ethtool says: %.*s", (int)strcspn(text, "\n"), text);
	return false;
}

bool host_cmdline(const struct host *h, const char *word, char *value, size_t size)
{
	char line[4096];
	size_t length = strlen(word);
	bool found = false;

	if (!host_text(h, line, sizeof line, "proc/cmdline"))
		return false;
	for (char *at = line; *(at += strspn(at, " "));) {
		size_t whole = strcspn(at, " ");

		if (!strncmp(at, word, length) && (whole == length || at[length] == '=')) {
			const char *from = at + length + (whole > length);
			snprintf(value, size, "%.*s", (int)(at + whole - from), from);
			found = true;
		}
		at += whole;
	}
	return found;
}

bool host_hardware(const struct host *h)
{
	return host_there(h, "sys/class/net/%s/device", h->iface);
}

enum built host_process(const struct host *h, const char *name)
{
	char comm[32], whole[WHOLE];
	enum built found = BUILT_NO;
	DIR *proc;

	if (!host_text(h, comm, sizeof comm, "proc/1/comm"))
		return BUILT_NOT_KNOWN; /* hidepid */
	snprintf(whole, sizeof whole, "%s/proc", h->root);
	proc = opendir(whole);
	for (struct dirent *d; proc && found == BUILT_NO && (d = readdir(proc));)
		if (d->d_name[0] >= '0' && d->d_name[0] <= '9' &&
		    host_text(h, comm, sizeof comm, "proc/%s/comm", d->d_name) &&
		    !strcmp(comm, name))
			found = BUILT_IN;
	if (proc)
		closedir(proc);
	return proc ? found : BUILT_NOT_KNOWN;
}

/* --- which interface -------------------------------------------------------------------- */

/* proc/net/route: Iface, Destination, Gateway ...; the default route has destination 0. */
static bool default_route(const struct host *h, char name[16])
{
	static char text[HOST_TEXT];
	char iface[16], to[16];

	if (!host_text(h, text, sizeof text, "proc/net/route"))
		return false;
	for (const char *at = text; (at = strchr(at, '\n'));) {
		at++;
		if (sscanf(at, "%15s %15s", iface, to) == 2 && !strcmp(to, "00000000")) {
			memcpy(name, iface, 16);
			return true;
		}
	}
	return false;
}

static bool only_one(const struct host *h, char name[16])
{
	static char found[HOST_PATHS][HOST_PATH];
	unsigned count = host_glob(h, found, HOST_PATHS, "sys/class/net/*/device"), n = 0;
	const char *first = NULL;

	for (unsigned i = 0; i < count; i++) {
		found[i][strlen(found[i]) - strlen("/device")] = '\0';
		first = first ? first : strrchr(found[i], '/') + 1;
		n++;
	}
	if (n == 1)
		snprintf(name, 16, "%.15s", first);
	return n == 1;
}

static bool choose_iface(struct host *h, const char *given, char *error, size_t size)
{
	if (given) {
		if (strlen(given) >= sizeof h->iface || !*given || strchr(given, '/')) {
			snprintf(error, size, "-i %s: not the name of an interface", given);
			return false;
		}
		if (!host_there(h, "sys/class/net/%s", given)) {
			snprintf(error, size, "-i %s: there is no such interface", given);
			return false;
		}
		snprintf(h->iface, sizeof h->iface, "%s", given);
	} else if (!default_route(h, h->iface) && !only_one(h, h->iface)) {
		snprintf(h->no_iface, sizeof h->no_iface,
			 "no default route, and not one card alone: name the interface with -i");
	}
	return true;
}

static void ask_driver(struct host *h)
{
	char text[2048], why[160];

	if (*h->iface && host_ethtool(h, "-i", text, sizeof text, why, sizeof why))
		field_text(text, "driver", h->driver, sizeof h->driver);
	if (*h->iface && !*h->driver)
		host_link(h, h->driver, sizeof h->driver, "sys/class/net/%s/device/driver",
			  h->iface);
}

/* --- which machine ------------------------------------------------------------------------ */

static void ask_machine(struct host *h)
{
	char vendor[48];
	unsigned major = 0, minor = 0, patch = 0;

	host_text(h, h->release, sizeof h->release, "proc/sys/kernel/osrelease");
	sscanf(h->release, "%u.%u.%u", &major, &minor, &patch);
	h->version = host_version(major, minor, patch);
	if (host_text(h, h->model, sizeof h->model, "proc/device-tree/model"))
		h->pi = !strncmp(h->model, "Raspberry Pi", 12);
	else if (host_text(h, vendor, sizeof vendor, "sys/class/dmi/id/sys_vendor")) {
		size_t used = (size_t)snprintf(h->model, sizeof h->model, "%s ", vendor);

		host_text(h, h->model + used, sizeof h->model - used,
			  "sys/class/dmi/id/product_name");
	}
}

static void add_list(const struct host *h, cpu_set_t *set, const char *path)
{
	char text[CPUS_TEXT];
	cpu_set_t some;

	if (host_text(h, text, sizeof text, "%s", path) && cpus_parse(text, &some))
		CPU_OR(set, set, &some);
}

/* The file at the top has them all since Linux 6.7; partitions are since 6.1. */
void host_isolated(const struct host *h, cpu_set_t *boot, cpu_set_t *parted)
{
	static char found[HOST_PATHS][HOST_PATH];
	unsigned n = host_glob(h, found, HOST_PATHS, "sys/fs/cgroup/*/cpuset.cpus.partition");
	char kind[64], path[HOST_PATH + 8];

	CPU_ZERO(boot);
	CPU_ZERO(parted);
	add_list(h, boot, "sys/devices/system/cpu/isolated");
	add_list(h, parted, "sys/fs/cgroup/cpuset.cpus.isolated");
	for (unsigned i = 0; i < n; i++) {
		if (!host_text(h, kind, sizeof kind, "%s", found[i]) || strcmp(kind, "isolated"))
			continue;
		snprintf(path, sizeof path, "%.*seffective",
			 (int)(strlen(found[i]) - strlen("partition")), found[i]);
		add_list(h, parted, path);
	}
}

/* With no word from anybody: the first core is the house's, the rest ours. */
static void all_but_first(struct host *h)
{
	h->cores = h->online;
	for (unsigned cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&h->online) > 1; cpu++)
		if (CPU_ISSET(cpu, &h->online)) {
			CPU_CLR(cpu, &h->cores);
			break;
		}
}

static bool take_cpus(struct host *h, const char *given, char *error, size_t size)
{
	char text[CPUS_TEXT];
	cpu_set_t set;

	if (!cpus_parse(given, &h->cores) || !CPU_COUNT(&h->cores)) {
		snprintf(error, size, "--cpus=%s: wanted a list like 1-3", given);
		return false;
	}
	CPU_AND(&set, &h->cores, &h->online);
	if (!CPU_EQUAL(&set, &h->cores)) {
		snprintf(error, size, "--cpus=%s: online are %s", given,
			 cpus_list(&h->online, text));
		return false;
	}
	if (CPU_EQUAL(&set, &h->online) && CPU_COUNT(&set) > 1) {
		snprintf(error, size, "--cpus=%s: leave one of %s to the rest of the machine",
			 given, cpus_list(&h->online, text));
		return false;
	}
	return true;
}

static bool ask_cpus(struct host *h, const char *given, char *error, size_t size)
{
	char text[CPUS_TEXT] = "";
	cpu_set_t parted;

	if (!host_text(h, text, sizeof text, "sys/devices/system/cpu/online") ||
	    !cpus_parse(text, &h->online) || !CPU_COUNT(&h->online)) {
		snprintf(error, size, "%s/sys/devices/system/cpu/online: no list of CPUs%s",
			 h->root, host_real(h) ? ": is /sys mounted?" : "");
		return false;
	}
	if (given && !take_cpus(h, given, error, size))
		return false;
	if (!given) {
		host_isolated(h, &h->cores, &parted);
		CPU_OR(&h->cores, &h->cores, &parted);
		CPU_AND(&h->cores, &h->cores, &h->online);
		if (!CPU_COUNT(&h->cores))
			all_but_first(h);
	}
	snprintf(h->named, sizeof h->named, "core%s %s", CPU_COUNT(&h->cores) > 1 ? "s" : "",
		 cpus_list(&h->cores, text));
	CPU_XOR(&h->house, &h->online, &h->cores);
	return true;
}

bool host_open(struct host *h, const char *root, const char *iface, const char *cpus, char *error,
	       size_t size)
{
	*h = (struct host){ .root = strcmp(root, "/") ? root : "" };
	if (*h->root && access(h->root, X_OK)) {
		snprintf(error, size, "--root=%s: %s", root, strerror(errno));
		return false;
	}
	ask_machine(h);
	if (!ask_cpus(h, cpus, error, size) || !choose_iface(h, iface, error, size))
		return false;
	ask_driver(h);
	config_load(h);
	return true;
}

void host_close(struct host *h)
{
	free(h->config);
	h->config = NULL;
}
