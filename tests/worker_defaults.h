/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * worker_defaults.h - a worker as saker has it without options, on an Ethernet
 *
 * Place    Tests and fuzzers copy it, and change what they are about; max_conns and
 *          the blocks are always their own. The numbers are those of limits.h.
 */
#ifndef WORKER_DEFAULTS_H
#define WORKER_DEFAULTS_H

#include "worker.h"

static const struct worker_params worker_defaults = {
	.mtu = 1500,
	.max_n = N_MAX_DEFAULT,
	.max_body = HTTP_BODY_DEFAULT,
	.lanes = LANES_DEFAULT,
	.slice_us = SLICE_US,
	.max_wait_ms = WAIT_MAX_MS,
	.header_timeout_ms = HEADER_TIMEOUT_MS,
	.body_timeout_ms = BODY_TIMEOUT_MS,
	.idle_timeout_ms = IDLE_TIMEOUT_MS,
};

#endif
