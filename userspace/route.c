/* SPDX-License-Identifier: GPL-2.0-only */
/* route.c - paths, queries, forms and JSON; route.h has the story */

#include "route.h"

#define JSMN_STATIC
#define JSMN_STRICT
#define JSMN_PARENT_LINKS
#include <jsmn.h>

/* A run of bytes in the query or the body. */
struct span {
	const uint8_t *at;
	size_t len;
};

/* What is being read: a query, a form or a JSON object. */
struct text {
	struct span all;
	bool is_body;
	bool is_json;
	uint64_t max_n;
	struct route_ask *ask;
	struct route_refusal *why;
};

static bool span_is(struct span s, const char *word, size_t len)
{
	return s.len == len && !memcmp(s.at, word, len);
}
#define is_word(s, word) span_is(s, word, sizeof(word) - 1)

static int hex_value(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* --- refusals ----------------------------------------------------------------- */

/* A detail under construction; what does not fit is left out. */
struct note {
	char *at;
	const char *end; /* room for the final NUL stays behind it */
};

static void note_string(struct note *n, const char *s)
{
	while (*s && n->at < n->end)
		*n->at++ = *s++;
}

static void note_number(struct note *n, uint64_t v)
{
	char digits[20];
	size_t i = sizeof digits;

	do
		digits[--i] = (char)('0' + v % 10);
	while (v /= 10);
	while (i < sizeof digits && n->at < n->end)
		*n->at++ = digits[i++];
}

/* Somebody else's bytes: at most 24 of them, and only what every log can show. */
static void note_quoted(struct note *n, struct span s)
{
	const size_t most = 24;

	note_string(n, " \"");
	for (size_t i = 0; i < s.len && i < most && n->at < n->end; i++)
		*n->at++ = s.at[i] >= 0x20 && s.at[i] < 0x7f ? (char)s.at[i] : '?';
	note_string(n, s.len > most ? "...\"" : "\"");
}

static bool refuse_bare(struct route_refusal *why, enum http_fault fault)
{
	why->fault = fault;
	why->detail[0] = 0;
	return false;
}

/* Refuse with "what [quoted] at byte 12 of the query". */
static bool refuse_at(struct route_refusal *why, enum http_fault fault, const char *what,
		      const struct span *quoted, size_t at, bool in_body)
{
	struct note n = { why->detail, why->detail + ROUTE_DETAIL - 1 };

	why->fault = fault;
	note_string(&n, what);
	if (quoted)
		note_quoted(&n, *quoted);
	note_string(&n, " at byte ");
	note_number(&n, at);
	note_string(&n, in_body ? " of the body" : " of the query");
	*n.at = 0;
	return false;
}

static bool refuse(const struct text *t, enum http_fault fault, const char *what, struct span value)
{
	return refuse_at(t->why, fault, what, &value, (size_t)(value.at - t->all.at), t->is_body);
}

/* --- values ------------------------------------------------------------------- */

enum number { NUMBER_GOOD, NUMBER_MALFORMED, NUMBER_WIDE };

/* Decimal without leading zeros (to some, 010 is 8), or 0x and hex digits. */
static enum number number_read(struct span s, bool may_hex, uint64_t *v)
{
	bool hex = may_hex && s.len > 2 && s.at[0] == '0' && (s.at[1] | 0x20) == 'x';
	unsigned base = hex ? 16 : 10;
	bool wide = false;

	*v = 0;
	if (!s.len || (!hex && s.len > 1 && s.at[0] == '0'))
		return NUMBER_MALFORMED;
	for (size_t i = hex ? 2 : 0; i < s.len; i++) {
		int digit = hex_value(s.at[i]);
		if (digit < 0 || (unsigned)digit >= base)
			return NUMBER_MALFORMED;
		wide |= __builtin_mul_overflow(*v, base, v);
		wide |= __builtin_add_overflow(*v, (unsigned)digit, v);
	}
	return wide ? NUMBER_WIDE : NUMBER_GOOD;
}

/* raw is the value as it was sent, value what it means. */
static bool take_n(const struct text *t, struct span raw, struct span value, bool is_string)
{
	enum number got = number_read(value, false, &t->ask->n);

	if (got == NUMBER_MALFORMED || (t->is_json && is_string))
		return refuse(t, HTTP_bad_number, "n", raw);
	if (got == NUMBER_WIDE || t->ask->n > t->max_n)
		return refuse(t, HTTP_bad_n_range, "n", raw);
	return true;
}

static bool take_seed(const struct text *t, struct span raw, struct span value, bool is_string)
{
	enum number got = number_read(value, !t->is_json || is_string, &t->ask->seed);

	if (got == NUMBER_MALFORMED)
		return refuse(t, HTTP_bad_number, "seed", raw);
	if (got == NUMBER_WIDE)
		return refuse(t, HTTP_bad_seed_range, "seed", raw);
	t->ask->seed_at = (uint32_t)(raw.at - t->all.at);
	t->ask->seed_in_body = t->is_body;
	return true;
}

static bool take_alg(const struct text *t, struct span raw, struct span value, bool is_string)
{
	if (t->is_json && !is_string)
		return refuse(t, HTTP_bad_alg, "alg", raw);
	for (unsigned alg = 0; alg < LANE_ALGS; alg++) {
		const char *name = lane_alg_name(alg);
		size_t i = 0;
		while (i < value.len && name[i] && value.at[i] == (uint8_t)name[i])
			i++;
		if (i == value.len && !name[i]) {
			t->ask->alg = (uint8_t)alg;
			return true;
		}
	}
	return refuse(t, HTTP_bad_alg, "alg", raw);
}

static bool take(const struct text *t, struct span name, struct span raw, struct span value,
		 bool is_string)
{
	struct route_ask *ask = t->ask;
	bool *has = is_word(name, "n")    ? &ask->has_n :
		    is_word(name, "seed") ? &ask->has_seed :
		    is_word(name, "alg")  ? &ask->has_alg :
					    NULL;

	if (!has)
		return refuse(t, HTTP_bad_name, "name", name);
	if (*has)
		return refuse(t, HTTP_bad_twice, "name", name);
	*has = true;
	if (has == &ask->has_n)
		return take_n(t, raw, value, is_string);
	if (has == &ask->has_seed)
		return take_seed(t, raw, value, is_string);
	return take_alg(t, raw, value, is_string);
}

/* All is read: what depends on more than one value. */
static bool ask_complete(struct route_ask *ask, struct route_refusal *why)
{
	if (!ask->has_seed) {
		ask->seed = lane_alg_seed(ask->alg);
		return true;
	}
	if (lane_alg_bits(ask->alg) == 64 || ask->seed <= UINT32_MAX)
		return true;
	return refuse_at(why, HTTP_bad_seed_range, "seed above 32 bits", NULL, ask->seed_at,
			 ask->seed_in_body);
}

/* --- queries and forms ---------------------------------------------------------- */

enum { VALUE_MAX = 32 }; /* decoded; the longest right one, a seed, has 20 */

/* Undo %XX at s.at[*i] (also '+' where plus is set) and step over it; -1 when
 * it is malformed. */
static int byte_decode(struct span s, size_t *i, bool plus)
{
	uint8_t c = s.at[(*i)++];

	if (c == '+' && plus)
		return ' ';
	if (c != '%')
		return c;
	if (s.len - *i < 2)
		return -1;
	int high = hex_value(s.at[*i]), low = hex_value(s.at[*i + 1]);
	*i += 2;
	return high < 0 || low < 0 ? -1 : high << 4 | low;
}

/* name=value, no name is encoded (they have nothing to encode). */
static bool pair_read(const struct text *t, struct span pair)
{
	struct span name = { pair.at, 0 };
	uint8_t decoded[VALUE_MAX];
	size_t len = 0;

	while (name.len < pair.len && pair.at[name.len] != '=')
		name.len++;
	size_t skip = name.len < pair.len ? name.len + 1 : name.len;
	struct span raw = { pair.at + skip, pair.len - skip };
	for (size_t i = 0; i < raw.len;) {
		size_t at = i;
		int c = byte_decode(raw, &i, true);
		if (c < 0)
			return refuse(t, HTTP_bad_escape, "escape",
				      (struct span){ raw.at + at, min_u64(3, raw.len - at) });
		if (len < VALUE_MAX)
			decoded[len++] = (uint8_t)c;
		else
			decoded[0] = 0; /* too long to be right: let it not look so */
	}
	return take(t, name, raw, (struct span){ decoded, len }, true);
}

static bool form_read(const struct text *t)
{
	struct span rest = t->all;

	while (rest.len) {
		struct span pair = { rest.at, 0 };
		while (pair.len < rest.len && rest.at[pair.len] != '&')
			pair.len++;
		size_t used = pair.len < rest.len ? pair.len + 1 : pair.len;
		rest.at += used;
		rest.len -= used;
		/* The URL standard skips empty pairs: "n=1&" is what clients send */
		if (pair.len && !pair_read(t, pair))
			return false;
	}
	return true;
}

/* --- JSON (RFC 8259) ------------------------------------------------------------- */

static bool refuse_json(const struct text *t, const char *what, size_t at)
{
	return refuse_at(t->why, HTTP_bad_json, what, NULL, at, true);
}

/* Length of the UTF-8 character at s.at[i], 0 when malformed (RFC 3629 4). */
static unsigned utf8_len(struct span s, size_t i)
{
	uint8_t c = s.at[i];
	unsigned len = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;

	if (!len || s.len - i < len)
		return 0;
	for (unsigned k = 1; k < len; k++)
		if ((s.at[i + k] & 0xc0) != 0x80)
			return 0;
	uint8_t next = len > 1 ? s.at[i + 1] : 0;
	/* no overlong form, no surrogate, nothing above U+10FFFF */
	if ((c == 0xe0 && next < 0xa0) || (c == 0xed && next > 0x9f) ||
	    (c == 0xf0 && next < 0x90) || (c == 0xf4 && next > 0x8f))
		return 0;
	return len;
}

/* jsmn stops at NUL and takes any byte from 0x20 up inside strings. */
static bool json_bytes_good(const struct text *t)
{
	bool in_string = false;

	for (size_t i = 0; i < t->all.len;) {
		uint8_t c = t->all.at[i];
		unsigned len = utf8_len(t->all, i);
		if (!len)
			return refuse_json(t, "invalid UTF-8", i);
		if (c < 0x20 && (in_string || (c != '\t' && c != '\n' && c != '\r')))
			return refuse_json(t, "control character", i);
		if (c == '"')
			in_string = !in_string;
		if (in_string && c == '\\' && i + 1 < t->all.len && t->all.at[i + 1] < 0x80)
			len = t->all.at[i + 1] < 0x20 ? 1 : 2;
		i += len;
	}
	return true;
}

/* Between two tokens: white space, and the one mark that belongs there. jsmn
 * looks at neither commas nor colons. */
static bool json_gap(const struct text *t, size_t from, size_t to, char mark)
{
	for (size_t i = from; i < to; i++) {
		uint8_t c = t->all.at[i];
		if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
			continue;
		if (!mark || c != (uint8_t)mark)
			return refuse_json(t, "unexpected byte", i);
		mark = 0;
	}
	if (mark)
		return refuse_json(t, mark == ',' ? "missing comma" : "missing colon", to);
	return true;
}

/* Where a token starts and ends with its quotes, and what is inside. */
static size_t token_from(const jsmntok_t *token)
{
	return (size_t)token->start - (token->type == JSMN_STRING);
}

static size_t token_to(const jsmntok_t *token)
{
	return (size_t)token->end + (token->type == JSMN_STRING);
}

static struct span token_span(const struct text *t, const jsmntok_t *token)
{
	return (struct span){ t->all.at + token->start, (size_t)(token->end - token->start) };
}

/* One name and its value. */
static bool member_read(const struct text *t, const jsmntok_t *name, const jsmntok_t *value)
{
	struct span word = token_span(t, name), v = token_span(t, value);

	if (name->type != JSMN_STRING)
		return refuse_json(t, "name is no string", token_from(name));
	for (size_t i = 0; i < word.len; i++)
		if (word.at[i] == '\\') /* else two spellings of one name */
			return refuse_json(t, "escape in a name", (size_t)name->start + i);
	if (!json_gap(t, token_to(name), token_from(value), ':'))
		return false;
	if (value->type == JSMN_OBJECT || value->type == JSMN_ARRAY)
		return refuse_json(t, "nested value", token_from(value));
	return take(t, word, v, v, value->type == JSMN_STRING);
}

static bool json_read(const struct text *t)
{
	jsmntok_t tokens[ROUTE_TOKENS];
	jsmn_parser parser;

	if (!json_bytes_good(t))
		return false;
	jsmn_init(&parser);
	int got = jsmn_parse(&parser, (const char *)t->all.at, t->all.len, tokens, ROUTE_TOKENS);
	if (got < 0)
		return refuse_json(t,
				   got == JSMN_ERROR_NOMEM ? "too many values" :
				   got == JSMN_ERROR_PART  ? "unfinished" :
							     "malformed",
				   min_u64(parser.pos, t->all.len));
	if (!got || tokens[0].type != JSMN_OBJECT)
		return refuse_json(t, "no object", got ? token_from(&tokens[0]) : 0);
	if (!json_gap(t, 0, (size_t)tokens[0].start, 0) ||
	    !json_gap(t, (size_t)tokens[0].end, t->all.len, 0))
		return false;
	size_t at = (size_t)tokens[0].start + 1;
	for (int i = 1; i < got; i += 2) {
		if (!json_gap(t, at, token_from(&tokens[i]), i > 1 ? ',' : 0))
			return false;
		if (i + 1 == got)
			return refuse_json(t, "name without value", token_from(&tokens[i]));
		if (!member_read(t, &tokens[i], &tokens[i + 1]))
			return false;
		at = token_to(&tokens[i + 1]);
	}
	return json_gap(t, at, (size_t)tokens[0].end - 1, 0);
}

/* --- paths ---------------------------------------------------------------------- */

#define M(method) (1u << HTTP_##method)

static const struct route {
	const char *path;
	size_t len;
	unsigned methods;
	const char *allow;
} routes[ROUTE_NONE] = {
	[ROUTE_COMPUTE] = { "/compute", 8, M(GET) | M(HEAD_METHOD) | M(POST) | M(OPTIONS),
			    "GET, HEAD, POST, OPTIONS" },
	[ROUTE_ECHO] = { "/echo", 5, M(GET) | M(HEAD_METHOD) | M(POST) | M(OPTIONS),
			 "GET, HEAD, POST, OPTIONS" },
	[ROUTE_HEALTHZ] = { "/healthz", 8, M(GET) | M(HEAD_METHOD) | M(OPTIONS),
			    "GET, HEAD, OPTIONS" },
	[ROUTE_METRICS] = { "/metrics", 8, M(GET) | M(HEAD_METHOD) | M(OPTIONS),
			    "GET, HEAD, OPTIONS" },
	[ROUTE_SERVER] = { "*", 1, M(OPTIONS), "GET, HEAD, POST, OPTIONS" },
};

const char *route_allow(enum route_path path)
{
	must(path < ROUTE_NONE);
	return routes[path].allow;
}

/* Percent escapes are undone, dot segments are not: no route needs them. */
static bool path_find(struct span path, uint8_t *found, struct route_refusal *why)
{
	uint8_t decoded[16];
	size_t len = 0;

	for (size_t i = 0; i < path.len;) {
		int c = byte_decode(path, &i, false);
		if (c < 0)
			return refuse_bare(why, HTTP_bad_escape);
		if (len < sizeof decoded)
			decoded[len++] = (uint8_t)c;
	}
	for (unsigned i = 0; i < ROUTE_NONE; i++) {
		if (span_is((struct span){ decoded, len }, routes[i].path, routes[i].len)) {
			*found = (uint8_t)i;
			return true;
		}
	}
	return refuse_bare(why, HTTP_not_found);
}

bool route_below(const struct http_head *h, const uint8_t *bytes, const char *path)
{
	const uint8_t *target = bytes + h->target;
	size_t n = 0;

	while (path[n] && n < h->target_len && target[n] == (uint8_t)path[n])
		n++;
	return !path[n] && (n == h->target_len || target[n] == '/' || target[n] == '?');
}

bool route_head(const struct http_head *h, const uint8_t *bytes, uint64_t max_n,
		struct route_ask *ask, struct route_refusal *why)
{
	struct span path = { bytes + h->target, 0 };
	bool body = h->chunked || h->length;

	*ask = (struct route_ask){ .n = min_u64(N_DEFAULT, max_n), .path = ROUTE_NONE };
	ask->as_text = h->accept == HTTP_MEDIA_TEXT;
	if (h->method == HTTP_OTHER)
		return refuse_bare(why, HTTP_not_implemented);
	while (path.len < h->target_len && path.at[path.len] != '?')
		path.len++;
	size_t skip = path.len < h->target_len ? path.len + 1 : path.len;
	struct span query = { path.at + skip, h->target_len - skip };
	if (!path.len) /* RFC 9112 3.2.4: an absolute-form without a path */
		path = h->method == HTTP_OPTIONS ? (struct span){ (const uint8_t *)"*", 1 } :
						   (struct span){ (const uint8_t *)"/", 1 };
	if (!path_find(path, &ask->path, why))
		return false;
	if (!(routes[ask->path].methods & 1u << h->method))
		return refuse_bare(why, HTTP_bad_method);
	if (ask->path != ROUTE_COMPUTE || h->method == HTTP_OPTIONS)
		return true;
	if (h->method == HTTP_POST && body && h->media != HTTP_MEDIA_JSON &&
	    h->media != HTTP_MEDIA_FORM)
		return refuse_bare(why, HTTP_media_type);
	struct text t = { .all = query, .max_n = max_n, .ask = ask, .why = why };
	if (!form_read(&t))
		return false;
	/* A body may still bring the alg that the seed is to be measured by */
	return (h->method == HTTP_POST && body) || ask_complete(ask, why);
}

bool route_body(const struct http_head *h, const uint8_t *body, size_t len, uint64_t max_n,
		struct route_ask *ask, struct route_refusal *why)
{
	struct text t = {
		.all = { body, len },
		.is_body = true,
		.is_json = h->media == HTTP_MEDIA_JSON,
		.max_n = max_n,
		.ask = ask,
		.why = why,
	};

	if (len && !(t.is_json ? json_read(&t) : form_read(&t)))
		return false;
	return ask_complete(ask, why);
}
