/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * pages: what differs on a kernel with 16 KiB pages, by asking it. Were it not so, the
 * board could not show a wrong size of a page in what it runs.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/if_xdp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include "limits.h"
#include "tap.h"

enum { BOARD_PAGE = 16384, OTHER_PAGE = 4096, UMEM_BYTES = 1 << 20 };

/* 0, or errno of a UMEM that begins `off` bytes into a page. */
static int umem(size_t off, unsigned chunk)
{
	void *at = mmap(NULL, UMEM_BYTES + BOARD_PAGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct xdp_umem_reg reg = { .addr = (__u64)(uintptr_t)at + off,
				    .len = UMEM_BYTES,
				    .chunk_size = chunk };
	int fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0), err = 0;

	if (at == MAP_FAILED || fd < 0 || setsockopt(fd, SOL_XDP, XDP_UMEM_REG, &reg, sizeof reg))
		err = errno;
	close(fd);
	munmap(at, UMEM_BYTES + BOARD_PAGE);
	return err;
}

static int ring_buffer(unsigned bytes)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "pages", 0, 0, bytes, NULL);

	if (fd < 0)
		return -fd;
	close(fd);
	return 0;
}

int main(void)
{
	is(sysconf(_SC_PAGESIZE), BOARD_PAGE, "the size of a page");
	is(umem(0, FRAME_SIZE), 0, "a UMEM at a page, of our chunks");
	is(umem(OTHER_PAGE, FRAME_SIZE), EINVAL, "a UMEM at 4096 is refused");
	is(umem(0, BOARD_PAGE), 0, "chunks as large as a page");
	is(ring_buffer(BOARD_PAGE), 0, "a BPF ring buffer of a page");
	is(ring_buffer(OTHER_PAGE), EINVAL, "one of 4096 is refused");
	return done();
}
