/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * told.h - what the program was told
 *
 * Place    Read by all of bpf/; written by the loader, before load.
 * Model    Frozen then, so that the verifier takes it for constants and drops the
 *          branches that they exclude: what belongs to --steer=path costs
 *          --steer=port nothing.
 */
#ifndef TOLD_H
#define TOLD_H

#include "abi.h"

const volatile struct steer_config conf;

/* What a function says that found nothing against a frame. */
enum { OURS = STATS_xdp_redirected };

#endif
