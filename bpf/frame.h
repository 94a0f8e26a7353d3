/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * frame.h - a frame, by the hook that it is seen at
 *
 * Place    All of bpf/ looks at frames through this.
 * Model    One source, two programs: steer.bpf.c for XDP, steer_tc.bpf.c for tc ingress,
 *          which defines FRAME_SKB. `struct frame_md` is the context that the kernel
 *          gives, and each hook's header has the same functions, all inlined:
 *            frame_begin, frame_end  the linear part
 *            frame_length            of all of it
 *            frame_load              bytes from anywhere in it; 0, or an error
 *            frame_queue             RX queue that it came by
 *            frame_tag               EtherType, in network order, of a tag that the kernel
 *                                    keeps beside the frame; 0: none
 *            frame_taker             has its queue somebody to take it?
 *            frame_give              give it to him, with metadata, when frame_taker said
 *                                    yes; OURS, or the name of what was in the way.
 *                                    `whole`: without the metadata it is of no use
 */
#ifndef FRAME_H
#define FRAME_H

#include <stdbool.h>

#ifdef FRAME_SKB
#include "frame_skb.h"
#else
#include "frame_xdp.h"
#endif

#endif
