/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * http_oracle.c - what our parser says of requests, for tests/fuzz/diff_node.js
 *
 * Usage: http_oracle < REQUESTS   Each is its length (32 bits, little-endian) and
 * its bytes. A line for each: "accept METHOD TARGET BODY_LENGTH USED" (USED
 * bytes are the message), "reject FAULT", or "more": right so far, not whole. Each lies in memory of its exact size.
 */
#include "http.h"
#include "tap.h"

static enum http_step read_message(struct http_head *h, uint8_t *bytes, size_t len, size_t *body,
				   size_t *used)
{
	size_t left;

	http_begin(h);
	enum http_step step = http_head(h, bytes, len);
	if (step != HTTP_WHOLE)
		return step;
	left = len - h->line;
	step = http_body(h, bytes + h->line, &left, HTTP_BODY_MAX, used, body);
	*used += h->line;
	return step;
}

static void judge(uint8_t *bytes, size_t len)
{
	struct http_head h;
	size_t body = 0, used = 0, method = 0;
	enum http_step step = read_message(&h, bytes, len, &body, &used);

	if (step != HTTP_WHOLE) {
		if (step == HTTP_BAD)
			printf("reject %s\n", http_fault_name(h.fault));
		else
			puts("more");
		return;
	}
	while (bytes[method] == '\r' || bytes[method] == '\n') /* empty lines before it */
		method++;
	size_t end = method;
	while (bytes[end] != ' ')
		end++;
	printf("accept %.*s %.*s %zu %zu\n", (int)(end - method), (char *)bytes + method,
	       h.target_len ? (int)h.target_len : 1, h.target_len ? (char *)bytes + h.target : "/",
	       body, used);
}

int main(void)
{
	uint8_t prefix[4];

	while (fread(prefix, 1, sizeof prefix, stdin) == sizeof prefix) {
		size_t len = prefix[0] | prefix[1] << 8 | prefix[2] << 16 | (size_t)prefix[3] << 24;
		uint8_t *bytes = malloc(len ? len : 1);
		if (!bytes || fread(bytes, 1, len, stdin) != len)
			return 1;
		judge(bytes, len);
		free(bytes);
	}
	return ferror(stdin) || fflush(stdout) ? 1 : 0;
}
