// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "attached.h"
#include "say.h"
#include "steer_private.h"

/* --- who is there already --------------------------------------------------- */

static int refuse_program(const struct steer *s, const struct attached *a)
{
	char cure[64];
	if (a->link_id)
		snprintf(cure, sizeof cure, "bpftool link detach id %u", a->link_id);
	else
		snprintf(cure, sizeof cure, "ip link set dev %s %s off", s->conf->ifname, a->word);

	if (!strcmp(a->name, ATTACHED_OURS))
		return refuse(s->conf, -EBUSY,
			      "another saker steers this interface (program id %u): "
			      "stop it, or `saker-ctl -i %s detach`",
			      a->prog_id, s->conf->ifname);
	if (!strcmp(a->name, ATTACHED_DISPATCHER))
		return refuse(s->conf, -EBUSY,
			      "libxdp's dispatcher (%s, program id %u) is attached: "
			      "`xdp-loader unload %s --all`",
			      a->name, a->prog_id, s->conf->ifname);
	return refuse(s->conf, -EBUSY, "another XDP program (%s, id %u) is attached: `%s`",
		      a->name[0] ? a->name : "no name", a->prog_id, cure);
}

/* An interface holds one native and one generic program, never both by our
 * doing: whichever is there, we stay away. At tc we can live with others: before them, and
 * behind whatever XDP lets through. */
static int check_programs(const struct steer *s)
{
	struct attached there;
	int error = attached_ask(&there, s->ifindex);
	if (error)
		return refuse(s->conf, error, "cannot ask for its XDP program: %s",
			      strerror(-error));
	if (there.prog_id && (s->hook == STEER_XDP || !strcmp(there.name, ATTACHED_OURS)))
		return refuse_program(s, &there);
	there.prog_id = attached_tcx(s->ifindex);
	if (there.prog_id)
		return refuse(s->conf, -EBUSY,
			      "another saker steers this interface (tc program id %u): stop it",
			      there.prog_id);
	return 0;
}

int steer_check_alone(const struct steer *s)
{
	unsigned pid = pins_owner(&s->pins);
	if (pid)
		return refuse(s->conf, -EBUSY, "another saker runs here: stop process %u first",
			      pid);
	int error = check_programs(s);
	if (!error && attached_filter_remove(s->ifindex))
		say(s->conf, "a tc filter that a saker left behind is off");
	return error;
}

/* --- on and off at XDP ---------------------------------------------------------- */

static int attach_xdp(struct steer *s, bool native)
{
	const char *word = native ? "xdp-native" : "xdp-generic";
	LIBBPF_OPTS(bpf_link_create_opts, opts,
		    .flags = native ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE);
	s->link_fd = bpf_link_create(s->prog_fd, (int)s->ifindex, BPF_XDP, &opts);
	if (s->link_fd >= 0)
		return 0;

	int error = -errno;
	switch (error) {
	case -EBUSY:
	case -EEXIST:
		return refuse(s->conf, -EBUSY,
			      "attach %s: another XDP program came first: "
			      "`ip -d link show dev %s`",
			      word, s->conf->ifname);
	case -EPERM:
		return refuse(s->conf, error, "attach %s: run as root or give CAP_NET_ADMIN", word);
	case -EOPNOTSUPP:
		return refuse(s->conf, error, "attach %s: the driver cannot: --io=%s", word,
			      native ? "xdp-generic" : "packet");
	case -EINVAL:
	case -ERANGE:
		return refuse(
			s->conf, error,
			"attach %s: the driver refuses this MTU or offload: "
			"`ip link set dev %s mtu 1500`, `ethtool -K %s lro off rx-gro-hw off`",
			word, s->conf->ifname, s->conf->ifname);
	default:
		return refuse(s->conf, error, "attach %s: %s", word, strerror(-error));
	}
}

/* --- on and off at tc ----------------------------------------------------------- */

/* Before all others, by a link that goes with us; or, before Linux 6.6, as a filter, which
 * stays when we are killed: it passes everything then, and the next start removes it. */
static int attach_tc(struct steer *s)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = ATTACHED_TCX_FIRST);
	s->link_fd = bpf_link_create(s->prog_fd, (int)s->ifindex,
				     (enum bpf_attach_type)ATTACHED_TCX, &opts);
	if (s->link_fd >= 0)
		return 0;
	int error = errno == EPERM ? -EPERM : attached_filter_put(s->ifindex, s->prog_fd);
	s->filter = !error;
	switch (error) {
	case 0:
		return 0;
	case -EPERM:
		return refuse(s->conf, error, "attach packet: run as root or give CAP_NET_ADMIN");
	case -ENOENT:
	case -EOPNOTSUPP:
		return refuse(s->conf, error,
			      "attach packet: this kernel has neither tcx (Linux 6.6) nor "
			      "clsact: it needs CONFIG_NET_CLS_ACT=y, CONFIG_NET_SCH_INGRESS "
			      "and CONFIG_NET_CLS_BPF");
	case -EBUSY:
	case -EINVAL:
		return refuse(s->conf, -EBUSY,
			      "attach packet: another tc filter has the first place: "
			      "`tc filter show dev %s ingress`",
			      s->conf->ifname);
	default:
		return refuse(s->conf, error, "attach packet: %s", strerror(-error));
	}
}

/* --- at either --------------------------------------------------------------------- */

bool steer_attached(const struct steer *s)
{
	return s->link_fd >= 0 || s->filter;
}

int steer_attach(struct steer *s, enum abi_rung rung)
{
	must(!steer_attached(s) && (rung == RUNG_packet) == (s->hook == STEER_TC));
	return rung == RUNG_packet ? attach_tc(s) : attach_xdp(s, rung == RUNG_xdp_native);
}

int steer_replace(struct steer *s, int prog_fd)
{
	int error = s->filter ? attached_filter_put(s->ifindex, prog_fd) :
		    bpf_link_update(s->link_fd, prog_fd, NULL) ? -errno :
								 0;
	return error ? refuse(s->conf, error, "the program cannot be replaced: %s",
			      strerror(-error)) :
		       0;
}

bool steer_lost(const struct steer *s)
{
	struct bpf_link_info info = { .type = 0 };
	__u32 size = sizeof info;

	if (s->hook == STEER_XDP || !steer_attached(s))
		return false; /* netev.h sees it */
	if (s->filter)
		return !attached_filter(s->ifindex);
	/* link_info.tcx begins with the interface, as .xdp does; 0: it was detached */
	return !bpf_obj_get_info_by_fd(s->link_fd, &info, &size) && !info.xdp.ifindex;
}

/* Detach before close: a child that still has the descriptor cannot keep the
 * program on the interface. */
void steer_detach(struct steer *s)
{
	if (s->filter)
		attached_filter_remove(s->ifindex);
	s->filter = false;
	if (s->link_fd < 0)
		return;
	bpf_link_detach(s->link_fd);
	close(s->link_fd);
	s->link_fd = -1;
}
