/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * doctor_ethset.h - settings of a card, as ethtool knows them
 *
 * Place    doctor_apply.c, for names like `ethtool -C eth0 rx-usecs`. On the machine itself
 *          by ioctl, here; below another root in the text that ethtool printed, by
 *          doctor_ethtext.c.
 * Model    -C moderation, -G rings, -L channels, --set-eee: numbers, or on and off.
 *          -K features: on or off, by ethtool's short names or the kernel's long ones. A
 *          short name that stands for several (tx, sg, tso) is expanded first, so that
 *          each is remembered: some were off before.
 * Errors   0 or -errno. -EOPNOTSUPP: the driver has none, or does not let it be changed.
 */
#ifndef DOCTOR_ETHSET_H
#define DOCTOR_ETHSET_H

#include "doctor_apply.h"

/* A word of ethtool's. */
struct eth_word {
	const char *verb; /* -C ... */
	const char *word; /* rx-usecs ... */
	bool flag;        /* on or off, else a number */
	uint32_t get, set;
	size_t at;         /* in the kernel's struct */
	const char *file;  /* below a root: ethtool/IFACE/FILE */
	const char *label; /* in that file */
};

/* A short name of features. */
struct eth_short {
	const char *word;   /* gro */
	const char *kernel; /* rx-gro; what several begin with */
	bool several;
	const char *label; /* generic-receive-offload */
};

struct eth_name {
	char verb[16], iface[16], word[48];
};

/* False: it is not a name of that kind. */
bool eth_name(struct eth_name *n, const char *name);
/* NULL: not known. */
const struct eth_word *eth_word(const struct eth_name *n);
const struct eth_short *eth_short(const char *word);

int ethset_read(struct machine *m, const char *name, char value[VALUE_SIZE]);
int ethset_write(struct machine *m, const char *name, const char *value);
unsigned ethset_expand(struct machine *m, const struct wish *wish, struct wish to[WISHES]);

/* doctor_ethtext.c */
int ethtext_read(struct machine *m, const struct eth_name *n, char value[VALUE_SIZE]);
int ethtext_write(struct machine *m, const struct eth_name *n, const char *value);

#endif
