/* SPDX-License-Identifier: GPL-2.0-only */
/* What this kernel was built with. */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "doctor_checks.h"

/* bpf_loop, which the steering program calls. */
enum { KERNEL_MAJOR = 5, KERNEL_MINOR = 17 };

void check_kernel(const struct host *h, struct finding *f)
{
	finding_why(f, BASIS_RULE, "include/uapi/linux/bpf.h",
		    "the program that picks frames calls bpf_loop, which came with Linux %d.%d; "
		    "an older kernel does not load it, and only --io=socket is left",
		    KERNEL_MAJOR, KERNEL_MINOR);
	if (!h->version)
		finding_is(f, VERDICT_UNKNOWN, "no version in /proc/sys/kernel/osrelease");
	else if (h->version >= host_version(KERNEL_MAJOR, KERNEL_MINOR, 0))
		finding_is(f, VERDICT_OK, "Linux %s", h->release);
	else {
		finding_is(f, VERDICT_FAIL, "Linux %s is too old", h->release);
		finding_fix(f, FIX_REBUILD, "Linux %d.%d or newer: Debian 12 has 6.1", KERNEL_MAJOR,
			    KERNEL_MINOR);
	}
}

/* --- by trying ------------------------------------------------------------------------ */

/* 0: it can be had; else errno. */
static int try_socket(void)
{
	int fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0), error = fd < 0 ? errno : 0;

	if (fd >= 0)
		close(fd);
	return error;
}

static int try_map(void)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "doctor", 4, 8, 1, NULL);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? -fd : 0;
}

/* An option that can be tried too: what the kernel does goes before a list of options,
 * which is of a kernel of that name only. NOT_KNOWN: how says why. */
static enum built ask(const struct host *h, const char *name, int (*try)(void), char *how,
		      size_t size)
{
	enum built built = config_option(h, name);
	int error = host_real(h) ? try() : EPERM;

	if (error != EPERM && error != EACCES) {
		snprintf(how, size, "tried: %s", error ? strerror(error) : "it works");
		return error ? BUILT_NO : BUILT_IN;
	}
	if (built != BUILT_NOT_KNOWN)
		snprintf(how, size, "CONFIG_%s is %s in %s", name, built_name(built),
			 h->config_from);
	else
		snprintf(how, size, "%s%s", h->config_why,
			 host_real(h) ? ", and only root may try: run as root" : "");
	return built;
}

/* --- checks ------------------------------------------------------------------------------ */

void check_af_xdp(const struct host *h, struct finding *f)
{
	char how[256];
	enum built built = ask(h, "XDP_SOCKETS", try_socket, how, sizeof how);

	finding_why(f, BASIS_RULE, "net/xdp/Kconfig: off by default",
		    "without AF_XDP saker takes its frames in a tc program (--io=packet): an skb "
		    "is made for each, and it is copied once more");
	if (built == BUILT_NOT_KNOWN) {
		finding_is(f, VERDICT_UNKNOWN, "%s", how);
	} else if (built != BUILT_NO) {
		finding_is(f, VERDICT_OK, "AF_XDP is there (%s)", how);
	} else {
		finding_is(f, VERDICT_WARN, "this kernel has no AF_XDP (%s)", how);
		finding_rebuild(h, f, "CONFIG_XDP_SOCKETS=y");
	}
}

/* Its switch is in the first network namespace only. */
static void judge_compiler(const struct host *h, struct finding *f, const char *how)
{
	bool by_default = config_option(h, "BPF_JIT_ALWAYS_ON") == BUILT_IN ||
			  config_option(h, "BPF_JIT_DEFAULT_ON") == BUILT_IN;
	long long jit = -1;

	if (host_number(h, &jit, "proc/sys/net/core/bpf_jit_enable") && jit) {
		finding_is(f, VERDICT_OK, "BPF is there, and compiled (%s)", how);
	} else if (jit == 0) {
		finding_is(f, VERDICT_WARN, "BPF programs are interpreted: bpf_jit_enable is 0");
		finding_write(f, "0", "1", "/proc/sys/net/core/bpf_jit_enable");
	} else if (errno == EACCES || errno == EPERM) {
		finding_is(f, VERDICT_UNKNOWN, "only root may read bpf_jit_enable: run as root");
	} else if (config_option(h, "BPF_JIT") == BUILT_NO) {
		finding_is(f, VERDICT_WARN,
			   "BPF programs are interpreted: BPF_JIT is not set in %s",
			   h->config_from);
		finding_rebuild(h, f, "CONFIG_BPF_JIT=y");
	} else if (by_default) {
		finding_is(f, VERDICT_OK,
			   "BPF is there, and compiled unless somebody turned it off");
	} else {
		finding_is(f, VERDICT_UNKNOWN,
			   "BPF is there; no bpf_jit_enable in this network namespace says whether "
			   "it is compiled");
	}
}

void check_bpf(const struct host *h, struct finding *f)
{
	char how[256];
	enum built built = ask(h, "BPF_SYSCALL", try_map, how, sizeof how);

	finding_why(f, BASIS_ESTIMATE, "not measured",
		    "without BPF only --io=socket is left; without its compiler the program that "
		    "picks frames takes about ten times as long, microseconds for each frame");
	if (built == BUILT_NOT_KNOWN) {
		finding_is(f, VERDICT_UNKNOWN, "%s", how);
	} else if (built != BUILT_NO) {
		judge_compiler(h, f, how);
	} else {
		finding_is(f, VERDICT_FAIL, "this kernel has no BPF (%s)", how);
		finding_rebuild(h, f, "CONFIG_BPF_SYSCALL=y and CONFIG_BPF_JIT=y");
	}
}

/* What the rung without AF_XDP stands on. */
void check_tc_bpf(const struct host *h, struct finding *f)
{
	enum built tcx = config_option(h, "NET_XGRESS"), cls = config_option(h, "NET_CLS_BPF"),
		   sch = config_option(h, "NET_SCH_INGRESS");
	bool classic = cls > BUILT_NO && sch > BUILT_NO;

	finding_why(f, BASIS_RULE, "net/sched/Kconfig",
		    "--io=packet, the way in where there is no AF_XDP, is a program at tc ingress");
	if (tcx == BUILT_NOT_KNOWN) {
		finding_is(f, VERDICT_UNKNOWN, "%s: saker's start says whether it goes",
			   h->config_why);
	} else if (classic || tcx > BUILT_NO) {
		finding_is(f, VERDICT_OK, "tc programs: %s%s%s", tcx > BUILT_NO ? "tcx" : "",
			   tcx > BUILT_NO && classic ? ", " : "", classic ? "clsact" : "");
	} else {
		finding_is(f,
			   config_option(h, "XDP_SOCKETS") > BUILT_NO ? VERDICT_INFO : VERDICT_FAIL,
			   "no tc programs: NET_CLS_BPF is %s, NET_SCH_INGRESS %s in %s",
			   built_name(cls), built_name(sch), h->config_from);
		finding_rebuild(h, f, "CONFIG_NET_CLS_BPF=y and CONFIG_NET_SCH_INGRESS=y");
	}
}

void check_btf(const struct host *h, struct finding *f)
{
	enum built events = config_option(h, "BPF_EVENTS");

	finding_why(f, BASIS_RULE, "raspberrypi/linux issue 6622",
		    "saker needs no types of the kernel; tools do: bpftool prog profile, xdpdump, "
		    "bpftrace%s",
		    events == BUILT_NO ? "; nor has this kernel BPF_EVENTS: no bpf_printk" : "");
	if (host_there(h, "sys/kernel/btf/vmlinux")) {
		finding_is(f, VERDICT_OK, "the kernel's types are in /sys/kernel/btf/vmlinux");
		return;
	}
	if (!host_there(h, "sys/kernel")) {
		finding_is(f, VERDICT_UNKNOWN, "no /sys/kernel");
		return;
	}
	finding_is(f, VERDICT_INFO, "no /sys/kernel/btf/vmlinux: tools that trace do not work");
	finding_rebuild(h, f, "CONFIG_DEBUG_INFO_BTF=y");
}

/* Of this process, where nothing is tried: the first mapping's. */
static long page_size(const struct host *h)
{
	static char text[4096];
	long long kilobytes;

	if (host_real(h))
		return sysconf(_SC_PAGESIZE);
	host_text(h, text, sizeof text, "proc/self/smaps");
	return field_number(text, "KernelPageSize", &kilobytes) ? (long)kilobytes << 10 : 0;
}

void check_page_size(const struct host *h, struct finding *f)
{
	long size = page_size(h);

	finding_why(f, BASIS_RULE, "net/xdp/xdp_umem.c, kernel/bpf/ringbuf.c",
		    "frames of 2048 bytes fit every page; BPF ring buffers are whole pages, so "
		    "with larger pages each takes more memory (16 KiB: 64 KiB at least)");
	if (!size)
		finding_is(f, VERDICT_UNKNOWN, "no page size in /proc/self/smaps");
	else
		finding_is(f, VERDICT_OK, "pages of %ld KiB", size >> 10);
}
