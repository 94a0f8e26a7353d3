/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * doctor.h - what the parts of saker-doctor share
 *
 * Place    saker-doctor.c reads the command line; doctor_host.c reads the machine; each
 *          doctor_SUBJECT.c has the checks of its subject, doctor_table.c their list;
 *          doctor_text.c and doctor_json.c show what was found.
 * Model    A check is a function from a host to one finding: a verdict, what was found,
 *          why that matters, what to do. It reads below the root only; what no file
 *          tells is asked of the kernel if the root is the machine itself, and else
 *          read from a file with the text that a tool prints (see host_ethtool). What
 *          a check cannot find out is UNKNOWN, with the reason, and never OK.
 *          A check changes nothing. What would help is a text for people, and where it
 *          can be done at run time a list of settings for --fix.
 * Owner    Findings are the caller's; strings are in them.
 * Threads  One.
 * Limits   FINDING_* below: a list that is longer is cut, and the text says so.
 * Errors   None: to find nothing is a finding.
 */
#ifndef DOCTOR_H
#define DOCTOR_H

#include <sched.h>
#include <stdio.h>
#include "base.h"

/* --- findings -------------------------------------------------------------------------- */

enum verdict {
	VERDICT_OK,
	VERDICT_INFO,    /* worth knowing; it costs nothing here */
	VERDICT_WARN,    /* costs latency, or may cost correctness */
	VERDICT_FAIL,    /* the bypass cannot run here */
	VERDICT_UNKNOWN, /* cannot be found out, and what says why */
	VERDICTS,
};

/* What the figure in `why` stands on. */
enum basis {
	BASIS_NONE,     /* there is no figure */
	BASIS_RULE,     /* the kernel's code or a document says so */
	BASIS_MEASURED, /* by us: source says on what */
	BASIS_PUBLISHED /* measured by others */,
	BASIS_ESTIMATE, /* reckoned; measured by nobody */
	BASES,
};

enum fix_kind {
	FIX_NONE,
	FIX_RUNTIME, /* setting[]; the text has the commands */
	FIX_HAND,    /* at run time, but it touches what is not ours: the text has the command */
	FIX_BOOT,    /* boot[]: a line of the boot loader's, never edited by us */
	FIX_REBUILD, /* another kernel */
	FIX_KINDS,
};

enum setting_kind {
	SETTING_FILE,      /* where: a path below the root, "/sys/..."; value: what to write */
	SETTING_ETHTOOL,   /* where: "-C rx-usecs", "--set-eee eee", "-K gro"; of host->iface */
	SETTING_PARTITION, /* where: "cpuset"; value: the cores of an isolated partition */
	SETTING_KINDS,
};

struct setting {
	enum setting_kind kind;
	char where[112];
	char value[160];
	char now[64]; /* what it is; may be cut */
};

enum boot_file {
	BOOT_CMDLINE,    /* words for the kernel's command line */
	BOOT_CONFIG_TXT, /* lines for the Raspberry Pi's config.txt */
};

enum { FINDING_SETTINGS = 64, FINDING_SHOWN = 3 /* in the text */ };

struct finding {
	const char *check; /* the name of the check */
	enum verdict verdict;
	char what[320];
	char why[512];
	enum basis basis;
	char source[160];
	enum fix_kind fix_kind;
	char fix[640];
	enum boot_file boot_file;
	char boot[160]; /* exactly what to add; not for FIX_BOOT alone: what lasts is there too */
	struct setting setting[FINDING_SETTINGS];
	unsigned settings;
	unsigned settings_left; /* so many more had no room */
	unsigned written;       /* of finding_write: the text shows the first few */
};

#define FINDING_PRINT(n) __attribute__((format(printf, n, n + 1)))

void finding_is(struct finding *f, enum verdict verdict, const char *what, ...) FINDING_PRINT(3);
void finding_why(struct finding *f, enum basis basis, const char *source, const char *why, ...)
	FINDING_PRINT(4);
/* The text of the fix; a second call adds to it. */
void finding_fix(struct finding *f, enum fix_kind kind, const char *text, ...) FINDING_PRINT(3);

/* One more setting. now may be NULL: not known. */
void finding_setting(struct finding *f, enum setting_kind kind, const char *now, const char *value,
		     const char *where, ...) FINDING_PRINT(5);

/* Another kernel: with these options. */
struct host;
void finding_rebuild(const struct host *h, struct finding *f, const char *options);

/* A setting of a file, and the command that makes it, in the text. */
void finding_write(struct finding *f, const char *now, const char *value, const char *path, ...)
	FINDING_PRINT(4);

/* Words for the kernel's command line: the text says in which file they go here. */
void finding_boot(const struct host *h, struct finding *f, const char *words, ...) FINDING_PRINT(3);

const char *verdict_name(enum verdict verdict);
const char *basis_name(enum basis basis);
const char *fix_name(enum fix_kind kind);

enum built { BUILT_NOT_KNOWN, BUILT_NO, BUILT_MODULE, BUILT_IN };

/* --- the host (doctor_host.c) ------------------------------------------------------------ */

enum { HOST_TEXT = 1 << 16 }; /* of a file of /proc, of what a tool prints */

struct host {
	const char *root; /* in front of every path; "" : the machine itself */
	char iface[16];   /* "": there is none, and no_iface says why */
	char no_iface[96];
	char driver[32];  /* "": not known */
	char release[96]; /* of the kernel */
	unsigned version; /* of it, as host_version() */
	char model[96];   /* of the board, of the machine; "": not known */
	bool pi;          /* a Raspberry Pi */
	cpu_set_t online;
	cpu_set_t cores; /* saker's: --cpus, else those that are isolated, else all but the first */
	char named[328]; /* "core 1", "cores 1-3" */
	cpu_set_t house; /* the others: interrupts, everybody else */
	char *config;    /* the kernel's options, or NULL */
	char config_from[128];
	char config_why[200]; /* there are none */
};

/* The machine below root. iface, cpus: what the command line says, or NULL. False: error
 * says what is wrong with it. */
bool host_open(struct host *h, const char *root, const char *iface, const char *cpus, char *error,
	       size_t size);
void host_close(struct host *h);

/* KERNEL_VERSION() without its limit of 255. */
static inline unsigned host_version(unsigned major, unsigned minor, unsigned patch)
{
	return major << 24 | minor << 16 | (patch < 0xffff ? patch : 0xffff);
}

/* The value of a word of the kernel's command line, the last one's; "" for one without. */
bool host_cmdline(const struct host *h, const char *word, char *value, size_t size);

/* Cores that no other task may use, by the boot line and by cpuset partitions. */
void host_isolated(const struct host *h, cpu_set_t *boot, cpu_set_t *parted);

/* Is there a device behind the interface? Not behind veth, bridges, tunnels. */
bool host_hardware(const struct host *h);

/* Is there a process of this name? NOT_KNOWN: /proc shows us none but our own. */
enum built host_process(const struct host *h, const char *name);

/* Is the root the machine itself? Then what no file tells may be tried. */
bool host_real(const struct host *h);

/* A file's text, without the last line's end. False, with errno: it is not there. */
bool host_text(const struct host *h, char *text, size_t size, const char *path, ...)
	FINDING_PRINT(4);
bool host_number(const struct host *h, long long *value, const char *path, ...) FINDING_PRINT(3);
bool host_there(const struct host *h, const char *path, ...) FINDING_PRINT(2);

/* The word in brackets: madvise of "always [madvise] never". */
bool host_chosen(const struct host *h, char *word, size_t size, const char *path);

/* The last part of what a symbolic link points to. */
bool host_link(const struct host *h, char *name, size_t size, const char *path, ...)
	FINDING_PRINT(4);

/* The paths that match, without the root, in the order of names; how many. */
enum { HOST_PATH = 256, HOST_PATHS = 256 };
unsigned host_glob(const struct host *h, char (*found)[HOST_PATH], unsigned size,
		   const char *pattern, ...) FINDING_PRINT(4);

/* What `ethtool OPTION IFACE` prints: option is "-c", "-g", "-i", "-k" or
 * "--show-eee". Below a root: the file ethtool/IFACE/{c,g,i,k,eee}. False: why says
 * what is in the way. */
bool host_ethtool(const struct host *h, const char *option, char *text, size_t size, char *why,
		  size_t why_size);

/* The same for any tool of the machine itself. */
bool host_run(char *const argv[], char *text, size_t size, char *why, size_t why_size);

/* --- the kernel's options (doctor_config.c) ------------------------------------------------ */

/* config.gz, or /boot/config-RELEASE. */
void config_load(struct host *h);
/* Without CONFIG_. NOT_KNOWN: there is no list; NO: it is not in the list, or not set. */
enum built config_option(const struct host *h, const char *name);
/* Of a number; -1: not known. */
long config_number(const struct host *h, const char *name);
const char *built_name(enum built option);

/* --- lists of CPUs (doctor_cpus.c) ---------------------------------------------------------- */

/* A mask of all that there may be takes 288; a list is cut, and ends with ",..." then. */
enum { CPUS_TEXT = 320 };

/* "0-3,8"; "" is the empty set. False: it is none. */
bool cpus_parse(const char *text, cpu_set_t *set);
/* "f", "00000000,0000000f". */
bool cpus_parse_mask(const char *text, cpu_set_t *set);
const char *cpus_list(const cpu_set_t *set, char text[CPUS_TEXT]);
const char *cpus_mask(const cpu_set_t *set, char text[CPUS_TEXT]);

/* --- what a tool prints (doctor_parse.c) ----------------------------------------------------- */

/* The value behind "KEY:" at the start of a line, blanks in front, from `at` on. */
bool field_text(const char *at, const char *key, char *value, size_t size);
/* False also for "n/a". */
bool field_number(const char *at, const char *key, long long *value);

/* --- checks (doctor_table.c) ------------------------------------------------------------------ */

struct check {
	const char *name;
	const char *subject; /* a line for --list */
	void (*run)(const struct host *h, struct finding *f);
	bool nic; /* of an interface: without one it is UNKNOWN */
};

extern const struct check checks[];
extern const unsigned checks_count;

void check_run(const struct check *c, const struct host *h, struct finding *f);

/* --- views --------------------------------------------------------------------------------------- */

struct report {
	const struct host *host;
	const struct finding *list;
	unsigned count;
	bool all; /* -v: of what is fine too, why it matters */
};

unsigned report_tally(const struct report *r, enum verdict verdict);
/* 0: fine, 1: a WARN, 3: a FAIL. */
int report_status(const struct report *r);
void report_text(const struct report *r);
void report_json(const struct report *r);

#endif
