/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blobs in a folder: blobs/aa/bb/HASH (64 hex digits; aabb are the first four) and uploads/UID.
 *
 * A part becomes a blob by fsync and rename, and an fsync of the target folder. So a file under
 * blobs/ is always complete. After a power cut it may still be among the parts as well, as a second
 * link, which is swept like any leftover part. flock keeps two writers from using the same part.
 */
#include "blobs.h"
#include "clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	HASH_TEXT = 2 * UX_BLOB_HASH_SIZE + 1,
	BLOB_PATH = 6 + HASH_TEXT, /* "aa/bb/HASH" */
	PART_MODE = 0600,
	BLOB_MODE = 0440, /* blobs are never modified */
};

struct blobs_fs {
	struct ux_blobs base;
	int blobs; /* descriptors of folders */
	int uploads;
	bool lasting; /* written data survives a power cut */
};

struct ux_blob_part {
	struct blobs_fs *fs;
	int fd;
	uint64_t size;
	bool synced; /* the bytes are on the disk */
	char uid[UX_UPLOAD_UID_SIZE];
};

static struct blobs_fs *blobs_fs_of(struct ux_blobs *b)
{
	return ux_container_of(b, struct blobs_fs, base);
}

static void blobs_fs_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static void blobs_fs_close_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

static enum ux_code part_check_uid(const char *uid, struct ux_error *err)
{
	return ux_upload_uid_valid(ux_bytes_cstr(uid))
		       ? UX_OK
		       : ux_error_set(err, UX_EINVAL, "not an upload ID");
}

static void part_close(struct ux_blob_part *part)
{
	if (!part)
		return;
	/*
	 * A child process that is being started holds a copy of the descriptor until it executes
	 * its program. Closing alone would leave the lock with that copy.
	 */
	if (part->fd >= 0)
		(void)flock(part->fd, LOCK_UN);
	blobs_fs_close_fd(&part->fd);
	free(part);
}

/*
 * The file may have been renamed or removed between open and lock. Then the locked file is no
 * longer the part.
 */
static bool part_is_named(const struct ux_blob_part *part, const struct stat *st)
{
	struct stat named;
	return fstatat(part->fs->uploads, part->uid, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       named.st_ino == st->st_ino && named.st_dev == st->st_dev;
}

/*
 * Opens a part's file. A crash between part_sync() and part_commit() leaves a part that is
 * read-only, which only root may open for writing.
 */
static int part_open_file(const struct blobs_fs *fs, const char *uid)
{
	const int flags = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW;
	int fd = openat(fs->uploads, uid, flags, PART_MODE);
	if (fd < 0 && errno == EACCES && fchmodat(fs->uploads, uid, PART_MODE, 0) == 0)
		fd = openat(fs->uploads, uid, flags, PART_MODE);
	return fd;
}

static enum ux_code part_open(struct ux_blobs *b, const char *uid, struct ux_blob_part **ret,
			      uint64_t *ret_size, struct ux_error *err)
{
	UX_TRY(part_check_uid(uid, err));
	struct ux_blob_part *part = calloc(1, sizeof(*part));
	struct stat st = {0};
	if (!part)
		return ux_error_nomem(err);
	part->fs = blobs_fs_of(b);
	snprintf(part->uid, sizeof(part->uid), "%s", uid);
	part->fd = part_open_file(part->fs, uid);
	enum ux_code code = UX_OK;
	if (part->fd < 0)
		code = ux_error_os(err, errno, "cannot open upload %s", uid);
	else if (flock(part->fd, LOCK_EX | LOCK_NB) != 0)
		code = ux_error_set(err, UX_ECONFLICT, "another request is working on this upload");
	else if (fstat(part->fd, &st) != 0)
		code = ux_error_os(err, errno, "cannot stat upload %s", uid);
	else if (!part_is_named(part, &st))
		code = ux_error_set(err, UX_ECONFLICT, "another request has ended this upload");
	if (code != UX_OK) {
		part_close(part);
		return code;
	}
	*ret_size = part->size = (uint64_t)st.st_size;
	*ret = part;
	return UX_OK;
}

static enum ux_code part_reset(struct ux_blob_part *part, struct ux_error *err)
{
	assert(part->fd >= 0);
	if (ftruncate(part->fd, 0) != 0)
		return ux_error_os(err, errno, "cannot truncate upload %s", part->uid);
	part->size = 0;
	part->synced = false;
	return UX_OK;
}

static enum ux_code part_append(struct ux_blob_part *part, struct ux_bytes bytes,
				struct ux_error *err)
{
	assert(part->fd >= 0);
	struct ux_room *room = part->fs->base.room;
	if (room)
		UX_TRY(ux_room_check(room, bytes.size, err));
	part->synced = false;
	UX_TRY(ux_file_write(part->fd, bytes, err));
	part->size += bytes.size;
	return UX_OK;
}

static enum ux_code part_write(struct ux_blob_part *part, struct ux_bytes bytes,
			       struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = part_append(part, bytes, &why);
	if (why.os_errno == ENOSPC || why.os_errno == EDQUOT)
		(void)!part_reset(part, NULL);
	if (code != UX_OK && err && err->code == UX_OK)
		*err = why;
	return code;
}

static enum ux_code part_map(struct ux_blob_part *part, struct ux_mapping *ret,
			     struct ux_error *err)
{
	assert(part->fd >= 0);
	return ux_file_map_fd(part->fd, ret, err);
}

static void blob_path(const struct ux_blob_hash *hash, char path[BLOB_PATH])
{
	char text[HASH_TEXT];
	ux_blob_hash_text(hash, text);
	snprintf(path, BLOB_PATH, "%.2s/%.2s/%s", text, text + 2, text);
}

/*
 * Opens folder `name` under dir. Creates it durably if it does not exist, with access only for the
 * owner.
 */
static enum ux_code blobs_fs_make_folder(int dir, const char *name, bool lasting, int *ret,
					 struct ux_error *err)
{
	bool made = mkdirat(dir, name, 0700) == 0;
	if (!made && errno != EEXIST)
		return ux_error_os(err, errno, "cannot create folder %s", name);
	if (made && lasting && fsync(dir) != 0)
		return ux_error_os(err, errno, "cannot sync the folder of %s", name);
	*ret = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *ret >= 0 ? UX_OK : ux_error_os(err, errno, "cannot open folder %s", name);
}

/* Opens the folder for the blob. */
static enum ux_code blob_folder(struct blobs_fs *fs, const char *path, int *ret,
				struct ux_error *err)
{
	char name[3];
	ux_cleanup(blobs_fs_close_fd) int outer = -1;
	snprintf(name, sizeof(name), "%.2s", path);
	UX_TRY(blobs_fs_make_folder(fs->blobs, name, fs->lasting, &outer, err));
	snprintf(name, sizeof(name), "%.2s", path + 3);
	return blobs_fs_make_folder(outer, name, fs->lasting, ret, err);
}

static enum ux_code part_sync(struct ux_blob_part *part, const struct ux_blob_hash *hash,
			      struct ux_error *err)
{
	(void)hash;
	if (part->synced)
		return UX_OK;
	if (fchmod(part->fd, BLOB_MODE) != 0 || (part->fs->lasting && fsync(part->fd) != 0))
		return ux_error_os(err, errno, "cannot sync upload %s", part->uid);
	part->synced = true;
	return UX_OK;
}

/*
 * Commits the part. Replaces an existing blob, which may be damaged; the new bytes are verified.
 * Mappings of the old file stay valid.
 */
static enum ux_code part_commit(struct ux_blob_part *part, const struct ux_blob_hash *hash,
				struct ux_error *err)
{
	char path[BLOB_PATH];
	ux_cleanup(blobs_fs_close_fd) int folder = -1;
	blob_path(hash, path);
	UX_TRY(part_sync(part, hash, err));
	UX_TRY(blob_folder(part->fs, path, &folder, err));
	const char *name = path + 6;
	if (renameat(part->fs->uploads, part->uid, folder, name) != 0)
		return ux_error_os(err, errno, "cannot rename upload %s", part->uid);
	if (part->fs->lasting && fsync(folder) != 0)
		return ux_error_os(err, errno, "cannot sync the folder of blob %s", name);
	return UX_OK;
}

static enum ux_code part_get_size(struct ux_blobs *b, const char *uid, uint64_t *ret,
				  struct ux_error *err)
{
	struct stat st = {0};
	UX_TRY(part_check_uid(uid, err));
	if (fstatat(blobs_fs_of(b)->uploads, uid, &st, AT_SYMLINK_NOFOLLOW) != 0 && errno != ENOENT)
		return ux_error_os(err, errno, "cannot stat upload %s", uid);
	*ret = (uint64_t)st.st_size;
	return UX_OK;
}

static enum ux_code part_remove(struct ux_blobs *b, const char *uid, struct ux_error *err)
{
	UX_TRY(part_check_uid(uid, err));
	if (unlinkat(blobs_fs_of(b)->uploads, uid, 0) != 0 && errno != ENOENT)
		return ux_error_os(err, errno, "cannot remove upload %s", uid);
	return UX_OK;
}

static enum ux_code blob_open(struct ux_blobs *b, const struct ux_blob_hash *hash, int *ret_fd,
			      uint64_t *ret_size, struct ux_error *err)
{
	char path[BLOB_PATH];
	struct stat st;
	blob_path(hash, path);
	ux_cleanup(blobs_fs_close_fd) int fd =
		openat(blobs_fs_of(b)->blobs, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &st) != 0)
		return ux_error_os(err, errno, "cannot open blob %s", path + 6);
	*ret_size = (uint64_t)st.st_size;
	*ret_fd = fd;
	fd = -1;
	return UX_OK;
}

static enum ux_code blob_remove(struct ux_blobs *b, const struct ux_blob_hash *hash,
				struct ux_error *err)
{
	char path[BLOB_PATH];
	blob_path(hash, path);
	if (unlinkat(blobs_fs_of(b)->blobs, path, 0) != 0 && errno != ENOENT)
		return ux_error_os(err, errno, "cannot remove blob %s", path + 6);
	return UX_OK;
}

static enum ux_code blobs_fs_link_failed(const char *name, struct ux_error *err)
{
	bool cannot = errno == EXDEV || errno == EPERM || errno == EMLINK || errno == EOPNOTSUPP ||
		      errno == ENOSYS;
	return cannot ? ux_error_set(err, UX_EUNSUPPORTED, "a blob cannot be linked")
		      : ux_error_os(err, errno, "cannot link blob %s", name);
}

/* Links a blob. The link gets its name by a rename, so that it replaces an existing file. */
enum ux_code ux_blobs_fs_link(struct ux_blobs *from, struct ux_blobs *to,
			      const struct ux_blob_hash *hash, struct ux_error *err)
{
	if (from->open != blob_open || to->open != blob_open)
		return ux_error_set(err, UX_EUNSUPPORTED, "a blob of a bucket cannot be linked");
	struct blobs_fs *a = blobs_fs_of(from), *b = blobs_fs_of(to);
	char path[BLOB_PATH], uid[UX_UPLOAD_UID_SIZE];
	ux_cleanup(blobs_fs_close_fd) int folder = -1;
	const char *name = path + 6;
	blob_path(hash, path);
	UX_TRY(ux_upload_uid_make(uid, err));
	UX_TRY(blob_folder(b, path, &folder, err));
	if (linkat(a->blobs, path, b->uploads, uid, 0) != 0)
		return blobs_fs_link_failed(name, err);
	if (renameat(b->uploads, uid, folder, name) != 0 || fsync(folder) != 0) {
		enum ux_code code = ux_error_os(err, errno, "cannot link blob %s", name);
		(void)unlinkat(b->uploads, uid, 0);
		return code;
	}
	/* still there if both names were links to one file */
	(void)unlinkat(b->uploads, uid, 0);
	return UX_OK;
}

/*
 * Returns the age of a file in seconds. time() may lag behind the file system's clock by a tick, so
 * the age is at least 0.
 */
static int64_t blobs_fs_age(const struct stat *st)
{
	return ux_max((int64_t)(ux_clock_wall() - st->st_mtim.tv_sec), INT64_C(0));
}

/* Calls fn for the regular files of folder `name` under dir. */
static enum ux_code blobs_fs_each_file(int dir, const char *name, ux_blobs_each_fn *fn, void *ctx,
				       struct ux_error *err)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	ux_cleanup(blobs_fs_close_dir) DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	if (!d) {
		blobs_fs_close_fd(&fd);
		return ux_error_os(err, errno, "cannot list folder %s", name);
	}
	for (struct dirent *e = readdir(d); e; e = readdir(d)) {
		struct stat st;
		if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode))
			UX_TRY(fn(ctx, e->d_name, blobs_fs_age(&st), err));
	}
	return UX_OK;
}

/*
 * Walks over the 65,536 possible folders, opened by name. Other entries do not belong to the store.
 */
static enum ux_code blobs_fs_each_blob(struct ux_blobs *b, ux_blobs_each_fn *fn, void *ctx,
				       struct ux_error *err)
{
	for (unsigned i = 0; i < 256; i++) {
		char name[3];
		snprintf(name, sizeof(name), "%02x", i);
		ux_cleanup(blobs_fs_close_fd) int outer =
			openat(blobs_fs_of(b)->blobs, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		for (unsigned k = 0; k < 256 && outer >= 0; k++) {
			snprintf(name, sizeof(name), "%02x", k);
			if (faccessat(outer, name, F_OK, 0) == 0)
				UX_TRY(blobs_fs_each_file(outer, name, fn, ctx, err));
		}
	}
	return UX_OK;
}

static enum ux_code blobs_fs_each_part(struct ux_blobs *b, ux_blobs_each_fn *fn, void *ctx,
				       struct ux_error *err)
{
	return blobs_fs_each_file(blobs_fs_of(b)->uploads, ".", fn, ctx, err);
}

static void blobs_close(struct ux_blobs *b)
{
	if (!b)
		return;
	struct blobs_fs *fs = blobs_fs_of(b);
	blobs_fs_close_fd(&fs->blobs);
	blobs_fs_close_fd(&fs->uploads);
	free(fs);
}

static enum ux_code blobs_fs_open(struct ux_blobs **ret, const char *dir, bool lasting,
				  struct ux_error *err)
{
	ux_cleanup(blobs_fs_close_fd) int top = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (top < 0)
		return ux_error_os(err, errno, "cannot open folder %s", dir);
	struct blobs_fs *fs = calloc(1, sizeof(*fs));
	if (!fs)
		return ux_error_nomem(err);
	*fs = (struct blobs_fs){
		.base = {UX_BLOBS_VERSION, part_open, part_write, part_map, part_sync, part_commit,
			 part_reset, part_close, part_get_size, part_remove, blob_open, blob_remove,
			 blobs_fs_each_blob, blobs_fs_each_part, blobs_close},
		.blobs = -1,
		.uploads = -1,
		.lasting = lasting,
	};
	enum ux_code code = blobs_fs_make_folder(top, "blobs", lasting, &fs->blobs, err);
	if (code == UX_OK)
		code = blobs_fs_make_folder(top, "uploads", lasting, &fs->uploads, err);
	if (code != UX_OK) {
		blobs_close(&fs->base);
		return code;
	}
	*ret = &fs->base;
	return UX_OK;
}

enum ux_code ux_blobs_fs_open(struct ux_blobs **ret, const char *dir, struct ux_error *err)
{
	return blobs_fs_open(ret, dir, /* lasting= */ true, err);
}

enum ux_code ux_blobs_fs_open_cache(struct ux_blobs **ret, const char *dir, struct ux_error *err)
{
	return blobs_fs_open(ret, dir, /* lasting= */ false, err);
}
