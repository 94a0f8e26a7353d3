/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * prefix.h - address prefixes, as people write them and as the map `access` has them
 *
 * Place    conf.c for --allow and --deny, saker-ctl for its words. Edge.
 * Model    192.0.2.0/24, 192.0.2.7, 2001:db8::/32, and "all", of both families.
 *          IPv4 lies in the one trie as ::ffff:a.b.c.d, so an IPv6 prefix that holds
 *          those addresses is refused: it would mean more than it says.
 */
#ifndef PREFIX_H
#define PREFIX_H

#include "base.h"
#include "abi.h"

enum { PREFIX_TEXT = 64 };

/* NULL; or what is wrong with it, with the cure, in why. */
const char *prefix_parse(struct access_key *out, const char *text, char why[PREFIX_TEXT * 2]);

const char *prefix_text(char text[PREFIX_TEXT], const struct access_key *key);

/* An address alone, of either family: "192.0.2.7", "2001:db8::7". */
const char *prefix_addr_text(char text[PREFIX_TEXT], const void *addr);

#endif
