/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tcp_private.h - the connection record, for tcp_*.c and their tests
 *
 * Model    A file a noun: tcp_table (slots, lookup, TIME-WAIT, timers), tcp_cookie
 *          (the stateless handshake), tcp_in (what a segment does to a
 *          connection), tcp_reasm (what came past a gap, and SACK that we send),
 *          tcp_out (what is due), tcp_loss (what is lost, and SACK that comes),
 *          tcp_mtu (what routers say of the path), tcp_adopt (connections whose
 *          handshake the kernel answered, and what is told of them), tcp_image (all of
 *          it to another process: each field of a record goes with it, but one that
 *          points somewhere or is a bool must be named there).
 */
#ifndef TCP_PRIVATE_H
#define TCP_PRIVATE_H

#include "siphash.h"
#include "tcp.h"
#include "wheel.h"
#include "wire.h"

enum tcp_due_bits {
	DUE_DATA = 1,  /* bytes or FIN may be sent */
	DUE_ACK = 2,   /* an ACK must go now */
	DUE_PROBE = 4, /* zero-window probe */
	DUE_TAIL = 8,  /* tail loss probe */
};

/* --- tcp_loss.c: what is lost and sent again --- */
enum { LOSS_RANGES = 6 }; /* 12 segments fill a large block: six holes at most */

struct loss {
	uint32_t recover; /* recovery ends when this is acknowledged; none begins before */
	uint32_t rxt_nxt; /* sent again up to here in this recovery */
	uint8_t count;
	uint8_t dup_acks;
	bool recovering;
	bool probe_next; /* the timer that runs is the probe's, not the time-out */
	bool probed;     /* the tail was sent again; nothing new was acknowledged since */
	struct {
		uint32_t left, right;
	} sacked[LOSS_RANGES]; /* in order, apart from each other, above snd_una */
};

/* With many connections each line is a miss (make bench B=crowd). A segment in order and
 * its answer touch CONN_USUAL bytes, four lines; the fifth has losses. */
struct conn {
	struct pkt_flow flow;
	uint16_t hash_next; /* slots; TCP_NONE ends. Free slots: the free list */
	uint16_t due_next;
	uint32_t snd_una; /* out[] starts here */
	uint32_t snd_nxt;
	uint32_t rcv_nxt;
	uint32_t rcv_adv; /* right edge of the window that we announced */
	uint32_t snd_wnd;
	uint8_t state;
	uint8_t due;
	bool queued; /* on the due list */
	bool has_ts;

	uint8_t snd_scale, rcv_scale; /* of the peer's window, of ours */
	uint8_t retries;              /* time-outs since the last new ACK */
	uint8_t silence;              /* time-outs since the last acceptable ACK, new or not */
	bool sack_ok;                 /* both offered SACK */
	bool fin_sent;                /* our FIN was sent at least once */
	uint8_t full_segs;            /* full-sized segments not yet acknowledged */
	uint8_t told;                 /* enum tcp_flow: what was noted last, if adopted */
	uint16_t mss; /* data bytes a segment may carry to the peer, options taken off */
	struct pkt_link link;
	uint32_t ts_recent;
	uint32_t ts_offset;
	uint32_t snd_max; /* highest sequence ever sent */
	uint32_t snd_wl1, snd_wl2;
	uint32_t snd_wnd_max;
	uint32_t ack_sent; /* rcv_nxt of the last segment that we sent */
	uint32_t room;     /* what the layer above can hold */
	uint32_t cwnd, ssthresh;

	uint32_t rtt_seq;            /* the timed segment ends here */
	uint32_t srtt_us, rttvar_us; /* 0: not measured yet */
	uint32_t retransmits;        /* for who wants to know */
	uint64_t rtt_start_ns;       /* 0: no segment is being timed */
	uint64_t rto_ns;             /* without back-off */
	uint64_t data_sent_ns;       /* when data left last */
	/* deadlines, 0 is none; the wheel has the earliest */
	uint64_t at_rtx_ns; /* retransmission or, with a shut window, probe */
	uint64_t at_ack_ns; /* delayed ACK */
	uint64_t at_end_ns; /* half-closed for too long */

	struct reasm *reasm;              /* what came past a gap; NULL: there is none */
	uint32_t twice_left, twice_right; /* came again, to be said in the next ACK */
	uint64_t corrected_ns;            /* when a wrong segment without data was last answered */
	/* of a connection whose handshake the kernel answered */
	uint32_t opened;    /* what its first segment acknowledged: the kernel's cookie + 1 */
	uint16_t owes_next; /* slots whose note found no place */
	bool adopted;
	bool owes;   /* stands on that list, even when the slot is free */
	bool unsaid; /* for nothing: a new connection has this flow */
	struct loss loss;
} __attribute__((aligned(CACHE_LINE)));
enum { CONN_USUAL = 4 * CACHE_LINE };
_Static_assert(offsetof(struct conn, loss.sacked) <= CONN_USUAL, "losses are unusual");
_Static_assert(sizeof(struct conn) <= 384, "10,000 connections in 16 MB");

/* A connection that is over but whose last segments may still be under way.
 * The key is a keyed hash of the flow: 64 bits that no stranger can collide. */
struct timewait {
	uint64_t key; /* 0: free */
	uint64_t until_ns;
	uint32_t snd_nxt, rcv_nxt;
	uint32_t ts_recent;
	bool has_ts;
};
_Static_assert(sizeof(struct timewait) == 32, "a record is small");

/* And what is known besides of an adopted one. */
struct timewait_flow {
	struct pkt_flow flow;
	uint32_t opened;
	uint32_t ts_offset;
	uint8_t rcv_scale;
};

enum { TIMEWAIT_WAYS = 4, EARLY_WAYS = 4 };

/* A flow whose SYN was answered lately. Not a half-open connection: a hint that
 * may be lost at any time, so that a flood of SYNs costs nothing. When the
 * segment that brings the cookie back is lost or overtaken, the next one has no
 * connection; with a hint it is dropped, and comes again behind the first, where
 * a RST would end what is about to begin. */
struct early {
	uint32_t tag; /* of the flow's hash */
	uint32_t until_ms;
	uint32_t isn; /* the client's */
};

struct tcp {
	struct tcp_params p;
	struct siphash_key key;
	struct conn *conn;
	uint16_t *bucket;
	uint32_t bucket_mask;
	uint16_t free;  /* slots that were in use and are not */
	uint16_t fresh; /* those from here on never were: their pages are untouched */
	uint16_t due_first, due_last;
	unsigned count;
	bool refusing;                 /* no new connections */
	struct timewait *timewait;     /* one more than p.timewait: for an answer only */
	struct timewait_flow *tw_flow; /* of each; NULL unless p.adopts */
	struct early *early;
	struct wheel_entry *entries;
	struct wheel wheel;
	unsigned reasms; /* connections with a gap */
	/* answers that belong to no connection: a ring */
	struct pkt_seg stub[STUBS_MAX];
	unsigned stub_head, stub_count;
	bool stubs_first; /* the segment that left last, if a stub waited, was one */
	/* notes: a ring, and slots that owe one, some of which would be free otherwise */
	struct tcp_note *note; /* NULL unless p.adopts */
	unsigned note_head, note_count;
	uint16_t owes_first, owes_last;
	unsigned held;     /* such slots */
	uint64_t swept_ns; /* when records that ended were looked for last */
	unsigned sweep, sweep_left;
	struct tcp_tally tally;
};

/* --- tcp_table.c --- */
uint64_t tcp_hash(const struct tcp *t, const struct pkt_flow *f);
struct conn *tcp_find(struct tcp *t, const struct pkt_flow *f, uint64_t hash);
struct conn *tcp_new(struct tcp *t, const struct pkt_flow *f, uint64_t hash); /* NULL: full */
void tcp_free(struct tcp *t, struct conn *c);
static inline uint16_t tcp_slot(const struct tcp *t, const struct conn *c)
{
	return (uint16_t)(c - t->conn);
}
struct timewait *timewait_find(struct tcp *t, uint64_t hash, uint64_t now_ns);
/* The record that gives way to one of this flow. */
struct timewait *timewait_oldest(struct tcp *t, uint64_t hash);
/* The connection is over: keep a record (the returned one), free the slot. */
struct timewait *timewait_enter(struct tcp *t, struct conn *c, uint64_t now_ns);
/* A new connection has its flow. */
void timewait_forget(struct tcp *t, uint64_t hash);
/* Note a flow whose SYN was answered; is there one not older than TCP_EARLY_MS? */
void early_note(struct tcp *t, uint64_t hash, uint32_t isn, uint64_t now_ns);
bool early_find(const struct tcp *t, uint64_t hash, uint64_t now_ns, uint32_t *isn);
void early_forget(struct tcp *t, uint64_t hash);
/* Put on the due list with these bits. */
void tcp_mark(struct tcp *t, struct conn *c, unsigned due);
/* The deadlines changed: tell the wheel the earliest. */
void tcp_arm(struct tcp *t, struct conn *c);
/* A fresh stub to fill, or NULL (tallied). */
struct pkt_seg *tcp_stub(struct tcp *t);

/* --- tcp_cookie.c --- */
/* Our TSval: milliseconds from an origin of the flow's own (RFC 7323 5.4, 7.1). */
static inline uint32_t tcp_timestamp(uint32_t offset, uint64_t now_ns)
{
	return (uint32_t)(now_ns / NS_PER_MS) + offset;
}
static inline uint32_t tcp_ts_offset(uint64_t hash)
{
	return (uint32_t)(hash >> 32);
}
/* SYN-ACK for this SYN, as a stub. */
void tcp_answer_syn(struct tcp *t, const struct pkt_seg *syn, uint64_t hash, uint64_t now_ns);
/* What the cookie remembers of the SYN. False: not one of ours, or too old. */
struct cookie_options {
	uint16_t mss;
	uint8_t scale;
	bool sack_ok;
};
bool tcp_cookie_check(const struct tcp *t, const struct pkt_seg *seg, uint64_t hash,
		      uint64_t now_ns, struct cookie_options *o);

/* --- tcp_in.c --- */
uint32_t tcp_initial_window(uint32_t mss);
/* A connection that begins with this segment, with all that is the same however its
 * handshake went; mss: of the SYN. NULL: full. */
struct conn *tcp_begin(struct tcp *t, const struct pkt_seg *seg, uint64_t hash, uint32_t mss);

/* --- tcp_adopt.c --- */
/* tcp_begin, after the kernel's handshake. */
struct conn *adopt_open(struct tcp *t, const struct pkt_seg *seg, uint64_t hash,
			const struct tcp_hint *hint, uint64_t now_ns);
/* No other segment opens one, whatever is said of it. */
bool adopt_may_open(const struct pkt_seg *seg, const struct tcp_hint *hint);
/* Is the segment that opens the very one which opened this connection, or this record's? */
bool adopt_again(const struct conn *c, const struct pkt_seg *seg);
bool adopt_timewait_again(const struct tcp *t, const struct timewait *w, const struct pkt_seg *seg);
/* We will send no more than FIN: from then on a SYN is a new connection. */
void adopt_closing(struct tcp *t, struct conn *c);
/* The slot is about to be free. False: not yet, it owes a note. */
bool adopt_gone(struct tcp *t, struct conn *c);
/* Nothing is known of this flow. */
void adopt_unknown(struct tcp *t, const struct pkt_flow *flow, uint64_t hash);
/* The flow goes over from c to record w, which may have another's. False: there is no
 * place for a note; c keeps its flow, and must go without a record. */
bool adopt_timewait(struct tcp *t, struct conn *c, struct timewait *w);
void adopt_check(const struct tcp *t);

/* --- tcp_loss.c --- */
/* An ACK was accepted; moved: snd_una has, take_ack has been called. Before the
 * window is taken. True: the timer starts anew. */
bool loss_ack(struct tcp *t, struct conn *c, const struct pkt_seg *seg, bool moved);
/* The next hole to send again: len octets, the FIN among them, or false. */
bool loss_next(const struct conn *c, uint32_t *seq, uint32_t *len);
/* Octets that are under way, for the congestion window. */
uint32_t loss_pipe(const struct conn *c);
/* What ssthresh becomes when a loss is seen. */
uint32_t loss_halved(const struct conn *c);
/* When to probe the tail, from now; 0: no probe, the time-out. */
uint64_t loss_probe_after(const struct conn *c);
void loss_timeout(struct conn *c);

/* --- tcp_reasm.c --- */
/* Keep a segment past a gap: out_of_order, or why not. */
enum tcp_verdict reasm_keep(struct tcp *t, struct conn *c, const struct pkt_seg *seg);
/* rcv_nxt has moved over some of it; not all_taken: what is next is forgotten,
 * for the layer above has no room, or has overwritten it. c->reasm is there. */
void reasm_passed(struct tcp *t, struct conn *c, bool all_taken);
void reasm_free(struct tcp *t, struct conn *c);
/* These came twice: a D-SACK block (RFC 2883). */
void reasm_twice(struct conn *c, uint32_t left, uint32_t right);
/* Put the SACK blocks into a segment; c->mss does not count them. */
void reasm_say(struct conn *c, struct pkt_seg *s);
void reasm_check(const struct tcp *t, const struct conn *c);
/* What c->reasm points to. False: m says why. */
void reasm_save(const struct tcp *t, const struct conn *c, struct image *m);
bool reasm_load(struct tcp *t, struct conn *c, struct image *m);

/* --- tcp_out.c --- */
/* Stub answers that need no connection. */
void tcp_answer_rst(struct tcp *t, const struct pkt_seg *seg);
void tcp_answer_timewait(struct tcp *t, const struct timewait *w, const struct pkt_seg *seg,
			 uint64_t now_ns);
/* The retransmission timer ran out. False: it was the last time. */
bool tcp_timeout(struct tcp *t, struct conn *c, uint64_t now_ns);
/* RFC 6298 5.5: the time-out, doubled for each that there was, up to 60 s. */
uint64_t tcp_backed_off(const struct conn *c);
/* Start the timer if something is in flight or waits for a window. */
void tcp_start_timer(struct tcp *t, struct conn *c, uint64_t now_ns);

#endif
