/* SPDX-License-Identifier: GPL-2.0-only */
/* Programs on the interface: which, and whose are in the way. */
#include <bpf/bpf.h>
#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <unistd.h>
#include "attached.h"
#include "doctor_checks.h"
#include "doctor_programs.h"

#define OURS "saker_"
#define TCX_INGRESS ((enum bpf_attach_type)46) /* Linux 6.6; not in older headers */

static struct program *add(struct programs *p, const char *hook, unsigned id, const char *name)
{
	struct program *one = &p->list[p->count];

	if (p->count + 1 < array_size(p->list))
		p->count++;
	*one = (struct program){ .id = id };
	snprintf(one->hook, sizeof one->hook, "%s", hook);
	snprintf(one->name, sizeof one->name, "%s", name);
	return one;
}

/* --- the hooks of a real host ------------------------------------------------------------- */

/* False: it may not be asked, and why says so. */
static bool name_of(unsigned id, char name[16], struct programs *p)
{
	struct bpf_prog_info info = { .type = 0 };
	__u32 size = sizeof info;
	int fd = bpf_prog_get_fd_by_id(id);

	name[0] = '\0';
	if (fd < 0) {
		if (errno == EPERM)
			snprintf(p->why, sizeof p->why,
				 "a program is there (id %u), and only root may ask whose: run as "
				 "root",
				 id);
		return errno != EPERM;
	}
	if (!bpf_obj_get_info_by_fd(fd, &info, &size))
		snprintf(name, 16, "%.15s", info.name);
	close(fd);
	return true;
}

static void ask_xdp(const struct host *h, struct programs *p)
{
	struct attached there;
	int error = attached_ask(&there, if_nametoindex(h->iface));
	char name[16];

	if (error)
		snprintf(p->why, sizeof p->why, "cannot ask for the XDP program: %s",
			 strerror(-error));
	else if (there.prog_id && name_of(there.prog_id, name, p))
		snprintf(add(p, there.word, there.prog_id, name)->off, sizeof p->list->off,
			 "ip link set dev %s %s off", h->iface, there.word);
}

static void ask_tcx(const struct host *h, struct programs *p)
{
	__u32 ids[PROGRAMS_TCX] = { 0 }, flags = 0, count = PROGRAMS_TCX;
	char name[16];

	/* An older kernel has no such hook: nothing is there. */
	if (bpf_prog_query((int)if_nametoindex(h->iface), TCX_INGRESS, 0, &flags, ids, &count)) {
		if (errno == EPERM || errno == EACCES)
			snprintf(p->why, sizeof p->why, "only root may ask for programs");
		else if (errno != EINVAL)
			snprintf(p->why, sizeof p->why, "cannot ask for programs: %s",
				 strerror(errno));
		return;
	}
	for (unsigned i = 0; i < count; i++) {
		if (!name_of(ids[i], name, p))
			return;
		snprintf(add(p, "tcx/ingress", ids[i], name)->off, sizeof p->list->off,
			 "bpftool net detach tcx_ingress dev %s, or end who holds it", h->iface);
	}
}

/* --- what tools print ------------------------------------------------------------------------ */

/* `ip -details link show dev IFACE`: "prog/xdp id 12 name xdp_pass tag 3b1... jited"; the
 * mode stands in the first line. */
static void read_ip(const struct host *h, struct programs *p)
{
	char text[4096], name[64] = "";
	const char *at;
	unsigned id;

	if (!host_text(h, text, sizeof text, "ip/%s/link", h->iface)) {
		snprintf(p->why, sizeof p->why, "no file ip/%s/link below the root", h->iface);
		return;
	}
	at = strstr(text, "prog/xdp id ");
	if (!at || sscanf(at, "prog/xdp id %u name %63s", &id, name) < 1)
		return;
	const char *word = strstr(text, " xdpgeneric") ? "xdpgeneric" : "xdpdrv";
	snprintf(add(p, word, id, name)->off, sizeof p->list->off, "ip link set dev %s %s off",
		 h->iface, word);
}

/* `tc filter show dev IFACE ingress`: "filter protocol all pref 1 bpf chain 0 handle 0x1 NAME
 * direct-action not_in_hw id 12 ..."; what is not bpf may take frames too. */
static void read_tc(const char *text, const struct host *h, struct programs *p)
{
	for (const char *at = text; (at = strstr(at, "filter ")); at++) {
		char line[512], kind[32], name[64] = "";
		unsigned pref, id = 0;
		const char *from;

		if (at > text && at[-1] != '\n')
			continue;
		snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
		from = strstr(line, " pref ");
		if (!from || sscanf(from, " pref %u %31s", &pref, kind) != 2)
			continue;
		if (!(from = strstr(line, " handle ")))
			continue; /* its head; a line with the filter follows */
		if (strcmp(kind, "bpf"))
			snprintf(name, sizeof name, "a filter of kind %s", kind);
		else if (strstr(line, " bytecode "))
			snprintf(name, sizeof name, "a classic program");
		else
			sscanf(from, " handle %*s %63[^: ]", name);
		from = strstr(line, " id ");
		if (from)
			sscanf(from, " id %u", &id);
		snprintf(add(p, "clsact/ingress", id, name)->off, sizeof p->list->off,
			 "tc filter del dev %s ingress pref %u", h->iface, pref);
	}
}

static void ask_clsact(const struct host *h, struct programs *p)
{
	static char text[HOST_TEXT];
	char *argv[] = { "tc", "filter", "show", "dev", (char *)h->iface, "ingress", NULL };
	char why[200];

	if (!host_real(h)) {
		if (host_text(h, text, sizeof text, "tc/%s/ingress", h->iface))
			read_tc(text, h, p);
		else
			snprintf(p->why, sizeof p->why, "no file tc/%s/ingress below the root",
				 h->iface);
	} else if (host_run(argv, text, sizeof text, why, sizeof why)) {
		read_tc(text, h, p);
	} else {
		snprintf(p->why, sizeof p->why, "%s", why);
	}
}

const struct programs *programs_of(const struct host *h, bool tc)
{
	static struct programs p;

	p = (struct programs){ .count = 0 };
	if (!tc && host_real(h))
		ask_xdp(h, &p);
	else if (!tc)
		read_ip(h, &p);
	if (tc && host_real(h))
		ask_tcx(h, &p);
	if (tc)
		ask_clsact(h, &p);
	return &p;
}

static bool ours(const struct program *one)
{
	return !strncmp(one->name, OURS, strlen(OURS));
}

const struct program *programs_first(const struct programs *p, bool of_us)
{
	for (unsigned i = 0; i < p->count; i++)
		if (ours(&p->list[i]) == of_us)
			return &p->list[i];
	return NULL;
}

/* --- checks ------------------------------------------------------------------------------------- */

void check_xdp_program(const struct host *h, struct finding *f)
{
	const struct programs *p = programs_of(h, false);
	const struct program *other = programs_first(p, false);

	finding_why(f, BASIS_RULE, "kernel: one native and one generic program an interface",
		    "an interface takes one XDP program: while another's is there saker does not "
		    "start but with --io=packet or --io=socket");
	if (*p->why)
		finding_is(f, VERDICT_UNKNOWN, "%s", p->why);
	else if (other) {
		finding_is(f, VERDICT_WARN, "another's XDP program is on %s: %s (%s, id %u)",
			   h->iface, *other->name ? other->name : "without a name", other->hook,
			   other->id);
		finding_fix(f, FIX_HAND, "%s, if nobody needs it", other->off);
	} else
		finding_is(f, VERDICT_OK, "no other's XDP program is on %s", h->iface);
}

void check_tc_programs(const struct host *h, struct finding *f)
{
	const struct programs *p = programs_of(h, true);
	const struct program *other = programs_first(p, false);
	bool packet = config_option(h, "XDP_SOCKETS") == BUILT_NO;

	finding_why(f, BASIS_RULE, "net/core/dev.c: generic XDP comes before tc ingress",
		    "frames that saker takes by XDP never come there; with --io=packet who stands "
		    "first takes them, and what another drops or redirects saker does not see");
	if (*p->why)
		finding_is(f, VERDICT_UNKNOWN, "%s", p->why);
	else if (other) {
		finding_is(f, packet ? VERDICT_WARN : VERDICT_INFO, "%s at %s of %s%s",
			   *other->name ? other->name : "another's program", other->hook, h->iface,
			   p->count > 1 ? ", and more" : "");
		finding_fix(f, FIX_HAND, "%s, if nobody needs it", other->off);
	} else
		finding_is(f, VERDICT_OK, "nobody else is at tc ingress of %s", h->iface);
}
