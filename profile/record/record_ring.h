/* SPDX-License-Identifier: Apache-2.0 */
/* The buffer into which the kernel writes the records of one processor. */
#ifndef UX_RECORD_RING_H
#define UX_RECORD_RING_H

#include "error.h"
#include "out.h"

/* Zeroed: not mapped. */
struct ux_record_ring {
	void *map;       /* a page with the positions of head and tail, then the records */
	size_t map_size; /* bytes */
};

/*
 * Maps the buffer of an event, with `size` bytes for records (a power of two). UX_EDENIED: that is
 * more than the limit of locked memory allows.
 */
enum ux_code ux_record_ring_map(struct ux_record_ring *ring, int fd, size_t size,
				struct ux_error *err) ux_must;
void ux_record_ring_unmap(struct ux_record_ring *ring);

/* Appends the complete records, and gives their room back to the kernel. */
void ux_record_ring_drain(struct ux_record_ring *ring, struct ux_out *out);

#endif
