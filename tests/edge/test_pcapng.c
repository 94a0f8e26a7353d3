/* SPDX-License-Identifier: GPL-2.0-only */
/* pcapng: each block as the draft has it, read by a reader that knows nothing of the writer. */
#include "pcapng.h"
#include "tap.h"

static uint8_t block[PCAPNG_BLOCK + 64];

static uint32_t u32(size_t at)
{
	uint32_t v;

	memcpy(&v, block + at, sizeof v);
	return v;
}

static uint16_t u16(size_t at)
{
	uint16_t v;

	memcpy(&v, block + at, sizeof v);
	return v;
}

/* Type, both lengths, and nothing written beyond. */
static bool is_block(size_t n, uint32_t type)
{
	bool clean = true;

	for (size_t i = n; i < sizeof block; i++)
		clean &= block[i] == 0xee;
	return clean && n % 4 == 0 && u32(0) == type && u32(4) == n && u32(n - 4) == n;
}

/* The value of an option in the list from `at` on, or NULL. The list must end as it should. */
static const uint8_t *find(size_t at, size_t n, uint16_t code, size_t *len)
{
	const uint8_t *found = NULL;

	while (at + 4 <= n - 4 && u16(at)) {
		if (u16(at) == code) {
			found = block + at + 4;
			*len = u16(at + 2);
		}
		at += 4 + round_up(u16(at + 2), 4);
	}
	return at == n - 8 && u32(at) == 0 ? found : NULL;
}

static bool has_text(size_t at, size_t n, uint16_t code, const char *text)
{
	size_t len = 0;
	const uint8_t *value = find(at, n, code, &len);

	return value && len == strlen(text) && !memcmp(value, text, len);
}

static void clear(void)
{
	memset(block, 0xee, sizeof block);
}

static void test_section(void)
{
	size_t n;

	clear();
	n = pcapng_section(block, "a program");
	ok(is_block(n, 0x0a0d0d0a), "section: a block");
	is(u32(8), 0x1a2b3c4d, "byte order");
	is(u32(12), 1, "version 1.0");
	ok(u32(16) == UINT32_MAX && u32(20) == UINT32_MAX, "length unknown");
	ok(has_text(24, n, 4, "a program"), "the program that wrote it");
}

static void test_interface(void)
{
	size_t n, len = 0;
	const uint8_t *value;

	clear();
	n = pcapng_interface(block, "eth0", "words", "port 8080", 96);
	ok(is_block(n, 1), "interface: a block");
	is(u32(8), 1, "Ethernet");
	is(u32(12), 96, "snap length");
	ok(has_text(16, n, 2, "eth0"), "name");
	ok(has_text(16, n, 3, "words"), "description");
	value = find(16, n, 9, &len);
	ok(value && len == 1 && *value == 9, "nanoseconds");
	value = find(16, n, 11, &len);
	ok(value && len == 10 && !memcmp(value, "\0port 8080", 10), "filter, as text");
	clear();
	n = pcapng_interface(block, "eth0", "", "", 0);
	ok(is_block(n, 1) && !find(16, n, 3, &len) && !find(16, n, 11, &len),
	   "empty texts are left out");
}

static void test_frame(void)
{
	uint8_t bytes[PCAPNG_FRAME];
	struct pcapng_frame f = {
		.time_ns = 0x123456789abcdef0,
		.bytes = bytes,
		.comment = "why",
		.original = 1514,
	};
	bool good = true;

	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)(i * 3 + 1);
	for (uint32_t len = 0; len <= PCAPNG_FRAME; len++) {
		size_t n, at = 28 + round_up(len, 4), size = 0;
		const uint8_t *flags;

		f.captured = len;
		f.sent = len & 1;
		clear();
		n = pcapng_frame(block, &f);
		flags = find(at, n, 2, &size);
		good &= is_block(n, 6) && u32(8) == 0 && u32(12) == 0x12345678 &&
			u32(16) == 0x9abcdef0 && u32(20) == len && u32(24) == 1514 &&
			!memcmp(block + 28, bytes, len) && has_text(at, n, 1, "why") && flags &&
			size == 4 && *flags == (f.sent ? 2 : 1);
		for (size_t i = 28 + len; i < at; i++)
			good &= !block[i];
	}
	ok(good, "frame: of each length, with padding, comment and direction");
}

static void test_long(void)
{
	char text[2 * PCAPNG_TEXT];
	uint8_t bytes[PCAPNG_FRAME] = { 0 };
	struct pcapng_frame f = { .bytes = bytes, .captured = PCAPNG_FRAME + 9, .comment = text };

	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	clear();
	ok(is_block(pcapng_frame(block, &f), 6), "a frame and a comment that are too long are cut");
	clear();
	ok(is_block(pcapng_interface(block, text, text, text, 0), 1),
	   "and the texts of an interface");
	clear();
	ok(is_block(pcapng_section(block, text), 0x0a0d0d0a), "and of a section");
}

static void test_statistics(void)
{
	struct pcapng_statistics s = { 5, 7ull << 32 | 9, 1ull << 33, 3 };
	size_t n, len = 0;
	const uint8_t *value;
	uint64_t number;

	clear();
	n = pcapng_statistics(block, &s);
	ok(is_block(n, 5), "statistics: a block");
	ok(u32(8) == 0 && u32(12) == 7 && u32(16) == 9, "at the end of the trace");
	value = find(20, n, 2, &len);
	ok(value && len == 8 && !memcmp(value, "\0\0\0\0\5\0\0\0", 8), "start");
	value = find(20, n, 3, &len);
	ok(value && len == 8 && !memcmp(value, "\7\0\0\0\11\0\0\0", 8), "end");
	value = find(20, n, 4, &len);
	memcpy(&number, value, sizeof number);
	is(number, 1ull << 33, "received");
	value = find(20, n, 5, &len);
	memcpy(&number, value, sizeof number);
	is(number, 3, "dropped");
}

int main(void)
{
	test_section();
	test_interface();
	test_frame();
	test_long();
	test_statistics();
	return done();
}
