/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * books.h - close what a worker left open when it died
 *
 * Place    The starter's. docs/maps.md has the equations: whatever begins ends under one
 *          name, or is there now.
 * Model    A dead worker has no more connections, requests and frames, so what is
 *          missing in each equation is what it took with it. The blocks of its threads
 *          have no other writer then; what concerns sockets stands in the starter's own.
 */
#ifndef BOOKS_H
#define BOOKS_H

#include "blocks.h"

/* Its sockets were closed, here and there, and none is open. */
void books_rings(struct blocks *b);

/* The worker died, and so did its sockets; or the stand-in did. */
void books_worker(struct blocks *b);
void books_stand_in(struct blocks *b);

#endif
