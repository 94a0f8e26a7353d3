/* SPDX-License-Identifier: GPL-2.0-only */
/* load_url.c - numbers only: a look-up of names would be measured along */
#include <arpa/inet.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include "load_url.h"

static bool resolve(struct load_plan *plan, const char *address, const char *port)
{
	struct addrinfo hint = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
				 .ai_socktype = SOCK_STREAM };
	struct addrinfo *got;

	if (getaddrinfo(address, port, &hint, &got))
		return false;
	memcpy(&plan->server, got->ai_addr, got->ai_addrlen);
	plan->server_len = got->ai_addrlen;
	freeaddrinfo(got);
	return true;
}

const char *load_url_parse(struct load_plan *plan, const char *url, const char **path)
{
	static const char scheme[] = "http://";
	char address[64], port[8] = "80";
	const char *at = url + sizeof scheme - 1;

	if (strncmp(url, scheme, sizeof scheme - 1) != 0)
		return "wanted http://ADDRESS[:PORT][/PATH]";
	size_t authority = strcspn(at, "/?#");
	if (authority >= sizeof plan->host)
		return "the address is too long";
	snprintf(plan->host, sizeof plan->host, "%.*s", (int)authority, at);
	bool six = *at == '[';
	size_t len = six ? strcspn(++at, "]/") : strcspn(at, ":/?#");
	if (!len || len >= sizeof address || (six && at[len] != ']'))
		return "wanted an IPv4 address, or an IPv6 address in brackets";
	snprintf(address, sizeof address, "%.*s", (int)len, at);
	at += len + six;
	if (*at == ':') {
		size_t digits = strspn(++at, "0123456789");
		long n = strtol(at, NULL, 10);
		if (!digits || digits >= sizeof port || n < 1 || n > 65535)
			return "the port is not 1 ... 65535";
		snprintf(port, sizeof port, "%ld", n);
		at += digits;
	}
	if (*at && *at != '/' && *at != '?')
		return "something else than a port or a path is behind the address";
	if (!resolve(plan, address, port))
		return "the address is not numeric (names are not looked up)";
	plan->url = url;
	*path = *at == '/' ? at : "/";
	return *at == '?' ? "a query needs a path before it" : NULL;
}
