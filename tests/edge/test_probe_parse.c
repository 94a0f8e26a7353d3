/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's texts, odd ones too, and counters that wrap or begin anew. */
#include "probe_count.h"
#include "probe_parse.h"
#include "tap.h"

static void stat(void)
{
	static struct cpu_ticks t[8];

	is(parse_stat(
		   "cpu  9 9 9 9\ncpu0 10 1 5 80 4 2 3 1 7 0\ncpu3 1 0 0 9 0 0 0 0 0 0\nintr 5 6\n",
		   t, 8),
	   4, "CPUs 0 and 3; 1 and 2 are off");
	is(t[0].total, 106, "guest is in user already");
	is(t[0].busy, 22, "all but idle and iowait");
	is(t[0].irq, 2, "interrupts");
	is(t[0].softirq, 3, "softirqs");
	ok(t[3].online && !t[1].online && !t[2].online, "who is on");
	is(parse_stat("cpu  1 2 3 4\ncpu0 1 0 0 9\ncpu1 1", t, 8), 2,
	   "an old kernel's, and a cut one");
	is(t[0].total, 10, "what is not printed is 0");
	is(parse_stat("cpu0 1 0 0 9\ncpu9 1 0 0 9\n", t, 8), 1, "a CPU beyond the list");
	is(parse_stat("", t, 8), 0, "nothing");
}

static void columns(void)
{
	uint64_t sum[4];

	is(parse_columns("           CPU0       CPU2       \n"
			 "  9:          1          2  IO-APIC   5-edge      ACPI:Ged\n"
			 "106:   50000000          7 rp1_irq_chip   6 Level     eth0\n"
			 "IPI0:       100        200       Rescheduling interrupts\n"
			 "ERR:          4\nMIS:          0\n",
			 sum, 4),
	   3, "CPUs 0 and 2");
	is(sum[0], 50000105, "the first column; ERR has one number, and it is added there");
	is(sum[1], 0, "a CPU that is off");
	is(sum[2], 209, "the second column, not the numbers behind it");
	is(parse_columns("CPU0\n  1: 4294967295\n  2: 1\n", sum, 4), 1, "one CPU");
	is(sum[0], 4294967296, "the sum is not cut");
	is(parse_columns("", sum, 4), 0, "nothing");
}

static void network(void)
{
	uint64_t value[NETDEV_COLUMNS];
	struct softnet s[2];
	static const char dev[] =
		"Inter-|   Receive  |  Transmit\n face |bytes packets\n"
		"  veth: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
		"veth10:16 15 14 13 12 11 10 9 8 7 6 5 4 3 2 18446744073709551615\n";

	is(parse_softnet("ffffffff 00000001 0000000a 0 0\n00000010 0 0 0\n00000020 0 0 0\n", s, 2),
	   2, "two of three CPUs");
	is(s[0].processed, 0xffffffff, "hexadecimal");
	is(s[0].dropped, 1, "dropped");
	is(s[0].squeezed, 10, "squeezed");
	ok(parse_netdev(dev, "veth10", value), "an interface, its name no prefix of another's");
	is(value[0], 16, "no blank behind the colon");
	is(value[15], UINT64_MAX, "the last column");
	ok(parse_netdev(dev, "veth", value) && value[1] == 2, "the other");
	ok(!parse_netdev(dev, "eth", value), "none");
	ok(!parse_netdev("eth: 1 2 3\n", "eth", value), "a line that is cut");
}

static void process(void)
{
	uint64_t value = 7;

	ok(parse_pid_stat("12 (a) b (c) R 1 1 1 0 -1 4 900 0 12 0 1", 10, &value), "minflt");
	is(value, 900, "behind a name with brackets and blanks");
	ok(parse_pid_stat("12 (a) R 1 1 1 0 -1 4 900 0 12 0 1", 12, &value) && value == 12,
	   "majflt");
	ok(!parse_pid_stat("12 (a) R 1", 10, &value), "too short");
	ok(!parse_pid_stat("", 10, &value), "nothing");
	ok(parse_field("Vm:\t1\nVmRSS:\t    4128 kB\n", "VmRSS", &value) && value == 4128,
	   "a field");
	ok(parse_field("nonvoluntary_ctxt_switches:\t2\nvoluntary_ctxt_switches:\t40\n",
		       "voluntary_ctxt_switches", &value) &&
		   value == 40,
	   "a field whose name is another's end");
	ok(parse_field("se.nr_migrations                             :        3\n",
		       "se.nr_migrations", &value) &&
		   value == 3,
	   "blanks before the colon");
	ok(!parse_field("VmRSSX:\t1\n", "VmRSS", &value), "another field");
	ok(!parse_field("VmRSS:\n", "VmRSS", &value), "no number");
}

static void counts(void)
{
	struct count c = { 0 };

	is(count_32(&c, 0xfffffff0), 0, "it counts from the start");
	is(count_32(&c, 0x10), 0x20, "32 bits wrapped");
	is(count_32(&c, 0x10), 0x20, "it stands");
	is(count_32(&c, 0xffffffff), 0xffffffff - 0x10 + 0x20ull, "almost around");
	c = (struct count){ 0 };
	is(count_32(&c, 3 * 0xffffffffull), 0, "a sum of 32-bit counters");
	is(count_32(&c, 2 * 0xffffffffull + 9), 10, "one of them wrapped");
	c = (struct count){ 0 };
	count_64(&c, 1000);
	is(count_64(&c, 1500), 500, "64 bits");
	is(count_64(&c, 200), 700, "it began anew: what it has is new");
	c = (struct count){ 0 };
	count_64(&c, 0xffffff00);
	is(count_64(&c, 0x100), 0x200, "a driver's 32 bits wrapped");
	count_64(&c, 0x1ffffff00);
	is(count_64(&c, 0x100), 0x200 + 0x1fffffe00 + 0x100, "64 bits do not wrap: it began anew");
	c = (struct count){ .begun = true };
	is(count_64(&c, 5), 5, "what was born meanwhile counts from 0");
}

int main(void)
{
	stat();
	columns();
	network();
	process();
	counts();
	return done();
}
