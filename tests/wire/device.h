/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * device.h - where a script is played: the pure middle, or a live veth
 *
 * Place    run.c sees nothing else of the system under test.
 * Model    Three functions move frames and time, two look at counters and
 *          invariants. sim.c calls the worker in virtual time; veth.c speaks
 *          raw Ethernet to a responder, in real time.
 * Units    ns from any origin.
 */
#ifndef DEVICE_H
#define DEVICE_H

#include "abi.h"
#include "frame.h"
#include "script.h"

struct device {
	const char *name;
	enum on_device kind;
	struct ends ends;
	/* An expected segment may come so much before and after its time. */
	uint64_t early_percent, late_ns;
	/* Silence behind the last line of a script. */
	uint64_t quiet_ns;

	/* Make ready for a script. False: *why says what is missing. */
	bool (*open)(struct device *d, const struct script *s, const char **why);
	/* told: what XDP says of it, in the simulation; NULL: what it says otherwise. */
	void (*send)(struct device *d, const uint8_t *frame, size_t len, const struct told *told);
	/* The next frame that has come, or 0, and when it came. */
	size_t (*receive)(struct device *d, uint8_t frame[FRAME_MOST], uint64_t *at_ns);
	/* Let time pass until then, or until a frame is there. Returns now; the past
	 * only asks for the time. */
	uint64_t (*wait)(struct device *d, uint64_t until_ns);
	/* All counters, summed over their writers. */
	void (*count)(struct device *d, struct stats_block *sum);
	/* The script is over, its connections are reset: is anything left? NULL: no. */
	const char *(*close)(struct device *d);
};

/* is_reborn: the worker is replaced by another one after each event. */
struct device *sim_device(bool is_reborn);
/* "IF,server=MAC/IP4/IP6,client=MAC/IP4/IP6,port=N,counters=PATH"; NULL with a
 * message on stderr when it cannot be had. */
struct device *veth_device(char *parameters);

#endif
