/* SPDX-License-Identifier: GPL-2.0-only */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include "guard.h"

int guard_set(const struct conf *conf, int limits_fd, int access_fd)
{
	uint32_t key = 0;
	int error = bpf_map_update_elem(limits_fd, &key, &conf->limits, 0) ? -errno : 0;

	for (unsigned i = 0; i < conf->rules && !error; i++) {
		struct access_rule rule = { .what = conf->rule[i].what };

		if (bpf_map_update_elem(access_fd, &conf->rule[i].prefix, &rule, 0))
			error = -errno;
	}
	return error;
}

/* The source as bpf/guard.h has it: of IPv6 a /64. */
static struct source_thread key_of(unsigned thread, const uint8_t remote[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct source_thread key = { .thread = thread };

	memcpy(key.source.addr, remote, memcmp(remote, mapped, sizeof mapped) ? 8 : 16);
	return key;
}

int guard_opened(int fd, unsigned thread, const uint8_t remote[16])
{
	struct source_thread key = key_of(thread, remote);
	uint32_t open = 0;

	if (bpf_map_lookup_elem(fd, &key, &open) && errno != ENOENT)
		return -errno;
	open++;
	return bpf_map_update_elem(fd, &key, &open, 0) ? -errno : 0;
}

int guard_ended(int fd, unsigned thread, const uint8_t remote[16])
{
	struct source_thread key = key_of(thread, remote);
	uint32_t open;

	if (bpf_map_lookup_elem(fd, &key, &open))
		return errno == ENOENT ? 0 : -errno;
	if (open <= 1)
		return bpf_map_delete_elem(fd, &key) ? -errno : 0;
	open--;
	return bpf_map_update_elem(fd, &key, &open, 0) ? -errno : 0;
}

int guard_forget(int fd)
{
	struct source_thread key;

	while (!bpf_map_get_next_key(fd, NULL, &key))
		if (bpf_map_delete_elem(fd, &key) && errno != ENOENT)
			return -errno;
	return errno == ENOENT ? 0 : -errno;
}
