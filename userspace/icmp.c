/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>
#include "icmp.h"

/* The kernel shows the records twice, one behind the other, so that none of
 * them is ever torn by the end of the buffer. */
static size_t kernel_bytes(const struct icmp *i)
{
	return i->page + 2 * (size_t)ICMP_RING_BYTES;
}

int icmp_open(struct icmp *i, int map_fd)
{
	void *at;

	/* The kernel fills these mappings at once: no first touch will fault. */
	*i = (struct icmp){ .page = (size_t)sysconf(_SC_PAGESIZE) };
	at = mmap(NULL, i->page, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	i->consumer = at;
	at = mmap(NULL, kernel_bytes(i), PROT_READ, MAP_SHARED, map_fd, (off_t)i->page);
	if (at == MAP_FAILED) {
		int error = -errno;
		icmp_close(i);
		return error;
	}
	i->producer = at;
	i->records = (const uint8_t *)at + i->page;
	i->taken = *i->consumer;
	return 0;
}

void icmp_close(struct icmp *i)
{
	if (i->consumer)
		munmap(i->consumer, i->page);
	if (i->producer)
		munmap((void *)i->producer, kernel_bytes(i));
	*i = (struct icmp){ .page = 0 };
}

bool icmp_take(struct icmp *i, struct icmp_event *e)
{
	bool any = false;

	while (!any && icmp_pending(i)) {
		const uint8_t *at = i->records + (i->taken & (ICMP_RING_BYTES - 1));
		uint32_t header = __atomic_load_n((const uint32_t *)at, __ATOMIC_ACQUIRE); /* B */
		uint32_t len = header & ~(uint32_t)(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);

		if (header & BPF_RINGBUF_BUSY_BIT)
			break; /* being filled on another CPU: next turn */
		any = !(header & BPF_RINGBUF_DISCARD_BIT) && len == sizeof *e;
		if (any)
			memcpy(e, at + BPF_RINGBUF_HDR_SZ, sizeof *e);
		i->taken += round_up(len + BPF_RINGBUF_HDR_SZ, 8);
		__atomic_store_n(i->consumer, i->taken, __ATOMIC_RELEASE); /* C */
	}
	return any;
}
