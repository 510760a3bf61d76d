/* SPDX-License-Identifier: Apache-2.0 */
/* Large regions of memory: in files that the system can write out, and sliding windows. */
#ifndef UX_REGION_H
#define UX_REGION_H

#include "base.h"
#include "error.h"

/*
 * A region of `size` bytes, all 0, in a file of its own without a name in `folder`: its pages are
 * the page cache's and can be written out under pressure, where anonymous memory could not. The
 * disk space is reserved, so that a full disk is an error here and never a signal later.
 * Page-aligned; gone with ux_spill_unmap() or the process. Any thread.
 */
enum ux_code ux_spill_map(const char *folder, size_t size, void **ret, struct ux_error *err)
	ux_must;
void ux_spill_unmap(void *region, size_t size);

/*
 * A window that slides over a long run of bytes which is produced and read from front to back.
 * Every byte keeps its address, but only those inside the window are memory: the pages that were
 * released move to the front, so that the system need not find and clear new ones. Zeroed is
 * closed.
 */
struct ux_window {
	uint8_t *data; /* the run; reading in front of `kept` or behind `ready` gives anything */
	size_t size;
	size_t ready; /* bytes from the start that may be written */
	size_t kept;  /* where it begins: the bytes in front of it were released */
	size_t spare; /* from here to kept are pages to move */
	void *mapping;
	size_t mapping_size;
};

/* Reserves addresses, no memory. UX_ENOMEM. */
enum ux_code ux_window_open(struct ux_window *window, size_t size, struct ux_error *err) ux_must;
void ux_window_close(struct ux_window *window);

/* Makes the bytes in front of `end` writable. One thread at a time; others may read meanwhile. */
void ux_window_advance(struct ux_window *window, size_t end);

/* Releases all in front of `start`, which is not read any more. Not at the same time as
 * ux_window_advance(). */
void ux_window_release(struct ux_window *window, size_t start);

#endif
