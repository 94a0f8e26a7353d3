/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * worker_private.h - the worker's own records, for worker.c and the parts of a session
 *
 * Model    worker.c walks the stages; session.c, jobs.c and answer.c are one client's
 *          conversation: bytes to requests, requests to results, results to answers.
 *          frames.c is what comes in frames. describe.c tells others how it stands,
 *          worker_image.c another process: each field of a session goes with it, but
 *          one that points somewhere or is a bool must be named there.
 *
 *   HEAD -> BODY -> WAIT -> LANE -> ANSWER -> HEAD ... -> CLOSING
 *     \_______\______ fault, or an answer that needs no lane __/
 *              \____________ ECHO or METRICS _/
 */
#ifndef WORKER_PRIVATE_H
#define WORKER_PRIVATE_H

#include "accesslog.h"
#include "cache.h"
#include "hist.h"
#include "http.h"
#include "pkt.h"
#include "roster.h"
#include "route.h"
#include "tcp.h"
#include "wheel.h"
#include "worker.h"

enum session_phase {
	PHASE_FREE,
	PHASE_HEAD, /* between requests, or in a head */
	PHASE_BODY,
	PHASE_WAIT, /* a whole request, for a lane */
	PHASE_LANE,
	PHASE_ANSWER,  /* a result, for room in the output */
	PHASE_ECHO,    /* a body, the first bytes of `in`, for the same */
	PHASE_METRICS, /* the rest of /metrics, for the same, piece by piece */
	PHASE_CLOSING, /* nothing more will be written; what comes is discarded */
};

/* Sessions stand in line for the worker's attention. */
enum session_line {
	LINE_NEW,   /* PHASE_WAIT, just recognised */
	LINE_SHORT, /* PHASE_WAIT for a lane, in the order of their coming; short jobs */
	LINE_LONG,  /* and the others */
	LINE_AGAIN, /* buffered bytes to parse, or an answer to try again */
	LINE_ROOM,  /* sockets that could not read: no buffer */
	LINE_SOCK,  /* sockets with something new, for worker_ready */
	LINE_MOVED, /* connections over frames that have opened or ended, for worker_moved */
	LINES,
};

/* Who is in PHASE_WAIT stands in one of these; nobody else does. */
enum { LINES_WAIT = 1 << LINE_NEW | 1 << LINE_SHORT | 1 << LINE_LONG };

struct line {
	uint16_t first, last;
};

/* When a request came to its stages; 0: it did not. */
struct stamps {
	uint64_t stamp_ns, pop_ns, parsed_ns, lane_ns, result_ns;
};

struct session {
	struct http_head head;
	struct route_ask ask;
	struct buf in;
	uint8_t phase;
	uint8_t lines;      /* bits: stands in that line */
	bool eof;           /* the peer sends no more */
	bool request_begun; /* the first byte of a request has come */
	bool asked;         /* its head is whole: it must end under a name */
	bool told_continue;
	bool unsent;   /* an answer was written, none of its bytes has left yet */
	uint8_t cache; /* enum http_cache, of the request in hand */
	/* bytes of the body in PHASE_ECHO; what progress is measured from: bytes of
	 * body that had come, or of answer that had not left, when the deadline was set */
	uint32_t echo_len, mark;
	uint32_t place; /* in the text, in PHASE_METRICS */
	uint16_t job;   /* the roster's handle, in PHASE_LANE */
	uint16_t next[LINES], prev[LINES];
	/* when the bytes came that are being parsed: XDP's stamp (or 0), ring pop */
	uint64_t stamp_ns, pop_ns;
	/* the request in hand; 0: not that far */
	uint64_t req_stamp_ns, req_pop_ns, parsed_ns, lane_ns, result_ns;
	uint64_t hash;
	/* the answer under way, and the request that it is to */
	uint64_t sent_from_ns, sent_result_ns;
	struct stamps sent;
	/* of the connection, for who looks in */
	uint64_t opened_ns, requests, bytes_in, bytes_out;
};

/* The other end of a kernel's socket. */
struct peer {
	uint8_t address[16];
	uint16_t port;
};

struct worker {
	struct worker_params p;
	unsigned sessions; /* max_conns + max_socks */
	struct tcp *tcp;
	struct tcp_tally told; /* as far as the counters say */
	struct roster *roster;
	struct cache *cache; /* NULL: none */
	struct buf_pool pool;
	struct buf *out; /* one for each session; tcp drops from its own */
	struct session *session;
	struct accesslog_record *note; /* one for each session; NULL: there is no log */
	struct wheel wheel;            /* one deadline for each session */
	struct line line[LINES];
	uint16_t sock_free; /* list through next[LINE_SOCK] */
	struct peer *peer;  /* of sockets */
	unsigned socks;
	/* ids below conn_top, and from max_conns on below sock_top, were in use */
	uint16_t conn_top, sock_top;
	uint16_t hand; /* where the search for an idle session goes on */
	bool draining;
	struct http_head undo; /* a body's parser state before the present bytes */
	unsigned requests;     /* sessions that have asked */
	uint16_t emitted;      /* whose answer the last worker_emit began */
	unsigned waiting;      /* sessions in PHASE_WAIT */
	uint64_t forecast_ns;  /* when the roster looked ahead last; 0: anew at the next chance */
	uint64_t slice_ns;     /* what the last worker_compute should take; 0: nothing ran */
	uint64_t compute_ns;   /* when it began */
	uint64_t unix_s;
	struct metrics_source source;  /* of /metrics */
	const struct steer_live *live; /* its heartbeats; NULL: none */
	const char *mode;
	char date[HTTP_DATE_LEN + 1];
};

static inline bool is_sock(const struct worker *w, uint16_t id)
{
	return id >= w->p.max_conns;
}

static inline void count(struct worker *w, enum stats_index i)
{
	((uint64_t *)w->p.stats)[i]++;
}

/* One stage's time; clocks that disagree are counted, not recorded (docs/maps.md, The
 * clock). */
static inline void record(struct worker *w, enum stage stage, uint64_t from_ns, uint64_t to_ns)
{
	if (unlikely(to_ns < from_ns))
		count(w, STATS_clock_backwards);
	else
		hist_record((struct hist *)w->p.stages + stage, to_ns - from_ns);
}

/* From one stamp to the next. SPAN_NONE: there is one of them only, or their clocks
 * disagree. */
#define SPAN_NONE UINT64_MAX
static inline uint64_t span_ns(uint64_t from_ns, uint64_t to_ns)
{
	return from_ns && to_ns >= from_ns ? to_ns - from_ns : SPAN_NONE;
}

/* Between requests: nothing was asked that is not answered. */
static inline bool session_is_idle(const struct worker *w, uint16_t id)
{
	const struct session *s = &w->session[id];

	return s->phase == PHASE_HEAD && !s->request_begun && !s->in.len;
}

/* --- worker.c --- */
/* The first who stands there, WORKER_NONE at the end. */
uint16_t line_take(struct worker *w, enum session_line which);
void line_put(struct worker *w, enum session_line which, uint16_t id);
/* If it stands there. */
void line_leave(struct worker *w, enum session_line which, uint16_t id);
/* Make the list of those ids of sockets that were in use and are not. */
void free_socks(struct worker *w);
/* As worker_init made it, and no more. */
void worker_blank(struct worker *w, uint64_t now_ns);

/* --- frames.c --- */
/* The peer sees as much window as the session can hold. */
void frames_room(struct worker *w, uint16_t id);

/* --- jobs.c --- */
/* Those who wait, and those who are new: to lanes, to wait, or turned away. */
void jobs_admit(struct worker *w, uint64_t now_ns);
/* A slice for the lanes of this core. */
void jobs_step(struct worker *w, uint64_t now_ns);
/* Results to answers; true if there was one. */
bool jobs_take(struct worker *w, uint64_t now_ns);

/* --- session.c --- */
/* The head of a request has come, well or not; and it has ended: its caller counts how. */
void session_asked(struct worker *w, uint16_t id);
void session_told(struct worker *w, uint16_t id);
void session_open(struct worker *w, uint16_t id, uint64_t now_ns);
/* This id is in use, and was once for ever. */
void session_top(struct worker *w, uint16_t id);
/* The transport is gone: whatever was under way is dropped. */
void session_end(struct worker *w, uint16_t id);
/* Bytes that came in a frame, which may be overwritten. Returns how many were
 * taken; the others must come again. */
uint32_t session_bytes(struct worker *w, uint16_t id, uint8_t *bytes, uint32_t n, uint64_t now_ns);
void session_eof(struct worker *w, uint16_t id, uint64_t now_ns);
/* Parse what is buffered, or try an answer again. */
void session_again(struct worker *w, uint16_t id, uint64_t now_ns);
void session_timeout(struct worker *w, uint16_t id, uint64_t now_ns);
/* Our last byte is written: FIN follows. */
void session_close(struct worker *w, uint16_t id, uint64_t now_ns);
/* Its answer is written: on to the next request. */
void session_next(struct worker *w, uint16_t id, uint64_t now_ns);
/* Nothing happens until the peer takes what is in the output, or asks again. */
void session_await(struct worker *w, uint16_t id, uint64_t now_ns);

/* --- note.c: only where w->note is there --- */
void note_peer(struct worker *w, uint16_t id, const uint8_t peer[16], uint16_t port);
/* The head is whole, or refused. */
void note_head(struct worker *w, uint16_t id, const uint8_t *bytes);
/* The request is done with. 0: without an answer. */
void note_end(struct worker *w, uint16_t id, unsigned status, uint64_t now_ns);

/* --- answer.c --- */
/* Room for a short answer, or NULL; those below that say so need it. */
uint8_t *answer_room(struct worker *w, uint16_t id);
/* 100 Continue; the room is there. */
void answer_continue(struct worker *w, uint16_t id);
/* Refuse the request in hand; the room is there. keep: the message was read to
 * its end, so the next one can be found. */
void answer_refuse(struct worker *w, uint16_t id, enum http_fault fault, const char *detail,
		   bool keep, uint64_t now_ns);
/* The request is whole and right, and the room is there: answer, or to a lane. */
void answer_request(struct worker *w, uint16_t id, uint64_t now_ns);
/* A body, back to whom it came from. False: the output has no room for it. */
bool answer_echo(struct worker *w, uint16_t id, const uint8_t *body, size_t len, uint64_t now_ns);
/* The lane is done, or will not be had. */
void answer_result(struct worker *w, uint16_t id, uint64_t now_ns);
/* wait_ns: how long it would have had to wait. */
void answer_busy(struct worker *w, uint16_t id, uint64_t wait_ns, uint64_t now_ns);
/* No room for the answer: wait for it in that phase, and try again. */
void answer_wait(struct worker *w, uint16_t id, enum session_phase phase, uint64_t now_ns);
void answer_again(struct worker *w, uint16_t id, uint64_t now_ns);

#endif
