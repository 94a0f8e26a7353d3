/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * lines.h - first data of connections, and whose they are
 *
 * Model    --path=/compute, /a and /api/v1. Up to `kernel` bytes it could still be
 *          ours; from then on it is the kernel's. 0: it is ours at every length.
 */
#ifndef LINES_H
#define LINES_H

struct line_case {
	const char *name;
	unsigned kernel;
	const char *text;
};

#define HOST50 "h123456789.h123456789.h123456789.h123456789.h12345"
#define HOST253 HOST50 HOST50 HOST50 HOST50 HOST50 "abc"

static const struct line_case line_cases[] = {
	/* ours */
	{ "GET", 0, "GET /compute HTTP/1.1\r\nHost: a\r\n\r\n" },
	{ "with a query", 0, "GET /compute?n=0 HTTP/1.1\r\n" },
	{ "below the path", 0, "GET /compute/x HTTP/1.1\r\n" },
	{ "a slash behind it", 0, "GET /compute/ HTTP/1.1\r\n" },
	{ "POST", 0, "POST /compute HTTP/1.1\r\nExpect: 100-continue\r\n" },
	{ "HEAD", 0, "HEAD /compute HTTP/1.1\r\n" },
	{ "OPTIONS", 0, "OPTIONS /compute HTTP/1.1\r\n" },
	{ "a method nobody knows", 0, "M-SEARCH!#$%&'*+-.^_`|~ /compute HTTP/1.1\r\n" },
	{ "a method in small letters", 0, "get /compute HTTP/1.1\r\n" },
	{ "absolute form", 0, "GET http://example.org/compute HTTP/1.1\r\n" },
	{ "absolute form, port, query", 0, "GET http://example.org:8080/compute?n=1 HTTP/1.1\r\n" },
	{ "absolute form, IPv6", 0, "GET http://[2001:db8::1]:8080/compute HTTP/1.1\r\n" },
	{ "absolute form, HTTP", 0, "GET HTTP://example.org/compute HTTP/1.1\r\n" },
	{ "absolute form, a long host", 0, "GET http://" HOST253 ":65535/compute HTTP/1.1\r\n" },
	{ "the second path", 0, "GET /a HTTP/1.1\r\n" },
	{ "the third path", 0, "GET /api/v1/x HTTP/1.1\r\n" },
	{ "a method of 24", 0, "ABCDEFGHIJKLMNOPQRSTUVWX /a HTTP/1.1\r\n" },
	{ "nothing but the method", 0, "GET" },
	{ "HTTP/1.0", 0, "GET /compute HTTP/1.0\r\n\r\n" },

	/* the kernel's */
	{ "the root", 6, "GET / HTTP/1.1\r\n" },
	{ "a path that goes on", 13, "GET /computer HTTP/1.1\r\n" },
	{ "a path that ends early", 12, "GET /comput HTTP/1.1\r\n" },
	{ "a path that differs in case", 6, "GET /Compute HTTP/1.1\r\n" },
	{ "another path", 6, "GET /index.html HTTP/1.1\r\n" },
	{ "between two of ours", 7, "GET /ab HTTP/1.1\r\n" },
	{ "the start of the third alone", 9, "GET /api HTTP/1.1\r\n" },
	{ "the third path that goes on", 12, "GET /api/v1x HTTP/1.1\r\n" },
	{ "behind another", 6, "GET /x/compute HTTP/1.1\r\n" },
	{ "escaped", 6, "GET /%63ompute HTTP/1.1\r\n" },
	{ "a slash more", 6, "GET //compute HTTP/1.1\r\n" },
	{ "dots", 6, "GET /./compute HTTP/1.1\r\n" },
	{ "a fragment", 13, "GET /compute#x HTTP/1.1\r\n" },
	{ "HTTP/0.9", 13, "GET /compute\r\n" },
	{ "a semicolon", 13, "GET /compute;x HTTP/1.1\r\n" },
	{ "asterisk form", 9, "OPTIONS * HTTP/1.1\r\n" },
	{ "authority form", 9, "CONNECT example.org:443 HTTP/1.1\r\n" },
	{ "absolute form, another path", 24, "GET http://example.org/x HTTP/1.1\r\n" },
	{ "absolute form without a path", 23, "GET http://example.org HTTP/1.1\r\n" },
	{ "absolute form, query at once", 23, "GET http://example.org?/compute HTTP/1.1\r\n" },
	{ "absolute form, https", 9, "GET https://example.org/compute HTTP/1.1\r\n" },
	{ "another scheme", 5, "GET ftp://example.org/compute HTTP/1.1\r\n" },
	{ "two spaces", 5, "GET  /compute HTTP/1.1\r\n" },
	{ "a tab", 4, "GET\t/compute HTTP/1.1\r\n" },
	{ "a space first", 1, " GET /compute HTTP/1.1\r\n" },
	{ "an empty line first", 1, "\r\nGET /compute HTTP/1.1\r\n" },
	{ "a method of 25", 25, "ABCDEFGHIJKLMNOPQRSTUVWXY /a HTTP/1.1\r\n" },
	{ "a method that is no token", 2, "G(T /compute HTTP/1.1\r\n" },
	{ "a method beyond ASCII", 2, "G\303\226T /compute HTTP/1.1\r\n" },
	{ "a host that never ends", 324,
	  "GET http://" HOST253 HOST50 HOST50 "/compute HTTP/1.1\r\n" },
	{ "TLS ClientHello", 1, "\026\003\001\002\001\001\001\374\003\003" },
	{ "preface of HTTP/2", 5, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" },
	{ "PROXY protocol", 7, "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n" },
	{ "PROXY protocol, version 2", 1, "\r\n\r\n\001\r\nQUIT\n" },
	{ "ssh", 9, "SSH-2.0 OpenSSH_9.2\r\n" },
};

#endif
