/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * siphash.h - a keyed hash that strangers cannot steer
 *
 * Place    tcp: cookies, table buckets, TIME-WAIT keys. Pure.
 * Model    SipHash-2-4 (Aumasson, Bernstein: "SipHash: a fast short-input PRF").
 * Units    A key is 16 random bytes, made once at start.
 */
#ifndef SIPHASH_H
#define SIPHASH_H

#include "base.h"

struct siphash_key {
	uint64_t k0, k1;
};

uint64_t siphash(const struct siphash_key *key, const void *bytes, size_t len);

#endif
