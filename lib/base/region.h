/* SPDX-License-Identifier: Apache-2.0 */
/* Large regions of memory: regions in files that the system can write out, and sliding windows. */
#ifndef UX_REGION_H
#define UX_REGION_H

#include "base.h"
#include "error.h"

#include <stdatomic.h>

/* The folder of regions unless another one is given. */
#define UX_SPILL_FOLDER "/var/tmp"

/*
 * Where regions in files are made: each in a file of its own, or one after the other in a file that
 * is already open, for a process that cannot open files.
 */
struct ux_spill {
	const char *folder;   /* folder of unnamed files, one for each region; NULL: regions are in
				 `fd` */
	int fd;               /* may be sparse; nothing else uses it */
	uint64_t size;        /* size of fd */
	_Atomic uint64_t end; /* end of the last region in fd */
};

/* Returns the folder of TMPDIR, or UX_SPILL_FOLDER, or /tmp if that is not writable. */
const char *ux_spill_folder(void);

/* Opens an empty file without a name in the folder, of `size` bytes that take no disk space yet. */
enum ux_code ux_spill_open(const char *folder, uint64_t size, int *ret, struct ux_error *err)
	ux_must;

/*
 * Maps a region of `size` zero bytes in a file. Its pages belong to the page cache and can be
 * written out under memory pressure, unlike anonymous memory. The disk space is reserved here, so
 * that a full disk is an error now and not a signal later. The region is page-aligned. It ends with
 * ux_spill_unmap(), which gives the disk space back, or with the process. UX_ELIMIT: fd is full.
 * Any thread.
 */
enum ux_code ux_spill_map(struct ux_spill *spill, size_t size, void **ret, struct ux_error *err)
	ux_must;
void ux_spill_unmap(void *region, size_t size);

enum {
	/* smaller arrays are in memory, since a region costs some system calls */
	UX_SPILL_MIN = 1 << 16
};

/*
 * Resizes an array like realloc(): its `size` bytes are in a region when it is large and there is a
 * spill, else in memory. NULL begins a new array. New bytes are undefined. Each call for one array
 * must pass the same spill. Returns NULL when memory or disk space is short; the old array then
 * stays valid. ux_spill_free() ends it.
 */
void *ux_spill_realloc(struct ux_spill *spill, void *array, size_t size);
void ux_spill_free(void *array);

/* Returns a new array of n zeroed elements. */
void *ux_spill_calloc(struct ux_spill *spill, size_t n, size_t size);

/*
 * A window that slides over a long sequence of bytes, which is produced and read from front to
 * back. Every byte has a fixed address, but only those inside of the window have memory: pages that
 * were released are moved to the front, so that the system need not allocate and clear new ones. A
 * zeroed window is closed.
 */
struct ux_window {
	uint8_t *data; /* The sequence. Bytes before `kept` or after `ready` are undefined. */
	size_t size;
	size_t ready; /* end of the window: how many bytes from the start may be written */
	size_t kept;  /* start of the window: the bytes before it were released */
	size_t spare; /* the pages from here to `kept` can be moved */
	bool spilled; /* a region in a file, which is not moved */
	void *mapping;
	size_t mapping_size;
};

/*
 * Reserves address space, but no memory. With a spill the window is a region in a file with
 * reserved disk space, and released bytes are not written to the disk. UX_ENOMEM; codes of
 * ux_spill_map().
 */
enum ux_code ux_window_open(struct ux_window *window, size_t size, struct ux_spill *spill,
			    struct ux_error *err) ux_must;
void ux_window_close(struct ux_window *window);

/* Moves the window back to the first bytes; all of their content is undefined. */
void ux_window_rewind(struct ux_window *window);

/*
 * Makes the bytes before `end` writable. Only one thread at a time may call it; others may read
 * meanwhile.
 */
void ux_window_advance(struct ux_window *window, size_t end);

/*
 * Releases the bytes before `start`, which no thread may read any more. It must not run at the same
 * time as ux_window_advance().
 */
void ux_window_release(struct ux_window *window, size_t start);

#endif
