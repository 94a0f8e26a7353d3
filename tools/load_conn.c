/* SPDX-License-Identifier: GPL-2.0-only */
/* load_conn.c - connections over epoll, edge-triggered; load_conn.h has the drawing */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include "load_conn.h"

enum { ON_NONE, ON_IDLE, ON_BUSY, ON_DOWN };

/* At the start: as long as the third SYN of a connection takes, and no more of them under
 * way than a listener's queue has room for. */
static const uint64_t open_patience_ns = 8ull * NS_PER_S;
enum { OPENING_MAX = 64 };

/* --- lists -------------------------------------------------------------------------- */

static struct load_list *list_of(struct load_pool *p, const struct load_conn *c)
{
	return c->list == ON_IDLE ? &p->idle : c->list == ON_BUSY ? &p->busy : &p->down;
}

static void unlist(struct load_pool *p, struct load_conn *c)
{
	if (c->list == ON_NONE)
		return;
	struct load_list *l = list_of(p, c);
	*(c->before ? &c->before->after : &l->first) = c->after;
	*(c->after ? &c->after->before : &l->last) = c->before;
	p->idles -= c->list == ON_IDLE;
	c->list = ON_NONE;
}

/* To the end of a list; all lists are in the order of since_ns. */
static void enlist(struct load_pool *p, struct load_conn *c, int list, uint64_t since_ns)
{
	unlist(p, c);
	c->list = (uint8_t)list;
	c->since_ns = since_ns;
	struct load_list *l = list_of(p, c);
	c->before = l->last;
	c->after = NULL;
	*(l->last ? &l->last->after : &l->first) = c;
	p->idles += list == ON_IDLE;
	l->last = c;
}

/* --- making and ending -------------------------------------------------------------- */

static void shut(struct load_pool *p, struct load_conn *c)
{
	if (c->fd < 0)
		return;
	close(c->fd); /* and epoll forgets it */
	c->fd = -1;
	p->open--;
}

static bool make_socket(struct load_pool *p, struct load_conn *c)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
				 .data.ptr = c };
	int one = 1;

	c->fd = socket(p->plan->server.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		return false;
	p->open++;
	return !setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) &&
	       !epoll_ctl(p->epoll, EPOLL_CTL_ADD, c->fd, &e) &&
	       (!connect(c->fd, (const struct sockaddr *)&p->plan->server, p->plan->server_len) ||
		errno == EINPROGRESS);
}

static void settle(struct load_pool *p, struct load_conn *c, enum load_outcome outcome,
		   uint64_t now_ns, const char *what)
{
	if (!c->asked)
		return;
	c->asked = false;
	p->asked--;
	if (c->measured)
		load_record_failed(p->record, outcome, c->due_ns, now_ns, what);
}

static const char *connect_trouble(int error)
{
	return error == EADDRNOTAVAIL ?
		       "out of local ports: raise net.ipv4.ip_local_port_range, or "
		       "set net.ipv4.tcp_tw_reuse=1" :
	       error == EMFILE ? "out of descriptors: raise `ulimit -n`" :
				 strerror(error);
}

/* Begin to connect. False: it went wrong at once, and what was asked has its end. */
static bool begin_open(struct load_pool *p, struct load_conn *c, uint64_t now_ns)
{
	c->opening = true;
	c->served = false;
	c->out = 0;
	load_answer_begin(&c->answer);
	if (make_socket(p, c)) {
		enlist(p, c, ON_BUSY, now_ns);
		return true;
	}
	p->connect_error = errno;
	p->connect_fails = true;
	settle(p, c, LOAD_errors, now_ns, connect_trouble(errno));
	shut(p, c);
	if (p->plan->fresh)
		enlist(p, c, ON_IDLE, now_ns);
	else
		enlist(p, c, ON_DOWN, now_ns + LOAD_RETRY_MS * NS_PER_MS);
	return false;
}

/* It is of no more use. One that has served is made again at once; one that was refused, or
 * ended before it served, later: else a server that accepts and closes keeps us busy. */
static void replace(struct load_pool *p, struct load_conn *c, uint64_t now_ns)
{
	bool served = c->served;

	shut(p, c);
	if (p->plan->fresh) {
		enlist(p, c, ON_IDLE, now_ns);
		return;
	}
	p->record->reconnects++;
	if (served)
		begin_open(p, c, now_ns);
	else
		enlist(p, c, ON_DOWN, now_ns + LOAD_RETRY_MS * NS_PER_MS);
}

static void lose(struct load_pool *p, struct load_conn *c, enum load_outcome outcome,
		 uint64_t now_ns, const char *what)
{
	settle(p, c, outcome, now_ns, what);
	replace(p, c, now_ns);
}

/* --- asking ------------------------------------------------------------------------- */

/* As much of the request as goes. */
static void push(struct load_pool *p, struct load_conn *c)
{
	const struct load_kind *k = &p->plan->kind[c->kind];
	ssize_t n = send(c->fd, k->request + c->out, k->request_len - c->out, MSG_NOSIGNAL);

	if (n >= 0)
		c->out += (size_t)n;
	else if (errno != EAGAIN && errno != EINTR)
		lose(p, c, LOAD_resets, load_now(), strerror(errno));
}

static void sent(struct load_pool *p, struct load_conn *c, uint64_t now_ns, uint64_t free_ns)
{
	if (!c->due_ns)
		c->due_ns = now_ns;
	uint64_t ready_ns = max_u64(free_ns, p->begin_ns);
	if (p->plan->mode != LOAD_CLOSED)
		ready_ns = max_u64(ready_ns, c->due_ns);
	if (c->measured)
		load_record_sent(p->record, now_ns, now_ns > ready_ns ? now_ns - ready_ns : 0);
}

void load_conn_ask(struct load_pool *p, unsigned kind, uint64_t due_ns, bool measured)
{
	struct load_conn *c = p->idle.first;
	uint64_t free_ns = c->since_ns, now_ns = load_now();

	c->asked = true;
	c->kind = kind;
	c->due_ns = due_ns;
	c->measured = measured;
	c->out = 0;
	p->asked++;
	sent(p, c, now_ns, free_ns);
	if (p->plan->fresh) {
		begin_open(p, c, now_ns);
		return;
	}
	c->sent_ns = now_ns;
	load_answer_begin(&c->answer);
	enlist(p, c, ON_BUSY, now_ns);
	push(p, c);
}

/* --- hearing ------------------------------------------------------------------------ */

/* The beginning of a body, as one line of ASCII: it goes to terminals and into JSON. */
static void show_body(char text[28], const struct load_answer *a)
{
	size_t n = min_u64(a->kept, 24);

	for (size_t i = 0; i < n; i++)
		text[i] = a->body[i] >= ' ' && a->body[i] <= '~' ? a->body[i] : '.';
	strcpy(text + n, a->kept > n ? "..." : "");
}

static void judge(struct load_pool *p, struct load_conn *c, uint64_t now_ns)
{
	const struct load_answer *a = &c->answer;
	const struct load_kind *k = &p->plan->kind[c->kind];
	char what[64], body[28];

	if (a->status == 503) {
		settle(p, c, LOAD_refused, now_ns, "503");
	} else if (a->status < 200 || a->status > 299) {
		snprintf(what, sizeof what, "an answer of status %u", a->status);
		settle(p, c, LOAD_errors, now_ns, what);
	} else if (k->checked && !load_check_body(k, a->body, a->kept)) {
		show_body(body, a);
		snprintf(what, sizeof what, "\"%s\" instead of %s", body, k->hash);
		settle(p, c, LOAD_wrong, now_ns, what);
	} else {
		c->asked = false;
		p->asked--;
		if (c->measured)
			load_record_ok(p->record, c->kind, c->due_ns, c->sent_ns, now_ns,
				       a->timed ? a->server_ns : LOAD_NONE);
	}
}

/* A whole answer. The connection goes on, unless somebody says that it ends. */
static void heard(struct load_pool *p, struct load_conn *c, uint64_t now_ns, bool ends)
{
	bool all_sent = c->out == p->plan->kind[c->kind].request_len;

	c->served = true;
	judge(p, c, now_ns);
	if (ends || c->answer.close || p->plan->fresh || !all_sent)
		replace(p, c, now_ns);
	else
		enlist(p, c, ON_IDLE, now_ns);
}

static void ended(struct load_pool *p, struct load_conn *c, uint64_t now_ns)
{
	char what[96];

	if (c->asked && load_answer_end(&c->answer) == LOAD_WHOLE) {
		heard(p, c, now_ns, true);
		return;
	}
	snprintf(what, sizeof what, "the server closed the connection: %s", c->answer.why);
	lose(p, c, LOAD_resets, now_ns, what);
}

static uint64_t hear(struct load_pool *p, struct load_conn *c, bool ends)
{
	for (;;) {
		ssize_t n = recv(c->fd, p->input, sizeof p->input, 0);
		int error = errno;
		uint64_t now_ns = load_now();
		size_t used;

		if (n < 0 && error == EINTR)
			continue;
		if (p->plan->quickack && n > 0) /* the kernel forgets it by itself */
			setsockopt(c->fd, IPPROTO_TCP, TCP_QUICKACK, &(int){ 1 }, sizeof(int));
		if (n < 0 && error == EAGAIN)
			return now_ns;
		if (n < 0) {
			lose(p, c, LOAD_resets, now_ns, strerror(error));
			return now_ns;
		}
		if (!n) {
			ended(p, c, now_ns);
			return now_ns;
		}
		if (!c->asked) { /* nobody asked: not to be told from the next answer */
			replace(p, c, now_ns);
			return now_ns;
		}
		enum load_step step = load_answer_feed(&c->answer, p->input, (size_t)n, &used);
		if (step == LOAD_BAD || used < (size_t)n) {
			lose(p, c, LOAD_errors, now_ns,
			     step == LOAD_BAD ? c->answer.why : "bytes behind the answer");
			return now_ns;
		}
		if (step == LOAD_WHOLE) {
			heard(p, c, now_ns, ends);
			return now_ns;
		}
		if ((size_t)n < sizeof p->input && !ends)
			return now_ns;
	}
}

/* Connected, or not. */
static uint64_t opened(struct load_pool *p, struct load_conn *c)
{
	uint64_t now_ns = load_now();
	int error = 0;
	socklen_t len = sizeof error;

	p->connect_fails = getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len) || error;
	if (p->connect_fails) {
		p->connect_error = error;
		lose(p, c, error == ECONNRESET ? LOAD_resets : LOAD_errors, now_ns,
		     connect_trouble(error));
		return now_ns;
	}
	c->opening = false;
	if (c->measured || !c->asked)
		load_hist_record(&p->record->connect, now_ns - c->since_ns);
	if (!c->asked) {
		enlist(p, c, ON_IDLE, now_ns);
		return now_ns;
	}
	c->sent_ns = load_now();
	enlist(p, c, ON_BUSY, c->sent_ns);
	push(p, c);
	return now_ns;
}

uint64_t load_conn_event(struct load_pool *p, struct load_conn *c, uint32_t events)
{
	bool ends = events & (EPOLLRDHUP | EPOLLERR | EPOLLHUP);
	uint64_t now_ns = 0;

	if (c->fd < 0)
		return load_now();
	if (c->opening) {
		if (!(events & (EPOLLOUT | EPOLLERR | EPOLLHUP)))
			return load_now();
		now_ns = opened(p, c);
		if (c->opening || c->fd < 0)
			return now_ns;
	} else if (c->asked && events & EPOLLOUT && c->out < p->plan->kind[c->kind].request_len) {
		push(p, c);
		if (c->opening || c->fd < 0)
			return load_now();
	}
	if (ends || events & EPOLLIN)
		return hear(p, c, ends);
	return now_ns ? now_ns : load_now();
}

/* --- time --------------------------------------------------------------------------- */

void load_pool_tend(struct load_pool *p, uint64_t now_ns)
{
	struct load_conn *c;
	char what[64];

	snprintf(what, sizeof what, "no answer within %g s",
		 (double)p->plan->timeout_ns / NS_PER_S);
	while ((c = p->busy.first) && c->since_ns + p->plan->timeout_ns <= now_ns) {
		p->connect_error = c->opening ? ETIMEDOUT : p->connect_error;
		lose(p, c, LOAD_timeouts, now_ns, what);
	}
	while ((c = p->down.first) && c->since_ns <= now_ns)
		begin_open(p, c, now_ns);
}

uint64_t load_pool_next_ns(const struct load_pool *p)
{
	uint64_t busy = p->busy.first ? p->busy.first->since_ns + p->plan->timeout_ns : UINT64_MAX;
	uint64_t down = p->down.first ? p->down.first->since_ns : UINT64_MAX;

	return min_u64(busy, down);
}

void load_pool_abandon(struct load_pool *p, uint64_t now_ns)
{
	for (unsigned i = 0; i < p->plan->connections; i++) {
		struct load_conn *c = &p->conn[i];
		if (c->asked)
			lose(p, c, LOAD_timeouts, now_ns, "no answer by the end");
	}
}

/* --- all of them -------------------------------------------------------------------- */

static bool take_memory(struct load_pool *p)
{
	struct rlimit files;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	if (files.rlim_cur < p->plan->connections + 32) {
		fprintf(stderr,
			"saker-load: -c %u: only %llu files may be open: raise `ulimit -Hn`\n",
			p->plan->connections, (unsigned long long)files.rlim_cur);
		return false;
	}
	p->epoll = epoll_create1(EPOLL_CLOEXEC);
	p->conn = calloc(p->plan->connections, sizeof *p->conn);
	if (p->epoll < 0 || !p->conn) {
		fprintf(stderr, "saker-load: -c %u: %s\n", p->plan->connections, strerror(errno));
		return false;
	}
	return true;
}

/* So many, until all are idle; false: patience with one of them ended. */
static bool open_all(struct load_pool *p, unsigned wanted)
{
	uint64_t patience = min_u64(open_patience_ns, p->plan->timeout_ns), now = load_now();
	uint64_t end = now + patience;
	unsigned begun = 0, was_open = 0;

	while (begun < wanted || p->busy.first || p->down.first) {
		struct epoll_event event[LOAD_EVENTS];
		while (begun < wanted && begun < p->idles + OPENING_MAX)
			begin_open(p, &p->conn[begun++], now);
		int n = epoll_wait(p->epoll, event, LOAD_EVENTS, 10);
		for (int i = 0; i < n; i++)
			load_conn_event(p, event[i].data.ptr, event[i].events);
		now = load_now();
		if (p->idles > was_open) {
			was_open = p->idles;
			end = now + patience;
		}
		if (now >= end || (p->connect_error && !p->open && p->down.first))
			return false;
		load_pool_tend(p, now);
	}
	return p->open == wanted;
}

bool load_pool_open(struct load_pool *p, const struct load_plan *plan, struct load_record *r)
{
	unsigned wanted = plan->fresh ? 1 : plan->connections;

	*p = (struct load_pool){ .plan = plan, .record = r, .epoll = -1 };
	if (!take_memory(p))
		return false;
	for (unsigned i = 0; i < plan->connections; i++)
		p->conn[i].fd = -1;
	if (!open_all(p, wanted)) {
		fprintf(stderr, "saker-load: %s: %u of %u connections were accepted: %s\n",
			plan->url, p->open, wanted,
			p->connect_error ? connect_trouble(p->connect_error) :
					   "no answer; is the server running?");
		return false;
	}
	for (unsigned i = 0; plan->fresh && i < plan->connections; i++) {
		shut(p, &p->conn[i]);
		enlist(p, &p->conn[i], ON_IDLE, load_now());
	}
	return true;
}

void load_pool_close(struct load_pool *p)
{
	for (unsigned i = 0; p->conn && i < p->plan->connections; i++)
		shut(p, &p->conn[i]);
	free(p->conn);
	if (p->epoll >= 0)
		close(p->epoll);
}
