/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * worker.h - the turn
 *
 * Place    The only module that knows the order of the stages. iothread turns
 *          it between real rings and sockets; tests turn it in virtual time.
 *          Pure, like all that it calls.
 * Model    Connections of either transport are sessions, each with at most one
 *          request in a lane; what was pipelined waits in the session's buffer,
 *          so answers keep their order. One turn:
 *
 *            worker_frame    pkt, tcp, http of each received frame
 *            worker_mtu      what routers say of the path
 *            worker_read     http of each read of a kernel socket
 *            worker_admit    requests to lanes; timers
 *            worker_compute  a slice of lane work
 *            worker_answer   results to answers
 *            worker_flow     what the steering must know, before the first of
 *            worker_emit     tcp, pkt: one due segment into a free frame
 *
 * Owner    All memory is one piece that the caller brings. Frames are the
 *          caller's and may be reused as soon as the call returns.
 * Threads  One worker per I/O thread; it is the one writer of its stats and
 *          stage blocks.
 * Limits   max_conns + max_socks sessions, cache results; see limits.h.
 * Units    now_ns is CLOCK_MONOTONIC, read by the caller between the parts of a
 *          turn, so that each stage has its own time.
 */
#ifndef WORKER_H
#define WORKER_H

#include "abi.h"
#include "base.h"
#include "buf.h"
#include "hop.h"
#include "image.h"
#include "lane.h"
#include "limits.h"
#include "metrics.h"
#include "spsc.h"

struct worker_params {
	unsigned max_conns; /* over frames: ids 0 ... max_conns-1 */
	unsigned max_socks; /* over kernel sockets: the ids behind those */
	unsigned timewait;  /* TIME-WAIT records, a power of two; 0: TIMEWAIT_MAX */
	unsigned mtu;       /* of the interface */
	/* --steer=path: the kernel answers SYNs on the port, and what comes over frames is
	 * below one of these. 0: the port is ours. */
	unsigned paths;
	char path[STEER_PATHS_MAX][STEER_PATH_LEN + 1];
	bool path_keepalive;  /* else each answer over frames ends its connection */
	uint8_t kernel_scale; /* of the windows in the kernel's SYN-ACKs */
	uint8_t secret[16];   /* random */
	uint64_t max_n;
	uint32_t max_body;
	uint32_t cache;    /* results kept; 0: none */
	unsigned lanes;    /* jobs side by side, 1 ... LANES_MAX */
	uint32_t features; /* of the CPU, enum lane_cpu */
	uint32_t slice_us;
	uint32_t max_wait_ms;
	uint32_t header_timeout_ms, body_timeout_ms, idle_timeout_ms;
	struct stats_block *stats;
	struct stage_block *stages;
	/* A struct accesslog_record of each request goes here; a full ring loses it,
	 * counted. NULL: none, and no memory for them. */
	struct spsc *log;
};

enum { WORKER_NONE = 0xffff };

struct worker;

size_t worker_footprint(const struct worker_params *p);
/* Build a worker in zeroed memory, aligned to 64. */
struct worker *worker_init(void *memory, const struct worker_params *p, uint64_t now_ns);

/* From now on record in these blocks; what the old ones hold is added to what they have
 * (of a worker before this one, whose place it takes). */
void worker_set_blocks(struct worker *w, struct stats_block *stats, struct stage_block *stages);

/* Wall clock for Date, and the mode that /healthz tells; both may change. */
/* What fits the interface now. */
void worker_set_mtu(struct worker *w, unsigned mtu);

void worker_set_date(struct worker *w, uint64_t unix_s);
void worker_set_mode(struct worker *w, const char *mode); /* kept by reference */

/* What /metrics shows; until this is called, this worker's blocks. What it points to
 * stays; now_ns and heartbeat_ns are filled in for each answer, from live or, if that
 * is NULL, with none. */
void worker_set_metrics(struct worker *w, const struct metrics_source *source,
			const struct steer_live *live);

/* From now on the cores at the other end of these hops compute. */
void worker_crew(struct worker *w, struct hop *const *hop, unsigned n);

/* The lanes of this thread's core, to be calibrated while nobody is served, and
 * to be told: worker_calibrated, when it is done. */
struct lane *worker_lane(struct worker *w);
void worker_calibrated(struct worker *w);

/* --- the turn -------------------------------------------------------------------- */

/* A received frame; may be written to. meta: what XDP says of it, all 0 if it says
 * nothing. */
void worker_frame(struct worker *w, uint8_t *frame, size_t len, const struct steer_meta *meta,
		  uint64_t now_ns);

/* With paths, each turn before worker_emit, until false: a flow whose entry in the map
 * `flows` must change: to closing, or, when now is none, it is to be deleted. But an
 * entry whose state is not `was` is of a new connection, and stays. was none: of
 * whatever it is. */
struct flow_note {
	struct steer_flow_key key;
	enum flow_state was, now;
};
bool worker_flow(struct worker *w, uint64_t now_ns, struct flow_note *note);
/* Is there anything of this flow here? Of an entry that is old and of no worker's the
 * segment that opens it was lost, and its client has gone. */
bool worker_knows(struct worker *w, const struct steer_flow_key *key);

/* A router could not pass on one of our segments. Is it of this worker? When it is
 * of nobody, one of several workers must count it all the same. */
bool worker_owns(struct worker *w, const struct icmp_event *e);
void worker_mtu(struct worker *w, const struct icmp_event *e, uint64_t now_ns);

void worker_admit(struct worker *w, uint64_t now_ns);
void worker_compute(struct worker *w, uint64_t now_ns);
/* True if a job was done. */
bool worker_answer(struct worker *w, uint64_t now_ns);

/* The next due frame, or 0. *answer: it carries bytes of an answer. */
size_t worker_emit(struct worker *w, uint8_t *frame, size_t room, uint64_t now_ns, bool *answer);

/* When *answer was true: what the stages took of the request whose answer begins there;
 * unknown are those that it did not have. */
void worker_times(const struct worker *w, uint64_t now_ns, struct trace_times *times);

/* Is there a request to admit, a lane of this core to step, a result to write? Is
 * there a job with the crew, whose result worker_answer may find? Frames that are only
 * due for sending are asked for by worker_due. */
bool worker_busy(const struct worker *w);
bool worker_awaits(const struct worker *w);
bool worker_due(const struct worker *w);

/* Bring the counters that tcp keeps by itself into the stats block. */
void worker_publish(struct worker *w);
void worker_gauge(const struct worker *w, struct gauge_block *out, uint64_t now_ns);

/* --- looking in -------------------------------------------------------------------- */

/* The id behind this one, of those that were ever in use, over frames and then over
 * sockets; from the last to the first. */
uint16_t worker_after(const struct worker *w, uint16_t id);
/* All that abi.h says of a connection, but seq, seen_ns and, of a socket, the local port. */
void worker_describe(const struct worker *w, uint16_t id, struct conn_entry *out);

/* The next id of a connection over frames that has opened or ended since it was asked
 * last, perhaps both; false: there is none. */
bool worker_moved(struct worker *w, uint16_t *id);

/* --- connections of kernel sockets ------------------------------------------------- */

/* A free id for a new one, or WORKER_NONE when all are taken. */
uint16_t worker_open(struct worker *w, uint64_t now_ns);
/* Who is at the other end; IPv4 as ::ffff:a.b.c.d. */
void worker_peer(struct worker *w, uint16_t id, const uint8_t address[16], uint16_t port);
/* Where the next bytes shall be read to: *n of them at most. NULL when there is
 * no room now: stop reading until worker_ready names the id. */
uint8_t *worker_room(struct worker *w, uint16_t id, size_t *n);
/* n bytes have been read there. */
void worker_read(struct worker *w, uint16_t id, size_t n, uint64_t now_ns);
void worker_eof(struct worker *w, uint16_t id, uint64_t now_ns);
/* The socket is closed; the id is free. */
void worker_gone(struct worker *w, uint16_t id);
/* An id of a socket that has something new: bytes to write, the wish to be
 * closed, room to read again. WORKER_NONE at the end. */
uint16_t worker_ready(struct worker *w);
/* The next id that is in use behind this one, the first behind WORKER_NONE; WORKER_NONE at
 * the end. */
uint16_t worker_sock_after(const struct worker *w, uint16_t id);
/* What to write; say what was written. */
const struct buf *worker_out(const struct worker *w, uint16_t id);
void worker_sent(struct worker *w, uint16_t id, size_t n, uint64_t now_ns);
/* Nothing more will be written: shut down sending, discard what still comes. */
bool worker_closing(const struct worker *w, uint16_t id);
/* The peer's end was told to worker_eof. */
bool worker_eof_seen(const struct worker *w, uint16_t id);
/* Closing, and nothing more needs to be waited for. */
bool worker_over(const struct worker *w, uint16_t id);

/* --- the end ------------------------------------------------------------------------- */

/* No new connections; each one ends behind its next answer, which says so. Who is idle may
 * have a request on its way: a little later close those. */
void worker_drain(struct worker *w);
void worker_close_idle(struct worker *w, uint64_t now_ns);
/* Connections that are not yet over. */
unsigned worker_live(const struct worker *w);

/* --- to another process -------------------------------------------------------------- */

/* What must be equal in two builds for an image of the one to be read by the other. */
uint64_t worker_layout(void);

/* Bytes that worker_save needs now; after another turn it may be more. */
size_t worker_image_room(const struct worker *w, uint64_t now_ns);
/* Write down what it takes to go on elsewhere, between two turns; the worker is as it was
 * and may go on, should nobody load it. The number of bytes, 0: there was no room. What is
 * not in it: results of the cache, who the metrics, mode, date, crew and log are, and what
 * was counted: blocks stay where they are (worker_publish first). */
size_t worker_save(const struct worker *w, void *image, size_t room, uint64_t now_ns);
/* Go on from an image, right behind worker_init and before anything else is set. Slots and
 * ids stay, those of sockets too if max_conns does (else they move by the difference), and
 * so do deadlines: the clock is one for all processes. The secret is the image's. Lanes may
 * differ: a job that was in one is computed anew from its start, before those who wait; with
 * fewer lanes it may be told that it takes too long. The MTU may be smaller.
 * Then give each id of worker_sock_after its descriptor, or call worker_gone for it;
 * worker_ready names all of them once. Any other result than IMAGE_none says why not, and
 * the worker is as worker_init made it. */
enum image_fault worker_load(struct worker *w, const void *image, size_t len, uint64_t now_ns);

/* Panics when an invariant is broken. For tests and fuzzers. */
void worker_check(const struct worker *w);

#endif
