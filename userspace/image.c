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
