/* SPDX-License-Identifier: Apache-2.0 */
/* A sliding window. */
#include "window.h"

#include <errno.h>
#include <sys/mman.h>

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4 /* Linux 5.7 */
#endif

/* Pages move by tables of them where both ends are multiples of it. */
#define STEP ((size_t)2 << 20)

enum ux_code ux_window_open(struct ux_window *w, size_t size, struct ux_error *err)
{
	if (size > SIZE_MAX - 2 * STEP)
		return ux_error_nomem(err);
	size_t all = ((size + STEP - 1) & ~(STEP - 1)) + STEP;
	void *region = mmap(NULL, all, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (region == MAP_FAILED)
		return ux_error_nomem(err);
	uintptr_t start = ((uintptr_t)region + STEP - 1) & ~(uintptr_t)(STEP - 1);
	*w = (struct ux_window){
		.data = (uint8_t *)region + (start - (uintptr_t)region),
		.size = size,
		.mapping = region,
		.mapping_size = all,
	};
	return UX_OK;
}

void ux_window_close(struct ux_window *w)
{
	if (w->mapping)
		munmap(w->mapping, w->mapping_size);
	*w = (struct ux_window){0};
}

void ux_window_advance(struct ux_window *w, size_t end)
{
	end = (ux_min(end, w->size) + STEP - 1) & ~(STEP - 1);
	if (end <= w->ready)
		return;
	size_t n = ux_min(end - w->ready, w->kept - w->spare);
	/* Where the system cannot move them, fresh pages come by themselves. */
	if (n > 0 &&
	    mremap(w->data + w->spare, n, n, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP,
		   w->data + w->ready) == MAP_FAILED)
		madvise(w->data + w->spare, n, MADV_DONTNEED);
	w->spare += n;
	w->ready = end;
}

void ux_window_release(struct ux_window *w, size_t start)
{
	w->kept = ux_max(w->kept, ux_min(start, w->ready) & ~(STEP - 1));
}
