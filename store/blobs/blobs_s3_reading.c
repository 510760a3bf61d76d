/* SPDX-License-Identifier: Apache-2.0 */
/* Reads blobs of a bucket: copies of whole ones, which are compared with their hash, and views. */
#include "blobs_s3.h"

#include <errno.h>
#include <unistd.h>

enum {
	PARTS_MIN = 4 << 20, /* bytes of the smallest blob that is fetched in parts */
};

/* --- whole blobs ------------------------------------------------------------------------------ */

/* A blob that is being fetched. */
struct fetch {
	struct ux_blobs_s3 *b;
	struct ux_blob_part *to;
	uint64_t size;
};

static enum ux_code fetch_take(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct fetch *f = ctx;
	UX_TRY(f->b->cache.files->part_write(f->to, bytes, err));
	f->size += bytes.size;
	return UX_OK;
}

static enum ux_code fetch_damaged(struct ux_error *err)
{
	return ux_error_set(err, UX_ECORRUPT,
			    "the blob is damaged: content does not match its SHA-256");
}

/* Opens a part of this node's files with a name of its own. */
static enum ux_code fetch_part_open(struct ux_blobs_s3 *b, char uid[UX_UPLOAD_UID_SIZE],
				    struct ux_blob_part **ret, struct ux_error *err)
{
	struct ux_blobs *files = ux_blobs_s3_files(b);
	uint64_t size = 0;
	UX_TRY(ux_upload_uid_make(uid, err));
	return files->part_open(files, uid, ret, &size, err);
}

/* Makes a copy from content in frames. */
static enum ux_code fetch_put_unpacked(const struct fetch *f, struct ux_bytes packed,
				       const struct ux_blob_hash *hash, struct ux_error *err)
{
	char uid[UX_UPLOAD_UID_SIZE];
	struct ux_blobs *files = f->b->cache.files;
	struct ux_blob_part *to = NULL;
	struct ux_blob_hash found;
	uint64_t size = 0;
	UX_TRY(fetch_part_open(f->b, uid, &to, err));
	enum ux_code code = ux_blob_unpack(packed, files, to, &found, &size, err);
	if (code == UX_ECORRUPT || (code == UX_OK && memcmp(&found, hash, sizeof(found)) != 0)) {
		if (err)
			*err = (struct ux_error)UX_ERROR_INIT;
		code = fetch_damaged(err);
	}
	if (code == UX_OK)
		code = ux_blob_cache_put(&f->b->cache, to, hash, size, err);
	files->part_close(to);
	if (code != UX_OK)
		(void)!files->part_remove(files, uid, NULL);
	return code;
}

/*
 * Makes a copy of the fetched bytes, unless they are neither the content of the hash nor frames of
 * it. *ret_used: the fetched file itself became the copy.
 */
static enum ux_code fetch_put(const struct fetch *f, const struct ux_blob_hash *hash,
			      bool *ret_used, struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping all = {0};
	UX_TRY(f->b->cache.files->part_map(f->to, &all, err));
	struct ux_blob_hash found = ux_blob_hash_of(all.bytes);
	if (memcmp(&found, hash, sizeof(found)) == 0) {
		*ret_used = true;
		return ux_blob_cache_put(&f->b->cache, f->to, hash, f->size, err);
	}
	return ux_seek_table_bytes(all.bytes) > 0 ? fetch_put_unpacked(f, all.bytes, hash, err)
						  : fetch_damaged(err);
}

static enum ux_code fetch_to_part(struct fetch *f, const struct ux_blob_hash *hash, bool *ret_used,
				  struct ux_error *err)
{
	char key[UX_BLOBS_PATH_MAX];
	struct ux_error why = UX_ERROR_INIT;
	ux_blobs_s3_key(f->b, hash, key);
	enum ux_code code = ux_s3_get(f->b->s3, key, 0, UINT64_MAX, fetch_take, f, &why);
	if (code != UX_OK && why.os_errno != 0 && err && err->code == UX_OK) {
		*err = why; /* this node's disk failed */
		return code;
	}
	if (code != UX_OK)
		return ux_blobs_s3_failed(code, &why, err);
	return fetch_put(f, hash, ret_used, err);
}

static enum ux_code fetch_once(struct ux_blobs_s3 *b, const struct ux_blob_hash *hash,
			       struct ux_error *err)
{
	char uid[UX_UPLOAD_UID_SIZE];
	struct fetch f = {.b = b};
	struct ux_blobs *files = b->cache.files;
	bool used = false;
	UX_TRY(fetch_part_open(b, uid, &f.to, err));
	enum ux_code code = fetch_to_part(&f, hash, &used, err);
	files->part_close(f.to);
	if (code != UX_OK || !used)
		(void)!files->part_remove(files, uid, NULL);
	return code;
}

/* Fetches a blob. If the disk is full, removes copies and tries again. */
static enum ux_code fetch_run(struct ux_blobs_s3 *b, const struct ux_blob_hash *hash,
			      struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = fetch_once(b, hash, &why);
	if (code != UX_OK && (why.os_errno == ENOSPC || why.os_errno == EDQUOT) &&
	    ux_blob_cache_bytes(&b->cache) > 0) {
		why = (struct ux_error)UX_ERROR_INIT;
		ux_blob_cache_shrink(&b->cache, ux_blob_cache_bytes(&b->cache) / 2);
		code = fetch_once(b, hash, &why);
	}
	if (code != UX_OK && err && err->code == UX_OK)
		*err = why;
	return code;
}

static enum ux_code blob_open(struct ux_blobs *base, const struct ux_blob_hash *hash, int *ret_fd,
			      uint64_t *ret_size, struct ux_error *err)
{
	struct ux_blobs_s3 *b = ux_blobs_s3_of(base);
	struct ux_blob_fetch fetch = {.hash = *hash};
	enum ux_code code = UX_OK;
	do {
		if (ux_blob_cache_find(&b->cache, hash, ret_fd, ret_size, NULL) == UX_OK) {
			ux_blob_cache_note(&b->cache, /* hit= */ true);
			return UX_OK;
		}
	} while (!ux_blob_cache_fetch(&b->cache, &fetch));
	/* another thread may have fetched it between the lookup and the claim */
	if (ux_blob_cache_find(&b->cache, hash, ret_fd, ret_size, NULL) != UX_OK) {
		code = fetch_run(b, hash, err);
		if (code == UX_OK)
			code = ux_blob_cache_find(&b->cache, hash, ret_fd, ret_size, err);
	}
	ux_blob_cache_fetched(&b->cache, &fetch);
	ux_blob_cache_note(&b->cache, /* hit= */ false);
	return code;
}

/* --- parts of blobs --------------------------------------------------------------------------- */

/* A range of an object that is being read. */
struct blob_range {
	uint8_t *to;
	size_t done;
};

static enum ux_code blob_range_take(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct blob_range *r = ctx;
	(void)err;
	memcpy(r->to + r->done, bytes.data, bytes.size); /* at most the requested number */
	r->done += bytes.size;
	return UX_OK;
}

static enum ux_code blob_read(void *ctx, const struct ux_blob_hash *hash, uint64_t off, uint8_t *to,
			      size_t n, struct ux_error *err)
{
	struct ux_blobs_s3 *b = ctx;
	struct blob_range range = {.to = to};
	struct ux_error why = UX_ERROR_INIT;
	char key[UX_BLOBS_PATH_MAX];
	ux_blobs_s3_key(b, hash, key);
	enum ux_code code = ux_s3_get(b->s3, key, off, n, blob_range_take, &range, &why);
	return ux_blobs_s3_failed(code, &why, err);
}

/*
 * Reads the table of frames. UX_EUNSUPPORTED: the object is not in frames, or is not the expected
 * one.
 */
static enum ux_code blob_read_table(struct ux_blobs_s3 *b, const struct ux_blob_hash *hash,
				    struct ux_seek_table *ret, struct ux_error *err)
{
	char key[UX_BLOBS_PATH_MAX];
	ux_cleanup(ux_out_deinit) struct ux_out tail = {0};
	struct ux_error why = UX_ERROR_INIT;
	uint64_t size = 0;
	ux_blobs_s3_key(b, hash, key);
	enum ux_code code = ux_s3_get_tail(b->s3, key, UX_SEEK_TAIL_MIN, &tail, &size, &why);
	uint64_t table = code == UX_OK ? ux_seek_table_bytes(ux_out_bytes(&tail)) : 0;
	if (table > tail.size && table <= UX_SEEK_TABLE_MAX) {
		ux_out_reset(&tail);
		code = ux_s3_get_tail(b->s3, key, table, &tail, &size, &why);
	}
	if (ux_blobs_s3_code(code) == UX_EUNAVAILABLE)
		return ux_blobs_s3_failed(code, &why, err);
	if (code == UX_OK && table > 0)
		code = ux_seek_table_read(ux_out_bytes(&tail), size, ret, NULL);
	return code == UX_ENOMEM ? ux_error_nomem(err)
				 : (code == UX_OK && table > 0 ? UX_OK : UX_EUNSUPPORTED);
}

/* Opens a view, unless there is a copy. */
static enum ux_code blob_open_parts(struct ux_blobs *base, const struct ux_blob_hash *hash,
				    uint64_t size, struct ux_blob_view **ret, struct ux_error *err)
{
	struct ux_blobs_s3 *b = ux_blobs_s3_of(base);
	struct ux_seek_table table = {0};
	uint64_t found = 0;
	int fd = -1;
	if (b->parts_max == 0 || size < PARTS_MIN)
		return UX_EUNSUPPORTED;
	if (ux_blob_cache_find(&b->cache, hash, &fd, &found, NULL) == UX_OK) {
		close(fd);
		return UX_EUNSUPPORTED;
	}
	*ret = ux_blob_views_find(&b->views, hash);
	if (*ret)
		return UX_OK;
	UX_TRY(blob_read_table(b, hash, &table, err));
	const struct ux_blob_view_options options = {.dir = b->dir,
						     .hash = *hash,
						     .size = size,
						     .packed_max = b->parts_max,
						     .read = blob_read,
						     .ctx = b};
	enum ux_code code = ux_blob_view_open(&b->views, ret, &options, &table, NULL);
	return code == UX_OK || code == UX_ENOMEM ? code : UX_EUNSUPPORTED;
}

void ux_blobs_s3_set_reading(struct ux_blobs *b)
{
	b->open = blob_open;
	b->open_parts = blob_open_parts;
}
