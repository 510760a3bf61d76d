/* SPDX-License-Identifier: Apache-2.0 */
/* Large regions of memory. */
#include "region.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4 /* Linux 5.7 */
#endif

/* When both addresses are multiples of this, whole page tables are moved. */
#define WINDOW_STEP ((size_t)2 << 20)

/* Some file systems do not support O_TMPFILE: there the file has a name for a moment. */
static int spill_open_unlinked(const char *folder)
{
	char path[4096];
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
		return fd;
	if (snprintf(path, sizeof(path), "%s/unhex-XXXXXX", folder) >= (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

enum ux_code ux_spill_map(const char *folder, size_t size, void **ret, struct ux_error *err)
{
	int fd = spill_open_unlinked(folder);
	if (fd < 0)
		return ux_error_os(err, errno, "cannot create a file in %s", folder);
	int failed = posix_fallocate(fd, 0, (off_t)size);
	void *region = MAP_FAILED;
	if (failed == 0) {
		region = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		failed = region == MAP_FAILED ? errno : 0;
	}
	close(fd);
	if (failed != 0)
		return ux_error_os(err, failed, "cannot reserve %zu bytes in %s", size, folder);
	*ret = region;
	return UX_OK;
}

void ux_spill_unmap(void *region, size_t size)
{
	if (region)
		munmap(region, size);
}

enum ux_code ux_window_open(struct ux_window *w, size_t size, struct ux_error *err)
{
	if (size > SIZE_MAX - 2 * WINDOW_STEP)
		return ux_error_nomem(err);
	size_t all = ((size + WINDOW_STEP - 1) & ~(WINDOW_STEP - 1)) + WINDOW_STEP;
	void *region = mmap(NULL, all, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (region == MAP_FAILED)
		return ux_error_nomem(err);
	uintptr_t start = ((uintptr_t)region + WINDOW_STEP - 1) & ~(uintptr_t)(WINDOW_STEP - 1);
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
	end = (ux_min(end, w->size) + WINDOW_STEP - 1) & ~(WINDOW_STEP - 1);
	if (end <= w->ready)
		return;
	size_t n = ux_min(end - w->ready, w->kept - w->spare);
	/* When the system cannot move pages, the window simply gets new pages. */
	if (n > 0 &&
	    mremap(w->data + w->spare, n, n, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP,
		   w->data + w->ready) == MAP_FAILED)
		madvise(w->data + w->spare, n, MADV_DONTNEED);
	w->spare += n;
	w->ready = end;
}

void ux_window_release(struct ux_window *w, size_t start)
{
	w->kept = ux_max(w->kept, ux_min(start, w->ready) & ~(WINDOW_STEP - 1));
}
