/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window that slides over a long run of bytes which is made front to back, read, and let go of:
 * every byte keeps its address, but only those between are memory, and the pages that were let go
 * of move to the front, so that the system need not find and clear new ones.
 */
#ifndef UX_WINDOW_H
#define UX_WINDOW_H

#include "base.h"
#include "error.h"

/* Zeroed is closed. */
struct ux_window {
	uint8_t *data; /* the run; reading in front of `kept` or behind `ready` gives anything */
	size_t size;
	size_t ready; /* bytes from the start that may be written */
	size_t kept;  /* bytes in front of it were let go of */
	size_t spare; /* from here to kept are pages to move */
	void *mapping;
	size_t mapping_size;
};

/* Reserves addresses, no memory. UX_ENOMEM. */
enum ux_code ux_window_open(struct ux_window *window, size_t size, struct ux_error *err) ux_must;
void ux_window_close(struct ux_window *window);

/* Makes the bytes in front of `end` writable. One thread at a time; others may read meanwhile. */
void ux_window_advance(struct ux_window *window, size_t end);

/* Lets go of all in front of `start`, which nobody reads any more. Not beside
 * ux_window_advance(). */
void ux_window_release(struct ux_window *window, size_t start);

#endif
