/* SPDX-License-Identifier: GPL-2.0-only */
#include "prefix.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

static bool parse_addr(struct access_key *out, const char *text, bool *v4)
{
	uint8_t *bytes = (uint8_t *)out->addr;

	memcpy(bytes, mapped, sizeof mapped);
	*v4 = inet_pton(AF_INET, text, bytes + sizeof mapped) == 1;
	return *v4 || inet_pton(AF_INET6, text, bytes) == 1;
}

/* What stands behind the slash; -1: no number up to most. */
static int parse_bits(const char *text, int most)
{
	int bits = 0;

	if (!isdigit((unsigned char)*text) || strlen(text) > 3)
		return -1;
	for (; isdigit((unsigned char)*text); text++)
		bits = bits * 10 + (*text - '0');
	return *text || bits > most ? -1 : bits;
}

/* True: all behind it was 0 already. */
static bool clear_behind(struct access_key *key)
{
	uint8_t *bytes = (uint8_t *)key->addr;
	bool clear = true;

	for (uint32_t bit = key->bits; bit < ACCESS_BITS; bit++) {
		uint8_t mask = (uint8_t)(0x80 >> bit % 8);

		clear = clear && !(bytes[bit / 8] & mask);
		bytes[bit / 8] &= (uint8_t)~mask;
	}
	return clear;
}

static bool holds_ip4(const struct access_key *key)
{
	struct access_key ip4 = { .bits = key->bits };

	memcpy(ip4.addr, mapped, sizeof mapped);
	clear_behind(&ip4);
	return key->bits < ACCESS_BITS4 && !memcmp(ip4.addr, key->addr, sizeof ip4.addr);
}

const char *prefix_parse(struct access_key *out, const char *text, char why[PREFIX_TEXT * 2])
{
	char addr[INET6_ADDRSTRLEN], right[PREFIX_TEXT];
	size_t len = strcspn(text, "/");
	bool v4;
	int bits;

	*out = (struct access_key){ 0 };
	if (!strcmp(text, "all"))
		return NULL;
	if (len >= sizeof addr)
		return "wanted a prefix, such as 192.0.2.0/24, 2001:db8::/32 or all";
	memcpy(addr, text, len);
	addr[len] = '\0';
	if (!parse_addr(out, addr, &v4))
		return "wanted a prefix, such as 192.0.2.0/24, 2001:db8::/32 or all";
	bits = v4 ? 32 : 128;
	if (text[len])
		bits = parse_bits(text + len + 1, bits);
	if (bits < 0)
		return v4 ? "wanted /0 ... /32 behind an IPv4 address" :
			    "wanted /0 ... /128 behind an IPv6 address";
	out->bits = (uint32_t)bits + (v4 ? ACCESS_BITS4 : 0);
	if (!clear_behind(out)) {
		snprintf(why, PREFIX_TEXT * 2, "the address has bits behind the prefix: did you mean %s",
			 prefix_text(right, out));
		return why;
	}
	if (holds_ip4(out))
		return "that holds the IPv4 addresses too: say all, or 2000::/3 for IPv6";
	return NULL;
}

const char *prefix_addr_text(char text[PREFIX_TEXT], const void *addr)
{
	bool v4 = !memcmp(addr, mapped, sizeof mapped);
	const uint8_t *bytes = addr;

	return inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? bytes + sizeof mapped : bytes, text,
			 PREFIX_TEXT);
}

const char *prefix_text(char text[PREFIX_TEXT], const struct access_key *key)
{
	bool v4 = key->bits >= ACCESS_BITS4 && !memcmp(key->addr, mapped, sizeof mapped);
	size_t len;

	if (!key->bits)
		return strcpy(text, "all");
	if (v4)
		prefix_addr_text(text, key->addr);
	else
		inet_ntop(AF_INET6, key->addr, text, PREFIX_TEXT);
	len = strlen(text);
	snprintf(text + len, PREFIX_TEXT - len, "/%u", key->bits - (v4 ? ACCESS_BITS4 : 0));
	return text;
}
