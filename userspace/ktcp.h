/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ktcp.h - what the kernel's TCP agrees to
 *
 * Place    With --steer=path the kernel answers the SYNs of our connections, so we
 *          must know what it said in its SYN-ACK. Asked once, at the start.
 * Model    A connection over loopback, to a listener as servers have them, and
 *          TCP_INFO of the accepted end.
 * Limits   A listener that sets SO_RCVBUF (nginx: listen ... rcvbuf=) advertises
 *          another scale (Linux 6.18: 10 without, 0 with 16 KiB, 5 with 1 MiB): then
 *          our windows look smaller or larger than they are. So may a route with a
 *          window of its own. Changes of
 *          net.core.rmem_max, net.ipv4.tcp_rmem and of the settings in enum
 *          steer_kernel_options are seen at the next start.
 * Errors   0 or -errno, reported here, once, on stderr, with a cure.
 */
#ifndef KTCP_H
#define KTCP_H

#include "abi.h"
#include "base.h"

struct ktcp {
	uint8_t scale;    /* of the windows that it advertises, 0 ... 14 */
	uint32_t options; /* enum steer_kernel_options */
};

int ktcp_ask(struct ktcp *kernel);

#endif
