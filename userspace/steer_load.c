// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "guard.h"
#include "say.h"
#include "steer.skel.h"
#include "steer_private.h"
#include "steer_tc.skel.h"

/* --- the object ----------------------------------------------------------------- */

/* libbpf says only that it failed: ask why, now that time does not matter. */
static int refuse_load(const struct steer *s, enum steer_hook hook, int error)
{
	int fd = hook == STEER_XDP ? socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0) : -1;
	if (fd < 0 && hook == STEER_XDP && errno == EAFNOSUPPORT)
		return refuse(s->conf, -EAFNOSUPPORT,
			      "this kernel has no AF_XDP: it needs CONFIG_XDP_SOCKETS=y; or "
			      "--io=packet");
	if (fd >= 0)
		close(fd);
	if (error == -EPERM || error == -EACCES)
		return refuse(s->conf, -EPERM,
			      "may not load BPF: run as root, or give CAP_BPF, CAP_PERFMON, "
			      "CAP_NET_ADMIN "
			      "and CAP_NET_RAW");
	/* at tc for want of AF_XDP: then this kernel has neither */
	return refuse(s->conf, hook == STEER_TC ? -EAFNOSUPPORT : error,
		      "the %s program does not load: %s "
		      "(it needs Linux 5.18): SAKER_BPF_LOG=1 shows the kernel's reason",
		      hook == STEER_XDP ? "XDP" : "tc", strerror(-error));
}

int steer_object_open(struct steer_object *o, const struct steer *s, enum steer_hook hook)
{
	*o = (struct steer_object){ .obj = NULL };
	if (hook == STEER_XDP)
		o->xdp = steer_bpf__open();
	else
		o->tc = steer_tc_bpf__open();
	if (o->xdp) {
		o->obj = o->xdp->obj;
		o->program = o->xdp->progs.saker_steer;
		o->told = (struct steer_config *)&o->xdp->rodata->conf;
	} else if (o->tc) {
		o->obj = o->tc->obj;
		o->program = o->tc->progs.saker_tc;
		o->told = (struct steer_config *)&o->tc->rodata->conf;
	}
	return o->obj ? 0 : refuse_load(s, hook, -errno);
}

void steer_object_close(struct steer_object *o)
{
	steer_bpf__destroy(o->xdp);
	steer_tc_bpf__destroy(o->tc);
	*o = (struct steer_object){ .obj = NULL };
}

static int keep_fd(int fd)
{
	return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

int steer_object_map(const struct steer_object *o, const char *name)
{
	return keep_fd(bpf_object__find_map_fd_by_name(o->obj, name));
}

int steer_object_program(const struct steer_object *o)
{
	return keep_fd(bpf_program__fd(o->program));
}

const char *steer_inlets_name(enum steer_hook hook)
{
	return hook == STEER_XDP ? "xsks_map" : "frames_q";
}

/* --- what it is told --------------------------------------------------------------- */

static void tell_paths(struct steer_config *config, const struct conf *conf,
		       const struct ktcp *kernel)
{
	config->steer = STEER_path;
	config->early_ns = (uint64_t)TCP_EARLY_MS * NS_PER_MS;
	config->kernel_options = kernel->options;
	config->path_count = conf->paths;
	must(conf->paths && conf->paths <= STEER_PATHS_MAX);
	for (unsigned i = 0; i < conf->paths; i++) {
		config->path[i].len = (uint32_t)strlen(conf->path[i]);
		memcpy(config->path[i].text, conf->path[i], config->path[i].len);
	}
}

static void tell(struct steer_config *config, const struct conf *conf, const uint8_t mac[6],
		 const struct ktcp *kernel)
{
	*config = (struct steer_config){
		.version = ABI_VERSION,
		.port = conf->port,
		.port_be = __builtin_bswap16(conf->port),
		.addr_count = (uint16_t)conf->addr_count,
		.stall_ns = (uint64_t)conf->stall_ms * NS_PER_MS,
		.grace_ns = (uint64_t)STEER_GRACE_MS * NS_PER_MS,
		.io_threads = conf_io_threads(conf),
		.cpu_block = conf_io_threads(conf) + conf->compute_cpus,
	};
	must(conf->addr_count <= STEER_ADDRS_MAX);
	memcpy(config->mac, mac, sizeof config->mac);
	memcpy(config->addr, conf->addr, sizeof config->addr);
	if (conf->steer == STEER_path)
		tell_paths(config, conf, kernel);
}

/* --- how long its maps are --------------------------------------------------------- */

static int cut(const struct steer_object *o, const char *name, uint32_t entries)
{
	return bpf_map__set_max_entries(bpf_object__find_map_by_name(o->obj, name), entries);
}

/* A flow for each connection and each TIME-WAIT record that a worker can have. In port
 * mode the program uses neither map. */
static int cut_flows(const struct steer_object *o, const struct conf *conf)
{
	unsigned each = conf->max_conns + TIMEWAIT_MAX;
	int error;

	if (conf->steer == STEER_path)
		return cut(o, "flows", conf_io_threads(conf) * each);
	error = cut(o, "flows", 1);
	return error ?: cut(o, "syn_hints", 1);
}

static int cut_maps(const struct steer_object *o, const struct conf *conf,
		    const struct blocks_size *size)
{
	int error = cut(o, "counters", size->counters);

	if (!error)
		error = cut(o, "stages", blocks_stages(size));
	if (!error)
		error = cut(o, "lanes", blocks_lanes(size));
	if (!error)
		error = cut(o, "gauges", blocks_stages(size));
	if (!error)
		error = cut(o, "conns", blocks_conns(size));
	if (!error)
		error = cut(o, "trace", size->io_threads);
	if (!error)
		error = cut(o, "source_conns", size->io_threads * conf->max_conns);
	return error ?: cut_flows(o, conf);
}

/* --- load ------------------------------------------------------------------------------ */

static enum steer_hook hook_of(const struct steer_object *o)
{
	return o->xdp ? STEER_XDP : STEER_TC;
}

static int map_fd(const struct steer_object *o, const char *name)
{
	return bpf_object__find_map_fd_by_name(o->obj, name);
}

int steer_object_say(const struct steer_object *o)
{
	__u32 key = 0;

	return bpf_map_update_elem(map_fd(o, "config"), &key, o->told, 0);
}

int steer_object_load(struct steer_object *o, const struct steer *s, const uint8_t mac[6],
		      struct blocks_size *size)
{
	const struct conf *conf = s->conf;
	struct steer_config config;
	int cpus = libbpf_num_possible_cpus(), error;

	if (cpus < 1 || cpus > ABI_CPUS_MAX)
		return refuse(conf, -E2BIG,
			      "%d possible CPUs: this build counts for 1 to %d "
			      "(possible_cpus= at boot)",
			      cpus, ABI_CPUS_MAX);
	tell(&config, conf, mac, &s->kernel);
	*size = (struct blocks_size){
		.io_threads = config.io_threads,
		.compute_cores = conf->compute_cpus,
		.counters = config.cpu_block + (unsigned)cpus + 2,
		.conns_each = conf->max_conns + SOCKS_DEFAULT,
	};
	memcpy(o->told, &config, sizeof config);
	error = cut_maps(o, conf, size);
	if (!error)
		error = bpf_object__load(o->obj);
	if (!error)
		error = steer_object_say(o);
	if (!error)
		error = guard_set(conf, map_fd(o, "limits"), map_fd(o, "access"));
	return error ? refuse_load(s, hook_of(o), error) : 0;
}

/* --- and again ------------------------------------------------------------------------- */

static int reuse_map(const struct steer *s, struct bpf_map *map)
{
	const char *name = bpf_map__name(map);
	struct bpf_map_info info = { .type = 0 };
	__u32 size = sizeof info;
	int fd = pins_get(&s->pins, name), error;

	if (fd < 0)
		return fd;
	error = bpf_obj_get_info_by_fd(fd, &info, &size);
	if (!error &&
	    (info.type != bpf_map__type(map) || info.value_size != bpf_map__value_size(map)))
		error = refuse(s->conf, -EINVAL, "the map %s has another shape in this version",
			       name);
	if (!error)
		error = bpf_map__reuse_fd(map, fd);
	close(fd);
	return error;
}

/* Each map of ours is the one that is pinned, if it is of the same shape. Inlets may be
 * there for one hook only. */
static int reuse_maps(const struct steer_object *o, const struct steer *s)
{
	const char *inlets = steer_inlets_name(hook_of(o));
	int error = 0;

	for (unsigned i = 0; i < PINS && !error; i++) {
		struct bpf_map *map = bpf_object__find_map_by_name(o->obj, pins_names[i]);

		if (!map || (!strcmp(pins_names[i], inlets) && !pins_has(&s->pins, inlets)))
			continue;
		error = reuse_map(s, map);
	}
	return error;
}

int steer_object_reload(struct steer_object *o, const struct steer *s, const uint8_t mac[6])
{
	struct steer_config config;
	int error;

	tell(&config, s->conf, mac, &s->kernel);
	memcpy(o->told, &config, sizeof config);
	error = reuse_maps(o, s);
	if (error)
		return error;
	error = bpf_object__load(o->obj);
	return error ? refuse_load(s, hook_of(o), error) : 0;
}
