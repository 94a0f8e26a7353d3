/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * reborn.h - the worker of a test goes on as another one, through an image
 *
 * Place    Tests in virtual time call it between two turns, as an upgrade would.
 * Model    The old worker is written down and freed (ASan sees who still looks there), the
 *          blocks of its counters are cleared; the new one lies elsewhere and had another
 *          secret. It must
 *          pass worker_check, and its own image must be the same, byte for byte.
 * Owner    *memory is a pointer for free(), which changes.
 */
#ifndef REBORN_H
#define REBORN_H

#include <stdlib.h>
#include "worker_private.h"

static inline uint8_t *reborn_save(const struct worker *w, size_t *len, uint64_t now_ns)
{
	size_t room = worker_image_room(w, now_ns);
	uint8_t *image = malloc(room); /* of just its size, which ASan guards */

	must(image);
	*len = worker_save(w, image, room, now_ns);
	must(*len == room);
	return image;
}

static inline struct worker *reborn(struct worker *old, void **memory, uint64_t now_ns)
{
	struct worker_params p = old->p; /* the blocks stay, as the maps do */
	size_t size = worker_footprint(&p), len, again;
	uint8_t *image = reborn_save(old, &len, now_ns), *second, *fresh = calloc(1, size + 64);
	struct worker before = *old, *w;

	must(fresh);
	worker_publish(old);
	free(*memory);
	p.secret[0] ^= 0xff;
	w = worker_init((void *)round_up((uintptr_t)fresh, 64), &p, now_ns);
	must(worker_load(w, image, len, now_ns) == IMAGE_none);
	second = reborn_save(w, &again, now_ns);
	must(again == len && !memcmp(image, second, len));
	worker_check(w);
	worker_set_date(w, before.unix_s);
	worker_set_mode(w, before.mode);
	worker_set_metrics(w, &before.source, before.live);
	free(image);
	free(second);
	*memory = fresh;
	return w;
}

#endif
