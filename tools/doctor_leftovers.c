/* SPDX-License-Identifier: GPL-2.0-only */
/* What a saker left that is gone: maps, settings, programs. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "doctor_checks.h"
#include "doctor_programs.h"
#include "limits.h"
#include "stats.h"

#define BPFFS "sys/fs/bpf"
#define PINS BPFFS "/saker"
#define SETTING "setting-" /* settings.h */

struct left {
	char maps[64], setting[96]; /* the first of each; "": none */
	unsigned more;
	char why[256]; /* not empty: something could not be asked */
};

/* Whose maps they are stands in them; files have no maps, but they have processes. */
static enum built lives(const struct host *h, const char *dir)
{
	static struct stats_report report;
	char error[256], comm[32];

	if (!host_real(h))
		return host_process(h, "saker");
	if (stats_load(&report, dir, error, sizeof error))
		return BUILT_NOT_KNOWN;
	if (report.now_ns - report.live.io[0].heartbeat_ns < (uint64_t)STALL_MS * NS_PER_MS)
		return BUILT_IN;
	return host_text(h, comm, sizeof comm, "proc/%u/comm", report.mode.pid) &&
			       !strcmp(comm, "saker") ?
		       BUILT_IN :
		       BUILT_NO;
}

/* Who needs a setting holds a lock on its directory. */
static enum built needed(const struct host *h, const char *dir)
{
	int fd;

	if (!host_real(h))
		return host_process(h, "saker");
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return BUILT_NOT_KNOWN;
	bool held = flock(fd, LOCK_EX | LOCK_NB) != 0;
	close(fd);
	return held ? BUILT_IN : BUILT_NO;
}

/* Settings are of a network namespace, which the name ends with. */
static bool of_here(const struct host *h, const char *name)
{
	struct stat ns;
	const char *at = strchr(name, '@');

	return !host_real(h) || !at || stat("/proc/self/ns/net", &ns) ||
	       strtoull(at + 1, NULL, 10) == ns.st_ino;
}

static void look_at(const struct host *h, const char *dir, struct left *left)
{
	const char *name = strrchr(dir, '/') + 1;
	bool setting = !strncmp(name, SETTING, strlen(SETTING));
	enum built alive;

	if (setting && !of_here(h, name))
		return;
	alive = setting ? needed(h, dir) : lives(h, dir);
	if (alive == BUILT_NOT_KNOWN)
		snprintf(left->why, sizeof left->why, "cannot read /" PINS "/%.64s", name);
	if (alive != BUILT_NO)
		return;
	if (setting)
		snprintf(left->setting, sizeof left->setting, "%.90s", name + strlen(SETTING));
	else if (*left->maps)
		left->more++;
	else
		snprintf(left->maps, sizeof left->maps, "%.63s", name);
}

/* With the lock that sakers take before they look at each other's: none is misled. */
static void look(const struct host *h, struct left *left)
{
	static char found[HOST_PATHS][HOST_PATH];
	unsigned n = host_glob(h, found, HOST_PATHS, PINS "/*");
	int root = host_real(h) && n ? open("/" PINS, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (root >= 0 && flock(root, LOCK_EX | LOCK_NB))
		snprintf(left->why, sizeof left->why, "a saker is starting or ending: ask again");
	for (unsigned i = 0; i < n && !*left->why; i++)
		look_at(h, found[i], left);
	if (root >= 0)
		close(root);
}

/* A program of ours at a hook, while no saker runs. */
static const struct program *orphan(const struct host *h, struct left *left)
{
	for (unsigned tc = 0; tc < 2 && *h->iface; tc++) {
		const struct programs *p = programs_of(h, tc);
		const struct program *ours = programs_first(p, true);

		if (ours)
			return ours;
		if (*p->why)
			snprintf(left->why, sizeof left->why, "%s", p->why);
	}
	return NULL;
}

static void judge(const struct host *h, const struct left *left, const struct program *ours,
		  struct finding *f)
{
	if (*left->maps) {
		finding_is(f, VERDICT_WARN, "maps of a saker that is gone: /" PINS "/%s%s",
			   left->maps, left->more ? ", and more" : "");
		finding_fix(f, FIX_HAND, "saker-ctl -i %s detach", left->maps);
	} else if (ours) {
		finding_is(f, VERDICT_WARN,
			   "a program of a saker that is gone: %s at %s of %s (id %u)", ours->name,
			   ours->hook, h->iface, ours->id);
		finding_fix(f, FIX_HAND, "saker-ctl -i %s detach; or %s", h->iface, ours->off);
	} else if (*left->setting) {
		finding_is(f, VERDICT_WARN,
			   "a setting that a saker changed, which is gone: %s; /" PINS "/" SETTING
			   "%s/was has what it was",
			   left->setting, left->setting);
		finding_fix(f, FIX_HAND, "saker-ctl -i %s detach", *h->iface ? h->iface : "IFACE");
	}
}

void check_leftovers(const struct host *h, struct finding *f)
{
	enum built running = host_process(h, "saker");
	const struct program *ours;
	struct left left = { .maps = "" };

	finding_why(f, BASIS_RULE, "docs/failure-modes.md, 10",
		    "what a crash left takes no frames (its heartbeat is old), and the next start "
		    "replaces it; until then each frame still passes a program of ours");
	if (host_real(h) && host_there(h, BPFFS) && access("/" BPFFS, R_OK | X_OK)) {
		finding_is(f, VERDICT_UNKNOWN, "only root may look into /" BPFFS ": run as root");
		return;
	}
	look(h, &left);
	ours = running == BUILT_NO ? orphan(h, &left) : NULL;
	judge(h, &left, ours, f);
	if (f->fix_kind)
		return;
	if (running == BUILT_NOT_KNOWN)
		finding_is(f, VERDICT_UNKNOWN, "/proc hides other processes: run as root");
	else if (*left.why)
		finding_is(f, VERDICT_UNKNOWN, "%s", left.why);
	else
		finding_is(f, VERDICT_OK, "nothing of ours without a process%s",
			   running == BUILT_IN ? "; saker runs" : "");
}
