/* SPDX-License-Identifier: GPL-2.0-only */
#include "doctor_checks.h"

const struct check checks[] = {
	{ "af-xdp", "AF_XDP in this kernel", check_af_xdp, false },
	{ "moderation", "interrupts that the card holds back", check_moderation, true },
	{ "governor", "who chooses the clock", check_governor, false },
};
const unsigned checks_count = array_size(checks);

void check_run(const struct check *c, const struct host *h, struct finding *f)
{
	*f = (struct finding){ .check = c->name };
	if (c->nic && !*h->iface)
		finding_is(f, VERDICT_UNKNOWN, "%s", h->no_iface);
	else
		c->run(h, f);
	must(*f->what);
}

unsigned report_tally(const struct report *r, enum verdict verdict)
{
	unsigned n = 0;

	for (unsigned i = 0; i < r->count; i++)
		n += r->list[i].verdict == verdict;
	return n;
}

int report_status(const struct report *r)
{
	return report_tally(r, VERDICT_FAIL) ? 3 : report_tally(r, VERDICT_WARN) ? 1 : 0;
}
