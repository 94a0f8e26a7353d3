/* SPDX-License-Identifier: GPL-2.0-only */
/* Words merged into a line that boots a board. */
#include "doctor_boot.h"
#include "tap.h"

static char line[BOOT_LINE];

static void merge(const char *from, const char *word, const char *wanted)
{
	snprintf(line, sizeof line, "%s", from);
	ok(boot_merge(line, word), "%s fits", word);
	is_str(line, wanted, "%s", wanted);
}

int main(void)
{
	merge("", "isolcpus=1-3", "isolcpus=1-3");
	merge("console=tty1 rootwait", "isolcpus=1-3", "console=tty1 rootwait isolcpus=1-3");
	merge("console=tty1 rootwait  ", "quiet", "console=tty1 rootwait quiet");
	merge("isolcpus=3 rootwait", "isolcpus=1-3", "isolcpus=1-3 rootwait");
	merge("a isolcpus=3", "isolcpus=1-3", "a isolcpus=1-3");
	merge("a isolcpus=3 b isolcpus=2 c isolcpus=1", "isolcpus=1-3", "a isolcpus=1-3 b c");
	merge("a nohz_full=1 b", "nohz-full=1-3", "a nohz-full=1-3 b");
	merge("xisolcpus=3 isolcpusx=2", "isolcpus=1", "xisolcpus=3 isolcpusx=2 isolcpus=1");
	merge("a nokaslr b", "nokaslr", "a nokaslr b");
	merge("a nokaslr=x b", "nokaslr", "a nokaslr b");
	merge("dyndbg=\"file isolcpus=1 +p\" b", "isolcpus=2",
	      "dyndbg=\"file isolcpus=1 +p\" b isolcpus=2");

	memset(line, 'x', BOOT_LINE - 4);
	line[BOOT_LINE - 4] = '\0';
	ok(boot_merge(line, "ab"), "the last word that fits");
	is(strlen(line), BOOT_LINE - 1, "fills the line");
	line[BOOT_LINE - 4] = '\0';
	ok(!boot_merge(line, "abc"), "a longer one does not");
	is(strlen(line), BOOT_LINE - 4, "and the line is as before");
	snprintf(line, sizeof line, "a=1 ");
	memset(line + 4, 'x', BOOT_LINE - 5);
	line[BOOT_LINE - 1] = '\0';
	ok(!boot_merge(line, "a=12"), "nor one that is longer in its place");
	is(strlen(line), BOOT_LINE - 1, "and the line is as before");
	return done();
}
