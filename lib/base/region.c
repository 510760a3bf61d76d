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

const char *ux_spill_folder(void)
{
	const char *folder = getenv("TMPDIR");
	if (folder && *folder)
		return folder;
	/* In a small container, /tmp may be the only writable folder. */
	return access(UX_SPILL_FOLDER, W_OK) == 0 ? UX_SPILL_FOLDER : "/tmp";
}

enum ux_code ux_spill_open(const char *folder, uint64_t size, int *ret, struct ux_error *err)
{
	int fd = spill_open_unlinked(folder);
	if (fd < 0)
		return ux_error_os(err, errno, "cannot create a file in %s", folder);
	if (ftruncate(fd, (off_t)size) != 0) {
		int why = errno;
		close(fd);
		return ux_error_os(err, why, "cannot create a file of %" PRIu64 " bytes in %s",
				   size, folder);
	}
	*ret = fd;
	return UX_OK;
}

/*
 * Reserves disk space for a part of a file that is shared by all regions. Returns 0 or an errno.
 * Where the file system cannot reserve, the file stays sparse: posix_fallocate() would write to
 * each page, by system calls that a confined process may not make.
 */
static int spill_reserve_part(int fd, uint64_t off, size_t size)
{
	struct stat st;
	if (fallocate(fd, 0, (off_t)off, (off_t)size) == 0)
		return 0;
	if (errno != EOPNOTSUPP || fstat(fd, &st) != 0)
		return errno;
	bool fits = (uint64_t)st.st_size >= off + size;
	return fits || ftruncate(fd, (off_t)(off + size)) == 0 ? 0 : errno;
}

/* Maps a part of a file. `failed`: 0 if space was reserved for it, or an errno. */
static enum ux_code spill_map_part(int fd, uint64_t off, size_t size, int failed, const char *where,
				   void **ret, struct ux_error *err)
{
	void *region = MAP_FAILED;
	if (failed == 0) {
		region = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)off);
		failed = region == MAP_FAILED ? errno : 0;
	}
	if (failed != 0)
		return ux_error_os(err, failed, "cannot reserve %zu bytes in %s", size, where);
	*ret = region;
	return UX_OK;
}

/* Takes the next part of the spill's only file. */
static enum ux_code spill_map_next(struct ux_spill *spill, size_t size, void **ret,
				   struct ux_error *err)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), all = (size + page - 1) & ~(page - 1);
	/* relaxed: parts only have to differ */
	uint64_t off = atomic_load_explicit(&spill->end, memory_order_relaxed);
	do {
		if (all < size || all > spill->size || off > spill->size - all)
			return ux_error_set(err, UX_ELIMIT,
					    "temporary files exceed %" PRIu64 " bytes",
					    spill->size);
	} while (!atomic_compare_exchange_weak_explicit(
		&spill->end, &off, off + all, memory_order_relaxed, memory_order_relaxed));
	int failed = spill_reserve_part(spill->fd, off, size);
	return spill_map_part(spill->fd, off, size, failed, "the temporary file", ret, err);
}

enum ux_code ux_spill_map(struct ux_spill *spill, size_t size, void **ret, struct ux_error *err)
{
	assert(size > 0);
	if (!spill->folder)
		return spill_map_next(spill, size, ret, err);
	int fd = -1;
	UX_TRY(ux_spill_open(spill->folder, 0, &fd, err));
	int failed = posix_fallocate(fd, 0, (off_t)size);
	enum ux_code code = spill_map_part(fd, 0, size, failed, spill->folder, ret, err);
	close(fd);
	return code;
}

void ux_spill_unmap(void *region, size_t size)
{
	if (!region)
		return;
	/* A file with one region ends with its mapping; in a shared file this makes a hole. */
	(void)madvise(region, size, MADV_REMOVE);
	munmap(region, size);
}

/* Precedes each array; the union aligns the array like malloc()'s memory. */
union spill_head {
	struct {
		size_t size; /* bytes of the array */
		bool spilled;
	} is;
	max_align_t align[2];
};

static union spill_head *spill_head_of(void *array)
{
	return (union spill_head *)array - 1;
}

/* Makes a new array. Its bytes are zero if `clear` is set. */
static void *spill_array(struct ux_spill *spill, size_t size, bool clear)
{
	bool spilled = spill && size >= UX_SPILL_MIN;
	union spill_head *head = NULL;
	void *region = NULL;
	if (size > SIZE_MAX - sizeof(*head))
		return NULL;
	if (!spilled)
		head = clear ? calloc(1, sizeof(*head) + size) : malloc(sizeof(*head) + size);
	else if (ux_spill_map(spill, sizeof(*head) + size, &region, NULL) == UX_OK)
		head = region;
	if (!head)
		return NULL;
	head->is.size = size;
	head->is.spilled = spilled;
	return head + 1;
}

void *ux_spill_realloc(struct ux_spill *spill, void *array, size_t size)
{
	if (!array)
		return spill_array(spill, size, /* clear= */ false);
	union spill_head *head = spill_head_of(array);
	if (!head->is.spilled && (!spill || size < UX_SPILL_MIN)) {
		head = size <= SIZE_MAX - sizeof(*head) ? realloc(head, sizeof(*head) + size)
							: NULL;
		if (!head)
			return NULL;
		head->is.size = size;
		return head + 1;
	}
	void *grown = spill_array(spill, size, /* clear= */ false);
	if (!grown)
		return NULL;
	memcpy(grown, array, ux_min(size, head->is.size));
	ux_spill_free(array);
	return grown;
}

void ux_spill_free(void *array)
{
	union spill_head *head = array ? spill_head_of(array) : NULL;
	if (head && head->is.spilled)
		ux_spill_unmap(head, sizeof(*head) + head->is.size);
	else
		free(head);
}

void *ux_spill_calloc(struct ux_spill *spill, size_t n, size_t size)
{
	size_t bytes = 0;
	return __builtin_mul_overflow(n, size, &bytes)
		       ? NULL
		       : spill_array(spill, bytes, /* clear= */ true);
}

static enum ux_code window_open_spilled(struct ux_window *w, size_t size, struct ux_spill *spill,
					struct ux_error *err)
{
	void *region = NULL;
	UX_TRY(ux_spill_map(spill, ux_max(size, (size_t)1), &region, err));
	*w = (struct ux_window){
		.data = region,
		.size = size,
		.spilled = true,
		.mapping = region,
		.mapping_size = ux_max(size, (size_t)1),
	};
	return UX_OK;
}

enum ux_code ux_window_open(struct ux_window *w, size_t size, struct ux_spill *spill,
			    struct ux_error *err)
{
	if (spill)
		return window_open_spilled(w, size, spill, err);
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
	if (w->spilled)
		ux_spill_unmap(w->mapping, w->mapping_size);
	else if (w->mapping)
		munmap(w->mapping, w->mapping_size);
	*w = (struct ux_window){0};
}

void ux_window_rewind(struct ux_window *w)
{
	assert(w->mapping);
	madvise(w->mapping, w->mapping_size, MADV_DONTNEED);
	w->ready = w->kept = w->spare = 0;
}

void ux_window_advance(struct ux_window *w, size_t end)
{
	end = (ux_min(end, w->size) + WINDOW_STEP - 1) & ~(WINDOW_STEP - 1);
	if (end <= w->ready)
		return;
	assert(w->spare <= w->kept && w->kept <= w->ready);
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
	size_t kept = ux_max(w->kept, ux_min(start, w->ready) & ~(WINDOW_STEP - 1));
	if (w->spilled && kept > w->kept) {
		(void)madvise(w->data + w->kept, kept - w->kept, MADV_REMOVE);
		w->spare = kept; /* nothing can be moved */
	}
	assert(kept <= w->ready);
	w->kept = kept;
}
