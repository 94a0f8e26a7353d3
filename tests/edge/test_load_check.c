/* SPDX-License-Identifier: GPL-2.0-only */
/* load_check: what is sent, and that the hashes which are published are what is expected. */
#include "load.h"
#include "tap.h"

static struct load_plan plan;
static struct load_kind kind;
static char why[LOAD_WHY];

static void prepare(const char *path, const char *body)
{
	free(kind.request);
	kind = (struct load_kind){ .path = path };
	plan.post = (char *)(uintptr_t)body;
	plan.post_len = body ? strlen(body) : 0;
	if (!load_check_prepare(&kind, &plan, why))
		printf("Bail out! %s\n", why);
}

static void expects(const char *path, const char *body, const char *hash)
{
	prepare(path, body);
	ok(kind.checked, "%s %s is checked", path, body ? body : "");
	is_str(kind.hash, hash, "and the hash is right");
}

static void unchecked(const char *path, const char *body)
{
	prepare(path, body);
	ok(!kind.checked && *why, "%s %s: %s", path, body ? body : "", why);
}

static void test_hashes(void)
{
	expects("/compute", NULL, "0x25be6645");
	expects("/compute?n=2", NULL, "0x1076963a");
	expects("/compute?n=0", NULL, "0x811c9dc5");
	expects("/compute?n=0&alg=fnv1a64", NULL, "0xcbf29ce484222325");
	expects("/compute?alg=mix64&n=0&seed=255", NULL, "0x00000000000000ff");
	expects("/compute", "{\"n\":2}", "0x1076963a");
	expects("/compute", "n=2&alg=fnv1a32", "0x1076963a");
	expects("/compute?n=2", "", "0x1076963a");
	expects("/compute?n=%32", NULL, "0x1076963a");
}

static void test_unchecked(void)
{
	unchecked("/healthz", NULL);
	unchecked("/", NULL);
	unchecked("/compute?n=x", NULL);
	unchecked("/compute", "{\"n\":");
	unchecked("/compute?n=1000000000000", NULL);
	plan.verify = false;
	prepare("/compute?n=2", NULL);
	ok(!kind.checked && !*why, "nor anything with --no-verify, which needs no words");
	plan.verify = true;
}

static void test_requests(void)
{
	prepare("/compute?n=2", NULL);
	is_str(kind.request, "GET /compute?n=2 HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n", "a GET");
	is(kind.request_len, strlen(kind.request), "of that length");
	plan.header[0] = "X-A: b";
	plan.headers = 1;
	plan.fresh = true;
	prepare("/compute", "{\"n\":2}");
	is_str(kind.request,
	       "POST /compute HTTP/1.1\r\nHost: [::1]:8080\r\nConnection: close\r\nX-A: b\r\n"
	       "Content-Type: application/json\r\nContent-Length: 7\r\n\r\n{\"n\":2}",
	       "a POST on a connection of its own");
	plan.fresh = false;
	plan.headers = 0;
	plan.type = "text/x";
	prepare("/compute", "n=2");
	ok(strstr(kind.request, "\r\nContent-Type: text/x\r\n"), "of the type that is asked for");
	ok(!kind.checked, "which the responder would refuse: not checked");
	plan.type = NULL;
}

static void body(const char *text, bool good)
{
	ok(load_check_body(&kind, text, strlen(text)) == good, "%.*s is %s",
	   (int)strcspn(text, "\n"), text, good ? "right" : "wrong");
}

static void test_bodies(void)
{
	prepare("/compute?n=2", NULL);
	body("{\"alg\":\"fnv1a32\",\"n\":2,\"hash\":\"0x1076963a\",\"compute_ns\":3}\n", true);
	body("{ \"hash\" : \"0x1076963a\" }", true);
	body("0x1076963a\n", true);
	body("0x1076963a", true);
	body("{\"hash\":\"0x1076963b\"}", false);
	body("{\"hash\":\"0x1076963\"}", false);
	body("{\"hash\":\"0x1076963a0\"}", false);
	body("{\"seed\":\"0x1076963a\"}", false);
	body("{\"hash\":", false);
	body("", false);
	body("<html>0x1076963a</html>", false);
}

int main(void)
{
	plan = (struct load_plan){ .host = "[::1]:8080", .verify = true };
	test_hashes();
	test_unchecked();
	test_requests();
	test_bodies();
	free(kind.request);
	return done();
}
