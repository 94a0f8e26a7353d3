/* SPDX-License-Identifier: GPL-2.0-only */
/* Events as a PMU in sysfs describes them, from a Pi 5's files. */
#include "probe.h"
#include "probe_pmu.h"
#include "tap.h"

static bool place(const char *format, uint64_t value, struct pmu_event *e)
{
	*e = (struct pmu_event){ 0 };
	return pmu_place(format, value, e);
}

int main(void)
{
	static const struct probe pi = { .root = "tests/probe/pi5" },
				  none = { .root = "tests/probe/cloud" };
	struct pmu_event e;

	ok(place("config:0-7", 0x37, &e) && e.config == 0x37, "low bits");
	ok(place("config:8-15", 3, &e) && e.config == 0x300, "higher bits");
	ok(place("config1:4", 1, &e) && e.config1 == 0x10 && !e.config, "one bit of another word");
	ok(place("config:0-7,32-35", 0xabc, &e) && e.config == 0xa000000bc, "in two places");
	ok(place("config:0-63", UINT64_MAX, &e) && e.config == UINT64_MAX, "the whole word");
	ok(!place("config:0-7", 0x100, &e), "too large a value");
	ok(!place("config2:0-7", 1, &e), "a word that we do not set");
	ok(!place("config:7-0", 1, &e) && !place("config:60-70", 1, &e) && !place("", 1, &e) &&
		   !place("config:x", 1, &e),
	   "formats that are none");
	ok(pmu_find(&pi, "armv8_*", "ll_cache_miss_rd", &e), "the Cortex-A76's");
	is(e.type, 10, "its type");
	is(e.config, 0x37, "its event");
	is_str(e.path, "sys/bus/event_source/devices/armv8_cortex_a76", "its device");
	ok(!pmu_find(&pi, "armv8_*", "bus_cycles", &e), "an event that it has not");
	ok(!pmu_find(&none, "armv8_*", "ll_cache_miss_rd", &e), "a machine without");
	return done();
}
