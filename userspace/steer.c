// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "attached.h"
#include "guard.h"
#include "say.h"
#include "steer.h"
#include "steer.skel.h"

/* --- who is there already --------------------------------------------------- */

static int refuse_program(const struct steer *s, const struct attached *a)
{
	char cure[64];
	if (a->link_id)
		snprintf(cure, sizeof cure, "bpftool link detach id %u", a->link_id);
	else
		snprintf(cure, sizeof cure, "ip link set dev %s %s off", s->conf->ifname, a->word);

	if (!strcmp(a->name, ATTACHED_OURS))
		return refuse(s->conf, -EBUSY,
			      "another saker steers this interface (program id %u): "
			      "stop it, or `saker-ctl -i %s detach`",
			      a->prog_id, s->conf->ifname);
	if (!strcmp(a->name, ATTACHED_DISPATCHER))
		return refuse(s->conf, -EBUSY,
			      "libxdp's dispatcher (%s, program id %u) is attached: "
			      "`xdp-loader unload %s --all`",
			      a->name, a->prog_id, s->conf->ifname);
	return refuse(s->conf, -EBUSY, "another XDP program (%s, id %u) is attached: `%s`",
		      a->name[0] ? a->name : "no name", a->prog_id, cure);
}

/* An interface holds one native and one generic program, never both by our
 * doing: whichever is there, we stay away. */
static int check_alone(const struct steer *s)
{
	struct attached there;
	unsigned pid = pins_owner(&s->pins);
	if (pid)
		return refuse(s->conf, -EBUSY, "another saker runs here: stop process %u first",
			      pid);

	int error = attached_ask(&there, s->ifindex);
	if (error)
		return refuse(s->conf, error, "cannot ask for its XDP program: %s",
			      strerror(-error));
	return there.prog_id ? refuse_program(s, &there) : 0;
}

/* --- load ----------------------------------------------------------------------- */

static int silent(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level, (void)format, (void)args;
	return 0;
}

/* libbpf says only that it failed: ask why, now that time does not matter. */
static int refuse_load(const struct steer *s, int error)
{
	int fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (fd < 0 && errno == EAFNOSUPPORT)
		return refuse(s->conf, -EAFNOSUPPORT,
			      "this kernel has no AF_XDP: it needs CONFIG_XDP_SOCKETS=y");
	if (fd >= 0)
		close(fd);
	if (error == -EPERM || error == -EACCES)
		return refuse(s->conf, -EPERM,
			      "may not load BPF: run as root, or give CAP_BPF, CAP_PERFMON, "
			      "CAP_NET_ADMIN "
			      "and CAP_NET_RAW");
	return refuse(s->conf, error,
		      "the XDP program does not load: %s "
		      "(it needs Linux 5.18): SAKER_BPF_LOG=1 shows the kernel's reason",
		      strerror(-error));
}

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

/* A flow for each connection and each TIME-WAIT record that a worker can have. In port
 * mode the program uses neither map. */
static int size_flows(const struct steer_bpf *skel, const struct conf *conf)
{
	unsigned each = conf->max_conns + TIMEWAIT_MAX;
	int error;

	if (conf->steer == STEER_path)
		return bpf_map__set_max_entries(skel->maps.flows, conf_io_threads(conf) * each);
	error = bpf_map__set_max_entries(skel->maps.flows, 1);
	return error ?: bpf_map__set_max_entries(skel->maps.syn_hints, 1);
}

static int load(struct steer *s, struct steer_bpf *skel, const struct conf *conf,
		const uint8_t mac[6], struct blocks_size *size)
{
	struct steer_config config;
	__u32 key = 0;
	int cpus = libbpf_num_possible_cpus();
	if (cpus < 1 || cpus > ABI_CPUS_MAX)
		return refuse(s->conf, -E2BIG,
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
	memcpy((void *)&skel->rodata->conf, &config, sizeof config);
	int error = bpf_map__set_max_entries(skel->maps.counters, size->counters);
	if (!error)
		error = bpf_map__set_max_entries(skel->maps.stages, blocks_stages(size));
	if (!error)
		error = bpf_map__set_max_entries(skel->maps.lanes, blocks_lanes(size));
	if (!error)
		error = bpf_map__set_max_entries(skel->maps.gauges, blocks_stages(size));
	if (!error)
		error = bpf_map__set_max_entries(skel->maps.conns, blocks_conns(size));
	if (!error)
		error = bpf_map__set_max_entries(skel->maps.trace, size->io_threads);
	if (!error)
		error = bpf_map__set_max_entries(skel->maps.source_conns,
						 size->io_threads * conf->max_conns);
	if (!error)
		error = size_flows(skel, conf);
	if (!error)
		error = steer_bpf__load(skel);
	if (!error)
		error = bpf_map_update_elem(bpf_map__fd(skel->maps.config), &key, &config, 0);
	if (!error)
		error = guard_set(conf, bpf_map__fd(skel->maps.limits),
				  bpf_map__fd(skel->maps.access));
	return error ? refuse_load(s, error) : 0;
}

/* --- what is kept of it ------------------------------------------------------------- */

static int keep_fd(int fd)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

/* Descriptors of the maps that the worker gets too, and our own view of them. */
static int keep_maps(struct steer *s, const struct steer_bpf *skel, const struct blocks_size *size)
{
	const struct bpf_map *const maps[BLOCKS] = {
#define X(name) [BLOCK_##name] = skel->maps.name,
		BLOCK_LIST(X)
#undef X
	};
	for (unsigned i = 0; i < BLOCKS; i++) {
		s->map_fd[i] = keep_fd(bpf_map__fd(maps[i]));
		if (s->map_fd[i] < 0)
			return refuse(s->conf, -errno, "no more descriptors: %s", strerror(errno));
	}
	int error = blocks_map(&s->b, size, s->map_fd);
	return error ? refuse(s->conf, error, "cannot map its counters: %s", strerror(-error)) : 0;
}

/* --- open to close ------------------------------------------------------------------ */

static void blank(struct steer *s, const struct conf *conf, const struct ktcp *kernel)
{
	*s = (struct steer){ .conf = conf,
			     .ifindex = conf->ifindex,
			     .kernel = *kernel,
			     .prog_fd = -1,
			     .xsks_fd = -1,
			     .link_fd = -1 };
	for (unsigned i = 0; i < BLOCKS; i++)
		s->map_fd[i] = -1;
	if (!getenv("SAKER_BPF_LOG"))
		libbpf_set_print(silent);
}

int steer_open(struct steer *s, const struct conf *conf, const uint8_t mac[6],
	       const struct ktcp *kernel)
{
	struct blocks_size size;
	blank(s, conf, kernel);
	int error = pins_choose(&s->pins, conf);
	if (!error)
		error = check_alone(s);
	if (error)
		return error;

	struct steer_bpf *skel = steer_bpf__open();
	if (!skel)
		return refuse_load(s, -errno);
	error = load(s, skel, conf, mac, &size);
	if (!error)
		error = keep_maps(s, skel, &size);
	if (error)
		goto let_go;
	s->prog_fd = keep_fd(bpf_program__fd(skel->progs.saker_steer));
	s->xsks_fd = keep_fd(bpf_map__fd(skel->maps.xsks_map));
	if (s->prog_fd < 0 || s->xsks_fd < 0) {
		error = refuse(s->conf, -errno, "no more descriptors: %s", strerror(errno));
		goto let_go;
	}
	error = pins_put(&s->pins, skel->obj);
	if (error)
		goto let_go;
	if (conf->stat_group[0])
		pins_let_read(&s->pins);
	steer_bpf__destroy(skel);
	return 0;

let_go:
	steer_leave(s);
	steer_bpf__destroy(skel);
	return error;
}

/* --- from the binary before --------------------------------------------------------- */

struct steer_legacy steer_bequeath(const struct steer *s)
{
	struct steer_legacy to = {
		.size = s->b.size,
		.link_fd = s->link_fd,
		.pin_keep = (uint32_t)s->pins.keep,
	};
	memcpy(to.pin_dir, s->pins.dir, sizeof to.pin_dir);
	return to;
}

int steer_inherit(struct steer *s, const struct conf *conf, const struct ktcp *kernel,
		  const struct steer_legacy *from)
{
	static const char *const names[] = {
#define X(name) #name,
		BLOCK_LIST(X)
#undef X
	};
	blank(s, conf, kernel);
	s->link_fd = from->link_fd;
	s->pins = (struct pins){ .conf = conf, .keep = from->pin_keep };
	memcpy(s->pins.dir, from->pin_dir, sizeof s->pins.dir);
	for (unsigned i = 0; i < BLOCKS; i++) {
		s->map_fd[i] = pins_get(&s->pins, names[i]);
		if (s->map_fd[i] < 0)
			return s->map_fd[i];
	}
	s->xsks_fd = pins_get(&s->pins, "xsks_map");
	if (s->xsks_fd < 0)
		return s->xsks_fd;
	int error = blocks_map(&s->b, &from->size, s->map_fd);
	return error ? refuse(s->conf, error, "cannot map its counters: %s", strerror(-error)) : 0;
}

/* Each map of ours is the one that is pinned, if it is of the same shape. */
static int reuse_maps(struct steer *s, struct steer_bpf *skel)
{
	for (unsigned i = 0; i < PINS; i++) {
		struct bpf_map *map = bpf_object__find_map_by_name(skel->obj, pins_names[i]);
		struct bpf_map_info info = { .type = 0 };
		__u32 size = sizeof info;
		int fd = pins_get(&s->pins, pins_names[i]);
		if (fd < 0)
			return fd;
		int error = bpf_obj_get_info_by_fd(fd, &info, &size);
		if (!error && (info.type != bpf_map__type(map) ||
			       info.value_size != bpf_map__value_size(map)))
			error = refuse(s->conf, -EINVAL,
				       "the map %s has another shape in this version",
				       pins_names[i]);
		if (!error)
			error = bpf_map__reuse_fd(map, fd);
		close(fd);
		if (error)
			return error;
	}
	return 0;
}

int steer_renew(struct steer *s, const struct conf *conf, const uint8_t mac[6])
{
	struct steer_bpf *skel = steer_bpf__open();
	struct steer_config config;
	__u32 key = 0;
	if (!skel)
		return refuse_load(s, -errno);
	tell(&config, conf, mac, &s->kernel);
	memcpy((void *)&skel->rodata->conf, &config, sizeof config);
	int error = reuse_maps(s, skel);
	if (!error && steer_bpf__load(skel))
		error = refuse_load(s, -errno);
	if (!error && s->link_fd >= 0 &&
	    bpf_link_update(s->link_fd, bpf_program__fd(skel->progs.saker_steer), NULL))
		error = refuse(s->conf, -errno, "the program cannot be replaced: %s",
			       strerror(errno));
	if (!error)
		error = bpf_map_update_elem(bpf_map__fd(skel->maps.config), &key, &config, 0);
	if (!error) {
		if (s->prog_fd >= 0)
			close(s->prog_fd);
		s->prog_fd = keep_fd(bpf_program__fd(skel->progs.saker_steer));
	}
	steer_bpf__destroy(skel);
	return error;
}

int steer_move(struct steer *s, const struct conf *conf, unsigned ifindex, const uint8_t mac[6])
{
	must(s->link_fd < 0);
	s->ifindex = ifindex;
	return steer_renew(s, conf, mac);
}

int steer_attach(struct steer *s, bool native)
{
	const char *word = native ? "xdp-native" : "xdp-generic";
	LIBBPF_OPTS(bpf_link_create_opts, opts,
		    .flags = native ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE);
	must(s->link_fd < 0);
	s->link_fd = bpf_link_create(s->prog_fd, (int)s->ifindex, BPF_XDP, &opts);
	if (s->link_fd >= 0)
		return 0;

	int error = -errno;
	switch (error) {
	case -EBUSY:
	case -EEXIST:
		return refuse(s->conf, -EBUSY,
			      "attach %s: another XDP program came first: "
			      "`ip -d link show dev %s`",
			      word, s->conf->ifname);
	case -EPERM:
		return refuse(s->conf, error, "attach %s: run as root or give CAP_NET_ADMIN", word);
	case -EOPNOTSUPP:
		return refuse(s->conf, error, "attach %s: the driver cannot: --io=%s", word,
			      native ? "xdp-generic" : "socket");
	case -EINVAL:
	case -ERANGE:
		return refuse(
			s->conf, error,
			"attach %s: the driver refuses this MTU or offload: "
			"`ip link set dev %s mtu 1500`, `ethtool -K %s lro off rx-gro-hw off`",
			word, s->conf->ifname, s->conf->ifname);
	default:
		return refuse(s->conf, error, "attach %s: %s", word, strerror(-error));
	}
}

int steer_socket(struct steer *s, unsigned queue, int xsk_fd)
{
	if (!bpf_map_update_elem(s->xsks_fd, &queue, &xsk_fd, 0))
		return 0;
	int error = -errno;
	if (error == -E2BIG)
		return refuse(s->conf, error,
			      "queue %u: this build serves %d queues: "
			      "`ethtool -L %s combined %d`",
			      queue, QUEUES_MAX, s->conf->ifname, QUEUES_MAX);
	return refuse(s->conf, error, "queue %u: socket not accepted by xsks_map: %s", queue,
		      strerror(-error));
}

struct summary_program steer_run(const struct steer *s)
{
	struct bpf_prog_info info = { .type = 0 };
	__u32 size = sizeof info;

	if (bpf_obj_get_info_by_fd(s->prog_fd, &info, &size))
		return (struct summary_program){ 0 };
	return (struct summary_program){ .run_cnt = info.run_cnt, .run_time_ns = info.run_time_ns };
}

/* Detach before close: a child that still has the descriptor cannot keep the
 * program on the interface. */
void steer_detach(struct steer *s)
{
	if (s->link_fd < 0)
		return;
	bpf_link_detach(s->link_fd);
	close(s->link_fd);
	s->link_fd = -1;
}

void steer_leave(struct steer *s)
{
	if (!s->conf)
		return; /* never opened */
	int *const fds[] = { &s->link_fd, &s->xsks_fd, &s->prog_fd };
	for (size_t i = 0; i < array_size(fds); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
	for (unsigned i = 0; i < BLOCKS; i++) {
		if (s->map_fd[i] >= 0)
			close(s->map_fd[i]);
		s->map_fd[i] = -1;
	}
	blocks_unmap(&s->b);
}

void steer_close(struct steer *s)
{
	steer_detach(s);
	pins_remove(&s->pins);
	steer_leave(s);
}
