/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * attached IFACE - is a program of ours at tc ingress? Prints how it is there; status 1: no.
 * bpftool of Debian 12 does not know tcx.
 */
#include <net/if.h>
#include <stdio.h>
#include "attached.h"

int main(int argc, char **argv)
{
	unsigned ifindex = argc == 2 ? if_nametoindex(argv[1]) : 0;

	if (!ifindex)
		return 2;
	if (attached_tcx(ifindex))
		return puts("tcx") < 0;
	if (attached_filter(ifindex))
		return puts("clsact") < 0;
	return 1;
}
