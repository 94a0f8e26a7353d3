/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * limits.h - every capacity and every time-out, with its reason
 *
 * Place    Read everywhere. What a user may change is a default here and an
 *          option in conf.h; the rest is fixed when the program is built.
 * Units    In the name where the number is not a plain count.
 */
#ifdef _GCC_NEXT_LIMITS_H
/* gcc's <limits.h> asks for the C library's with quotes, and so finds this one. */
#include_next <limits.h>
#elif !defined LIMITS_H
#define LIMITS_H

/* --- frames ------------------------------------------------------------- */
enum {
	/* AF_XDP chunk: the smallest legal size (power of two, 2048 ... page).
	 * Holds 256 bytes of headroom and a frame of the usual 1500 byte MTU. */
	FRAME_SIZE = 2048,
	/* Where the kernel puts the packet in a chunk: XDP_PACKET_HEADROOM. */
	FRAME_HEADROOM = 256,
	/* Longest frame that fits a chunk; the MTU we accept follows from it. */
	FRAME_ROOM = FRAME_SIZE - FRAME_HEADROOM,
	/* Rings of one queue, in entries. A burst must not find fill empty (failure
	 * mode 1): it is filled with twice what RX holds. The ring is twice as long
	 * again, since in copy mode the kernel shows a received frame before it
	 * takes back the fill entry (xsk_flush): for a moment a frame that we return
	 * needs a second one. */
	RING_RX = 128,
	RING_FILL = 512,
	RING_TX = 128,
	RING_COMP = 128,
	/* Chunks: 512, 1 MiB of UMEM. RX frames are in fill, in RX, or held by a
	 * batch; the others in TX, in completion, or free. */
	RX_FRAMES = 256,
	RING_FRAMES = 512,
	/* Frames taken in one turn. 32 is what one sendto sends in copy mode
	 * (kernel: TX_BATCH_SIZE), so one turn's answers leave with one call. */
	BATCH_MAX = 32,
	/* RX queues of one interface that we open sockets for. */
	QUEUES_MAX = 16,
	/* Rung packet: a BPF ring buffer for each RX queue, which must be a power of two and
	 * a multiple of the page. What a frame takes there is one of two sizes, each with 32
	 * bytes besides: FRAME_ROOM, or this, which holds SYNs, ACKs and most requests. So it
	 * is full with 143 long frames or 910 short ones. */
	FRAMES_RING_BYTES = 256 * 1024,
	PACKET_SHORT = 256,
	/* Rung packet: frames under way, two batches, 128 KiB. A call sends them all; what the
	 * card did not take waits here. */
	PACKET_TX = 64,
};
_Static_assert(FRAMES_RING_BYTES / (FRAME_ROOM + 32) >= RING_RX, "no less than an AF_XDP ring");
_Static_assert(RX_FRAMES >= 2 * RING_RX, "fill holds a burst");
_Static_assert(RING_FILL >= RX_FRAMES + RING_RX, "entries that are not yet taken back");
_Static_assert(RING_FRAMES >= RX_FRAMES + RING_TX + RING_COMP, "no ring can starve another");

/* --- connections -------------------------------------------------------- */
enum {
	CONNS_DEFAULT = 1024,
	CONNS_MAX = 60000, /* slots are 16-bit numbers */
	/* When all slots are taken, of so many sessions the longest idle one gives way,
	 * if it has been idle for a second: less may be a pause between requests. */
	EVICT_LOOK = 64,
	EVICT_IDLE_MS = 1000,
	/* Segments that answer no connection (SYN-ACK, RST, TIME-WAIT's ACK)
	 * waiting for a free frame: two batches; beyond, they are counted and lost. */
	STUBS_MAX = 64,
	/* TIME-WAIT records (32 bytes each): 4 ways by 1024 buckets; the oldest of a
	 * bucket gives way, counted. 10 s at 400 server-side closes a second. */
	TIMEWAIT_MAX = 4096,
	/* --steer=path: changes of flows, told each turn: two for each connection that a
	 * batch of frames opens and ends, of four queues. When they are full, slots wait. */
	FLOW_NOTES = 256,
	/* TIME-WAIT records looked at each millisecond, for those that are over: all in
	 * a quarter of a second. */
	TIMEWAIT_SWEEP = 16,
	/* Flows whose SYN was answered in the last 3 s (12 bytes each): 4 ways by 1024
	 * buckets; the oldest of a bucket gives way. At 1,000 SYNs/s 2 % are lost within a
	 * second; one way by 4096 would lose 22 %, and of a hundred SYNs at once one. */
	EARLY_MAX = 4096,
	/* Connections of the kernel-socket rung, open at once. */
	SOCKS_DEFAULT = 256,
	/* Of the list that saker-stat shows, so many are written each 50 ms. */
	CONNS_SHOWN = 128,
};

/* --- bytes --------------------------------------------------------------- */
enum {
	/* RFC 9112 sets no limit; nginx and Apache take 8 KiB. */
	HTTP_HEAD_MAX = 8192,
	HTTP_TARGET_MAX = 2048,
	HTTP_BODY_DEFAULT = 16384,
	HTTP_BODY_MAX = 1 << 20,
	/* Blocks for what cannot be used or sent at once: a request in pieces, an
	 * answer not yet acknowledged. An answer of /compute takes about 350 bytes,
	 * but room for the longest is asked for: a small block takes one more
	 * while some are unacknowledged. Their pages are touched by use only. */
	BUF_SMALL = 2048,
	/* Large blocks: one for each connection that uploads, or whose answers are
	 * not taken, or that has a gap (half of them at most); one for every fourth
	 * slot. Who comes later waits (its bytes are not acknowledged). */
	BUF_LARGE_MIN = 64,
	BUF_LARGE_SHARE = 4,
	/* Longest answer head + body that http_write makes. */
	HTTP_ANSWER_MAX = 1024,
	/* --cache: 48 bytes an entry and 4 to 8 for its bucket, 52 MiB at most */
	CACHE_MAX = 1 << 20,
};
_Static_assert(HTTP_ANSWER_MAX <= BUF_SMALL, "every answer fits the smallest block");

/* --- paths ---------------------------------------------------------------- */
enum {
	/* ICMP errors that ask for less are refused. Linux: min_pmtu, 512 + 40; a path
	 * that is narrower than that starves. RFC 8201 4: no IPv6 link is. */
	TCP_MTU_MIN4 = 552,
	TCP_MTU_MIN6 = 1280,
};

/* --- time --------------------------------------------------------------- */
enum {
	/* RFC 6298 2.4 asks for a minimum RTO of 1 s; Linux and FreeBSD use 200
	 * and 30 ms. On a LAN 200 ms is above every delayed ACK (40 ms Linux). */
	TCP_RTO_MIN_MS = 200,
	TCP_RTO_FIRST_MS = 1000, /* RFC 6298 2.1 */
	TCP_RTO_MAX_MS = 60000,  /* RFC 6298 2.5 */
	/* Retransmissions before giving up: 0.2 + 0.4 ... + 25.6 = 51 s on a LAN.
	 * Less than R2 of RFC 9293 3.8.3 (100 s; Linux: 15, a quarter of an hour),
	 * because the clients of short requests do not wait so long. */
	TCP_RETRIES = 7,
	/* RFC 9293 3.8.6.3: below 500 ms. The answer usually carries the ACK. */
	TCP_DELACK_MS = 20,
	/* RFC 9293 says 2 MSL; Linux keeps 60 s. A stub knows sequence numbers
	 * and timestamps, so reuse before the end is safe (RFC 6191). */
	TCP_TIMEWAIT_MS = 10000,
	/* After our FIN a connection ends when the peer has acknowledged nothing new
	 * for so long, whatever it still sends (Linux tcp_fin_timeout: 60 s). */
	TCP_LINGER_MS = 20000,
	/* RFC 5681 3.2: duplicates that mean a loss, and not another order. */
	TCP_DUP_THRESH = 3,
	/* Tail loss probe: twice the smoothed round trip, at least 10 ms (two ticks of
	 * the wheel; RFC 8985 7.2 and Linux: 10 ms when more than one segment is out).
	 * For a single segment the peer's delayed ACK is added: Linux 40, Windows 50,
	 * macOS 100 ms (RFC 8985 says 200 where nothing is known). */
	TCP_PROBE_MIN_MS = 10,
	TCP_PEER_DELACK_MS = 100,
	/* Linux: tcp_invalid_ratelimit */
	TCP_CORRECT_MS = 500,
	/* A client sends its SYN again after 1 s (RFC 6298), data after 0.2 to 3 s. */
	TCP_EARLY_MS = 3000,
	/* Linux puts the SYN's options into the low six bits of the timestamp that goes
	 * with a cookie, and so behind its clock by so much at most (TSBITS). */
	TCP_COOKIE_TS_MS = 64,
	/* Two cookies are valid at any time: this epoch's and the last one's. */
	TCP_COOKIE_EPOCH_MS = 16000,

	HEADER_TIMEOUT_MS = 10000, /* a request's head must be complete by then */
	/* A body must be complete by then, or have come at RATE_MIN; each such window
	 * buys the next (Apache's mod_reqtimeout: body=20,MinRate=500). */
	BODY_TIMEOUT_MS = 20000,
	IDLE_TIMEOUT_MS = 60000, /* keep-alive without a request; answers: as bodies */
	RATE_MIN = 500,          /* bytes a second; nginx counts silence only */
	DRAIN_S = 5,
	/* An idle client may have sent a request when the end began: so long it is waited
	 * for. More than a round trip on any LAN. */
	DRAIN_IDLE_MS = 200,
	STALL_MS = 1000, /* heartbeat older than this: XDP lets frames pass */
};

/* --- compute ------------------------------------------------------------- */
enum {
	/* Jobs side by side on one core. More raises the latency of all: on an AMD
	 * EPYC (Zen 5) 64 lanes of AVX-512 take 1.3 times as long as one, 128 take 1.5;
	 * a Cortex-A76 is at its limit with 24. --lanes */
	LANES_DEFAULT = 64,
	LANES_MAX = 128,
	/* Lanes besides, for jobs of so few rounds that they are over within a slice:
	 * 16 us on a core of 4 GHz, 21 us on a Cortex-A76. */
	LANE_EXPRESS = 16,
	LANE_SHORT = 16384,
	LANE_BODIES_MAX = 96, /* of all algorithms and instruction sets of one CPU */
	LANE_SAMPLE_US = 10,  /* of calibration: less than a frame takes to be answered */
	LANE_SAMPLES = 7,     /* of each body, of which the fastest counts: an interruption
				* may spoil some */
	SLICE_US = 50,        /* between two looks at the ring */
	/* A slice that takes an eighth longer than it should, and this, was interrupted:
	 * of those that were not, 95 % are within 2 % (EPYC, Zen 5), and the kernel's
	 * timer tick alone takes 15 us there, every 80th slice. */
	SLICE_NOISE_NS = 1000,
	/* With a crew: so few rounds take less time (0.25 us) than the way to another
	 * core and back. */
	ROSTER_OWN = 256,
	/* Requests that wait for a lane, on one I/O thread: at 64 lanes and 10M rounds
	 * 16 batches, 0.25 s of a core with AVX-512. */
	WAITING_MAX = 1024,
	/* How old a forecast may be when the next request asks it: a thousandth of the
	 * usual --max-wait-ms. To look anew takes 11 us with 1024 who wait (Zen 5), and
	 * 21 with 16 compute cores. */
	FORECAST_US = 1000,
	N_DEFAULT = 10000000,
	N_MAX_DEFAULT = 100000000,
	WAIT_MAX_MS = 1000, /* --max-wait-ms: longer waits for a lane are refused, 503 */
};

/* --- threads ---------------------------------------------------------------- */
enum {
	/* Each I/O thread has an RX queue at least, and there are no more of those. */
	IO_THREADS_MAX = QUEUES_MAX,
	CREW_MAX = 16, /* compute cores; an I/O thread looks at a ring of each */
	/* How long an idle compute core spins before it sleeps. To sleep and be woken
	 * costs about as much, so waiting is at most twice as dear as knowing better. */
	SPIN_US_DEFAULT = 50,
	/* A thread takes what it is given within a turn; one that does not stands still. */
	GIVE_MS = 1000,
	/* Records from an I/O thread to the next, of 48 bytes: what icmp_ring brings in
	 * two turns. When they are full the rest waits in icmp_ring. */
	RELAY_RECORDS = 64,
};
enum {
	/* --access-log: what an I/O thread may be ahead of the writer, 216 bytes each
	 * (1.7 MiB, touched only with a log): 40 ms of 200,000 requests a second, while
	 * the writer looks each 10 ms when it has nothing to do. */
	LOG_RECORDS = 8192,
	LOG_PAUSE_MS = 10,
	LOG_BATCH = 1 << 16, /* bytes a write: about 500 lines */
};
_Static_assert(RELAY_RECORDS >= 2 * BATCH_MAX, "a turn's worth always fits an empty ring");

/* --- processes --------------------------------------------------------------- */
enum {
	CHILD_UP_MS = 5000, /* from the fork until the port is answered: 2 ms here */
	/* A worker that dies younger than that may do so again: the next one comes after a
	 * pause, twice as long each time. */
	CHILD_YOUNG_MS = 1000,
	CHILD_PAUSE_MS = 250,
	CHILD_PAUSE_MAX_MS = 16000,
	CHILD_END_MS = 2000, /* to join its threads, each within a slice; then SIGKILL */
	/* A device that came back may not be up yet, a card that hung may send again; twice
	 * as long each time. */
	LINK_AGAIN_MS = 1000,
	LINK_AGAIN_MAX_MS = 60000,
	/* The worker must have been well for so long before its stand-in goes. */
	STAND_IN_MS = 2000,
};

/* --- memory ------------------------------------------------------------------ */
enum {
	/* --memory: what two processes take beside the tables: smaps of both behind a load,
	 * x86-64, Debian 12, 4 KiB pages: the binary 0.4 MB (both map it), libbpf and the C
	 * library by share 0.2, heaps, stacks, data. A share is the larger the fewer others use
	 * the C library: 1.3 MB where nobody does. */
	BUDGET_PROCESSES = 960 * 1024,
	/* An I/O thread or compute core: stack and thread block, and its part of struct
	 * server. */
	BUDGET_THREAD = 24 * 1024,
	/* On larger pages each small mapping takes a whole one, half a page more on the
	 * average: so many of both processes that the difference is that of an emulated
	 * Cortex-A76 with 16 KiB pages, 0.34 MB, the C library left out. */
	BUDGET_PAGE = 4096,
	BUDGET_MAPPINGS = 56,
	BUDGET_RING_HEAD = 384, /* struct xdp_ring, before the descriptors */
	/* It sizes no table below this. */
	BUDGET_CONNS_MIN = 16,
	BUDGET_TIMEWAIT_MIN = 256,
	BUDGET_LOG_MIN = 512,
};

/* --- trace ------------------------------------------------------------------ */
enum {
	/* Of each I/O thread, for saker-stat trace. It looks each millisecond: this takes
	 * 5 ms of full-size frames at 25,000/s each way, or 9 of short ones at 150,000/s. A multiple
	 * of the largest page (arm64: 64 KiB), so that the thread can map the first page
	 * of its own alone. */
	TRACE_ENTRY = 256 * 1024,
	TRACE_BYTES = TRACE_ENTRY - 3 * 64, /* without the words in front */
	/* A reader that does not say in time that it lives is dead. */
	TRACE_LEASE_MS = 1000,
};

/* --- watchdog --------------------------------------------------------------- */
enum {
	/* No progress for so long in spite of demand: the first remedy. A veth completes in
	 * 0.1 ms, a card at 100 Mbit/s empties a TX ring of 128 full frames in 16. */
	WATCH_STILL_MS = 250,
	/* So many frames that should have come and did not: one or two may have been lost on
	 * the way with nobody counting (an interface that goes down). */
	WATCH_LEAST = 3,
	/* Some drivers read the counters of their cards every 2 s only (igb); the starter asks
	 * the card once a second. */
	WATCH_NIC_STILL_MS = 5000,
	WATCH_STEP_MS = 750,      /* for a kick or a refill to show */
	WATCH_NIC_STEP_MS = 3000, /* the same in the card's count */
	WATCH_REBIND_MS = 3000,   /* for the starter to bind anew; EBUSY is tried for 50 ms */
	WATCH_RETRY_MS = 10000,   /* after the last step: begin again, if nobody acted */
	/* The same part again within so long: what was tried did not help. */
	WATCH_RELAPSE_MS = 30000,
	/* Two looks further apart than this: the thread did not run; they are 50 ms apart. */
	WATCH_GAP_MS = 200,
};

/* --- steering ------------------------------------------------------------- */
enum {
	STEER_ADDRS_MAX = 8,
	/* --path: prefixes, and bytes of each that XDP compares */
	STEER_PATHS_MAX = 4,
	STEER_PATH_LEN = 32,
	/* After a fall-through a segment of no kernel connection is dropped for so
	 * long (the client sends again, by then we may be back), then passed. */
	STEER_GRACE_MS = 3000,
	/* --allow and --deny: from the command line, and in all. A lookup takes as long
	 * as prefixes are nested in each other, not as there are many. */
	RULES_MAX = 64,
	ACCESS_MAX = 1024,
	/* Sources whose rates are known, 0.6 MiB in the kernel. Of more than that at a
	 * time, those who send seldom find full buckets; who floods stays. */
	SOURCES_MAX = 4096,
	/* --limit-syns, --limit-frames: a bucket counts in whole ns, at 10 million a
	 * second 100 of them: wrong by 1 % at most. */
	LIMIT_RATE_MAX = 10000000,
	/* --steer=path: SYNs remembered, the oldest give way; 0.9 MB with the keys. Data
	 * follows a SYN within a round trip: at a flood of 20,000/s one lives for 0.4 s.
	 * A lost one costs its connection SACK and long segments, nothing more. */
	SYN_HINTS = 8192,
	/* Entries of the flow map that an I/O thread looks at each 50 ms: 5,120 in 16 s. One
	 * is old when its client must have sent its first segment again, and again. */
	FLOWS_SWEEP = 16,
	FLOWS_OLD_MS = 10000,
	/* Of a request line, so much is looked at: a method (the longest registered one
	 * has 17: UPDATEREDIRECTREF), space, "http://", a host of 253 with port, a path. */
	LINE_METHOD = 24,
	LINE_LOOK = LINE_METHOD + 1 + 7 + 253 + 6 + STEER_PATH_LEN + 1,
	/* Records of 56 bytes: 1,170 of them. A ring buffer must be a power of two and
	 * a multiple of the page, and arm64 has pages of 4, 16 and 64 KiB. */
	ICMP_RING_BYTES = 64 * 1024,
	/* Frames are given to the card and none comes back for so long: it does not
	 * send any more (failure modes 4 and 5): WATCH_STILL_MS + WATCH_STEP_MS. */
	TX_STALL_MS = 1000,
	TEST_SEND_MS = 50, /* completion of the test send; veth: under 0.1 ms */
};

#endif
