/* SPDX-License-Identifier: GPL-2.0-only */
/* load_heat.c - buckets of a logarithmic scale, without logarithms; load_heat.h has why */
#include "load_heat.h"

uint64_t load_heat_edge(unsigned bucket)
{
	/* 1000 * 10^(i/16) */
	static const uint16_t step[LOAD_HEAT_DECADE] = {
		1000, 1155, 1334, 1540, 1778, 2054, 2371, 2738,
		3162, 3652, 4217, 4870, 5623, 6494, 7499, 8660,
	};
	uint64_t scale = 1;

	if (!bucket)
		return 0;
	for (unsigned decade = (bucket - 1) / LOAD_HEAT_DECADE; decade; decade--)
		scale *= 10;
	return step[(bucket - 1) % LOAD_HEAT_DECADE] * scale;
}

void load_heat_clear(struct load_heat *h)
{
	memset(h->count, 0, h->rows * sizeof *h->count);
	h->rows = 0;
	h->row_s = 1;
	h->low = LOAD_HEAT_BUCKETS;
	h->high = 0;
}

/* Each two rows become one. */
static void fold(struct load_heat *h)
{
	unsigned half = (h->rows + 1) / 2;

	for (unsigned row = 0; row < h->rows; row++) {
		uint64_t *from = h->count[row], *to = h->count[row / 2];
		for (unsigned b = 0; row && b < LOAD_HEAT_BUCKETS; b++) {
			uint64_t n = from[b];
			from[b] = 0;
			to[b] += n;
		}
	}
	h->rows = half;
	h->row_s *= 2;
}

void load_heat_add(struct load_heat *h, unsigned second, const struct load_hist *latency)
{
	unsigned b = 0;

	if (!latency->count)
		return;
	while (second / h->row_s >= LOAD_HEAT_ROWS)
		fold(h);
	unsigned row = second / h->row_s;
	h->rows = row >= h->rows ? row + 1 : h->rows;
	for (uint32_t i = latency->low; i <= latency->high; i++) {
		if (!latency->bucket[i])
			continue;
		uint64_t ns = load_hist_lower(i);
		while (b + 1 < LOAD_HEAT_BUCKETS && ns >= load_heat_edge(b + 1))
			b++;
		h->count[row][b] += latency->bucket[i];
		h->low = b < h->low ? b : h->low;
		h->high = b > h->high ? b : h->high;
	}
}

bool load_heat_used(const struct load_heat *h, unsigned row)
{
	for (unsigned b = h->low; b <= h->high; b++)
		if (h->count[row][b])
			return true;
	return false;
}
