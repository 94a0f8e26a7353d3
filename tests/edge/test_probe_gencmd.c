/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The firmware's mailbox: the bytes of a request as vcgencmd lays them, and answers good
 * and bad. The answer's text is what a Pi 5 printed (tests/probe/README.md); the words
 * around it are made by hand from the same source, not recorded.
 */
#include <math.h>
#include "probe_gencmd.h"
#include "tap.h"

static struct gencmd g;

static void requests(void)
{
	static const uint8_t head[] = { 0x1c, 0x10, 0,   0,    0,   0,   0,   0,   0x80, 0,
					3,    0,    0,   0x10, 0,   0,   0,   0,   0,    0,
					0,    0,    0,   0,    'g', 'e', 't', '_', 't',  'h',
					'r',  'o',  't', 't',  'l', 'e', 'd' };
	const uint8_t *bytes = (const uint8_t *)&g;
	char longest[GENCMD_VALUE - 4];
	bool zero = true;

	memset(&g, 0xee, sizeof g);
	ok(gencmd_ask(&g, "get_throttled"), "a request");
	is(sizeof g, 4124, "its size, which is its first word");
	ok(!memcmp(&g, head, sizeof head), "its words and the command");
	for (size_t i = sizeof head; i < sizeof g; i++)
		zero &= !bytes[i];
	ok(zero, "and nothing else: the text is ended, and so are the tags");
	memset(longest, 'x', sizeof longest);
	longest[sizeof longest - 1] = '\0';
	ok(gencmd_ask(&g, longest), "the longest command");
	is(g.word[GENCMD_WORDS - 2] | g.word[GENCMD_WORDS - 1], 0, "leaves the end alone");
	char longer[GENCMD_VALUE];
	memset(longer, 'x', sizeof longer);
	longer[GENCMD_VALUE - 4] = '\0';
	ok(!gencmd_ask(&g, longer), "a longer one is refused");
}

static const char *answer(uint32_t state, uint32_t error, const char *text, const char **why)
{
	gencmd_ask(&g, "get_throttled");
	g.word[1] = state;
	g.word[4] = 0x80000000 | (uint32_t)strlen(text);
	g.word[5] = error;
	memset(&g.word[GENCMD_TEXT], 0, GENCMD_VALUE - 4);
	strcpy((char *)&g.word[GENCMD_TEXT], text);
	*why = "";
	return gencmd_answer(&g, why);
}

static void answers(void)
{
	const char *why;
	uint64_t value = 0;

	is_str(answer(0x80000000, 0, "throttled=0x50005", &why), "throttled=0x50005", "an answer");
	ok(gencmd_number("throttled=0x50005", "throttled", &value) && value == 0x50005,
	   "its number");
	ok(gencmd_number("frequency(0)=2400023808", "frequency(0)", &value) && value == 2400023808u,
	   "a decimal number");
	ok(!gencmd_number("throttled", "throttled", &value), "no number");
	ok(!gencmd_number("throttled=", "throttled", &value), "nothing behind it");
	ok(!gencmd_number("throttledx=1", "throttled", &value), "another name");
	ok(!answer(0, 0, "throttled=0x0", &why) && strstr(why, "did not take"),
	   "the kernel passed nothing on");
	ok(!answer(0x80000001, 0, "", &why) && strstr(why, "did not take"), "the firmware failed");
	ok(!answer(0x80000000, 1, "error=1 error_msg=\"Command not registered\"", &why) &&
		   strstr(why, "does not know"),
	   "an unknown command, by its word");
	ok(!answer(0x80000000, 0, "error=2 error_msg=\"Invalid arguments\"", &why),
	   "an unknown command, by its text");
	ok(!answer(0x80000000, 0, "", &why) && strstr(why, "empty"), "an empty answer");
	memset(&g.word[GENCMD_TEXT], 'y', sizeof g - GENCMD_TEXT * 4);
	g.word[1] = 0x80000000;
	is(strlen(gencmd_answer(&g, &why)), GENCMD_VALUE, "a text without an end is ended");
}

static void rails(void)
{
	static struct pmic_channel list[PMIC_CHANNELS];
	static char text[GENCMD_VALUE];
	FILE *file = fopen("tests/probe/pi5/dev/vcio/pmic_read_adc", "re");

	if (!ok(file, "the answer of a Pi 5"))
		return;
	text[fread(text, 1, sizeof text - 1, file)] = '\0';
	fclose(file);
	is(gencmd_pmic(text, list), 26, "26 channels");
	is_str(list[7].rail, "VDD_CORE", "the core's rail");
	ok(list[7].amps && fabs(list[7].value - 5.03652) < 1e-9, "its current");
	is_str(list[25].rail, "BATT", "the last one");
	ok(!list[25].amps && fabs(list[25].value - 0.0034188) < 1e-9, "its voltage");
	ok(fabs(pmic_watts(list, 26) - 5.921612227144821) < 1e-9,
	   "watts of the 12 rails with both");
	is(gencmd_pmic("BATT_V volt(25)=nanV\n", list), 1, "nan is what it says");
	ok(isnan(list[0].value), "and stays it");
	is(gencmd_pmic("VDD_CORE_A volt(7)=1A\nVDD_CORE_A current(7)=1V\nVDD_CORE_A current(7)=\n"
		       "VDD_CORE_B current(7)=1B\n_A current(7)=1A\nx\n A_LONG_NAME_OF_A_RAIL_A "
		       "current(1)=1A",
		       list),
	   0, "lines that are no channels");
	is(gencmd_pmic("  A_V volt(0)=5V", list), 1, "no end of line");
	*text = '\0';
	for (int i = 0; i < PMIC_CHANNELS + 9; i++)
		strcat(text, "A_V volt(0)=5V\n");
	is(gencmd_pmic(text, list), PMIC_CHANNELS, "more than there is room for");
}

int main(void)
{
	requests();
	answers();
	rails();
	return done();
}
