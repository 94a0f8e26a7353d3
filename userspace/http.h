/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * http.h - HTTP/1.1 requests in, answers out (RFC 9110, RFC 9112)
 *
 * Place    worker parses what tcp (or a kernel socket) delivered, and writes
 *          answers into a connection's output. Knows neither. Pure.
 * Model    A request is a head and perhaps a body. http_head reads the head,
 *          resumable at every byte; when it says HTTP_WHOLE everything that
 *          the answer depends on is in struct http_head and the bytes may go.
 *          http_body then says where the body ends and undoes chunks in place.
 *          What route.h decides becomes an answer by one of http_write_*.
 * Owner    Bytes are the caller's. Between two calls for one message they may
 *          move and more may be appended, but none may vanish before HTTP_WHOLE.
 * Limits   Head HTTP_HEAD_MAX, target HTTP_TARGET_MAX, answers HTTP_ANSWER_MAX; those
 *          of /echo, a head of HTTP_REPLY_HEAD_MAX and the body.
 * Strict   Whatever two parsers could read in two ways is refused: CL with TE,
 *          repeated or signed CL, bare LF or CR, obs-fold, space before the
 *          colon, bytes outside token, no Host or two.
 *
 *   START -> METHOD -> TARGET -> VERSION -> FIELDS -> (head whole) -> BODY -> DONE
 *      \________\________\_________\_________\___________________________\_ fault
 *
 * A verdict depends on the bytes alone, never on how they were cut. After a
 * fault of http_head or http_body nobody knows where the next message starts:
 * answer and close. A fault of route.h leaves the framing whole: read the body
 * (or close), then go on.
 */
#ifndef HTTP_H
#define HTTP_H

#include "base.h"
#include "limits.h"

/* Why a request is refused: name (also the counter http_NAME in abi.h),
 * status, and what the client is told. */
#define HTTP_FAULT_LIST(X) \
	X(none, 200, "") \
	X(bad_line, 400, "request line is not METHOD SP target SP HTTP/1.x") \
	X(bad_method_token, 400, "method is not a token") \
	X(bad_target, 400, "target has a byte that no URI may have") \
	X(bad_newline, 400, "bare CR or LF; lines end with CRLF") \
	X(bad_field_name, 400, "field name is empty, not a token, or followed by space") \
	X(bad_field_value, 400, "field value has a control character") \
	X(bad_fold, 400, "folded field line (obs-fold)") \
	X(bad_host, 400, "Host is missing, repeated or not a host") \
	X(bad_length, 400, "Content-Length is not one decimal number") \
	X(bad_framing, 400, "Content-Length together with Transfer-Encoding, or chunked not last") \
	X(bad_chunk, 400, "chunk size or chunk end is malformed") \
	X(bad_escape, 400, "percent escape is not %XX") \
	X(bad_name, 400, "unknown name; known: n, seed, alg") \
	X(bad_twice, 400, "name given twice") \
	X(bad_number, 400, "not a number of the wanted form") \
	X(bad_n_range, 400, "n is above the limit of this server (--max-n)") \
	X(bad_seed_range, 400, "seed is wider than the algorithm") \
	X(bad_alg, 400, "unknown algorithm; known: fnv1a32, fnv1a64, mix64") \
	X(bad_json, 400, "body is not one flat JSON object") \
	X(not_found, 404, "no such path; try /compute, /echo, /healthz or /metrics") \
	X(bad_method, 405, "method not allowed here") \
	X(too_large, 413, "body is longer than this server takes (--max-body)") \
	X(target_long, 414, "target is longer than 2048 bytes") \
	X(media_type, 415, "body is not application/json or application/x-www-form-urlencoded") \
	X(expectation, 417, "the only known expectation is 100-continue") \
	X(misdirected, 421, "on this connection that path is not served; open another one") \
	X(head_long, 431, "head is longer than 8192 bytes") \
	X(not_implemented, 501, "method or transfer coding is not implemented") \
	X(busy, 503, "no lane is free soon enough") \
	X(bad_version, 505, "version is not HTTP/1.0 or HTTP/1.1") \
	X(h2_preface, 505, "HTTP/2 is not spoken here; use HTTP/1.1")

enum http_fault {
#define X(name, status, text) HTTP_##name,
	HTTP_FAULT_LIST(X)
#undef X
		HTTP_FAULTS,
};

/* RFC 9110 9; HTTP_KNOWN: PUT, DELETE, TRACE and PATCH, which nothing here takes;
 * HTTP_OTHER: not a method that we know of. */
enum http_method { HTTP_GET, HTTP_HEAD_METHOD, HTTP_POST, HTTP_OPTIONS, HTTP_KNOWN, HTTP_OTHER };

/* What Content-Type and Accept were, as far as we care. */
enum http_media {
	HTTP_MEDIA_NONE,
	HTTP_MEDIA_JSON,
	HTTP_MEDIA_FORM,
	HTTP_MEDIA_TEXT,
	HTTP_MEDIA_OTHER,
};

enum http_step {
	HTTP_MORE,  /* everything so far is right, but not all is there */
	HTTP_WHOLE, /* the head (or the body) is complete */
	HTTP_BAD,   /* .fault says why; answer and close */
};

/* One message: parser state and what it found. Zeroed by http_begin. */
struct http_head {
	uint32_t line;        /* offset of the line being read; the head's length when whole */
	uint32_t seen;        /* offset of the first byte not yet read */
	uint32_t target;      /* offset and length of the request target; of absolute-form */
	uint32_t target_len;  /* only what is behind the authority, perhaps nothing */
	uint64_t length;      /* Content-Length; 0 without */
	uint64_t chunk_left;  /* chunked body: bytes left of the present chunk */
	uint32_t body_got;    /* chunked body: bytes decoded so far */
	uint16_t chunk_extra; /* chunked body: bytes of extensions and trailers so far */
	uint8_t chunk_digits; /* chunked body: digits of the present size so far */
	uint8_t chunk_state;
	uint16_t text_q;   /* Accept: thousandths that text/plain is worth */
	uint16_t json_q;   /* and JSON, by its nearest range */
	uint8_t json_rank; /* how near that is */
	uint8_t state;
	uint8_t fault;   /* enum http_fault */
	uint8_t method;  /* enum http_method */
	uint8_t minor;   /* HTTP/1.minor */
	uint8_t media;   /* of the body */
	uint8_t accept;  /* HTTP_MEDIA_TEXT where text/plain is preferred, else _JSON */
	bool keep_alive; /* the connection outlives the answer */
	bool close;      /* Connection: close was said */
	bool chunked;
	bool expect; /* 100-continue is wanted before the body, and one will come */
	bool has_host, has_length, has_coding;
};

void http_begin(struct http_head *h);

/* Read on: bytes[0 ... len) is the message from its first byte to what has
 * come so far. HTTP_WHOLE: h->line bytes are the head, the body follows.
 * Empty lines before the request line are skipped (RFC 9112 2.2) and count.
 * HTTP_HEAD_MAX bytes without an end are HTTP_BAD, so a buffer of that size
 * is never full and waiting. */
enum http_step http_head(struct http_head *h, const uint8_t *bytes, size_t len);

/* Read the body on: bytes[0 ... *len) is the body as it came, from its first
 * byte; max is --max-body, at most HTTP_BODY_MAX. HTTP_WHOLE: *used bytes of the
 * input are the body; bytes[0 ... *body) is what it says; what is behind *used
 * has not moved; do not call again for this message. A chunked body is decoded
 * in place: on HTTP_MORE bytes[0 ... *len) has shrunk by the chunk lines already
 * undone, and the caller must append behind the new *len. A body without bytes
 * is whole at once, and a Content-Length above max is refused at once: so call
 * this with *len 0 before saying 100 Continue. */
enum http_step http_body(struct http_head *h, uint8_t *bytes, size_t *len, uint64_t max,
			 size_t *used, size_t *body);

/* Could a body be read on in this state, of which len bytes have come? Of one that http_body
 * left with HTTP_MORE always; asked where the state comes from another process. */
bool http_body_fits(const struct http_head *h, size_t len);

/* --- answers -------------------------------------------------------------- */

/* Was the result in the cache? Told by X-Saker-Cache, unless there is none. */
enum http_cache { HTTP_CACHE_NONE, HTTP_CACHE_HIT, HTTP_CACHE_MISS };

/* Stages that Server-Timing tells of, which browsers draw; each a bit. */
enum http_timed {
	HTTP_TIMED_STEER = 1,
	HTTP_TIMED_PARSE = 2,
	HTTP_TIMED_WAIT = 4,
	HTTP_TIMED_COMPUTE = 8,
};

/* What every answer has, whatever its status. */
struct http_reply {
	const char *date; /* 29 characters, IMF-fixdate, see http_date */
	bool keep_alive;  /* else Connection: close */
	bool head_only;   /* the request was HEAD */
	uint8_t minor;    /* of the request: 1.0 wants its keep-alive said */
	uint8_t cache;    /* enum http_cache */
	uint8_t timed;    /* which of these are known; none: no Server-Timing */
	uint64_t steer_ns, parse_ns, wait_ns, compute_ns;
};

enum {
	/* Longest body of http_write_text; with a head it fits HTTP_ANSWER_MAX. */
	HTTP_TEXT_MAX = 512,
	/* Longest head of an answer. Status line 46, date 37, Content-Type and -Length 64,
	 * Server-Timing with four 64-bit numbers 136, X-Saker-Cache 21, Allow 36,
	 * Retry-After 26, Connection 26: 392. */
	HTTP_REPLY_HEAD_MAX = 448,
	/* What http_write_chunk puts before and behind the bytes. */
	HTTP_CHUNK_FRONT = 6,
	HTTP_CHUNK_BACK = 2,
	HTTP_CHUNK_MAX = 0xffff,
};

/* Each writes one whole answer to to[0 ... HTTP_ANSWER_MAX) and returns its length. */
size_t http_write_hash(uint8_t *to, const struct http_reply *r, const char *alg, unsigned bits,
		       uint64_t n, uint64_t seed, uint64_t hash, bool as_text);
/* allow is written for bad_method only, NULL otherwise; detail may be "". A detail
 * that is too long is cut. */
size_t http_write_fault(uint8_t *to, const struct http_reply *r, enum http_fault fault,
			const char *allow, const char *detail);
/* 503: the wait would be so long; Retry-After says it in whole seconds. */
size_t http_write_busy(uint8_t *to, const struct http_reply *r, uint64_t wait_ns);
/* 200 with a short ready-made body. */
size_t http_write_text(uint8_t *to, const struct http_reply *r, const char *type, const char *body);
/* The head of 200 text/plain, at most HTTP_REPLY_HEAD_MAX; the caller puts a body
 * of len bytes behind it. */
size_t http_write_echo(uint8_t *to, const struct http_reply *r, size_t len);
/* The head of 200 for a body of unknown length: in chunks, or, for HTTP/1.0, up to
 * the end of the connection, which must not be kept alive then. */
size_t http_write_stream(uint8_t *to, const struct http_reply *r, const char *type);
/* A chunk of such a body: n bytes stand at to + HTTP_CHUNK_FRONT; no more than
 * HTTP_CHUNK_MAX. The length of the chunk. 0 bytes are the end of the body. */
size_t http_write_chunk(uint8_t *to, size_t n);
/* OPTIONS: 204 with Allow. */
size_t http_write_allow(uint8_t *to, const struct http_reply *r, const char *allow);
/* The interim answer to Expect: 100-continue. */
size_t http_write_continue(uint8_t *to);

/* Unix seconds to "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110 5.6.7). */
enum { HTTP_DATE_LEN = 29 };
void http_date(uint64_t unix_s, char date[HTTP_DATE_LEN + 1]);

unsigned http_status(enum http_fault fault);
const char *http_fault_name(enum http_fault fault); /* "bad_line" */
const char *http_fault_text(enum http_fault fault);

#endif
