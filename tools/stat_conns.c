/* SPDX-License-Identifier: GPL-2.0-only */
#include <argp.h>
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "stats.h"
#include "stat_conns.h"
#include "stat_text.h"

/* How often an entry is read anew that was written meanwhile: each 50 ms at most. */
enum { TRIES = 100 };

struct row {
	struct conn_entry e;
	unsigned thread, slot;
};

struct filter {
	bool has_address, has_port;
	uint8_t address[16];
	uint16_t port;
	const char *state; /* or what it does; NULL: any */
};

struct args {
	const char *ifname, *pin_dir;
	struct filter filter;
	int (*order)(const void *a, const void *b);
	bool json;
};

struct list {
	struct mode mode;
	const char *name, *dir;
	uint64_t now_ns;
	struct row *row;
	unsigned rows;  /* those shown */
	unsigned conns; /* all */
	unsigned torn;  /* that could not be read */
};

/* --- words ------------------------------------------------------------------------ */

static const char *state_name(enum abi_conn state)
{
#define X(name) #name,
	static const char *const words[] = { CONN_LIST(X) };
#undef X
	return state < array_size(words) ? words[state] : "unknown";
}

static const char *doing_name(enum abi_doing doing)
{
#define X(name, help) #name,
	static const char *const words[] = { DOING_LIST(X) };
#undef X
	return doing < array_size(words) ? words[doing] : "unknown";
}

enum { PEER_TEXT = INET6_ADDRSTRLEN };

static const char *address_text(char text[PEER_TEXT], const uint8_t address[16])
{
	bool v4 = IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)address);

	return inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? address + 12 : address, text, PEER_TEXT);
}

/* "10.0.0.2:4711", "[fd88::2]:4711" */
static const char *peer_text(char text[PEER_TEXT + 8], const struct conn_entry *e)
{
	char address[PEER_TEXT];

	address_text(address, e->remote);
	snprintf(text, PEER_TEXT + 8, strchr(address, ':') ? "[%s]:%u" : "%s:%u", address,
		 e->remote_port);
	return text;
}

/* Three figures and a unit. */
static const char *scaled(char text[16], double value, const char *const *unit, double step)
{
	for (; value >= step - 0.5 && unit[1]; unit++)
		value /= step;
	snprintf(text, 16, "%.*f %s", value >= 99.95 || value == (uint64_t)value ? 0 : 1, value,
		 *unit);
	return text;
}

static const char *time_of(char text[16], uint64_t us)
{
	static const char *const unit[] = { "us", "ms", "s", NULL };

	return scaled(text, (double)us, unit, 1000);
}

static const char *bytes_of(char text[16], uint64_t n)
{
	static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB", NULL };

	return scaled(text, (double)n, unit, 1024);
}

/* Of a clock that others write; it may be ahead of ours by what a read takes. */
static uint64_t age_us(const struct list *l, uint64_t since_ns)
{
	return l->now_ns > since_ns ? (l->now_ns - since_ns) / NS_PER_US : 0;
}

/* --- reading ------------------------------------------------------------------------ */

static bool copy(int fd, uint32_t key, struct conn_entry *e)
{
	bool there = !bpf_map_lookup_elem(fd, &key, e);

	atomic_thread_fence(memory_order_seq_cst); /* A, B of conns.h */
	return there;
}

enum found { FOUND_NONE, FOUND_ONE, FOUND_TORN };

static enum found read_entry(int fd, uint32_t key, struct conn_entry *out)
{
	struct conn_entry before, after;

	if (!copy(fd, key, &before) || (!(before.seq & 1) && before.state == CONN_free))
		return FOUND_NONE;
	for (int i = 0; i < TRIES; i++) {
		if (!copy(fd, key, out) || !copy(fd, key, &after))
			return FOUND_NONE;
		if (!(out->seq & 1) && before.seq == out->seq && out->seq == after.seq)
			return out->state == CONN_free ? FOUND_NONE : FOUND_ONE;
		before = after;
	}
	return FOUND_TORN; /* its writer died in the middle */
}

static bool matches(const struct filter *f, const struct conn_entry *e)
{
	if (f->has_address && memcmp(f->address, e->remote, sizeof f->address))
		return false;
	if (f->has_port && f->port != e->remote_port)
		return false;
	return !f->state || !strcmp(f->state, state_name(e->state)) ||
	       !strcmp(f->state, doing_name(e->doing));
}

static int load_rows(struct list *l, const struct filter *filter, int fd, uint32_t entries)
{
	uint32_t each = entries / stats_io_threads(&l->mode);

	l->row = calloc(entries, sizeof *l->row);
	if (!l->row)
		return -ENOMEM;
	for (uint32_t i = 0; i < entries; i++) {
		struct row *r = &l->row[l->rows];
		enum found found = read_entry(fd, i, &r->e);

		l->torn += found == FOUND_TORN;
		l->conns += found == FOUND_ONE;
		r->thread = i / each;
		r->slot = i % each;
		l->rows += found == FOUND_ONE && matches(filter, &r->e);
	}
	l->now_ns = clock_ns(CLOCK_MONOTONIC);
	return 0;
}

static int list_load(struct list *l, const struct filter *filter, char *error, size_t size)
{
	uint32_t entries, key = 0;
	int err, fd = stats_map_open(l->dir, "mode", sizeof l->mode, &entries, error, size);

	if (fd < 0)
		return fd;
	err = bpf_map_lookup_elem(fd, &key, &l->mode) ? -errno : 0;
	close(fd);
	if (err || l->mode.version != ABI_VERSION || !l->mode.io_threads) {
		snprintf(error, size,
			 "%s has maps of version %u, this saker-stat knows %u: use the saker-stat "
			 "that was built with the responder, when it has started",
			 l->dir, l->mode.version, ABI_VERSION);
		return err ? err : -EPROTO;
	}
	fd = stats_map_open(l->dir, "conns", sizeof(struct conn_entry), &entries, error, size);
	if (fd < 0)
		return fd;
	err = load_rows(l, filter, fd, entries);
	if (err)
		snprintf(error, size, "%s: %s", l->dir, strerror(-err));
	close(fd);
	return err;
}

/* --- order ---------------------------------------------------------------------------- */

#define MORE_FIRST(field) \
	static int by_##field(const void *a, const void *b) \
	{ \
		uint64_t x = ((const struct row *)a)->e.field, \
			 y = ((const struct row *)b)->e.field; \
		return (x < y) - (x > y); \
	}
MORE_FIRST(requests)
MORE_FIRST(bytes_in)
MORE_FIRST(bytes_out)
MORE_FIRST(srtt_us)
MORE_FIRST(retransmits)
MORE_FIRST(unsent)
MORE_FIRST(unacked)

static int by_age(const void *a, const void *b)
{
	uint64_t x = ((const struct row *)a)->e.opened_ns, y = ((const struct row *)b)->e.opened_ns;

	return (x > y) - (x < y);
}

static int by_peer(const void *a, const void *b)
{
	const struct conn_entry *x = &((const struct row *)a)->e, *y = &((const struct row *)b)->e;
	int address = memcmp(x->remote, y->remote, sizeof x->remote);

	return address ? address : (int)x->remote_port - (int)y->remote_port;
}

static const struct {
	const char *word;
	int (*order)(const void *a, const void *b);
} orders[] = {
	{ "age", by_age },
	{ "peer", by_peer },
	{ "requests", by_requests },
	{ "in", by_bytes_in },
	{ "out", by_bytes_out },
	{ "rtt", by_srtt_us },
	{ "retransmits", by_retransmits },
	{ "unsent", by_unsent },
	{ "unacked", by_unacked },
};

/* --- text ------------------------------------------------------------------------------- */

static void show_head(const struct list *l)
{
	uint64_t seen_ns = l->now_ns;
	char text[16];

	for (unsigned i = 0; i < l->rows; i++)
		seen_ns = min_u64(seen_ns, l->row[i].e.seen_ns);
	printf("%s: port %u, %u connection%s, %u shown", l->name, l->mode.port, l->conns,
	       l->conns == 1 ? "" : "s", l->rows);
	if (l->rows)
		printf(", as of at most %s ago", time_of(text, age_us(l, seen_ns)));
	if (l->torn)
		printf(", %u unreadable", l->torn);
	printf("%s\n",
	       kill((pid_t)l->mode.pid, 0) && errno == ESRCH ? ", the responder is GONE" : "");
}

static void show_row(const struct list *l, const struct row *r)
{
	const struct conn_entry *e = &r->e;
	char peer[PEER_TEXT + 8], age[16], in[16], out[16], unsent[16];
	char rtt[16] = "-", rto[16] = "-", cwnd[16] = "-", again[16] = "-", unacked[16] = "-";

	if (e->state != CONN_socket) {
		if (e->srtt_us)
			time_of(rtt, e->srtt_us);
		time_of(rto, e->rto_us);
		bytes_of(cwnd, e->cwnd);
		snprintf(again, sizeof again, "%u", e->retransmits);
		bytes_of(unacked, e->unacked);
	}
	printf("%-28s %3u  %-11s %-9s %8s %9" PRIu64 " %9s %9s %9s %8s %8s %5s %9s %9s\n",
	       peer_text(peer, e), r->thread, state_name(e->state), doing_name(e->doing),
	       time_of(age, age_us(l, e->opened_ns)), e->requests, bytes_of(in, e->bytes_in),
	       bytes_of(out, e->bytes_out), cwnd, rtt, rto, again, bytes_of(unsent, e->unsent),
	       unacked);
}

static void show_text(const struct list *l)
{
	show_head(l);
	if (l->rows)
		printf("%-28s %3s  %-11s %-9s %8s %9s %9s %9s %9s %8s %8s %5s %9s %9s\n", "peer",
		       "I/O", "state", "doing", "age", "requests", "in", "out", "cwnd", "rtt",
		       "rto", "again", "unsent", "unacked");
	for (unsigned i = 0; i < l->rows; i++)
		show_row(l, &l->row[i]);
}

/* --- JSON -------------------------------------------------------------------------------- */

/* Names of directories: any byte but '/'. */
static void json_text(const char *name, const char *text)
{
	printf("\"%s\":\"", name);
	for (const unsigned char *c = (const unsigned char *)text; *c; c++)
		printf(*c < 0x20 || *c >= 0x7f || *c == '"' || *c == '\\' ? "\\u%04x" : "%c", *c);
	putchar('"');
}

static void json_tcp(const struct conn_entry *e)
{
	if (e->state == CONN_socket) {
		printf(",\"mss\":null,\"cwnd\":null,\"window\":null,\"srtt_us\":null,\"rto_us\":"
		       "null"
		       ",\"retransmits\":null,\"unacked\":null");
		return;
	}
	printf(",\"mss\":%u,\"cwnd\":%u,\"window\":%u,\"srtt_us\":", e->mss, e->cwnd, e->window);
	printf(e->srtt_us ? "%u" : "null", e->srtt_us);
	printf(",\"rto_us\":%u,\"retransmits\":%u,\"unacked\":%u", e->rto_us, e->retransmits,
	       e->unacked);
}

static void json_row(const struct list *l, const struct row *r)
{
	const struct conn_entry *e = &r->e;
	char address[PEER_TEXT];

	printf("{\"peer\":\"%s\",\"peer_port\":%u,\"local_port\":%u,\"thread\":%u,\"slot\":%u",
	       address_text(address, e->remote), e->remote_port, e->local_port, r->thread, r->slot);
	printf(",\"socket\":%s,\"state\":\"%s\",\"doing\":\"%s\"",
	       e->state == CONN_socket ? "true" : "false", state_name(e->state),
	       doing_name(e->doing));
	printf(",\"opened_ns\":%" PRIu64 ",\"seen_ns\":%" PRIu64 ",\"age_us\":%" PRIu64,
	       e->opened_ns, e->seen_ns, age_us(l, e->opened_ns));
	printf(",\"requests\":%" PRIu64 ",\"bytes_in\":%" PRIu64 ",\"bytes_out\":%" PRIu64
	       ",\"unsent\":%u",
	       e->requests, e->bytes_in, e->bytes_out, e->unsent);
	json_tcp(e);
	putchar('}');
}

static void show_json(const struct list *l)
{
	printf("{\"abi\":%d,", ABI_VERSION);
	json_text("instance", l->name);
	putchar(',');
	json_text("dir", l->dir);
	printf(",\"now_ns\":%" PRIu64 ",\"connections\":%u,\"unreadable\":%u,\"conns\":[",
	       l->now_ns, l->conns, l->torn);
	for (unsigned i = 0; i < l->rows; i++) {
		printf(i ? ",\n  " : "\n  ");
		json_row(l, &l->row[i]);
	}
	printf("]}");
}

/* --- one, or all --------------------------------------------------------------------------- */

static int show_dir(const struct args *args, const char *dir)
{
	const char *slash = strrchr(dir, '/');
	struct list l = { .dir = dir, .name = slash ? slash + 1 : dir };
	char error[768];
	int err = list_load(&l, &args->filter, error, sizeof error);

	if (err) {
		fprintf(stderr, "saker-stat: %s\n", error);
	} else {
		qsort(l.row, l.rows, sizeof *l.row, args->order);
		if (args->json)
			show_json(&l);
		else
			show_text(&l);
	}
	free(l.row);
	return err ? 1 : 0;
}

static int show_one(const struct args *args)
{
	char dir[512];
	int err = stats_where(dir, sizeof dir, args->ifname, args->pin_dir), status;

	if (err) {
		fprintf(stderr, "saker-stat: %s: %s\n",
			args->pin_dir ? args->pin_dir : args->ifname, strerror(-err));
		return 1;
	}
	for (size_t n = strlen(dir); n > 1 && dir[n - 1] == '/'; n--)
		dir[n - 1] = '\0';
	status = show_dir(args, dir);
	if (args->json && !status)
		putchar('\n');
	return status;
}

static int show_all(const struct args *args)
{
	DIR *root = opendir(STATS_ROOT);
	int found = 0, trouble = 0;
	char dir[512];

	if (args->json)
		printf("[");
	for (struct dirent *d; root && (d = readdir(root));) {
		if (d->d_name[0] == '.')
			continue;
		snprintf(dir, sizeof dir, STATS_ROOT "/%s", d->d_name);
		if (found++)
			printf(args->json ? ",\n" : "\n");
		trouble |= show_dir(args, dir);
	}
	if (args->json)
		printf("]\n");
	if (root)
		closedir(root);
	if (!found)
		fprintf(stderr, "saker-stat: no saker here: nothing in " STATS_ROOT
				" (ip netns exec hides it: use nsenter --net=...)\n");
	return trouble || !found;
}

/* --- options ---------------------------------------------------------------------------------- */

enum { OPTION_JSON = 256, OPTION_PEER, OPTION_PIN_DIR, OPTION_SORT, OPTION_STATE };

static const struct argp_option options[] = {
	{ "interface", 'i', "IFACE", 0, "of the responder on IFACE; default: of all", 0 },
	{ "json", OPTION_JSON, NULL, 0, "print JSON, times in nanoseconds", 0 },
	{ "peer", OPTION_PEER, "ADDRESS[:PORT]", 0, "only those of this peer; IPv6: [ADDRESS]:PORT",
	  0 },
	{ "pin-dir", OPTION_PIN_DIR, "DIR", 0,
	  "of the maps in DIR (default: that of IFACE under " STATS_ROOT ")", 0 },
	{ "sort", OPTION_SORT, "WORD", 0,
	  "age (default), peer, requests, in, out, rtt, retransmits, unsent, unacked", 0 },
	{ "state", OPTION_STATE, "WORD", 0, "only those in this state, or that do this", 0 },
	{ 0 },
};

/* ADDRESS, ADDRESS:PORT, [ADDRESS]:PORT */
static bool parse_peer(struct filter *f, const char *text)
{
	char address[PEER_TEXT], *end;
	size_t len = strlen(text);
	const char *port = strrchr(text, ':');
	struct in_addr v4;

	if (text[0] == '[') {
		const char *shut = strchr(text++, ']');

		if (!shut || (shut[1] && shut[1] != ':'))
			return false;
		len = (size_t)(shut - text);
		port = shut[1] ? shut + 1 : NULL;
	} else if (port && strchr(text, ':') == port) {
		len = (size_t)(port - text);
	} else {
		port = NULL; /* none, or all colons are the address's */
	}
	if (len >= sizeof address)
		return false;
	memcpy(address, text, len);
	address[len] = '\0';
	if (port) {
		unsigned long number = strtoul(port + 1, &end, 10);

		if (!port[1] || *end || number > 65535)
			return false;
		f->port = (uint16_t)number;
		f->has_port = true;
	}
	f->has_address = true;
	if (inet_pton(AF_INET, address, &v4) != 1)
		return inet_pton(AF_INET6, address, f->address) == 1;
	memset(f->address, 0, sizeof f->address);
	f->address[10] = f->address[11] = 0xff;
	memcpy(f->address + 12, &v4, 4);
	return true;
}

static bool known_state(const char *word)
{
	for (unsigned i = CONN_free + 1; i <= CONN_socket; i++)
		if (!strcmp(word, state_name((enum abi_conn)i)))
			return true;
	for (unsigned i = DOING_nothing + 1; i <= DOING_closing; i++)
		if (!strcmp(word, doing_name((enum abi_doing)i)))
			return true;
	return false;
}

static void parse_sort(struct args *args, const char *word, struct argp_state *state)
{
	for (unsigned i = 0; i < array_size(orders); i++)
		if (!strcmp(word, orders[i].word)) {
			args->order = orders[i].order;
			return;
		}
	argp_error(state, "--sort %s: not one of the words that --help lists", word);
}

static error_t option_parse(int key, char *value, struct argp_state *state)
{
	struct args *args = state->input;

	switch (key) {
	case 'i':
		if (!*value || *value == '.' || strchr(value, '/'))
			argp_error(state, "-i %s: not the name of an interface", value);
		args->ifname = value;
		return 0;
	case OPTION_JSON:
		args->json = true;
		return 0;
	case OPTION_PEER:
		if (!parse_peer(&args->filter, value))
			argp_error(state, "--peer %s: not ADDRESS, ADDRESS:PORT or [ADDRESS]:PORT",
				   value);
		return 0;
	case OPTION_PIN_DIR:
		args->pin_dir = value;
		return 0;
	case OPTION_SORT:
		parse_sort(args, value, state);
		return 0;
	case OPTION_STATE:
		if (!known_state(value))
			argp_error(state,
				   "--state %s: neither a state nor what one does: see "
				   "saker-stat(8)",
				   value);
		args->filter.state = value;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int stat_conns(int argc, char **argv)
{
	static char name[] = "saker-stat conns";
	static const struct argp argp = {
		.options = options,
		.parser = option_parse,
		.doc = "List the connections of a saker(8), which ss(8) cannot see.",
	};
	struct args args = { .order = by_age };
	int status;

	argv[0] = name;
	argp_parse(&argp, argc, argv, 0, NULL, &args);
	status = args.ifname || args.pin_dir ? show_one(&args) : show_all(&args);
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "saker-stat: cannot write: %s\n", strerror(errno));
		return 1;
	}
	return status;
}
