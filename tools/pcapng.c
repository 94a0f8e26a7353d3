/* SPDX-License-Identifier: GPL-2.0-only */
#include "pcapng.h"

/* Clause numbers are those of the draft. */
enum {
	BLOCK_SECTION = 0x0a0d0d0a, /* 4.1 */
	BLOCK_INTERFACE = 1,        /* 4.2 */
	BLOCK_STATISTICS = 5,       /* 4.6 */
	BLOCK_FRAME = 6,            /* 4.3 */
	BYTE_ORDER_MAGIC = 0x1a2b3c4d,
	LINK_ETHERNET = 1,
};

enum {
	OPT_END = 0,
	OPT_COMMENT = 1, /* 3.5 */
	SHB_USERAPPL = 4,
	IF_NAME = 2,
	IF_DESCRIPTION = 3,
	IF_TSRESOL = 9,
	IF_FILTER = 11,
	EPB_FLAGS = 2,
	ISB_STARTTIME = 2,
	ISB_ENDTIME = 3,
	ISB_IFRECV = 4,
	ISB_IFDROP = 5,
};

enum { FLAG_INBOUND = 1, FLAG_OUTBOUND = 2 }; /* 4.3.1 */

/* A block in the making. All is in the byte order of this machine, as BYTE_ORDER_MAGIC
 * tells the reader. */
struct block {
	uint8_t *at;
	size_t len;
};

static void put(struct block *b, const void *bytes, size_t n)
{
	memcpy(b->at + b->len, bytes, n);
	b->len += n;
}

static void put_u16(struct block *b, uint16_t v)
{
	put(b, &v, sizeof v);
}

static void put_u32(struct block *b, uint32_t v)
{
	put(b, &v, sizeof v);
}

static void put_time(struct block *b, uint64_t ns)
{
	put_u32(b, (uint32_t)(ns >> 32));
	put_u32(b, (uint32_t)ns);
}

static void pad(struct block *b)
{
	static const uint8_t zero[3];

	put(b, zero, round_up(b->len, 4) - b->len);
}

static struct block begin(uint8_t *to, uint32_t type)
{
	struct block b = { .at = to };

	put_u32(&b, type);
	put_u32(&b, 0); /* the length, when it is known */
	return b;
}

static size_t end(struct block *b)
{
	uint32_t total = (uint32_t)(b->len + sizeof total);

	put_u32(b, total);
	memcpy(b->at + 4, &total, sizeof total);
	return total;
}

static void option(struct block *b, uint16_t code, const void *value, size_t n)
{
	put_u16(b, code);
	put_u16(b, (uint16_t)n);
	put(b, value, n);
	pad(b);
}

static void option_text(struct block *b, uint16_t code, const char *text)
{
	size_t n = 0;

	while (n < PCAPNG_TEXT - 8 && text[n])
		n++;
	if (n)
		option(b, code, text, n);
}

static void option_time(struct block *b, uint16_t code, uint64_t ns)
{
	uint32_t halves[2] = { (uint32_t)(ns >> 32), (uint32_t)ns };

	option(b, code, halves, sizeof halves);
}

size_t pcapng_section(uint8_t to[PCAPNG_BLOCK], const char *program)
{
	static const uint64_t unknown = UINT64_MAX;
	struct block b = begin(to, BLOCK_SECTION);

	put_u32(&b, BYTE_ORDER_MAGIC);
	put_u16(&b, 1); /* version 1.0 */
	put_u16(&b, 0);
	put(&b, &unknown, sizeof unknown); /* the section's length */
	option_text(&b, SHB_USERAPPL, program);
	option(&b, OPT_END, "", 0);
	return end(&b);
}

size_t pcapng_interface(uint8_t to[PCAPNG_BLOCK], const char *name, const char *about,
			const char *filter, uint32_t snap)
{
	static const uint8_t nanoseconds = 9;
	struct block b = begin(to, BLOCK_INTERFACE);
	char text[PCAPNG_TEXT] = { 0 }; /* 0: as libpcap's language has it */

	put_u16(&b, LINK_ETHERNET);
	put_u16(&b, 0);
	put_u32(&b, snap);
	option_text(&b, IF_NAME, name);
	option_text(&b, IF_DESCRIPTION, about);
	option(&b, IF_TSRESOL, &nanoseconds, sizeof nanoseconds);
	if (*filter) {
		size_t n = 1;

		while (n < PCAPNG_TEXT - 8 && *filter)
			text[n++] = *filter++;
		option(&b, IF_FILTER, text, n);
	}
	option(&b, OPT_END, "", 0);
	return end(&b);
}

size_t pcapng_frame(uint8_t to[PCAPNG_BLOCK], const struct pcapng_frame *f)
{
	struct block b = begin(to, BLOCK_FRAME);
	uint32_t flags = f->sent ? FLAG_OUTBOUND : FLAG_INBOUND;
	uint32_t captured = (uint32_t)min_u64(f->captured, PCAPNG_FRAME);

	put_u32(&b, 0); /* the one interface */
	put_time(&b, f->time_ns);
	put_u32(&b, captured);
	put_u32(&b, f->original);
	put(&b, f->bytes, captured);
	pad(&b);
	option_text(&b, OPT_COMMENT, f->comment);
	option(&b, EPB_FLAGS, &flags, sizeof flags);
	option(&b, OPT_END, "", 0);
	return end(&b);
}

size_t pcapng_statistics(uint8_t to[PCAPNG_BLOCK], const struct pcapng_statistics *s)
{
	struct block b = begin(to, BLOCK_STATISTICS);

	put_u32(&b, 0);
	put_time(&b, s->end_ns);
	option_time(&b, ISB_STARTTIME, s->start_ns);
	option_time(&b, ISB_ENDTIME, s->end_ns);
	option(&b, ISB_IFRECV, &s->received, sizeof s->received);
	option(&b, ISB_IFDROP, &s->dropped, sizeof s->dropped);
	option(&b, OPT_END, "", 0);
	return end(&b);
}
