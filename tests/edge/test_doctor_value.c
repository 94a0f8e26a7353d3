/* SPDX-License-Identifier: GPL-2.0-only */
/* Values as the kernel writes them beside values as people write them. */
#include <errno.h>
#include "doctor_value.h"
#include "tap.h"

static char value[VALUE_SIZE];

static void clean(const char *text, const char *wanted)
{
	ok(!value_clean(value, text), "a value");
	is_str(value, wanted, "cleaned: %s", wanted);
}

static void same(bool wanted, const char *name, const char *a, const char *b)
{
	ok(value_same(name, a, b) == wanted, "%s: '%s' and '%s' are %s", name, a, b,
	   wanted ? "the same" : "not");
	ok(value_same(name, b, a) == wanted, "and the other way round");
}

static void too_long(void)
{
	char text[VALUE_SIZE + 1];

	memset(text, '7', sizeof text - 1);
	text[VALUE_SIZE] = '\0';
	is(-value_clean(value, text), EOVERFLOW, "a value that does not fit is refused");
	text[VALUE_SIZE - 1] = '\n';
	is(value_clean(value, text), 0, "one that just fits is not");
	is(strlen(value), VALUE_SIZE - 1, "whole");
}

static void choices(void)
{
	const char *aspm = "[default] performance powersave powersupersave\n";

	is(value_choose(value, aspm, "powersave"), 0, "another choice");
	is_str(value, "default performance [powersave] powersupersave", "has the brackets then");
	is(value_choose(value, aspm, "default"), 0, "the same choice");
	is_str(value, "[default] performance powersave powersupersave", "keeps them");
	is(-value_choose(value, aspm, "power"), EINVAL, "half a word is none of them");
	is(value_choose(value, "20000\n", "0"), 0, "no choices");
	is_str(value, "20000", "as it was");
}

int main(void)
{
	clean("20000\n", "20000");
	clean("", "");
	clean(" \t\n", "");
	clean("4096\t131072\t6291456\n", "4096 131072 6291456");
	clean("always [madvise] never\n", "madvise");
	clean("[default] performance powersave powersupersave \n", "default");
	clean("none mq-deadline [kyber]\n", "kyber");
	clean("[alone]\n", "[alone]");
	clean("a [b c] d\n", "a [b c] d");
	clean("a ]b[ c\n", "a ]b[ c");
	too_long();
	choices();

	same(true, "/sys/class/net/eth0/queues/rx-0/rps_cpus", "f", "0000000f");
	same(true, "/sys/class/net/eth0/queues/rx-0/rps_cpus", "0", "00000000,00000000");
	same(true, "/proc/irq/106/smp_affinity", "00000001,00000000", "100000000");
	same(false, "/proc/irq/106/smp_affinity", "1", "10");
	same(false, "/proc/irq/106/smp_affinity", "", "0");
	same(true, "/proc/irq/106/smp_affinity_list", "0,1,2", "0-2");
	same(true, "/proc/irq/106/smp_affinity_list", "1,0", "0-1");
	same(false, "/proc/irq/106/smp_affinity_list", "0,2-3", "2-3");
	same(false, "/proc/irq/106/smp_affinity_list", "0-2:1/2", "0-2");
	same(false, "/proc/irq/106/smp_affinity_list", "0-99999", "0-9999");
	same(false, "/sys/class/net/eth0/gro_flush_timeout", "f", "0f");
	same(false, "/sys/class/net/eth0/mtu", "1500", "01500");
	same(true, "cpuset saker", "1,2", "1-2");
	same(false, "cpuset saker", "1,2", "1-3");
	same(false, "cpuset saker", "none", "1-2");
	same(true, "cpuset saker", "none", "none");
	same(false, "partition saker", "isolated", "member");
	return done();
}
