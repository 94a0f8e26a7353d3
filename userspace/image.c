/* SPDX-License-Identifier: GPL-2.0-only */
#include "image.h"

bool image_refuse(struct image *m, enum image_fault fault)
{
	if (!m->fault)
		m->fault = fault;
	return false;
}

/* Are there n bytes more? */
static bool has(struct image *m, size_t n)
{
	if (!m->fault && n > m->room - m->at)
		image_refuse(m, IMAGE_short);
	return !m->fault;
}

void image_put(struct image *m, const void *bytes, size_t n)
{
	must_debug(!m->from);
	if (!has(m, n))
		return;
	if (m->to && n)
		memcpy(m->to + m->at, bytes, n);
	m->at += n;
}

void image_put_u32(struct image *m, uint32_t v)
{
	image_put(m, &v, sizeof v);
}

const uint8_t *image_pass(struct image *m, size_t n)
{
	const uint8_t *at = m->from + m->at;

	if (!has(m, n))
		return NULL;
	m->at += n;
	return at;
}

bool image_take(struct image *m, void *to, size_t n)
{
	const uint8_t *at = image_pass(m, n);

	if (at)
		memcpy(to, at, n);
	else
		memset(to, 0, n);
	return at;
}

uint32_t image_take_u32(struct image *m)
{
	uint32_t v;

	image_take(m, &v, sizeof v);
	return v;
}

/* --- numbers with names ----------------------------------------------------------- */

/* FNV-1a. Names of one list that meet would be seen by its test. */
uint64_t image_name(const char *name)
{
	uint64_t h = 0xcbf29ce484222325;

	while (*name)
		h = (h ^ (uint8_t)*name++) * 0x100000001b3;
	return h;
}

void image_put_named(struct image *m, const char *const *names, const uint64_t *values, unsigned n)
{
	image_put_u32(m, n);
	for (unsigned i = 0; i < n; i++) {
		uint64_t pair[2] = { image_name(names[i]), values[i] };

		image_put(m, pair, sizeof pair);
	}
}

bool image_take_named(struct image *m, const char *const *names, uint64_t *values, unsigned n)
{
	uint32_t count = image_take_u32(m);
	unsigned at = 0; /* usually they come in our order */
	uint64_t pair[2];

	while (count-- && image_take(m, pair, sizeof pair))
		for (unsigned tries = n; tries--; at = (at + 1) % n)
			if (image_name(names[at]) == pair[0]) {
				values[at] = pair[1];
				at = (at + 1) % n;
				break;
			}
	return !m->fault;
}

/* --- looking at what was read --------------------------------------------------------- */

bool image_bools(const void *record, const uint16_t *offsets, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (((const uint8_t *)record)[offsets[i]] > 1)
			return false;
	return true;
}

const char *image_fault_name(enum image_fault fault)
{
	static const char *const name[] = {
#define X(word, text) #word,
		IMAGE_FAULT_LIST(X)
#undef X
	};

	return name[fault];
}

const char *image_fault_text(enum image_fault fault)
{
	static const char *const texts[] = {
#define X(word, text) text,
		IMAGE_FAULT_LIST(X)
#undef X
	};

	return texts[fault];
}
