/* SPDX-License-Identifier: GPL-2.0-only */
/* What this kernel was built with. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "doctor_checks.h"

/* 0: it can be had; else errno. */
static int try_socket(void)
{
	int fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0), error = fd < 0 ? errno : 0;

	if (fd >= 0)
		close(fd);
	return error;
}

/* NOT_KNOWN: why in text. A list of options is of the kernel that runs only as far as its
 * name is: what the kernel itself says goes first. */
static enum built has_af_xdp(const struct host *h, char *text, size_t size)
{
	enum built option = config_option(h, "XDP_SOCKETS");
	int error = host_real(h) ? try_socket() : EPERM;

	if (error != EPERM && error != EACCES) {
		snprintf(text, size, "tried: %s", error ? strerror(error) : "a socket was given");
		return error ? BUILT_NO : BUILT_IN;
	}
	if (option != BUILT_NOT_KNOWN)
		snprintf(text, size, "CONFIG_XDP_SOCKETS is %s in %s", built_name(option),
			 h->config_from);
	else
		snprintf(text, size, "%s%s", h->config_why,
			 host_real(h) ? ", and only root may try: run as root" : "");
	return option;
}

void check_af_xdp(const struct host *h, struct finding *f)
{
	char how[256];
	enum built option = has_af_xdp(h, how, sizeof how);

	finding_why(f, BASIS_RULE, "net/xdp/Kconfig: XDP_SOCKETS is off by default",
		    "without AF_XDP saker takes its frames in a tc program (--io=packet): an skb "
		    "and one more copy for each frame");
	if (option == BUILT_NOT_KNOWN) {
		finding_is(f, VERDICT_UNKNOWN, "AF_XDP: %s", how);
	} else if (option != BUILT_NO) {
		finding_is(f, VERDICT_OK, "AF_XDP is there (%s)", how);
	} else {
		finding_is(f, VERDICT_WARN, "this kernel has no AF_XDP (%s)", how);
		finding_fix(
			f, FIX_REBUILD, "%s",
			h->pi ? "a kernel of one's own with CONFIG_XDP_SOCKETS=y, or Debian 13's "
				"linux-image-arm64-16k, which has it" :
				"a kernel with CONFIG_XDP_SOCKETS=y");
	}
}
