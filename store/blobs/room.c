/* SPDX-License-Identifier: Apache-2.0 */
/* Free space of the file system on which a store is. */
#include "room.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const char reserve_name[] = "reserve";

enum ux_code ux_room_open(struct ux_room *r, const char *dir, struct ux_error *err)
{
	pthread_mutex_init(&r->lock, NULL);
	r->min_free = UX_ROOM_MIN_FREE_DEFAULT;
	r->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->dir < 0)
		return ux_error_os(err, errno, "cannot open folder %s", dir);
	ux_room_restore(r);
	return UX_OK;
}

void ux_room_close(struct ux_room *r)
{
	if (r->dir >= 0) {
		close(r->dir);
		pthread_mutex_destroy(&r->lock);
	}
	r->dir = -1;
}

static uint64_t room_reserve_size(const struct ux_room_state *now)
{
	return ux_min((uint64_t)UX_ROOM_RESERVE, now->total_bytes / UX_ROOM_PART);
}

/* Returns how many bytes of the reserve are missing because it was emptied. */
static uint64_t room_reserve_missing(const struct ux_room *r, const struct ux_room_state *now)
{
	struct stat st = {0};
	uint64_t size = room_reserve_size(now);
	(void)fstatat(r->dir, reserve_name, &st, AT_SYMLINK_NOFOLLOW);
	return size - ux_min(size, (uint64_t)st.st_size);
}

enum ux_code ux_room_get(struct ux_room *r, struct ux_room_state *ret, struct ux_error *err)
{
	struct statvfs fs;
	uint64_t min_free = atomic_load_explicit(&r->min_free, memory_order_relaxed);
	*ret = (struct ux_room_state){.accepts = true, .free_bytes = UINT64_MAX};
	if (r->dir < 0)
		return UX_OK;
	if (fstatvfs(r->dir, &fs) != 0)
		return ux_error_os(err, errno, "cannot read the free space of the file system");
	ret->free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	ret->total_bytes = (uint64_t)fs.f_blocks * fs.f_frsize;
	ret->least_bytes =
		ux_min(min_free, ret->total_bytes / UX_ROOM_PART) + room_reserve_missing(r, ret);
	ret->accepts = ret->free_bytes >= ret->least_bytes;
	return UX_OK;
}

enum ux_code ux_room_check(struct ux_room *r, uint64_t bytes, struct ux_error *err)
{
	struct ux_room_state now;
	UX_TRY(ux_room_get(r, &now, err));
	if (now.accepts && bytes <= now.free_bytes - now.least_bytes)
		return UX_OK;
	return ux_error_os(err, ENOSPC,
			   "disk full: %" PRIu64 " bytes free; %" PRIu64
			   " must stay free after writing %" PRIu64,
			   now.free_bytes, now.least_bytes, bytes);
}

bool ux_room_release(struct ux_room *r)
{
	struct ux_room_state now;
	if (r->dir < 0 || ux_room_get(r, &now, NULL) != UX_OK ||
	    now.free_bytes >= room_reserve_size(&now) + room_reserve_missing(r, &now))
		return false;
	pthread_mutex_lock(&r->lock);
	int fd = openat(r->dir, reserve_name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0) {
		(void)!ftruncate(fd, 0); /* if it fails, the write fails and says why */
		close(fd);
	}
	pthread_mutex_unlock(&r->lock);
	return true;
}

/* Allocates the reserve. The file is never written: only its blocks matter. */
static void room_allocate(struct ux_room *r, const struct ux_room_state *now)
{
	assert(r->dir >= 0);
	uint64_t size = room_reserve_size(now);
	int fd = openat(r->dir, reserve_name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return;
	if (room_reserve_missing(r, now) > 0 && now->accepts &&
	    posix_fallocate(fd, 0, (off_t)size) != 0)
		(void)!ftruncate(fd, 0);
	close(fd);
}

void ux_room_restore(struct ux_room *r)
{
	struct ux_room_state now;
	if (r->dir < 0 || ux_room_get(r, &now, NULL) != UX_OK)
		return;
	pthread_mutex_lock(&r->lock);
	room_allocate(r, &now);
	pthread_mutex_unlock(&r->lock);
}
