/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * image.h - the state of a worker as a row of bytes, for the process that follows
 *
 * Place    worker and tcp write themselves down (worker_save, tcp_save) and read
 *          themselves back in another process, where everything lies at other
 *          addresses. Pure.
 * Model    A cursor over bytes. Saving: what does not fit is not written, and the
 *          image has failed. Counting: as saving, to nowhere; so what an image takes
 *          is not written down a second time. Loading: what is not there is not
 *          read; nothing that was read is believed before it was looked at.
 *          Structs are copied as they lie in memory. Two builds agree on them, or
 *          the header says that they do not (worker_image.c, layout).
 * Owner    The bytes are the caller's; they need no alignment.
 * Errors   The first fault stays. A failed image takes and gives nothing more, so
 *          the caller may ask once, at the end.
 */
#ifndef IMAGE_H
#define IMAGE_H

#include "base.h"

#define IMAGE_FAULT_LIST(X) \
	X(none, "") \
	X(short, "it ends too early") \
	X(foreign, "it is no image of a worker") \
	X(version, "it was written by a version that lays it out in another way") \
	X(layout, "it was written by a build whose records differ from ours") \
	X(slots, "it has a connection in a slot that we do not have: fewer connections") \
	X(buffers, \
	  "it has bytes that our buffers do not hold: fewer connections, or shorter bodies") \
	X(steer, "it is of a port that was shared in another way: --steer") \
	X(untold, "the steering has not heard of every flow that ended") \
	X(broken, "it contradicts itself")

enum image_fault {
#define X(name, text) IMAGE_##name,
	IMAGE_FAULT_LIST(X)
#undef X
		IMAGE_FAULTS,
};

struct image {
	uint8_t *to;         /* saving */
	const uint8_t *from; /* loading; neither: counting */
	size_t room, at;     /* bytes in all; where the cursor stands */
	enum image_fault fault;
};

static inline struct image image_count(void)
{
	return (struct image){ .room = SIZE_MAX };
}

static inline struct image image_write(void *to, size_t room)
{
	return (struct image){ .to = to, .room = room };
}

static inline struct image image_read(const void *from, size_t len)
{
	return (struct image){ .from = from, .room = len };
}

/* Note a fault, unless there is one. Always false, to be returned. */
bool image_refuse(struct image *m, enum image_fault fault);

void image_put(struct image *m, const void *bytes, size_t n);
void image_put_u32(struct image *m, uint32_t v);

/* False: it has failed; to[] is zeroed. */
bool image_take(struct image *m, void *to, size_t n);
uint32_t image_take_u32(struct image *m);
/* The next n bytes where they lie, or NULL. */
const uint8_t *image_pass(struct image *m, size_t n);

/* Does each of these bytes of a record hold a bool? Any other value is no bool to the
 * compiler, whatever it does with it. */
bool image_bools(const void *record, const uint16_t *offsets, unsigned n);

/* A deadline that was read. None of ours is further away: time-outs are 32 bits of ms. */
static inline uint64_t image_deadline(uint64_t at_ns, uint64_t now_ns)
{
	return min_u64(at_ns, now_ns + UINT32_MAX * (uint64_t)NS_PER_MS);
}

const char *image_fault_name(enum image_fault fault); /* "short" */
const char *image_fault_text(enum image_fault fault);

#endif
