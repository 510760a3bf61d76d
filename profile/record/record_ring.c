/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers that the kernel fills. */
#include "record_ring.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

enum ux_code ux_record_ring_map(struct ux_record_ring *ring, int fd, size_t size,
				struct ux_error *err)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *map = mmap(NULL, page + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return ux_error_os(err, errno, "cannot map a buffer of %zu KiB for records",
				   size / 1024);
	*ring = (struct ux_record_ring){.map = map, .map_size = page + size};
	return UX_OK;
}

void ux_record_ring_unmap(struct ux_record_ring *ring)
{
	if (ring->map)
		(void)munmap(ring->map, ring->map_size);
	*ring = (struct ux_record_ring){0};
}

void ux_record_ring_drain(struct ux_record_ring *ring, struct ux_out *out)
{
	struct perf_event_mmap_page *page = ring->map;
	size_t head_size = (size_t)sysconf(_SC_PAGESIZE);
	const uint8_t *data = (const uint8_t *)ring->map + head_size;
	size_t size = ring->map_size - head_size;
	/* Pairs with the kernel's store: the bytes before data_head were written before it. */
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = page->data_tail;
	while (tail < head) {
		size_t at = (size_t)tail & (size - 1);
		size_t n = (size_t)ux_min(head - tail, (uint64_t)(size - at));
		ux_out_put(out, data + at, n);
		tail += n;
	}
	/* The kernel may overwrite these bytes only after they were read. */
	__atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
}
