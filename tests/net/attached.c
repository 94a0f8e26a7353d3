/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * attached IFACE - is a program of ours at tc ingress? "tcx ID" or "clsact ID", of the
 * program; status 1: no. bpftool of Debian 12 does not know tcx.
 */
#include <net/if.h>
#include <stdio.h>
#include "attached.h"

int main(int argc, char **argv)
{
	unsigned ifindex = argc == 2 ? if_nametoindex(argv[1]) : 0, id;

	if (!ifindex)
		return 2;
	if ((id = attached_tcx(ifindex)))
		return printf("tcx %u\n", id) < 0;
	if ((id = attached_filter(ifindex)))
		return printf("clsact %u\n", id) < 0;
	return 1;
}
