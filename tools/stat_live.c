/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The full-screen view. What it shows of an instance is a window of time: the last
 * interval, the last ten, or all since the start (or --since a snapshot). For the
 * first two it keeps the figures of its last looks.
 */
#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <ncurses.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "stat.h"

enum window { WINDOW_LAST, WINDOW_TEN, WINDOW_ALL, WINDOWS };
enum { LOOKS = 11 }; /* ten intervals lie between them */
enum { COLOR_GOOD = 1, COLOR_WARN, COLOR_BAD, COLOR_HIST };

struct history {
	const struct instance *in;
	struct figures looks[LOOKS]; /* a ring; the newest is at last */
	uint32_t last, count;
};

struct live {
	struct set *set;
	const struct args *args;
	struct history **history; /* one for each instance that was looked at */
	uint32_t histories;
	uint32_t at; /* the instance on the screen */
	enum window window;
	bool paused, all, utf8;
	uint64_t interval_ns, looks;
	char error[STAT_ERROR];
};

static struct figures shown, base;

/* --- looking -------------------------------------------------------------------- */

static struct history *history_of(struct live *l, const struct instance *in)
{
	for (uint32_t i = 0; i < l->histories; i++)
		if (l->history[i]->in == in)
			return l->history[i];
	void *list = realloc(l->history, (l->histories + 1) * sizeof *l->history);
	struct history *h = calloc(1, sizeof *h);
	if (!list || !h) {
		endwin();
		fputs("saker-stat: no memory\n", stderr);
		exit(1);
	}
	l->history = list;
	h->in = in;
	return l->history[l->histories++] = h;
}

static struct figures *look_back(struct history *h, uint32_t looks)
{
	return &h->looks[(h->last + LOOKS - looks) % LOOKS];
}

static void take(struct history *h)
{
	if (h->in->err)
		return;
	uint32_t next = (h->last + 1) % LOOKS;
	instance_figures(&h->looks[next], h->in);
	if (h->count && !figures_same_run(&h->looks[next], &h->looks[h->last]))
		h->count = 0; /* started anew: what was before says nothing about it */
	h->last = next;
	h->count = (uint32_t)min_u64(h->count + 1, LOOKS);
}

static void look(struct live *l)
{
	for (uint32_t i = 0; i < l->set->count; i++)
		take(history_of(l, l->set->list[i]));
	l->looks++;
}

/* The figures of the window into `shown`; what they are, in words. */
static const char *window_figures(struct live *l, struct history *h)
{
	static char word[64];
	char text[STAT_TEXT];
	const struct figures *now = look_back(h, 0);
	uint32_t back = l->window == WINDOW_LAST ? 1 : LOOKS - 1;
	if (l->window != WINDOW_ALL && h->count > 1) {
		figures_sub(&shown, now, look_back(h, (uint32_t)min_u64(back, h->count - 1)));
		snprintf(word, sizeof word, "in the last %s",
			 time_text(text, figures_span_ns(&shown)));
		return word;
	}
	if (l->args->since &&
	    snapshot_read(&base, l->args->since, h->in->name, false, l->error, sizeof l->error)) {
		if (figures_same_run(&base, now) && base.from_ns == base.started_ns) {
			figures_sub(&shown, now, &base);
			return "since the snapshot";
		}
		snprintf(l->error, sizeof l->error, "--since=%s is of another run", l->args->since);
	}
	shown = *now;
	return "since the start";
}

/* --- drawing ---------------------------------------------------------------------- */

static void at_right(int row, const char *text)
{
	int column = COLS - (int)strlen(text);
	if (column > getcurx(stdscr))
		mvaddstr(row, column, text);
}

static void draw_life(const struct instance *in)
{
	static const int color[] = { COLOR_GOOD, COLOR_BAD, COLOR_GOOD, COLOR_BAD };
	char age[STAT_TEXT];
	attron(COLOR_PAIR(color[in->life]) | A_BOLD);
	addstr(in->life == LIFE_SILENT ? "SILENT" :
	       in->life == LIFE_GONE   ? "GONE" :
					 life_name(in->life));
	attroff(COLOR_PAIR(color[in->life]) | A_BOLD);
	if (in->life == LIFE_SILENT || in->life == LIFE_GONE) {
		bool beat = in->heartbeat_age_ns != UINT64_MAX;
		printw(", last sign of life %s ago",
		       beat ? uptime_text(age, in->heartbeat_age_ns) : "never");
	}
}

static void draw_cores(const struct instance *in)
{
	const struct mode *m = &in->report.mode;
	uint32_t threads = stats_io_threads(m), cores = stats_compute_cores(m);
	for (uint32_t i = 0; i < threads + cores; i++)
		printw("%sCPU %d %.1f %%",
		       !i           ? "  busy: " :
		       i == threads ? "; compute: " :
				      ", ",
		       i < threads ? m->io_cpu[i] : m->compute_cpu[i - threads],
		       figures_rate(&shown, shown.busy_ns[i]) / 1e7);
}

static void draw_head(const struct live *l, const struct instance *in, const char *word)
{
	const struct mode *m = &in->report.mode;
	char text[ABI_MODE_TEXT], up[STAT_TEXT], which[48];
	uint64_t requests = stats_requests(&shown.counters);
	stats_mode_text(text, sizeof text, m);
	attron(A_REVERSE);
	mvhline(0, 0, ' ', COLS);
	mvprintw(0, 0, "%s: %s, %s", in->name, text, stats_state_name(m->state));
	snprintf(which, sizeof which, " %u of %u ", l->at + 1, l->set->count);
	if (l->set->count > 1)
		at_right(0, which);
	attroff(A_REVERSE);
	move(1, 0);
	draw_life(in);
	draw_cores(in);
	printw("  up %s", uptime_text(up, in->end_ns - min_u64(in->end_ns, m->started_ns)));
	mvprintw(2, 0, "requests ");
	attron(A_BOLD);
	printw("%.1f/s", figures_rate(&shown, requests));
	attroff(A_BOLD);
	printw("  %" PRIu64 " ", requests);
	attron(A_BOLD);
	addstr(word);
	attroff(A_BOLD);
	if (l->paused)
		addstr("  (paused)");
}

/* --- stages: figures, and the histogram as a row of blocks ---------------------------- */

enum { FIGURES_WIDTH = 9 + 10 + 5 * 9, DECADES = 9 };

/* Where ns stands on an axis of so many columns from 100 ns to 100 s. */
static int axis_column(uint64_t ns, int columns)
{
	double decades = log10((double)max_u64(ns, 100) / 100);
	return (int)min_u64((uint64_t)(decades * columns / DECADES), (uint64_t)columns - 1);
}

/* Heights by the logarithm of the count: a single value can be seen beside a million. */
static void draw_histogram(const struct live *l, const struct hist *h, int columns)
{
	static const char *const blocks[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char *const letters[] = { " ", ".", ":", "-", "=", "+", "*", "#", "@" };
	uint64_t count[512] = { 0 }, most = 1;
	for (uint32_t i = 0; i < HIST_BUCKETS; i++) {
		int column = axis_column(hist_lower(i), columns);
		count[column] += h->bucket[i];
		most = max_u64(most, count[column]);
	}
	attron(COLOR_PAIR(COLOR_HIST));
	for (int c = 0; c < columns; c++) {
		uint32_t height = !count[c] ? 0 :
				  most == 1 ? 8 :
					      1 + (uint32_t)(7 * log((double)count[c]) /
							     log((double)most));
		addstr((l->utf8 ? blocks : letters)[height]);
	}
	attroff(COLOR_PAIR(COLOR_HIST));
}

static void draw_axis(int row, int columns)
{
	static const char *const ticks[] = { "100ns", "1us",   "10us", "100us", "1ms",
					     "10ms",  "100ms", "1s",   "10s" };
	int end = 0;
	for (int d = 0; d < DECADES; d++) {
		int column = d * columns / DECADES;
		int length = (int)strlen(ticks[d]);
		if ((d && column <= end) || column + length > columns)
			continue;
		mvaddstr(row, FIGURES_WIDTH + 1 + column, ticks[d]);
		end = column + length;
	}
}

static void draw_cell(uint64_t ns, bool known)
{
	char text[STAT_TEXT];
	printw(" %8s", known ? time_text(text, ns) : "-");
}

static int draw_stages(const struct live *l, int row)
{
	int columns = (int)min_u64(
		(uint64_t)(COLS > FIGURES_WIDTH + 10 ? COLS - FIGURES_WIDTH - 1 : 0), 512);
	attron(A_UNDERLINE);
	mvhline(row, 0, ' ', COLS);
	mvprintw(row, 0, "%-9s%10s %8s %8s %8s %8s %8s", "stage", "per second", "p50", "p90", "p99",
		 "p99.9", "max");
	if (columns)
		draw_axis(row, columns);
	attroff(A_UNDERLINE);
	for (uint32_t i = 0; i < STAGES && row < LINES - 2; i++) {
		const struct hist *h = (const struct hist *)&shown.stages + i;
		struct summary_stage s;
		hist_summarize(&s, h);
		mvprintw(++row, 0, "%-9s%10.1f", stats_stages[i].name,
			 figures_rate(&shown, s.count));
		draw_cell(s.p50_ns, hist_enough(s.count, HIST_P50));
		draw_cell(s.p90_ns, hist_enough(s.count, HIST_P90));
		draw_cell(s.p99_ns, hist_enough(s.count, HIST_P99));
		draw_cell(s.p999_ns, hist_enough(s.count, HIST_P999));
		draw_cell(s.max_ns, s.count);
		if (columns) {
			addch(' ');
			draw_histogram(l, h, columns);
		}
	}
	return row;
}

/* --- counters: what ended badly, the busiest first --------------------------------------- */

/* What goes well, or only tells how much work there is. All other counters are frames,
 * connections and requests that were lost, refused or needed another try. */
static bool is_ordinary(uint32_t counter)
{
	switch ((enum stats_index)counter) {
	case STATS_xdp_seen:
	case STATS_xdp_redirected:
	case STATS_xdp_pass_other:
	case STATS_xdp_pass_proto:
	case STATS_xdp_pass_port:
	case STATS_xdp_pass_mac:
	case STATS_xdp_pass_kernel:
	case STATS_icmp_told:
	case STATS_rx_frames:
	case STATS_tx_frames:
	case STATS_tx_completed:
	case STATS_tx_kicks:
	case STATS_pkt_ok:
	case STATS_tcp_syn:
	case STATS_tcp_opened:
	case STATS_tcp_accepted:
	case STATS_tcp_closed:
	case STATS_tcp_timewait:
	case STATS_http_requests:
	case STATS_http_ok:
	case STATS_http_cache_hits:
	case STATS_http_cache_misses:
	case STATS_sock_accepted:
	case STATS_sock_closed:
	case STATS_turns:
	case STATS_busy_turns:
	case STATS_busy_ns:
	case STATS_trace_frames:
	case STATS_crew_done:
	case STATS_crew_slices:
	case STATS_crew_sleeps:
	case STATS_crew_wakes:
		return true;
	default:
		return false;
	}
}

/* In the window, then since the start. */
static int busier(const void *a, const void *b)
{
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	uint64_t x = stats_value(&shown.counters, i), y = stats_value(&shown.counters, j);
	return x != y ? (x < y) - (x > y) : (i > j) - (i < j);
}

static void draw_counters(const struct live *l, const struct figures *start, int row)
{
	uint32_t order[STATS_COUNT], count = 0;
	for (uint32_t i = 0; i < STATS_COUNT; i++)
		if (stats_value(&start->counters, i) && (l->all || !is_ordinary(i)))
			order[count++] = i;
	qsort(order, count, sizeof *order, busier);
	attron(A_UNDERLINE);
	mvhline(row, 0, ' ', COLS);
	mvprintw(row, 0, "%-23s%12s%14s  %s", l->all ? "counter" : "drops and refusals",
		 "per second", "since start", count ? "" : "none");
	attroff(A_UNDERLINE);
	for (uint32_t i = 0; i < count && row < LINES - 2; i++) {
		uint64_t fresh = stats_value(&shown.counters, order[i]);
		int color = fresh && !is_ordinary(order[i]) ? COLOR_WARN : 0;
		attron(COLOR_PAIR(color));
		mvprintw(++row, 0, "%-23s%12.1f%14" PRIu64 "  ", stats_counters[order[i]].name,
			 figures_rate(&shown, fresh), stats_value(&start->counters, order[i]));
		attroff(COLOR_PAIR(color));
		addnstr(stats_counters[order[i]].help, COLS > 52 ? COLS - 52 : 0);
	}
}

static void draw(struct live *l)
{
	const struct instance *in = l->set->list[l->at];
	struct history *h = history_of(l, in);
	erase();
	l->error[0] = 0;
	if (h->count) {
		const char *word = window_figures(l, h);
		draw_head(l, in, word);
		draw_counters(l, look_back(h, 0), draw_stages(l, 4) + 2);
	} else {
		mvaddstr(0, 0, in->name);
	}
	if (in->err || l->error[0]) {
		attron(COLOR_PAIR(COLOR_BAD));
		mvaddnstr(LINES - 2, 0, in->err ? in->error : l->error, COLS);
		attroff(COLOR_PAIR(COLOR_BAD));
	}
	attron(A_DIM);
	mvaddnstr(LINES - 1, 0,
		  l->set->count > 1 ?
			  "q quit  w window  a all counters  space pause  Tab next responder" :
			  "q quit  w window  a all counters  space pause",
		  COLS - 1);
	attroff(A_DIM);
	refresh();
}

/* --- keys and time ------------------------------------------------------------------------- */

/* False: q. */
static bool key(struct live *l, int c)
{
	uint32_t count = l->set->count;
	switch (c) {
	case 'q':
		return false;
	case 'w':
		l->window = (l->window + 1) % WINDOWS;
		break;
	case 'a':
		l->all = !l->all;
		break;
	case ' ':
		l->paused = !l->paused;
		break;
	case '\t':
	case KEY_RIGHT:
		l->at = (l->at + 1) % count;
		break;
	case KEY_BTAB:
	case KEY_LEFT:
		l->at = (l->at + count - 1) % count;
		break;
	}
	return true;
}

static uint64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / NS_PER_MS;
}

static void loop(struct live *l)
{
	uint64_t interval_ms = l->interval_ns / NS_PER_MS, next = now_ms();
	for (;;) {
		uint64_t now = now_ms();
		if (now >= next) {
			next = max_u64(next + interval_ms, now);
			if (!l->paused) {
				if (l->looks)
					set_refresh(l->set);
				look(l);
			}
		}
		draw(l);
		if (l->args->count && l->looks >= l->args->count)
			return;
		now = now_ms();
		timeout((int)(next > now ? next - now : 0));
		int c = getch();
		if (c != ERR && !key(l, c))
			return;
	}
}

static void colors(void)
{
	if (!has_colors())
		return;
	start_color();
	use_default_colors();
	init_pair(COLOR_GOOD, COLOR_GREEN, -1);
	init_pair(COLOR_WARN, COLOR_YELLOW, -1);
	init_pair(COLOR_BAD, COLOR_RED, -1);
	init_pair(COLOR_HIST, COLOR_CYAN, -1);
}

bool live_show(struct set *set, const struct args *args)
{
	struct live l = { .set = set, .args = args, .window = WINDOW_TEN };
	l.interval_ns = args->interval_ns ? args->interval_ns : NS_PER_S;
	if (args->since)
		l.window = WINDOW_ALL;
	setlocale(LC_CTYPE, "");
	l.utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	SCREEN *screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return false;
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	curs_set(0);
	colors();
	loop(&l);
	endwin();
	delscreen(screen);
	for (uint32_t i = 0; i < l.histories; i++)
		free(l.history[i]);
	free(l.history);
	return true;
}
