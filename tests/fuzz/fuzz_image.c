/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An image of a worker with a bit of everything, changed in some places: the input is a
 * list of changes, {where16, what, how}. It is refused, or the worker that goes on from
 * it lives for some seconds, with peers that answer: worker_check after each turn. What
 * makes the header the right one is left alone.
 */
#include "unit/image_rig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEADER = 32, CHANGES_MAX = 64 };

static void change(uint8_t *at, size_t room, uint8_t what, uint8_t how)
{
	uint64_t words[] = { what, UINT64_MAX, UINT64_C(1) << 31, UINT64_C(1) << (what & 63) };

	if (how & 4)
		*at ^= what;
	else if (how & 8)
		memcpy(at, &words[how & 3], min_u64(room, how & 16 ? 8 : how & 32 ? 4 : 2));
	else
		*at = what;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t *image, *copy;
	static size_t len;
	static uint64_t then;

	if (!image) {
		begin_rich();
		then = now;
		image = reborn_save(w, &len, now);
		copy = malloc(len);
		must(copy);
		worker_blank(w, now);
	}
	memcpy(copy, image, len);
	for (unsigned i = 0; i < CHANGES_MAX && size >= 4; i++, data += 4, size -= 4) {
		size_t at = HEADER + (data[0] | (size_t)data[1] << 8) % (len - HEADER);

		change(copy + at, len - at, data[2], data[3]);
	}
	now = then;
	if (worker_load(w, copy, len, now) == IMAGE_none) {
		live_on();
		worker_blank(w, then);
	}
	return 0;
}
