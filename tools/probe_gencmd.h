/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * probe_gencmd.h - a command to the Raspberry Pi's firmware, and its answer
 *
 * Place    probe_vcio.c sends these words through the kernel. Pure.
 * Model    The mailbox's property interface: a message of one tag, whose value is an
 *          error word and a text. Laid out as vcgencmd does it (raspberrypi/utils):
 *
 *            word  0    bytes of the whole message
 *                  1    0; answer: 0x80000000
 *                  2    the tag, GET_GENCMD_RESULT
 *                  3    bytes for the value
 *                  4    0; answer: bytes of the value
 *                  5    value: 0; answer: the firmware's error
 *                  6    value: the command; answer: a text, ended by a NUL
 *                  1030 0: no further tag
 *
 *          By text and not by GET_THROTTLED's own tag: that one's upper half is
 *          cleared every 2 s by the kernel's voltage driver, the text's is not.
 * Errors   false or NULL.
 */
#ifndef PROBE_GENCMD_H
#define PROBE_GENCMD_H

#include "base.h"

enum {
	GENCMD_TAG = 0x00030080,
	GENCMD_DONE = (int)0x80000000,
	GENCMD_VALUE = 4096, /* bytes: vcgencmd's; the longest answer, pmic_read_adc, takes 1,000 */
	GENCMD_TEXT = 6,     /* word */
	GENCMD_WORDS = GENCMD_TEXT + GENCMD_VALUE / 4 + 1,
};

struct gencmd {
	uint32_t word[GENCMD_WORDS];
};

/* False: the command is too long. */
bool gencmd_ask(struct gencmd *g, const char *command);

/* The answer's text. NULL: the firmware did not take it, or refused; then why says so. */
const char *gencmd_answer(struct gencmd *g, const char **why);

/* The number behind "name=", hexadecimal with 0x, as in "throttled=0x50000". */
bool gencmd_number(const char *text, const char *name, uint64_t *value);

/* A channel of pmic_read_adc: "VDD_CORE_A current(7)=0.75012000A". */
struct pmic_channel {
	char rail[16]; /* VDD_CORE */
	bool amps;     /* else volts */
	double value;
};

/* 26 channels on a Pi 5. */
enum { PMIC_CHANNELS = 48 };

/* How many channels the text has; lines that are none are passed over. */
unsigned gencmd_pmic(const char *text, struct pmic_channel list[PMIC_CHANNELS]);

/* The sum of volts times amps over the rails that have both. */
double pmic_watts(const struct pmic_channel *list, unsigned count);

#endif
