/* SPDX-License-Identifier: GPL-2.0-only */
/* load_answer.c - a state machine over lines and lengths; load_answer.h has the story */
#include <string.h>
#include <strings.h>
#include "load_answer.h"

enum state { STATUS, FIELDS, BODY, TO_END, SIZE, CHUNK, CHUNK_END, TRAILER, DONE };

/* More than any server has said yet of one answer: a day. */
static const uint64_t longest_ms = 86400000;

void load_answer_begin(struct load_answer *a)
{
	memset(a, 0, offsetof(struct load_answer, body));
	a->body[0] = '\0';
}

bool load_answer_begun(const struct load_answer *a)
{
	return a->state != STATUS || a->line_len || a->head_len;
}

static enum load_step bad(struct load_answer *a, const char *why)
{
	a->why = why;
	return LOAD_BAD;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* --- fields ------------------------------------------------------------------------- */

/* The value of the field `name` without blanks around it, or NULL: it is another field. */
static const char *value_of(const char *line, size_t len, const char *name, size_t *value_len)
{
	size_t n = strlen(name);

	if (len <= n || line[n] != ':' || strncasecmp(line, name, n) != 0)
		return NULL;
	for (n++; n < len && is_blank(line[n]); n++)
		;
	while (len > n && is_blank(line[len - 1]))
		len--;
	*value_len = len - n;
	return line + n;
}

static bool word_in_list(const char *list, size_t len, const char *word)
{
	size_t n = strlen(word);

	for (size_t i = 0; i < len;) {
		size_t end = i;
		while (end < len && list[end] != ',')
			end++;
		while (i < end && is_blank(list[i]))
			i++;
		size_t last = end;
		while (last > i && is_blank(list[last - 1]))
			last--;
		if (last - i == n && strncasecmp(list + i, word, n) == 0)
			return true;
		i = end + 1;
	}
	return false;
}

static bool digits(const char *text, size_t len, unsigned base, uint64_t *value, size_t *used)
{
	size_t i = 0;

	for (*value = 0; i < len; i++) {
		char c = text[i];
		unsigned digit = c >= '0' && c <= '9' ? (unsigned)(c - '0') :
				 c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 :
				 c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10 :
							16;
		if (digit >= base)
			break;
		if (*value > (UINT64_MAX >> 8) / base)
			return false;
		*value = *value * base + digit;
	}
	*used = i;
	return i > 0;
}

/* Decimal milliseconds, such as 0.012; a quoted one too (RFC 9110 5.6.6). By hand: it is
 * done for each answer several times, and strtod takes ten times as long. One that goes on
 * with anything else, such as the exponent of 5e-05, is none. */
static bool duration_ns(const char *text, size_t len, uint64_t *ns)
{
	uint64_t unit = NS_PER_MS, value;
	size_t at;

	if (len && *text == '"') {
		text++;
		len--;
	}
	if (!digits(text, len, 10, &value, &at) || value > longest_ms)
		return false;
	*ns = value * unit;
	if (at < len && text[at] == '.')
		while (++at < len && text[at] >= '0' && text[at] <= '9')
			*ns += (uint64_t)(text[at] - '0') * (unit /= 10);
	return at == len || is_blank(text[at]) || text[at] == ';' || text[at] == '"';
}

/* name;dur=1.5;desc=x, name ... One named `total` counts alone. */
static void read_timing(struct load_answer *a, const char *value, size_t len)
{
	for (size_t i = 0; i < len;) {
		size_t end = i;
		while (end < len && value[end] != ',')
			end++;
		while (i < end && is_blank(value[i]))
			i++;
		bool total = end - i >= 6 && strncasecmp(value + i, "total;", 6) == 0;
		const char *dur = memmem(value + i, end - i, "dur=", 4);
		uint64_t ns;
		if (dur && duration_ns(dur + 4, (size_t)(value + end - dur) - 4, &ns) &&
		    (total || !a->timed_total)) {
			a->server_ns = total ? ns : a->server_ns + ns;
			a->timed = true;
			a->timed_total |= total;
		}
		i = end + 1;
	}
}

/* A number, or a list of equal ones (RFC 9112 6.3), in one field or in several. */
static enum load_step read_length(struct load_answer *a, const char *value, size_t len)
{
	for (size_t i = 0;; i++) {
		uint64_t length;
		size_t used;
		while (i < len && is_blank(value[i]))
			i++;
		if (!digits(value + i, len - i, 10, &length, &used))
			return bad(a, "a Content-Length that is no number");
		if (a->has_length && length != a->left)
			return bad(a, "two different Content-Lengths");
		a->has_length = true;
		a->left = length;
		for (i += used; i < len && is_blank(value[i]); i++)
			;
		if (i == len)
			return LOAD_MORE;
		if (value[i] != ',')
			return bad(a, "a Content-Length that is no number");
	}
}

static enum load_step read_field(struct load_answer *a, const char *line, size_t len)
{
	const char *value;
	size_t n;

	/* Four names of dozens: the first letter sends most lines away. */
	switch (*line | 0x20) {
	case 'c':
		if ((value = value_of(line, len, "Content-Length", &n)))
			return read_length(a, value, n);
		if ((value = value_of(line, len, "Connection", &n))) {
			if (word_in_list(value, n, "close"))
				a->close = true;
			else if (word_in_list(value, n, "keep-alive"))
				a->close = false;
		}
		break;
	case 't':
		if ((value = value_of(line, len, "Transfer-Encoding", &n)))
			a->chunked = word_in_list(value, n, "chunked");
		break;
	case 's':
		if ((value = value_of(line, len, "Server-Timing", &n)))
			read_timing(a, value, n);
		break;
	}
	return LOAD_MORE;
}

/* --- lines -------------------------------------------------------------------------- */

static enum load_step read_status(struct load_answer *a, const char *line, size_t len)
{
	if (len < 12 || memcmp(line, "HTTP/1.", 7) != 0 || line[8] != ' ' || line[7] < '0' ||
	    line[7] > '1')
		return bad(a, "what does not begin with HTTP/1.1 and a status");
	a->status = 0;
	for (int i = 9; i < 12; i++) {
		if (line[i] < '0' || line[i] > '9')
			return bad(a, "a status that is no number");
		a->status = (uint16_t)(a->status * 10 + line[i] - '0');
	}
	if (a->status < 100)
		return bad(a, "a status below 100");
	a->close = line[7] == '0';
	a->state = FIELDS;
	return LOAD_MORE;
}

/* The empty line behind the fields: what comes now? */
static enum load_step head_ends(struct load_answer *a)
{
	if (a->status < 200) {
		load_answer_begin(a);
		return LOAD_MORE;
	}
	if (a->status == 204 || a->status == 304) {
		a->state = DONE;
	} else if (a->chunked) {
		a->state = SIZE;
	} else if (!a->has_length) {
		a->state = TO_END;
		a->close = true;
	} else {
		a->state = a->left ? BODY : DONE;
	}
	return a->state == DONE ? LOAD_WHOLE : LOAD_MORE;
}

static enum load_step read_size(struct load_answer *a, const char *line, size_t len)
{
	size_t used;

	if (!digits(line, len, 16, &a->left, &used) ||
	    (used < len && line[used] != ';' && !is_blank(line[used])))
		return bad(a, "a chunk size that is no number");
	a->state = a->left ? CHUNK : TRAILER;
	return LOAD_MORE;
}

static enum load_step read_line(struct load_answer *a, const char *line, size_t len)
{
	if (len && line[len - 1] == '\r')
		len--;
	switch (a->state) {
	case STATUS:
		return read_status(a, line, len);
	case FIELDS:
		return len ? read_field(a, line, len) : head_ends(a);
	case SIZE:
		return read_size(a, line, len);
	case CHUNK_END:
		if (len)
			return bad(a, "a chunk that is longer than its size");
		a->state = SIZE;
		return LOAD_MORE;
	default: /* TRAILER */
		if (len)
			return LOAD_MORE;
		a->state = DONE;
		return LOAD_WHOLE;
	}
}

/* One line, or as much of it as there is; a whole one is read where it stands. */
static enum load_step feed_line(struct load_answer *a, const char *bytes, size_t len, size_t *used)
{
	const char *end = memchr(bytes, '\n', len);
	size_t n = end ? (size_t)(end - bytes) : len;

	*used = end ? n + 1 : n;
	a->head_len += (uint32_t)min_u64(*used, LOAD_HEAD);
	if (a->head_len > LOAD_HEAD)
		return bad(a, "a head without an end");
	if (end && !a->line_len)
		return n > LOAD_LINE ? bad(a, "a line that is too long") : read_line(a, bytes, n);
	if (n > LOAD_LINE - a->line_len)
		return bad(a, "a line that is too long");
	memcpy(a->line + a->line_len, bytes, n);
	a->line_len += (uint32_t)n;
	if (!end)
		return LOAD_MORE;
	n = a->line_len;
	a->line_len = 0;
	return read_line(a, a->line, n);
}

/* --- bodies ------------------------------------------------------------------------- */

static size_t feed_body(struct load_answer *a, const char *bytes, size_t len)
{
	size_t n = a->state == TO_END ? len : min_u64(len, a->left);
	size_t keep = min_u64(n, LOAD_KEEP - a->kept);

	memcpy(a->body + a->kept, bytes, keep);
	a->kept = (uint16_t)(a->kept + keep);
	if (a->state != TO_END && !(a->left -= n)) {
		a->head_len = 0; /* chunk lines have the same limit, each */
		a->state = a->state == BODY ? DONE : CHUNK_END;
	}
	return n;
}

enum load_step load_answer_feed(struct load_answer *a, const char *bytes, size_t len, size_t *used)
{
	enum load_step step = LOAD_MORE;
	size_t n;

	*used = 0;
	while (*used < len && step == LOAD_MORE) {
		if (a->state == BODY || a->state == CHUNK || a->state == TO_END) {
			n = feed_body(a, bytes + *used, len - *used);
			step = a->state == DONE ? LOAD_WHOLE : LOAD_MORE;
		} else {
			step = feed_line(a, bytes + *used, len - *used, &n);
		}
		*used += n;
	}
	return step;
}

enum load_step load_answer_end(struct load_answer *a)
{
	if (a->state == TO_END) {
		a->state = DONE;
		return LOAD_WHOLE;
	}
	return bad(a, load_answer_begun(a) ? "half of an answer" : "no answer");
}
