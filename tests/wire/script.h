/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * script.h - a wire script as a list of events
 *
 * Place    wire.c reads a file with it, run.c plays the events. README.md has
 *          the language.
 * Model    A line is an event. Numbers that depend on what comes ($s, *) stay
 *          expressions until the event is played.
 * Owner    Text, payloads and patterns lie in the script's own memory and live
 *          until the next script_read.
 * Limits   SCRIPT_EVENTS lines, SCRIPT_BYTES of text; more is an error.
 * Units    ns; sequence numbers as written, relative.
 */
#ifndef SCRIPT_H
#define SCRIPT_H

#include "abi.h"
#include "base.h"

enum {
	SCRIPT_EVENTS = 256,
	SCRIPT_BYTES = 1 << 18,
	SCRIPT_CONNS = 4, /* @1 ... @4: client ports of one script */
	SCRIPT_OPTIONS = 8,
	SCRIPT_PATTERNS = 8,
	SCRIPT_DAMAGES = 4,
	SCRIPT_NAME = 12,
};

struct bytes {
	const uint8_t *at;
	size_t len;
};

/* 17, $name, $name+17, $name-17, or * */
struct number {
	bool any;
	char name[SCRIPT_NAME]; /* "": plain */
	uint32_t plus;
};

enum { OPTION_RAW = 0xff };

struct option {
	uint8_t kind;           /* enum wire_tcp_option, or OPTION_RAW */
	struct number value[8]; /* mss, wscale, TS val and ecr, SACK left:right ... */
	unsigned count;
	struct bytes raw;
};

/* What is done to a frame after it was made well. Sums are made again after
 * each but the sums' own. */
#define DAMAGE_LIST(X) \
	X(badsum, 0)   /* wrong TCP checksum */ \
	X(zerosum, 0)  /* TCP checksum 0 */ \
	X(badipsum, 0) /* wrong IPv4 checksum */ \
	X(ipopt, 0)    /* four bytes of IPv4 options */ \
	X(doff, 1)     /* TCP data offset */ \
	X(frag, 1)     /* IPv4 flags and fragment offset, 16 bits */ \
	X(iplen, 1)    /* IPv4 total length, IPv6 payload length */ \
	X(ihl, 1)      /* IPv4 header length */ \
	X(ver, 1)      /* IP version */ \
	X(proto, 1)    /* IP protocol, IPv6 next header */ \
	X(type, 1)     /* EtherType */ \
	X(vlan, 1)     /* an 802.1Q tag */ \
	X(trunc, 1)    /* the frame cut to so many bytes */ \
	X(pad, 1)      /* so many bytes behind the IP packet */ \
	X(urg, 1)      /* urgent pointer */ \
	X(sport, 1)    /* source port */ \
	X(dport, 1)    /* destination port */ \
	X(reserved, 1) /* the four reserved bits */ \
	X(src, 2)      /* source address, or `server` */ \
	X(dst, 2)      /* destination address */

enum damage_kind {
#define X(name, args) DAMAGE_##name,
	DAMAGE_LIST(X)
#undef X
};

struct damage {
	enum damage_kind kind;
	uint32_t value;
	uint8_t address[16]; /* of src and dst */
};

/* What XDP is made to say of a segment, in the simulation. */
struct told {
	bool adopt; /* opens a connection */
	bool early; /* no connection, but a first segment was lost a moment ago */
	bool ours;  /* no connection, though XDP has the flow for long */
	bool sack_ok;
	uint8_t scale; /* STEER_NO_SCALE: none */
	uint16_t mss;  /* 0: the hint is lost */
};

struct segment {
	uint8_t flags;
	struct number seq, end, len, ack, window;
	bool has_ack;
	bool any_options;
	struct option option[SCRIPT_OPTIONS];
	unsigned options;
	struct bytes data;
	bool has_data;
	struct damage damage[SCRIPT_DAMAGES];
	unsigned damages;
	struct told told;
};

enum event_kind {
	EVENT_SEND,
	EVENT_EXPECT,
	EVENT_SILENCE,
	EVENT_STREAM,
	EVENT_COUNTERS,
	EVENT_COUNT,
	EVENT_LET,
	EVENT_REOPEN,
	EVENT_HANDSHAKE,
};

enum on_device { ON_ANY, ON_SIM, ON_VETH };

struct event {
	enum event_kind kind;
	enum on_device on;
	unsigned line;
	const char *text;
	unsigned conn;           /* 0 is @1 */
	uint64_t from_ns, to_ns; /* since the event before; to_ns 0: the device's slack */
	struct segment seg;
	struct bytes pattern[SCRIPT_PATTERNS]; /* in this order in the payload */
	unsigned patterns;
	struct bytes lacks; /* must not be in the payload; empty: none */
	char name[32];      /* of a counter or a variable */
	enum stats_index counter;
	uint64_t delta;
	bool only; /* and no other counter of trouble */
	struct number value;
};

struct script {
	char title[160];    /* the first comment line */
	char sim_only[160]; /* the reason; "": both devices */
	bool ip6;
	uint32_t isn;       /* what the client's 0 stands for */
	unsigned max_conns; /* 0: the device's own */
	/* --steer=path, with these; 0: --steer=port */
	unsigned paths;
	const char *path[STEER_PATHS_MAX];
	bool path_keepalive;
	uint32_t kernel_scale;
	struct event event[SCRIPT_EVENTS];
	unsigned events;
	char error[200];
	unsigned used;
	uint8_t memory[SCRIPT_BYTES];
};

/* Read a file. False: s->error says what is wrong and where. */
bool script_read(struct script *s, const char *path);

/* Where the patterns of an event are in the bytes, one behind the other: the end
 * of the last, or 0. */
uint32_t script_find(const struct event *e, const uint8_t *at, uint32_t len);

/* "pkt_bad_doff" */
const char *script_counter(enum stats_index counter);

#endif
