/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uploads to a bucket. A node first writes received bytes to a file of its own. Before a request is
 * confirmed, the new bytes are written to the bucket as another segment, so that any node can
 * continue; that node fetches the segments that it lacks. All nodes get the same bytes for one
 * offset, because an upload announces its hash, and a blob gets its name only after the hash was
 * compared.
 */
#include "blobs_s3.h"

#include <errno.h>

enum {
	SEGMENT_MAX = 16 << 20, /* bytes of an upload that may be in this node's file and not yet in
				   the bucket */
};

struct ux_blob_part {
	struct ux_blobs_s3 *b;
	struct ux_blob_part *local; /* a part of cache.files */
	uint64_t here;              /* bytes in the file */
	uint64_t kept;  /* bytes in the bucket; bytes that are not here are fetched when needed */
	bool segmented; /* the bucket has segments of it */
	bool stored;    /* the blob is in the bucket */
	/*
	 * key of an object in the bucket with all bytes, to which no one else can write; "": none
	 */
	char whole[UX_BLOBS_PATH_MAX];
	char uid[UX_UPLOAD_UID_SIZE];
};

/* --- parts ------------------------------------------------------------------------------------ */

static void part_close(struct ux_blob_part *part)
{
	if (!part)
		return;
	part->b->cache.files->part_close(part->local);
	free(part);
}

static uint64_t part_bytes(const struct ux_blob_part *part)
{
	return ux_max(part->here, part->kept);
}

/* Tests for a full disk, which has emptied the file. */
static bool part_is_full_disk(const struct ux_error *why)
{
	return why->os_errno == ENOSPC || why->os_errno == EDQUOT;
}

/*
 * Fetches the bytes that only the bucket has. as_whole: if no byte is here, joins the segments to
 * one object and fetches that, because the blob can then be made in the bucket.
 */
static enum ux_code part_bring(struct ux_blob_part *part, bool as_whole, struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = UX_OK;
	if (part->here >= part->kept)
		return UX_OK;
	if (as_whole && part->here == 0)
		UX_TRY(ux_blobs_s3_segments_join(part->b, part->uid, part->kept, part->whole, err));
	code = part->whole[0] != '\0' ? ux_blobs_s3_fetch_object(part->b, part->whole, part->local,
								 &part->here, &why)
				      : ux_blobs_s3_segments_fetch(part->b, part->uid, part->local,
								   &part->here, &why);
	if (part_is_full_disk(&why))
		part->here = 0;
	if (code != UX_OK && err && err->code == UX_OK)
		*err = why;
	if (code == UX_OK && part->here != part->kept)
		return ux_error_set(err, UX_EUNAVAILABLE,
				    "another request changed the upload: it has %" PRIu64
				    " bytes; expected %" PRIu64,
				    part->here, part->kept);
	return code;
}

static enum ux_code part_map(struct ux_blob_part *part, struct ux_mapping *ret,
			     struct ux_error *err)
{
	UX_TRY(part_bring(part, /* as_whole= */ true, err));
	return part->b->cache.files->part_map(part->local, ret, err);
}

/* Writes the bytes of the file after the last segment as another segment. */
static enum ux_code part_keep(struct ux_blob_part *part, struct ux_error *err)
{
	char key[UX_BLOBS_PATH_MAX];
	ux_cleanup(ux_file_unmap) struct ux_mapping all = {0};
	struct ux_error why = UX_ERROR_INIT;
	if (part->kept >= part->here)
		return UX_OK;
	UX_TRY(part_map(part, &all, err));
	struct ux_s3_body body = {0};
	if (!ux_bytes_sub(all.bytes, part->kept, part->here - part->kept, &body.bytes))
		return ux_error_set(err, UX_EIO, "the file of an upload was truncated");
	ux_blobs_s3_segment_key(part->uid, part->kept, key);
	enum ux_code code = ux_s3_put(part->b->s3, key, &body, &why);
	if (code != UX_OK)
		return ux_blobs_s3_failed(code, &why, err);
	part->kept = part->here;
	part->segmented = true;
	return UX_OK;
}

/*
 * Opens the remote side. Bytes that only this node has, because the node or a connection ended,
 * become a segment, so that part_size() gives the same size.
 */
static enum ux_code part_open_remote(struct ux_blob_part *part, struct ux_error *err)
{
	UX_TRY(ux_blobs_s3_segments_size(part->b, part->uid, &part->kept, &part->segmented, err));
	return part_keep(part, err);
}

static enum ux_code part_open(struct ux_blobs *base, const char *uid, struct ux_blob_part **ret,
			      uint64_t *ret_size, struct ux_error *err)
{
	struct ux_blobs_s3 *b = ux_blobs_s3_of(base);
	struct ux_blobs *files = ux_blobs_s3_files(b);
	struct ux_blob_part *part = calloc(1, sizeof(*part));
	if (!part)
		return ux_error_nomem(err);
	part->b = b;
	enum ux_code code = files->part_open(files, uid, &part->local, &part->here, err);
	if (code != UX_OK) {
		free(part);
		return code;
	}
	snprintf(part->uid, sizeof(part->uid), "%s", uid);
	code = part_open_remote(part, err);
	if (code != UX_OK) {
		part_close(part);
		return code;
	}
	*ret_size = part_bytes(part);
	*ret = part;
	return UX_OK;
}

static enum ux_code part_reset(struct ux_blob_part *part, struct ux_error *err)
{
	UX_TRY(part->b->cache.files->part_reset(part->local, err));
	part->here = part->kept = 0;
	part->stored = false;
	part->whole[0] = '\0';
	if (!part->segmented)
		return UX_OK;
	UX_TRY(ux_blobs_s3_segments_remove(part->b, part->uid, err));
	part->segmented = false;
	return UX_OK;
}

static enum ux_code part_write(struct ux_blob_part *part, struct ux_bytes bytes,
			       struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	UX_TRY(part_bring(part, /* as_whole= */ false, err));
	assert(part->here >= part->kept);
	enum ux_code code = ux_blobs_s3_files(part->b)->part_write(part->local, bytes, &why);
	if (code != UX_OK) {
		/* the file was emptied, and the segments would fill the disk again */
		if (part_is_full_disk(&why))
			(void)!part_reset(part, NULL);
		if (err && err->code == UX_OK)
			*err = why;
		return code;
	}
	part->here += bytes.size;
	part->stored = false;
	part->whole[0] = '\0';
	return part->segmented && part->here - part->kept >= SEGMENT_MAX ? part_keep(part, err)
									 : UX_OK;
}

/*
 * Copies the object with all bytes; the caller has compared their hash. UX_EUNSUPPORTED: the bytes
 * have to be sent.
 */
static enum ux_code part_copy_whole(struct ux_blob_part *part, const struct ux_blob_hash *hash,
				    struct ux_error *err)
{
	char key[UX_BLOBS_PATH_MAX];
	struct ux_error why = UX_ERROR_INIT;
	const struct ux_s3_from from = {part->whole, part->here};
	if (part->whole[0] == '\0')
		return UX_EUNSUPPORTED;
	ux_blobs_s3_key(part->b, hash, key);
	return ux_blobs_s3_copied(part->b, ux_s3_copy(part->b->s3, &from, 1, key, &why), &why, err);
}

/* Stores the blob. Replaces an existing one, because it may be damaged. */
static enum ux_code part_sync(struct ux_blob_part *part, const struct ux_blob_hash *hash,
			      struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping all = {0};
	struct ux_error why = UX_ERROR_INIT;
	if (part->stored)
		return UX_OK;
	UX_TRY(part_map(part, &all, err));
	enum ux_code code = ux_blob_pack_pays(all.bytes, all.bytes.size)
				    ? UX_EUNSUPPORTED
				    : part_copy_whole(part, hash, err);
	if (code == UX_EUNSUPPORTED)
		code = ux_blobs_s3_failed(ux_blobs_s3_send(part->b, hash, all.bytes, &why), &why,
					  err);
	part->stored = code == UX_OK;
	return code;
}

/* Makes the part's file this node's copy. Segments that cannot be removed now are swept later. */
static enum ux_code part_commit(struct ux_blob_part *part, const struct ux_blob_hash *hash,
				struct ux_error *err)
{
	UX_TRY(part_sync(part, hash, err));
	UX_TRY(ux_blob_cache_put(&part->b->cache, part->local, hash, part->here, err));
	if (part->segmented)
		(void)!ux_blobs_s3_segments_remove(part->b, part->uid, NULL);
	part->segmented = false;
	return UX_OK;
}

static enum ux_code part_get_size(struct ux_blobs *b, const char *uid, uint64_t *ret,
				  struct ux_error *err)
{
	bool any = false;
	if (!ux_upload_uid_valid(ux_bytes_cstr(uid)))
		return ux_error_set(err, UX_EINVAL, "not an upload ID");
	return ux_blobs_s3_segments_size(ux_blobs_s3_of(b), uid, ret, &any, err);
}

static enum ux_code part_remove(struct ux_blobs *base, const char *uid, struct ux_error *err)
{
	struct ux_blobs_s3 *b = ux_blobs_s3_of(base);
	UX_TRY(b->cache.files->part_remove(b->cache.files, uid, err));
	return ux_blobs_s3_segments_remove(b, uid, err);
}

/* Makes a URL for a segment like the ones that a node writes. */
static enum ux_code part_url(struct ux_blobs *base, const char *uid, uint64_t off, uint64_t size,
			     unsigned expires_s, char **ret, struct ux_error *err)
{
	char key[UX_BLOBS_PATH_MAX];
	ux_blobs_s3_segment_key(uid, off, key);
	const struct ux_s3_presign what = {
		.method = UX_METHOD_PUT, .key = key, .expires_s = expires_s, .length = size};
	return ux_s3_presigned(ux_blobs_s3_of(base)->s3, &what, ret, err);
}

void ux_blobs_s3_set_uploads(struct ux_blobs *b)
{
	b->part_open = part_open;
	b->part_write = part_write;
	b->part_map = part_map;
	b->part_sync = part_sync;
	b->part_commit = part_commit;
	b->part_reset = part_reset;
	b->part_close = part_close;
	b->part_size = part_get_size;
	b->part_remove = part_remove;
	b->part_keep = part_keep;
	b->part_url = part_url;
}
