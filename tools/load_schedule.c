/* SPDX-License-Identifier: GPL-2.0-only */
/* load_schedule.c - arrivals in virtual time; load_schedule.h has the model */
#include <math.h>
#include "load_schedule.h"

/* SplitMix64: any seed will do, neighbouring ones too. */
static uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static double draw(uint64_t *state) /* 0 <= draw < 1 */
{
	return (double)(random_next(state) >> 11) * 0x1p-53;
}

static void set_due(struct load_schedule *s)
{
	if (s->mode == LOAD_CLOSED)
		s->due_ns = UINT64_MAX;
	else if (s->mode == LOAD_POISSON)
		s->due_ns = (uint64_t)(s->at_ns += -log(1 - draw(&s->gap_random)) * s->gap_ns);
	else
		s->due_ns = (uint64_t)((double)(s->taken / s->burst) * s->gap_ns);
}

void load_schedule_init(struct load_schedule *s, enum load_mode mode, double rate, unsigned burst,
			uint64_t seed)
{
	must(mode == LOAD_CLOSED || rate > 0);
	must(mode != LOAD_BURST || burst);
	*s = (struct load_schedule){
		.mode = mode,
		.burst = mode == LOAD_BURST ? burst : 1,
		.gap_random = seed,
		.mix_random = ~seed,
	};
	s->gap_ns = mode == LOAD_CLOSED ? 0 : NS_PER_S / rate * s->burst;
	set_due(s);
}

void load_schedule_take(struct load_schedule *s)
{
	s->taken++;
	set_due(s);
}

double load_schedule_expected(const struct load_schedule *s, uint64_t end_ns)
{
	if (s->mode == LOAD_CLOSED)
		return 0;
	if (s->mode == LOAD_POISSON)
		return (double)end_ns / s->gap_ns;
	return ceil((double)end_ns / s->gap_ns) * s->burst;
}

unsigned load_schedule_pick(struct load_schedule *s, const double *sum, unsigned n)
{
	if (n == 1)
		return 0;
	double at = draw(&s->mix_random) * sum[n - 1];
	unsigned i = 0;
	while (i < n - 1 && at >= sum[i])
		i++;
	return i;
}
