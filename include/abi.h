/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * abi.h - what the XDP program, the responder and the tools share
 *
 * Place    bpf/ writes and reads it in maps, userspace/ maps the same pages,
 *          tools/ look at them. Pinned under /sys/fs/bpf/saker/IFACE/.
 * Model    Every map has a BTF type from here, so plain `bpftool map dump
 *          pinned` prints these names. One writer for each block: recording
 *          is a load, an add and a store.
 * Threads  Readers see a block that may be a few events old in part; nothing
 *          is ever decremented, so differences are never negative.
 * Units    ns of CLOCK_MONOTONIC (bpf_ktime_get_ns is the same clock).
 *
 *   map        entries                  writer                     mmapable
 *   config     1                        starter, before attach     no
 *   live       1                        starter and I/O threads    yes
 *   mode       1                        starter; rx and tx, once   yes
 *                                       steering, the I/O threads
 *   counters   I/O threads, compute     each its own block; XDP    yes
 *              cores, CPUs              that of its CPU
 *   stages     a block per I/O thread   I/O thread                 yes
 *   lanes      a table per I/O thread   starter, twice each        yes
 *              and compute core
 *   gauges     a block per I/O thread  I/O thread, each 50 ms     yes
 *   rings      a block per RX queue    its I/O thread, too        yes
 *   conns      max_conns + SOCKS_      I/O thread, some each      yes
 *              DEFAULT an I/O thread   50 ms
 *   summary    1                        starter, each second       yes
 *   trace      an entry per I/O thread  saker-stat trace, and the  yes
 *                                       I/O thread (trace.h)
 *   limits     1                        starter, saker-ctl         yes
 *   access     ACCESS_MAX prefixes      starter, saker-ctl; XDP    no
 *                                       counts
 *   sources    SOURCES_MAX, the ones    XDP                        no
 *              seen last
 *   source_    sources with open        I/O threads, each its      no
 *     conns    connections              own keys
 *   xsks_map   a socket per RX queue    starter                    no
 *   frames_q   a ring buffer per RX     the tc program; the ring   its ring
 *              queue (rung packet, in   buffer's I/O thread takes  buffers
 *              the place of xsks_map)
 *   icmp_ring  ICMP_RING_BYTES          XDP; I/O thread 0 takes    yes
 *   flows      max_conns + TIMEWAIT_    XDP adds; I/O threads      no
 *              MAX an I/O thread        mark and delete
 *   syn_hints  SYN_HINTS                XDP                        no
 */
#ifndef ABI_H
#define ABI_H

#include <stdint.h>
#include "limits.h"

enum { ABI_VERSION = 5 };

/* RX queue q belongs to I/O thread q % io_threads. Thread t has block t of counters,
 * of stages and of lanes, compute core k block io_threads + k of counters and of lanes,
 * and the XDP program on CPU c block io_threads + compute_cores + c of counters. Behind
 * them are the stand-in's and the starter's; the stand-in has the last block of stages
 * and of gauges too. The numbers are in mode; the maps are as long as that. */
enum { ABI_CPUS_MAX = 256 };
enum { ABI_BLOCKS_MAX = IO_THREADS_MAX + CREW_MAX + ABI_CPUS_MAX + 2 };
enum { ABI_MODE_TEXT = 128 };

#define STEER_LIST(X) X(port) X(path)
enum abi_steer {
#define X(name) STEER_##name,
	STEER_LIST(X)
#undef X
};

/* --- config: what the XDP program was told ------------------------------ */
/* --path: a target matches that is text, or goes on behind it with '/' or '?'. */
struct steer_path {
	uint32_t len;
	char text[STEER_PATH_LEN];
};

struct steer_config {
	uint32_t version;
	uint16_t port;                     /* host order */
	uint16_t port_be;                  /* as it stands in a frame */
	uint8_t mac[6];                    /* of the interface; other destinations are passed */
	uint16_t addr_count;               /* 0: every address */
	uint8_t addr[STEER_ADDRS_MAX][16]; /* IPv4 as ::ffff:a.b.c.d */
	uint64_t stall_ns;                 /* heartbeat older than this: fall through */
	uint64_t grace_ns;                 /* then drop segments of nobody for so long */
	uint32_t io_threads;               /* 1 ... IO_THREADS_MAX */
	uint32_t cpu_block;                /* block of counters of CPU 0 */
	enum abi_steer steer;
	uint32_t path_count; /* STEER_path: 1 ... STEER_PATHS_MAX */
	struct steer_path path[STEER_PATHS_MAX];
	uint64_t early_ns;       /* a SYN that is younger: its first data may be on the way */
	uint32_t kernel_options; /* enum steer_kernel_options */
	uint32_t zero;           /* bpf/loop.h */
};

/* What the kernel agrees to with clients that ask for it: the three settings
 * net.ipv4.tcp_timestamps, tcp_window_scaling and tcp_sack. */
enum steer_kernel_options { STEER_KERNEL_SCALE = 1, STEER_KERNEL_SACK = 2 };

/* --- live: the words that steer from one packet to the next ------------- */
struct steer_beat {
	/* when; bit 0: STEER_KERNEL_FLOWS. One word, so that XDP on another CPU sees
	 * both or neither. */
	uint64_t heartbeat_ns;
} __attribute__((aligned(64))); /* each thread writes a cache line of its own */

struct steer_live {
	/* written by the starter */
	uint64_t ready; /* 1: redirect; 0: pass */
	uint64_t held;  /* 1: no carrier, or set down: the watchdog waits */
	/* frames that the card counts as sent, and when it was asked; 0: not yet. The time
	 * is stored last. */
	uint64_t nic_sent, nic_ns;
	/* written by the I/O threads; a frame goes by that of its queue. The last one is the
	 * stand-in's, which has no queue. */
	struct steer_beat io[IO_THREADS_MAX + 1];
};
enum { STEER_STAND_IN = IO_THREADS_MAX };

/* The kernel may hold connections on the port: look before redirecting. */
enum { STEER_KERNEL_FLOWS = 1 };

/* What XDP puts in front of a redirected frame (xdp_md->data_meta). All but the stamp
 * is of STEER_path. */
struct steer_meta {
	uint64_t stamp_ns; /* when the program saw the frame; 0: no stamp */
	uint16_t mss;      /* STEER_META_ADOPT: of the SYN; 0: what it said was lost */
	uint8_t scale;     /* of the SYN: 0 ... 14; STEER_NO_SCALE: none, or it was lost */
	uint8_t flags;     /* enum steer_meta_flags */
	uint32_t unused;
};
enum { STEER_NO_SCALE = 255 };

/* The kernel answered the SYN, with a cookie. It agrees to scaling and to SACK only with
 * clients that send timestamps, so a first segment without them has neither, whatever
 * scale and STEER_META_SACK say of the SYN. */
enum steer_meta_flags {
	/* The segment opens a connection: it begins at the client's ISN + 1, and the
	 * cookie that it acknowledges was checked. Sent again it has the flag again: then
	 * the worker may have the connection already, or its TIME-WAIT. */
	STEER_META_ADOPT = 1,
	STEER_META_SACK = 2, /* the SYN offered SACK */
	/* The first segment passed less than early_ns ago: it may have been lost on the
	 * ring, and will be sent again. No reason for RST when the worker has no such
	 * connection. */
	STEER_META_EARLY = 4,
};

/* --- flows: connections of ours, with STEER_path -------------------------- */
struct steer_flow_key {
	uint8_t remote[16]; /* the client; IPv4 as ::ffff:a.b.c.d */
	uint8_t local[16];
	uint16_t remote_port, local_port; /* host order */
	uint32_t zero;
};

#define FLOW_LIST(X) \
	X(none) \
	X(ours)    /* all segments to the worker, a SYN too (RFC 5961 4) */ \
	X(closing) /* the same, but a SYN counts as new: to the kernel (RFC 6191) */
enum flow_state {
#define X(name) FLOW_##name,
	FLOW_LIST(X)
#undef X
} __attribute__((packed));

struct steer_flow {
	uint64_t since_ns; /* of its first segment */
	enum flow_state state;
	uint8_t unused;
	uint16_t queue;     /* RX queue of that, so it is I/O thread queue % io_threads' */
	uint32_t first_seq; /* of that: the client's ISN + 1 */
};

/* --- syn_hints: what SYNs said that the kernel answered ------------------- */
/* Of the same key; the oldest give way. */
struct syn_hint {
	uint64_t seen_ns;
	uint32_t isn;
	uint16_t mss;  /* RFC 9293 3.7.1: 536 (IPv4) or 1220 (IPv6) where none was said */
	uint8_t scale; /* as in steer_meta */
	uint8_t flags; /* STEER_META_SACK */
};

/* --- frames_q: frames of ours, with rung packet ---------------------------- */
/* A record of the ring buffer of the frame's RX queue. It may be longer than what is in it. */
struct packet_record {
	struct steer_meta meta;
	uint32_t len;   /* of the frame; a VLAN tag is in it, as it came by the wire */
	uint16_t queue; /* RX queue */
	uint16_t unused;
	uint8_t data[];
};

/* --- limits, access, sources: who may come in (bpf/guard.h) --------------- */
/* For each source: an IPv4 address, an IPv6 /64. 0 is no limit; a rate without a burst
 * lets one pass at a time. */
struct limits {
	uint32_t conns; /* open at once */
	uint32_t syns_per_s, syns_burst;
	uint32_t frames_per_s, frames_burst;
};

#define ACCESS_LIST(X) X(none) X(allow) X(deny)
enum abi_access {
#define X(name) ACCESS_##name,
	ACCESS_LIST(X)
#undef X
};

/* The longest prefix that holds an address decides. */
struct access_key {
	uint32_t bits;    /* that count; IPv4: 96 and those of its prefix */
	uint32_t addr[4]; /* in network order, IPv4 as ::ffff:a.b.c.d; the others are 0 */
};
enum { ACCESS_BITS = 128, ACCESS_BITS4 = 96 };

struct access_rule {
	enum abi_access what;
	uint32_t unused;
	uint64_t dropped; /* segments, by a rule that denies */
};

struct source_key {
	uint32_t addr[4]; /* as in access_key; of IPv6 the first half */
};

struct source {
	uint64_t syns_full_ns, frames_full_ns; /* when its buckets are full again */
	uint64_t dropped_syn_rate, dropped_conns, dropped_frame_rate;
};

/* The value is a number: connections of the source that are open on that I/O thread. */
struct source_thread {
	struct source_key source;
	uint32_t thread;
};

/* --- icmp_ring: a router could not pass on one of our segments ----------- */
/* RFC 1191 4, RFC 4443 3.2; what is quoted of the segment, as bpf/icmp.h read it. */
struct icmp_event {
	uint8_t remote[16];               /* where the segment was going; IPv4 as ::ffff:a.b.c.d */
	uint8_t local[16];                /* ours */
	uint16_t remote_port, local_port; /* host order */
	uint32_t seq;
	uint32_t mtu;    /* as the router says: 0 from one older than RFC 1191 */
	uint32_t family; /* 4 or 6: of the ICMP, and of the segment */
};

/* --- mode: what is really in effect ------------------------------------- */
#define RUNG_LIST(X) X(none) X(socket) X(packet) X(xdp_generic) X(xdp_native)
enum abi_rung {
#define X(name) RUNG_##name,
	RUNG_LIST(X)
#undef X
};
#define COPY_LIST(X) X(none) X(copy) X(zero_copy)
enum abi_copy {
#define X(name) COPY_##name,
	COPY_LIST(X)
#undef X
};
#define STATE_LIST(X) X(starting) X(ready) X(draining) X(stopped)
enum abi_state {
#define X(name) STATE_##name,
	STATE_LIST(X)
#undef X
};
#define PROOF_LIST(X) X(unproven) X(proven)
enum abi_proof {
#define X(name) PROOF_##name,
	PROOF_LIST(X)
#undef X
};

struct mode {
	uint32_t version;
	uint32_t pid;
	enum abi_state state;
	enum abi_rung rung;
	enum abi_copy copy;
	enum abi_proof tx; /* proven: the test send of each thread completed, and none is stuck */
	enum abi_proof rx; /* proven: a redirected frame came */
	uint32_t queues;
	uint32_t port;
	uint32_t io_threads, compute_cores;
	int32_t io_cpu[IO_THREADS_MAX]; /* -1: no such thread */
	int32_t compute_cpu[CREW_MAX];  /* -1: no such core */
	uint32_t io_isolated;  /* bit t: io_cpu[t] is in /sys/devices/system/cpu/isolated */
	uint32_t lanes;        /* jobs side by side on a core */
	uint32_t max_conns;    /* of each I/O thread */
	uint64_t started_ns;   /* exec, as far as main can see it */
	uint64_t listening_ns; /* the socket rung accepts */
	uint64_t ready_ns;     /* the bypass is in effect; 0: it is not */
	char ifname[16];
	char program[24]; /* version of the responder */
};

/* --- counters ------------------------------------------------------------ */
/* Every frame and request that ends, ends under one of these names. */
#define STATS_LIST(X) \
	/* XDP program, in the order of its judgement; sum of xdp_* without xdp_seen is xdp_seen */ \
	X(xdp_seen, "frames that the XDP program looked at (--io=packet: the tc program)") \
	X(xdp_redirected, \
	  "frames steered to the responder: the sum of rx_frames, rx_ring_full, rx_dropped and " \
	  "rx_abandoned") \
	X(xdp_pass_short, "passed: header cut off or impossible length") \
	X(xdp_pass_other, "passed: neither IPv4 nor IPv6 (ARP, LLDP, two VLAN tags ...)") \
	X(xdp_pass_proto, "passed: IP, not TCP (ICMP, ND, UDP ...)") \
	X(xdp_pass_fragment, "passed: a later fragment, which has no ports") \
	X(xdp_pass_port, "passed: TCP to another port") \
	X(xdp_pass_addr, "passed: our port, an address that is not served (--addr)") \
	X(xdp_pass_mac, "passed: not addressed to this interface's MAC") \
	X(xdp_pass_unready, "passed: responder not ready") \
	X(xdp_pass_stalled, "passed: responder's heartbeat is stale") \
	X(xdp_pass_kernel, "passed: connection of the kernel's socket") \
	X(xdp_pass_queue, "passed: no socket (--io=packet: no ring) for this RX queue") \
	/* with --steer=path, in the order of that judgement (bpf/path.h) */ \
	X(xdp_pass_syn, "passed: SYN, which the kernel answers with a cookie (--steer=path)") \
	X(xdp_pass_odd, "passed: IPv4 options, IPv6 extension headers or a fragment, of no " \
			"connection of ours (--steer=path)") \
	X(xdp_pass_fin, "passed: FIN before any data (--steer=path)") \
	X(xdp_pass_request, "passed: first segment, which asks for what is not ours (--path)") \
	X(xdp_pass_flows, "passed: first segment of ours, and the flow map is full") \
	X(xdp_pass_meta, "passed: first segment of ours, and the driver has no room for metadata") \
	X(xdp_pass_stranger, "passed: segment of no connection that is known (--steer=path)") \
	X(xdp_drop_stray, \
	  "dropped: segment of no kernel connection while unready or stalled; will be sent again") \
	X(xdp_drop_options, "dropped: our port, with IPv4 options or IPv6 extension headers, of " \
			    "no kernel connection") \
	X(xdp_drop_fragment, "dropped: our port, a first fragment, of no kernel connection") \
	X(xdp_drop_denied, "dropped: our port, from a prefix that is denied (--deny)") \
	X(xdp_drop_syn_rate, "dropped: SYN from a source that sends too many (--limit-syns)") \
	X(xdp_drop_conns, "dropped: SYN from a source with enough connections (--limit-conns)") \
	X(xdp_drop_frame_rate, \
	  "dropped: frame from a source that sends too many (--limit-frames)") \
	X(xdp_drop_handshake, \
	  "dropped: last ACK of a handshake, or a probe before the first data, " \
	  "which decides (--steer=path)") \
	X(xdp_drop_early, "dropped: segment that overtook the first one; will be sent again " \
			  "(--steer=path)") \
	/* with rung packet, where AF_XDP would count rx_ring_full and rx_dropped */ \
	X(xdp_drop_ring, "dropped: the ring of its RX queue was full, we looked too late " \
			 "(--io=packet); will be sent again") \
	X(xdp_drop_large, "dropped: longer than a frame of ours may be, merged by GRO or LRO " \
			  "(--io=packet); will be sent again") \
	/* frames that passed as xdp_pass_proto, and were read besides */ \
	X(icmp_told, "ICMP errors about the MTU of our segments, told to the I/O thread") \
	X(icmp_lost, "and not told: icmp_ring was full") \
	/* ring */ \
	X(rx_frames, "frames taken from the RX rings") \
	X(tx_frames, "frames given to the TX rings") \
	X(tx_completed, "frames that the kernel has finished sending") \
	X(tx_kicks, "system calls to start sending") \
	X(tx_kick_retries, "kicks that the kernel put off (EAGAIN, EBUSY, ENOBUFS)") \
	X(tx_stalls, \
	  "times that the card sent nothing for a second: new connections went to the kernel") \
	/* watchdog: what was tried when a ring stood still, in this order (watch.h) */ \
	X(watch_kicks, "times that sending stood still, and the kernel was woken") \
	X(watch_refills, "times that receiving stood still, and the kernel was woken") \
	X(watch_rebinds, "and it did not help: times that new sockets were asked for") \
	X(watch_rungs, "and they did not help: times that the next rung was asked for") \
	X(tx_no_frame, "turns in which an answer waited for a free frame") \
	/* what the kernel says of the AF_XDP sockets (XDP_STATISTICS), each 50 ms */ \
	X(rx_ring_full, "redirected frames lost: the RX ring was full, we looked too late") \
	X(rx_dropped, "redirected frames lost: no fill entry, or longer than a chunk") \
	X(tx_invalid, "TX descriptors that the kernel refused") \
	/* by the starter, when sockets were closed: a worker died, or they are opened anew */ \
	X(rx_abandoned, "redirected frames that nobody took before their socket was closed") \
	X(tx_abandoned, "frames on a TX ring that was closed before they completed") \
	/* pkt: frames dropped as malformed */ \
	X(pkt_ok, "frames that parsed as a TCP segment") \
	X(pkt_bad_option, \
	  "TCP segment accepted, its option list is malformed: the rest of the list ignored") \
	X(pkt_bad_eth, "dropped: shorter than its Ethernet header and tag") \
	X(pkt_bad_type, "dropped: not TCP over IPv4 or IPv6") \
	X(pkt_bad_ip_header, "dropped: IP version, IHL or header cut off") \
	X(pkt_bad_ip_length, "dropped: IP total length beyond the frame or too small") \
	X(pkt_bad_ip_csum, "dropped: wrong IPv4 header checksum") \
	X(pkt_ip_options, "dropped: IPv4 options or IPv6 extension header") \
	X(pkt_fragment, "dropped: IPv4 fragment") \
	X(pkt_bad_addr, "dropped: source or destination address cannot talk TCP (broadcast, " \
			"multicast, unspecified, LAND)") \
	X(pkt_bad_doff, "dropped: TCP data offset below 5 or beyond the segment") \
	X(pkt_bad_tcp_csum, "dropped: wrong TCP checksum") \
	X(pkt_bad_port, "dropped: TCP port 0") \
	X(pkt_unread, "frames in the hands of a worker when it died") \
	/* tcp: one for each segment */ \
	X(tcp_syn, "SYN answered with a cookie") \
	X(tcp_opened, "segments that opened a connection") \
	X(tcp_accepted, "segments accepted on a connection") \
	X(tcp_early, \
	  "dropped: overtook the segment that opens its connection, or a SYN that the kernel " \
	  "must see (--steer=path); will be sent again") \
	X(tcp_stray, "no connection, and no cookie of ours or too old a one: answered with RST") \
	X(tcp_stray_rst, "RST of no connection, ignored") \
	X(tcp_bad_flags, "dropped: flags that make no sense (neither SYN nor ACK, SYN with FIN)") \
	X(tcp_table_full, "dropped: valid handshake, no free connection slot") \
	X(tcp_out_of_window, "not acceptable: outside the window, answered with ACK") \
	X(tcp_out_of_order, "segment past a gap, kept until it is filled, answered with ACK") \
	X(tcp_too_many_gaps, "segment past a fifth gap, dropped, answered with ACK") \
	X(tcp_duplicate, "segment with nothing new, answered with ACK") \
	X(tcp_paws, "timestamp older than the last (RFC 7323 5), answered with ACK") \
	X(tcp_bad_ack, "acknowledges what was never sent, answered with ACK") \
	X(tcp_old_ack, "acknowledges less than before, ignored") \
	X(tcp_challenge, "RST or SYN inside the window, answered with challenge ACK (RFC 5961)") \
	X(tcp_reset_in, "connections reset by the peer") \
	X(tcp_no_buffer, "data not accepted: no buffer; the peer sends again") \
	X(tcp_unjudged, "segments in the hands of a worker when it died") \
	X(tcp_timewait, "segments of a connection in TIME-WAIT") \
	/* tcp: other events */ \
	X(tcp_stub_lost, "answers without connection lost: too many waited for a frame") \
	X(tcp_retransmits, "segments sent again: time-outs, recoveries, tail probes") \
	X(tcp_recoveries, "losses seen by duplicate ACKs or SACK (RFC 6675, RFC 6582)") \
	X(tcp_tail_probes, "tail loss probes sent (RFC 8985 7)") \
	X(tcp_probes, "zero-window probes sent") \
	X(tcp_timed_out, "connections given up after retransmissions") \
	X(tcp_linger_ended, "half-closed connections given up, peer silent") \
	X(tcp_reset_out, "connections that we reset") \
	X(tcp_closed, "connections closed in good order") \
	X(tcp_orphaned, "connections lost with a worker that died") \
	X(tcp_replaced, \
	  "connections that gave way to a new one from the same port (--steer=path)") \
	X(tcp_timewait_evicted, "TIME-WAIT records that gave way to newer ones") \
	X(tcp_reneged, "ranges past a gap, kept and dropped again: no buffer when it was filled") \
	/* tcp: what routers said of the MTU, one for each icmp_told */ \
	X(tcp_mtu_lowered, "path MTU taken from an ICMP error; what was in flight sent again") \
	X(tcp_mtu_no_less, "ICMP error ignored: we send no larger packets (any more)") \
	X(tcp_mtu_tiny, "ICMP error refused: MTU below 552 (IPv4) or 1280 (IPv6)") \
	X(tcp_mtu_not_sent, "ICMP error refused: quotes no segment in flight (RFC 5927)") \
	X(tcp_mtu_stray, "ICMP error ignored: quotes no connection") \
	/* http: each ends as an answer, in http_aborted or in http_body_timeouts */ \
	X(http_requests, "requests whose head has come, or was refused") \
	/* http: requests that were answered, one each */ \
	X(http_ok, "answered 200 or 204") \
	X(http_bad_line, "answered 400: request line is not METHOD SP target SP HTTP/1.x") \
	X(http_bad_method_token, "answered 400: method is not a token") \
	X(http_bad_target, "answered 400: target has a byte that no URI may have") \
	X(http_bad_newline, "answered 400: bare CR or LF; lines end with CRLF") \
	X(http_bad_field_name, \
	  "answered 400: field name is empty, not a token, or followed by space") \
	X(http_bad_field_value, "answered 400: field value has a control character") \
	X(http_bad_fold, "answered 400: folded field line (obs-fold)") \
	X(http_bad_host, "answered 400: Host is missing, repeated or not a host") \
	X(http_bad_length, "answered 400: Content-Length is not one decimal number") \
	X(http_bad_framing, \
	  "answered 400: Content-Length together with Transfer-Encoding, or chunked not last") \
	X(http_bad_chunk, "answered 400: chunk size or chunk end is malformed") \
	X(http_bad_escape, "answered 400: percent escape is not %XX") \
	X(http_bad_name, "answered 400: unknown name; known: n, seed, alg") \
	X(http_bad_twice, "answered 400: name given twice") \
	X(http_bad_number, "answered 400: not a number of the wanted form") \
	X(http_bad_n_range, "answered 400: n is above the limit of this server (--max-n)") \
	X(http_bad_seed_range, "answered 400: seed is wider than the algorithm") \
	X(http_bad_alg, "answered 400: unknown algorithm; known: fnv1a32, fnv1a64, mix64") \
	X(http_bad_json, "answered 400: body is not one flat JSON object") \
	X(http_not_found, "answered 404: no such path; try /compute, /echo, /healthz or /metrics") \
	X(http_bad_method, "answered 405: method not allowed here") \
	X(http_too_large, "answered 413: body is longer than this server takes (--max-body)") \
	X(http_target_long, "answered 414: target is longer than 2048 bytes") \
	X(http_media_type, \
	  "answered 415: body is neither application/json nor application/x-www-form-urlencoded") \
	X(http_expectation, "answered 417: the only known expectation is 100-continue") \
	X(http_misdirected, \
	  "answered 421: not below a --path, so on this connection it is not served") \
	X(http_head_long, "answered 431: head is longer than 8192 bytes") \
	X(http_not_implemented, "answered 501: method or transfer coding is not implemented") \
	X(http_busy, "answered 503: no lane is free soon enough") \
	X(http_bad_version, "answered 505: version is not HTTP/1.0 or HTTP/1.1") \
	X(http_h2_preface, "answered 505: the preface of HTTP/2") \
	X(http_busy_late, "of http_busy, after a wait: the forecast was too short") \
	/* http: and those that were not */ \
	X(http_aborted, "requests whose connection ended before the answer was written") \
	X(http_header_timeouts, "connections closed: head not complete in time") \
	X(http_body_timeouts, \
	  "requests whose body came neither in time nor at the least rate: closed") \
	X(http_idle_timeouts, "keep-alive connections closed: idle") \
	X(http_idle_evicted, "idle connections reset: the table was full and another client came") \
	X(http_send_timeouts, \
	  "connections reset: the answer was taken neither in time nor at the least rate") \
	/* --access-log */ \
	X(http_log_lost, "lines of --access-log lost: their writer was behind") \
	X(http_log_unwritten, "lines of --access-log that could not be written (disk full ...)") \
	/* result cache (--cache) */ \
	X(http_cache_hits, "requests whose result was in the cache") \
	X(http_cache_misses, "requests whose result was not") \
	/* kernel-socket rung */ \
	X(sock_accepted, "connections accepted by the kernel-socket rung") \
	X(sock_refused, "connections closed at once: that rung's table is full") \
	X(sock_closed, "connections of that rung that ended") \
	/* the thread */ \
	X(turns, "turns of an I/O thread or a compute core") \
	X(busy_turns, "turns that found work") \
	X(busy_ns, "time spent in turns that found work") \
	X(clock_backwards, \
	  "stamps that would have given a negative time, or one of minutes; not recorded") \
	X(trace_frames, "frames copied for saker-stat trace") \
	X(trace_lost, "frames that saker-stat trace wanted and did not get: its ring was full") \
	/* the crew: a block for each compute core, but crew_wakes */ \
	X(crew_done, "jobs that a compute core finished") \
	X(crew_dropped, "jobs that a compute core gave up, since their client had gone") \
	X(crew_slices, "slices of lane work on compute cores") \
	X(crew_sleeps, "times that an idle compute core went to sleep") \
	X(crew_wakes, "times that an I/O thread woke a sleeping compute core")

struct stats_block {
#define X(name, help) uint64_t name;
	STATS_LIST(X)
#undef X
} __attribute__((aligned(64)));

enum stats_index {
#define X(name, help) STATS_##name,
	STATS_LIST(X)
#undef X
		STATS_COUNT,
};

/* --- stages -------------------------------------------------------------- */
#define STAGE_LIST(X) \
	X(steer, "XDP stamp to RX ring pop") \
	X(parse, "ring pop to request recognised") \
	X(wait, "request recognised to lane") \
	X(compute, "in the lane") \
	X(reply, "result to TX ring") \
	X(sent, "TX ring to completion") \
	X(total, "XDP stamp (or ring pop) to TX ring") \
	X(rtt, "our segment to the ACK that covers it") \
	X(turn_gap, "between two looks at the ring") \
	X(slice, "a slice of lane work, nobody interrupting") \
	X(stolen, "what an interruption took from a slice")

enum stage {
#define X(name, help) STAGE_##name,
	STAGE_LIST(X)
#undef X
		STAGES,
};

/* Log-linear buckets: 64 to an octave (1.6 %), from below 100 ns to 100 s.
 * hist.h has the arithmetic. Bucket 0 ... 127 are exact nanoseconds up to
 * 127; then 64 for each power of two from 2^7 to 2^37 (137 s). */
enum { HIST_SUB_BITS = 6, HIST_SUB = 1 << HIST_SUB_BITS, HIST_TOP_BIT = 37 };
enum { HIST_BUCKETS = HIST_SUB * (HIST_TOP_BIT - HIST_SUB_BITS + 1) };

struct hist {
	uint64_t count;
	uint64_t sum_ns;
	uint64_t max_ns;
	uint64_t over; /* beyond the last bucket, counted in it too */
	uint64_t bucket[HIST_BUCKETS];
};

struct stage_block {
#define X(name, help) struct hist name;
	STAGE_LIST(X)
#undef X
} __attribute__((aligned(64)));

/* --- lanes: what the bodies of a core take ------------------------------- */
#define TABLE_LIST(X) X(none) X(built_in) X(measured)
enum abi_table {
#define X(name) TABLE_##name,
	TABLE_LIST(X)
#undef X
};

/* In the order of enum lane_alg. */
#define ALG_LIST(X) X(fnv1a32) X(fnv1a64) X(mix64)
enum abi_alg {
#define X(name) ALG_##name,
	ALG_LIST(X)
#undef X
		ALGS,
};

struct table_body {
	char name[12];
	enum abi_alg alg;
	uint32_t lanes;
	uint32_t pass_ps;    /* one round of all its lanes, in picoseconds */
	uint32_t builtin_ps; /* what was assumed until it was measured */
};

/* For so many jobs of one algorithm, [0] for none. */
struct table_choice {
	uint32_t pass_ps[LANES_MAX + 1]; /* one round of all of them, in the best bodies */
	uint8_t body[LANES_MAX + 1];     /* the narrowest of those, in struct lane_table */
};

struct lane_table {
	enum abi_table state;
	int32_t cpu;
	uint32_t lanes;  /* jobs side by side */
	uint32_t bodies; /* rows that are filled in */
	struct table_body body[LANE_BODIES_MAX];
#define X(name) struct table_choice name;
	ALG_LIST(X)
#undef X
};

/* --- gauges and rings: what there is now ---------------------------------- */
/* As of a moment of the last 50 ms; the counters have gone on since. */
#define GAUGE_LIST(X) \
	X(conns, "connections over frames that are open") \
	X(sockets, "connections of kernel sockets that are open") \
	X(requests, "requests that have begun and are not answered")

struct gauge_block {
	uint64_t at_ns;
#define X(name, help) uint64_t name;
	GAUGE_LIST(X)
#undef X
} __attribute__((aligned(64)));

#define RING_LIST(X) \
	X(frames, "chunks of UMEM: the sum of frames_*") \
	X(frames_free, "free for sending") \
	X(frames_fill, "with the kernel, to be received into, or received and not yet seen") \
	X(frames_held, "in our hands") \
	X(frames_tx, "given to the TX ring, not completed") \
	X(fill, "entries on the fill ring that the kernel has not taken") \
	X(rx, "frames on the RX ring that we have not taken") \
	X(tx, "frames on the TX ring that the kernel has not taken") \
	X(completion, "completions that we have not taken") \
	/* XDP_STATISTICS, which only grow */ \
	X(rx_ring_full, "frames lost: the RX ring was full") \
	X(rx_dropped, "frames lost: no fill entry, or longer than a chunk") \
	X(rx_fill_empty, "times that the kernel found the fill ring empty") \
	X(tx_invalid, "TX descriptors that the kernel refused") \
	X(tx_empty, "times that the kernel found the TX ring empty")

struct ring_block {
	uint64_t at_ns; /* 0: no socket has this queue */
#define X(name, help) uint64_t name;
	RING_LIST(X)
#undef X
} __attribute__((aligned(64)));

/* --- conns: who is connected, of which `ss` sees nothing -------------------- */
/* Thread t has those from t * (max_conns + SOCKS_DEFAULT) on: the slots of connections
 * over frames, then those of the kernel's sockets. */

/* In the order of enum tcp_state; then what is the kernel's. */
#define CONN_LIST(X) \
	X(free) \
	X(established) \
	X(close_wait) \
	X(fin_wait_1) X(fin_wait_2) X(closing) X(last_ack) X(socket)
enum abi_conn {
#define X(name) CONN_##name,
	CONN_LIST(X)
#undef X
} __attribute__((packed));

#define DOING_LIST(X) \
	X(nothing, "there is no connection") \
	X(idle, "between requests") \
	X(head, "a head is coming") \
	X(body, "a body is coming") \
	X(waits, "a request waits for a lane") \
	X(lane, "a request is in a lane") \
	X(answering, "an answer is not yet taken") \
	X(closing, "nothing more will be written")
enum abi_doing {
#define X(name, help) DOING_##name,
	DOING_LIST(X)
#undef X
} __attribute__((packed));

/* Written while others read. A copy of it may be torn, since it is made by a system
 * call that promises no order; but when the copy before and the copy after have the
 * same even seq, this one is whole (A and B: conns.h). */
struct conn_entry {
	uint32_t seq; /* odd: being written */
	enum abi_conn state;
	enum abi_doing doing;
	uint16_t remote_port, local_port; /* host order */
	uint16_t mss;                     /* bytes that a segment to the peer may carry */
	uint32_t cwnd;
	uint8_t remote[16]; /* IPv4 as ::ffff:a.b.c.d */
	uint64_t opened_ns;
	uint64_t seen_ns;  /* when all this was so */
	uint64_t requests; /* that were answered */
	uint64_t bytes_in, bytes_out;
	/* of a kernel's socket only unsent: what the kernel has not yet taken */
	uint32_t srtt_us; /* 0: not measured yet */
	uint32_t rto_us;  /* with its back-off */
	uint32_t retransmits;
	uint32_t window; /* what the peer could take, beyond what it has acknowledged */
	uint32_t unsent; /* of bytes_out */
	uint32_t unacked;
};
_Static_assert(sizeof(struct conn_entry) == 96, "1,024 connections and 256 sockets in 120 KiB");

/* --- trace: frames for who asks ------------------------------------------ */
/* trace.h has the arithmetic, and who writes what in which order. */
struct trace_want {
	uint64_t until_ns; /* frames are wanted until then: past when nobody reads */
	uint32_t run;      /* not that of the reader before */
	uint32_t pid;      /* of the reader, for people */
	uint32_t snap;     /* bytes of each frame at most; 0: all */
	uint16_t port;     /* of either end, host order; 0: any */
	uint16_t prefix;   /* so many bits of addr count; 0: any address */
	uint8_t addr[16];  /* of the client; IPv4 as ::ffff:a.b.c.d */
};

struct trace_ring {
	/* written by the reader */
	struct trace_want want __attribute__((aligned(64)));
	uint64_t head __attribute__((aligned(64))); /* bytes taken */
	/* written by the I/O thread */
	uint64_t tail __attribute__((aligned(64))); /* bytes put */
	uint64_t lost; /* frames that were wanted and found the ring full */
	uint64_t word[TRACE_BYTES / 8] __attribute__((aligned(64)));
};

enum trace_flags {
	TRACE_SENT = 1,    /* by us; else received */
	TRACE_STAMPED = 2, /* received: steer_ns is known */
	TRACE_ANSWER = 4,  /* sent: a struct trace_times stands before the frame */
};

/* In the ring, with the frame behind it, up to a multiple of 8. */
struct trace_record {
	uint16_t bytes; /* of all that */
	uint16_t flags;
	uint32_t run;      /* of the reader that it is for */
	uint64_t time_ns;  /* sent: to the TX ring; received: XDP's stamp, else the ring pop */
	uint16_t captured; /* bytes that follow */
	uint16_t original; /* bytes that the frame had */
	uint32_t steer_ns; /* received: stamp to ring pop, 4.29 s at most */
};

/* Of the request whose answer begins in the frame; TRACE_UNKNOWN where there was no
 * such stage. */
struct trace_times {
	uint64_t steer_ns, parse_ns, wait_ns, compute_ns, reply_ns, total_ns;
};
#define TRACE_UNKNOWN UINT64_MAX

/* --- summary: the report for people who only have bpftool --------------- */
struct summary_stage {
	uint64_t count;
	uint64_t mean_ns;
	/* 0 where fewer than ten samples lie beyond the percentile */
	uint64_t p50_ns, p90_ns, p95_ns, p99_ns, p999_ns;
	uint64_t max_ns;
};

struct summary_span {
	uint64_t seconds_ns; /* length of the span */
	uint64_t requests;
	uint64_t busy_ns[IO_THREADS_MAX]; /* of each I/O thread; the rest was idle turns */
#define X(name, help) struct summary_stage name;
	STAGE_LIST(X)
#undef X
};

/* Of the XDP program, while kernel.bpf_stats_enabled is 1. */
struct summary_program {
	uint64_t run_cnt;
	uint64_t run_time_ns;
};

struct summary {
	char mode[ABI_MODE_TEXT]; /* "xdp-native, copy, eth0:8080" */
	struct summary_program program;
	struct summary_span start; /* since the start */
	struct summary_span last;  /* the last second */
};

_Static_assert(sizeof(struct stats_block) % 64 == 0, "array stride keeps the cache lines apart");
_Static_assert(sizeof(struct stage_block) % 64 == 0, "array stride keeps the cache lines apart");
_Static_assert(sizeof(struct stats_block) >= STATS_COUNT * 8, "one word a counter");
_Static_assert(sizeof(struct trace_ring) == TRACE_ENTRY, "a multiple of every page size");
_Static_assert(sizeof(struct trace_record) == 24, "no padding");
_Static_assert(sizeof(struct icmp_event) == 48, "no padding: XDP would have to clear it");
_Static_assert(sizeof(struct steer_meta) == 16, "a multiple of 4; one store clears it");
_Static_assert(sizeof(struct packet_record) == 24, "a multiple of 8: so the frame is aligned");
_Static_assert(sizeof(struct steer_flow_key) == 40, "no padding: it is hashed");
_Static_assert(sizeof(struct steer_flow) == 16 && sizeof(struct syn_hint) == 16, "no padding");

#endif
