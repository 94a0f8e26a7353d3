/* SPDX-License-Identifier: GPL-2.0-only */
/* load_find.c - doubling, then bisection; load_find.h has the story */
#include <stdlib.h>
#include <string.h>
#include "load_find.h"

static const double near = 1.03; /* high over low: good enough */

void load_find_init(struct load_find *f, double first, double least, double most)
{
	must(least > 0 && least <= most);
	double next = first < least ? least : first > most ? most : first;
	*f = (struct load_find){ .least = least, .most = most, .next = next };
}

double load_find_next(const struct load_find *f)
{
	return f->steps < LOAD_STEPS_MAX ? f->next : 0;
}

static double choose(const struct load_find *f)
{
	if (f->high <= 0) /* it held everywhere so far */
		return f->low >= f->most ? 0 : f->low * 2 < f->most ? f->low * 2 : f->most;
	if (f->low <= 0) /* nowhere so far */
		return f->high <= f->least ? 0 : f->high / 2 > f->least ? f->high / 2 : f->least;
	return f->high / f->low <= near ? 0 : (f->low + f->high) / 2;
}

void load_find_tell(struct load_find *f, const struct load_step_made *made)
{
	must(f->steps < LOAD_STEPS_MAX);
	struct load_step_made *s = &f->step[f->steps++];
	*s = *made;
	s->rate = f->next;
	if (s->wrong) {
		f->broken = true;
		f->low = f->next = 0;
		return;
	}
	if (s->holds)
		f->low = f->next;
	else
		f->high = f->next;
	f->next = choose(f);
}

/* Rates are as they were asked for, and never computed anew: equal is equal. */
static const struct load_step_made *step_at(const struct load_find *f, double rate)
{
	for (unsigned i = f->steps; rate > 0 && i-- > 0;)
		if (f->step[i].rate >= rate && f->step[i].rate <= rate)
			return &f->step[i];
	return NULL;
}

const struct load_step_made *load_find_held(const struct load_find *f)
{
	return step_at(f, f->low);
}

const struct load_step_made *load_find_failed(const struct load_find *f)
{
	return step_at(f, f->high);
}

bool load_find_capped(const struct load_find *f)
{
	return f->low > 0 && f->low >= f->most;
}

bool load_find_percentile(const char *text, const char **end, uint32_t *ppm)
{
	char *stop;

	if (*text == 'p')
		text++;
	if (*text < '0' || *text > '9')
		return false;
	double percent = strtod(text, &stop);
	*ppm = (uint32_t)(percent * 10000 + 0.5);
	*end = stop;
	return percent > 0 && *ppm < 1000000;
}

bool load_find_parse(const char *text, uint32_t *ppm, uint64_t *ns)
{
	static const struct {
		const char *name;
		double ns;
	} unit[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
	const char *at;
	char *end;

	if (*text != 'p' || !load_find_percentile(text, &at, ppm) || *at++ != '<')
		return false;
	if (*at < '0' || *at > '9')
		return false;
	double value = strtod(at, &end);
	for (unsigned i = 0; i < array_size(unit); i++) {
		if (strcmp(end, unit[i].name) != 0)
			continue;
		*ns = (uint64_t)(value * unit[i].ns + 0.5);
		return value > 0 && value * unit[i].ns < 1e12;
	}
	return false;
}
