/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>
#include <unistd.h>
#include "probe.h"

/* --- temperature --------------------------------------------------------------------- */

struct scaled {
	int fd;
	double scale;
};

static void read_scaled(void *state, double *cell)
{
	const struct scaled *s = state;

	*cell = number_read(s->fd) * s->scale;
}

static void add_scaled(struct probe *p, int fd, double scale, const char *source,
		       const char *column, unsigned decimals, const char *where)
{
	struct scaled *s = probe_memory(sizeof *s);

	*s = (struct scaled){ fd, scale };
	probe_remark(probe_source(p, read_scaled, s, "%s", source), "%s", where);
	probe_column(p, decimals, "%s", column);
}

/* The zone of the processor by its type; cpu-thermal is the Raspberry Pi's. */
static const char *const zone_types[] = { "cpu-thermal", "cpu_thermal", "x86_pkg_temp",
					  "soc-thermal", "soc_thermal", "cpu" };
static const char *const hwmon_names[] = { "cpu_thermal", "coretemp", "k10temp", "zenpower" };

static bool zone_of(const struct probe *p, const char *type, char *path, size_t size)
{
	char found[64];

	for (unsigned zone = 0; zone < 32; zone++) {
		probe_line(p, found, sizeof found, "sys/class/thermal/thermal_zone%u/type", zone);
		if (!strcmp(found, type)) {
			snprintf(path, size, "sys/class/thermal/thermal_zone%u/temp", zone);
			return true;
		}
	}
	return false;
}

static bool hwmon_of(const struct probe *p, const char *name, const char *file, char *path,
		     size_t size)
{
	char found[64];

	for (unsigned i = 0; i < 32; i++) {
		probe_line(p, found, sizeof found, "sys/class/hwmon/hwmon%u/name", i);
		if (!strcmp(found, name)) {
			snprintf(path, size, "sys/class/hwmon/hwmon%u/%s", i, file);
			return true;
		}
	}
	return false;
}

static void temperature(struct probe *p)
{
	char path[128] = "";
	int fd;

	for (unsigned i = 0; !*path && i < array_size(zone_types); i++)
		zone_of(p, zone_types[i], path, sizeof path);
	for (unsigned i = 0; !*path && i < array_size(hwmon_names); i++)
		hwmon_of(p, hwmon_names[i], "temp1_input", path, sizeof path);
	if (!*path)
		snprintf(path, sizeof path, "sys/class/thermal/thermal_zone0/temp");
	fd = probe_open(p, "%s", path);
	if (isnan(number_read(fd)))
		probe_absent(p, "temperature", NULL, "no thermal zone and no sensor of a CPU");
	else
		add_scaled(p, fd, 1e-3, "temperature", "temp_c", 2, path);
}

/* --- frequency ------------------------------------------------------------------------- */

struct frequency {
	int fd[PROBE_CPUS];
	unsigned count;
};

static void read_frequency(void *state, double *cell)
{
	const struct frequency *f = state;

	for (unsigned i = 0; i < f->count; i++)
		cell[i] = number_read(f->fd[i]) * 1e-3;
}

static void frequency(struct probe *p)
{
	struct frequency *f = probe_memory(sizeof *f);
	unsigned cpu[PROBE_CPUS];

	for (unsigned i = 0; i < PROBE_CPUS; i++) {
		int fd = probe_open(p, "sys/devices/system/cpu/cpu%u/cpufreq/scaling_cur_freq", i);

		if (fd < 0)
			continue;
		cpu[f->count] = i;
		f->fd[f->count++] = fd;
	}
	if (!f->count) {
		probe_absent(p, "frequency", NULL,
			     "no cpufreq: a virtual machine, or a kernel without a driver for it");
		return;
	}
	probe_source(p, read_frequency, f, "frequency");
	for (unsigned i = 0; i < f->count; i++)
		probe_column(p, 0, "freq_mhz_cpu%u", cpu[i]);
}

/* --- fan and supply ------------------------------------------------------------------- */

static void fan(struct probe *p)
{
	char path[128] = "";
	int fd;

	if (!probe_find(p, path, sizeof path,
			"sys/devices/platform/cooling_fan/hwmon/hwmon*/fan1_input") &&
	    !hwmon_of(p, "pwmfan", "fan1_input", path, sizeof path))
		probe_find(p, path, sizeof path, "sys/class/hwmon/hwmon*/fan1_input");
	fd = *path ? probe_open(p, "%s", path) : -1;
	if (isnan(number_read(fd)))
		probe_absent(p, "fan", NULL, "no fan that tells its speed");
	else
		add_scaled(p, fd, 1, "fan", "fan_rpm", 0, path);
}

/* The one thing of the firmware's that a kernel of kernel.org shows. */
static void supply(struct probe *p)
{
	char path[128] = "";
	int fd = -1;

	if (hwmon_of(p, "rpi_volt", "in0_lcrit_alarm", path, sizeof path))
		fd = probe_open(p, "%s", path);
	if (isnan(number_read(fd)))
		probe_absent(p, "supply", NULL, "no rpi_volt sensor: not a Raspberry Pi");
	else
		add_scaled(p, fd, 1, "supply", "under_voltage", 0, path);
}

void probe_sysfs(struct probe *p)
{
	temperature(p);
	frequency(p);
	fan(p);
	supply(p);
}

/* --- throttled, by the firmware driver -------------------------------------------------- */

/* The driver asks the firmware each 2 s, clears the upper half as it does, and shows what
 * it saw (drivers/hwmon/raspberrypi-hwmon.c: GET_THROTTLED with 0xffff): so what has
 * occurred is gathered here. */
struct throttled {
	struct text text;
	uint32_t ever;
};

static void read_throttled(void *state, double *cell)
{
	struct throttled *t = state;
	const char *text = text_read(&t->text);
	unsigned word;

	if (!text || sscanf(text, "%x", &word) != 1)
		return;
	t->ever |= (word | word >> 16) & 0xf;
	cell[0] = word;
	cell[1] = word & 0xf;
	cell[2] = t->ever;
}

void probe_throttled_sysfs(struct probe *p, const char *why, const char *cure)
{
	struct throttled *t = probe_memory(sizeof *t);
	char path[128];

	t->text.fd = -1;
	if (probe_find(p, path, sizeof path,
		       "sys/devices/platform/soc*/soc*:firmware/get_throttled"))
		t->text.fd = probe_open(p, "%s", path);
	if (!text_read(&t->text)) {
		probe_absent(p, "throttled", cure, "%s, and no get_throttled in sysfs", why);
		return;
	}
	probe_remark(probe_source(p, read_throttled, t, "throttled"),
		     "%s, up to 2 s old; _ever counts from the start of the probe", path);
	probe_column(p, 0, "throttled");
	probe_column(p, 0, "throttled_now");
	probe_column(p, 0, "throttled_ever");
}
