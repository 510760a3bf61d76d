/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Backup and restore: copies one store into the folder of another.
 *
 * The index is copied as "index.sqlite.new", then every blob that it names, and then it is renamed.
 * So at any time the folder has the earlier copy with all its blobs, or the new one; or, before the
 * first copy is complete, no index at all.
 */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	PAGE = 1000, /* rows of blobs read at a time */
	PAGE_BUDGET = 4 << 20,
	PATH_BYTES = 4096
};

/* State of one copy. */
struct backup {
	struct ux_index *from_index;
	struct ux_blobs *from;
	struct ux_store to; /* only its folder, lock and blobs are open */
	struct ux_index *copy;
	const char *dir;
	const struct ux_backup_how *how;
	struct ux_backup_sum *sum;
};

static void backup_end(struct backup *b)
{
	if (b->copy)
		b->copy->close(b->copy);
	ux_store_close(&b->to);
}

static void backup_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static enum ux_code backup_path(const struct backup *b, const char *name, char path[PATH_BYTES],
				struct ux_error *err)
{
	int n = snprintf(path, PATH_BYTES, "%s/%s", b->dir, name);
	return n > 0 && n < PATH_BYTES
		       ? UX_OK
		       : ux_error_set(err, UX_EINVAL, "the path of the folder is too long");
}

/* Links a blob after comparing its bytes: a link to a damaged file would not be a backup. */
static enum ux_code backup_link_blob(struct backup *b, int fd, const struct ux_blob_hash *hash,
				     bool *ret_lost, struct ux_error *err)
{
	struct ux_blob_hash found;
	UX_TRY(ux_blob_hash_fd(fd, &found, err));
	enum ux_code code = ux_blob_hash_check(&found, hash, err);
	*ret_lost = code != UX_OK;
	UX_TRY(code);
	return ux_blobs_fs_link(b->from, b->to.blobs, hash, err);
}

/*
 * Tests for a file of another user, who remains the owner of a link: if root restored its own
 * backup by links for the user of a server, the server could not open them. Root can open all
 * files.
 */
static bool backup_is_foreign(int fd)
{
	struct stat st;
	return geteuid() != 0 && fstat(fd, &st) == 0 && st.st_uid != geteuid();
}

/*
 * Links or copies a blob. UX_EUNSUPPORTED of a link: the folders are on different file systems, so
 * copies it.
 */
static enum ux_code backup_transfer(struct backup *b, int fd, const struct ux_blob_row *row,
				    bool *ret_lost, struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = UX_EUNSUPPORTED;
	if (!b->how->copy && !backup_is_foreign(fd))
		code = backup_link_blob(b, fd, &row->hash, ret_lost, &why);
	if (code == UX_OK) {
		b->sum->linked++;
		return UX_OK;
	}
	if (code != UX_EUNSUPPORTED) {
		if (err && err->code == UX_OK)
			*err = why;
		return code;
	}
	if (lseek(fd, 0, SEEK_SET) != 0)
		return ux_error_os(err, errno, "cannot rewind a blob");
	UX_TRY(ux_blobs_put(b->to.blobs, fd, &row->hash, ret_lost, err));
	b->sum->copied++;
	b->sum->copied_bytes += row->size;
	return UX_OK;
}

static bool backup_has(struct backup *b, const struct ux_blob_row *row)
{
	uint64_t size = 0;
	ux_cleanup(backup_close_fd) int fd = -1;
	return b->to.blobs->open(b->to.blobs, &row->hash, &fd, &size, NULL) == UX_OK &&
	       size == row->size;
}

/* *ret_lost: it failed because the store does not have these bytes. */
static enum ux_code backup_put_blob(struct backup *b, const struct ux_blob_row *row, bool *ret_lost,
				    struct ux_error *err)
{
	uint64_t size = 0;
	ux_cleanup(backup_close_fd) int fd = -1;
	if (backup_has(b, row))
		return UX_OK;
	enum ux_code code = b->from->open(b->from, &row->hash, &fd, &size, err);
	*ret_lost = code == UX_ENOTFOUND || code == UX_ECORRUPT;
	UX_TRY(code);
	*ret_lost = size != row->size;
	if (*ret_lost)
		return ux_error_set(err, UX_ECORRUPT, "%" PRIu64 " bytes; expected %" PRIu64, size,
				    row->size);
	return backup_transfer(b, fd, row, ret_lost, err);
}

/*
 * Removes a blob from the copy's index. A missing blob was deleted after the index was copied, or
 * is lost in the original too; a blob with other bytes is damaged there. In each case the copy must
 * not name it.
 */
static enum ux_code backup_lose(struct backup *b, const struct ux_blob_row *row,
				const struct ux_error *why, struct ux_error *err)
{
	struct ux_blob_loss loss;
	char text[2 * UX_BLOB_HASH_SIZE + 1];
	bool used = false;
	UX_TRY(b->from_index->blobs.used(b->from_index, &row->hash, &used, err));
	UX_TRY(b->copy->blobs.lose(b->copy, &row->hash,
				   used ? why->text : "deleted during the copy", b->how->now, &loss,
				   err));
	if (!used) {
		b->sum->deleted++;
		return UX_OK;
	}
	b->sum->problems++;
	ux_blob_hash_text(&row->hash, text);
	if (b->how->report)
		b->how->report(b->how->ctx, text, why->text);
	return UX_OK;
}

static enum ux_code backup_row(struct backup *b, const struct ux_blob_row *row,
			       struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	bool lost = false;
	enum ux_code code = backup_put_blob(b, row, &lost, &why);
	b->sum->blobs += code == UX_OK;
	b->sum->bytes += code == UX_OK ? row->size : 0;
	if (code == UX_OK)
		return UX_OK;
	if (lost)
		return backup_lose(b, row, &why, err);
	if (err && err->code == UX_OK)
		*err = why;
	return code;
}

static enum ux_code backup_rows(struct backup *b, struct ux_error *err)
{
	struct ux_blob_hash last;
	const struct ux_blob_hash *after = NULL;
	for (bool more = true; more;) {
		UX_ARENA(arena, PAGE_BUDGET);
		struct ux_blob_rows page;
		UX_TRY(b->copy->blobs.list(b->copy, after, PAGE, &arena, &page, err));
		for (size_t i = 0; i < page.n; i++)
			UX_TRY(backup_row(b, &page.rows[i], err));
		more = page.more;
		if (page.n > 0) {
			last = page.rows[page.n - 1].hash;
			after = &last;
		}
	}
	return UX_OK;
}

/* Closes the earlier copy, because its log must not be read together with the new index. */
static enum ux_code backup_close_earlier(const struct backup *b, struct ux_error *err)
{
	char path[PATH_BYTES];
	struct ux_index *earlier = NULL;
	UX_TRY(backup_path(b, "index.sqlite", path, err));
	if (access(path, F_OK) != 0)
		return UX_OK;
	UX_TRY(ux_index_open(&earlier, path, err));
	earlier->close(earlier); /* copies the log into the index and removes it */
	UX_TRY(backup_path(b, "index.sqlite-wal", path, err));
	return access(path, F_OK) != 0
		       ? UX_OK
		       : ux_error_set(err, UX_ECONFLICT,
				      "the index of %s is open in another process; stop it first",
				      b->dir);
}

/* Replaces the earlier index by the new one. */
static enum ux_code backup_publish(struct backup *b, struct ux_error *err)
{
	char from[PATH_BYTES], to[PATH_BYTES];
	b->copy->close(b->copy);
	b->copy = NULL;
	UX_TRY(backup_close_earlier(b, err));
	UX_TRY(backup_path(b, UX_STORE_UNFINISHED, from, err));
	UX_TRY(backup_path(b, "index.sqlite", to, err));
	ux_cleanup(backup_close_fd) int dir = open(b->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ux_cleanup(backup_close_fd) int fd = open(from, O_RDWR | O_CLOEXEC);
	if (dir < 0 || fd < 0 || fsync(fd) != 0 || rename(from, to) != 0 || fsync(dir) != 0)
		return ux_error_os(err, errno, "cannot move %s into place", to);
	return UX_OK;
}

static enum ux_code backup_prune_blob(void *ctx, const char *name, int64_t age_s,
				      struct ux_error *err)
{
	struct backup *b = ctx;
	struct ux_blob_hash hash;
	bool used = true;
	(void)age_s;
	if (!ux_blob_hash_parse(ux_bytes_cstr(name), &hash))
		return UX_OK;
	UX_TRY(b->copy->blobs.used(b->copy, &hash, &used, err));
	b->sum->pruned += !used;
	return used ? UX_OK : b->to.blobs->remove(b->to.blobs, &hash, err);
}

/* Removes a part of an interrupted copy. */
static enum ux_code backup_prune_part(void *ctx, const char *name, int64_t age_s,
				      struct ux_error *err)
{
	struct backup *b = ctx;
	(void)age_s;
	return ux_upload_uid_valid(ux_bytes_cstr(name))
		       ? b->to.blobs->part_remove(b->to.blobs, name, err)
		       : UX_OK;
}

/* Removes blobs that only earlier copies had. */
static enum ux_code backup_prune(struct backup *b, struct ux_error *err)
{
	struct ux_blobs *to = b->to.blobs;
	UX_TRY(ux_store_open_index(b->dir, &b->copy, err));
	UX_TRY(to->each_blob(to, backup_prune_blob, b, err));
	return to->each_part(to, backup_prune_part, b, err);
}

static enum ux_code backup_run(struct backup *b, struct ux_error *err)
{
	char path[PATH_BYTES];
	UX_TRY(backup_path(b, UX_STORE_UNFINISHED, path, err));
	UX_TRY(b->from_index->copy(b->from_index, path, err));
	UX_TRY(ux_index_open(&b->copy, path, err));
	/* the blobs of the copy are in its folder, wherever the store's are */
	UX_TRY(b->copy->number_put(b->copy, UX_STORE_BLOBS_PLACE, 0, err));
	UX_TRY(backup_rows(b, err));
	UX_TRY(backup_publish(b, err));
	return backup_prune(b, err);
}

static bool backup_is_same(const char *a, const char *b)
{
	struct stat of_a, of_b;
	return stat(a, &of_a) == 0 && stat(b, &of_b) == 0 && of_a.st_ino == of_b.st_ino &&
	       of_a.st_dev == of_b.st_dev;
}

enum ux_code ux_store_copy(struct ux_store *from, const char *from_dir, const char *dir,
			   const struct ux_backup_how *how, struct ux_backup_sum *ret,
			   struct ux_error *err)
{
	*ret = (struct ux_backup_sum){0};
	if (backup_is_same(from_dir, dir))
		return ux_error_set(err, UX_EINVAL,
				    "%.100s is the store's own folder; name another one", dir);
	ux_cleanup(backup_end) struct backup b = {
		.from_index = from->index, .from = from->blobs, .dir = dir, .how = how, .sum = ret};
	UX_TRY(ux_store_open_target(&b.to, dir, /* fresh= */ how->fresh, err));
	return backup_run(&b, err);
}
