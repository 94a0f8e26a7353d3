/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "doctor_boot.h"
#include "doctor_deed.h"
#include "doctor_fix.h"

/* A setting on its way. */
struct step {
	struct wish wish;
	char of[STATE_OF];
	char was[VALUE_SIZE];
	bool change;
	bool together; /* with the others of a partition, or not at all */
};

struct plan {
	struct machine m;
	char boot[STATE_BOOT]; /* this boot */
	struct deeds deeds;
	bool parted; /* a partition failed: none of its steps is for us any more */
	unsigned steps;
	struct step step[STATE_ENTRIES];
};

/* --- what is wanted ------------------------------------------------------------------- */

/* In the words of doctor_apply.h. */
static bool wish_of(struct wish *w, const struct setting *s, const char *iface)
{
	const char *slash = *s->where == '/' ? "" : "/";
	int n = 0;

	switch (s->kind) {
	case SETTING_FILE:
		n = snprintf(w->name, sizeof w->name, "%s%s", slash, s->where);
		break;
	case SETTING_ETHTOOL:
		n = snprintf(w->name, sizeof w->name, "ethtool %.*s %s%s",
			     (int)strcspn(s->where, " "), s->where, iface,
			     s->where + strcspn(s->where, " "));
		break;
	case SETTING_PARTITION:
		n = snprintf(w->name, sizeof w->name, "cpuset saker");
		break;
	case SETTING_KINDS:
		return false;
	}
	snprintf(w->value, sizeof w->value, "%s", s->value);
	return n < (int)sizeof w->name;
}

static struct step *step_of(struct plan *p, const char *name)
{
	for (unsigned i = 0; i < p->steps; i++)
		if (!strcmp(p->step[i].wish.name, name))
			return &p->step[i];
	return NULL;
}

/* Two findings may want the same; the first one's word holds. */
static void add_wish(struct plan *p, const struct wish *wish)
{
	struct wish all[WISHES];
	unsigned count = apply_expand(&p->m, wish, all);

	for (unsigned i = 0; i < count; i++) {
		if (step_of(p, all[i].name))
			continue;
		if (p->steps == array_size(p->step)) {
			deed_tell(&p->deeds, &(struct deed){ .kind = DEED_REFUSED,
							     .name = all[i].name,
							     .error = -E2BIG,
							     .why = "too many settings" });
			continue;
		}
		p->step[p->steps].wish = all[i];
		p->step[p->steps++].together = apply_together(all[i].name);
	}
}

/* INFO is a matter of taste. */
static bool matters(const struct fix *f, const struct finding *found)
{
	return found->verdict == VERDICT_WARN || found->verdict == VERDICT_FAIL ||
	       (f->asked && found->verdict == VERDICT_INFO);
}

static void collect(struct plan *p, const struct fix *f, const struct finding *list, unsigned count)
{
	struct wish wish;

	/* The number of ranks is small, and the order within each is the findings'. */
	for (unsigned rank = 0; rank < APPLY_RANKS; rank++)
		for (unsigned i = 0; i < count; i++)
			for (unsigned j = 0; j < list[i].settings && matters(f, &list[i]); j++)
				if (wish_of(&wish, &list[i].setting[j], f->iface) &&
				    apply_rank(wish.name) == rank)
					add_wish(p, &wish);
}

/* --- remembered before anything is changed -------------------------------------------- */

static void refused(struct plan *p, const struct step *s, int error)
{
	deed_tell(&p->deeds, &(struct deed){ .kind = DEED_REFUSED,
					     .name = s->wish.name,
					     .from = *s->was ? s->was : NULL,
					     .to = s->wish.value,
					     .error = error,
					     .why = p->m.why });
}

static void look(struct plan *p, struct step *s)
{
	int error;

	if (s->together && p->parted)
		return;
	error = apply_read(&p->m, s->wish.name, s->was);
	if (error) {
		*s->was = '\0';
		p->parted |= s->together;
		refused(p, s, error);
		return;
	}
	apply_of(&p->m, s->wish.name, s->of);
	s->change = !value_same(s->wish.name, s->was, s->wish.value);
	if (!s->change)
		deed_tell(&p->deeds, &(struct deed){ .kind = DEED_ALREADY,
						     .name = s->wish.name,
						     .from = s->was,
						     .why = "" });
}

/* What a former boot had is over: this boot's own value is what comes back. */
static void remember(struct plan *p, struct state *state, struct step *s)
{
	struct entry *e = state_find(state, s->wish.name, s->of);

	if (e && strcmp(e->boot, p->boot)) {
		state_drop(state, e);
		e = NULL;
	}
	if (!e) {
		e = state_add(state, s->wish.name, s->of);
		if (!e) {
			machine_error(&p->m, 0, "the state file has no room for it");
			refused(p, s, -ENOSPC);
			s->change = false;
			p->parted |= s->together;
			return;
		}
		strcpy(e->was, s->was);
		strcpy(e->boot, p->boot);
	}
	strcpy(e->set, s->wish.value);
	e->done = false;
}

/* --- changed -------------------------------------------------------------------------- */

/* What it is read as; false: it cannot be. */
static bool note(struct plan *p, struct state *state, const struct step *s, char now[VALUE_SIZE])
{
	struct entry *e = state_find(state, s->wish.name, s->of);

	if (!e || apply_read(&p->m, s->wish.name, now))
		return false; /* how far it came is not known: undo tries */
	strcpy(e->is, now);
	e->done = true;
	if (value_same(s->wish.name, now, e->was))
		state_drop(state, e); /* nothing to undo */
	return true;
}

/* False: it was refused. */
static bool change(struct plan *p, struct state *state, struct step *s)
{
	char now[VALUE_SIZE];
	int error = apply_write(&p->m, s->wish.name, s->wish.value);

	if (error)
		refused(p, s, error);
	if (!note(p, state, s, now) && !error)
		refused(p, s, -EIO);
	else if (!error) {
		bool took = value_same(s->wish.name, now, s->wish.value);

		deed_tell(&p->deeds,
			  &(struct deed){ .kind = took ? DEED_CHANGED : DEED_OTHER,
					  .name = s->wish.name,
					  .from = s->was,
					  .to = now,
					  .why = took ? "" : "the driver makes this of it" });
	}
	return !error;
}

/* Those of the partition that came before one that was refused. */
static void take_back(struct plan *p, struct state *state, unsigned i)
{
	char now[VALUE_SIZE];

	p->parted = true;
	while (i--) {
		struct step *s = &p->step[i];

		if (!s->together || !s->change)
			continue;
		int error = apply_write(&p->m, s->wish.name, s->was);
		note(p, state, s, now);
		p->deeds.count[DEED_CHANGED] -= !error;
		deed_tell(&p->deeds, &(struct deed){ .kind = error ? DEED_REFUSED : DEED_RESTORED,
						     .name = s->wish.name,
						     .from = s->wish.value,
						     .to = s->was,
						     .error = error,
						     .why = error ? p->m.why : "" });
	}
}

static void change_all(struct plan *p, struct state *state)
{
	for (unsigned i = 0; i < p->steps; i++) {
		struct step *s = &p->step[i];
		char now[VALUE_SIZE];

		if (!s->change)
			continue;
		if (s->together && p->parted)
			note(p, state, s, now); /* untouched: forgotten */
		else if (!change(p, state, s) && s->together)
			take_back(p, state, i);
	}
}

/* All is remembered first, so that a kill at any point finds it there. */
static int apply_all(struct plan *p, struct state *state)
{
	unsigned changes = 0;
	int error;

	for (unsigned i = 0; i < p->steps; i++) {
		p->step[i].change &= !(p->step[i].together && p->parted);
		if (p->step[i].change)
			remember(p, state, &p->step[i]);
		changes += p->step[i].change;
	}
	if (!changes)
		return 0;
	error = state_save(state);
	if (error)
		return error;
	change_all(p, state);
	return state_save(state);
}

static void would(struct plan *p)
{
	for (unsigned i = 0; i < p->steps; i++)
		if (p->step[i].change)
			deed_tell(&p->deeds, &(struct deed){ .kind = DEED_WOULD,
							     .name = p->step[i].wish.name,
							     .from = p->step[i].was,
							     .to = p->step[i].wish.value,
							     .why = "" });
}

static bool change_any(const struct plan *p)
{
	for (unsigned i = 0; i < p->steps; i++)
		if (p->step[i].change)
			return true;
	return false;
}

/* 0 or -errno, which has been told. */
static int run(struct plan *p, const struct fix *f)
{
	static struct state state;
	char path[STATE_PATH];
	int error;

	for (unsigned i = 0; i < p->steps; i++)
		look(p, &p->step[i]);
	if (f->dry_run)
		would(p);
	if (f->dry_run || !change_any(p))
		return 0;
	snprintf(path, sizeof path, "%s%s", f->state ? "" : f->root,
		 f->state ? f->state : FIX_STATE);
	error = state_open(&state, path, true);
	if (error)
		return error;
	error = apply_all(p, &state);
	state_close(&state);
	return error;
}

/* --- what is left to people ----------------------------------------------------------- */

static void show_boot(const struct plan *p, const struct fix *f, const struct finding *list,
		      unsigned count, FILE *out)
{
	char words[BOOT_LINE] = "";
	size_t used = 0;

	for (unsigned i = 0; i < count; i++) {
		if (!*list[i].boot || (!matters(f, &list[i]) && list[i].fix_kind != FIX_BOOT))
			continue;
		if (list[i].boot_file == BOOT_CONFIG_TXT)
			boot_config(&p->m, list[i].boot, out);
		else if (used + strlen(list[i].boot) + 2 < sizeof words)
			used += (size_t)sprintf(words + used, "%s ", list[i].boot);
	}
	if (used) {
		words[used - 1] = '\0';
		boot_cmdline(&p->m, words, out);
	}
}

/* Nobody is on those cores by himself from now on, saker neither. */
static void show_inside(struct plan *p)
{
	const struct step *s = step_of(p, "partition saker");

	if (s && s->change && !p->parted)
		deed_tell(&p->deeds,
			  &(struct deed){
				  .kind = DEED_HAND,
				  .name = "start saker inside",
				  .why = "sh -c 'echo $$ > /sys/fs/cgroup/saker/cgroup.procs && "
					 "exec saker ...'" });
}

static void show_hand(struct plan *p, const struct fix *f, const struct finding *list,
		      unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if ((list[i].fix_kind == FIX_HAND || list[i].fix_kind == FIX_REBUILD) &&
		    matters(f, &list[i]))
			deed_tell(&p->deeds, &(struct deed){ .kind = DEED_HAND,
							     .name = list[i].check,
							     .why = list[i].fix });
}

static void summary(const struct plan *p, const struct fix *f)
{
	const unsigned *n = p->deeds.count;

	if (f->json || f->dry_run)
		return;
	printf("%u changed, %u already so, %u refused, %u other%s\n", n[DEED_CHANGED],
	       n[DEED_ALREADY], n[DEED_REFUSED], n[DEED_OTHER],
	       n[DEED_CHANGED] + n[DEED_OTHER] ? "; saker-doctor --undo restores" : "");
}

int fix_run(const struct fix *f, const struct finding *list, unsigned count)
{
	static struct plan p;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int status;

	must(out != NULL);
	memset(&p, 0, sizeof p);
	p.m.root = f->root;
	apply_boot(&p.m, p.boot);
	deeds_begin(&p.deeds, f->json);
	collect(&p, f, list, count);
	status = run(&p, f) || p.deeds.count[DEED_REFUSED] || p.deeds.count[DEED_OTHER];
	show_inside(&p);
	show_hand(&p, f, list, count);
	show_boot(&p, f, list, count, out);
	must(!fclose(out));
	summary(&p, f);
	deeds_end(&p.deeds, text, status);
	free(text);
	return status;
}
