// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "say.h"
#include "steer_private.h"

static int silent(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level, (void)format, (void)args;
	return 0;
}

/* --- what is kept of it ------------------------------------------------------------- */

/* Descriptors of the maps that the worker gets too, and our own view of them. */
static int keep_maps(struct steer *s, const struct steer_object *o, const struct blocks_size *size)
{
	static const char *const names[BLOCKS] = {
#define X(name) [BLOCK_##name] = #name,
		BLOCK_LIST(X)
#undef X
	};
	for (unsigned i = 0; i < BLOCKS; i++) {
		s->map_fd[i] = steer_object_map(o, names[i]);
		if (s->map_fd[i] < 0)
			return refuse(s->conf, -errno, "no more descriptors: %s", strerror(errno));
	}
	int error = blocks_map(&s->b, size, s->map_fd);
	return error ? refuse(s->conf, error, "cannot map its counters: %s", strerror(-error)) : 0;
}

static void let_go(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* In the place of those before. */
static int keep_program(struct steer *s, const struct steer_object *o, enum steer_hook hook)
{
	int prog_fd = steer_object_program(o);
	int inlets_fd = steer_object_map(o, steer_inlets_name(hook));
	if (prog_fd < 0 || inlets_fd < 0) {
		int error = -errno;
		let_go(&prog_fd);
		let_go(&inlets_fd);
		return refuse(s->conf, error, "no more descriptors: %s", strerror(-error));
	}
	let_go(&s->prog_fd);
	let_go(&s->inlets_fd);
	s->prog_fd = prog_fd;
	s->inlets_fd = inlets_fd;
	s->hook = hook;
	return 0;
}

/* --- open to close ------------------------------------------------------------------ */

static void blank(struct steer *s, const struct conf *conf, const struct ktcp *kernel,
		  enum steer_hook hook)
{
	*s = (struct steer){ .conf = conf,
			     .ifindex = conf->ifindex,
			     .kernel = *kernel,
			     .hook = hook,
			     .prog_fd = -1,
			     .inlets_fd = -1,
			     .link_fd = -1 };
	for (unsigned i = 0; i < BLOCKS; i++)
		s->map_fd[i] = -1;
	if (!getenv("SAKER_BPF_LOG"))
		libbpf_set_print(silent);
}

int steer_open(struct steer *s, const struct conf *conf, const uint8_t mac[6],
	       const struct ktcp *kernel, enum steer_hook hook)
{
	struct blocks_size size;
	struct steer_object object;
	blank(s, conf, kernel, hook);
	int error = pins_choose(&s->pins, conf);
	if (!error)
		error = steer_check_alone(s);
	if (!error)
		error = steer_object_open(&object, s, hook);
	if (error)
		return error;
	error = steer_object_load(&object, s, mac, &size);
	if (!error)
		error = keep_maps(s, &object, &size);
	if (!error)
		error = keep_program(s, &object, hook);
	if (!error)
		error = pins_put(&s->pins, object.obj);
	if (!error && conf->stat_group[0])
		pins_let_read(&s->pins);
	if (error)
		steer_leave(s);
	steer_object_close(&object);
	return error;
}

/* --- from the binary before --------------------------------------------------------- */

struct steer_legacy steer_bequeath(const struct steer *s)
{
	struct steer_legacy to = {
		.size = s->b.size,
		.hook = s->hook,
		.link_fd = s->link_fd,
		.filter = s->filter,
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
	blank(s, conf, kernel, from->hook);
	s->link_fd = from->link_fd;
	s->filter = from->filter;
	s->pins = (struct pins){ .conf = conf, .keep = from->pin_keep };
	memcpy(s->pins.dir, from->pin_dir, sizeof s->pins.dir);
	for (unsigned i = 0; i < BLOCKS; i++) {
		s->map_fd[i] = pins_get(&s->pins, names[i]);
		if (s->map_fd[i] < 0)
			return s->map_fd[i];
	}
	s->inlets_fd = pins_get(&s->pins, steer_inlets_name(s->hook));
	if (s->inlets_fd < 0)
		return s->inlets_fd;
	int error = blocks_map(&s->b, &from->size, s->map_fd);
	return error ? refuse(s->conf, error, "cannot map its counters: %s", strerror(-error)) : 0;
}

/* Loaded with the maps that are there, and in the place of what is attached. */
static int renew(struct steer *s, const uint8_t mac[6], enum steer_hook hook)
{
	struct steer_object object;
	int error = steer_object_open(&object, s, hook);
	if (error)
		return error;
	error = steer_object_reload(&object, s, mac);
	if (!error && steer_attached(s))
		error = steer_replace(s, bpf_program__fd(object.program));
	if (!error && hook != s->hook)
		error = pins_add(&s->pins, object.obj, steer_inlets_name(hook));
	if (!error)
		error = steer_object_say(&object);
	if (!error)
		error = keep_program(s, &object, hook);
	steer_object_close(&object);
	return error;
}

int steer_renew(struct steer *s, const uint8_t mac[6])
{
	return renew(s, mac, s->hook);
}

int steer_move(struct steer *s, unsigned ifindex, const uint8_t mac[6])
{
	must(!steer_attached(s));
	s->ifindex = ifindex;
	return renew(s, mac, s->hook);
}

int steer_change(struct steer *s, const uint8_t mac[6], enum steer_hook hook)
{
	must(!steer_attached(s));
	return hook == s->hook ? 0 : renew(s, mac, hook);
}

/* --- where frames go ------------------------------------------------------------------ */

int steer_inlet(struct steer *s, unsigned queue, int fd)
{
	if (!bpf_map_update_elem(s->inlets_fd, &queue, &fd, 0))
		return 0;
	int error = -errno;
	if (error == -E2BIG)
		return refuse(s->conf, error,
			      "queue %u: this build serves %d queues: "
			      "`ethtool -L %s combined %d`",
			      queue, QUEUES_MAX, s->conf->ifname, QUEUES_MAX);
	return refuse(s->conf, error, "queue %u: not accepted by %s: %s", queue,
		      steer_inlets_name(s->hook), strerror(-error));
}

void steer_no_inlet(struct steer *s, unsigned queue)
{
	if (s->hook == STEER_TC && s->inlets_fd >= 0)
		bpf_map_delete_elem(s->inlets_fd, &queue);
}

struct summary_program steer_run(const struct steer *s)
{
	struct bpf_prog_info info = { .type = 0 };
	__u32 size = sizeof info;

	if (bpf_obj_get_info_by_fd(s->prog_fd, &info, &size))
		return (struct summary_program){ 0 };
	return (struct summary_program){ .run_cnt = info.run_cnt, .run_time_ns = info.run_time_ns };
}

void steer_leave(struct steer *s)
{
	if (!s->conf)
		return; /* never opened */
	let_go(&s->link_fd);
	let_go(&s->inlets_fd);
	let_go(&s->prog_fd);
	for (unsigned i = 0; i < BLOCKS; i++)
		let_go(&s->map_fd[i]);
	blocks_unmap(&s->b);
}

void steer_close(struct steer *s)
{
	steer_detach(s);
	pins_remove(&s->pins);
	steer_leave(s);
}
